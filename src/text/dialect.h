/* dialect.h — expressions of Oniguruma (Ruby's dialect, as `tokenizers` runs them) rewritten for PCRE2.
 *
 * Where the two name a thing differently it gets PCRE2's name: \h, \H, \v, \w, \u0041, (?m:…), {,3}.
 * \p{L}, \p{N}, \p{M} and \s mean what classes.h says: the Unicode of the pinned `tokenizers` is newer
 * than that of most PCRE2s. */
#ifndef TEXT_DIALECT_H
#define TEXT_DIALECT_H

#include "base/status.h"

/* *out for free(). HEC_ERR_UNSUPPORTED: PCRE2 cannot say it. */
hec_status dialect_translate(const char *expression, char **out);

#endif
