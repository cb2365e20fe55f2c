/* dialect.h — patterns of tokenizer.json, written for PCRE2.
 *
 * `tokenizers` runs patterns with Oniguruma (Ruby's dialect), whose Unicode is newer than PCRE2's. Supported
 * is what published tokenizers use: alternatives, (…), (?:…), (?i:…), looking ahead and behind, quantifiers, classes,
 * anchors, \b, \s, \w, \d, \p{…} and codes of characters. Sets of characters with names are those of properties.h.
 * Everything else is HEC_ERR_UNSUPPORTED with its name and place, also where PCRE2 knows it: it may mean
 * something else there. */
#ifndef TEXT_PATTERN_DIALECT_H
#define TEXT_PATTERN_DIALECT_H

#include <stdbool.h>

#include "base/status.h"

/* *out for mem_free(). *line_starts: the pattern has a ^. */
hec_status dialect_translate(const char *pattern, char **out, bool *line_starts);

#endif
