/* dialect.h — expressions of Oniguruma (Ruby's dialect, as `tokenizers` runs them) rewritten for PCRE2.
 *
 * Where the two name a thing differently it gets PCRE2's name: \h, \H, \v, \N, \O, \u0041, (?m:…), {,3}; what
 * only PCRE2 has a meaning for is the letter that it is to Oniguruma (\Q), or refused: (*CRLF). What both have
 * and read differently is written out: a{2}+ (dialect_repeat.c), a(?i)b|c, (?x) and comments.
 * Sets of characters that have names (\w, \p{L}, [:punct:]) are those of properties.h, and \b goes by
 * them. Classes in classes and their intersections, [a-z&&[^aeiou]], are written out. */
#ifndef TEXT_PATTERN_DIALECT_H
#define TEXT_PATTERN_DIALECT_H

#include <stdbool.h>

#include "base/status.h"

/* What an expression has that asks for care. */
typedef struct dialect_facts {
	bool lines; /* a ^ */
	bool keeps; /* a group that gives nothing back: (?>a+), (?:a+)?+ */
	bool calls; /* of a group: \g<1> */
} dialect_facts;

/* *out for mem_free(). HEC_ERR_UNSUPPORTED: PCRE2 cannot say it. */
hec_status dialect_translate(const char *expression, char **out, dialect_facts *facts);

#endif
