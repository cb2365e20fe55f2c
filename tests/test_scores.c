/* test_scores.c — attention at the edges of its numbers: large scores, scores that overflow, scales
 * of every size and sign. */
#include "support/definition.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* The largest score of a row in double, the next one, and whether rounding could swap or mix them:
 * a row with one clear winner must come out exact whatever the size of its scores. */
static bool row_is_decided(const problem *p, int64_t b, int64_t h, int64_t t)
{
	const double scale = p->desc.scale != 0 ? p->desc.scale : 1 / sqrt((double)p->K);
	double first = -INFINITY, second = -INFINITY, size = 0;
	for (int64_t s = 0; s < p->S; s++) {
		double score = 0, terms = 0;
		for (int64_t i = 0; i < p->K; i++) {
			double z = get4(&p->q, b, t, h, i) *
			           get4(&p->key, b, s, h / (p->H / p->G), i) * scale;
			score += z;
			terms += fabs(z);
		}
		second = fmax(second, fmin(first, score));
		first = fmax(first, score);
		size = fmax(size, terms);
	}
	return first - second > 30 + 4 * (double)p->K * FLT_EPSILON * size;
}

static void scale_all(const hec_tensor *x, double factor)
{
	for (int64_t i = 0; i < hec_tensor_count(x); i++)
		put(x, i, get(x, i) * factor);
}

/* Rows of weights, as the call gives them. */
static void check_rows_sum_to_one(const problem *p, const result *r)
{
	for (int64_t row = 0; row < p->B * p->H * p->T; row++) {
		double sum = 0;
		for (int64_t s = 0; s < p->S; s++)
			sum += get(&r->weights, row * p->S + s);
		CHECK(p->k, fabs(sum - 1) <= (double)(p->S + 4) * FLT_EPSILON,
		      "T %lld S %lld: row %lld of the weights sums to %.9g", (long long)p->T,
		      (long long)p->S, (long long)row, sum);
	}
}

/* With v = dout = 1, dv of a key is the sum of its weights as backward made them: over all keys each
 * query gives 1. A logsumexp is off by an ulp of itself where several keys share a row. */
static void check_backward_sums_to_one(const problem *p, const result *r)
{
	for (int64_t b = 0; b < p->B; b++) {
		double sum = 0, bound = 0;
		for (int64_t s = 0; s < p->S; s++)
			for (int64_t h = 0; h < p->G; h++)
				sum += get4(&r->dv, b, s, h, 0);
		for (int64_t h = 0; h < p->H; h++)
			for (int64_t t = 0; t < p->T; t++) {
				double lse = get(&r->lse, (b * p->H + h) * p->T + t);
				bound += (double)(p->S + p->T + 8) * FLT_EPSILON;
				if (!row_is_decided(p, b, h, t))
					bound += 4 * FLT_EPSILON * fabs(lse);
			}
		CHECK(p->k, fabs(sum - (double)(p->H * p->T)) <= bound,
		      "T %lld S %lld K %lld: the weights of backward sum to %.9g a query (± %.3g)",
		      (long long)p->T, (long long)p->S, (long long)p->K,
		      sum / (double)(p->H * p->T), bound);
	}
}

static void forward_and_backward_mean_the_same_scores(void **state)
{
	(void)state;
	static const int64_t queries[] = {1, 2, 3, 5, 64, 65}, features[] = {3, 16, 41, 64};
	for (size_t i = 0; i < 6; i++) {
		for (size_t j = 0; j < 4; j++) {
			for (double size = 1; size <= 1e6; size *= 100) {
				for (int bias = 0; bias < 2; bias++) {
					kit k = kit_open(9000 + 10 * i + j);
					problem p;
					problem_open(&p, &k, HEC_F32, 2, queries[i],
					             draw_in(&k, 2, 67), 4, 2, features[j], 1);
					scale_all(&p.q, size);
					fill_with(&p.v, 1);
					fill_with(&p.dout, 1);
					if (bias) {
						p.mask.bias =
							make_zero(&k, HEC_F32, SHAPE(1, 1, 1, p.S));
						p.desc.scale = -0.375;
					}
					result r = problem_run(&p, k.ctx);
					check_rows_sum_to_one(&p, &r);
					check_backward_sums_to_one(&p, &r);
					check_all_finite(&k, "dq", &r.dq);
					check_all_finite(&k, "dk", &r.dk);
					kit_close(&k);
				}
			}
		}
	}
}

static void check_row_is(const problem *p, const result *r, int64_t t, double out, double lse,
                         const double *weights)
{
	double got = get(&r->lse, t);
	CHECK(p->k, isnan(lse) ? isnan(got) : got == lse, "lse of query %lld of %lld is %g, not %g",
	      (long long)t, (long long)p->T, got, lse);
	for (int64_t i = 0; i < p->D; i++) {
		got = get4(&r->out, 0, t, 0, i);
		CHECK(p->k, isnan(out) ? isnan(got) : got == out,
		      "output of query %lld of %lld is %g, not %g", (long long)t, (long long)p->T,
		      got, out);
	}
	for (int64_t s = 0; s < 2; s++) {
		got = get4(&r->weights, 0, 0, t, s);
		CHECK(p->k, isnan(weights[s]) ? isnan(got) : got == weights[s],
		      "weight of key %lld for query %lld of %lld is %g, not %g", (long long)s,
		      (long long)t, (long long)p->T, got, weights[s]);
	}
}

/* Every visible score −inf is not the same as no visible key: the former is 0/0, the latter zero. */
static void scores_that_all_overflow_are_not_a_blind_query(void **state)
{
	(void)state;
	static const int64_t queries[] = {1, 2, 3, 64, 65, 130};
	for (size_t i = 0; i < 6; i++) {
		for (int way = 0; way < 3; way++) {
			kit k = kit_open(9100);
			problem p;
			problem_open(&p, &k, HEC_F32, 1, queries[i], 131, 1, 1, 1, 3);
			p.desc.scale = 1;
			fill_with(&p.q, 3e38);
			fill_with(&p.key, -3e38);
			fill_with(&p.v, 2);
			const int64_t last = p.T - 1;
			if (way == 1) { /* the last query sees nothing */
				p.mask.visible = make(&k, HEC_I8, SHAPE(1, 1, p.T, 131));
				fill_with(&p.mask.visible, 1);
				for (int64_t s = 0; s < 131; s++)
					put4(&p.mask.visible, 0, 0, last, s, 0);
			}
			if (way == 2) /* one key in the last tile has a finite score */
				put4(&p.key, 0, 130, 0, 0, 0);
			result r = problem_run(&p, k.ctx);
			for (int64_t t = 0; t < p.T; t++) {
				if (way == 2)
					check_row_is(&p, &r, t, 2, 0, (double[]){0, 0});
				else if (way == 1 && t == last)
					check_row_is(&p, &r, t, 0, -INFINITY, (double[]){0, 0});
				else
					check_row_is(&p, &r, t, NAN, NAN, (double[]){NAN, NAN});
			}
			kit_close(&k);
		}
	}
}

/* From scores that are nothing but rounding to scores that leave one key: both signs. */
static void scales_of_every_size_agree_with_the_definition(void **state)
{
	(void)state;
	static const double scales[] = {1, 1e-3, 1e-20, 1e-30, 1e-37, 1e-39, 30};
	for (int n = 0; n < 14; n++) {
		for (int dense = 0; dense < 2; dense++) {
			kit k = kit_open(9200 + (uint64_t)n);
			problem p;
			problem_open(&p, &k, n % 7 == 6 ? HEC_F64 : HEC_F32, 2, draw_size(&k, 65),
			             draw_size(&k, 67), 4, 2, 9, 17);
			p.desc.scale = n < 7 ? scales[n] : -scales[n - 7];
			p.mask.causal = n % 2;
			p.mask.bias = make_random(
				&k, p.dtype, dense ? SHAPE(2, 4, p.T, p.S) : SHAPE(1, 4, 1, p.S));
			result r = problem_run(&p, k.ctx);
			definition d = problem_define(&p);
			check_result(&p, &r, &d);
			kit_close(&k);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forward_and_backward_mean_the_same_scores),
		cmocka_unit_test(scores_that_all_overflow_are_not_a_blind_query),
		cmocka_unit_test(scales_of_every_size_agree_with_the_definition),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
