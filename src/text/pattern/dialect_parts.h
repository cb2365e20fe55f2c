/* dialect_parts.h — what dialect.c and dialect_escape.c share: the pattern being read, and what is written. */
#ifndef TEXT_PATTERN_DIALECT_PARTS_H
#define TEXT_PATTERN_DIALECT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define DIALECT_MAX_GROUPS 250 /* open at the same time; PCRE2's own limit */
#define DIALECT_NO_ATOM ((size_t)-1)

typedef struct dialect_text {
	char *bytes; /* with '\0' at the end; NULL: empty */
	size_t n, capacity;
} dialect_text;

typedef struct dialect_group {
	bool caseless_outside; /* holds again behind the group */
	bool looks;            /* ahead or behind: cannot be repeated */
	size_t begin;          /* in what is written */
} dialect_group;

typedef struct dialect_writing {
	const char *pattern, *at; /* at: the next byte to read */
	dialect_text to;
	bool in_class, caseless, line_starts;
	dialect_group groups[DIALECT_MAX_GROUPS];
	size_t open_groups;
	size_t atom; /* where in `to` begins what a quantifier would repeat; DIALECT_NO_ATOM: nothing */
	bool repeated; /* the atom has a quantifier */
} dialect_writing;

hec_status dialect_put(dialect_writing *w, const char *bytes);
/* Copies the next n bytes of the pattern. */
hec_status dialect_copy(dialect_writing *w, size_t n);

/* HEC_ERR_UNSUPPORTED with the construct's name and its place, w->at. */
hec_status dialect_refuse(const dialect_writing *w, const char *construct);

/* The escape at w->at; *is_set: it is a set of characters such as \s or \p{L}. */
hec_status dialect_escape(dialect_writing *w, bool *is_set);

#endif
