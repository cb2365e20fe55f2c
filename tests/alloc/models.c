/* models.c — scenarios in which whole models are made and learn. */
#include "world.h"

static const hec_dropout_key key = {.seed = 5, .step = 1, .micro_batch = 0};

static hec_model_config small_config(void)
{
	const hec_stack_config stack = {
		.layers = 2,
		.attention = {.heads = 2, .dropout_weights = 0.1},
		.feed_forward = {.hidden = F, .act = HEC_ACT_GELU, .dropout_out = 0.1},
		.embedding_norm = true,
		.final_norm = true,
		.dropout = 0.1,
		.position = {.kind = HEC_POSITION_SINUSOIDAL, .max = S}};
	hec_model_config c = {.size = sizeof c,
	                      .vocab = V,
	                      .width = C,
	                      .encoder = stack,
	                      .decoder = stack,
	                      .output_bias = true,
	                      .head = HEC_HEAD_LM,
	                      .pad_id = 0,
	                      .bos_id = -1,
	                      .eos_id = 1,
	                      .start_id = 0};
	c.decoder.position.kind = HEC_POSITION_ROTARY;
	return c;
}

static hec_status learn(world *w, const hec_model *m, const int32_t *ids, hec_model *grad)
{
	hec_tensor block = hec_model_block(grad);
	hec_status status = hec_tensor_fill(w->ctx, 0, &block);
	hec_model_input input = {.size = sizeof input,
	                         .ids = hec_tensor_2d((void *)(uintptr_t)ids, HEC_I32, B, 7),
	                         .decoder_ids =
	                                 hec_tensor_2d((void *)(uintptr_t)ids, HEC_I32, B, 5)};
	hec_model_loss loss = HEC_MODEL_LOSS_INIT;
	loss.targets = input.decoder_ids;
	double sum;
	int64_t count;
	if (status == HEC_OK)
		status = hec_model_learn(w->ctx, w->arena, m, &input, &loss, &key, grad, &sum,
		                         &count);
	return status;
}

static void steps(world *w, hec_model **model, hec_model **grad)
{
	static const int32_t ids[B * 7] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7};
	BEGIN(w);
	const hec_model_config config = small_config();
	CALL(w, hec_model_create(w->ctx, &config, HEC_F32, 11, model));
	CALL(w, hec_model_create_like(*model, grad));
	CALL(w, hec_model_pack(w->ctx, *model, false));
	CALL(w, hec_model_pack(w->ctx, *model, true));
	CALL(w, learn(w, *model, ids, *grad));
	hec_tensor block = hec_model_block(*grad);
	add_bits(w, &block);
}

hec_status small_model(world *w, hec_model **model)
{
	const hec_model_config config = small_config();
	return hec_model_create(w->ctx, &config, HEC_F32, 11, model);
}

static hec_status write(world *w, hec_session *s, const int32_t *ids, hec_tensor *logits)
{
	(void)w;
	hec_tensor sources = hec_tensor_2d((void *)(uintptr_t)ids, HEC_I32, B, 7),
		   tokens = hec_tensor_2d((void *)(uintptr_t)ids, HEC_I32, 2 * B, 3);
	const int32_t from[2 * B] = {1, 0, 3, 3};
	hec_status status = hec_session_start(s, B, &sources, NULL);
	if (status == HEC_OK)
		status = hec_session_step(s, &tokens, NULL, logits);
	if (status == HEC_OK)
		status = hec_session_reorder(s, from);
	return status == HEC_OK ? hec_session_step(s, &tokens, NULL, logits) : status;
}

static void session_steps(world *w, hec_model **model, hec_session **session)
{
	static const int32_t ids[B * 7] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7};
	hec_tensor logits;
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	o.sources = B;
	o.beams = 2;
	o.keep_attention = true;
	BEGIN(w);
	MAKE2(w, &logits, 2 * B, V);
	CALL(w, small_model(w, model));
	CALL(w, hec_session_create(w->ctx, *model, &o, session));
	CALL(w, write(w, *session, ids, &logits));
	add_bits(w, &logits);
}

void sessions(world *w)
{
	hec_model *model = NULL;
	hec_session *session = NULL;
	session_steps(w, &model, &session);
	hec_session_destroy(session);
	hec_model_destroy(model);
}

void models(world *w)
{
	hec_model *model = NULL, *grad = NULL;
	steps(w, &model, &grad);
	hec_model_destroy(model);
	hec_model_destroy(grad);
}
