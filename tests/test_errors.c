/* test_errors.c — promises 2 and 8: what does not fit is refused, with its name and its numbers, and
 * nothing was written. */
#include "support/calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- every argument of every call, made wrong one by one ---- */

typedef struct trial {
	call *c;
	hec_tensor *a[CALL_ARGS];
	hec_tensor *before[CALL_ARGS]; /* copies of the outputs */
	int index;                     /* the argument that is wrong */
	const char *wrong;             /* in which way */
} trial;

static void check_untouched(const trial *t)
{
	call *c = t->c;
	for (int i = 0; i < c->count; i++) {
		if (!c->args[i].output)
			continue;
		char what[128];
		snprintf(what, sizeof what, "%s refused %s of %s, but %s was written", c->name,
		         t->wrong, c->args[t->index].name, c->args[i].name);
		check_same_bits(c->k, what, &c->args[i].tensor, t->before[i]);
	}
}

/* Makes the call with one wrong argument: it must fail, in one of two ways, and say these words. */
static void expect_refusal(trial *t, hec_tensor *wrong, hec_status one, hec_status other,
                           const char *word, const char *word2)
{
	call *c = t->c;
	size_t used = hec_arena_used(c->k->arena);
	t->a[t->index] = wrong;
	hec_status got = c->run(c, t->a);
	t->a[t->index] = &c->args[t->index].tensor;
	const char *message = hec_error_message();
	CHECK(c->k, got == one || got == other, "%s with %s of \"%s\" gave %s; message: %s",
	      c->name, t->wrong, c->args[t->index].name, hec_status_name(got), message);
	CHECK(c->k, strstr(message, word) && strstr(message, word2),
	      "%s with %s of \"%s\": the message does not say \"%s\" and \"%s\": %s", c->name,
	      t->wrong, c->args[t->index].name, word, word2, message);
	CHECK(c->k, hec_arena_used(c->k->arena) == used, "%s left %zu bytes in the arena", c->name,
	      hec_arena_used(c->k->arena) - used);
	check_untouched(t);
}

static void try_argument(trial *t)
{
	const call_arg *arg = &t->c->args[t->index];
	hec_tensor wrong;
	if (!arg->optional) {
		t->wrong = "the absence";
		expect_refusal(t, NULL, HEC_ERR_ARGUMENT, HEC_ERR_ARGUMENT, arg->name, "");
	}
	t->wrong = "no data";
	wrong = arg->tensor;
	wrong.data = NULL;
	expect_refusal(t, &wrong, HEC_ERR_ARGUMENT, HEC_ERR_ARGUMENT, arg->name, "");
	t->wrong = "another device";
	wrong = arg->tensor;
	wrong.device = (hec_device)7;
	expect_refusal(t, &wrong, HEC_ERR_UNSUPPORTED, HEC_ERR_UNSUPPORTED, arg->name, "7");
	t->wrong = "an unknown dtype";
	wrong = arg->tensor;
	wrong.dtype = (hec_dtype)42;
	expect_refusal(t, &wrong, HEC_ERR_ARGUMENT, HEC_ERR_UNSUPPORTED, "", "");
	if (strcmp(t->c->name, "copy") != 0 && strcmp(t->c->name, "fill") != 0) {
		t->wrong = "the dtype f16";
		wrong = arg->tensor;
		wrong.dtype = HEC_F16;
		expect_refusal(t, &wrong, HEC_ERR_ARGUMENT, HEC_ERR_UNSUPPORTED, "f16", "");
	}
	t->wrong = "rank 5";
	wrong = arg->tensor;
	wrong.rank = 5;
	expect_refusal(t, &wrong, HEC_ERR_SHAPE, HEC_ERR_SHAPE, "", "");
	for (int axis = 0; axis < arg->tensor.rank; axis++) {
		char more[32];
		int64_t size = arg->tensor.shape[axis];
		snprintf(more, sizeof more, "%lld", (long long)size + 1);
		t->wrong = "one more";
		wrong = arg->tensor;
		wrong.shape[axis] = size + 1;
		for (int i = axis - 1; i >= 0; i--)
			wrong.stride[i] = wrong.stride[i + 1] * wrong.shape[i + 1];
		if (!(arg->free >> axis & 1))
			expect_refusal(t, &wrong, HEC_ERR_SHAPE, HEC_ERR_SHAPE, more, "");
		t->wrong = "a negative size";
		wrong.shape[axis] = -3;
		expect_refusal(t, &wrong, HEC_ERR_SHAPE, HEC_ERR_SHAPE, "-3", "");
		t->wrong = "a size that overflows";
		wrong.shape[axis] = INT64_C(1) << 62;
		expect_refusal(t, &wrong, HEC_ERR_SHAPE, HEC_ERR_SHAPE, "4611686018427387904", "");
	}
}

static void try_call(kit *k, call *c)
{
	trial t = {.c = c};
	for (int i = 0; i < c->count; i++) {
		t.a[i] = &c->args[i].tensor;
		t.before[i] = malloc(sizeof *t.before[i]);
		*t.before[i] = make_copy(k, &c->args[i].tensor);
	}
	for (t.index = 0; t.index < c->count; t.index++)
		try_argument(&t);
	t.index = 0;
	t.wrong = "no context";
	c->ctx = NULL;
	FAILS(k, HEC_ERR_ARGUMENT, c->run(c, t.a), "ctx", "NULL");
	check_untouched(&t);
	c->ctx = k->ctx;
	if (c->arena) {
		hec_arena *arena = c->arena;
		c->arena = NULL;
		FAILS(k, HEC_ERR_ARGUMENT, c->run(c, t.a), "arena", "NULL");
		check_untouched(&t);
		/* An arena that is too small by any amount is an error like any other, and is left
		 * as it was. */
		hec_status status = HEC_ERR_MEMORY;
		for (size_t size = 64; status != HEC_OK && size < 1 << 20; size += 64) {
			OK(k, hec_arena_create(size, &c->arena));
			status = c->run(c, t.a);
			CHECK(k, status == HEC_OK || status == HEC_ERR_MEMORY, "%s gave %s: %s",
			      c->name, hec_status_name(status), hec_error_message());
			CHECK(k, status == HEC_OK || strstr(hec_error_message(), "arena"), "%s: %s",
			      c->name, hec_error_message());
			CHECK(k, hec_arena_used(c->arena) == 0,
			      "%s left %zu bytes in an arena of %zu", c->name,
			      hec_arena_used(c->arena), size);
			hec_arena_destroy(c->arena);
		}
		CHECK(k, status == HEC_OK, "%s: 1 MB is too little", c->name);
		c->arena = arena;
		layer_zero_grads(&c->layer);
	}
	/* And with everything right it runs. */
	for (int i = 0; i < c->count; i++)
		if (c->args[i].output)
			poison(&c->args[i].tensor);
	OK(k, call_make(c));
	for (int i = 0; i < c->count; i++)
		free(t.before[i]);
}

static void every_argument_of_every_call_is_checked(void **state)
{
	(void)state;
	kit k = kit_open(7000);
	static call list[CALLS_MOST];
	int n = calls_open(&k, HEC_F32, list);
	for (int i = 0; i < n; i++)
		try_call(&k, &list[i]);
	kit_close(&k);
}

/* A tensor that is absent among the parameters of a layer is named. */
static void a_layer_without_parameters_says_which(void **state)
{
	(void)state;
	kit k = kit_open(7050);
	for (int kind = 0; kind < LAYER_KINDS; kind++) {
		layer l;
		layer_open(&l, &k, (layer_kind)kind, HEC_F32, 8, 2, 12, 0);
		layer_io io = layer_io_open(&l, 2, 3, 4);
		for (int i = 0; i < l.params.count; i++) {
			hec_tensor kept = *l.params.tensors[i];
			/* A weight with one row too many; a vector with one element too many. */
			l.params.tensors[i]->shape[0]++;
			hec_status status = layer_fwd(&l, k.ctx, k.arena, &io, NULL);
			CHECK(&k, status == HEC_ERR_SHAPE, "%s: %s with a row too many gave %s: %s",
			      layer_name(l.kind), l.params.names[i], hec_status_name(status),
			      hec_error_message());
			*l.params.tensors[i] = kept;
		}
		OK(&k, layer_fwd(&l, k.ctx, k.arena, &io, NULL));
	}
	kit_close(&k);
}

/* ---- values ---- */

static void head_sizes_that_do_not_divide_are_said_with_their_numbers(void **state)
{
	(void)state;
	kit k = kit_open(7100);
	hec_multi_head_config c = {.size = sizeof c, .width = 5, .heads = 2};
	FAILS(&k, HEC_ERR_SHAPE, hec_multi_head_resolve(&c), "5", "2");
	c = (hec_multi_head_config){.size = sizeof c, .width = 512, .heads = 7};
	FAILS(&k, HEC_ERR_SHAPE, hec_multi_head_resolve(&c), "512", "7");
	/* Said freely, they need not divide. */
	c = (hec_multi_head_config){.size = sizeof c, .width = 5, .heads = 2, .d_k = 2, .d_v = 3};
	OK(&k, hec_multi_head_resolve(&c));
	assert_int_equal(c.d_k, 2);
	assert_int_equal(c.d_v, 3);
	assert_int_equal(c.kv_heads, 2);
	assert_int_equal(c.memory_width, 5);
	assert_int_equal(c.out_width, 5);
	c = (hec_multi_head_config){.size = sizeof c, .width = 12, .heads = 3};
	OK(&k, hec_multi_head_resolve(&c));
	assert_int_equal(c.d_k, 4);
	assert_int_equal(c.d_v, 4);
	c = (hec_multi_head_config){.size = sizeof c, .width = 12, .heads = 6, .kv_heads = 4};
	hec_status status = hec_multi_head_resolve(&c);
	CHECK(&k, status == HEC_ERR_SHAPE || status == HEC_ERR_ARGUMENT, "6 heads over 4 gave %s",
	      hec_status_name(status));
	CHECK(&k, strstr(hec_error_message(), "6") && strstr(hec_error_message(), "4"), "%s",
	      hec_error_message());
	static const hec_multi_head_config wrong[] = {
		{.width = 0, .heads = 2},
		{.width = 8, .heads = 0},
		{.width = -8, .heads = 2},
		{.width = 8, .heads = 2, .d_k = -1},
		{.width = 8, .heads = 2, .kv_heads = -2},
		{.width = 8, .heads = 2, .out_width = -1},
		{.width = INT64_MAX, .heads = 1},
		{.width = 8, .heads = INT64_MAX, .d_k = 1},
		{.width = 8, .heads = 1 << 20, .d_k = 1 << 20},
		{.width = 8, .heads = 2, .d_k = INT64_MAX},
		{.width = 8, .heads = 2, .fused = true, .memory_width = 9},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		c = wrong[i];
		c.size = sizeof c;
		CHECK(&k, hec_multi_head_resolve(&c) != HEC_OK, "configuration %zu was accepted",
		      i);
	}
	c = (hec_multi_head_config){.size = 3, .width = 8, .heads = 2};
	FAILS(&k, HEC_ERR_ARGUMENT, hec_multi_head_resolve(&c), "hec_multi_head_config", "3");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_multi_head_resolve(NULL), "NULL");
	/* Attention by itself: heads that do not divide among the key/value heads. */
	hec_tensor q = make_random(&k, HEC_F32, SHAPE(1, 2, 6, 3)),
		   kv = make_random(&k, HEC_F32, SHAPE(1, 2, 4, 3)),
		   out = make(&k, HEC_F32, SHAPE(1, 2, 6, 3));
	FAILS(&k, HEC_ERR_SHAPE, hec_attention_fwd(k.ctx, NULL, &q, &kv, &kv, NULL, &out, NULL),
	      "6", "4");
	hec_tensor none = make(&k, HEC_F32, SHAPE(1, 2, 0, 3));
	FAILS(&k, HEC_ERR_SHAPE, hec_attention_fwd(k.ctx, NULL, &q, &none, &none, NULL, &out, NULL),
	      "6", "0");
	kit_close(&k);
}

static void masks_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	kit k = kit_open(7200);
	hec_tensor q = make_random(&k, HEC_F32, SHAPE(2, 5, 2, 4)),
		   kv = make_random(&k, HEC_F32, SHAPE(2, 7, 2, 4)),
		   out = make(&k, HEC_F32, SHAPE(2, 5, 2, 4));
#define TRY(...)                                                                                   \
	FAILS(&k, HEC_ERR_ARGUMENT, hec_attention_fwd(k.ctx, NULL, &q, &kv, &kv, &m, &out, NULL),  \
	      __VA_ARGS__)
	hec_mask m = HEC_MASK_INIT;
	m.window = -4;
	TRY("-4");
	m = (hec_mask)HEC_MASK_INIT;
	m.key_length = (int32_t[]){7, 8};
	TRY("key length", "8", "7", "1");
	m.key_length = (int32_t[]){-1, 7};
	TRY("key length", "-1", "0");
	m = (hec_mask)HEC_MASK_INIT;
	m.query_length = (int32_t[]){6, 5};
	TRY("query length", "6", "5");
	m = (hec_mask)HEC_MASK_INIT;
	m.size = 0;
	TRY("hec_mask", "size");
#undef TRY
	m = (hec_mask)HEC_MASK_INIT;
	m.visible = make_zero(&k, HEC_I8, SHAPE(2, 1, 4, 7));
	FAILS(&k, HEC_ERR_SHAPE, hec_attention_fwd(k.ctx, NULL, &q, &kv, &kv, &m, &out, NULL),
	      "mask", "4", "5");
	m.visible = make_random(&k, HEC_F32, SHAPE(2, 1, 5, 7));
	FAILS(&k, HEC_ERR_ARGUMENT, hec_attention_fwd(k.ctx, NULL, &q, &kv, &kv, &m, &out, NULL),
	      "mask", "i8");
	m = (hec_mask)HEC_MASK_INIT;
	m.bias = make_random(&k, HEC_F64, SHAPE(2, 1, 5, 7));
	FAILS(&k, HEC_ERR_ARGUMENT, hec_attention_fwd(k.ctx, NULL, &q, &kv, &kv, &m, &out, NULL),
	      "bias", "f64");
	hec_tensor dbias = make_zero(&k, HEC_F32, SHAPE(5, 7)),
		   lse = make_random(&k, HEC_F32, SHAPE(2, 2, 5)),
		   dq = make(&k, HEC_F32, SHAPE(2, 5, 2, 4)),
		   dk = make(&k, HEC_F32, SHAPE(2, 7, 2, 4));
	FAILS(&k, HEC_ERR_ARGUMENT,
	      hec_attention_bwd(k.ctx, NULL, &q, &kv, &kv, NULL, &q, &lse, &q, &dq, &dk, &dk,
	                        &dbias),
	      "dbias");
	hec_attention_part part = HEC_ATTENTION_PART_INIT;
	part.first_head = 1;
	part.heads = 2;
	part.queries = 5;
	hec_tensor weights = make(&k, HEC_F32, SHAPE(2, 2, 5, 7));
	FAILS(&k, HEC_ERR_SHAPE,
	      hec_attention_weights(k.ctx, NULL, &part, &q, &kv, NULL, &lse, &weights), "heads",
	      "1", "2");
	part.first_head = INT64_MAX - 2;
	part.first_query = INT64_MAX - 5;
	part.heads = part.queries = INT64_MAX;
	FAILS(&k, HEC_ERR_SHAPE,
	      hec_attention_weights(k.ctx, NULL, &part, &q, &kv, NULL, &lse, &weights), "queries",
	      "9223372036854775807");
	for (int64_t i = 0; i < hec_tensor_count(&out); i++)
		CHECK(&k, isnan(get(&out, i)), "out was written");
	kit_close(&k);
}

static void numbers_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	kit k = kit_open(7300);
	hec_tensor x = make_random(&k, HEC_F32, SHAPE(3, 4)), y = make(&k, HEC_F32, SHAPE(3, 4)),
		   v = make(&k, HEC_F32, SHAPE(3)), lse = make(&k, HEC_F32, SHAPE(3)),
		   ids = make_zero(&k, HEC_I32, SHAPE(3));
	static const double ps[] = {1, 1.5, -0.1, NAN, INFINITY};
	for (size_t i = 0; i < 5; i++)
		FAILS(&k, HEC_ERR_ARGUMENT,
		      hec_dropout_apply(k.ctx, &(hec_dropout){.p = ps[i]}, &x, &y), "dropout",
		      "p is");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_activation_fwd(k.ctx, (hec_activation)99, &x, &y), "99");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_activation_bwd(k.ctx, (hec_activation)-1, &x, &x, &y),
	      "-1");
	assert_string_equal(hec_activation_name((hec_activation)99), "?");
	hec_cross_entropy ce = HEC_CROSS_ENTROPY_INIT;
	for (size_t i = 0; i < 5; i++) {
		ce.smoothing = ps[i];
		FAILS(&k, HEC_ERR_ARGUMENT, hec_cross_entropy_fwd(k.ctx, &ce, &x, &ids, &v, &lse),
		      "smoothing");
	}
	put(&ids, 1, 4);
	FAILS(&k, HEC_ERR_ARGUMENT, hec_cross_entropy_fwd(k.ctx, NULL, &x, &ids, &v, &lse), "1",
	      "4");
	put(&ids, 1, -7);
	FAILS(&k, HEC_ERR_ARGUMENT, hec_cross_entropy_fwd(k.ctx, NULL, &x, &ids, &v, &lse), "1",
	      "-7");
	hec_embedding e = {.table = x, .scale = 1, .padding_id = -1};
	FAILS(&k, HEC_ERR_ARGUMENT, hec_embedding_fwd(k.ctx, &e, &ids, &y), "1", "-7");
	put(&ids, 1, 3);
	FAILS(&k, HEC_ERR_ARGUMENT, hec_embedding_fwd(k.ctx, &e, &ids, &y), "1", "3");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_embedding_bwd(k.ctx, &e, &y, &ids, &x), "1", "3");
	hec_norm norm = {
		.kind = (hec_norm_kind)5, .eps = 1e-5, .gamma = make_random(&k, HEC_F32, SHAPE(4))};
	FAILS(&k, HEC_ERR_ARGUMENT, hec_norm_fwd(k.ctx, &norm, &x, &y, NULL), "5");
	norm.kind = HEC_NORM_RMS;
	norm.eps = -1;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_norm_fwd(k.ctx, &norm, &x, &y, NULL), "-1");
	norm.eps = NAN;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_norm_fwd(k.ctx, &norm, &x, &y, NULL), "eps");
	hec_tensor m = make_zero(&k, HEC_F32, SHAPE(3, 4)), w = make_copy(&k, &x);
	FAILS(&k, HEC_ERR_ARGUMENT, hec_adamw_step(k.ctx, NULL, 0, &x, &m, &m, &w), "step", "0");
	hec_adamw adam = HEC_ADAMW_INIT;
	adam.beta1 = 1;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_adamw_step(k.ctx, &adam, 1, &x, &m, &m, &w), "beta1");
	adam = (hec_adamw)HEC_ADAMW_INIT;
	adam.size = 1;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_adamw_step(k.ctx, &adam, 1, &x, &m, &m, &w), "hec_adamw",
	      "1");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_position_sinusoidal(k.ctx, HEC_SINUSOID_HALVES, -1, 0, &y),
	      "base", "-1");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_position_sinusoidal(k.ctx, (hec_sinusoid)3, 10, 0, &y),
	      "3");
	hec_tensor x3 = make_random(&k, HEC_F32, SHAPE(1, 3, 4)),
		   y3 = make(&k, HEC_F32, SHAPE(1, 3, 4));
	FAILS(&k, HEC_ERR_SHAPE, hec_position_add_fwd(k.ctx, &x, 1, &x3, &y3), "3", "1");
	FAILS(&k, HEC_ERR_SHAPE, hec_position_add_fwd(k.ctx, &x, -1, &x3, &y3), "-1");
	FAILS(&k, HEC_ERR_SHAPE, hec_position_add_fwd(k.ctx, &x, INT64_MAX, &x3, &y3), "3");
	hec_rotary r = {HEC_ROTARY_HALVES, make(&k, HEC_F32, SHAPE(3, 2)),
	                make(&k, HEC_F32, SHAPE(3, 2))};
	OK(&k, hec_rotary_fill(k.ctx, 100, &r));
	FAILS(&k, HEC_ERR_ARGUMENT, hec_rotary_fill(k.ctx, 0, &r), "base");
	hec_tensor x4 = make_random(&k, HEC_F32, SHAPE(1, 3, 1, 4)),
		   y4 = make(&k, HEC_F32, SHAPE(1, 3, 1, 4));
	FAILS(&k, HEC_ERR_SHAPE, hec_rotary_apply(k.ctx, &r, false, &x4, (int32_t[]){1}, &y4), "3");
	FAILS(&k, HEC_ERR_SHAPE, hec_rotary_apply(k.ctx, &r, false, &x4, (int32_t[]){-1}, &y4),
	      "-1");
	r.pairs = (hec_rotary_pairs)4;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_rotary_apply(k.ctx, &r, false, &x4, NULL, &y4), "4");
	hec_relative_bias bias = {make_random(&k, HEC_F32, SHAPE(8, 1)), true, 2};
	hec_tensor view;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_relative_bias_fwd(k.ctx, k.arena, &bias, 3, 3, 0, &view),
	      "8", "2");
	bias.max_distance = 20;
	FAILS(&k, HEC_ERR_SHAPE, hec_relative_bias_fwd(k.ctx, k.arena, &bias, -3, 3, 0, &view),
	      "-3");
	FAILS(&k, HEC_ERR_ARGUMENT,
	      hec_relative_bias_fwd(k.ctx, k.arena, &bias, 3, 3, INT64_MIN, &view), "offset");
	assert_int_equal(hec_relative_bucket(&bias, INT64_MIN), 3);
	assert_int_equal(hec_relative_bucket(&bias, INT64_MAX), 7);
	for (int64_t most = -1; most <= 2; most++) { /* too little to tell distances apart */
		bias.max_distance = most;
		assert_in_range(hec_relative_bucket(&bias, 100), 4, 7);
	}
	hec_attention_desc desc = HEC_ATTENTION_DESC_INIT;
	desc.scale = NAN;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_attention_fwd(k.ctx, &desc, &x4, &x4, &x4, NULL, &y4, NULL),
	      "scale");
	desc = (hec_attention_desc)HEC_ATTENTION_DESC_INIT;
	desc.dropout.p = 1;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_attention_fwd(k.ctx, &desc, &x4, &x4, &x4, NULL, &y4, NULL),
	      "p is 1");
	const hec_tensor *untouched[] = {&y, &y3, &y4, &v, &lse};
	for (size_t i = 0; i < 5; i++)
		for (int64_t j = 0; j < hec_tensor_count(untouched[i]); j++)
			CHECK(&k, isnan(get(untouched[i], j)), "an output was written");
	check_all_zero(&k, "m", &m);
	kit_close(&k);
}

/* Their axes are still walked and multiplied: without a limit, for hours, or past the end of int64. */
static void tensors_without_elements_have_few_places(void **state)
{
	(void)state;
	kit k = kit_open(7350);
	const int64_t huge = INT64_C(1) << 40;
	for (int axis = 0; axis < 4; axis++) {
		hec_tensor t = {.dtype = HEC_F32, .rank = 4, .shape = {huge, huge, huge, huge}};
		t.shape[axis] = 0;
		FAILS(&k, HEC_ERR_SHAPE, hec_tensor_fill(k.ctx, 1, &t), "fill: x", "1099511627776");
		FAILS(&k, HEC_ERR_SHAPE, hec_attention_fwd(k.ctx, NULL, &t, &t, &t, NULL, &t, NULL),
		      "attention: q", "1099511627776");
	}
	hec_tensor rows = {.dtype = HEC_F32, .rank = 2, .shape = {huge, 0}};
	FAILS(&k, HEC_ERR_SHAPE, hec_random_normal(k.ctx, 1, 1, 0, 1, &rows), "1099511627776");
	FAILS(&k, HEC_ERR_SHAPE, hec_position_sinusoidal(k.ctx, HEC_SINUSOID_HALVES, 10, 0, &rows),
	      "1099511627776");
	rows.shape[0] = 1000;
	OK(&k, hec_random_normal(k.ctx, 1, 1, 0, 1, &rows));
	OK(&k, hec_position_sinusoidal(k.ctx, HEC_SINUSOID_HALVES, 10, 0, &rows));
	kit_close(&k);
}

static void layers_refuse_configurations_that_do_not_fit(void **state)
{
	(void)state;
	kit k = kit_open(7400);
	hec_encoder_layer encoder, *l = &encoder;
	memset(l, 0x55, sizeof *l);
	hec_encoder_layer before = encoder;
	hec_encoder_layer_config e = {
		.size = sizeof e,
		.attention = {.size = sizeof e.attention, .width = 8, .heads = 2},
		.feed_forward = {.size = sizeof e.feed_forward, .width = 10, .hidden = 4}};
	FAILS(&k, HEC_ERR_SHAPE, hec_encoder_layer_setup(&e, l), "8", "10");
	e.feed_forward.width = 8;
	e.attention.heads = 3;
	FAILS(&k, HEC_ERR_SHAPE, hec_encoder_layer_setup(&e, l), "8", "3");
	e.attention.heads = 2;
	e.attention.out_width = 6;
	FAILS(&k, HEC_ERR_SHAPE, hec_encoder_layer_setup(&e, l), "8", "6");
	e.size = 7;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_encoder_layer_setup(&e, l), "7");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_encoder_layer_setup(NULL, l), "NULL");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_encoder_layer_setup(&e, NULL), "NULL");
	assert_memory_equal(l, &before, sizeof *l);
	hec_decoder_layer decoder;
	hec_decoder_layer_config d = {
		.size = sizeof d,
		.self = {.size = sizeof d.self, .width = 8, .heads = 2},
		.cross = {.size = sizeof d.cross, .width = 6, .heads = 2},
		.feed_forward = {.size = sizeof d.feed_forward, .width = 8, .hidden = 4}};
	FAILS(&k, HEC_ERR_SHAPE, hec_decoder_layer_setup(&d, &decoder), "8", "6");
	d.cross.heads = -3;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_decoder_layer_setup(&d, &decoder), "-3");
	kit_close(&k);
}

static void the_bias_behind_an_older_mask_is_not_read(void **state)
{
	(void)state;
	kit k = kit_open(7440);
	hec_tensor t[9];
	for (int i = 0; i < 8; i++)
		t[i] = make_random(&k, HEC_F32, SHAPE(1, 2, 1, 4));
	t[8] = make_random(&k, HEC_F32, SHAPE(1, 1, 2));
	hec_mask mask = HEC_MASK_INIT;
	mask.size = offsetof(hec_mask, bias);
	memset(&mask.bias, 0x55, sizeof mask.bias);
	FAILS(&k, HEC_ERR_ARGUMENT,
	      hec_attention_bwd(k.ctx, NULL, &t[0], &t[1], &t[2], &mask, &t[3], &t[8], &t[4], &t[5],
	                        &t[6], &t[7], &mask.bias),
	      "bias");
	kit_close(&k);
}

static void layers_refuse_numbers_that_make_no_sense(void **state)
{
	(void)state;
	kit k = kit_open(7450);
	const hec_encoder_layer_config good = {
		.size = sizeof good,
		.attention = {.size = sizeof good.attention, .width = 8, .heads = 2},
		.feed_forward = {.size = sizeof good.feed_forward, .width = 8, .hidden = 4}};
	hec_encoder_layer_config bad[9];
	for (int i = 0; i < 9; i++)
		bad[i] = good;
	bad[0].attention.dropout_qkv = -0.5;
	bad[1].attention.dropout_weights = 1.5;
	bad[2].attention.dropout_out = NAN;
	bad[3].feed_forward.dropout_hidden = 1;
	bad[4].feed_forward.hidden = -5;
	bad[5].feed_forward.size = 3;
	bad[6].norm_eps = -1;
	bad[7].norm = (hec_norm_kind)9;
	bad[8].site = 65533;
	static const char *const says[] = {"-0.5", "1.5", "nan", "1",    "-5",
	                                   "3",    "-1",  "9",   "65533"};
	hec_encoder_layer l;
	OK(&k, hec_encoder_layer_setup(&good, &l));
	for (int i = 0; i < 9; i++)
		FAILS(&k, HEC_ERR_ARGUMENT, hec_encoder_layer_setup(&bad[i], &l), says[i]);
	hec_multi_head unresolved = {.config = {.size = sizeof unresolved.config, .width = 8}};
	FAILS(&k, HEC_ERR_ARGUMENT,
	      hec_multi_head_params(&unresolved, "", hec_param_initialise, NULL), "resolve");
	kit_close(&k);
}

static void a_backward_that_is_refused_adds_nothing(void **state)
{
	(void)state;
	kit k = kit_open(7460);
	layer l;
	layer_open(&l, &k, LAYER_DECODER, HEC_F32, 8, 2, 12, 0);
	layer_io io = layer_io_open(&l, 2, 3, 4);
	void *kept;
	OK(&k, layer_fwd(&l, k.ctx, k.arena, &io, &kept));
	const int32_t wrong[] = {3, 99};
	hec_mask self = io.mask, cross = io.cross_mask;
	io.mask.key_length = wrong;
	FAILS(&k, HEC_ERR_ARGUMENT, layer_bwd(&l, k.ctx, k.arena, &io, kept), "99");
	io.mask = self;
	io.cross_mask.key_length = wrong;
	FAILS(&k, HEC_ERR_ARGUMENT, layer_bwd(&l, k.ctx, k.arena, &io, kept), "99");
	io.cross_mask = cross;
	hec_tensor dmemory = io.dmemory;
	io.dmemory.shape[1]++;
	FAILS(&k, HEC_ERR_SHAPE, layer_bwd(&l, k.ctx, k.arena, &io, kept), "dmemory");
	for (int i = 0; i < l.grads.count; i++)
		check_all_zero(&k, "gradient", l.grads.tensors[i]);
	check_all_zero(&k, "dx", &io.dx);
	check_all_zero(&k, "dmemory", &dmemory);
	kit_close(&k);
}

static void memory_is_given_exactly_where_a_decoder_attends_to_it(void **state)
{
	(void)state;
	kit k = kit_open(7500);
	layer l;
	layer_open(&l, &k, LAYER_DECODER_ONLY, HEC_F32, 8, 2, 12, 0);
	layer_io io = layer_io_open(&l, 2, 3, 4);
	io.memory = make_random(&k, HEC_F32, SHAPE(2, 4, 8));
	FAILS(&k, HEC_ERR_ARGUMENT, layer_fwd(&l, k.ctx, k.arena, &io, NULL), "memory");
	layer_open(&l, &k, LAYER_DECODER, HEC_F32, 8, 2, 12, 0);
	io = layer_io_open(&l, 2, 3, 4);
	io.memory = (hec_tensor)HEC_TENSOR_NONE;
	FAILS(&k, HEC_ERR_ARGUMENT, layer_fwd(&l, k.ctx, k.arena, &io, NULL), "memory");
	for (int64_t i = 0; i < hec_tensor_count(&io.y); i++)
		CHECK(&k, isnan(get(&io.y, i)), "y was written");
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_argument_of_every_call_is_checked),
		cmocka_unit_test(a_layer_without_parameters_says_which),
		cmocka_unit_test(head_sizes_that_do_not_divide_are_said_with_their_numbers),
		cmocka_unit_test(masks_that_make_no_sense_are_refused),
		cmocka_unit_test(numbers_that_make_no_sense_are_refused),
		cmocka_unit_test(tensors_without_elements_have_few_places),
		cmocka_unit_test(layers_refuse_configurations_that_do_not_fit),
		cmocka_unit_test(the_bias_behind_an_older_mask_is_not_read),
		cmocka_unit_test(layers_refuse_numbers_that_make_no_sense),
		cmocka_unit_test(a_backward_that_is_refused_adds_nothing),
		cmocka_unit_test(memory_is_given_exactly_where_a_decoder_attends_to_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
