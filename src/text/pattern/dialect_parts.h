/* dialect_parts.h — what the parts of dialect.h share: the expression that is read, and what is written. */
#ifndef TEXT_PATTERN_DIALECT_PARTS_H
#define TEXT_PATTERN_DIALECT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "text/pattern/dialect.h"

#define DIALECT_GROUPS 250 /* in groups; PCRE2 takes no more */

typedef struct dialect_text {
	char *bytes; /* '\0' at the end; NULL: empty */
	size_t n, capacity;
} dialect_text;

/* What is between [ and ], or between one of them and &&. Not all of it can be said in a class of PCRE2:
 * the rest stands beside it, |…|…, each part matching one character. */
typedef struct dialect_set {
	dialect_text in, beside;
} dialect_set;

/* (?i) and (?x). PCRE2 hears nothing of x: spaces and comments are left out. */
typedef struct dialect_options {
	bool caseless, extended;
} dialect_options;

typedef struct dialect_group {
	dialect_options around; /* those that hold again behind it */
	const char *at;         /* its ( */
	size_t begin;           /* of it in what is written */
	size_t number;          /* of what it captures; 0: nothing */
	size_t head;            /* nothing is in it yet where this is all that is written */
	size_t more;            /* groups that options began in it; they end with it */
	bool looks;             /* ahead or behind: it cannot be repeated */
	bool plain;             /* (?: */
} dialect_group;

#define DIALECT_NOTHING ((size_t)-1)

typedef struct dialect_writing {
	const char *all, *at; /* at: not read yet */
	dialect_text to;
	dialect_set *set; /* of the class that is being read; NULL: outside */
	int depth;        /* of classes */
	dialect_options options;
	dialect_group groups[DIALECT_GROUPS + 1]; /* first the expression itself */
	size_t inside;                            /* of so many groups */
	size_t captures;                          /* ( so far */
	size_t atom;  /* what a quantifier would repeat is written from there, or DIALECT_NOTHING */
	bool grouped; /* the atom is a (?:…) */
	bool repeated, once; /* it has a quantifier; the last one is {1} */
	bool refers;         /* there is a \1 */
	dialect_facts facts;
} dialect_writing;

hec_status dialect_add(dialect_text *t, const char *bytes);
hec_status dialect_add_all(dialect_text *t, const char *a, const char *b, const char *c,
                           const char *d);
/* Into the class that is being read, or behind what is written: */
hec_status dialect_put(dialect_writing *w, const char *bytes);
hec_status dialect_keep(dialect_writing *w, size_t n); /* the next n bytes, as they are */

/* HEC_ERR_UNSUPPORTED, for what stands at w->at. */
hec_status dialect_refuse(const dialect_writing *w, const char *what);

/* What is at w->at: a \, a [. */
hec_status dialect_escape(dialect_writing *w);
hec_status dialect_class(dialect_writing *w);
/* [:alpha:], up to end. */
hec_status dialect_brackets(dialect_writing *w, const char *end);

/* A quantifier, of which there may be none. */
hec_status dialect_repeat(dialect_writing *w, bool *found);

#endif
