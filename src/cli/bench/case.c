/* case.c — shapes as words, and the tensors of a case. */
#include "cli/bench/case.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 16e9 /* of one case */
#define MOST_COPIES 65536
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

bool shape_parse(const char *text, const char *letters, bench_shape *shape, char *error,
                 size_t room)
{
	*shape = (bench_shape){{0}};
	while (*text) {
		const char *at = strchr(letters, *text) ? strchr(BENCH_LETTERS, *text) : NULL;
		bool number = at && text[1] == '=' && isdigit((unsigned char)text[2]);
		char *end = NULL;
		long long size = number ? strtoll(text + 2, &end, 10) : 0;
		if (size < 1 || size > INT32_MAX || (*end && *end != ',')) {
			size_t length = strcspn(text, ",");
			snprintf(error, room,
			         "--shape: \"%.*s\" is not LETTER=SIZE with a letter of %s and a "
			         "size "
			         "of 1 to %d",
			         length < 40 ? (int)length : 40, text, letters, INT32_MAX);
			return false;
		}
		if (shape->size[at - BENCH_LETTERS] != 0) {
			snprintf(error, room, "--shape: there are two sizes %c", *at);
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
	return n < 2 ? 2 : n > MOST_COPIES ? MOST_COPIES : n;
}

hec_status case_open(bench_case *c, double bytes)
{
	if (bytes > MOST_BYTES) {
		snprintf(c->error, sizeof c->error,
		         "this shape takes %.3g GB of memory, more than the %.3g that are the most",
		         1e-9 * bytes, 1e-9 * MOST_BYTES);
		return HEC_ERR_ARGUMENT;
	}
	return hec_arena_create((size_t)bytes, &c->arena);
}

hec_status case_tensor(bench_case *c, int rank, const int64_t *shape, hec_tensor *out)
{
	return hec_arena_tensor(c->arena, HEC_F32, rank, shape, out);
}

hec_status case_normal(bench_case *c, int rank, const int64_t *shape, hec_tensor *out)
{
	TRY(case_tensor(c, rank, shape, out));
	uint64_t stream = (uint64_t)hec_arena_used(c->arena); /* another for each tensor */
	return hec_random_normal(c->ctx, 1, stream, 0, 1, out);
}
