/* trial.h — one random call of one slot: its tensors, their layout, values and scales.
 *
 * A trial is made once, in double, with values that f32 holds exactly; then it is run by the f64
 * reference, the f32 reference and the kernel, each on memory of its own:
 *
 *     | guard | shift | elements, with gaps where strides leave them | guard |
 *
 * Everything is poisoned first. Afterwards every element of an output must have been written, and
 * nothing else may have changed: no guard, no gap, no input. */
#ifndef CHECK_TRIAL_H
#define CHECK_TRIAL_H

#include "backend/backend.h"

#define MAX_OPERANDS 20
#define MAX_BATCH 8

typedef struct rng {
	uint64_t state;
} rng;

uint64_t rng_next(rng *r);
int64_t rng_below(rng *r, int64_t n); /* 0 … n − 1 */
bool rng_chance(rng *r, double p);    /* true with probability p */
double rng_uniform(rng *r);           /* [0, 1) */
double rng_normal(rng *r);
int64_t rng_size(rng *r, int64_t most); /* 1, primes, tile − 1, tile, tile + 1, … */

typedef enum role { IN, OUT, INOUT } role;

typedef struct operand {
	const char *name;
	role role;
	hec_dtype dtype; /* HEC_F32: whatever the run computes in; all others: as they are */
	int rank;
	int64_t shape[HEC_MAX_RANK], stride[HEC_MAX_RANK]; /* 1 and 0 past the rank */
	int64_t origin;                                    /* where element 0 is */
	int64_t extent;                                    /* elements of memory */
	int64_t shift;                                     /* elements off alignment */
	double *value; /* [extent]: what goes in; NaN in the gaps */
	double *scale; /* [extent]: outputs */
	bool bits;     /* the kernel must equal the f32 reference bit for bit */
} operand;

typedef union trial_args {
	gemm_args gemm;
	attention_args attention;
	norm_args norm;
	activation_args activation;
	cross_entropy_args cross_entropy;
	embedding_args embedding;
	rotary_args rotary;
	dropout_args dropout;
	add_args add;
	fill_args fill;
	cast_args cast;
	random_args random;
	reduce_args reduce;
	pool_args pool;
	normalize_args normalize;
	adamw_args adamw;
	conv1d_args conv1d;
	cache_args cache;
} trial_args;

typedef struct trial {
	rng r;
	bool plain;     /* for timing: one usual shape, contiguous, no odd options */
	bool rows;      /* the last axis of every tensor is contiguous: what kernels are made for */
	char text[512]; /* sizes and options in words */
	operand operands[MAX_OPERANDS];
	int count;
	trial_args args;     /* what is not a tensor */
	hec_dtype main;      /* the row of the table that is called; HEC_F32: the run's own */
	double terms;        /* the longest chain of additions */
	double flops, bytes; /* for timing; bytes where flops is 0 */
	bool packed;         /* gemm: b is packed ahead */
	int32_t lengths[4][MAX_BATCH]; /* attention, rotary, cache: arrays of the call */
} trial;

void trial_free(trial *t);
void trial_note(trial *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How an operand lies in memory. */
typedef enum layout {
	LAYOUT_ANY,  /* any order of axes, gaps, now and then backwards */
	LAYOUT_ROWS, /* the last axis contiguous, gaps between rows */
	LAYOUT_CONTIGUOUS
} layout;

operand *trial_add(trial *t, const char *name, role role, hec_dtype dtype, layout how, int rank,
                   const int64_t *shape);
operand *trial_add_1d(trial *t, const char *name, role role, int64_t n);
operand *trial_add_2d(trial *t, const char *name, role role, int64_t n0, int64_t n1);
operand *trial_add_4d(trial *t, const char *name, role role, int64_t n0, int64_t n1, int64_t n2,
                      int64_t n3);
/* With the given strides: zero ones broadcast, others may overlap. */
operand *trial_add_strided(trial *t, const char *name, role role, hec_dtype dtype, int rank,
                           const int64_t *shape, const int64_t *stride);
operand *trial_find(trial *t, const char *name); /* NULL: absent */

/* Where element (i, j, k, l) is in value and scale. */
static inline int64_t at(const operand *o, int64_t i, int64_t j, int64_t k, int64_t l)
{
	return o->origin + i * o->stride[0] + j * o->stride[1] + k * o->stride[2] +
	       l * o->stride[3];
}

#define EACH_ELEMENT(o, i, j, k, l)                                                                \
	for (int64_t i = 0; i < (o)->shape[0]; i++)                                                \
		for (int64_t j = 0; j < (o)->shape[1]; j++)                                        \
			for (int64_t k = 0; k < (o)->shape[2]; k++)                                \
				for (int64_t l = 0; l < (o)->shape[3]; l++)

void operand_normal(trial *t, operand *o, double mean, double stddev);
void operand_integers(trial *t, operand *o, int64_t low, int64_t high); /* low … high − 1 */
double as_f32(double x);

/* One run of a trial. */
typedef struct run {
	const trial *t;
	hec_dtype dtype;
	unsigned char *memory[MAX_OPERANDS], *before[MAX_OPERANDS];
	size_t bytes[MAX_OPERANDS];
	hec_tensor tensor[MAX_OPERANDS];
} run;

void run_make(run *r, const trial *t, hec_dtype dtype);
void run_free(run *r);
hec_tensor *run_tensor(run *r, const char *name); /* NULL: absent */
double run_value(const run *r, int operand, int64_t where);
/* What was touched that should not be, or left that should not be: a sentence, or NULL. */
const char *run_damage(const run *r);
bool run_same_bits(const run *a, const run *b);

#endif
