/* attention_tile.h — what the forward and the backward pass share: the sizes of a call, the rows of
 * a query tile, and which of a tile's keys its queries see. */
#ifndef BACKEND_CPU_ATTENTION_TILE_H
#define BACKEND_CPU_ATTENTION_TILE_H

#include "backend/cpu/attention.h"

/* A sequence with up to this many queries goes query by query: its scores are those of one_scores,
 * forward and backward. */
#define ATTENTION_ONE 2

typedef struct attention_sizes {
	int64_t B, T, S, H, G, K, D;
	int64_t Kp, Dp; /* rounded up to whole vectors */
} attention_sizes;

/* scale in two parts: |q_factor| is a power of two, so that scores neither lose a digit nor
 * overflow before their time; the rest lies between 1 and 2. */
typedef struct attention_units {
	float q_factor;
	float natural;  /* scale · q·k = natural · k·(q_factor · q) */
	float unit;     /* from a score to an exponent of 2: 1.44 · natural, or with a bias 1.44 */
	float lse_unit; /* from a score to the logsumexp: natural, or with a bias 1 */
} attention_units;

/* Up to 64 queries of one sequence and head. */
typedef struct query_tile {
	int64_t b, h, g;
	int64_t t0;
	int rows;
	key_range row[ATTENTION_TILE];
	key_range any; /* keys that some row sees, by range */
	key_range all; /* keys that every row sees, by range */
} query_tile;

typedef enum tile_kind { TILE_NONE, TILE_FULL, TILE_MIXED } tile_kind;

/* Up to 64 keys from s0 on, for one query tile. Only by_query … are set where kind is TILE_MIXED. */
typedef struct key_tile {
	int64_t s0;
	int keys;
	tile_kind kind;
	const float *bias;                 /* staged [64][64], or NULL */
	uint64_t by_query[ATTENTION_TILE]; /* bit s */
	uint64_t by_key[ATTENTION_TILE];   /* bit t */
	tile_span lanes[ATTENTION_GROUPS]; /* per rows of keys: which queries, in whole vectors */
	tile_span depth_keys[ATTENTION_GROUPS];    /* per rows of queries: which keys */
	tile_span depth_queries[ATTENTION_GROUPS]; /* per rows of keys: which queries */
} key_tile;

attention_sizes attention_sizes_of(const attention_args *a, int lanes);

attention_units attention_units_of(const attention_args *a);

/* Queries of sequence b that can see anything at all: rows from here on are zero. */
int64_t attention_live_queries(const attention_args *a, const attention_sizes *n, int64_t b);

/* Whether query t sees any key at all. */
bool attention_sees_any(const attention_args *a, const attention_sizes *n, int64_t b, int64_t h,
                        int64_t t);

void query_tile_set(query_tile *q, const attention_args *a, const attention_sizes *n, int64_t b,
                    int64_t h, int64_t t0, int rows);

/* Says which keys from s0 on the tile sees, staging the bias into bias_tile [64][64]. */
void key_tile_set(key_tile *k, const attention_args *a, const attention_sizes *n,
                  const attention_kernels *ks, const query_tile *q, int64_t s0, float *bias_tile);

/* A product with rows of b that may hold NaN or Inf: only visible pairs are multiplied. seen[i] has
 * bit k. The same chain as the micro-kernel's, invisible terms left out. */
void attention_product_guarded(const tile_product *p, const uint64_t *seen);

/* Rows of x copied with room for whole vectors, zeros behind; x itself where it has whole ones. */
const float *attention_pad_rows(const float *x, int64_t *row, int rows, int64_t cols,
                                int64_t padded, float *to);

dropout_tile attention_dropout_at(const attention_args *a, const attention_sizes *n,
                                  const query_tile *q, int64_t s0);

/* The next part of a worker's memory, room for that many floats from a cache line on. base may be
 * NULL, when only *used is of interest. */
static inline float *attention_take(char *base, size_t *used, int64_t floats)
{
	float *part = base ? (float *)(base + *used) : NULL;
	*used += ((size_t)floats * sizeof(float) + 63) & ~(size_t)63;
	return part;
}

/* Up to 64 rows of x from [i, j, k, 0] on. */
tile_hint attention_rows_soon(const hec_tensor *x, int64_t i, int64_t j, int64_t k, int64_t rows);

/* The element of tensor x at [i, j, k, 0]. */
static inline float *row_of(const hec_tensor *x, int64_t i, int64_t j, int64_t k)
{
	return (float *)x->data + i * x->stride[0] + j * x->stride[1] + k * x->stride[2];
}

#endif
