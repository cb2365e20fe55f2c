/* gpt2.c — GPT-2: a decoder alone, pre-norm, learned positions, one fused projection. Its matrices are
 * stored [in, out] ("Conv1D"). */
#include "base/quote.h"
#include "model/family.h"

static const family_architecture architectures[] = {
	{"GPT2LMHeadModel", HEC_HEAD_LM, NULL},
	{"GPT2ForSequenceClassification", HEC_HEAD_CLASSIFY, NULL},
	{"GPT2ForTokenClassification", HEC_HEAD_TOKENS, NULL},
	{"GPT2ForQuestionAnswering", HEC_HEAD_ANSWER, NULL},
	{"GPT2Model", HEC_HEAD_NONE, NULL},
	{NULL, HEC_HEAD_NONE, NULL},
};

static const family_key keys[] = {
	{"vocab_size", KEY_SIZE, FIELD(vocab), 50257, NULL},
	{"n_embd", KEY_SIZE, FIELD(width), 768, NULL},
	{"n_layer", KEY_SIZE, FIELD(decoder.layers), 12, NULL},
	{"n_head", KEY_SIZE, FIELD(decoder.attention.heads), 12, NULL},
	{"n_inner", KEY_COUNT, FIELD(decoder.feed_forward.hidden), 0, NULL},
	{"activation_function", KEY_WORD, FIELD(decoder.feed_forward.act), HEC_ACT_GELU_TANH,
         family_activations},
	{"n_positions", KEY_SIZE, FIELD(decoder.position.max), 1024, NULL},
	{"layer_norm_epsilon", KEY_REAL, FIELD(decoder.norm_eps), 1e-5, NULL},
	{"embd_pdrop", KEY_RATE, FIELD(decoder.dropout), 0.1, NULL},
	{"attn_pdrop", KEY_RATE, FIELD(decoder.attention.dropout_weights), 0.1, NULL},
	{"resid_pdrop", KEY_RATE, FIELD(decoder.attention.dropout_out), 0.1, NULL},
	{"resid_pdrop", KEY_RATE, FIELD(decoder.feed_forward.dropout_out), 0.1, NULL},
	{"initializer_range", KEY_REAL, FIELD(init_std), 0.02, NULL},
	{"tie_word_embeddings", KEY_NOT, FIELD(separate_output), 1, NULL},
	{"pad_token_id", KEY_ID, FIELD(pad_id), -1, NULL},
	{"bos_token_id", KEY_ID, FIELD(bos_id), 50256, NULL},
	{"eos_token_id", KEY_ID, FIELD(eos_id), 50256, NULL},
	{NULL, KEY_SIZE, 0, 0, NULL},
};

#define OURS "decoder.layers.*."
#define THEIRS "transformer.h.*."

static const family_tensor tensors[] = {
	{"embedding", "transformer.wte.weight", 0},
	{"embedding", "lm_head.weight", TENSOR_INSTEAD},
	{"decoder.positions", "transformer.wpe.weight", 0},
	{OURS "self.q.w", THEIRS "attn.c_attn.weight", TENSOR_TRANSPOSED},
	{OURS "self.k.w", THEIRS "attn.c_attn.weight", TENSOR_TRANSPOSED | TENSOR_JOINED},
	{OURS "self.v.w", THEIRS "attn.c_attn.weight", TENSOR_TRANSPOSED | TENSOR_JOINED},
	{OURS "self.q.b", THEIRS "attn.c_attn.bias", 0},
	{OURS "self.k.b", THEIRS "attn.c_attn.bias", TENSOR_JOINED},
	{OURS "self.v.b", THEIRS "attn.c_attn.bias", TENSOR_JOINED},
	CONV1D(OURS "self.out", THEIRS "attn.c_proj"),
	NORM(OURS "norm1", THEIRS "ln_1"),
	CONV1D(OURS "feed_forward.up", THEIRS "mlp.c_fc"),
	CONV1D(OURS "feed_forward.down", THEIRS "mlp.c_proj"),
	NORM(OURS "norm3", THEIRS "ln_2"),
	NORM("decoder.final_norm", "transformer.ln_f"),
	{"head.output.w", "lm_head.weight", 0},
	{"head.labels.w", "score.weight", TENSOR_OF(HEC_HEAD_CLASSIFY)},
	LINEAR_OF(HEC_HEAD_TOKENS, "head.labels", "classifier"),
	LINEAR_OF(HEC_HEAD_ANSWER, "head.labels", "qa_outputs"),
	{NULL, NULL, 0},
};

static void set_fixed_fields_of_gpt2(hec_model_config *c)
{
	hec_stack_config *s = &c->decoder;
	s->norm = HEC_NORM_LAYER;
	s->norm_first = true;
	s->final_norm = true;
	s->attention.fused = true;
	s->position.kind = HEC_POSITION_LEARNED;
	c->head_row = HEC_ROW_LAST;
	c->head_plain = true;
}

static hec_status must_be(const json_scope *s, const char *key, bool value)
{
	bool is = value;
	char file[QUOTE_TEXT];
	HEC_TRY(json_want_bool(s, key, &is));
	if (is != value)
		return fail(HEC_ERR_UNSUPPORTED, "%s: '%s' is %s, which is not supported",
		            quote(s->file, file), key, is ? "true" : "false");
	return HEC_OK;
}

static hec_status read_gpt2(const json_scope *s, hec_model_config *c)
{
	if (c->decoder.feed_forward.hidden == 0)
		c->decoder.feed_forward.hidden = 4 * c->width;
	HEC_TRY(must_be(s, "scale_attn_weights", true));
	HEC_TRY(must_be(s, "scale_attn_by_inverse_layer_idx", false));
	HEC_TRY(must_be(s, "add_cross_attention", false));
	return family_read_labels(s, c);
}

static hec_status write_gpt2(const hec_model_config *c, json_t *config)
{
	HEC_TRY(family_write_labels(c, config));
	HEC_TRY(json_put(config, "scale_attn_weights", json_true()));
	return json_put(config, "use_cache", json_true());
}

static hec_status write_gpt2_generation(const hec_model_config *c, json_t *g)
{
	if (c->bos_id >= 0)
		HEC_TRY(json_put(g, "bos_token_id", json_integer(c->bos_id)));
	if (c->eos_id >= 0)
		HEC_TRY(json_put(g, "eos_token_id", json_integer(c->eos_id)));
	if (c->pad_id >= 0)
		HEC_TRY(json_put(g, "pad_token_id", json_integer(c->pad_id)));
	return json_put(g, "max_length", json_integer(c->decoder.position.max));
}

static const char *const read_keys[] = {FAMILY_LABEL_KEYS, NULL};

static const char *const masks[] = {".attn.bias", ".attn.masked_bias", NULL};

const family family_gpt2 = {
	.model_type = "gpt2",
	.architectures = architectures,
	.prefix = "transformer.",
	.keys = keys,
	.tensors = tensors,
	.read_keys = read_keys,
	.no_weights = masks,
	.begin = set_fixed_fields_of_gpt2,
	.read = read_gpt2,
	.write = write_gpt2,
	.generation = write_gpt2_generation,
};
