/* expect.h — checks for programs that stand outside of Hecate: they see <hecate/…> and the C library alone. */
#ifndef TESTS_ABI_EXPECT_H
#define TESTS_ABI_EXPECT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/hecate.h>

#define EXPECT(condition) ((condition) ? (void)0 : expect_failed(__FILE__, __LINE__, #condition))
#define EXPECT_OK(call) EXPECT((call) == HEC_OK)
#define EXPECT_TEXT(a, b) EXPECT(strcmp(a, b) == 0)
/* Numbers that a float has been through. */
#define EXPECT_NEAR(a, b) EXPECT((a) - (b) < 1e-4 && (b) - (a) < 1e-4)

static inline void expect_failed(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: not so: %s\nthe last message: %s\n", file, line, what,
	        hec_error_message());
	exit(1);
}

/* What is printed is compared with what the same program prints when neither side has grown. */
static inline void show_ids(const char *name, const int32_t *ids, int64_t n)
{
	printf("%s:", name);
	for (int64_t i = 0; i < n; i++)
		printf(" %d", (int)ids[i]);
	putchar('\n');
}

static inline void show_floats(const char *name, const float *x, int64_t n)
{
	printf("%s:", name);
	for (int64_t i = 0; i < n; i++)
		printf(" %.9g", (double)x[i]);
	putchar('\n');
}

#endif
