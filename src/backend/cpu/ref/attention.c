/* attention.c — attention a query at a time: its scores, their maximum, the weights, the output.
 *
 * Subtracting the maximum keeps exp in range; the logsumexp, max + log Σ exp(score − max), is all
 * that backward needs to make exp(score − lse) again. Invisible keys are not weighed with zero but
 * left out: 0 · NaN would be NaN. Where every visible score has overflowed to −inf the weights are
 * 0/0: NaN, and so are output and logsumexp. */
#include "backend/cpu/ref/attention.h"

#include "backend/cpu/dropout_mask.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

/* One row of the T×S matrix; only what lies within the query's range of keys is set. */
typedef struct weights_row {
	real *weight; /* [S] */
	bool *shown;  /* [S] */
} weights_row;

static size_t row_bytes(int64_t S)
{
	return (size_t)S * (sizeof(real) + sizeof(bool));
}

static weights_row row_in(void *scratch, int64_t S)
{
	real *weight = scratch;
	return (weights_row){weight, (bool *)(weight + S)};
}

/* The softmax of the scores of one query. Returns their logsumexp: −inf where none is visible. */
static real softmax(const attention_args *a, const query *x, weights_row w)
{
	const real lowest = -(real)INFINITY;
	real max = lowest;
	double sum = 0; /* in f32 a thousand small weights beside a large one would be lost */
	bool any = false;
	for (int64_t s = x->keys.begin; s < x->keys.end; s++) {
		w.shown[s] = score_at(a, x, s, &w.weight[s]);
		any |= w.shown[s];
		if (w.shown[s] && w.weight[s] > max)
			max = w.weight[s];
	}
	for (int64_t s = x->keys.begin; s < x->keys.end; s++) {
		w.weight[s] = w.shown[s] ? exp(w.weight[s] - max) : 0;
		sum += w.weight[s];
	}
	for (int64_t s = x->keys.begin; any && s < x->keys.end; s++)
		w.weight[s] /= (real)sum;
	return any ? max + (real)log(sum) : lowest;
}

/* out = Σ dropout(weight) · v over the visible keys; row is the dropout's. */
static void weigh_values(const attention_args *a, const query *x, int64_t row, weights_row w,
                         const hec_tensor *out)
{
	int64_t D = a->v->shape[3];
	const real scale = (real)dropout_scale(&a->dropout);
	for (int64_t d = 0; d < D; d++)
		*at_4d(out, x->b, x->t, x->h, d) = 0;
	for (int64_t s = x->keys.begin; s < x->keys.end; s++) {
		if (!w.shown[s])
			continue;
		real p = dropout_keeps(&a->dropout, row, s) ? w.weight[s] * scale : 0;
		for (int64_t d = 0; d < D; d++)
			*at_4d(out, x->b, x->t, x->h, d) += p * *at_4d(a->v, x->b, s, x->g, d);
	}
}

static void fwd_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	const attention_args *a = args;
	weights_row w = row_in(scratch, a->k->shape[1]);
	for (int64_t row = begin; row < end; row++) {
		query x = query_at(a, row);
		real lse = softmax(a, &x, w);
		weigh_values(a, &x, row, w, a->out);
		if (a->lse)
			*at_3d(a->lse, x.b, x.h, x.t) = lse;
	}
}

static void write_at(const hec_tensor *x, const query *q, int64_t s, real value)
{
	if (x)
		*at_4d(x, q->b, q->h, q->t, s) = value;
}

/* Every matrix that is asked for, also where it is about to be masked away. */
static void unfused_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	const attention_args *a = args;
	const hec_attention_steps *steps = a->steps;
	int64_t S = a->k->shape[1];
	weights_row w = row_in(scratch, S);
	for (int64_t row = begin; row < end; row++) {
		query x = query_at(a, row);
		softmax(a, &x, w);
		for (int64_t s = 0; s < S; s++) {
			bool shown = key_shown(a, &x, s);
			real scaled = scaled_at(a, &x, s);
			write_at(steps->scores, &x, s, query_dot_key(a, &x, s));
			write_at(steps->scaled, &x, s, scaled);
			write_at(steps->masked, &x, s, shown ? scaled : -(real)INFINITY);
			write_at(steps->weights, &x, s, shown ? w.weight[s] : 0);
		}
		if (steps->out)
			weigh_values(a, &x, row, w, steps->out);
	}
}

/* The logsumexp says no more here than whether a row sees anything: forward may have summed its
 * scores in another order, and where they are large exp(score − lse) would not add up to 1. */
static void weights_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	const attention_args *a = args;
	int64_t T = a->q->shape[1], H = a->q->shape[2], S = a->k->shape[1];
	weights_row w = row_in(scratch, S);
	for (int64_t row = begin; row < end; row++) {
		int64_t t = row % T, h = row / T % H, b = row / T / H;
		query x = query_at(a, row);
		if (*at_3d(a->lse, b, h, t) == -(real)INFINITY)
			x.keys = (key_range){0, 0};
		softmax(a, &x, w);
		for (int64_t s = 0; s < S; s++) {
			bool shown = s >= x.keys.begin && s < x.keys.end && w.shown[s];
			*at_4d(a->weights, b, h, t, s) = shown ? w.weight[s] : 0;
		}
	}
}

static int64_t query_rows(const attention_args *a)
{
	return a->q->shape[0] * a->q->shape[1] * a->q->shape[2];
}

hec_status REF(attention_fwd)(hec_ctx *ctx, const attention_args *a)
{
	int64_t S = a->k->shape[1], cost = S * (a->k->shape[3] + a->v->shape[3] + 8);
	return rows_run(ctx, query_rows(a), cost, row_bytes(S) + 1, fwd_rows, a);
}

hec_status REF(attention_unfused)(hec_ctx *ctx, const attention_args *a)
{
	int64_t S = a->k->shape[1], cost = S * (2 * a->k->shape[3] + a->v->shape[3] + 8);
	return rows_run(ctx, query_rows(a), cost, row_bytes(S) + 1, unfused_rows, a);
}

hec_status REF(attention_weights)(hec_ctx *ctx, const attention_args *a)
{
	int64_t S = a->k->shape[1], cost = S * (a->k->shape[3] + 8);
	return rows_run(ctx, query_rows(a), cost, row_bytes(S) + 1, weights_rows, a);
}
