/* alloc.c — every allocation that the public calls make is refused once, one after the other.
 *
 * Each scenario below makes everything from nothing, calls, and takes everything down. It runs with
 * request 1 refused, then 2, and so on until none is refused any more:
 *   - the call that met the refusal says HEC_ERR_MEMORY and why, and nothing else goes wrong;
 *   - the same call made again works (nothing was left half-built), and the results of the whole
 *     scenario have the same bits as without any refusal;
 *   - at the end every block has been given back.
 * Then the same with every later request refused too, where the scenario ends at the failure. */
#include <hecate/hecate.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "refuse.h"

enum { B = 2, T = 33, S = 40, C = 64, H = 4, K = C / H, F = 96, V = 50 };

typedef struct world {
	hec_ctx *ctx;
	hec_arena *arena;
	bool forever;
	int failures;
	uint64_t bits; /* a sum over all results so far */
} world;

static void saw_failure(world *w, hec_status status, const char *call)
{
	w->failures++;
	if (!refuse_fired())
		fail_msg("%s failed by itself: %s", call, hec_error_message());
	if (status != HEC_ERR_MEMORY)
		fail_msg("%s gives %s (%s) when memory is refused", call, hec_status_name(status),
		         hec_error_message());
	if (hec_error_message()[0] == '\0')
		fail_msg("%s fails without a message", call);
}

/* Calls; after a refusal once more, from the same arena mark: results are undefined after a failure
 * and what a layer kept in the arena is the caller's to give back. */
#define CALL(w, call)                                                                              \
	do {                                                                                       \
		size_t mark_ = (w)->arena ? hec_arena_used((w)->arena) : 0;                        \
		hec_status status_ = (call);                                                       \
		if (status_ == HEC_OK)                                                             \
			break;                                                                     \
		saw_failure(w, status_, #call);                                                    \
		if ((w)->forever)                                                                  \
			return;                                                                    \
		if ((w)->arena)                                                                    \
			hec_arena_rewind((w)->arena, mark_);                                       \
		status_ = (call);                                                                  \
		if (status_ != HEC_OK)                                                             \
			fail_msg("%s fails also when made again: %s", #call, hec_error_message()); \
	} while (0)

static void add_bits(world *w, const hec_tensor *t)
{
	assert_true(hec_tensor_is_contiguous(t));
	const unsigned char *bytes = t->data;
	size_t n = (size_t)hec_tensor_count(t) * hec_dtype_size(t->dtype);
	for (size_t i = 0; i < n; i++)
		w->bits = (w->bits ^ bytes[i]) * 0x100000001b3u;
}

/* ---- what most scenarios begin with ---- */

static hec_status create_ctx(world *w, int threads)
{
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	o.threads = threads;
	hec_status status = hec_ctx_create(&o, &w->ctx);
	if (status != HEC_OK)
		assert_null(w->ctx);
	return status;
}

static hec_status create_arena(world *w)
{
	hec_status status = hec_arena_create((size_t)8 << 20, &w->arena);
	if (status != HEC_OK)
		assert_null(w->arena);
	return status;
}

#define BEGIN(w)                                                                                   \
	CALL(w, create_ctx(w, 0));                                                                 \
	CALL(w, create_arena(w))

static uint64_t next_stream;

/* A tensor of the arena with random numbers. */
static hec_status make(world *w, hec_tensor *t, int rank, int64_t a, int64_t b, int64_t c,
                       int64_t d)
{
	const int64_t shape[] = {a, b, c, d};
	hec_status status = hec_arena_tensor(w->arena, HEC_F32, rank, shape, t);
	if (status == HEC_OK)
		status = hec_random_uniform(w->ctx, 7, next_stream, -1, 1, t);
	next_stream += status == HEC_OK;
	return status;
}

#define MAKE1(w, t, a) CALL(w, make(w, t, 1, a, 0, 0, 0))
#define MAKE2(w, t, a, b) CALL(w, make(w, t, 2, a, b, 0, 0))
#define MAKE3(w, t, a, b, c) CALL(w, make(w, t, 3, a, b, c, 0))
#define MAKE4(w, t, a, b, c, d) CALL(w, make(w, t, 4, a, b, c, d))

/* Outputs that are added to start from zeros at each try. */
static hec_status zero(world *w, hec_tensor *t)
{
	return hec_fill(w->ctx, 0, t);
}

/* ---- scenarios ---- */

static void contexts(world *w)
{
	for (int threads = 1; threads <= 4; threads++) {
		CALL(w, create_ctx(w, threads));
		assert_int_equal(hec_ctx_threads(w->ctx), threads);
		hec_ctx_destroy(w->ctx);
		w->ctx = NULL;
	}
}

static void arenas(world *w)
{
	CALL(w, create_arena(w));
}

static void plain_operations(world *w)
{
	BEGIN(w);
	hec_tensor x, y, z;
	MAKE2(w, &x, T, C);
	MAKE2(w, &y, T, C);
	MAKE2(w, &z, T, C);
	CALL(w, hec_fill(w->ctx, 3, &y));
	CALL(w, hec_copy(w->ctx, &x, &y));
	CALL(w, hec_add(w->ctx, 2, &x, -1, &y, &z));
	add_bits(w, &z);
	CALL(w, hec_random_normal(w->ctx, 1, 2, 0, 1, &z));
	add_bits(w, &z);
	hec_dropout dropout = {.p = 0.3, .site = 1};
	CALL(w, hec_dropout_apply(w->ctx, &dropout, &x, &y));
	add_bits(w, &y);
	for (int act = 0; act < HEC_ACTIVATIONS; act++) {
		CALL(w, hec_activation_fwd(w->ctx, (hec_activation)act, &x, &y));
		CALL(w, hec_activation_bwd(w->ctx, (hec_activation)act, &y, &x, &z));
		add_bits(w, &z);
	}
	CALL(w, hec_gated_fwd(w->ctx, HEC_ACT_SILU, &x, &y, &z));
	hec_tensor dgate, dup;
	MAKE2(w, &dgate, T, C);
	MAKE2(w, &dup, T, C);
	CALL(w, hec_gated_bwd(w->ctx, HEC_ACT_SILU, &z, &x, &y, &dgate, &dup));
	add_bits(w, &dgate);
	add_bits(w, &dup);
}

static hec_status norm_backward(world *w, const hec_norm *norm, const hec_tensor *dy,
                                const hec_tensor *x, const hec_norm_kept *kept, hec_tensor *dx,
                                hec_norm *grad)
{
	hec_status status = zero(w, dx);
	if (status == HEC_OK)
		status = zero(w, &grad->gamma);
	if (status == HEC_OK && grad->beta.rank)
		status = zero(w, &grad->beta);
	return status == HEC_OK ? hec_norm_bwd(w->ctx, norm, dy, x, kept, dx, grad) : status;
}

static void norms(world *w)
{
	BEGIN(w);
	for (int kind = 0; kind < 2; kind++) {
		hec_norm norm = {.kind = (hec_norm_kind)kind, .eps = 1e-5}, grad = norm;
		hec_norm_kept kept;
		hec_tensor x, y, dx;
		MAKE2(w, &x, B * T, C);
		MAKE2(w, &y, B * T, C);
		MAKE2(w, &dx, B * T, C);
		MAKE1(w, &norm.gamma, C);
		MAKE1(w, &grad.gamma, C);
		if (kind == HEC_NORM_LAYER) {
			MAKE1(w, &norm.beta, C);
			MAKE1(w, &grad.beta, C);
		}
		MAKE1(w, &kept.mean, B * T);
		MAKE1(w, &kept.rstd, B * T);
		CALL(w, hec_norm_fwd(w->ctx, &norm, &x, &y, &kept));
		CALL(w, norm_backward(w, &norm, &y, &x, &kept, &dx, &grad));
		add_bits(w, &dx);
		add_bits(w, &grad.gamma);
	}
}

static hec_status linear_backward(world *w, const hec_linear *l, const hec_tensor *dy,
                                  const hec_tensor *x, hec_tensor *dx, hec_linear *grad)
{
	hec_status status = zero(w, dx);
	if (status == HEC_OK)
		status = zero(w, &grad->w);
	if (status == HEC_OK)
		status = zero(w, &grad->b);
	return status == HEC_OK ? hec_linear_bwd(w->ctx, l, dy, x, dx, grad) : status;
}

static void linears(world *w)
{
	BEGIN(w);
	for (int packed = 0; packed < 2; packed++) {
		hec_linear l = {.w = HEC_TENSOR_NONE}, grad = l;
		hec_tensor x, y, pre, dx;
		MAKE2(w, &l.w, F, C);
		MAKE1(w, &l.b, F);
		MAKE2(w, &grad.w, F, C);
		MAKE1(w, &grad.b, F);
		MAKE2(w, &x, B * T, C);
		MAKE2(w, &dx, B * T, C);
		MAKE2(w, &y, B * T, F);
		MAKE2(w, &pre, B * T, F);
		if (packed)
			CALL(w, hec_linear_pack(w->ctx, w->arena, true, &l));
		CALL(w, hec_linear_fwd(w->ctx, &l, HEC_ACT_GELU, &x, NULL, &y, &pre));
		CALL(w, linear_backward(w, &l, &y, &x, &dx, &grad));
		add_bits(w, &y);
		add_bits(w, &dx);
		add_bits(w, &grad.w);
	}
}

static hec_status embedding_backward(world *w, const hec_embedding *e, const hec_tensor *dy,
                                     const hec_tensor *ids, hec_tensor *dtable)
{
	hec_status status = zero(w, dtable);
	return status == HEC_OK ? hec_embedding_bwd(w->ctx, e, dy, ids, dtable) : status;
}

static hec_status adamw_from_start(world *w, const hec_tensor *grad, hec_tensor *m, hec_tensor *v,
                                   hec_tensor *x)
{
	hec_adamw options = HEC_ADAMW_INIT;
	hec_status status = hec_fill(w->ctx, 0, m);
	if (status == HEC_OK)
		status = hec_fill(w->ctx, 0, v);
	if (status == HEC_OK)
		status = hec_fill(w->ctx, 1, x);
	return status == HEC_OK ? hec_adamw_step(w->ctx, &options, 1, grad, m, v, x) : status;
}

static hec_status squares(world *w, const hec_tensor *x, double *sum)
{
	*sum = 0;
	return hec_sum_squares(w->ctx, x, sum);
}

static void from_ids_to_a_step(world *w)
{
	BEGIN(w);
	int32_t id[T];
	for (int i = 0; i < T; i++)
		id[i] = i * 7 % V;
	hec_tensor ids = hec_tensor_1d(id, HEC_I32, T), x, dtable, losses, lse, m, v;
	hec_embedding e = {.scale = 8, .padding_id = -1};
	MAKE2(w, &e.table, V, V);
	MAKE2(w, &dtable, V, V);
	MAKE2(w, &m, V, V);
	MAKE2(w, &v, V, V);
	MAKE2(w, &x, T, V);
	MAKE1(w, &losses, T);
	MAKE1(w, &lse, T);
	CALL(w, hec_embedding_fwd(w->ctx, &e, &ids, &x));
	hec_cross_entropy ce = HEC_CROSS_ENTROPY_INIT;
	ce.smoothing = 0.1;
	double sum;
	int64_t count;
	CALL(w, hec_cross_entropy_fwd(w->ctx, &ce, &x, &ids, &losses, &lse));
	CALL(w, hec_cross_entropy_sum(w->ctx, &ce, &losses, &ids, &sum, &count));
	assert_int_equal(count, T);
	hec_tensor dx;
	MAKE2(w, &dx, T, V);
	CALL(w, hec_cross_entropy_bwd(w->ctx, &ce, &x, &ids, &lse, 1.0 / T, &dx));
	CALL(w, embedding_backward(w, &e, &dx, &ids, &dtable));
	CALL(w, squares(w, &dtable, &sum));
	CALL(w, adamw_from_start(w, &dtable, &m, &v, &e.table));
	add_bits(w, &losses);
	add_bits(w, &e.table);
}

static hec_status position_backward(world *w, const hec_tensor *dy, hec_tensor *dtable)
{
	hec_status status = zero(w, dtable);
	return status == HEC_OK ? hec_position_add_bwd(w->ctx, dy, 0, dtable) : status;
}

static hec_status relative_backward(world *w, const hec_relative_bias *bias,
                                    const hec_tensor *dview, hec_tensor *dtable)
{
	hec_status status = zero(w, dtable);
	return status == HEC_OK
	               ? hec_relative_bias_bwd(w->ctx, w->arena, bias, S - T, dview, dtable)
	               : status;
}

static void positions(world *w)
{
	BEGIN(w);
	hec_tensor table, x, y, dtable, q;
	MAKE2(w, &table, T, C);
	MAKE2(w, &dtable, T, C);
	MAKE3(w, &x, B, T, C);
	MAKE3(w, &y, B, T, C);
	CALL(w, hec_position_sinusoidal(w->ctx, HEC_SINUSOID_HALVES, 10000, 0, &table));
	CALL(w, hec_position_add_fwd(w->ctx, &table, 0, &x, &y));
	CALL(w, position_backward(w, &y, &dtable));
	add_bits(w, &y);
	add_bits(w, &dtable);
	hec_rotary rotary = {.pairs = HEC_ROTARY_INTERLEAVED};
	MAKE2(w, &rotary.cosine, T, K / 2);
	MAKE2(w, &rotary.sine, T, K / 2);
	MAKE4(w, &q, B, T, H, K);
	CALL(w, hec_rotary_fill(w->ctx, 10000, &rotary));
	CALL(w, hec_rotary_apply(w->ctx, &rotary, false, &q, NULL, &q));
	hec_relative_bias bias = {.bidirectional = true, .max_distance = 128};
	hec_tensor view, dbias;
	MAKE2(w, &bias.table, 32, H);
	MAKE2(w, &dbias, 32, H);
	CALL(w, hec_relative_bias_fwd(w->ctx, w->arena, &bias, T, S, S - T, &view));
	CALL(w, relative_backward(w, &bias, &view, &dbias));
	add_bits(w, &dbias);
}

typedef struct attention_call {
	hec_attention_desc desc;
	hec_mask mask;
	hec_tensor q, k, v, out, lse, dq, dk, dv, dbias;
} attention_call;

static hec_status attention_backward(world *w, attention_call *a)
{
	hec_status status = zero(w, &a->dbias);
	return status == HEC_OK
	               ? hec_attention_bwd(w->ctx, &a->desc, &a->q, &a->k, &a->v, &a->mask, &a->out,
	                                   &a->lse, &a->out, &a->dq, &a->dk, &a->dv, &a->dbias)
	               : status;
}

static void attention(world *w)
{
	BEGIN(w);
	attention_call a = {.desc = HEC_ATTENTION_DESC_INIT, .mask = HEC_MASK_INIT};
	a.desc.dropout.p = 0.1;
	a.mask.causal = true;
	MAKE4(w, &a.q, B, T, H, K);
	MAKE4(w, &a.k, B, S, H, K);
	MAKE4(w, &a.v, B, S, H, K);
	MAKE4(w, &a.out, B, T, H, K);
	MAKE3(w, &a.lse, B, H, T);
	MAKE4(w, &a.dq, B, T, H, K);
	MAKE4(w, &a.dk, B, S, H, K);
	MAKE4(w, &a.dv, B, S, H, K);
	MAKE4(w, &a.mask.bias, B, H, T, S);
	MAKE4(w, &a.dbias, B, H, T, S);
	CALL(w, hec_attention_fwd(w->ctx, &a.desc, &a.q, &a.k, &a.v, &a.mask, &a.out, &a.lse));
	CALL(w, attention_backward(w, &a));
	add_bits(w, &a.out);
	add_bits(w, &a.dq);
	add_bits(w, &a.dk);
	add_bits(w, &a.dbias);
	hec_tensor weights;
	MAKE4(w, &weights, B, H, T, S);
	CALL(w,
	     hec_attention_weights(w->ctx, &a.desc, NULL, &a.q, &a.k, &a.mask, &a.lse, &weights));
	add_bits(w, &weights);
	hec_attention_steps steps = {.size = sizeof steps, .weights = &weights, .out = &a.out};
	CALL(w, hec_attention_unfused(w->ctx, &a.desc, &a.q, &a.k, &a.v, &a.mask, &steps));
	add_bits(w, &a.out);
}

/* A step of learning of a layer: forward, gradients from zero, backward. */
static const hec_dropout_key key = {.seed = 5, .step = 1, .micro_batch = 0};

static hec_status encoder_step(world *w, const hec_encoder_layer *layer, hec_encoder_layer *grad,
                               hec_param_alloc *zeros, const hec_tensor *x, hec_tensor *y,
                               hec_tensor *dx)
{
	hec_encoder_layer_kept *kept = NULL;
	hec_status status = hec_encoder_layer_params(grad, "", hec_param_allocate, zeros);
	if (status == HEC_OK)
		status = zero(w, dx);
	if (status == HEC_OK)
		status = hec_encoder_layer_fwd(w->ctx, w->arena, layer, x, NULL, &key, y, NULL,
		                               &kept);
	if (status == HEC_OK)
		status = hec_encoder_layer_bwd(w->ctx, w->arena, layer, y, x, NULL, &key, kept, dx,
		                               NULL, grad);
	return status;
}

static hec_status encoder_setup(world *w, hec_encoder_layer *layer)
{
	hec_encoder_layer_config config = {.size = sizeof config, .norm_first = true};
	config.attention = (hec_multi_head_config){.size = sizeof config.attention,
	                                           .width = C,
	                                           .heads = H,
	                                           .fused = true,
	                                           .dropout_weights = 0.1};
	config.feed_forward = (hec_feed_forward_config){.size = sizeof config.feed_forward,
	                                                .width = C,
	                                                .hidden = F,
	                                                .act = HEC_ACT_GELU,
	                                                .dropout_out = 0.1};
	hec_param_alloc alloc = {.size = sizeof alloc,
	                         .ctx = w->ctx,
	                         .arena = w->arena,
	                         .seed = 3,
	                         .with_bwd = true};
	hec_status status = hec_encoder_layer_setup(&config, layer);
	if (status == HEC_OK)
		status = hec_encoder_layer_params(layer, "", hec_param_allocate, &alloc);
	if (status == HEC_OK)
		status = hec_encoder_layer_params(layer, "", hec_param_initialise, &alloc);
	if (status == HEC_OK)
		status = hec_encoder_layer_params(layer, "", hec_param_pack, &alloc);
	return status;
}

static void encoder_layer(world *w)
{
	BEGIN(w);
	hec_encoder_layer layer, grad;
	hec_tensor x, y, dx;
	MAKE3(w, &x, B, T, C);
	MAKE3(w, &y, B, T, C);
	MAKE3(w, &dx, B, T, C);
	CALL(w, encoder_setup(w, &layer));
	hec_param_alloc zeros = {.size = sizeof zeros, .ctx = w->ctx, .arena = w->arena};
	CALL(w, hec_encoder_layer_setup(&layer.config, &grad));
	CALL(w, encoder_step(w, &layer, &grad, &zeros, &x, &y, &dx));
	add_bits(w, &y);
	add_bits(w, &dx);
	add_bits(w, &grad.attention.qkv.w);
	add_bits(w, &grad.feed_forward.down.w);
}

typedef struct decoder_call {
	hec_decoder_layer layer, grad;
	hec_tensor x, memory, y, dx, dmemory;
	hec_mask causal;
} decoder_call;

static hec_status decoder_setup(world *w, decoder_call *d)
{
	hec_decoder_layer_config config = {.size = sizeof config, .norm = HEC_NORM_RMS};
	config.self = (hec_multi_head_config){.size = sizeof config.self, .width = C, .heads = H};
	config.cross = (hec_multi_head_config){
		.size = sizeof config.cross, .width = C, .heads = H, .d_v = 8, .dropout_qkv = 0.1};
	config.feed_forward = (hec_feed_forward_config){.size = sizeof config.feed_forward,
	                                                .width = C,
	                                                .hidden = F,
	                                                .act = HEC_ACT_SILU,
	                                                .gated = true};
	hec_param_alloc alloc = {.size = sizeof alloc, .ctx = w->ctx, .arena = w->arena, .seed = 4};
	hec_status status = hec_decoder_layer_setup(&config, &d->layer);
	if (status == HEC_OK)
		status = hec_decoder_layer_params(&d->layer, "", hec_param_allocate, &alloc);
	if (status == HEC_OK)
		status = hec_decoder_layer_params(&d->layer, "", hec_param_initialise, &alloc);
	if (status == HEC_OK)
		status = hec_decoder_layer_setup(&config, &d->grad);
	return status;
}

static hec_status decoder_step(world *w, decoder_call *d)
{
	hec_param_alloc zeros = {.size = sizeof zeros, .ctx = w->ctx, .arena = w->arena};
	hec_decoder_layer_kept *kept = NULL;
	hec_status status = hec_decoder_layer_params(&d->grad, "", hec_param_allocate, &zeros);
	if (status == HEC_OK)
		status = zero(w, &d->dx);
	if (status == HEC_OK)
		status = zero(w, &d->dmemory);
	if (status == HEC_OK)
		status = hec_decoder_layer_fwd(w->ctx, w->arena, &d->layer, &d->x, &d->memory,
		                               &d->causal, NULL, &key, &d->y, NULL, NULL, &kept);
	if (status == HEC_OK)
		status = hec_decoder_layer_bwd(w->ctx, w->arena, &d->layer, &d->y, &d->x,
		                               &d->memory, &d->causal, NULL, &key, kept, &d->dx,
		                               &d->dmemory, NULL, NULL, &d->grad);
	return status;
}

static void decoder_layer(world *w)
{
	BEGIN(w);
	decoder_call d = {.causal = HEC_MASK_INIT};
	d.causal.causal = true;
	MAKE3(w, &d.x, B, T, C);
	MAKE3(w, &d.y, B, T, C);
	MAKE3(w, &d.dx, B, T, C);
	MAKE3(w, &d.memory, B, S, C);
	MAKE3(w, &d.dmemory, B, S, C);
	CALL(w, decoder_setup(w, &d));
	CALL(w, decoder_step(w, &d));
	add_bits(w, &d.y);
	add_bits(w, &d.dx);
	add_bits(w, &d.dmemory);
	add_bits(w, &d.grad.feed_forward.up.w);
}

/* ---- running them ---- */

typedef void scenario(world *w);

static world run_once(scenario *fn, long refused, bool forever)
{
	long before = refuse_live();
	world w = {.forever = forever, .bits = 0xcbf29ce484222325u};
	next_stream = 0;
	refuse_request(refused, forever);
	fn(&w);
	hec_arena_destroy(w.arena);
	hec_ctx_destroy(w.ctx);
	if (refuse_live() != before)
		fail_msg("request %ld refused: %ld blocks were not given back", refused,
		         refuse_live() - before);
	return w;
}

static void refuse_each(scenario *fn)
{
	world clean = run_once(fn, 0, false);
	long count = refuse_requests();
	assert_int_equal(clean.failures, 0);
	assert_true(count > 0);
	for (int forever = 0; forever < 2; forever++) {
		for (long n = 1;; n++) {
			world w = run_once(fn, n, forever);
			if (!refuse_fired()) {
				assert_int_equal(n, count + 1);
				break;
			}
			if (w.failures != 1)
				fail_msg("request %ld refused: %d calls said so", n, w.failures);
			if (!forever && w.bits != clean.bits)
				fail_msg("request %ld refused, the call made again: other bits", n);
		}
	}
	refuse_request(0, false);
	print_message("             %ld allocations\n", count);
}

#define SCENARIO(name)                                                                             \
	static void name##_when_memory_is_refused(void **state)                                    \
	{                                                                                          \
		(void)state;                                                                       \
		refuse_each(name);                                                                 \
	}

SCENARIO(contexts)
SCENARIO(arenas)
SCENARIO(plain_operations)
SCENARIO(norms)
SCENARIO(linears)
SCENARIO(from_ids_to_a_step)
SCENARIO(positions)
SCENARIO(attention)
SCENARIO(encoder_layer)
SCENARIO(decoder_layer)

/* A repeated call asks the system for nothing. */
static void a_second_step_allocates_nothing(void **state)
{
	(void)state;
	world w = {.forever = false};
	hec_encoder_layer layer, grad;
	hec_tensor x, y, dx;
	assert_int_equal(create_ctx(&w, 0), HEC_OK);
	assert_int_equal(create_arena(&w), HEC_OK);
	assert_int_equal(make(&w, &x, 3, B, T, C, 0), HEC_OK);
	assert_int_equal(make(&w, &y, 3, B, T, C, 0), HEC_OK);
	assert_int_equal(make(&w, &dx, 3, B, T, C, 0), HEC_OK);
	assert_int_equal(encoder_setup(&w, &layer), HEC_OK);
	assert_int_equal(hec_encoder_layer_setup(&layer.config, &grad), HEC_OK);
	size_t mark = hec_arena_used(w.arena);
	for (int i = 0; i < 3; i++) {
		hec_param_alloc zeros = {.size = sizeof zeros, .ctx = w.ctx, .arena = w.arena};
		hec_arena_rewind(w.arena, mark);
		refuse_request(0, false);
		assert_int_equal(encoder_step(&w, &layer, &grad, &zeros, &x, &y, &dx), HEC_OK);
		if (i > 0)
			assert_int_equal(refuse_requests(), 0);
	}
	hec_arena_destroy(w.arena);
	hec_ctx_destroy(w.ctx);
}

/* An arena that is too small is an error that says so, at whichever size it runs out. */
static void an_arena_of_any_size_is_enough_or_an_error(void **state)
{
	(void)state;
	int worked = 0, refused = 0;
	for (size_t kib = 1; worked == 0; kib += kib / 16 + 1) {
		world w = {.forever = false};
		hec_encoder_layer layer, grad;
		hec_tensor x, y, dx;
		assert_int_equal(create_ctx(&w, 1), HEC_OK);
		assert_int_equal(hec_arena_create(kib << 10, &w.arena), HEC_OK);
		hec_param_alloc zeros = {.size = sizeof zeros, .ctx = w.ctx, .arena = w.arena};
		hec_status status = make(&w, &x, 3, B, T, C, 0);
		if (status == HEC_OK)
			status = make(&w, &y, 3, B, T, C, 0);
		if (status == HEC_OK)
			status = make(&w, &dx, 3, B, T, C, 0);
		if (status == HEC_OK)
			status = encoder_setup(&w, &layer);
		if (status == HEC_OK)
			status = hec_encoder_layer_setup(&layer.config, &grad);
		if (status == HEC_OK)
			status = encoder_step(&w, &layer, &grad, &zeros, &x, &y, &dx);
		if (status == HEC_OK) {
			worked++;
		} else {
			refused++;
			assert_int_equal(status, HEC_ERR_MEMORY);
			assert_non_null(strstr(hec_error_message(), "arena"));
		}
		hec_arena_destroy(w.arena);
		hec_ctx_destroy(w.ctx);
	}
	assert_true(refused > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts_when_memory_is_refused),
		cmocka_unit_test(arenas_when_memory_is_refused),
		cmocka_unit_test(plain_operations_when_memory_is_refused),
		cmocka_unit_test(norms_when_memory_is_refused),
		cmocka_unit_test(linears_when_memory_is_refused),
		cmocka_unit_test(from_ids_to_a_step_when_memory_is_refused),
		cmocka_unit_test(positions_when_memory_is_refused),
		cmocka_unit_test(attention_when_memory_is_refused),
		cmocka_unit_test(encoder_layer_when_memory_is_refused),
		cmocka_unit_test(decoder_layer_when_memory_is_refused),
		cmocka_unit_test(a_second_step_allocates_nothing),
		cmocka_unit_test(an_arena_of_any_size_is_enough_or_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
