/* bench_case.c — shapes as words, and the tensors of a case. */
#include "bench_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHES (160e6) /* bytes: more than the last-level cache that one of these threads can use */

int64_t shape_get(const bench_shape *shape, char letter)
{
	const char *at = strchr(BENCH_LETTERS, letter);
	return shape->size[at - BENCH_LETTERS];
}

void shape_default(bench_shape *shape, char letter, int64_t size)
{
	const char *at = strchr(BENCH_LETTERS, letter);
	if (shape->size[at - BENCH_LETTERS] == 0)
		shape->size[at - BENCH_LETTERS] = size;
}

bool shape_parse(const char *text, bench_shape *shape, char *error, size_t room)
{
	*shape = (bench_shape){{0}};
	while (*text) {
		const char *at = strchr(BENCH_LETTERS, *text);
		char *end = NULL;
		long long size = text[1] == '=' ? strtoll(text + 2, &end, 10) : 0;
		if (!at || size < 1 || size > INT32_MAX || end == text + 2 ||
		    (*end && *end != ',')) {
			snprintf(error, room,
			         "--shape: \"%.40s\" is not LETTER=SIZE with a letter of %s", text,
			         BENCH_LETTERS);
			return false;
		}
		shape->size[at - BENCH_LETTERS] = size;
		text = *end ? end + 1 : end;
	}
	return true;
}

const char *bench_variant_name(bench_variant v)
{
	static const char *const names[] = {"", "mask", "bias", "interleaved", "cold", "warm"};
	return names[v];
}

int64_t bench_copies(double bytes)
{
	int64_t n = (int64_t)(CACHES / bytes) + 1;
	return n < 2 ? 2 : n;
}

hec_status case_tensor(bench_case *c, int rank, const int64_t *shape, hec_tensor *out)
{
	return hec_arena_tensor(c->arena, HEC_F32, rank, shape, out);
}

hec_status case_normal(bench_case *c, int rank, const int64_t *shape, hec_tensor *out)
{
	BENCH_TRY(case_tensor(c, rank, shape, out));
	uint64_t stream = (uint64_t)hec_arena_used(c->arena); /* another for each tensor */
	return hec_random_normal(c->ctx, 1, stream, 0, 1, out);
}
