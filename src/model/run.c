/* run.c — hec_model_fwd and hec_model_bwd: encoder, decoder, head, and the same in reverse. */
#include "model/run.h"

#include <hecate/ops.h>

#include "base/options.h"
#include "base/status.h"
#include "tensor/check.h"
#include "tensor/view.h"

/* ---- the batch ---- */

static hec_status check_ids(const char *name, const model_stack *s, const hec_tensor *ids,
                            int64_t B)
{
	HEC_TRY(CHECK_2D(name, ids, HEC_I32, B, ANY));
	if (!hec_tensor_is_contiguous(ids))
		return fail(HEC_ERR_ARGUMENT, "%s must be contiguous", name);
	const int64_t max = hec_stack_config_max_positions(s->config);
	if (ids->shape[1] > max)
		return fail(HEC_ERR_SHAPE, "%s: %lld positions, the model knows %lld", name,
		            (long long)ids->shape[1], (long long)max);
	return HEC_OK;
}

static hec_status check_length(const char *name, const int32_t *length, const hec_tensor *ids)
{
	for (int64_t b = 0; length && b < ids->shape[0]; b++) {
		if (length[b] < 0 || length[b] > ids->shape[1])
			return fail(HEC_ERR_ARGUMENT, "%s of sequence %lld is %d, not 0 … %lld",
			            name, (long long)b, (int)length[b], (long long)ids->shape[1]);
	}
	return HEC_OK;
}

static hec_status check_present(const char *name, const hec_tensor *t, bool wanted)
{
	if (is_present(t) == wanted)
		return HEC_OK;
	return fail(HEC_ERR_ARGUMENT,
	            wanted ? "model: %s must be given" : "model: %s is given, the model takes none",
	            name);
}

static hec_status check_mask(const hec_model *m, const hec_model_input *input)
{
	const hec_tensor *of = model_has_encoder(m) ? &input->ids : &input->decoder_ids;
	return is_present(&input->mask)
	               ? check_tensor("model: mask", &input->mask, HEC_I8, 2, of->shape)
	               : HEC_OK;
}

/* Frames fill the window: what is shorter is padded as sound, before there are features. */
static hec_status check_features(const hec_model *m, const hec_model_input *input)
{
	const int64_t bands = m->config.front.features, frames = 2 * m->config.encoder.position.max;
	const hec_tensor *x = &input->features;
	HEC_TRY(CHECK_3D("model: features", x, m->dtype, ANY, bands, ANY));
	if (x->shape[2] != frames)
		return fail(
			HEC_ERR_SHAPE,
			"model: features have %lld frames, the model reads %lld, no more and no "
			"fewer",
			(long long)x->shape[2], (long long)frames);
	if (input->length || is_present(&input->mask))
		return fail(HEC_ERR_ARGUMENT, "model: %s given, but all frames count",
		            input->length ? "length is" : "a mask is");
	return HEC_OK;
}

static hec_status check_encoder_input(const hec_model *m, const hec_model_input *input, int64_t *B)
{
	HEC_TRY(check_present("ids", &input->ids, model_has_encoder(m) && !model_has_front(m)));
	HEC_TRY(check_present("features", &input->features, model_has_front(m)));
	*B = ANY;
	if (model_has_front(m)) {
		HEC_TRY(check_features(m, input));
		*B = input->features.shape[0];
	} else if (model_has_encoder(m)) {
		HEC_TRY(check_ids("model: ids", &m->encoder, &input->ids, ANY));
		HEC_TRY(check_length("model: length", input->length, &input->ids));
		*B = input->ids.shape[0];
	}
	return HEC_OK;
}

hec_status input_take(const hec_model *m, const hec_model_input *given, hec_model_input *input)
{
	*input = (hec_model_input){.size = sizeof *input};
	HEC_TRY(CHECK_GIVEN("model", given));
	HEC_TRY(options_take("hec_model_input", input, sizeof *input, given));
	int64_t B;
	HEC_TRY(check_encoder_input(m, input, &B));
	HEC_TRY(check_present("decoder_ids", &input->decoder_ids, model_has_decoder(m)));
	if (is_present(&input->types)) {
		if (m->config.types == 0)
			return fail(HEC_ERR_ARGUMENT,
			            "model: types are given, the model has no token types");
		HEC_TRY(check_tensor("model: types", &input->types, HEC_I32, 2, input->ids.shape));
		if (!hec_tensor_is_contiguous(&input->types))
			return fail(HEC_ERR_ARGUMENT, "model: types must be contiguous");
	}
	if (model_has_decoder(m)) {
		HEC_TRY(check_ids("model: decoder_ids", &m->decoder, &input->decoder_ids, B));
		HEC_TRY(check_length("model: decoder_length", input->decoder_length,
		                     &input->decoder_ids));
	}
	return check_mask(m, input);
}

hec_status gradient_fits(const hec_model *m, const hec_model *grad)
{
	if (grad->dtype != m->dtype || grad->count != m->count ||
	    grad->block.shape[0] != m->block.shape[0])
		return fail(HEC_ERR_SHAPE,
		            "model: the gradient has %zu parameters in %lld numbers of %s, the "
		            "model %zu in %lld of %s: make it with hec_model_create_like",
		            grad->count, (long long)grad->block.shape[0],
		            hec_dtype_name(grad->dtype), m->count, (long long)m->block.shape[0],
		            hec_dtype_name(m->dtype));
	return HEC_OK;
}

static hec_status check_weights(const char *name, const hec_tensor *weights, const model_stack *s,
                                hec_dtype dtype, int64_t B, int64_t T, int64_t S)
{
	if (!is_present(weights))
		return HEC_OK;
	if (!s->config)
		return fail(HEC_ERR_ARGUMENT, "%s: the model has no such attention", name);
	return CHECK_4D(name, weights, dtype, s->config->layers * B, s->config->attention.heads, T,
	                S);
}

static hec_status take_output(const hec_model *m, const hec_model_input *input,
                              const hec_model_output *given, hec_model_output *o)
{
	*o = (hec_model_output){.size = sizeof *o};
	HEC_TRY(options_take("hec_model_output", o, sizeof *o, given));
	const bool both = model_has_encoder(m) && model_has_decoder(m);
	const hec_tensor *ids = model_has_decoder(m) ? &input->decoder_ids : &input->ids;
	const int64_t B = ids->shape[0], T = ids->shape[1], C = m->config.width,
		      S = model_has_front(m)     ? input->features.shape[2] / 2
	                  : model_has_encoder(m) ? input->ids.shape[1]
	                                         : 0,
		      W = head_width(m);
	if (is_present(&o->hidden))
		HEC_TRY(CHECK_3D("model: hidden", &o->hidden, m->dtype, B, T, C));
	if (is_present(&o->memory) && !both)
		return fail(HEC_ERR_ARGUMENT, "model: memory is given, without both an encoder and "
		                              "a decoder there is none");
	if (is_present(&o->memory))
		HEC_TRY(CHECK_3D("model: memory", &o->memory, m->dtype, B, S, C));
	if (is_present(&o->logits) && m->config.head == HEC_HEAD_NONE)
		return fail(HEC_ERR_ARGUMENT, "model: logits are given, the model has no head");
	if (is_present(&o->logits))
		HEC_TRY(m->config.head == HEC_HEAD_CLASSIFY
		                ? CHECK_2D("model: logits", &o->logits, m->dtype, B, W)
		                : CHECK_3D("model: logits", &o->logits, m->dtype, B, T, W));
	if (is_present(&o->pooled) && !m->config.pooler)
		return fail(HEC_ERR_ARGUMENT, "model: pooled is given, the model has no pooler");
	if (is_present(&o->pooled)) {
		HEC_TRY(CHECK_2D("model: pooled", &o->pooled, m->dtype, B, C));
		if (!hec_tensor_is_contiguous(&o->pooled))
			return fail(HEC_ERR_ARGUMENT, "model: pooled must be contiguous");
	}
	HEC_TRY(check_weights("model: encoder_weights", &o->encoder_weights, &m->encoder, m->dtype,
	                      B, S, S));
	HEC_TRY(check_weights("model: decoder_weights", &o->decoder_weights, &m->decoder, m->dtype,
	                      B, T, T));
	const model_stack none = {0};
	return check_weights("model: cross_weights", &o->cross_weights, both ? &m->decoder : &none,
	                     m->dtype, B, T, S);
}

/* ---- stacks ---- */

static stack_call encoder_call(hec_ctx *ctx, hec_arena *arena, const hec_model_input *input,
                               const hec_dropout_key *key, const hec_model_output *output)
{
	stack_call call = {.ctx = ctx,
	                   .arena = arena,
	                   .key = key,
	                   .ids = input->ids,
	                   .features = input->features,
	                   .types = input->types,
	                   .length = input->length,
	                   .mask = input->mask};
	if (output)
		call.weights = output->encoder_weights;
	return call;
}

static stack_call decoder_call(hec_ctx *ctx, hec_arena *arena, const hec_model_input *input,
                               const hec_dropout_key *key, const hec_model_output *output,
                               const hec_tensor *memory)
{
	stack_call call = {.ctx = ctx,
	                   .arena = arena,
	                   .key = key,
	                   .ids = input->decoder_ids,
	                   .length = input->decoder_length,
	                   .memory = *memory,
	                   .memory_length = input->length};
	if (is_present(memory))
		call.memory_mask = input->mask;
	else
		call.mask = input->mask;
	if (output) {
		call.weights = output->decoder_weights;
		call.cross_weights = output->cross_weights;
	}
	return call;
}

hec_status hidden_fwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                      const hec_model_input *input, const hec_dropout_key *key,
                      const hec_model_output *output, bool keep, hec_model_kept *k)
{
	k->memory = (hec_tensor)HEC_TENSOR_NONE;
	if (model_has_encoder(m)) {
		stack_call call = encoder_call(ctx, arena, input, key, output);
		HEC_TRY(stack_fwd(&call, &m->encoder,
		                  model_has_decoder(m) ? &k->memory : &k->hidden,
		                  keep ? &k->encoder : NULL));
	}
	if (!model_has_decoder(m))
		return HEC_OK;
	stack_call call = decoder_call(ctx, arena, input, key, output, &k->memory);
	return stack_fwd(&call, &m->decoder, &k->hidden, keep ? &k->decoder : NULL);
}

hec_status hidden_bwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                      const hec_model_input *input, const hec_dropout_key *key,
                      const hec_model_kept *k, hec_tensor *dhidden, hec_model *grad)
{
	hec_tensor dmemory, *dencoder = dhidden;
	if (model_has_decoder(m)) {
		const bool cross = is_present(&k->memory);
		if (cross) {
			HEC_TRY(hec_arena_tensor(arena, m->dtype, 3, k->memory.shape, &dmemory));
			HEC_TRY(hec_tensor_fill(ctx, 0, &dmemory));
		}
		stack_call call = decoder_call(ctx, arena, input, key, NULL, &k->memory);
		HEC_TRY(stack_bwd(&call, &m->decoder, &k->decoder, dhidden, cross ? &dmemory : NULL,
		                  &grad->decoder));
		dencoder = &dmemory;
	}
	if (model_has_encoder(m)) {
		stack_call call = encoder_call(ctx, arena, input, key, NULL);
		HEC_TRY(stack_bwd(&call, &m->encoder, &k->encoder, dencoder, NULL, &grad->encoder));
	}
	return model_zero_padding(ctx, grad); /* where tied, the head gave its row something */
}

/* ---- whole ---- */

static hec_status run_model(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                            const hec_model_input *input, const hec_dropout_key *key,
                            const hec_model_output *o, bool keep, hec_model_kept *k)
{
	HEC_TRY(hidden_fwd(ctx, arena, m, input, key, o, keep, k));
	hec_tensor out, rows, logits;
	if (is_present(&o->memory)) {
		out = o->memory;
		HEC_TRY(hec_tensor_copy(ctx, &k->memory, &out));
	}
	if (is_present(&o->hidden)) {
		out = o->hidden;
		HEC_TRY(hec_tensor_copy(ctx, &k->hidden, &out));
	}
	if (is_present(&o->pooled)) {
		out = o->pooled;
		HEC_TRY(head_pool(ctx, m, &k->hidden, &out));
	}
	if (m->config.head == HEC_HEAD_NONE || !(keep || is_present(&o->logits)))
		return HEC_OK;
	HEC_TRY(head_rows(ctx, arena, m, input, &k->hidden, &rows));
	if (is_present(&o->logits))
		HEC_TRY(view_rows("model: logits", &o->logits, &logits));
	else
		HEC_TRY(hec_arena_tensor(arena, m->dtype, 2,
		                         (int64_t[]){rows.shape[0], head_width(m)}, &logits));
	return head_fwd(ctx, arena, m, key, &rows, &logits, &k->head);
}

hec_status hec_model_fwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                         const hec_model_input *input, const hec_dropout_key *key,
                         hec_model_output *output, hec_model_kept **kept)
{
	HEC_TRY(CHECK_GIVEN("model", ctx));
	HEC_TRY(CHECK_GIVEN("model", arena));
	HEC_TRY(CHECK_GIVEN("model", m));
	hec_model_input in;
	hec_model_output out;
	HEC_TRY(input_take(m, input, &in));
	HEC_TRY(take_output(m, &in, output, &out));
	size_t mark = hec_arena_used(arena);
	hec_model_kept local = {0}, *k = &local;
	if (kept)
		HEC_TRY(hec_arena_alloc(arena, sizeof *k, (void **)&k));
	*k = local;
	hec_status status = run_model(ctx, arena, m, &in, key, &out, kept != NULL, k);
	if (status != HEC_OK || !kept)
		hec_arena_rewind(arena, mark);
	else
		*kept = k;
	return status;
}

/* dhidden [B, T, C] from the gradient of the head's output. */
static hec_status head_gradient(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                                const hec_model_input *input, const hec_dropout_key *key,
                                const hec_model_kept *k, hec_tensor *dlogits, hec_tensor *dhidden,
                                hec_model *grad)
{
	if (m->config.head == HEC_HEAD_NONE) {
		HEC_TRY(check_tensor("model: gradient of hidden", dlogits, m->dtype, 3,
		                     k->hidden.shape));
		*dhidden = *dlogits;
		return HEC_OK;
	}
	const int64_t B = k->hidden.shape[0], T = k->hidden.shape[1], W = head_width(m);
	HEC_TRY(m->config.head == HEC_HEAD_CLASSIFY
	                ? CHECK_2D("model: dlogits", dlogits, m->dtype, B, W)
	                : CHECK_3D("model: dlogits", dlogits, m->dtype, B, T, W));
	HEC_TRY(hec_arena_tensor(arena, m->dtype, 3, k->hidden.shape, dhidden));
	hec_tensor rows, drows, dl;
	HEC_TRY(head_rows(ctx, arena, m, input, &k->hidden, &rows));
	HEC_TRY(head_drows(ctx, arena, m, dhidden, &drows));
	HEC_TRY(view_rows("model: dlogits", dlogits, &dl));
	HEC_TRY(head_bwd(ctx, arena, m, key, &k->head, &rows, &dl, &drows, grad));
	return head_put_drows(ctx, arena, m, input, &drows, dhidden);
}

static hec_status run_model_back(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                                 const hec_model_input *input, const hec_dropout_key *key,
                                 const hec_model_kept *k, hec_tensor *dlogits, hec_model *grad)
{
	hec_tensor dhidden;
	HEC_TRY(head_gradient(ctx, arena, m, input, key, k, dlogits, &dhidden, grad));
	return hidden_bwd(ctx, arena, m, input, key, k, &dhidden, grad);
}

hec_status hec_model_bwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                         const hec_model_input *input, const hec_dropout_key *key,
                         const hec_model_kept *kept, hec_tensor *dlogits, hec_model *grad)
{
	HEC_TRY(CHECK_GIVEN("model", ctx));
	HEC_TRY(CHECK_GIVEN("model", arena));
	HEC_TRY(CHECK_GIVEN("model", m));
	HEC_TRY(CHECK_GIVEN("model", kept));
	HEC_TRY(CHECK_GIVEN("model", dlogits));
	HEC_TRY(CHECK_GIVEN("model", grad));
	HEC_TRY(gradient_fits(m, grad));
	hec_model_input in;
	HEC_TRY(input_take(m, input, &in));
	size_t mark = hec_arena_used(arena);
	hec_status status = run_model_back(ctx, arena, m, &in, key, kept, dlogits, grad);
	hec_arena_rewind(arena, mark);
	return status;
}
