/* attention_tile.c — which keys of a tile are visible, as one 64-bit word per query and per key.
 *
 * Lengths, causality and window make one range of keys per query; most tiles lie inside or outside
 * of all of them and need no words at all. The rest start from words by query (a range is a run of
 * bits, a row of the mask is 64 bytes tested at once), which are transposed to words by key. */
#include "backend/cpu/attention_tile.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/dropout_mask.h"

#define LOG2_E 1.4426950408889634

attention_sizes attention_sizes_of(const attention_args *a, int lanes)
{
	attention_sizes n = {
		.B = a->q->shape[0],
		.T = a->q->shape[1],
		.H = a->q->shape[2],
		.K = a->q->shape[3],
		.S = a->k->shape[1],
		.G = a->k->shape[2],
		.D = a->v->shape[3],
	};
	n.Kp = div_up(n.K, lanes) * lanes;
	n.Dp = div_up(n.D, lanes) * lanes;
	return n;
}

attention_units attention_units_of(const attention_args *a)
{
	int exponent;
	double natural = 2 * frexp(fabs(a->scale), &exponent);
	bool biased = a->mask.bias.data != NULL;
	return (attention_units){
		.q_factor = (float)copysign(ldexp(1, exponent - 1), a->scale),
		.natural = (float)natural,
		.unit = (float)(biased ? LOG2_E : natural * LOG2_E),
		.lse_unit = biased ? 1 : (float)natural,
	};
}

int64_t attention_live_queries(const attention_args *a, const attention_sizes *n, int64_t b)
{
	int64_t live = n->T;
	if (a->mask.query_length)
		live = max_i64(0, min_i64(live, a->mask.query_length[b]));
	return live;
}

bool attention_sees_any(const attention_args *a, const attention_sizes *n, int64_t b, int64_t h,
                        int64_t t)
{
	const hec_tensor *bias = &a->mask.bias;
	key_range r = visible_keys(&a->mask, b, t, n->T, n->S);
	for (int64_t s = r.begin; s < r.end; s++) {
		if (mask_shows(&a->mask, b, h, t, s) &&
		    (!bias->data ||
		     ((const float *)bias->data)[offset_4d(bias, b, h, t, s)] != -INFINITY))
			return true;
	}
	return false;
}

void query_tile_set(query_tile *q, const attention_args *a, const attention_sizes *n, int64_t b,
                    int64_t h, int64_t t0, int rows)
{
	q->b = b;
	q->h = h;
	q->g = h / (n->H / n->G);
	q->t0 = t0;
	q->rows = rows;
	q->any = (key_range){n->S, 0};
	q->all = (key_range){0, n->S};
	for (int t = 0; t < rows; t++) {
		key_range r = visible_keys(&a->mask, b, t0 + t, n->T, n->S);
		q->row[t] = r;
		q->all.begin = max_i64(q->all.begin, r.begin);
		q->all.end = min_i64(q->all.end, r.end);
		if (r.begin < r.end) {
			q->any.begin = min_i64(q->any.begin, r.begin);
			q->any.end = max_i64(q->any.end, r.end);
		}
	}
}

static inline uint64_t low_bits(int64_t n)
{
	return n <= 0 ? 0 : n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
}

/* Bit j of word i becomes bit i of word j: halves of ever smaller blocks change places. */
static void transpose_bits(const uint64_t *in, uint64_t *x)
{
	memcpy(x, in, ATTENTION_TILE * sizeof *x);
	uint64_t m = UINT64_C(0x00000000FFFFFFFF);
	for (int j = 32; j; j >>= 1, m ^= m << j) {
		for (int k = 0; k < ATTENTION_TILE; k = (k + j + 1) & ~j) {
			uint64_t t = ((x[k] >> j) ^ x[k + j]) & m;
			x[k] ^= t << j;
			x[k + j] ^= t;
		}
	}
}

/* The bits of one row of the mask tensor, keys from s0 on. */
static uint64_t mask_row(const attention_args *a, const attention_kernels *ks, const query_tile *q,
                         int t, int64_t s0, int keys)
{
	const hec_tensor *m = &a->mask.visible;
	const int8_t *p = (const int8_t *)m->data + offset_4d(m, q->b, q->h, q->t0 + t, s0);
	int64_t step = m->stride[3];
	if (step == 1)
		return ks->mask_bits(p, keys);
	if (step == 0)
		return *p ? low_bits(keys) : 0;
	uint64_t bits = 0;
	for (int s = 0; s < keys; s++)
		bits |= (uint64_t)(p[s * step] != 0) << s;
	return bits;
}

static void words_by_query(key_tile *k, const attention_args *a, const attention_kernels *ks,
                           const query_tile *q)
{
	const hec_tensor *m = &a->mask.visible;
	uint64_t mask = low_bits(k->keys);
	for (int t = 0; t < q->rows; t++) {
		if (m->data && (t == 0 || m->stride[2] != 0))
			mask = mask_row(a, ks, q, t, k->s0, k->keys);
		uint64_t range =
			low_bits(q->row[t].end - k->s0) & ~low_bits(q->row[t].begin - k->s0);
		k->by_query[t] = range & mask;
	}
	for (int t = q->rows; t < ATTENTION_TILE; t++)
		k->by_query[t] = 0;
}

/* −inf in the bias hides a key from a query. */
static void hide_by_bias(key_tile *k, const uint64_t *hidden)
{
	uint64_t by_query[ATTENTION_TILE];
	transpose_bits(hidden, by_query);
	for (int t = 0; t < ATTENTION_TILE; t++)
		k->by_query[t] &= ~by_query[t];
}

static tile_kind kind_of(const key_tile *k, int rows)
{
	uint64_t any = 0, all = low_bits(k->keys);
	for (int t = 0; t < rows; t++) {
		any |= k->by_query[t];
		all &= k->by_query[t];
	}
	return !any ? TILE_NONE : all == low_bits(k->keys) ? TILE_FULL : TILE_MIXED;
}

static tile_span span_of(const uint64_t *words)
{
	uint64_t any = words[0] | words[1] | words[2] | words[3];
	if (!any)
		return (tile_span){0, 0};
	return (tile_span){(uint8_t)__builtin_ctzll(any), (uint8_t)(64 - __builtin_clzll(any))};
}

static void set_spans(key_tile *k, int lanes)
{
	for (int i = 0; i < ATTENTION_GROUPS; i++) {
		k->depth_keys[i] = span_of(k->by_query + i * ATTENTION_ROWS);
		tile_span s = span_of(k->by_key + i * ATTENTION_ROWS);
		k->depth_queries[i] = s;
		k->lanes[i].begin = (uint8_t)(s.begin / lanes * lanes);
		k->lanes[i].end = (uint8_t)((s.end + lanes - 1) / lanes * lanes);
	}
}

void key_tile_set(key_tile *k, const attention_args *a, const attention_sizes *n,
                  const attention_kernels *ks, const query_tile *q, int64_t s0, float *bias_tile)
{
	const hec_tensor *bias = &a->mask.bias;
	k->s0 = s0;
	k->keys = (int)min_i64(ATTENTION_TILE, n->S - s0);
	k->bias = NULL;
	uint64_t hidden[ATTENTION_TILE];
	bool hides = false;
	if (bias->data) {
		const float *p = (const float *)bias->data + offset_4d(bias, q->b, q->h, q->t0, s0);
		hides = ks->stage_bias(p, bias->stride[2], bias->stride[3], q->rows, k->keys,
		                       bias_tile, hidden);
		k->bias = bias_tile;
	}
	if (!hides && !a->mask.visible.data && q->all.begin <= s0 && s0 + k->keys <= q->all.end) {
		k->kind = TILE_FULL;
		return;
	}
	words_by_query(k, a, ks, q);
	if (hides)
		hide_by_bias(k, hidden);
	k->kind = kind_of(k, q->rows);
	if (k->kind != TILE_MIXED)
		return;
	transpose_bits(k->by_query, k->by_key);
	set_spans(k, ks->lanes);
}

void attention_product_guarded(const tile_product *p, const uint64_t *seen)
{
	for (int i = 0; i < p->rows; i++) {
		float *c = p->c + i * p->c_row;
		float factor = p->factor ? p->factor[i] : 1;
		for (int j = 0; j < p->cols; j++)
			c[j] = p->add ? c[j] * factor : 0;
		for (uint64_t bits = seen[i]; bits; bits &= bits - 1) {
			int k = __builtin_ctzll(bits);
			float a = p->a[i * p->a_row + k * p->a_k];
			for (int j = 0; j < p->cols; j++)
				c[j] = fmaf(a, p->b[k * p->b_k + j], c[j]);
		}
	}
}

const float *attention_pad_rows(const float *x, int64_t *row, int rows, int64_t cols,
                                int64_t padded, float *to)
{
	if (cols == padded)
		return x;
	for (int r = 0; r < rows; r++) {
		memcpy(to + r * padded, x + r * *row, (size_t)cols * sizeof *x);
		memset(to + r * padded + cols, 0, (size_t)(padded - cols) * sizeof *x);
	}
	*row = padded;
	return to;
}

dropout_tile attention_dropout_at(const attention_args *a, const attention_sizes *n,
                                  const query_tile *q, int64_t s0)
{
	const hec_dropout *d = &a->dropout;
	return (dropout_tile){
		.counter = {(uint32_t)(s0 / 4), (uint32_t)((q->b * n->H + q->h) * n->T + q->t0),
	                    d->site | (uint32_t)d->key.micro_batch << 16, d->key.step},
		.key = {(uint32_t)d->key.seed, (uint32_t)(d->key.seed >> 32)},
		.threshold = dropout_threshold(d),
	};
}

tile_hint attention_rows_soon(const hec_tensor *x, int64_t i, int64_t j, int64_t k, int64_t rows)
{
	return (tile_hint){row_of(x, i, j, k), x->stride[1], (int)min_i64(rows, ATTENTION_TILE),
	                   (int)x->shape[3]};
}
