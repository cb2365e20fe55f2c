/* test_weights.c — promise 6: the weights of any rows and heads, made again from q, k and the
 * logsumexp, and looking changes nothing. */
#include "support/definition.h"
#include "support/layers.h"

#include <math.h>
#include <stdio.h>

static void the_weights_of_a_part_are_those_of_the_whole(void **state)
{
	(void)state;
	for (int n = 0; n < 40; n++) {
		kit k = kit_open(6000 + (uint64_t)n);
		problem p;
		problem_draw(&p, &k, n % 4 ? HEC_F32 : HEC_F64, 65, 97);
		result all = problem_run(&p, k.ctx);
		for (int i = 0; i < 6; i++) {
			int64_t h0 = draw_in(&k, 0, p.H - 1), h = draw_in(&k, 1, p.H - h0);
			int64_t t0 = draw_in(&k, 0, p.T - 1), t = draw_in(&k, 1, p.T - t0);
			hec_tensor q, lse, want;
			OK(&k, hec_tensor_slice(&p.q, 2, h0, h, &q));
			OK(&k, hec_tensor_slice(&q, 1, t0, t, &q));
			OK(&k, hec_tensor_slice(&all.lse, 1, h0, h, &lse));
			OK(&k, hec_tensor_slice(&lse, 2, t0, t, &lse));
			OK(&k, hec_tensor_slice(&all.weights, 1, h0, h, &want));
			OK(&k, hec_tensor_slice(&want, 2, t0, t, &want));
			hec_attention_part part = HEC_ATTENTION_PART_INIT;
			part.first_head = h0;
			part.heads = p.H;
			part.first_query = t0;
			part.queries = p.T;
			hec_tensor got = make(&k, p.dtype, SHAPE(p.B, h, t, p.S));
			OK(&k, hec_attention_weights(k.ctx, &p.desc, &part, &q, &p.key, &p.mask,
			                             &lse, &got));
			char what[128];
			snprintf(what, sizeof what,
			         "heads %lld+%lld of %lld, queries %lld+%lld of %lld",
			         (long long)h0, (long long)h, (long long)p.H, (long long)t0,
			         (long long)t, (long long)p.T);
			check_same_bits(&k, what, &got, &want);
		}
		kit_close(&k);
	}
}

static void rows_of_weights_sum_to_one_or_to_zero(void **state)
{
	(void)state;
	for (int n = 0; n < 20; n++) {
		kit k = kit_open(6100 + (uint64_t)n);
		problem p;
		problem_draw(&p, &k, HEC_F32, 65, 97);
		result r = problem_run(&p, k.ctx);
		definition d = problem_define(&p);
		for (int64_t row = 0; row < p.B * p.H * p.T; row++) {
			double sum = 0, bound = 0;
			bool sees = get(&d.value.lse, row) != -INFINITY;
			for (int64_t s = 0; s < p.S; s++) {
				sum += get(&r.weights, row * p.S + s);
				bound += get(&d.bound.weights, row * p.S + s);
			}
			CHECK(&k, sees ? fabs(sum - 1) <= bound : sum == 0, "row %lld sums to %g",
			      (long long)row, sum);
		}
		kit_close(&k);
	}
}

static void the_output_has_the_same_bits_with_and_without_the_logsumexp(void **state)
{
	(void)state;
	for (int n = 0; n < 30; n++) {
		kit k = kit_open(6200 + (uint64_t)n);
		problem p;
		problem_draw(&p, &k, n % 4 ? HEC_F32 : HEC_F64, 131, 131);
		hec_tensor a = make(&k, p.dtype, SHAPE(p.B, p.T, p.H, p.D)),
			   b = make(&k, p.dtype, SHAPE(p.B, p.T, p.H, p.D)),
			   lse = make(&k, p.dtype, SHAPE(p.B, p.H, p.T));
		OK(&k, hec_attention_fwd(k.ctx, &p.desc, &p.q, &p.key, &p.v, &p.mask, &a, &lse));
		OK(&k, hec_attention_fwd(k.ctx, &p.desc, &p.q, &p.key, &p.v, &p.mask, &b, NULL));
		check_same_bits(&k, "out", &a, &b);
		kit_close(&k);
	}
}

/* ---- layers ---- */

static void looking_at_the_weights_of_a_layer_changes_no_bit(void **state)
{
	(void)state;
	kit k = kit_open(6300);
	const int64_t B = 2, T = 13, S = 17, H = 3, C = 24;
	layer l;
	hec_tensor self = make(&k, HEC_F32, SHAPE(B, H, T, T)),
		   cross = make(&k, HEC_F32, SHAPE(B, H, T, S)), y;
	for (int kind = 0; kind < LAYER_KINDS; kind++) {
		layer_open(&l, &k, (layer_kind)kind, HEC_F32, C, H, 40, 0);
		layer_io io = layer_io_open(&l, B, T, S);
		const int32_t lengths[] = {17, 5};
		io.cross_mask.key_length = lengths;
		if (kind == LAYER_CROSS)
			io.mask.key_length = lengths;
		OK(&k, layer_fwd(&l, k.ctx, k.arena, &io, NULL));
		y = make_copy(&k, &io.y);
		poison(&io.y);
		poison(&self);
		poison(&cross);
		const hec_tensor *memory = layer_has_memory(l.kind) ? &io.memory : NULL;
		if (kind <= LAYER_CROSS)
			OK(&k, hec_multi_head_fwd(k.ctx, k.arena, &l.multi_head, &io.x, memory,
			                          &io.mask, NULL, NULL, &io.y,
			                          memory ? &cross : &self, NULL));
		else if (kind <= LAYER_ENCODER_PRE)
			OK(&k, hec_encoder_layer_fwd(k.ctx, k.arena, &l.encoder, &io.x, &io.mask,
			                             NULL, &io.y, &self, NULL));
		else
			OK(&k, hec_decoder_layer_fwd(k.ctx, k.arena, &l.decoder, &io.x, memory,
			                             &io.mask, &io.cross_mask, NULL, &io.y, &self,
			                             memory ? &cross : NULL, NULL));
		check_same_bits(&k, layer_name(l.kind), &io.y, &y);
		for (int which = 0; which < 2; which++) {
			const hec_tensor *w = which ? &cross : &self;
			if (which ? !memory : kind == LAYER_CROSS)
				continue;
			int64_t keys = w->shape[3];
			for (int64_t row = 0; row < B * H * T; row++) {
				double sum = 0;
				for (int64_t s = 0; s < keys; s++) {
					double x = get(w, row * keys + s);
					sum += x;
					bool hidden = which ? s >= lengths[row / T / H]
					                    : io.mask.causal && s > row % T;
					CHECK(&k, !hidden || x == 0,
					      "%s: weight %g on key %lld of row %lld",
					      layer_name(l.kind), x, (long long)s, (long long)row);
				}
				CHECK(&k, fabs(sum - 1) < 1e-5, "%s: row %lld sums to %g",
				      layer_name(l.kind), (long long)row, sum);
			}
		}
	}
	kit_close(&k);
}

/* Multi-head attention by hand: three linears, attention, one linear; and its weights. */
static void multi_head_is_its_parts_in_a_row(void **state)
{
	(void)state;
	for (int n = 0; n < 6; n++) {
		kit k = kit_open(6400 + (uint64_t)n);
		const int64_t B = 2, T = 9, S = n % 2 ? 11 : 9, C = 10, M = n % 2 ? 7 : 10, H = 4,
			      G = 2, K = 3, D = 5, O = n == 5 ? 6 : 10;
		hec_multi_head l = {.config = {.size = sizeof l.config,
		                               .width = C,
		                               .heads = H,
		                               .kv_heads = G,
		                               .d_k = K,
		                               .d_v = D,
		                               .memory_width = M,
		                               .out_width = O}};
		OK(&k, hec_multi_head_resolve(&l.config));
		param_list params = {.k = &k, .dtype = HEC_F32};
		OK(&k, hec_multi_head_params(&l, "a", param_make, &params));
		hec_tensor x = make_random(&k, HEC_F32, SHAPE(B, T, C)),
			   memory = make_random(&k, HEC_F32, SHAPE(B, S, M)),
			   y = make(&k, HEC_F32, SHAPE(B, T, O)),
			   weights = make(&k, HEC_F32, SHAPE(B, H, T, S));
		hec_mask mask = HEC_MASK_INIT;
		mask.causal = n % 3 == 0;
		bool cross = n % 2;
		OK(&k, hec_multi_head_fwd(k.ctx, k.arena, &l, &x, cross ? &memory : NULL, &mask,
		                          NULL, NULL, &y, &weights, NULL));
		hec_tensor q = make(&k, HEC_F32, SHAPE(B * T, H * K)),
			   key = make(&k, HEC_F32, SHAPE(B * S, G * K)),
			   v = make(&k, HEC_F32, SHAPE(B * S, G * D)),
			   out = make(&k, HEC_F32, SHAPE(B, T, H, D)),
			   lse = make(&k, HEC_F32, SHAPE(B, H, T)),
			   w = make(&k, HEC_F32, SHAPE(B, H, T, S)),
			   z = make(&k, HEC_F32, SHAPE(B * T, O)), rows, from;
		OK(&k, hec_tensor_reshape(&x, 2, SHAPE(B * T, C), &rows));
		OK(&k, hec_tensor_reshape(cross ? &memory : &x, 2, SHAPE(B * S, M), &from));
		OK(&k, hec_linear_fwd(k.ctx, &l.q, HEC_ACT_NONE, &rows, NULL, &q, NULL));
		OK(&k, hec_linear_fwd(k.ctx, &l.k, HEC_ACT_NONE, &from, NULL, &key, NULL));
		OK(&k, hec_linear_fwd(k.ctx, &l.v, HEC_ACT_NONE, &from, NULL, &v, NULL));
		OK(&k, hec_tensor_reshape(&q, 4, SHAPE(B, T, H, K), &q));
		OK(&k, hec_tensor_reshape(&key, 4, SHAPE(B, S, G, K), &key));
		OK(&k, hec_tensor_reshape(&v, 4, SHAPE(B, S, G, D), &v));
		OK(&k, hec_attention_fwd(k.ctx, NULL, &q, &key, &v, &mask, &out, &lse));
		OK(&k, hec_attention_weights(k.ctx, NULL, NULL, &q, &key, &mask, &lse, &w));
		OK(&k, hec_tensor_reshape(&out, 2, SHAPE(B * T, H * D), &rows));
		OK(&k, hec_linear_fwd(k.ctx, &l.out, HEC_ACT_NONE, &rows, NULL, &z, NULL));
		OK(&k, hec_tensor_reshape(&z, 3, SHAPE(B, T, O), &z));
		check_same_bits(&k, "y", &y, &z);
		check_same_bits(&k, "weights", &weights, &w);
		kit_close(&k);
	}
}

/* One key has nearly all of the weight, 3,000 others a share each that is less than half of the last place
 * of 1: added one by one in f32 they would be lost, and every weight of the row too large by 1e-4. */
static void many_small_weights_beside_a_large_one_count(void **state)
{
	(void)state;
	kit k = kit_open(7001);
	const int64_t S = 3001;
	const double small = exp(-17), all = 1 + 3000 * small;
	hec_tensor q = make(&k, HEC_F32, SHAPE(1, 1, 1, 1)),
		   key = make(&k, HEC_F32, SHAPE(1, S, 1, 1)),
		   v = make(&k, HEC_F32, SHAPE(1, S, 1, 1)),
		   out = make(&k, HEC_F32, SHAPE(1, 1, 1, 1)),
		   lse = make(&k, HEC_F32, SHAPE(1, 1, 1)),
		   w = make(&k, HEC_F32, SHAPE(1, 1, 1, S));
	put(&q, 0, 1);
	for (int64_t s = 0; s < S; s++) {
		put(&key, s, s == 0 ? 0 : -17);
		put(&v, s, s == 0);
	}
	OK(&k, hec_attention_fwd(k.ctx, NULL, &q, &key, &v, NULL, &out, &lse));
	OK(&k, hec_attention_weights(k.ctx, NULL, NULL, &q, &key, NULL, &lse, &w));
	/* Kernels add up eight at a time, and each sum to those before: half of a last place each. */
	const double bound = 4 * 0x1p-23 + (double)S / 8 * 0x1p-24;
	CHECK(&k, fabs(get(&out, 0) - 1 / all) <= bound, "the output is %.9g, not %.9g",
	      get(&out, 0), 1 / all);
	for (int64_t s = 0; s < S; s++) {
		double wanted = (s == 0 ? 1 : small) / all;
		CHECK(&k, fabs(get(&w, s) - wanted) <= 4 * 0x1p-23 * wanted,
		      "weight %lld is %.9g, not %.9g", (long long)s, get(&w, s), wanted);
	}
	kit_close(&k);
}

/* ---- step by step ---- */

static void the_unfused_steps_are_the_definition(void **state)
{
	(void)state;
	for (int n = 0; n < 30; n++) {
		kit k = kit_open(6500 + (uint64_t)n);
		problem p;
		problem_draw(&p, &k, n % 2 ? HEC_F32 : HEC_F64, 17, 33);
		definition d = problem_define(&p);
		const int64_t *full = SHAPE(p.B, p.H, p.T, p.S);
		hec_tensor scores = make(&k, p.dtype, full), scaled = make(&k, p.dtype, full),
			   masked = make(&k, p.dtype, full), weights = make(&k, p.dtype, full),
			   out = make(&k, p.dtype, SHAPE(p.B, p.T, p.H, p.D));
		hec_attention_steps steps = HEC_ATTENTION_STEPS_INIT;
		steps.scores = &scores;
		steps.scaled = &scaled;
		steps.masked = &masked;
		steps.weights = &weights;
		steps.out = &out;
		OK(&k, hec_attention_unfused(k.ctx, &p.desc, &p.q, &p.key, &p.v, &p.mask, &steps));
		check_within(&k, "weights", &weights, &d.value.weights, &d.bound.weights);
		check_within(&k, "out", &out, &d.value.out, &d.bound.out);
		double u = p.dtype == HEC_F32 ? 0x1p-24 : 0x1p-53,
		       scale = p.desc.scale != 0 ? p.desc.scale : 1 / sqrt((double)p.K);
		for (int64_t i = 0; i < hec_tensor_count(&scores); i++) {
			int64_t s = i % p.S, t = i / p.S % p.T, h = i / p.S / p.T % p.H,
				b = i / p.S / p.T / p.H;
			double dot = 0, size = 0;
			for (int64_t c = 0; c < p.K; c++) {
				double term = get4(&p.q, b, t, h, c) *
				              get4(&p.key, b, s, h / (p.H / p.G), c);
				dot += term;
				size += fabs(term);
			}
			double error = (double)(p.K + 4) * u * size;
			CHECK(&k, fabs(get(&scores, i) - dot) <= error, "score %g, not %g",
			      get(&scores, i), dot);
			if (problem_sees(&p, b, h, t, s)) {
				double without = get(&scaled, i) - scale * dot, bias = 0;
				if (p.mask.bias.rank) {
					const hec_tensor *m = &p.mask.bias;
					bias = get4(
						m, m->shape[0] > 1 ? b : 0, m->shape[1] > 1 ? h : 0,
						m->shape[2] > 1 ? t : 0, m->shape[3] > 1 ? s : 0);
				}
				CHECK(&k,
				      fabs(without - bias) <=
				              fabs(scale) * error +
				                      4 * u * (fabs(bias) + fabs(scale) * size),
				      "scaled %g", get(&scaled, i));
				CHECK(&k, get(&masked, i) == get(&scaled, i),
				      "a visible key changed from %g to %g", get(&scaled, i),
				      get(&masked, i));
			} else {
				CHECK(&k, get(&masked, i) == -INFINITY, "an invisible key has %g",
				      get(&masked, i));
			}
		}
		/* Each step may be left out. */
		hec_attention_steps only = {.size = sizeof only, .weights = &scores};
		OK(&k, hec_attention_unfused(k.ctx, &p.desc, &p.q, &p.key, &p.v, &p.mask, &only));
		check_same_bits(&k, "only the weights", &scores, &weights);
		kit_close(&k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_weights_of_a_part_are_those_of_the_whole),
		cmocka_unit_test(rows_of_weights_sum_to_one_or_to_zero),
		cmocka_unit_test(the_output_has_the_same_bits_with_and_without_the_logsumexp),
		cmocka_unit_test(looking_at_the_weights_of_a_layer_changes_no_bit),
		cmocka_unit_test(multi_head_is_its_parts_in_a_row),
		cmocka_unit_test(many_small_weights_beside_a_large_one_count),
		cmocka_unit_test(the_unfused_steps_are_the_definition),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
