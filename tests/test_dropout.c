/* test_dropout.c — promise 5: dropout is a function of seed, step, micro-batch, site and element. */
#include "support/definition.h"
#include "support/layers.h"

#include <math.h>
#include <string.h>

/* The documented rule as a plain loop. */
static bool is_kept(const hec_dropout *d, int64_t row, int64_t column)
{
	uint32_t out[4];
	uint32_t counter[4] = {(uint32_t)(column / 4), (uint32_t)row,
	                       d->site | (uint32_t)d->key.micro_batch << 16, d->key.step};
	uint32_t key[2] = {(uint32_t)d->key.seed, (uint32_t)(d->key.seed >> 32)};
	hec_philox(counter, key, out);
	return out[column % 4] >= d->p * 4294967296.0;
}

static void the_mask_is_the_documented_one(void **state)
{
	(void)state;
	kit k = kit_open(4000);
	for (int n = 0; n < 30; n++) {
		hec_dtype dtype = n % 3 ? HEC_F32 : HEC_F64;
		int64_t A = draw_size(&k, 7), N = draw_size(&k, 33), C = draw_size(&k, 131);
		hec_dropout d = {
			draw_unit(&k) * 0.9,
			(uint16_t)draw(&k),
			{(uint64_t)draw(&k) << 32 | draw(&k), draw(&k), (uint16_t)draw(&k)}};
		hec_tensor x = make_random(&k, dtype, SHAPE(A, N, C)),
			   y = make(&k, dtype, SHAPE(A, N, C));
		OK(&k, hec_dropout_apply(k.ctx, &d, &x, &y));
		for (int64_t i = 0; i < A * N * C; i++) {
			double want = is_kept(&d, i / C, i % C) ? get(&x, i) / (1 - d.p) : 0;
			CHECK(&k,
			      fabs(get(&y, i) - want) <=
			              4 * (dtype == HEC_F32 ? 0x1p-24 : 0x1p-53) * fabs(want),
			      "row %lld, column %lld: %g, not %g", (long long)(i / C),
			      (long long)(i % C), get(&y, i), want);
			CHECK(&k, want != 0 || get(&y, i) == 0, "a dropped element is %g",
			      get(&y, i));
		}
		OK(&k, hec_dropout_apply(k.ctx, &d, &x, &x)); /* in place */
		check_same_bits(&k, "in place", &x, &y);
	}
	kit_close(&k);
}

/* With q = 0 every weight is 1/S, with V the unit matrix the output shows which were dropped. */
static void attention_drops_the_documented_weights(void **state)
{
	(void)state;
	kit k = kit_open(4100);
	static const int64_t sizes[][2] = {{3, 5}, {17, 33}, {65, 64}, {1, 65}, {70, 16}};
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		const int64_t B = 2, H = 3, T = sizes[n][0], S = sizes[n][1];
		problem p;
		problem_open(&p, &k, HEC_F32, B, T, S, H, 1, 8, S);
		fill_with(&p.q, 0);
		fill_with(&p.v, 0);
		for (int64_t b = 0; b < B; b++)
			for (int64_t s = 0; s < S; s++)
				put4(&p.v, b, s, 0, s, 1);
		p.desc.dropout = (hec_dropout){0.4, 77, {0x123456789abcdef0, 1000000, 513}};
		hec_tensor out = make(&k, HEC_F32, SHAPE(B, T, H, S));
		OK(&k, hec_attention_fwd(k.ctx, &p.desc, &p.q, &p.key, &p.v, NULL, &out, NULL));
		for (int64_t b = 0; b < B; b++)
			for (int64_t t = 0; t < T; t++)
				for (int64_t h = 0; h < H; h++)
					for (int64_t s = 0; s < S; s++) {
						bool kept = is_kept(&p.desc.dropout,
						                    (b * H + h) * T + t, s);
						CHECK(&k, (get4(&out, b, t, h, s) != 0) == kept,
						      "batch %lld head %lld query %lld key %lld: "
						      "%g",
						      (long long)b, (long long)h, (long long)t,
						      (long long)s, get4(&out, b, t, h, s));
					}
	}
	kit_close(&k);
}

/* The definition in definition.c makes the mask itself, so this holds forward against backward. */
static void backward_makes_the_same_mask_as_forward(void **state)
{
	(void)state;
	for (int n = 0; n < 25; n++) {
		kit k = kit_open(4200 + (uint64_t)n);
		problem p;
		problem_draw(&p, &k, HEC_F32, 65, 65);
		p.desc.dropout = (hec_dropout){0.5, (uint16_t)n, {draw(&k), draw(&k), 3}};
		result got = problem_run(&p, k.ctx);
		definition want = problem_define(&p);
		check_result(&p, &got, &want);
		kit_close(&k);
	}
}

static void the_share_of_zeros_is_p_and_the_mean_stays(void **state)
{
	(void)state;
	kit k = kit_open(4300);
	const int64_t N = 400, C = 500;
	hec_tensor x = make(&k, HEC_F32, SHAPE(N, C)), y = make(&k, HEC_F32, SHAPE(N, C));
	fill_with(&x, 1);
	static const double ps[] = {0, 0.1, 0.5, 0.9};
	for (size_t i = 0; i < 4; i++) {
		double p = ps[i], sum = 0, zeros = 0, n = (double)(N * C);
		OK(&k, hec_dropout_apply(k.ctx, &(hec_dropout){p, 1, {k.seed, 2, 3}}, &x, &y));
		for (int64_t j = 0; j < N * C; j++) {
			sum += get(&y, j);
			zeros += get(&y, j) == 0;
		}
		double error = 5 * sqrt(p * (1 - p) / n); /* five standard errors */
		CHECK(&k, fabs(zeros / n - p) <= error, "%g of the elements are zero, p is %g",
		      zeros / n, p);
		CHECK(&k, fabs(sum / n - 1) <= error / (1 - p) + 1e-6, "the mean became %g",
		      sum / n);
	}
	kit_close(&k);
}

static void every_part_of_the_key_changes_the_mask(void **state)
{
	(void)state;
	kit k = kit_open(4400);
	hec_tensor x = make(&k, HEC_F32, SHAPE(8, 64)), first = make(&k, HEC_F32, SHAPE(8, 64)),
		   y = make(&k, HEC_F32, SHAPE(8, 64));
	fill_with(&x, 1);
	const hec_dropout base = {0.5, 4, {5, 6, 7}};
	OK(&k, hec_dropout_apply(k.ctx, &base, &x, &first));
	for (int part = 0; part < 5; part++) {
		hec_dropout d = base;
		d.site += part == 0;
		d.key.seed += part == 1;
		d.key.seed += part == 2 ? (uint64_t)1 << 32 : 0;
		d.key.step += part == 3;
		d.key.micro_batch += part == 4;
		OK(&k, hec_dropout_apply(k.ctx, &d, &x, &y));
		int64_t differ = 0;
		for (int64_t i = 0; i < 512; i++)
			differ += get(&y, i) != get(&first, i);
		/* Half of 512, five standard deviations of 11.3 either way. */
		CHECK(&k, differ > 199 && differ < 313, "part %d: %lld of 512 differ", part,
		      (long long)differ);
	}
	/* Rows and columns differ, too. */
	int64_t rows = 0, columns = 0;
	for (int64_t i = 0; i < 448; i++) {
		rows += get(&first, i) != get(&first, i + 64);
		columns += get(&first, i) != get(&first, i + 4);
	}
	CHECK(&k, rows > 160 && rows < 288 && columns > 160 && columns < 288,
	      "%lld of 448 differ between rows, %lld between columns", (long long)rows,
	      (long long)columns);
	kit_close(&k);
}

/* Multi-head attention by hand: q, k, v, the weights and the output each at a site of its own. */
static void every_dropout_of_multi_head_attention_has_a_site_of_its_own(void **state)
{
	(void)state;
	kit k = kit_open(4450);
	enum { B = 2, T = 7, C = 24, H = 2 };
	const uint16_t site = 30;
	const hec_dropout_key key = {91, 92, 93};
	for (int fused = 0; fused < 2; fused++) {
		hec_multi_head l = {.config = {.size = sizeof l.config,
		                               .width = C,
		                               .heads = H,
		                               .fused = fused,
		                               .dropout_qkv = 0.3,
		                               .dropout_weights = 0.4,
		                               .dropout_out = 0.2,
		                               .site = site}};
		OK(&k, hec_multi_head_resolve(&l.config));
		param_list params = {.k = &k, .dtype = HEC_F32};
		OK(&k, hec_multi_head_params(&l, "a", param_make, &params));
		hec_tensor x = make_random(&k, HEC_F32, SHAPE(B, T, C)),
			   y = make(&k, HEC_F32, SHAPE(B, T, C));
		OK(&k, hec_multi_head_fwd(k.ctx, k.arena, &l, &x, NULL, NULL, &key, NULL, &y, NULL,
		                          NULL));
		hec_tensor rows, part[3], out = make(&k, HEC_F32, SHAPE(B, T, H, C / H)),
					  z = make(&k, HEC_F32, SHAPE(B * T, C));
		OK(&k, hec_tensor_reshape(&x, 2, SHAPE(B * T, C), &rows));
		for (int i = 0; i < 3; i++) {
			hec_linear linear = fused ? l.qkv : i == 0 ? l.q : i == 1 ? l.k : l.v;
			if (fused) {
				OK(&k, hec_tensor_slice(&l.qkv.w, 0, i * C, C, &linear.w));
				OK(&k, hec_tensor_slice(&l.qkv.b, 0, i * C, C, &linear.b));
			}
			part[i] = make(&k, HEC_F32, SHAPE(B * T, C));
			OK(&k, hec_linear_fwd(k.ctx, &linear, HEC_ACT_NONE, &rows, NULL, &part[i],
			                      NULL));
			hec_dropout d = {0.3, (uint16_t)(site + i), key};
			OK(&k, hec_dropout_apply(k.ctx, &d, &part[i], &part[i]));
			OK(&k, hec_tensor_reshape(&part[i], 4, SHAPE(B, T, H, C / H), &part[i]));
		}
		hec_attention_desc desc = HEC_ATTENTION_DESC_INIT;
		desc.dropout = (hec_dropout){0.4, site + 3, key};
		OK(&k,
		   hec_attention_fwd(k.ctx, &desc, &part[0], &part[1], &part[2], NULL, &out, NULL));
		OK(&k, hec_tensor_reshape(&out, 2, SHAPE(B * T, C), &rows));
		OK(&k, hec_linear_fwd(k.ctx, &l.out, HEC_ACT_NONE, &rows, NULL, &z, NULL));
		OK(&k, hec_dropout_apply(k.ctx, &(hec_dropout){0.2, site + 4, key}, &z, &z));
		OK(&k, hec_tensor_reshape(&z, 3, SHAPE(B, T, C), &z));
		check_same_bits(&k, "by hand", &y, &z);
	}
	kit_close(&k);
}

static void every_dropout_of_the_feed_forward_network_has_a_site_of_its_own(void **state)
{
	(void)state;
	kit k = kit_open(4460);
	enum { N = 9, C = 8, F = 20 };
	const hec_dropout_key key = {91, 92, 93};
	hec_feed_forward l = {.config = {.size = sizeof l.config,
	                                 .width = C,
	                                 .hidden = F,
	                                 .act = HEC_ACT_GELU,
	                                 .dropout_hidden = 0.3,
	                                 .dropout_out = 0.4,
	                                 .site = 17}};
	param_list params = {.k = &k, .dtype = HEC_F32};
	OK(&k, hec_feed_forward_params(&l, "ff", param_make, &params));
	hec_tensor x = make_random(&k, HEC_F32, SHAPE(N, C)),
		   residual = make_random(&k, HEC_F32, SHAPE(N, C)),
		   y = make(&k, HEC_F32, SHAPE(N, C)), h = make(&k, HEC_F32, SHAPE(N, F)),
		   z = make(&k, HEC_F32, SHAPE(N, C));
	OK(&k, hec_feed_forward_fwd(k.ctx, k.arena, &l, &x, &key, &residual, &y, NULL));
	OK(&k, hec_linear_fwd(k.ctx, &l.up, HEC_ACT_GELU, &x, NULL, &h, NULL));
	OK(&k, hec_dropout_apply(k.ctx, &(hec_dropout){0.3, 17, key}, &h, &h));
	OK(&k, hec_linear_fwd(k.ctx, &l.down, HEC_ACT_NONE, &h, NULL, &z, NULL));
	OK(&k, hec_dropout_apply(k.ctx, &(hec_dropout){0.4, 18, key}, &z, &z));
	OK(&k, hec_tensor_add(k.ctx, 1, &z, 1, &residual, &z));
	check_same_bits(&k, "by hand", &y, &z);
	kit_close(&k);
}

static void the_sites_of_a_layer_do_not_overlap(void **state)
{
	(void)state;
	kit k = kit_open(4470);
	layer l;
	layer_open(&l, &k, LAYER_ENCODER, HEC_F32, 8, 2, 12, 0.1);
	hec_encoder_layer_config e = l.encoder.config;
	e.site = 100;
	OK(&k, hec_encoder_layer_setup(&e, &l.encoder));
	assert_int_equal(l.encoder.attention.config.site, 100);
	assert_int_equal(l.encoder.feed_forward.config.site, 100 + HEC_MULTI_HEAD_SITES);
	layer_open(&l, &k, LAYER_DECODER, HEC_F32, 8, 2, 12, 0.1);
	hec_decoder_layer_config d = l.decoder.config;
	d.site = 200;
	OK(&k, hec_decoder_layer_setup(&d, &l.decoder));
	assert_int_equal(l.decoder.self.config.site, 200);
	assert_int_equal(l.decoder.cross.config.site, 200 + HEC_MULTI_HEAD_SITES);
	assert_int_equal(l.decoder.feed_forward.config.site, 200 + 2 * HEC_MULTI_HEAD_SITES);
	kit_close(&k);
}

static void a_layer_without_a_key_drops_nothing(void **state)
{
	(void)state;
	for (int kind = 0; kind < LAYER_KINDS; kind++) {
		kit k = kit_open(4500 + (uint64_t)kind), same = kit_open(4500 + (uint64_t)kind);
		layer with, without;
		layer_open(&with, &k, (layer_kind)kind, HEC_F32, 16, 2, 24, 0.3);
		layer_open(&without, &same, (layer_kind)kind, HEC_F32, 16, 2, 24, 0);
		layer_io a = layer_io_open(&with, 2, 5, 6), b = layer_io_open(&without, 2, 5, 6);
		OK(&k, layer_fwd(&with, k.ctx, k.arena, &a, NULL));
		OK(&k, layer_fwd(&without, k.ctx, k.arena, &b, NULL));
		check_same_bits(&k, layer_name(with.kind), &a.y, &b.y);
		const hec_dropout_key key = {1, 2, 3};
		a.key = &key;
		OK(&k, layer_fwd(&with, k.ctx, k.arena, &a, NULL));
		bool differs = false;
		for (int64_t i = 0; i < hec_tensor_count(&a.y); i++)
			differs |= get(&a.y, i) != get(&b.y, i);
		CHECK(&k, differs, "%s: a key changes nothing", layer_name(with.kind));
		kit_close(&k);
		kit_close(&same);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mask_is_the_documented_one),
		cmocka_unit_test(attention_drops_the_documented_weights),
		cmocka_unit_test(backward_makes_the_same_mask_as_forward),
		cmocka_unit_test(the_share_of_zeros_is_p_and_the_mean_stays),
		cmocka_unit_test(every_part_of_the_key_changes_the_mask),
		cmocka_unit_test(every_dropout_of_multi_head_attention_has_a_site_of_its_own),
		cmocka_unit_test(every_dropout_of_the_feed_forward_network_has_a_site_of_its_own),
		cmocka_unit_test(the_sites_of_a_layer_do_not_overlap),
		cmocka_unit_test(a_layer_without_a_key_drops_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
