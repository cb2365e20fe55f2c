/* golden.h — reads the files that tools/goldens/make.py writes. */
#ifndef TESTS_SUPPORT_GOLDEN_H
#define TESTS_SUPPORT_GOLDEN_H

#include "support/test.h"

#define GOLDEN_TENSORS 128

typedef struct golden {
	kit *k;
	char path[512];
	int count;
	char names[GOLDEN_TENSORS][64];
	hec_tensor tensors[GOLDEN_TENSORS];
} golden;

void golden_open(golden *g, kit *k, const char *path);
bool golden_has(const golden *g, const char *name);
/* A tensor by name, as it is in the file; a missing one fails the test. */
const hec_tensor *golden_get(const golden *g, const char *name);
/* Its values in another type. */
hec_tensor golden_as(const golden *g, const char *name, hec_dtype dtype);
double golden_number(const golden *g, const char *name, int64_t index);

/* Calls fn for each FOLDER/PREFIX*.golden; fails where there is none. The folder is
 * $HECATE_GOLDENS, else tests/golden. */
void golden_each(const char *prefix, void (*fn)(kit *k, const golden *g));

#endif
