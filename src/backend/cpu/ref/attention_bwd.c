/* attention_bwd.c — the gradients of attention, every weight made again from the logsumexp.
 *
 *   P = exp(score − lse)        dP = dropout(dout·v)        delta_t = Σ_d dout · out = Σ_s P · dP
 *   dS = P · (dP − delta)       dbias += dS                 dv_s = Σ_t dropout(P) · dout_t
 *   dq_t = scale · Σ_s dS · k_s                             dk_s = scale · Σ_t dS · q_t
 *
 * Three passes that share nothing but what they read: dq by queries, dk and dv by keys (over the
 * query heads of the group, then the queries, in order), dbias by what is shared of it. */
#include "backend/cpu/ref/attention.h"

#include "backend/cpu/dbias.h"
#include "backend/cpu/dropout_mask.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static real delta_at(const attention_args *a, const query *x)
{
	return dot(a->v->shape[3], at_4d(a->dout, x->b, x->t, x->h, 0), a->dout->stride[3],
	           at_4d(a->out, x->b, x->t, x->h, 0), a->out->stride[3]);
}

/* What passes between a query and a key. */
typedef struct pair {
	real dropped; /* dropout(P) */
	real dscore;  /* dS */
} pair;

/* False where the key is invisible to the query: then nothing passes. */
static bool pair_at(const attention_args *a, const query *x, int64_t s, real delta, pair *out)
{
	real score;
	if (!score_at(a, x, s, &score))
		return false;
	int64_t row = (x->b * a->q->shape[2] + x->h) * a->q->shape[1] + x->t;
	real keep = dropout_keeps(&a->dropout, row, s) ? (real)dropout_scale(&a->dropout) : 0;
	real p = exp(score - *at_3d(a->lse, x->b, x->h, x->t));
	real dp = keep * dot(a->v->shape[3], at_4d(a->dout, x->b, x->t, x->h, 0),
	                     a->dout->stride[3], at_4d(a->v, x->b, s, x->g, 0), a->v->stride[3]);
	*out = (pair){.dropped = p * keep, .dscore = p * (dp - delta)};
	return true;
}

static void dq_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const attention_args *a = args;
	int64_t K = a->k->shape[3];
	for (int64_t row = begin; row < end; row++) {
		query x = query_at(a, row);
		for (int64_t i = 0; i < K; i++)
			*at_4d(a->dq, x.b, x.t, x.h, i) = 0;
		if (x.keys.begin >= x.keys.end)
			continue;
		real delta = delta_at(a, &x);
		for (int64_t s = x.keys.begin; s < x.keys.end; s++) {
			pair p;
			if (!pair_at(a, &x, s, delta, &p))
				continue;
			for (int64_t i = 0; i < K; i++)
				*at_4d(a->dq, x.b, x.t, x.h, i) +=
					p.dscore * *at_4d(a->k, x.b, s, x.g, i);
		}
		for (int64_t i = 0; i < K; i++)
			*at_4d(a->dq, x.b, x.t, x.h, i) *= (real)a->scale;
	}
}

static void add_query_to_key(const attention_args *a, const query *x, int64_t s)
{
	pair p;
	if (!key_shown(a, x, s) || !pair_at(a, x, s, delta_at(a, x), &p))
		return;
	for (int64_t i = 0; i < a->k->shape[3]; i++)
		*at_4d(a->dk, x->b, s, x->g, i) += p.dscore * *at_4d(a->q, x->b, x->t, x->h, i);
	for (int64_t d = 0; d < a->v->shape[3]; d++)
		*at_4d(a->dv, x->b, s, x->g, d) += p.dropped * *at_4d(a->dout, x->b, x->t, x->h, d);
}

/* Row (b·G + g)·S + s. */
static void dk_dv_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const attention_args *a = args;
	int64_t T = a->q->shape[1], H = a->q->shape[2];
	int64_t S = a->k->shape[1], G = a->k->shape[2], group = H / G;
	for (int64_t row = begin; row < end; row++) {
		int64_t s = row % S, g = row / S % G, b = row / S / G;
		for (int64_t i = 0; i < a->k->shape[3]; i++)
			*at_4d(a->dk, b, s, g, i) = 0;
		for (int64_t d = 0; d < a->v->shape[3]; d++)
			*at_4d(a->dv, b, s, g, d) = 0;
		for (int64_t h = g * group; h < (g + 1) * group; h++) {
			for (int64_t t = 0; t < T; t++) {
				query x = query_at(a, (b * H + h) * T + t);
				add_query_to_key(a, &x, s);
			}
		}
		for (int64_t i = 0; i < a->k->shape[3]; i++)
			*at_4d(a->dk, b, s, g, i) *= (real)a->scale;
	}
}

/* Sequences and heads that share elements of dbias are added up in order by one task; within a head,
 * queries and keys may share elements too, and go in order. */
typedef struct dbias_call {
	const attention_args *a;
	int64_t B, H; /* how many slices that share nothing dbias has along each axis */
} dbias_call;

static void dbias_of_head(const attention_args *a, int64_t b, int64_t h)
{
	int64_t T = a->q->shape[1], H = a->q->shape[2];
	for (int64_t t = 0; t < T; t++) {
		query x = query_at(a, (b * H + h) * T + t);
		if (x.keys.begin >= x.keys.end)
			continue;
		real delta = delta_at(a, &x);
		for (int64_t s = x.keys.begin; s < x.keys.end; s++) {
			pair p;
			if (pair_at(a, &x, s, delta, &p))
				*at_4d(a->dbias, b, h, t, s) += p.dscore;
		}
	}
}

static void dbias_slices(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const dbias_call *call = args;
	const attention_args *a = call->a;
	for (int64_t slice = begin; slice < end; slice++) {
		for (int64_t b = slice / call->H; b < a->q->shape[0]; b += call->B) {
			for (int64_t h = slice % call->H; h < a->q->shape[2]; h += call->H)
				dbias_of_head(a, b, h);
		}
	}
}

hec_status REF(attention_bwd)(hec_ctx *ctx, const attention_args *a)
{
	int64_t B = a->q->shape[0], T = a->q->shape[1], H = a->q->shape[2];
	int64_t S = a->k->shape[1], G = a->k->shape[2];
	int64_t pair_cost = 2 * a->k->shape[3] + 3 * a->v->shape[3] + 8;
	HEC_TRY(rows_run(ctx, B * T * H, S * pair_cost, 0, dq_rows, a));
	HEC_TRY(rows_run(ctx, B * S * G, T * pair_cost, 0, dk_dv_rows, a));
	if (!a->dbias || B * T * H == 0)
		return HEC_OK;
	dbias_sharing shared = dbias_sharing_of(a->dbias);
	dbias_call call = {a, shared.sequences ? 1 : B, shared.heads ? 1 : H};
	return rows_run(ctx, call.B * call.H, T * S * pair_cost, 0, dbias_slices, &call);
}
