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
			for (double size = 1; size <= 1e6; size *= 10) {
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forward_and_backward_mean_the_same_scores),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
