/* searches.h — reads what tools/goldens/decode.py writes: calls of Transformers, and what came of
 * them. */
#ifndef TESTS_SUPPORT_SEARCHES_H
#define TESTS_SUPPORT_SEARCHES_H

#include <stdio.h>

#include "support/test.h"

typedef struct search_case {
	hec_decode_options o; /* points at the lists below, so: not to be copied */
	int64_t vocab, n;
	int32_t ends[8], suppress[8];
	int32_t ids[64]; /* [n] the source or the prompt */
} search_case;

/* A file of $HECATE_GOLDENS, else of tests/golden. */
FILE *searches_open(const kit *k, const char *name);
void searches_path(const char *name, char path[512]);
void search_read(const kit *k, FILE *f, search_case *c); /* after the word "search" */
/* Reads a line "result" and compares: the same tokens, the score within relative. */
void search_check(const kit *k, FILE *f, int which, const search_case *c, double relative,
                  const hec_hypothesis *h);

long long search_number(const kit *k, FILE *f);
double search_real(const kit *k, FILE *f);
size_t search_list(const kit *k, FILE *f, int32_t *ids); /* a count, then the ids */

#endif
