/* pattern.h — a pattern of tokenizer.json: a plain text or a regular expression to search for.
 *
 * Well-known expressions have code of their own (words.h). PCRE2 runs the others, after dialect.h has written
 * them for it, under limits: an expression that needs too many steps for one match, or more than linear time
 * for a text, is HEC_ERR_FORMAT, not a hang (match.c). */
#ifndef TEXT_PATTERN_PATTERN_H
#define TEXT_PATTERN_PATTERN_H

#include "format/json.h"
#include "text/split/words.h"

typedef struct pattern {
	const word_rule
		*rule; /* a well-known expression: its matches follow each other without gaps */
	char *plain;   /* a plain text */
	size_t plain_bytes;
	void *code; /* the expression, compiled by PCRE2 */
	void *open; /* the same for a window with more text behind it, if different: ^ matches at its end, too */
	void *lead; /* the run that the expression begins with (compile_lead in match.c), or NULL */
	bool once;  /* matches only where the search begins */
	bool lines; /* matches only where the search or a line begins */
} pattern;

/* {"String": "…"}, {"Regex": "…"} or "…". */
hec_status pattern_load(const json_scope *s, const char *key, pattern *p);
/* known: well-known expressions run their own code. */
hec_status pattern_compile(const char *expression, bool known, pattern *p);
void pattern_free(pattern *p);

typedef struct pattern_work pattern_work;
void pattern_work_free(pattern_work *w);  /* takes NULL */
void pattern_work_reset(pattern_work *w); /* at the beginning of a text; takes NULL */

/* A walk through the matches in bytes begin … end − 1 of a text; the rest of the text does not exist for it.
 * It starts with from = begin and everything else 0. */
typedef struct pattern_walk {
	size_t from;        /* where the search goes on */
	size_t start, stop; /* of the match; equal where it is empty */
	bool found;         /* false: there are no more */
} pattern_walk;
/* The next match, in the order of Oniguruma's own loop. *work is created when first needed. */
hec_status pattern_next(const pattern *p, pattern_work **work, const char *text, size_t begin,
                        size_t end, pattern_walk *w);

#endif
