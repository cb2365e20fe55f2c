/* moves.c — operations that mostly move numbers: embedding, rotary, fill, cast, cache. */
#include <math.h>
#include <stdlib.h>

#include "check.h"

static operand *add_ids(trial *t, int64_t N, int64_t V)
{
	operand *ids = trial_add(t, "ids", IN, HEC_I32, LAYOUT_ANY, 1, (int64_t[]){N});
	operand_integers(t, ids, 0, V);
	return ids;
}

static void choose_embedding(trial *t, int64_t *N, int64_t *V, int64_t *C)
{
	*N = 1024, *V = 32000, *C = 512;
	if (!t->plain) {
		*N = rng_chance(&t->r, 0.04) ? 0 : rng_size(&t->r, 129);
		*V = rng_size(&t->r, 300);
		*C = rng_size(&t->r, 300);
	}
	embedding_args *a = &t->args.embedding;
	*a = (embedding_args){.scale = rng_chance(&t->r, 0.5) ? 1 : sqrt((double)*C),
	                      .padding_id = rng_chance(&t->r, 0.5) ? -1 : (int32_t)(*V - 1)};
	trial_note(t, "N %lld V %lld C %lld scale %g padding %d", (long long)*N, (long long)*V,
	           (long long)*C, a->scale, a->padding_id);
	t->terms = (double)*N;
	t->bytes = 8.0 * (double)(*N * *C);
}

static void make_gather(trial *t)
{
	int64_t N, V, C;
	choose_embedding(t, &N, &V, &C);
	add_ids(t, N, V);
	operand_normal(t, trial_add_2d(t, "table", IN, V, C), 0, 1);
	operand *ids = trial_find(t, "ids"), *table = trial_find(t, "table");
	operand *y = trial_add_2d(t, "y", OUT, N, C);
	double scale = t->args.embedding.scale;
	EACH_ELEMENT(y, n, c, k, l)
	{
		int64_t id = (int64_t)ids->value[at(ids, n, 0, 0, 0)];
		y->scale[at(y, n, c, k, l)] =
			scale == 1 ? 0 : fabs(scale * table->value[at(table, id, c, 0, 0)]);
	}
}

static void make_scatter(trial *t)
{
	int64_t N, V, C;
	choose_embedding(t, &N, &V, &C);
	add_ids(t, N, V);
	operand_normal(t, trial_add_2d(t, "table", INOUT, V, C), 0, 1);
	operand_normal(t, trial_add_2d(t, "y", IN, N, C), 0, 1);
	operand *ids = trial_find(t, "ids"), *table = trial_find(t, "table");
	operand *y = trial_find(t, "y");
	for (int64_t n = 0; n < N; n++) {
		int64_t id = (int64_t)ids->value[at(ids, n, 0, 0, 0)];
		for (int64_t c = 0; c < C && id != t->args.embedding.padding_id; c++) {
			int64_t where = at(table, id, c, 0, 0);
			if (table->scale[where] == 0)
				table->scale[where] = fabs(table->value[where]);
			table->scale[where] +=
				fabs(t->args.embedding.scale * y->value[at(y, n, c, 0, 0)]);
		}
	}
	t->bytes *= 1.5;
}

static hec_status call_gather(hec_ctx *ctx, run *r)
{
	embedding_args a = r->t->args.embedding;
	a.ids = run_tensor(r, "ids");
	a.table = run_tensor(r, "table");
	a.y = run_tensor(r, "y");
	return CALL(ctx, r, embedding_gather, &a);
}

static hec_status call_scatter(hec_ctx *ctx, run *r)
{
	embedding_args a = r->t->args.embedding;
	a.ids = run_tensor(r, "ids");
	a.table = run_tensor(r, "table");
	a.y = run_tensor(r, "y");
	return CALL(ctx, r, embedding_scatter, &a);
}

static void make_rotary(trial *t)
{
	int64_t B = 1 + rng_below(&t->r, 3), T = rng_size(&t->r, 65), H = 1 + rng_below(&t->r, 3);
	int64_t K = 1 + rng_size(&t->r, 96), R = 2 * (1 + rng_below(&t->r, K / 2)), P = T + 10;
	if (t->plain)
		B = 1, T = 1024, H = 8, K = R = 64, P = T + 10;
	rotary_args *a = &t->args.rotary;
	*a = (rotary_args){.interleaved = rng_chance(&t->r, 0.5),
	                   .inverse = rng_chance(&t->r, 0.5)};
	if (rng_chance(&t->r, 0.5))
		a->first = t->lengths[0];
	for (int64_t b = 0; b < B; b++)
		t->lengths[0][b] = (int32_t)rng_below(&t->r, 10);
	bool in_place = !t->plain && rng_chance(&t->r, 0.4);
	trial_note(t, "B %lld T %lld H %lld K %lld R %lld%s%s%s%s", (long long)B, (long long)T,
	           (long long)H, (long long)K, (long long)R, a->interleaved ? " interleaved" : "",
	           a->inverse ? " inverse" : "", a->first ? " first" : "",
	           in_place ? " in place" : "");
	operand *cosine = trial_add_2d(t, "cosine", IN, P, R / 2);
	operand *sine = trial_add_2d(t, "sine", IN, P, R / 2);
	operand_normal(t, cosine, 0, 1);
	operand_normal(t, sine, 0, 1);
	operand *x = trial_add_4d(t, "x", in_place ? INOUT : IN, B, T, H, K);
	operand_normal(t, x, 0, 1);
	operand *y = in_place ? x : trial_add_4d(t, "y", OUT, B, T, H, K);
	EACH_ELEMENT(x, b, q, h, i)
	{
		if (i >= R)
			continue;
		int64_t pair = a->interleaved ? i / 2 : i % (R / 2);
		int64_t other = a->interleaved ? (i ^ 1) : (i + R / 2) % R;
		int64_t p = q + (a->first ? a->first[b] : 0);
		y->scale[at(y, b, q, h, i)] = fabs(x->value[at(x, b, q, h, i)] *
		                                   cosine->value[at(cosine, p, pair, 0, 0)]) +
		                              fabs(x->value[at(x, b, q, h, other)] *
		                                   sine->value[at(sine, p, pair, 0, 0)]);
	}
	t->bytes = 8.0 * (double)(B * T * H * K);
}

static hec_status call_rotary(hec_ctx *ctx, run *r)
{
	rotary_args a = r->t->args.rotary;
	a.cosine = run_tensor(r, "cosine");
	a.sine = run_tensor(r, "sine");
	a.x = run_tensor(r, "x");
	a.y = run_tensor(r, "y") ? run_tensor(r, "y") : a.x;
	return CALL(ctx, r, rotary, &a);
}

static void choose_sizes(trial *t, int64_t *N, int64_t *C)
{
	*N = 1024, *C = 512;
	if (!t->plain) {
		*N = rng_chance(&t->r, 0.04) ? 0 : rng_size(&t->r, 65);
		*C = rng_size(&t->r, 300);
	}
	trial_note(t, "N %lld C %lld", (long long)*N, (long long)*C);
	t->bytes = 8.0 * (double)(*N * *C);
}

static void make_fill(trial *t)
{
	int64_t N, C;
	choose_sizes(t, &N, &C);
	t->main = t->plain ? HEC_F32 : (hec_dtype)rng_below(&t->r, HEC_DTYPES);
	t->args.fill = (fill_args){.value = (double)rng_below(&t->r, 100) - 50};
	trial_note(t, " %s", hec_dtype_name(t->main));
	trial_add(t, "x", OUT, t->main, LAYOUT_ANY, 2, (int64_t[]){N, C})->bits = true;
	t->bytes /= 2;
}

static hec_status call_fill(hec_ctx *ctx, run *r)
{
	fill_args a = r->t->args.fill;
	a.x = run_tensor(r, "x");
	return CALL(ctx, r, fill, &a);
}

/* Values of every kind: ordinary ones, ties, halves, what overflows and what vanishes. */
static double any_value(trial *t, hec_dtype dtype)
{
	rng *r = &t->r;
	switch (dtype) {
	case HEC_I8:
		return (double)rng_below(r, 256) - 128;
	case HEC_I32:
		return (double)(int32_t)rng_next(r);
	case HEC_BF16:
	case HEC_F16:
		return (double)rng_below(r, 65536);
	default:
		break;
	}
	if (rng_chance(r, 0.1))
		return (double)rng_below(r, 4) * INFINITY; /* NaN or Inf */
	return as_f32(ldexp(rng_normal(r), (int)rng_below(r, 60) - 30));
}

static void make_cast(trial *t)
{
	int64_t N, C;
	choose_sizes(t, &N, &C);
	hec_dtype from = t->plain ? HEC_F32 : (hec_dtype)rng_below(&t->r, HEC_DTYPES);
	hec_dtype to = t->plain ? HEC_BF16 : (hec_dtype)rng_below(&t->r, HEC_DTYPES);
	t->main = from;
	trial_note(t, " %s to %s", hec_dtype_name(from), hec_dtype_name(to));
	operand *x = trial_add(t, "x", IN, from, LAYOUT_ANY, 2, (int64_t[]){N, C});
	bool whole = to == HEC_I8 || to == HEC_I32; /* what does not fit an integer is undefined */
	EACH_ELEMENT(x, i, j, k, l)
	{
		double v = any_value(t, from);
		bool real = from == HEC_F32 || from == HEC_F64;
		if (whole && real)
			v = (double)rng_below(&t->r, 255) - 127 +
			    0.25 * (double)rng_below(&t->r, 3);
		if (whole && (from == HEC_BF16 || from == HEC_F16)) /* ±1, ±1.5 … in either */
			v = from == HEC_BF16 ? 0x3F80 + (double)rng_below(&t->r, 128)
			                     : 0x3C00 + (double)rng_below(&t->r, 1024);
		if (to == HEC_I8 && from == HEC_I32)
			v = (double)rng_below(&t->r, 256) - 128;
		x->value[at(x, i, j, k, l)] = v;
	}
	trial_add(t, "y", OUT, to, LAYOUT_ANY, 2, (int64_t[]){N, C})->bits = true;
	t->bytes *= 0.75;
}

static hec_status call_cast(hec_ctx *ctx, run *r)
{
	cast_args a = {run_tensor(r, "x"), run_tensor(r, "y")};
	return CALL(ctx, r, cast, &a);
}

static void make_cache(trial *t, bool reorder)
{
	int64_t B = 1 + rng_below(&t->r, 4), S = rng_size(&t->r, 65), G = 1 + rng_below(&t->r, 3);
	int64_t K = rng_size(&t->r, 65), T = reorder ? S : 1 + rng_below(&t->r, S);
	if (t->plain)
		B = 4, S = 1024, G = 8, K = 64, T = reorder ? S : 1;
	cache_args *a = &t->args.cache;
	*a = (cache_args){.index = t->lengths[0]};
	if (rng_chance(&t->r, 0.5))
		a->length = t->lengths[1];
	for (int64_t b = 0; b < B; b++) {
		t->lengths[0][b] =
			(int32_t)(reorder ? rng_below(&t->r, B) : rng_below(&t->r, S - T + 1));
		t->lengths[1][b] = (int32_t)rng_below(&t->r, (reorder ? S : T) + 1);
	}
	trial_note(t, "B %lld S %lld T %lld G %lld K %lld%s", (long long)B, (long long)S,
	           (long long)T, (long long)G, (long long)K, a->length ? " length" : "");
	operand *x = trial_add_4d(t, "x", IN, B, T, G, K);
	operand_normal(t, x, 0, 1);
	operand *cache = trial_add_4d(t, "cache", INOUT, B, S, G, K);
	operand_normal(t, cache, 0, 1);
	cache->bits = true;
	t->bytes = 8.0 * (double)(B * T * G * K);
}

static void make_append(trial *t)
{
	make_cache(t, false);
}

static void make_reorder(trial *t)
{
	make_cache(t, true);
}

static hec_status call_append(hec_ctx *ctx, run *r)
{
	cache_args a = r->t->args.cache;
	a.x = run_tensor(r, "x");
	a.cache = run_tensor(r, "cache");
	return CALL(ctx, r, cache_append, &a);
}

static hec_status call_reorder(hec_ctx *ctx, run *r)
{
	cache_args a = r->t->args.cache;
	a.x = run_tensor(r, "x");
	a.cache = run_tensor(r, "cache");
	return CALL(ctx, r, cache_reorder, &a);
}

const check_op move_checks[] = {
	{"embedding_gather", make_gather, call_gather, false},
	{"embedding_scatter", make_scatter, call_scatter, false},
	{"rotary", make_rotary, call_rotary, false},
	{"fill", make_fill, call_fill, false},
	{"cast", make_cast, call_cast, true},
	{"cache_append", make_append, call_append, false},
	{"cache_reorder", make_reorder, call_reorder, false},
	{NULL, NULL, NULL, false},
};
