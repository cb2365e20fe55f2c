/* llama.c — Llama, Mistral and Qwen2 (SmolLM is a Llama): a decoder alone, pre-norm with RMS norms, rotary
 * positions, SwiGLU, fewer key/value heads than heads. They differ in which linears have a bias and in
 * which layers see a window only. */
#include <string.h>

#include "base/quote.h"
#include "model/family.h"
#include "model/family/rope.h"

/* Answers of Llama and Qwen2 have their base model under another name. */
/* clang-format off */
#define ARCHITECTURES(name, answer) \
	{ \
		{name "ForCausalLM", HEC_HEAD_LM, NULL}, \
		{name "ForSequenceClassification", HEC_HEAD_CLASSIFY, NULL}, \
		{name "ForTokenClassification", HEC_HEAD_TOKENS, NULL}, \
		{name "ForQuestionAnswering", HEC_HEAD_ANSWER, answer}, \
		{name "Model", HEC_HEAD_NONE, NULL}, \
		{NULL, HEC_HEAD_NONE, NULL}, \
	}
/* clang-format on */

static const family_architecture llama[] = ARCHITECTURES("Llama", "transformer.");
static const family_architecture mistral[] = ARCHITECTURES("Mistral", NULL);
static const family_architecture qwen2[] = ARCHITECTURES("Qwen2", "transformer.");

/* clang-format off */
#define KEYS(vocabulary, inner, groups, longest, bos, eos) \
	{"vocab_size", KEY_SIZE, FIELD(vocab), vocabulary, NULL}, \
	{"hidden_size", KEY_SIZE, FIELD(width), 4096, NULL}, \
	{"num_hidden_layers", KEY_SIZE, FIELD(decoder.layers), 32, NULL}, \
	{"num_attention_heads", KEY_SIZE, FIELD(decoder.attention.heads), 32, NULL}, \
	{"num_key_value_heads", KEY_COUNT, FIELD(decoder.attention.kv_heads), groups, NULL}, \
	{"head_dim", KEY_COUNT, FIELD(decoder.attention.d_k), 0, NULL}, \
	{"intermediate_size", KEY_SIZE, FIELD(decoder.feed_forward.hidden), inner, NULL}, \
	{"hidden_act", KEY_WORD, FIELD(decoder.feed_forward.act), HEC_ACT_SILU, acts}, \
	{"max_position_embeddings", KEY_SIZE, FIELD(decoder.position.max), longest, NULL}, \
	{"rms_norm_eps", KEY_REAL, FIELD(decoder.norm_eps), 1e-6, NULL}, \
	{"attention_dropout", KEY_RATE, FIELD(decoder.attention.dropout_weights), 0, NULL}, \
	{"initializer_range", KEY_REAL, FIELD(init_std), 0.02, NULL}, \
	{"tie_word_embeddings", KEY_NOT, FIELD(separate_output), 0, NULL}, \
	{"pad_token_id", KEY_ID, FIELD(pad_id), -1, NULL}, \
	{"bos_token_id", KEY_ID, FIELD(bos_id), bos, NULL}, \
	{"eos_token_id", KEY_ID, FIELD(eos_id), eos, NULL}
/* clang-format on */

/* Written as Hugging Face calls it first. */
static const family_word acts[] = {
	{"silu", HEC_ACT_SILU},
	{"swish", HEC_ACT_SILU},
	{"gelu", HEC_ACT_GELU},
	{"gelu_new", HEC_ACT_GELU_TANH},
	{"gelu_pytorch_tanh", HEC_ACT_GELU_TANH},
	{"relu", HEC_ACT_RELU},
	{NULL, 0},
};

static const family_key llama_keys[] = {
	KEYS(32000, 11008, 0, 2048, 1, 2),
	{"attention_bias", KEY_NOT, FIELD(decoder.attention.no_bias), 0, NULL},
	{"attention_bias", KEY_NOT, FIELD(decoder.attention.no_out_bias), 0, NULL},
	{"mlp_bias", KEY_NOT, FIELD(decoder.feed_forward.no_bias), 0, NULL},
	{NULL, KEY_SIZE, 0, 0, NULL},
};

static const family_key mistral_keys[] = {
	KEYS(32000, 14336, 8, 131072, 1, 2),
	{NULL, KEY_SIZE, 0, 0, NULL},
};

static const family_key qwen2_keys[] = {
	KEYS(151936, 22016, 32, 32768, -1, -1),
	{NULL, KEY_SIZE, 0, 0, NULL},
};

#define OURS "decoder.layers.*."
#define THEIRS "model.layers.*."

static const family_tensor tensors[] = {
	{"embedding", "model.embed_tokens.weight", 0},
	{"embedding", "lm_head.weight", TENSOR_INSTEAD},
	LINEAR(OURS "self.q", THEIRS "self_attn.q_proj"),
	LINEAR(OURS "self.k", THEIRS "self_attn.k_proj"),
	LINEAR(OURS "self.v", THEIRS "self_attn.v_proj"),
	LINEAR(OURS "self.out", THEIRS "self_attn.o_proj"),
	NORM(OURS "norm1", THEIRS "input_layernorm"),
	LINEAR(OURS "feed_forward.gate", THEIRS "mlp.gate_proj"),
	LINEAR(OURS "feed_forward.up", THEIRS "mlp.up_proj"),
	LINEAR(OURS "feed_forward.down", THEIRS "mlp.down_proj"),
	NORM(OURS "norm3", THEIRS "post_attention_layernorm"),
	NORM("decoder.final_norm", "model.norm"),
	{"head.output.w", "lm_head.weight", 0},
	{"head.labels.w", "score.weight", TENSOR_OF(HEC_HEAD_CLASSIFY)},
	LINEAR_OF(HEC_HEAD_TOKENS, "head.labels", "score"),
	LINEAR_OF(HEC_HEAD_ANSWER, "head.labels", "qa_outputs"),
	{NULL, NULL, 0},
};

static void begin_llama(hec_model_config *c)
{
	hec_stack_config *s = &c->decoder;
	s->norm = HEC_NORM_RMS;
	s->norm_first = s->final_norm = true;
	s->feed_forward.gated = s->feed_forward.no_bias = true;
	s->position.kind = HEC_POSITION_ROTARY;
	s->position.pairs = HEC_ROTARY_HALVES;
	c->head_row = HEC_ROW_LAST;
	c->head_plain = true;
}

static void begin_mistral(hec_model_config *c)
{
	begin_llama(c);
	c->decoder.attention.no_bias = c->decoder.attention.no_out_bias = true;
}

static void begin_qwen2(hec_model_config *c)
{
	begin_llama(c);
	c->decoder.attention.no_out_bias = true;
}

static hec_status read_llama(const json_scope *s, hec_model_config *c)
{
	/* What is not said may be fewer; null is as many as there are heads. */
	if (json_is_null(json_object_get(s->object, "num_key_value_heads")))
		c->decoder.attention.kv_heads = 0;
	HEC_TRY(family_read_labels(s, c));
	return rope_read(s, &c->decoder.position);
}

/* ---- windows ---- */

/* null is none; a config.json that says nothing means `otherwise`. */
static hec_status read_window(const json_scope *s, int64_t otherwise, int64_t *window)
{
	*window = json_is_null(json_object_get(s->object, "sliding_window")) ? 0 : otherwise;
	return json_want_int(s, "sliding_window", 1, INT32_MAX, window);
}

static hec_status read_mistral(const json_scope *s, hec_model_config *c)
{
	HEC_TRY(read_window(s, 4096, &c->decoder.window));
	return read_llama(s, c);
}

/* Which layers slide, where that is said of each: from one on, all. */
static hec_status read_layer_types(const json_scope *s, hec_stack_config *d)
{
	json_t *types = NULL;
	HEC_TRY(json_want_array(s, "layer_types", &types));
	if (!types)
		return HEC_OK;
	const int64_t n = (int64_t)json_array_size(types);
	d->window_from = n;
	for (int64_t i = 0; i < n; i++) {
		const char *type = json_string_value(json_array_get(types, (size_t)i));
		const bool slides = type && strcmp(type, "sliding_attention") == 0;
		if (!slides && (!type || strcmp(type, "full_attention") != 0))
			return json_wrong(s, "layer_types", json_array_get(types, (size_t)i),
			                  "\"full_attention\" or \"sliding_attention\"");
		if (slides && i < d->window_from)
			d->window_from = i;
		if (!slides && i > d->window_from) {
			char file[QUOTE_TEXT];
			return fail(HEC_ERR_UNSUPPORTED,
			            "%s: 'layer_types' has a full layer (%lld) behind sliding ones",
			            quote(s->file, file), (long long)i);
		}
	}
	return HEC_OK;
}

static hec_status read_qwen2(const json_scope *s, hec_model_config *c)
{
	hec_stack_config *d = &c->decoder;
	bool slides = false;
	HEC_TRY(json_want_bool(s, "use_sliding_window", &slides));
	HEC_TRY(read_window(s, 4096, &d->window));
	d->window_from = 28;
	HEC_TRY(json_want_int(s, "max_window_layers", 0, INT32_MAX, &d->window_from));
	HEC_TRY(read_layer_types(s, d));
	if (!slides)
		d->window = d->window_from = 0;
	return read_llama(s, c);
}

static hec_status put_window(int64_t window, json_t *config)
{
	return json_put(config, "sliding_window", window > 0 ? json_integer(window) : json_null());
}

/* ---- writing ---- */

static hec_status write_llama(const hec_model_config *c, json_t *config)
{
	HEC_TRY(family_write_labels(c, config));
	HEC_TRY(json_put(config, "use_cache", json_true()));
	return rope_write(&c->decoder.position, config);
}

static hec_status write_mistral(const hec_model_config *c, json_t *config)
{
	HEC_TRY(put_window(c->decoder.window, config));
	return write_llama(c, config);
}

static hec_status write_qwen2(const hec_model_config *c, json_t *config)
{
	const hec_stack_config *d = &c->decoder;
	HEC_TRY(json_put(config, "use_sliding_window", json_boolean(d->window > 0)));
	HEC_TRY(json_put(config, "max_window_layers",
	                 json_integer(d->window > 0 ? d->window_from : d->layers)));
	HEC_TRY(put_window(d->window, config));
	return write_llama(c, config);
}

static const char *const llama_read[] = {FAMILY_LABEL_KEYS, ROPE_KEYS, NULL};
static const char *const mistral_read[] = {FAMILY_LABEL_KEYS, ROPE_KEYS, "sliding_window", NULL};
static const char *const qwen2_read[] = {
	FAMILY_LABEL_KEYS, ROPE_KEYS, "sliding_window", "use_sliding_window", "max_window_layers",
	"layer_types",     NULL};
static const char *const angles[] = {".rotary_emb.inv_freq", NULL};

#define FAMILY(name, list, own)                                                                    \
	{                                                                                          \
		.model_type = name, .architectures = list, .prefix = "model.", .keys = own##_keys, \
		.tensors = tensors, .read_keys = own##_read, .no_weights = angles,                 \
		.begin = begin_##own, .read = read_##own, .write = write_##own,                    \
		.generation = family_generation,                                                   \
	}

const family family_llama = FAMILY("llama", llama, llama);
const family family_mistral = FAMILY("mistral", mistral, mistral);
const family family_qwen2 = FAMILY("qwen2", qwen2, qwen2);
