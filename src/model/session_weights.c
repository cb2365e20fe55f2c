/* session_weights.c — which tokens a session's heads looked at, made again from what was kept. */
#include <math.h>

#include <hecate/ops.h>

#include "base/status.h"
#include "model/session.h"
#include "model/stack.h"
#include "nn/multi_head.h"
#include "tensor/check.h"

static hec_status encoder_weights(hec_session *s, int64_t layer, int64_t source, hec_tensor *out)
{
	session_cache *c = &s->cache;
	const int64_t S = c->source_length[source];
	stack_call call = {.ctx = s->ctx, .arena = s->arena, .only = layer + 1};
	if (is_present(&c->source_features))
		HEC_TRY(hec_tensor_slice(&c->source_features, 0, source, 1, &call.features));
	else
		call.ids = hec_tensor_2d(c->source_ids + source * c->max_source, HEC_I32, 1, S);
	const int64_t H = s->model->config.encoder.attention.heads;
	HEC_TRY(CHECK_3D("session: weights", out, s->model->dtype, H, S, S));
	HEC_TRY(hec_tensor_reshape(out, 4, (int64_t[]){1, H, S, S}, &call.weights));
	size_t mark = hec_arena_used(s->arena);
	hec_tensor memory;
	hec_status status = stack_fwd(&call, &s->model->encoder, &memory, NULL);
	hec_arena_rewind(s->arena, mark);
	return status;
}

/* From the queries and keys that were kept. Every query sees a key, unless there is none. */
static hec_status decoder_weights(hec_session *s, bool cross, int64_t layer, int64_t row,
                                  hec_tensor *out)
{
	session_cache *c = &s->cache;
	const hec_decoder_layer *l = &s->model->decoder.decoder[layer];
	const hec_multi_head *attention = cross ? &l->cross : &l->self;
	const int64_t T = c->length[row], S = cross ? c->row_source[row] : T,
		      H = attention->config.heads;
	hec_tensor q, k, weights, lse, bias;
	HEC_TRY(CHECK_3D("session: weights", out, s->model->dtype, H, T, S));
	HEC_TRY(hec_tensor_reshape(out, 4, (int64_t[]){1, H, T, S}, &weights));
	q = cache_layer(c, cross ? &c->cross_q : &c->q, layer, row, 1);
	k = cache_layer(c, cross ? &c->cross_k : &c->k, layer, cross ? row / c->beams : row, 1);
	q.shape[1] = T;
	k.shape[1] = S;
	HEC_TRY(hec_arena_tensor(s->arena, s->model->dtype, 3, (int64_t[]){1, H, T}, &lse));
	HEC_TRY(hec_tensor_fill(s->ctx, S > 0 ? 0 : -INFINITY, &lse));
	hec_mask mask = HEC_MASK_INIT;
	mask.causal = !cross;
	mask.window = cross ? 0 : stack_window(&s->model->decoder, layer);
	if (!cross && is_present(&s->line)) {
		bias = s->line; /* strides (−1, 1) from distance 0: already the bias from token 0 */
		bias.shape[2] = T;
		bias.shape[3] = S;
		mask.bias = bias;
	}
	const hec_attention_desc desc = multi_head_desc(&attention->config, NULL);
	return hec_attention_weights(s->ctx, &desc, NULL, &q, &k, &mask, &lse, &weights);
}

hec_status hec_session_weights(hec_session *s, hec_attention_kind kind, int64_t layer, int64_t row,
                               hec_tensor *out)
{
	HEC_TRY(CHECK_GIVEN("session", s));
	if (!s->options.keep_attention)
		return fail(HEC_ERR_ARGUMENT, "session: made without keep_attention");
	if ((unsigned)kind > HEC_ATTENTION_CROSS)
		return fail(HEC_ERR_ARGUMENT, "session: attention %d is not known", (int)kind);
	if (kind != HEC_ATTENTION_DECODER && !model_has_encoder(s->model))
		return fail(HEC_ERR_ARGUMENT, "session: the model has no encoder to look at");
	const hec_model_config *c = &s->model->config;
	const int64_t layers =
			      kind == HEC_ATTENTION_ENCODER ? c->encoder.layers : c->decoder.layers,
		      rows = s->live * s->cache.beams;
	if (layer < 0 || layer >= layers || row < 0 || row >= rows)
		return fail(HEC_ERR_ARGUMENT,
		            "session: layer %lld of %lld, row %lld of %lld are asked for",
		            (long long)layer, (long long)layers, (long long)row, (long long)rows);
	if (kind == HEC_ATTENTION_ENCODER)
		return encoder_weights(s, layer, row / s->cache.beams, out);
	size_t mark = hec_arena_used(s->arena);
	hec_status status = decoder_weights(s, kind == HEC_ATTENTION_CROSS, layer, row, out);
	hec_arena_rewind(s->arena, mark);
	return status;
}
