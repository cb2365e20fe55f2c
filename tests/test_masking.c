/* test_masking.c — promise 1: who sees whom, in all its words, against the plain definition. */
#include "support/definition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_random_masks(hec_dtype dtype, uint64_t seed, int cases, int64_t most_T,
                               int64_t most_S)
{
	kit k = kit_open(seed);
	for (int n = 0; n < cases; n++) {
		kit one = kit_open(k.seed + (uint64_t)n * 1000003);
		problem p;
		problem_draw(&p, &one, dtype, most_T, most_S);
		result got = problem_run(&p, one.ctx);
		definition want = problem_define(&p);
		check_result(&p, &got, &want);
		kit_close(&one);
	}
	kit_close(&k);
}

static void random_masks_agree_with_the_definition(void **state)
{
	(void)state;
	check_random_masks(HEC_F32, 1001, 80, 33, 65);
	check_random_masks(HEC_F32, 1002, 3, 131, 131);
}

static void random_masks_agree_with_the_definition_in_double(void **state)
{
	(void)state;
	check_random_masks(HEC_F64, 1003, 40, 17, 33);
}

/* Each rule by itself, on sizes around a tile, so that a failure names its rule. */
static void each_rule_alone_agrees_with_the_definition(void **state)
{
	(void)state;
	static const int64_t sizes[][2] = {{1, 1}, {1, 65}, {65, 1}, {17, 15}, {64, 64}, {33, 97}};
	for (int rule = 0; rule < 8; rule++) {
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			kit k = kit_open(1100 + (uint64_t)rule);
			problem p;
			int64_t T = sizes[i][0], S = sizes[i][1];
			problem_open(&p, &k, HEC_F32, 2, T, S, 2, 1, 16, 16);
			for (int b = 0; b < 2; b++) {
				p.offset[b] = (int32_t)draw_in(&k, -2, S);
				p.queries[b] = (int32_t)draw_in(&k, 0, T);
				p.keys[b] = (int32_t)draw_in(&k, 0, S);
			}
			p.mask.causal = rule == 1 || rule == 2;
			p.mask.causal_offset = rule == 2 ? p.offset : NULL;
			p.mask.window = rule == 3 ? 1 + S / 3 : 0;
			p.mask.query_length = rule == 4 ? p.queries : NULL;
			p.mask.key_length = rule == 5 ? p.keys : NULL;
			if (rule == 6) {
				p.mask.visible = make(&k, HEC_I8, SHAPE(2, 1, T, S));
				for (int64_t n = 0; n < 2 * T * S; n++)
					put(&p.mask.visible, n, draw(&k) % 2);
			}
			if (rule == 7)
				p.mask.bias = make_random(&k, HEC_F32, SHAPE(1, 2, T, S));
			result got = problem_run(&p, k.ctx);
			definition want = problem_define(&p);
			check_result(&p, &got, &want);
			kit_close(&k);
		}
	}
}

/* A mask of lower rank broadcasts over the axes in front. */
static void a_mask_of_fewer_axes_repeats_over_those_in_front(void **state)
{
	(void)state;
	kit k = kit_open(1200);
	problem p;
	problem_open(&p, &k, HEC_F32, 2, 5, 7, 2, 2, 4, 4);
	p.mask.visible = make(&k, HEC_I8, SHAPE(5, 7));
	p.mask.bias = make_random(&k, HEC_F32, SHAPE(7));
	for (int64_t i = 0; i < 35; i++)
		put(&p.mask.visible, i, draw(&k) % 3 != 0);
	hec_tensor out = make(&k, HEC_F32, SHAPE(2, 5, 2, 4)),
		   same = make(&k, HEC_F32, SHAPE(2, 5, 2, 4));
	OK(&k, hec_attention_fwd(k.ctx, NULL, &p.q, &p.key, &p.v, &p.mask, &out, NULL));
	OK(&k, hec_tensor_reshape(&p.mask.visible, 4, SHAPE(1, 1, 5, 7), &p.mask.visible));
	OK(&k, hec_tensor_reshape(&p.mask.bias, 4, SHAPE(1, 1, 1, 7), &p.mask.bias));
	OK(&k, hec_attention_fwd(k.ctx, NULL, &p.q, &p.key, &p.v, &p.mask, &same, NULL));
	check_same_bits(&k, "out", &out, &same);
	kit_close(&k);
}

/* ---- NaN and Inf where nobody looks ---- */

static double strange(kit *k)
{
	static const double values[] = {NAN, INFINITY, -INFINITY, 3e38};
	return values[draw(k) % 4];
}

static void plant_row(kit *k, const hec_tensor *x, int64_t b, int64_t t, int64_t h)
{
	for (int64_t i = 0; i < x->shape[3]; i++)
		put4(x, b, t, h, i, strange(k));
}

/* Every row of K and V that no query sees, every row of q or dout or both that sees no key: a kernel
 * that is careful because of one tensor may forget to be because of another. */
static void plant(problem *p)
{
	const uint32_t which = draw(p->k) % 3;
	for (int64_t b = 0; b < p->B; b++) {
		for (int64_t g = 0; g < p->G; g++)
			for (int64_t s = 0; s < p->S; s++)
				if (!problem_is_seen(p, b, g, s)) {
					plant_row(p->k, &p->key, b, s, g);
					plant_row(p->k, &p->v, b, s, g);
				}
		for (int64_t h = 0; h < p->H; h++)
			for (int64_t t = 0; t < p->T; t++)
				if (!problem_sees_any(p, b, h, t)) {
					if (which != 1)
						plant_row(p->k, &p->q, b, t, h);
					if (which != 2)
						plant_row(p->k, &p->dout, b, t, h);
				}
	}
}

static void what_nobody_sees_may_hold_nan_and_inf(void **state)
{
	(void)state;
	for (int n = 0; n < 80; n++) {
		kit k = kit_open(1300 + (uint64_t)n * 7919);
		problem p;
		problem_draw(&p, &k, n % 4 == 3 ? HEC_F64 : HEC_F32, 65, 97);
		result clean = problem_run(&p, k.ctx);
		plant(&p);
		result planted = problem_run(&p, k.ctx);
		check_same_result(&k, "with NaN and Inf where nobody looks", &planted, &clean);
		kit_close(&k);
	}
}

static void padding_may_hold_nan_in_every_layout_and_tile(void **state)
{
	(void)state;
	/* Lengths on both sides of every tile edge: the common case, padded batches. */
	for (int64_t length = 1; length <= 130; length += length < 20 ? 1 : 7) {
		kit k = kit_open(1400 + (uint64_t)length);
		problem p;
		problem_open(&p, &k, HEC_F32, 2, 131, 131, 2, 2, 16, 16);
		p.keys[0] = p.queries[1] = (int32_t)length;
		p.keys[1] = p.queries[0] = 131;
		p.mask.key_length = p.keys;
		p.mask.query_length = p.queries;
		p.mask.causal = length % 2;
		result clean = problem_run(&p, k.ctx);
		plant(&p);
		result planted = problem_run(&p, k.ctx);
		check_same_result(&k, "padding full of NaN", &planted, &clean);
		kit_close(&k);
	}
}

/* A key that some queries see and others do not: the others must not notice it. */
static void a_query_does_not_notice_what_only_others_see(void **state)
{
	(void)state;
	for (int n = 0; n < 40; n++) {
		kit k = kit_open(1500 + (uint64_t)n * 104729);
		problem p;
		problem_draw(&p, &k, HEC_F32, 65, 97);
		result clean = problem_run(&p, k.ctx);
		int64_t b = draw_in(&k, 0, p.B - 1), g = draw_in(&k, 0, p.G - 1),
			s = draw_in(&k, 0, p.S - 1);
		plant_row(&k, draw(&k) % 2 ? &p.key : &p.v, b, s, g);
		result planted = problem_run(&p, k.ctx);
		for (int64_t h = 0; h < p.H; h++) {
			for (int64_t t = 0; t < p.T; t++) {
				if (h / (p.H / p.G) == g && problem_sees(&p, b, h, t, s))
					continue;
				for (int64_t i = 0; i < p.D; i++)
					CHECK(&k,
					      get4(&planted.out, b, t, h, i) ==
					              get4(&clean.out, b, t, h, i),
					      "query %lld of head %lld noticed key %lld",
					      (long long)t, (long long)h, (long long)s);
				for (int64_t i = 0; i < p.K; i++)
					CHECK(&k,
					      get4(&planted.dq, b, t, h, i) ==
					              get4(&clean.dq, b, t, h, i),
					      "dq of query %lld of head %lld noticed key %lld",
					      (long long)t, (long long)h, (long long)s);
			}
		}
		kit_close(&k);
	}
}

static void a_bias_may_hold_nan_where_the_key_is_invisible(void **state)
{
	(void)state;
	for (int n = 0; n < 20; n++) {
		kit k = kit_open(1600 + (uint64_t)n);
		problem p;
		problem_open(&p, &k, HEC_F32, 2, 33, 47, 2, 1, 8, 8);
		problem_draw_mask(&p, false);
		p.mask.bias = make_random(&k, HEC_F32, SHAPE(2, 2, 33, 47));
		result clean = problem_run(&p, k.ctx);
		for (int64_t i = 0; i < 2 * 2 * 33 * 47; i++)
			if (!problem_sees(&p, i / 47 / 33 / 2, i / 47 / 33 % 2, i / 47 % 33,
			                  i % 47))
				put(&p.mask.bias, i, draw(&k) % 2 ? NAN : INFINITY);
		result planted = problem_run(&p, k.ctx);
		check_same_result(&k, "NaN in the bias of invisible keys", &planted, &clean);
		kit_close(&k);
	}
}

/* ---- nothing to see ---- */

static void check_blind(problem *p, const result *r)
{
	for (int64_t b = 0; b < p->B; b++)
		for (int64_t h = 0; h < p->H; h++)
			for (int64_t t = 0; t < p->T; t++) {
				if (problem_sees_any(p, b, h, t))
					continue;
				for (int64_t i = 0; i < p->D; i++)
					CHECK(p->k, get4(&r->out, b, t, h, i) == 0, "output not 0");
				for (int64_t i = 0; i < p->K; i++)
					CHECK(p->k, get4(&r->dq, b, t, h, i) == 0, "dq not 0");
				for (int64_t s = 0; s < p->S; s++)
					CHECK(p->k, get4(&r->weights, b, h, t, s) == 0,
					      "weights not 0");
				CHECK(p->k, get(&r->lse, (b * p->H + h) * p->T + t) == -INFINITY,
				      "logsumexp not −inf");
			}
}

static void a_query_that_sees_no_key_gives_zero(void **state)
{
	(void)state;
	for (int way = 0; way < 7; way++) {
		for (int d = 0; d < 2; d++) {
			kit k = kit_open(1700 + (uint64_t)way);
			problem p;
			problem_open(&p, &k, d ? HEC_F64 : HEC_F32, 2, 19, 35, 4, 2, 8, 12);
			for (int b = 0; b < 2; b++) {
				p.offset[b] = -1000;
				p.queries[b] = 0;
				p.keys[b] = 0;
			}
			switch (way) {
			case 0:
				p.mask.causal = true;
				p.mask.causal_offset = p.offset;
				break;
			case 1:
				p.mask.query_length = p.queries;
				break;
			case 2:
				p.mask.key_length = p.keys;
				break;
			case 3:
				p.mask.visible = make_zero(&k, HEC_I8, SHAPE(1, 1, 1, 1));
				break;
			case 4:
				p.mask.bias = make(&k, p.dtype, SHAPE(1, 1, 1, 35));
				fill_with(&p.mask.bias, -INFINITY);
				break;
			case 5:
				p.mask.window = 3;
				p.mask.causal_offset = p.offset;
				break;
			default: /* one rule hides the first keys, another the rest */
				p.mask.visible = make_zero(&k, HEC_I8, SHAPE(35));
				for (int64_t s = 20; s < 35; s++)
					put(&p.mask.visible, s, 1);
				OK(&k, hec_tensor_reshape(&p.mask.visible, 4, SHAPE(1, 1, 1, 35),
				                          &p.mask.visible));
				p.keys[0] = p.keys[1] = 20;
				p.mask.key_length = p.keys;
			}
			result r = problem_run(&p, k.ctx);
			check_blind(&p, &r);
			check_all_zero(&k, "dk", &r.dk);
			check_all_zero(&k, "dv", &r.dv);
			if (r.dbias.rank)
				check_all_zero(&k, "dbias", &r.dbias);
			kit_close(&k);
		}
	}
}

static void some_queries_blind_among_others(void **state)
{
	(void)state;
	for (int n = 0; n < 30; n++) {
		kit k = kit_open(1800 + (uint64_t)n);
		problem p;
		problem_draw(&p, &k, HEC_F32, 65, 33);
		result r = problem_run(&p, k.ctx);
		check_blind(&p, &r);
		for (int64_t b = 0; b < p.B; b++)
			for (int64_t g = 0; g < p.G; g++)
				for (int64_t s = 0; s < p.S; s++) {
					if (problem_is_seen(&p, b, g, s))
						continue;
					for (int64_t i = 0; i < p.K; i++)
						CHECK(&k, get4(&r.dk, b, s, g, i) == 0,
						      "dk of a key that nobody sees");
					for (int64_t i = 0; i < p.D; i++)
						CHECK(&k, get4(&r.dv, b, s, g, i) == 0,
						      "dv of a key that nobody sees");
				}
		kit_close(&k);
	}
}

static void empty_sizes_give_zeros_or_nothing(void **state)
{
	(void)state;
	static const int64_t sizes[][3] = {{0, 3, 5}, {2, 0, 5}, {2, 3, 0}, {0, 0, 0}, {1, 0, 0}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (int d = 0; d < 2; d++) {
			for (int causal = 0; causal < 2; causal++) {
				kit k = kit_open(1900);
				problem p;
				problem_open(&p, &k, d ? HEC_F64 : HEC_F32, sizes[i][0],
				             sizes[i][1], sizes[i][2], 4, 2, 8, 6);
				p.mask.causal = causal;
				result r = problem_run(&p, k.ctx);
				check_all_zero(&k, "out", &r.out);
				check_all_zero(&k, "dq", &r.dq);
				check_all_zero(&k, "dk", &r.dk);
				check_all_zero(&k, "dv", &r.dv);
				for (int64_t n = 0; n < hec_tensor_count(&r.lse); n++)
					CHECK(&k, get(&r.lse, n) == -INFINITY, "lse not −inf");
				kit_close(&k);
			}
		}
	}
}

/* ---- extremes ---- */

static void scores_up_to_1e38_pick_the_largest(void **state)
{
	(void)state;
	for (int sign = -1; sign <= 1; sign += 2) {
		for (int64_t S = 1; S <= 131; S += S < 10 ? 1 : 11) {
			kit k = kit_open(2000 + (uint64_t)S);
			problem p;
			problem_open(&p, &k, HEC_F32, 1, 3, S, 1, 1, 4, 5);
			p.desc.scale = 1;
			/* q·k = ±1e38 · j/S for key j: far apart, so one key takes all. Keys j and
			 * j + S/2 of the last query are equal, so they share. */
			fill_with(&p.q, 0);
			fill_with(&p.key, 0);
			int64_t best = draw_in(&k, 0, S - 1);
			for (int64_t t = 0; t < 3; t++)
				put4(&p.q, 0, t, 0, 1, 1e19);
			for (int64_t s = 0; s < S; s++)
				put4(&p.key, 0, s, 0, 1,
				     sign > 0 ? (s == best ? 1e19
				                           : -1e19 * (double)(s + 1) / (double)S)
				              : (s == best ? -1e18 : -1e19));
			result r = problem_run(&p, k.ctx);
			for (int64_t t = 0; t < 3; t++) {
				for (int64_t i = 0; i < 5; i++)
					CHECK(&k,
					      get4(&r.out, 0, t, 0, i) == get4(&p.v, 0, best, 0, i),
					      "S = %lld: %g is not the value of the largest, %g",
					      (long long)S, get4(&r.out, 0, t, 0, i),
					      get4(&p.v, 0, best, 0, i));
				for (int64_t s = 0; s < S; s++)
					CHECK(&k, get4(&r.weights, 0, 0, t, s) == (s == best),
					      "weight %g", get4(&r.weights, 0, 0, t, s));
			}
			check_all_finite(&k, "lse", &r.lse);
			check_all_finite(&k, "dq", &r.dq);
			check_all_finite(&k, "dk", &r.dk);
			for (int64_t s = 0; s < S; s++)
				for (int64_t i = 0; i < 5; i++) {
					double want = 0, size = 0;
					for (int64_t t = 0; t < 3 && s == best; t++) {
						want += get4(&p.dout, 0, t, 0, i);
						size += fabs(get4(&p.dout, 0, t, 0, i));
					}
					CHECK(&k,
					      fabs(get4(&r.dv, 0, s, 0, i) - want) <=
					              0x1p-22 * size,
					      "dv %g, not %g", get4(&r.dv, 0, s, 0, i), want);
				}
			kit_close(&k);
		}
	}
}

static void equal_scores_of_1e38_share_alike(void **state)
{
	(void)state;
	for (int sign = -1; sign <= 1; sign += 2) {
		kit k = kit_open(2100);
		problem p;
		const int64_t S = 67;
		problem_open(&p, &k, HEC_F32, 2, 2, S, 2, 2, 3, 4);
		p.desc.scale = 1;
		fill_with(&p.q, 0);
		fill_with(&p.key, 0);
		for (int64_t b = 0; b < 2; b++)
			for (int64_t h = 0; h < 2; h++) {
				for (int64_t t = 0; t < 2; t++)
					put4(&p.q, b, t, h, 0, 1e19);
				for (int64_t s = 0; s < S; s++)
					put4(&p.key, b, s, h, 0, sign * 1e19);
			}
		result r = problem_run(&p, k.ctx);
		for (int64_t n = 0; n < hec_tensor_count(&r.weights); n++) {
			CHECK(&k, fabs(get(&r.weights, n) * (double)S - 1) <= 0x1p-22, "weight %g",
			      get(&r.weights, n));
		}
		for (int64_t b = 0; b < 2; b++)
			for (int64_t h = 0; h < 2; h++)
				for (int64_t i = 0; i < 4; i++) {
					double mean = 0, size = 0;
					for (int64_t s = 0; s < S; s++) {
						mean += get4(&p.v, b, s, h, i) / (double)S;
						size += fabs(get4(&p.v, b, s, h, i)) / (double)S;
					}
					CHECK(&k,
					      fabs(get4(&r.out, b, 0, h, i) - mean) <=
					              ((double)S + 40) * 0x1p-24 * size,
					      "%g, mean %g", get4(&r.out, b, 0, h, i), mean);
				}
		kit_close(&k);
	}
}

static void denormal_numbers_are_numbers(void **state)
{
	(void)state;
	kit k = kit_open(2200);
	problem p;
	const int64_t T = 5, S = 37;
	problem_open(&p, &k, HEC_F32, 1, T, S, 2, 1, 7, 9);
	/* v denormal: the output is their mean, to a unit of the last place of denormals a step. */
	for (int64_t i = 0; i < hec_tensor_count(&p.v); i++)
		put(&p.v, i, 1e-41 * draw_normal(&k));
	for (int64_t i = 0; i < hec_tensor_count(&p.q); i++)
		put(&p.q, i, 1e-40 * draw_normal(&k));
	hec_tensor out = make(&k, HEC_F32, SHAPE(1, T, 2, 9)),
		   lse = make(&k, HEC_F32, SHAPE(1, 2, T));
	OK(&k, hec_attention_fwd(k.ctx, &p.desc, &p.q, &p.key, &p.v, NULL, &out, &lse));
	for (int64_t t = 0; t < T; t++)
		for (int64_t h = 0; h < 2; h++) {
			for (int64_t i = 0; i < 9; i++) {
				double mean = 0;
				for (int64_t s = 0; s < S; s++)
					mean += get4(&p.v, 0, s, 0, i) / (double)S;
				CHECK(&k,
				      fabs(get4(&out, 0, t, h, i) - mean) <=
				              ((double)S + 2) * 0x1p-149,
				      "%g, mean %g", get4(&out, 0, t, h, i), mean);
			}
			CHECK(&k, fabs(get(&lse, h * T + t) - log((double)S)) <= 0x1p-20, "lse %g",
			      get(&lse, h * T + t));
		}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_alone_agrees_with_the_definition),
		cmocka_unit_test(random_masks_agree_with_the_definition),
		cmocka_unit_test(random_masks_agree_with_the_definition_in_double),
		cmocka_unit_test(a_mask_of_fewer_axes_repeats_over_those_in_front),
		cmocka_unit_test(what_nobody_sees_may_hold_nan_and_inf),
		cmocka_unit_test(padding_may_hold_nan_in_every_layout_and_tile),
		cmocka_unit_test(a_query_does_not_notice_what_only_others_see),
		cmocka_unit_test(a_bias_may_hold_nan_where_the_key_is_invisible),
		cmocka_unit_test(a_query_that_sees_no_key_gives_zero),
		cmocka_unit_test(some_queries_blind_among_others),
		cmocka_unit_test(empty_sizes_give_zeros_or_nothing),
		cmocka_unit_test(scores_up_to_1e38_pick_the_largest),
		cmocka_unit_test(equal_scores_of_1e38_share_alike),
		cmocka_unit_test(denormal_numbers_are_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
