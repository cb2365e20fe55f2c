/* case.h — one thing to time: an operation, its shape, and what it costs at least. */
#ifndef CLI_BENCH_CASE_H
#define CLI_BENCH_CASE_H

#include <hecate/hecate.h>

#include "cli/command/try.h"

/* The letters of shapes, in the order in which they are shown. */
#define BENCH_LETTERS "BHGTSMNKDCFV"
#define BENCH_AXES 12

#define BENCH_ERROR 256

typedef struct bench_shape {
	int64_t size[BENCH_AXES]; /* 0: not said */
} bench_shape;

int64_t shape_get(const bench_shape *shape, char letter);
void shape_default(bench_shape *shape, char letter, int64_t size); /* where it is not said */
/* "B=1,H=8,T=2048", each letter one of those given, once; false: what is wrong stands in error. */
bool shape_parse(const char *text, const char *letters, bench_shape *shape, char *error,
                 size_t room);

typedef enum bench_variant {
	BENCH_PLAIN = 0,
	BENCH_MASK,        /* attention: a 0/1 mask [1, 1, T, S] */
	BENCH_BIAS,        /* attention: a bias [1, H, T, S] */
	BENCH_INTERLEAVED, /* attention: memory is [B, T, H, ·], as a projection leaves it */
	BENCH_COLD,        /* what is read comes from memory */
	BENCH_WARM         /* … from the cache */
} bench_variant;

const char *bench_variant_name(bench_variant v); /* "" for the plain one */

typedef struct bench_case {
	hec_ctx *ctx;
	hec_arena *arena; /* everything that the case needs; freed with it */
	bench_shape shape;
	bool causal;
	bench_variant variant;
	double flops;            /* of one call */
	double bytes;            /* of one call, at least: what must be read and written */
	bool memory;             /* the ceiling is bandwidth, not multiply-adds */
	bool long_call;          /* a call is a whole run: a few of them are enough */
	char error[BENCH_ERROR]; /* what is wrong, where it is not the library that says so */
	void *state;             /* of call, in the arena */
	hec_status (*call)(struct bench_case *c, int64_t i); /* i counts calls: rotating */
} bench_case;

/* Enough copies of this many bytes that a round through them leaves no cache warm; not more than
 * 65536, so what is below 2.4 kB stays partly warm. */
int64_t bench_copies(double bytes);

/* Makes the arena of the case. The one place that looks at how much a shape asks for: sizes come from
 * the command line, so the product is a double, which does not overflow; afterwards, all products of
 * sizes that lie in memory fit. */
hec_status case_open(bench_case *c, double bytes);

hec_status case_tensor(bench_case *c, int rank, const int64_t *shape, hec_tensor *out); /* f32 */
hec_status case_normal(bench_case *c, int rank, const int64_t *shape, hec_tensor *out); /* random */

typedef hec_status bench_setup(bench_case *c);
bench_setup gemm_setup, attention_fwd_setup, attention_bwd_setup, attention_step_setup,
	attention_call_setup, encoder_fwd_setup, encoder_bwd_setup, encoder_pack_setup, norm_setup,
	norm_bwd_setup, activation_setup, activation_bwd_setup, cross_entropy_setup,
	cross_entropy_bwd_setup, adamw_setup, embedding_setup, embedding_bwd_setup;

#endif
