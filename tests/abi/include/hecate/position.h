/* position.h — how a layer knows where a token stands: four ways. */
#ifndef HECATE_POSITION_H
#define HECATE_POSITION_H

#include <hecate/arena.h>
#include <hecate/context.h>

HEC_BEGIN

/* 1. Sinusoidal: angle(t, i) = t / base^(2i / C), base 10000 in the paper. */
typedef enum hec_sinusoid {
	HEC_SINUSOID_INTERLEAVED = 0, /* sin, cos, sin, cos, … as in the 2017 paper */
	HEC_SINUSOID_HALVES           /* all sines, then all cosines, as Marian has it */
} hec_sinusoid;

/* Writes rows first … first + T − 1. An odd C has one sine more than cosines. */
HEC_API HEC_MUST_USE hec_status hec_position_sinusoidal(hec_ctx *ctx, hec_sinusoid layout,
                                                        double base, int64_t first,
                                                        hec_tensor *table /* [T, C] written */);

/* 1 and 2 (learned). y = x + table[first … first + T − 1], the same rows for every sequence. */
HEC_API HEC_MUST_USE hec_status hec_position_add_fwd(hec_ctx *ctx, const hec_tensor *table,
                                                     int64_t first,
                                                     const hec_tensor *x, /* [B, T, C] */
                                                     hec_tensor *y /* written, may be x */);
HEC_API HEC_MUST_USE hec_status
hec_position_add_bwd(hec_ctx *ctx, const hec_tensor *dy, int64_t first,
                     hec_tensor *dtable /* [≥ first + T, C] added to */);

/* 3. Rotary: pairs of a head's numbers turn by an angle that grows with the position. */
typedef enum hec_rotary_pairs {
	HEC_ROTARY_HALVES = 0, /* (i, i + R/2) as Llama in Hugging Face has it */
	HEC_ROTARY_INTERLEAVED /* (2i, 2i + 1) as the RoFormer paper has it */
} hec_rotary_pairs;

typedef struct hec_rotary { /* layer */
	hec_rotary_pairs pairs;
	hec_tensor cosine; /* [positions, R/2], R ≤ K even: the numbers of a head that turn */
	hec_tensor sine;   /* [positions, R/2] */
} hec_rotary;

/* How the angles of a model that was made for shorter texts are stretched, each as its authors and
 * Hugging Face define it. */
typedef enum hec_rotary_stretch {
	HEC_ROTARY_PLAIN = 0,
	HEC_ROTARY_LINEAR,  /* every angle divided by factor */
	HEC_ROTARY_DYNAMIC, /* none up to the longest sequence, and no sequence is longer here */
	HEC_ROTARY_LLAMA3,  /* slow pairs divided by factor, quick ones not, a ramp between */
	HEC_ROTARY_YARN,    /* a ramp by pair, and the tables times attention_factor */
	HEC_ROTARY_LONG /* LongRoPE: each pair divided by a factor of its own, one for short texts
	                       and one for long ones; the tables times attention_factor */
} hec_rotary_stretch;

#define HEC_ROTARY_FACTORS 128 /* pairs of a head that may have factors of their own */

typedef struct hec_rotary_scaling { /* layer */
	hec_rotary_stretch kind;
	double factor;
	int64_t original;        /* LLAMA3, YARN, LONG: positions that the model was made for */
	double low, high;        /* LLAMA3: turns in `original` positions where the ramp is */
	double fast, slow;       /* YARN: turns where the ramp begins and ends */
	bool exact;              /* YARN: the ends of the ramp are not rounded to whole pairs */
	double attention_factor; /* YARN, LONG: of cosine and sine */
	/* LONG. One of the lists is for all texts, or the first tokens of one would have to be read anew when
	 * it becomes longer than `original`: the short one for texts up to there, unless `stretched`. */
	int64_t longest; /* that may be read with the long list */
	bool stretched;
	int64_t factors; /* how many each list has: one for each pair */
	double short_factor[HEC_ROTARY_FACTORS], long_factor[HEC_ROTARY_FACTORS];
} hec_rotary_scaling;

/* Fills cosine and sine for positions 0 …: angle(t, i) = t · base^(−2i / R). */
HEC_API HEC_MUST_USE hec_status hec_rotary_fill(hec_ctx *ctx, double base, hec_rotary *rotary);
/* The same with angles stretched. */
HEC_API HEC_MUST_USE hec_status hec_rotary_fill_scaled(hec_ctx *ctx, double base,
                                                       const hec_rotary_scaling *scaling,
                                                       hec_rotary *rotary);
/* y = x turned. The backward pass turns the gradient back: inverse = true. */
HEC_API HEC_MUST_USE hec_status hec_rotary_apply(hec_ctx *ctx, const hec_rotary *rotary,
                                                 bool inverse,
                                                 const hec_tensor *x,  /* [B, T, H, K] */
                                                 const int32_t *first, /* [B]; NULL: all 0 */
                                                 hec_tensor *y /* written, may be x */);

/* 4. T5's relative bias: score(t, s) += table[bucket(s − t − offset), h]. The bias depends on s − t
 * alone, so it is kept as one line of T + S − 1 numbers per head, seen through strides (−1, 1) as
 * [1, H, T, S]: no T×S matrix is ever stored. */
typedef struct hec_relative_bias { /* layer */
	hec_tensor table;          /* [buckets, H] */
	bool bidirectional;        /* encoder: half of the buckets look forward */
	int64_t max_distance;      /* everything further shares the last bucket; 128 in T5 */
} hec_relative_bias;

HEC_API int64_t hec_relative_bucket(const hec_relative_bias *bias, int64_t distance /* s − t */);
/* offset is added to t: S − T where the queries are the last T of S positions. */
HEC_API HEC_MUST_USE hec_status hec_relative_bias_fwd(
	hec_ctx *ctx, hec_arena *arena, const hec_relative_bias *bias, int64_t T, int64_t S,
	int64_t offset, hec_tensor *view /* [1, H, T, S] made in the arena: a hec_mask's bias */);
/* A view of the same form that is all zeros: the dbias of hec_attention_bwd. */
HEC_API HEC_MUST_USE hec_status
hec_relative_bias_zero(hec_ctx *ctx, hec_arena *arena, const hec_relative_bias *bias, int64_t T,
                       int64_t S, hec_tensor *dview /* [1, H, T, S] made in the arena */);
HEC_API HEC_MUST_USE hec_status
hec_relative_bias_bwd(hec_ctx *ctx, hec_arena *arena, const hec_relative_bias *bias, int64_t offset,
                      const hec_tensor *dview, /* made by hec_relative_bias_zero, then added to */
                      hec_tensor *dtable /* [buckets, H] added to */);

HEC_END

#endif
