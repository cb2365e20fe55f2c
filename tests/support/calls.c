/* calls.c — the table of public calls with arguments that fit. */
#include "support/calls.h"

#include <string.h>

enum { B = 2, T = 5, S = 7, H = 4, G = 2, K = 6, D = 3, N = 9, C = 8, F = 12, V = 11 };

static hec_tensor or_none(const hec_tensor *t)
{
	return t ? *t : (hec_tensor)HEC_TENSOR_NONE;
}

#define RUN(name) static hec_status name(call *c, hec_tensor *const a[CALL_ARGS])

/* ---- attention ---- */

RUN(attention_fwd)
{
	hec_mask mask = HEC_MASK_INIT;
	mask.causal = true;
	mask.bias = or_none(a[5]);
	return hec_attention_fwd(c->ctx, NULL, a[0], a[1], a[2], &mask, a[3], a[4]);
}

RUN(attention_bwd)
{
	hec_mask mask = HEC_MASK_INIT;
	mask.bias = or_none(a[6]);
	return hec_attention_bwd(c->ctx, NULL, a[0], a[1], a[2], &mask, a[3], a[4], a[5], a[7],
	                         a[8], a[9], a[10]);
}

RUN(attention_weights)
{
	hec_mask mask = HEC_MASK_INIT;
	mask.visible = or_none(a[4]);
	return hec_attention_weights(c->ctx, NULL, NULL, a[0], a[1], &mask, a[2], a[3]);
}

RUN(attention_unfused)
{
	hec_attention_steps steps = {.size = sizeof steps,
	                             .scores = a[3],
	                             .scaled = a[4],
	                             .masked = a[5],
	                             .weights = a[6],
	                             .out = a[7]};
	return hec_attention_unfused(c->ctx, NULL, a[0], a[1], a[2], NULL, &steps);
}

/* ---- linear, norm, activation ---- */

RUN(linear_fwd)
{
	hec_linear l = {.w = or_none(a[0]), .b = or_none(a[1])};
	return hec_linear_fwd(c->ctx, &l, HEC_ACT_GELU, a[2], a[3], a[4], a[5]);
}

RUN(linear_bwd)
{
	hec_linear l = {.w = or_none(a[0])}, grad = {.w = or_none(a[4]), .b = or_none(a[5])};
	return hec_linear_bwd(c->ctx, &l, a[1], a[2], a[3], &grad);
}

RUN(norm_fwd)
{
	hec_norm n = {.eps = 1e-5, .gamma = or_none(a[0]), .beta = or_none(a[1])};
	hec_norm_kept kept = {or_none(a[4]), or_none(a[5])};
	return hec_norm_fwd(c->ctx, &n, a[2], a[3], &kept);
}

RUN(norm_bwd)
{
	hec_norm n = {.eps = 1e-5, .gamma = or_none(a[0])};
	hec_norm grad = {.gamma = or_none(a[6]), .beta = or_none(a[7])};
	hec_norm_kept kept = {or_none(a[3]), or_none(a[4])};
	return hec_norm_bwd(c->ctx, &n, a[1], a[2], &kept, a[5], &grad);
}

RUN(rms_fwd)
{
	hec_norm n = {.kind = HEC_NORM_RMS, .eps = 1e-5, .gamma = or_none(a[0])};
	return hec_norm_fwd(c->ctx, &n, a[1], a[2], NULL);
}

RUN(activation_fwd)
{
	return hec_activation_fwd(c->ctx, HEC_ACT_SILU, a[0], a[1]);
}

RUN(activation_bwd)
{
	return hec_activation_bwd(c->ctx, HEC_ACT_GELU, a[0], a[1], a[2]);
}

RUN(gated_fwd)
{
	return hec_gated_fwd(c->ctx, HEC_ACT_SILU, a[0], a[1], a[2]);
}

RUN(gated_bwd)
{
	return hec_gated_bwd(c->ctx, HEC_ACT_GELU_TANH, a[0], a[1], a[2], a[3], a[4]);
}

RUN(dropout)
{
	return hec_dropout_apply(c->ctx, &(hec_dropout){0.3, 1, {2, 3, 4}}, a[0], a[1]);
}

/* ---- embedding, positions ---- */

RUN(embedding_fwd)
{
	hec_embedding e = {.table = or_none(a[0]), .scale = 2, .padding_id = -1};
	return hec_embedding_fwd(c->ctx, &e, a[1], a[2]);
}

RUN(embedding_bwd)
{
	hec_embedding e = {.table = or_none(a[2]), .scale = 2, .padding_id = 1};
	return hec_embedding_bwd(c->ctx, &e, a[0], a[1], a[2]);
}

RUN(sinusoidal)
{
	return hec_position_sinusoidal(c->ctx, HEC_SINUSOID_HALVES, 10000, 3, a[0]);
}

RUN(position_fwd)
{
	return hec_position_add_fwd(c->ctx, a[0], 1, a[1], a[2]);
}

RUN(position_bwd)
{
	return hec_position_add_bwd(c->ctx, a[0], 1, a[1]);
}

RUN(rotary_fill)
{
	hec_rotary r = {HEC_ROTARY_HALVES, or_none(a[0]), or_none(a[1])};
	return hec_rotary_fill(c->ctx, 10000, &r);
}

RUN(rotary_apply)
{
	hec_rotary r = {HEC_ROTARY_INTERLEAVED, or_none(a[0]), or_none(a[1])};
	return hec_rotary_apply(c->ctx, &r, false, a[2], (int32_t[]){0, 1}, a[3]);
}

RUN(relative_bias_fwd)
{
	size_t mark = c->arena ? hec_arena_used(c->arena) : 0;
	hec_relative_bias bias = {or_none(a[0]), true, 20};
	hec_tensor view;
	hec_status status = hec_relative_bias_fwd(c->ctx, c->arena, &bias, T, S, 0, &view);
	if (status == HEC_OK) /* one that fails must have cleaned up by itself */
		hec_arena_rewind(c->arena, mark);
	return status;
}

RUN(relative_bias_zero)
{
	size_t mark = c->arena ? hec_arena_used(c->arena) : 0;
	hec_relative_bias bias = {or_none(a[0]), true, 20};
	hec_tensor view;
	hec_status status = hec_relative_bias_zero(c->ctx, c->arena, &bias, T, S, &view);
	if (status == HEC_OK)
		hec_arena_rewind(c->arena, mark);
	return status;
}

RUN(relative_bias_bwd)
{
	hec_relative_bias bias = {or_none(a[0]), true, 20};
	return hec_relative_bias_bwd(c->ctx, c->arena, &bias, 0, &c->io.x, a[1]);
}

/* ---- loss, optimizer, plain operations ---- */

RUN(cross_entropy_fwd)
{
	return hec_cross_entropy_fwd(c->ctx, NULL, a[0], a[1], a[2], a[3]);
}

RUN(cross_entropy_bwd)
{
	return hec_cross_entropy_bwd(c->ctx, NULL, a[0], a[1], a[2], 0.5, a[3]);
}

RUN(cross_entropy_sum)
{
	double sum;
	int64_t count;
	return hec_cross_entropy_sum(c->ctx, NULL, a[0], a[1], &sum, &count);
}

RUN(adamw)
{
	return hec_adamw_step(c->ctx, NULL, 3, a[0], a[1], a[2], a[3]);
}

RUN(sum_squares)
{
	double sum = 0;
	return hec_sum_squares(c->ctx, a[0], &sum);
}

RUN(fill)
{
	return hec_tensor_fill(c->ctx, 2, a[0]);
}

RUN(copy)
{
	return hec_tensor_copy(c->ctx, a[0], a[1]);
}

RUN(add)
{
	return hec_tensor_add(c->ctx, 2, a[0], 3, a[1], a[2]);
}

RUN(random_uniform)
{
	return hec_random_uniform(c->ctx, 1, 2, 0, 1, a[0]);
}

RUN(random_normal)
{
	return hec_random_normal(c->ctx, 1, 2, 0, 1, a[0]);
}

/* ---- layers ---- */

RUN(feed_forward_fwd)
{
	return hec_feed_forward_fwd(c->ctx, c->arena, &c->ff, a[0], NULL, a[1], a[2], NULL);
}

RUN(feed_forward_bwd)
{
	return hec_feed_forward_bwd(c->ctx, c->arena, &c->ff, a[0], a[1], NULL, c->kept, a[2],
	                            &c->ff_grad);
}

RUN(layer_forward)
{
	layer_io io = c->io;
	bool memory = layer_has_memory(c->layer.kind);
	hec_tensor *weights = a[memory ? 3 : 2];
	layer *l = &c->layer;
	switch (l->kind) {
	case LAYER_SELF:
	case LAYER_CROSS:
		return hec_multi_head_fwd(c->ctx, c->arena, &l->multi_head, a[0],
		                          memory ? a[2] : NULL, &io.mask, NULL, NULL, a[1], weights,
		                          NULL);
	case LAYER_ENCODER:
	case LAYER_ENCODER_PRE:
		return hec_encoder_layer_fwd(c->ctx, c->arena, &l->encoder, a[0], &io.mask, NULL,
		                             a[1], weights, NULL);
	default:
		return hec_decoder_layer_fwd(c->ctx, c->arena, &l->decoder, a[0],
		                             memory ? a[2] : NULL, &io.mask, &io.cross_mask, NULL,
		                             a[1], NULL, memory ? weights : NULL, NULL);
	}
}

RUN(layer_backward)
{
	layer *l = &c->layer;
	layer_io *io = &c->io;
	bool memory = layer_has_memory(l->kind);
	const hec_tensor *m = memory ? a[3] : NULL;
	hec_tensor *dm = memory ? a[4] : NULL;
	switch (l->kind) {
	case LAYER_SELF:
	case LAYER_CROSS:
		return hec_multi_head_bwd(c->ctx, c->arena, &l->multi_head, a[0], a[1], m,
		                          &io->mask, NULL, c->kept, a[2], dm, NULL,
		                          &l->multi_head_grad);
	case LAYER_ENCODER:
	case LAYER_ENCODER_PRE:
		return hec_encoder_layer_bwd(c->ctx, c->arena, &l->encoder, a[0], a[1], &io->mask,
		                             NULL, c->kept, a[2], NULL, &l->encoder_grad);
	default:
		return hec_decoder_layer_bwd(c->ctx, c->arena, &l->decoder, a[0], a[1], m,
		                             &io->mask, &io->cross_mask, NULL, c->kept, a[2], dm,
		                             NULL, NULL, &l->decoder_grad);
	}
}

/* ---- the table ---- */

enum { OPTIONAL = 1, OUT = 2, ADD = 4, FREE = 8 };

typedef struct building {
	kit *k;
	hec_dtype dtype;
	call *list;
	int count;
} building;

static call *begin(building *b, const char *name,
                   hec_status (*run)(call *, hec_tensor *const[CALL_ARGS]))
{
	call *c = &b->list[b->count++];
	CHECK(b->k, b->count <= CALLS_MOST, "too many calls");
	memset(c, 0, sizeof *c);
	c->name = name;
	c->k = b->k;
	c->ctx = b->k->ctx;
	c->run = run;
	return c;
}

static void arg(building *b, const char *name, int flags, const int64_t *shape)
{
	call *c = &b->list[b->count - 1];
	hec_tensor t = flags & OUT   ? make(b->k, b->dtype, shape)
	               : flags & ADD ? make_zero(b->k, b->dtype, shape)
	                             : make_random(b->k, b->dtype, shape);
	c->args[c->count++] =
		(call_arg){name, t, flags & OPTIONAL, flags & (OUT | ADD), flags & FREE ? ~0u : 0};
}

static void integers(building *b, const char *name, hec_dtype dtype, const int64_t *shape, int most)
{
	call *c = &b->list[b->count - 1];
	hec_tensor t = make(b->k, dtype, shape);
	for (int64_t i = 0; i < hec_tensor_count(&t); i++)
		put(&t, i, (double)draw_in(b->k, 0, most));
	c->args[c->count++] = (call_arg){name, t, dtype == HEC_I8, false, 0};
}

static void list_attention(building *b)
{
	begin(b, "attention_fwd", attention_fwd);
	arg(b, "q", 0, SHAPE(B, T, H, K));
	arg(b, "k", 0, SHAPE(B, S, G, K));
	arg(b, "v", 0, SHAPE(B, S, G, D));
	arg(b, "out", OUT, SHAPE(B, T, H, D));
	arg(b, "lse", OUT | OPTIONAL, SHAPE(B, H, T));
	arg(b, "bias", OPTIONAL, SHAPE(B, H, T, S));
	begin(b, "attention_bwd", attention_bwd);
	arg(b, "q", 0, SHAPE(B, T, H, K));
	arg(b, "k", 0, SHAPE(B, S, G, K));
	arg(b, "v", 0, SHAPE(B, S, G, D));
	arg(b, "out", 0, SHAPE(B, T, H, D));
	arg(b, "lse", 0, SHAPE(B, H, T));
	arg(b, "dout", 0, SHAPE(B, T, H, D));
	arg(b, "bias", 0, SHAPE(B, H, T, S));
	arg(b, "dq", OUT, SHAPE(B, T, H, K));
	arg(b, "dk", OUT, SHAPE(B, S, G, K));
	arg(b, "dv", OUT, SHAPE(B, S, G, D));
	arg(b, "dbias", ADD | OPTIONAL, SHAPE(B, H, T, S));
	begin(b, "attention_weights", attention_weights);
	arg(b, "q", 0, SHAPE(B, T, H, K));
	arg(b, "k", 0, SHAPE(B, S, G, K));
	arg(b, "lse", 0, SHAPE(B, H, T));
	arg(b, "weights", OUT, SHAPE(B, H, T, S));
	integers(b, "mask", HEC_I8, SHAPE(B, H, T, S), 1);
	begin(b, "attention_unfused", attention_unfused);
	arg(b, "q", 0, SHAPE(B, T, H, K));
	arg(b, "k", 0, SHAPE(B, S, G, K));
	arg(b, "v", 0, SHAPE(B, S, G, D));
	arg(b, "scores", OUT | OPTIONAL, SHAPE(B, H, T, S));
	arg(b, "scaled", OUT | OPTIONAL, SHAPE(B, H, T, S));
	arg(b, "masked", OUT | OPTIONAL, SHAPE(B, H, T, S));
	arg(b, "weights", OUT | OPTIONAL, SHAPE(B, H, T, S));
	arg(b, "out", OUT | OPTIONAL, SHAPE(B, T, H, D));
}

static void list_parts(building *b)
{
	begin(b, "linear_fwd", linear_fwd);
	arg(b, "w", 0, SHAPE(F, C));
	arg(b, "b", OPTIONAL, SHAPE(F));
	arg(b, "x", 0, SHAPE(N, C));
	arg(b, "residual", OPTIONAL, SHAPE(N, F));
	arg(b, "y", OUT, SHAPE(N, F));
	arg(b, "pre", OUT | OPTIONAL, SHAPE(N, F));
	begin(b, "linear_bwd", linear_bwd);
	arg(b, "w", 0, SHAPE(F, C));
	arg(b, "dy", 0, SHAPE(N, F));
	arg(b, "x", 0, SHAPE(N, C));
	arg(b, "dx", ADD | OPTIONAL, SHAPE(N, C));
	arg(b, "gradient of w", ADD | OPTIONAL, SHAPE(F, C));
	arg(b, "gradient of b", ADD | OPTIONAL, SHAPE(F));
	begin(b, "norm_fwd", norm_fwd);
	arg(b, "gamma", 0, SHAPE(C));
	arg(b, "beta", OPTIONAL, SHAPE(C));
	arg(b, "x", 0, SHAPE(N, C));
	arg(b, "y", OUT, SHAPE(N, C));
	arg(b, "mean", OUT, SHAPE(N));
	arg(b, "rstd", OUT, SHAPE(N));
	begin(b, "norm_bwd", norm_bwd);
	arg(b, "gamma", 0, SHAPE(C));
	arg(b, "dy", 0, SHAPE(N, C));
	arg(b, "x", 0, SHAPE(N, C));
	arg(b, "mean", 0, SHAPE(N));
	arg(b, "rstd", 0, SHAPE(N));
	arg(b, "dx", ADD, SHAPE(N, C));
	arg(b, "gradient of gamma", ADD | OPTIONAL, SHAPE(C));
	arg(b, "gradient of beta", ADD | OPTIONAL, SHAPE(C));
	begin(b, "rms_norm_fwd", rms_fwd);
	arg(b, "gamma", 0, SHAPE(C));
	arg(b, "x", 0, SHAPE(N, C));
	arg(b, "y", OUT, SHAPE(N, C));
	begin(b, "activation_fwd", activation_fwd);
	arg(b, "x", 0, SHAPE(N, C));
	arg(b, "y", OUT, SHAPE(N, C));
	begin(b, "activation_bwd", activation_bwd);
	arg(b, "dy", 0, SHAPE(N, C));
	arg(b, "x", 0, SHAPE(N, C));
	arg(b, "dx", OUT, SHAPE(N, C));
	begin(b, "gated_fwd", gated_fwd);
	arg(b, "", 0, SHAPE(N, C));
	arg(b, "up", 0, SHAPE(N, C));
	arg(b, "y", OUT, SHAPE(N, C));
	begin(b, "gated_bwd", gated_bwd);
	arg(b, "dy", 0, SHAPE(N, C));
	arg(b, "", 0, SHAPE(N, C));
	arg(b, "up", 0, SHAPE(N, C));
	arg(b, "dgate", OUT, SHAPE(N, C));
	arg(b, "dup", OUT, SHAPE(N, C));
	begin(b, "dropout_apply", dropout);
	arg(b, "x", 0, SHAPE(B, T, C));
	arg(b, "y", OUT, SHAPE(B, T, C));
}

static void list_tables(building *b)
{
	begin(b, "embedding_fwd", embedding_fwd);
	arg(b, "table", 0, SHAPE(V, C));
	b->list[b->count - 1].args[0].free = 1; /* more rows than are used are fine */
	integers(b, "ids", HEC_I32, SHAPE(N), V - 1);
	arg(b, "y", OUT, SHAPE(N, C));
	begin(b, "embedding_bwd", embedding_bwd);
	arg(b, "dy", 0, SHAPE(N, C));
	integers(b, "ids", HEC_I32, SHAPE(N), V - 1);
	arg(b, "table", ADD, SHAPE(V, C));
	b->list[b->count - 1].args[2].free = 1;
	begin(b, "position_sinusoidal", sinusoidal);
	arg(b, "table", OUT | FREE, SHAPE(T, C));
	begin(b, "position_add_fwd", position_fwd);
	arg(b, "table", 0, SHAPE(T + 1, C));
	b->list[b->count - 1].args[0].free = 1;
	arg(b, "x", 0, SHAPE(B, T, C));
	arg(b, "y", OUT, SHAPE(B, T, C));
	begin(b, "position_add_bwd", position_bwd);
	arg(b, "", 0, SHAPE(B, T, C));
	b->list[b->count - 1].args[0].free = 1;
	arg(b, "table", ADD, SHAPE(T + 1, C));
	b->list[b->count - 1].args[1].free = 1;
	begin(b, "rotary_fill", rotary_fill);
	arg(b, "cosine", OUT, SHAPE(T + 1, K / 2));
	arg(b, "sine", OUT, SHAPE(T + 1, K / 2));
	begin(b, "rotary_apply", rotary_apply);
	arg(b, "cosine", 0, SHAPE(T + 1, K / 2));
	arg(b, "sine", 0, SHAPE(T + 1, K / 2));
	arg(b, "x", 0, SHAPE(B, T, H, K));
	arg(b, "y", OUT, SHAPE(B, T, H, K));
	begin(b, "relative_bias_fwd", relative_bias_fwd)->arena = b->k->arena;
	arg(b, "table", FREE, SHAPE(8, H));
	begin(b, "relative_bias_zero", relative_bias_zero)->arena = b->k->arena;
	arg(b, "table", FREE, SHAPE(8, H));
	call *c = begin(b, "relative_bias_bwd", relative_bias_bwd);
	c->arena = b->k->arena;
	arg(b, "table", 0, SHAPE(8, H));
	arg(b, "dtable", ADD, SHAPE(8, H));
	hec_relative_bias bias = {c->args[0].tensor, true, 20};
	OK(b->k, hec_relative_bias_zero(c->ctx, c->arena, &bias, T, S, &c->io.x));
}

static void list_rest(building *b)
{
	begin(b, "cross_entropy_fwd", cross_entropy_fwd);
	arg(b, "logits", 0, SHAPE(N, V));
	b->list[b->count - 1].args[0].free = 2;
	integers(b, "targets", HEC_I32, SHAPE(N), V - 1);
	arg(b, "losses", OUT, SHAPE(N));
	arg(b, "lse", OUT, SHAPE(N));
	begin(b, "cross_entropy_bwd", cross_entropy_bwd);
	arg(b, "logits", 0, SHAPE(N, V));
	integers(b, "targets", HEC_I32, SHAPE(N), V - 1);
	arg(b, "lse", 0, SHAPE(N));
	arg(b, "dlogits", OUT, SHAPE(N, V));
	begin(b, "cross_entropy_sum", cross_entropy_sum);
	arg(b, "losses", 0, SHAPE(N));
	integers(b, "targets", HEC_I32, SHAPE(N), V - 1);
	begin(b, "adamw_step", adamw);
	arg(b, "dw", 0, SHAPE(F, C));
	arg(b, "m", ADD, SHAPE(F, C));
	arg(b, "v", ADD, SHAPE(F, C));
	arg(b, "w", ADD, SHAPE(F, C));
	begin(b, "sum_squares", sum_squares);
	arg(b, "x", FREE, SHAPE(N, C));
	begin(b, "fill", fill);
	arg(b, "x", OUT | FREE, SHAPE(N, C));
	begin(b, "copy", copy);
	arg(b, "x", 0, SHAPE(N, C));
	arg(b, "y", OUT, SHAPE(N, C));
	begin(b, "add", add);
	arg(b, "a", 0, SHAPE(N, C));
	arg(b, "b", OPTIONAL, SHAPE(N, C));
	arg(b, "y", OUT, SHAPE(N, C));
	begin(b, "random_uniform", random_uniform);
	arg(b, "x", OUT | FREE, SHAPE(N, C));
	begin(b, "random_normal", random_normal);
	arg(b, "x", OUT | FREE, SHAPE(N, C));
}

static void open_feed_forward(building *b, call *c, bool gated)
{
	c->arena = b->k->arena;
	c->ff.config = (hec_feed_forward_config){.size = sizeof c->ff.config,
	                                         .width = C,
	                                         .hidden = F,
	                                         .act = HEC_ACT_GELU,
	                                         .gated = gated};
	c->ff_grad.config = c->ff.config;
	param_list params = {.k = b->k, .dtype = b->dtype}, grads = params;
	OK(b->k, hec_feed_forward_params(&c->ff, "ff", param_make, &params));
	OK(b->k, hec_feed_forward_params(&c->ff_grad, "ff", param_make, &grads));
}

static void list_feed_forward(building *b)
{
	for (int gated = 0; gated < 2; gated++) {
		call *c = begin(b, "feed_forward_fwd", feed_forward_fwd);
		open_feed_forward(b, c, gated);
		arg(b, "x", 0, SHAPE(N, C));
		arg(b, "residual", OPTIONAL, SHAPE(N, C));
		arg(b, "y", OUT, SHAPE(N, C));
		c = begin(b, "feed_forward_bwd", feed_forward_bwd);
		open_feed_forward(b, c, gated);
		arg(b, "dy", 0, SHAPE(N, C));
		arg(b, "x", 0, SHAPE(N, C));
		arg(b, "dx", ADD, SHAPE(N, C));
		hec_tensor y = make(b->k, b->dtype, SHAPE(N, C));
		OK(b->k, hec_feed_forward_fwd(c->ctx, c->arena, &c->ff, &c->args[1].tensor, NULL,
		                              NULL, &y, (hec_feed_forward_kept **)&c->kept));
	}
}

static void list_layers(building *b)
{
	for (int kind = 0; kind < LAYER_KINDS; kind++) {
		bool memory = layer_has_memory((layer_kind)kind);
		int64_t keys = memory ? S : T;
		call *c = begin(b, layer_name((layer_kind)kind), layer_forward);
		c->arena = b->k->arena;
		layer_open(&c->layer, b->k, (layer_kind)kind, b->dtype, C, 2, F, 0);
		c->io = layer_io_open(&c->layer, B, T, S);
		arg(b, "x", 0, SHAPE(B, T, C));
		arg(b, "y", OUT, SHAPE(B, T, C));
		if (memory) /* multi-head attention without it is self-attention */
			arg(b, "memory", kind == LAYER_CROSS ? OPTIONAL : 0, SHAPE(B, S, C));
		if (kind != LAYER_DECODER_ONLY)
			arg(b, "weights", OUT | OPTIONAL, SHAPE(B, 2, T, keys));

		c = begin(b, layer_name((layer_kind)kind), layer_backward);
		c->arena = b->k->arena;
		layer_open(&c->layer, b->k, (layer_kind)kind, b->dtype, C, 2, F, 0);
		c->io = layer_io_open(&c->layer, B, T, S);
		arg(b, "dy", 0, SHAPE(B, T, C));
		arg(b, "x", 0, SHAPE(B, T, C));
		arg(b, "dx", ADD, SHAPE(B, T, C));
		if (memory) {
			arg(b, "memory", kind == LAYER_CROSS ? OPTIONAL : 0, SHAPE(B, S, C));
			arg(b, "dmemory", ADD, SHAPE(B, S, C));
			c->io.memory = c->args[3].tensor;
		}
		c->io.x = c->args[1].tensor;
		OK(b->k, layer_fwd(&c->layer, c->ctx, c->arena, &c->io, &c->kept));
	}
}

int calls_open(kit *k, hec_dtype dtype, call list[CALLS_MOST])
{
	building b = {.k = k, .dtype = dtype, .list = list};
	list_attention(&b);
	list_parts(&b);
	list_tables(&b);
	list_rest(&b);
	list_feed_forward(&b);
	list_layers(&b);
	return b.count;
}

hec_status call_make(call *c)
{
	hec_tensor *a[CALL_ARGS] = {NULL};
	for (int i = 0; i < c->count; i++)
		a[i] = &c->args[i].tensor;
	return c->run(c, a);
}
