/* models.c — configurations, parameters and batches of small models. */
#include "support/models.h"

#include <stdio.h>
#include <string.h>

#include <hecate/tensor_file.h>

#include "format/json.h"
#include "support/scratch.h"

static hec_stack_config stack_variant(int n, double dropout, bool encoder)
{
	static const hec_activation acts[] = {HEC_ACT_GELU, HEC_ACT_SILU, HEC_ACT_GELU_TANH};
	static const hec_position_kind kinds[] = {HEC_POSITION_SINUSOIDAL, HEC_POSITION_LEARNED,
	                                          HEC_POSITION_ROTARY, HEC_POSITION_RELATIVE,
	                                          HEC_POSITION_NONE};
	hec_stack_config s = {
		.layers = encoder ? 1 + n % 2 : 2 - n % 2,
		.attention = {.heads = 2,
	                      .fused = n % 4 == 1,
	                      .no_bias = n % 4 == 2,
	                      .no_out_bias = n % 4 == 2,
	                      .dropout_qkv = n % 3 == 0 ? dropout : 0,
	                      .dropout_weights = dropout,
	                      .dropout_out = dropout},
		.feed_forward = {.hidden = 7,
	                         .act = acts[n % 3],
	                         .gated = n % 4 == 3,
	                         .no_bias = n % 4 == 2,
	                         .dropout_hidden = dropout,
	                         .dropout_out = dropout},
		.norm = n % 4 == 2 ? HEC_NORM_RMS : HEC_NORM_LAYER,
		.norm_eps = 1e-3,
		.norm_first = n % 2 == 1,
		.residual_linear = n == 7,
		.embedding_norm = n % 3 == 2,
		.final_norm = n % 2 == 1,
		.embedding_scale = n % 3 == 0 ? 2.5 : 0,
		.dropout = dropout,
		.window = !encoder && n == 6 ? 2 : 0,
		.window_from = n == 6,
		.position = {.kind = kinds[n % 5],
	                     .max = 9,
	                     .offset = n % 5 == 1 ? 2 : 0,
	                     .skip_padding = encoder && n == 6,
	                     .pairs = n % 2 ? HEC_ROTARY_INTERLEAVED : HEC_ROTARY_HALVES,
	                     .sinusoid = n % 2 ? HEC_SINUSOID_HALVES : HEC_SINUSOID_INTERLEAVED,
	                     .rotary_width = n == 7 ? 2 : 0,
	                     .buckets = 4,
	                     .max_distance = 6},
	};
	if (n == 7)
		s.position.scaling = (hec_rotary_scaling){.kind = HEC_ROTARY_YARN,
		                                          .factor = 3,
		                                          .original = 5,
		                                          .fast = 2,
		                                          .slow = 0.01,
		                                          .attention_factor = 1.3};
	if (n >= 5) { /* heads that are no share of the width */
		s.attention.kv_heads = n % 2 ? 1 : 2;
		s.attention.d_k = 4;
		s.attention.d_v = 3;
	}
	return s;
}

hec_model_config model_variant(model_form form, int n, hec_head head, double dropout)
{
	hec_model_config c = {
		.size = sizeof c,
		.vocab = 7,
		.width = n % 5 == 2 || n < 5 ? 4 : 5,
		.types = form == FORM_ENCODER && n % 2 ? 2 : 0,
		.separate_embeddings = n % 3 == 1,
		.separate_output = n % 3 == 2,
		.output_bias = n % 2 == 0,
		.head = head,
		.output_scale = n % 4 == 1 ? 0.4 : 0,
		.pooler = form == FORM_ENCODER && head == HEC_HEAD_NONE && n % 2,
		.head_act = HEC_ACT_GELU,
		.pool_act = n % 2 ? HEC_ACT_RELU : HEC_ACT_NONE,
		.head_dropout = dropout,
		.labels = head == HEC_HEAD_CLASSIFY || head == HEC_HEAD_TOKENS ? 3 : 0,
		/* What also ends sentences is learned like any other. */
		.pad_id = n == 6 ? 1 : -1,
		.bos_id = -1,
		.eos_id = n == 6 ? 1 : -1,
		.start_id = -1,
	};
	if (head == HEC_HEAD_CLASSIFY && form != FORM_ENCODER) {
		c.head_row = form == FORM_BOTH ? HEC_ROW_EOS : HEC_ROW_LAST;
		c.head_plain = form == FORM_DECODER;
		c.pad_id = c.eos_id = 1;
	}
	if (form != FORM_DECODER)
		c.encoder = stack_variant(n, dropout, true);
	if (form != FORM_ENCODER)
		c.decoder = stack_variant(form != FORM_BOTH ? n
		                          : n < 9           ? n + 1
		                                            : 5,
		                          dropout, false);
	return c;
}

hec_model_config frames_variant(int n, hec_head head, double dropout)
{
	hec_model_config c = model_variant(FORM_BOTH, n, head, dropout);
	c.front.features = 1 + n % 4;
	c.separate_embeddings = false;
	c.encoder.position.skip_padding = false;
	c.encoder.position.max = 2 + n % 3;
	c.encoder.position.fixed = n == 6 && c.encoder.position.kind == HEC_POSITION_LEARNED;
	c.encoder.attention.no_k_bias = !c.encoder.attention.fused;
	c.decoder.attention.no_k_bias = !c.decoder.attention.fused;
	return c;
}

hec_model *model_open(kit *k, const hec_model_config *config, hec_dtype dtype)
{
	hec_model *m = NULL;
	OK(k, hec_model_create(k->ctx, config, dtype, 7, &m));
	for (size_t i = 0; i < hec_model_param_count(m); i++) {
		hec_tensor t = hec_model_tensor(m, i);
		for (int64_t j = 0; j < hec_tensor_count(&t); j++)
			put(&t, j, get(&t, j) + 0.2 * draw_normal(k));
	}
	return m;
}

static hec_tensor draw_ids(kit *k, int64_t B, int64_t T, int64_t most)
{
	hec_tensor ids = make(k, HEC_I32, SHAPE(B, T));
	for (int64_t i = 0; i < B * T; i++)
		put(&ids, i, (double)draw_in(k, 0, most - 1));
	return ids;
}

/* One end in each sequence, where the decoder has a row, too. */
static void mark_ends(model_batch *batch, int32_t eos, bool ragged)
{
	const int64_t S = batch->input.ids.shape[1], T = batch->input.decoder_ids.shape[1];
	for (int64_t b = 0; b < batch->input.ids.shape[0]; b++) {
		int32_t *ids = (int32_t *)batch->input.ids.data + b * S;
		const int64_t here = ragged ? batch->length[b] : S,
			      there = ragged ? batch->decoder_length[b] : T;
		for (int64_t i = 0; i < S; i++)
			ids[i] += ids[i] == eos;
		ids[(here < there ? here : there) - 1] = eos;
	}
}

void batch_open(model_batch *batch, kit *k, const hec_model *model, int64_t B, int64_t S, int64_t T,
                bool ragged)
{
	const hec_model_config *c = hec_model_config_of(model);
	*batch = (model_batch){.input = {.size = sizeof batch->input}};
	for (int64_t b = 0; b < B; b++) {
		batch->length[b] = (int32_t)(b == 0 ? S : draw_in(k, 1, S));
		batch->decoder_length[b] = (int32_t)(b == 0 ? T : draw_in(k, 1, T));
	}
	if (c->front.features > 0) {
		batch->input.features =
			make_random(k, hec_model_block(model).dtype,
		                    SHAPE(B, c->front.features, 2 * c->encoder.position.max));
	} else if (c->encoder.layers > 0) {
		batch->input.ids = draw_ids(k, B, S, c->vocab);
		if (ragged)
			batch->input.length = batch->length;
	}
	if (c->types > 0)
		batch->input.types = draw_ids(k, B, S, c->types);
	if (c->decoder.layers > 0) {
		batch->input.decoder_ids = draw_ids(k, B, T, c->vocab);
		if (ragged)
			batch->input.decoder_length = batch->decoder_length;
	}
	if (c->head == HEC_HEAD_CLASSIFY && c->head_row == HEC_ROW_EOS)
		mark_ends(batch, c->eos_id, ragged);
}

hec_tensor logits_open(kit *k, const hec_model *model, const hec_model_input *input)
{
	const hec_model_config *c = hec_model_config_of(model);
	const hec_tensor *ids = c->decoder.layers > 0 ? &input->decoder_ids : &input->ids;
	hec_dtype dtype = hec_model_block(model).dtype;
	const int64_t B = ids->shape[0], T = ids->shape[1];
	switch (c->head) {
	case HEC_HEAD_NONE:
		return make(k, dtype, SHAPE(B, T, c->width));
	case HEC_HEAD_LM:
	case HEC_HEAD_MASKED:
		return make(k, dtype, SHAPE(B, T, c->vocab));
	case HEC_HEAD_CLASSIFY:
		return make(k, dtype, SHAPE(B, c->labels));
	case HEC_HEAD_TOKENS:
	case HEC_HEAD_ANSWER:
		break;
	}
	return make(k, dtype, SHAPE(B, T, c->labels));
}

const char *golden_model(const char *name, char path[512])
{
	snprintf(path, 512, "%s/golden/models/%s", TESTS_DIR, name);
	return path;
}

hec_tensor stored_tensor(kit *k, const safetensors *s, const char *name)
{
	const safetensors_entry *e = safetensors_find(s, name);
	hec_tensor none = HEC_TENSOR_NONE;
	hec_dtype dtype;
	if (!e)
		return none;
	CHECK(k, safetensors_dtype_known(e->dtype, &dtype), "%s has an odd type", name);
	int64_t shape[SAFETENSORS_RANK + 1];
	memcpy(shape, e->shape, sizeof e->shape);
	shape[e->rank] = -1;
	hec_tensor t = make(k, dtype, shape);
	OK(k, safetensors_read(s, e, 0, e->count, t.data));
	return t;
}

static bool is_listed(const char *const *list, const char *name)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list;
}

void golden_edited(kit *k, const char *name, const char *const *without, const char *const *with,
                   const char *dir)
{
	char from[512], path[600];
	safetensors *s = NULL;
	hec_named_tensor list[128];
	size_t count = 0;
	scratch_copy(golden_model(name, from), dir);
	OK(k, safetensors_open_folder(from, &s));
	for (size_t i = 0; i < safetensors_count(s); i++) {
		const safetensors_entry *e = safetensors_at(s, i);
		hec_dtype dtype;
		if (!is_listed(without, e->name) && safetensors_dtype_known(e->dtype, &dtype))
			list[count++] = (hec_named_tensor){e->name, stored_tensor(k, s, e->name)};
		assert_true(count < 100);
	}
	for (; *with; with++) {
		list[count] = (hec_named_tensor){*with, make(k, HEC_F32, (int64_t[]){4, -1})};
		OK(k, hec_tensor_fill(k->ctx, 0, &list[count++].tensor));
		assert_true(count < 128);
	}
	snprintf(path, sizeof path, "%s/model.safetensors", dir);
	OK(k, hec_tensor_file_write(path, list, count));
	safetensors_close(s);
}

void check_saved_type(kit *k, const char *dir, const char *type, const char *architecture)
{
	char path[1024];
	json_t *root;
	snprintf(path, sizeof path, "%s/config.json", dir);
	OK(k, json_file_read(path, 1 << 20, &root));
	const char *is = json_string_value(json_object_get(root, "model_type"));
	CHECK(k, is && strcmp(is, type) == 0, "%s is a %s, not a %s", dir, is, type);
	is = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
	CHECK(k, !architecture || (is && strcmp(is, architecture) == 0), "%s is a %s", dir, is);
	json_decref(root);
}
