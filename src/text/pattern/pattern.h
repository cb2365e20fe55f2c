/* pattern.h — a text or a regular expression of tokenizer.json, searched in text.
 *
 * Expressions are those of Oniguruma in its Ruby dialect; PCRE2 runs them where the two agree, after
 * what they write differently is rewritten. Matching runs under limits: an expression that needs too
 * many steps for one match, or more than linear time for a text, is HEC_ERR_FORMAT, not a hang
 * (match.h). Expressions that are known are run by hand (words.h). */
#ifndef TEXT_PATTERN_PATTERN_H
#define TEXT_PATTERN_PATTERN_H

#include "format/json.h"
#include "text/split/words.h"

typedef struct pattern {
	const word_rule *rule; /* known: matches all of a text, word after word */
	char *plain;           /* a text to be found as it is */
	size_t plain_bytes;
	void *code; /* PCRE2's */
	void *open; /* the same where more text follows, if that is another: ^ matches behind the last \n */
	void *lead; /* a run of what it begins with, where that is known; or NULL */
	bool once;  /* it matches where a search begins, or not at all */
	bool lines; /* it matches where a search or a line begins, or not at all */
} pattern;

/* {"String": "…"} or {"Regex": "…"}. */
hec_status pattern_load(const json_scope *s, const char *key, pattern *p);
hec_status pattern_compile(const char *expression, bool known, pattern *p);
void pattern_free(pattern *p);

typedef struct pattern_work pattern_work;
void pattern_work_free(pattern_work *w);  /* takes NULL */
void pattern_work_reset(pattern_work *w); /* at the beginning of a text; takes NULL */

/* Going through the matches in bytes begin … end − 1 of text, which are all that it sees. Starts with
 * from = begin and all else 0. */
typedef struct pattern_walk {
	size_t from;        /* where to look on */
	size_t start, stop; /* of the match; they are equal where it is empty */
	bool found;         /* false: there are no more */
} pattern_walk;
/* The next match, as Oniguruma's own loop over matches gives them. *work is made when first needed. */
hec_status pattern_next(const pattern *p, pattern_work **work, const char *text, size_t begin,
                        size_t end, pattern_walk *w);

#endif
