/* test_range.c — how large numbers may be: docs/numerics.md has the bounds. Within them every result is
 * right, at every level; beyond them it is right, or Inf or NaN, and never a wrong number. */
#include "support/definition.h"

#include <float.h>
#include <math.h>

static const double LARGEST = FLT_MAX;

/* Each element is within its bound, or, where that is allowed, is not finite. Returns how many are not. */
static int64_t check_right(const kit *k, const char *what, const hec_tensor *got,
                           const hec_tensor *want, const hec_tensor *bound, bool may_overflow)
{
	int64_t lost = 0;
	for (int64_t i = 0; i < hec_tensor_count(want); i++) {
		const double x = get(got, i), y = get(want, i);
		lost += !isfinite(x);
		CHECK(k, x == y || fabs(x - y) <= get(bound, i) || (may_overflow && !isfinite(x)),
		      "%s[%lld] is %.9g, not %.9g ± %.3g", what, (long long)i, x, y, get(bound, i));
	}
	return lost;
}

/* ---- attention: values ---- */

static int64_t check_attention(problem *p, bool may_overflow)
{
	kit *k = p->k;
	const definition d = problem_define(p);
	const result r = problem_run(p, k->ctx);
	hec_tensor out = make(k, HEC_F32, SHAPE(p->B, p->T, p->H, p->D));
	hec_attention_steps steps = {.size = sizeof steps, .out = &out};
	OK(k, hec_attention_unfused(k->ctx, &p->desc, &p->q, &p->key, &p->v, &p->mask, &steps));
	const hec_tensor *got[] = {&r.out, &out, &r.lse, &r.weights, &r.dv, &r.dq, &r.dk};
	const hec_tensor *want[] = {&d.value.out, &d.value.out, &d.value.lse, &d.value.weights,
	                            &d.value.dv,  &d.value.dq,  &d.value.dk};
	const hec_tensor *bound[] = {&d.bound.out, &d.bound.out, &d.bound.lse, &d.bound.weights,
	                             &d.bound.dv,  &d.bound.dq,  &d.bound.dk};
	static const char *const names[] = {"out", "out, unfused", "lse", "weights",
	                                    "dv",  "dq",           "dk"};
	int64_t lost = 0;
	for (int i = 0; i < 7; i++)
		lost += check_right(k, names[i], got[i], want[i], bound[i],
		                    may_overflow && i != 2 && i != 3);
	return lost;
}

/* All of the same size and sign: nothing cancels. */
static void draw_values(problem *p, double size, double gradient)
{
	for (int64_t i = 0; i < hec_tensor_count(&p->v); i++)
		put(&p->v, i, size * (1 - 0.01 * draw_unit(p->k)));
	for (int64_t i = 0; i < hec_tensor_count(&p->dout); i++)
		put(&p->dout, i, gradient * draw_normal(p->k));
}

static void values_are_right_while_all_keys_of_a_query_add_up(void **state)
{
	(void)state;
	static const int64_t queries[] = {1, 2, 3, 65}, keys[] = {1, 3, 64, 67, 131, 517};
	for (size_t i = 0; i < 4; i++) {
		for (size_t j = 0; j < 6; j++) {
			kit k = kit_open(9400 + 10 * i + j);
			problem p;
			problem_open(&p, &k, HEC_F32, 1, queries[i], keys[j], 2, 1, 5, 3);
			p.mask.causal = j % 2;
			draw_values(&p, (j % 3 ? 1 : -1) * LARGEST / (double)p.S * 0.9999, 1e-37);
			check_attention(&p, false);
			kit_close(&k);
		}
	}
}

/* As a decoder writes: each query alone, against the keys so far. */
static void values_are_right_step_by_step(void **state)
{
	(void)state;
	kit k = kit_open(9450);
	const int64_t S = 67;
	for (int64_t s = 1; s <= S; s += 11) {
		problem p;
		problem_open(&p, &k, HEC_F32, 2, 1, S, 4, 2, 16, 17);
		for (int b = 0; b < 2; b++)
			p.keys[b] = (int32_t)(s - b * (s > 1));
		p.mask.key_length = p.keys;
		p.mask.causal = true;
		draw_values(&p, LARGEST / (double)s * 0.9999, 1e-37);
		check_attention(&p, false);
	}
	kit_close(&k);
}

static void values_beyond_are_right_or_not_finite(void **state)
{
	(void)state;
	static const int64_t queries[] = {1, 2, 3, 65}, keys[] = {2, 3, 64, 67, 131};
	int64_t lost = 0;
	for (size_t i = 0; i < 4; i++) {
		for (size_t j = 0; j < 5; j++) {
			kit k = kit_open(9500 + 10 * i + j);
			problem p;
			problem_open(&p, &k, HEC_F32, 1, queries[i], keys[j], 2, 1, 5, 3);
			p.mask.causal = j % 2;
			draw_values(&p, LARGEST, 1e-37);
			lost += check_attention(&p, true);
			/* Of every size and both signs, and gradients that overflow with them. */
			for (int64_t n = 0; n < hec_tensor_count(&p.v); n++)
				put(&p.v, n, ldexp(draw_normal(&k), (int)draw_in(&k, 90, 126)));
			for (int64_t n = 0; n < hec_tensor_count(&p.dout); n++)
				put(&p.dout, n, ldexp(draw_normal(&k), (int)draw_in(&k, -60, 60)));
			lost += check_attention(&p, true);
			kit_close(&k);
		}
	}
	assert_true(lost > 0);
}

/* ---- attention: scores ---- */

/* Scores 1.5 · 2^exponent · (1 … S), one of them the largest by far. */
static void draw_scores(problem *p, int exponent, int scale_exponent, bool biased)
{
	const int sign = draw_in(p->k, 0, 1) ? 1 : -1;
	const int64_t shift = draw_in(p->k, 0, p->S - 1);
	p->desc.scale = sign * ldexp(1.5, scale_exponent);
	fill_with(&p->q, ldexp(1, exponent - scale_exponent));
	for (int64_t s = 0; s < p->S; s++)
		put(&p->key, s, sign * (double)((s + shift) % p->S + 1));
	if (biased)
		p->mask.bias = make_zero(p->k, HEC_F32, SHAPE(1, 1, 1, p->S));
}

static int64_t check_scores(problem *p, bool may_overflow)
{
	const kit *k = p->k;
	const result r = problem_run(p, k->ctx);
	int64_t best = 0, lost = 0;
	for (int64_t s = 0; s < p->S; s++)
		best = fabs(get(&p->key, s)) > fabs(get(&p->key, best)) ? s : best;
	const double top = fabs(p->desc.scale * get(&p->q, 0)) * (double)p->S;
	for (int64_t t = 0; t < p->T; t++) {
		const bool nan = isnan(get(&r.out, t));
		CHECK(k, may_overflow || !nan, "query %lld of %lld: NaN", (long long)t,
		      (long long)p->T);
		lost += nan;
		CHECK(k, nan || get(&r.out, t) == get(&p->v, best), "out %g, not %g",
		      get(&r.out, t), get(&p->v, best));
		const double lse = get(&r.lse, t);
		CHECK(k, (may_overflow && !isfinite(lse)) || lse == top, "lse %g, not %g", lse,
		      top);
		for (int64_t s = 0; s < p->S; s++) {
			const double w = get(&r.weights, t * p->S + s);
			CHECK(k, (may_overflow && isnan(w)) || w == (s == best), "weight %g", w);
		}
	}
	for (int64_t s = 0; s < p->S; s++) {
		double want = 0, size = 0;
		for (int64_t t = 0; t < p->T && s == best; t++) {
			want += get(&p->dout, t);
			size += fabs(get(&p->dout, t));
		}
		const double dv = get(&r.dv, s);
		CHECK(k, (may_overflow && !isfinite(dv)) || fabs(dv - want) <= 1e-5 * size,
		      "dv %g, not %g", dv, want);
	}
	if (!may_overflow) {
		check_all_finite(k, "dq", &r.dq);
		check_all_finite(k, "dk", &r.dk);
	}
	return lost;
}

/* q·k alone may be far beyond what a float holds, and q · scale far from q. */
static void scores_are_right_wherever_they_fit_when_scaled(void **state)
{
	(void)state;
	static const int64_t queries[] = {1, 2, 3, 65}, keys[] = {1, 3, 67, 131};
	static const int scales[] = {-60, -20, -3, 0, 1, 40};
	for (size_t i = 0; i < 4; i++) {
		for (size_t j = 0; j < 4; j++) {
			for (size_t n = 0; n < 6; n++) {
				for (int e = 10; e <= 118; e += 36) {
					const int q = e - scales[n];
					kit k = kit_open(9600);
					problem p;
					problem_open(&p, &k, HEC_F32, 1, queries[i], keys[j], 1, 1,
					             1, 1);
					draw_scores(&p, q > 127 ? 127 + scales[n] : e, scales[n],
					            n % 2);
					check_scores(&p, false);
					kit_close(&k);
				}
			}
		}
	}
}

static void scores_beyond_are_right_or_not_finite(void **state)
{
	(void)state;
	static const int64_t queries[] = {1, 2, 3, 65}, keys[] = {1, 3, 67, 131};
	int64_t lost = 0;
	for (size_t i = 0; i < 4; i++) {
		for (size_t j = 0; j < 4; j++) {
			for (int e = 119; e <= 127; e++) {
				kit k = kit_open(9700);
				problem p;
				problem_open(&p, &k, HEC_F32, 1, queries[i], keys[j], 1, 1, 1, 1);
				draw_scores(&p, e, 0, e % 2);
				lost += check_scores(&p, true);
				kit_close(&k);
			}
		}
	}
	assert_true(lost > 0);
}

/* ---- norms ---- */

/* y and dx of rows whose largest number is `size`. Returns how many are not finite. */
static int64_t check_norm(hec_norm_kind kind, int64_t C, double size, bool may_overflow)
{
	enum { N = 3 };
	kit k = kit_open(9800 + (uint64_t)C);
	hec_tensor x = make(&k, HEC_F32, SHAPE(N, C)), y = make_copy(&k, &x),
		   dy = make_random(&k, HEC_F32, SHAPE(N, C)),
		   dx = make_zero(&k, HEC_F32, SHAPE(N, C));
	hec_tensor mean = make(&k, HEC_F32, SHAPE(N)), rstd = make(&k, HEC_F32, SHAPE(N));
	hec_norm norm = {.kind = kind,
	                 .eps = 1e-5,
	                 .gamma = make_random(&k, HEC_F32, SHAPE(C)),
	                 .beta = make_random(&k, HEC_F32, SHAPE(C))};
	hec_tensor want = make_zero(&k, HEC_F64, SHAPE(2, N, C)),
		   bound = make_zero(&k, HEC_F64, SHAPE(2, N, C));
	hec_norm_kept kept = {mean, rstd};
	for (int64_t i = 0; i < N * C; i++)
		put(&x, i, size * (2 * draw_unit(&k) - 1));
	for (int64_t n = 0; n < N; n++) {
		double m = 0, square = 0, sum_g = 0, sum_gx = 0, sizes = 0;
		for (int64_t c = 0; c < C && kind == HEC_NORM_LAYER; c++)
			m += get(&x, n * C + c) / (double)C;
		for (int64_t c = 0; c < C; c++)
			square += pow(get(&x, n * C + c) - m, 2) / (double)C;
		const double r = 1 / sqrt(square + 1e-5);
		for (int64_t c = 0; c < C; c++) {
			const double g = get(&dy, n * C + c) * get(&norm.gamma, c);
			sum_g += kind == HEC_NORM_LAYER ? g / (double)C : 0;
			sum_gx += g * (get(&x, n * C + c) - m) * r / (double)C;
			sizes += fabs(g);
		}
		for (int64_t c = 0; c < C; c++) {
			const double h = (get(&x, n * C + c) - m) * r,
				     g = get(&dy, n * C + c) * get(&norm.gamma, c),
				     limit = (double)(C + 64) * FLT_EPSILON * (1 + size * r) *
			                     (1 + size * r);
			put(&want, n * C + c, h * get(&norm.gamma, c) + get(&norm.beta, c));
			put(&want, N * C + n * C + c, r * (g - sum_g - h * sum_gx));
			put(&bound, n * C + c, limit * (1 + fabs(get(&norm.gamma, c))));
			put(&bound, N * C + n * C + c, limit * r * (fabs(g) + sizes) + FLT_MIN);
		}
	}
	OK(&k, hec_norm_fwd(k.ctx, &norm, &x, &y, &kept));
	OK(&k, hec_norm_bwd(k.ctx, &norm, &dy, &x, &kept, &dx, NULL));
	hec_tensor part, limits;
	int64_t lost = 0;
	for (int i = 0; i < 2; i++) {
		OK(&k, hec_tensor_slice(&want, 0, i, 1, &part));
		OK(&k, hec_tensor_slice(&bound, 0, i, 1, &limits));
		lost += check_right(&k, i ? "dx" : "y", i ? &dx : &y, &part, &limits, may_overflow);
	}
	kit_close(&k);
	return lost;
}

static void norms_are_right_while_their_squares_add_up(void **state)
{
	(void)state;
	static const int64_t widths[] = {2, 5, 64, 129, 768};
	int64_t lost = 0;
	for (int kind = 0; kind < 2; kind++) {
		for (size_t i = 0; i < 5; i++) {
			/* x − mean is at most twice as large as x. */
			const double most = sqrt(LARGEST / (double)widths[i]) / 2;
			check_norm((hec_norm_kind)kind, widths[i], most, false);
			for (double size = 4 * most; size < LARGEST; size *= 1000)
				lost += check_norm((hec_norm_kind)kind, widths[i], size, true);
		}
	}
	assert_true(lost > 0);
}

/* ---- losses ---- */

/* Logits 2^exponent · (1 … V) − their middle, in any order: one of them is far above the others. */
static int64_t check_loss(int64_t V, int exponent, double smoothing, bool may_overflow)
{
	kit k = kit_open(9900 + (uint64_t)V);
	hec_tensor x = make(&k, HEC_F32, SHAPE(1, V)), losses = make(&k, HEC_F32, SHAPE(1)),
		   lse = make(&k, HEC_F32, SHAPE(1)), dx = make(&k, HEC_F32, SHAPE(1, V)),
		   targets = make(&k, HEC_I32, SHAPE(1));
	hec_cross_entropy o = HEC_CROSS_ENTROPY_INIT;
	o.smoothing = smoothing;
	const int64_t target = draw_in(&k, 0, V - 1), shift = draw_in(&k, 0, V - 1);
	put(&targets, 0, (double)target);
	double top = -INFINITY, want = 0, size = 0;
	for (int64_t v = 0; v < V; v++) {
		put(&x, v, ldexp((double)((v + shift) % V) - (double)(V / 2), exponent));
		top = fmax(top, get(&x, v));
	}
	for (int64_t v = 0; v < V; v++) {
		const double share = smoothing / (double)V + (v == target) * (1 - smoothing);
		want += share * (top - get(&x, v));
		size += share * (fabs(top) + fabs(get(&x, v)));
	}
	OK(&k, hec_cross_entropy_fwd(k.ctx, &o, &x, &targets, &losses, &lse));
	OK(&k, hec_cross_entropy_bwd(k.ctx, &o, &x, &targets, &lse, 1, &dx));
	const double loss = get(&losses, 0);
	CHECK(&k,
	      fabs(loss - want) <= (double)(V + 8) * FLT_EPSILON * size ||
	              (may_overflow && !isfinite(loss)),
	      "%lld logits up to %g: a loss of %g, not %g", (long long)V, top, loss, want);
	CHECK(&k, get(&lse, 0) == top, "lse %g, not %g", get(&lse, 0), top);
	for (int64_t v = 0; v < V; v++) {
		const double share = smoothing / (double)V + (v == target) * (1 - smoothing);
		CHECK(&k, fabs(get(&dx, v) - ((get(&x, v) == top) - share)) <= 4 * FLT_EPSILON,
		      "gradient %g of a logit of %g", get(&dx, v), get(&x, v));
	}
	kit_close(&k);
	return !isfinite(loss);
}

static void losses_are_right_while_the_falls_add_up(void **state)
{
	(void)state;
	static const int64_t words[] = {2, 5, 64, 131, 1000};
	int64_t lost = 0;
	for (size_t i = 0; i < 5; i++) {
		for (int smooth = 0; smooth < 2; smooth++) {
			/* Σ (max − x) < V · V · 2^exponent; without smoothing one of them alone. */
			const int last = 126 - (smooth + 1) * (int)ceil(log2((double)words[i]));
			for (int e = 10; e <= last; e += (last - 10) / 3)
				check_loss(words[i], e, smooth * 0.1, false);
			/* The logits themselves still fit. */
			const int most = 127 - (int)ceil(log2((double)words[i]));
			for (int e = last + 1; e <= most; e++)
				lost += check_loss(words[i], e, smooth * 0.1, true);
		}
	}
	assert_true(lost > 0);
}

/* ---- products, activations ---- */

static int64_t check_product(int64_t M, int64_t K, double size, bool may_overflow)
{
	const int64_t N = 33;
	kit k = kit_open(9950 + (uint64_t)(M + K));
	hec_linear linear = {.w = make(&k, HEC_F32, SHAPE(N, K))};
	hec_tensor x = make(&k, HEC_F32, SHAPE(M, K)), y = make(&k, HEC_F32, SHAPE(M, N)),
		   want = make(&k, HEC_F64, SHAPE(M, N)), bound = make(&k, HEC_F64, SHAPE(M, N));
	for (int64_t i = 0; i < M * K; i++)
		put(&x, i, sqrt(size) * (2 * draw_unit(&k) - 1));
	for (int64_t i = 0; i < N * K; i++)
		put(&linear.w, i, sqrt(size) * (2 * draw_unit(&k) - 1));
	for (int64_t i = 0; i < M * N; i++) {
		double sum = 0, terms = 0;
		for (int64_t j = 0; j < K; j++) {
			const double term = get(&x, i / N * K + j) * get(&linear.w, i % N * K + j);
			sum += term;
			terms += fabs(term);
		}
		put(&want, i, sum);
		put(&bound, i, (double)K * FLT_EPSILON * terms);
	}
	OK(&k, hec_linear_fwd(k.ctx, &linear, HEC_ACT_NONE, &x, NULL, &y, NULL));
	const int64_t lost = check_right(&k, "y", &y, &want, &bound, may_overflow);
	kit_close(&k);
	return lost;
}

static void products_are_right_while_their_terms_add_up(void **state)
{
	(void)state;
	int64_t lost = 0;
	for (int64_t M = 1; M <= 65; M += 32) {
		for (int64_t K = 1; K <= 257; K += 64) {
			check_product(M, K, LARGEST / (double)K, false);
			lost += check_product(M, K, LARGEST, true);
			lost += check_product(M, K, 1e40, true);
		}
	}
	assert_true(lost > 0);
}

static void activations_and_their_slopes_are_right_for_every_number(void **state)
{
	(void)state;
	enum { COUNT = 40 };
	kit k = kit_open(9970);
	for (int act = 0; act < HEC_ACTIVATIONS; act++) {
		hec_tensor x = make(&k, HEC_F32, SHAPE(1, COUNT)), y = make_copy(&k, &x),
			   dx = make_copy(&k, &x), dy = make_copy(&k, &x);
		fill_with(&dy, 1);
		for (int64_t i = 0; i < COUNT; i++)
			put(&x, i, (i % 2 ? -1 : 1) * fmin(LARGEST, pow(10, 2 + (double)i)));
		OK(&k, hec_activation_fwd(k.ctx, (hec_activation)act, &x, &y));
		OK(&k, hec_activation_bwd(k.ctx, (hec_activation)act, &dy, &x, &dx));
		for (int64_t i = 0; i < COUNT; i++) {
			const bool flat = act == HEC_ACT_TANH;
			const bool on = act == HEC_ACT_NONE || (get(&x, i) > 0 && !flat);
			const double want = flat ? copysign(1, get(&x, i)) : on ? get(&x, i) : 0;
			CHECK(&k, get(&y, i) == want, "act(%g) is %g", get(&x, i), get(&y, i));
			CHECK(&k, get(&dx, i) == on, "the slope at %g is %g", get(&x, i),
			      get(&dx, i));
		}
	}
	kit_close(&k);
}

/* ---- learning ---- */

/* Beyond, the second moment is Inf, and the weight stays where it is but for its decay, as with PyTorch. */
static void adamw_is_right_while_the_square_of_a_gradient_fits(void **state)
{
	(void)state;
	enum { COUNT = 33 };
	kit k = kit_open(9980);
	for (int beyond = 0; beyond < 2; beyond++) {
		hec_tensor w = make_zero(&k, HEC_F32, SHAPE(COUNT)), m = make_copy(&k, &w),
			   v = make_copy(&k, &w), dw = make_copy(&k, &w);
		hec_adamw o = HEC_ADAMW_INIT;
		o.weight_decay = 0;
		for (int64_t i = 0; i < COUNT; i++)
			put(&dw, i, (i % 2 ? -1 : 1) * (beyond ? 1e25 : 1.8e19));
		for (int step = 1; step <= 50; step++) {
			OK(&k, hec_adamw_step(k.ctx, &o, step, &dw, &m, &v, &w));
			for (int64_t i = 0; i < COUNT; i++) {
				const double want = (i % 2 ? 1 : -1) * (beyond ? 0 : 1e-3 * step);
				CHECK(&k, fabs(get(&w, i) - want) <= 1e-5 * fabs(want) + 1e-6,
				      "weight %g after step %d, not %g", get(&w, i), step, want);
				CHECK(&k, isinf(get(&v, i)) == beyond, "second moment %g",
				      get(&v, i));
			}
		}
		double square = 0;
		OK(&k, hec_sum_squares(k.ctx, &dw, &square));
		CHECK(&k, isfinite(square), "the square of a norm is a double, not %g", square);
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_right_while_all_keys_of_a_query_add_up),
		cmocka_unit_test(values_are_right_step_by_step),
		cmocka_unit_test(values_beyond_are_right_or_not_finite),
		cmocka_unit_test(scores_are_right_wherever_they_fit_when_scaled),
		cmocka_unit_test(scores_beyond_are_right_or_not_finite),
		cmocka_unit_test(norms_are_right_while_their_squares_add_up),
		cmocka_unit_test(losses_are_right_while_the_falls_add_up),
		cmocka_unit_test(products_are_right_while_their_terms_add_up),
		cmocka_unit_test(activations_and_their_slopes_are_right_for_every_number),
		cmocka_unit_test(adamw_is_right_while_the_square_of_a_gradient_fits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
