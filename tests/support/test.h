/* test.h — what every test file starts from: cmocka, the public API, and a kit.
 *
 * A kit is one context, one arena, a seed, and the tensors that a test made. Every tensor lies
 * between two guard zones and starts as NaN (the largest value where there is no NaN), so that an
 * element that was not written and a byte written beyond the end are both seen. */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* the library has a function of this name, and cmocka's fail_msg would call it */
#undef fail_msg
#define fail_msg(...)                                                                              \
	do {                                                                                       \
		print_error(__VA_ARGS__);                                                          \
		print_error("\n");                                                                 \
		_fail(__FILE__, __LINE__);                                                         \
	} while (0)

#include <hecate/hecate.h>

typedef struct block block;

typedef struct kit {
	hec_ctx *ctx;
	hec_arena *arena;
	uint64_t seed;   /* printed when a check fails */
	uint64_t stream; /* numbers drawn so far */
	block *blocks;
} kit;

#define KIT_ARENA ((size_t)64 << 20)

/* The level of $HECATE_ISA and the threads of $HECATE_THREADS; or those asked for (NULL, 0: as the
 * environment says). The seed is $HECATE_TEST_SEED, else the one given. */
kit kit_open(uint64_t seed);
kit kit_open_at(uint64_t seed, const char *isa, int threads);
void kit_close(kit *k); /* checks every guard zone */
void kit_check_guards(kit *k);

/* Fails the test: prints the place, the seed, and the words. */
void kit_fail(const kit *k, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5), noreturn));

#define CHECK(k, condition, ...)                                                                   \
	do {                                                                                       \
		if (!(condition))                                                                  \
			kit_fail((k), __FILE__, __LINE__, __VA_ARGS__);                            \
	} while (0)

/* The call must succeed. */
#define OK(k, call)                                                                                \
	do {                                                                                       \
		hec_status ok_status_ = (call);                                                    \
		CHECK((k), ok_status_ == HEC_OK, "%s\n  gave %s: %s", #call,                       \
		      hec_status_name(ok_status_), hec_error_message());                           \
	} while (0)

/* The call must fail with this status, and the message must hold each of the words, NULL last. */
void expect_error(const kit *k, const char *file, int line, const char *what, hec_status got,
                  hec_status want, ...);
#define FAILS(k, want, call, ...)                                                                  \
	expect_error((k), __FILE__, __LINE__, #call, (call), (want), __VA_ARGS__, (char *)NULL)

/* Numbers from the kit's seed. */
uint32_t draw(kit *k);
int64_t draw_in(kit *k, int64_t low, int64_t high); /* both included */
double draw_unit(kit *k);                           /* [0, 1) */
double draw_normal(kit *k);
/* A size of at most `most`: 1, primes, around a power of two or a tile, or anything. */
int64_t draw_size(kit *k, int64_t most);

/* Tensors; shapes end with −1. */
hec_tensor make(kit *k, hec_dtype dtype, const int64_t *shape);
hec_tensor make_random(kit *k, hec_dtype dtype, const int64_t *shape); /* normal numbers */
hec_tensor make_zero(kit *k, hec_dtype dtype, const int64_t *shape);
hec_tensor make_copy(kit *k, const hec_tensor *x); /* contiguous */
/* The same values at the same shape in another type, contiguous. */
hec_tensor make_cast(kit *k, hec_dtype dtype, const hec_tensor *x);
#define SHAPE(...) ((const int64_t[]){__VA_ARGS__, -1})

/* Element by its row-major index, whatever the strides and the type; bf16 and f16 as bits. */
double get(const hec_tensor *x, int64_t index);
void put(const hec_tensor *x, int64_t index, double value);
double get4(const hec_tensor *x, int64_t i, int64_t j, int64_t k, int64_t l);
void put4(const hec_tensor *x, int64_t i, int64_t j, int64_t k, int64_t l, double value);
void fill_with(const hec_tensor *x, double value);
void poison(const hec_tensor *x); /* NaN, or the largest value */

/* Every element has the same bits: NaN equals NaN, 0 differs from −0. */
void check_same_bits(const kit *k, const char *what, const hec_tensor *a, const hec_tensor *b);
void check_all_zero(const kit *k, const char *what, const hec_tensor *x);
void check_all_finite(const kit *k, const char *what, const hec_tensor *x);
/* |x − want| ≤ bound, element by element; bound has the shape of want and is f64. */
void check_within(const kit *k, const char *what, const hec_tensor *x, const hec_tensor *want,
                  const hec_tensor *bound);
/* |x − want| ≤ relative · the largest |want| of the tensor. */
void check_close(const kit *k, const char *what, const hec_tensor *x, const hec_tensor *want,
                 double relative);

/* Layers: parameters in the kit, random; gradients as zeros. Use with hec_<layer>_params. */
typedef struct param_list {
	kit *k;
	hec_dtype dtype;
	bool constant; /* all `scale`, instead of random numbers */
	double scale;  /* of the random numbers; 0: 0.4 */
	int count;
	hec_tensor *tensors[64];
	char names[64][64];
} param_list;
hec_status param_make(void *list, const hec_param *p);

#endif
