/* size.h — the one place where sizes from outside are multiplied and added. */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False on overflow; *out is then undefined. */
static inline bool size_mul(size_t a, size_t b, size_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

static inline bool size_add(size_t a, size_t b, size_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}

/* n rounded up to a multiple of align, a power of two. */
static inline bool size_align(size_t n, size_t align, size_t *out)
{
	if (!size_add(n, align - 1, &n))
		return false;
	*out = n & ~(align - 1);
	return true;
}

static inline int64_t min_i64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t div_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

#endif
