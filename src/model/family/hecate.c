/* hecate.c — our own config.json, which says everything, and our own names of tensors: for what no
 * other family can say. Others refuse the model_type instead of loading it wrongly. */
#include "model/family.h"
#include "model/family/rope.h"

static const family_architecture architectures[] = {
	{"HecateLM", HEC_HEAD_LM, NULL},
	{"HecateModel", HEC_HEAD_NONE, NULL},
	{"HecateMasked", HEC_HEAD_MASKED, NULL},
	{"HecateClassify", HEC_HEAD_CLASSIFY, NULL},
	{"HecateTokens", HEC_HEAD_TOKENS, NULL},
	{"HecateAnswer", HEC_HEAD_ANSWER, NULL},
	{NULL, HEC_HEAD_NONE, NULL},
};

static const family_word norms[] = {{"layer", HEC_NORM_LAYER}, {"rms", HEC_NORM_RMS}, {NULL, 0}};
static const family_word positions[] = {
	{"none", HEC_POSITION_NONE},         {"sinusoidal", HEC_POSITION_SINUSOIDAL},
	{"learned", HEC_POSITION_LEARNED},   {"rotary", HEC_POSITION_ROTARY},
	{"relative", HEC_POSITION_RELATIVE}, {NULL, 0}};
static const family_word sinusoids[] = {
	{"interleaved", HEC_SINUSOID_INTERLEAVED}, {"halves", HEC_SINUSOID_HALVES}, {NULL, 0}};
static const family_word pairs[] = {
	{"halves", HEC_ROTARY_HALVES}, {"interleaved", HEC_ROTARY_INTERLEAVED}, {NULL, 0}};
static const family_word stretches[] = {{"none", HEC_ROTARY_PLAIN},
                                        {"linear", HEC_ROTARY_LINEAR},
                                        {"dynamic", HEC_ROTARY_DYNAMIC},
                                        {"llama3", HEC_ROTARY_LLAMA3},
                                        {"yarn", HEC_ROTARY_YARN},
                                        {"longrope", HEC_ROTARY_LONG},
                                        {NULL, 0}};
static const family_word acts[] = {{"none", HEC_ACT_NONE},
                                   {"relu", HEC_ACT_RELU},
                                   {"gelu", HEC_ACT_GELU},
                                   {"gelu_tanh", HEC_ACT_GELU_TANH},
                                   {"silu", HEC_ACT_SILU},
                                   {"tanh", HEC_ACT_TANH},
                                   {NULL, 0}};

static const family_word rows[] = {
	{"first", HEC_ROW_FIRST}, {"last", HEC_ROW_LAST}, {"eos", HEC_ROW_EOS}, {NULL, 0}};

/* clang-format off */
#define STACK(s) \
	{#s ".layers", KEY_COUNT, FIELD(s.layers), 0, NULL}, \
	{#s ".attention.heads", KEY_COUNT, FIELD(s.attention.heads), 0, NULL}, \
	{#s ".attention.kv_heads", KEY_COUNT, FIELD(s.attention.kv_heads), 0, NULL}, \
	{#s ".attention.d_k", KEY_COUNT, FIELD(s.attention.d_k), 0, NULL}, \
	{#s ".attention.d_v", KEY_COUNT, FIELD(s.attention.d_v), 0, NULL}, \
	{#s ".attention.fused", KEY_FLAG, FIELD(s.attention.fused), 0, NULL}, \
	{#s ".attention.bias", KEY_NOT, FIELD(s.attention.no_bias), 1, NULL}, \
	{#s ".attention.out_bias", KEY_NOT, FIELD(s.attention.no_out_bias), 1, NULL}, \
	{#s ".attention.k_bias", KEY_NOT, FIELD(s.attention.no_k_bias), 1, NULL}, \
	{#s ".attention.scale", KEY_REAL, FIELD(s.attention.scale), 0, NULL}, \
	{#s ".attention.dropout_qkv", KEY_RATE, FIELD(s.attention.dropout_qkv), 0, NULL}, \
	{#s ".attention.dropout_weights", KEY_RATE, FIELD(s.attention.dropout_weights), 0, NULL}, \
	{#s ".attention.dropout_out", KEY_RATE, FIELD(s.attention.dropout_out), 0, NULL}, \
	{#s ".feed_forward.hidden", KEY_COUNT, FIELD(s.feed_forward.hidden), 0, NULL}, \
	{#s ".feed_forward.act", KEY_WORD, FIELD(s.feed_forward.act), HEC_ACT_NONE, acts}, \
	{#s ".feed_forward.gated", KEY_FLAG, FIELD(s.feed_forward.gated), 0, NULL}, \
	{#s ".feed_forward.bias", KEY_NOT, FIELD(s.feed_forward.no_bias), 1, NULL}, \
	{#s ".feed_forward.dropout_hidden", KEY_RATE, FIELD(s.feed_forward.dropout_hidden), 0, NULL}, \
	{#s ".feed_forward.dropout_out", KEY_RATE, FIELD(s.feed_forward.dropout_out), 0, NULL}, \
	{#s ".norm", KEY_WORD, FIELD(s.norm), HEC_NORM_LAYER, norms}, \
	{#s ".norm_eps", KEY_REAL, FIELD(s.norm_eps), 0, NULL}, \
	{#s ".norm_first", KEY_FLAG, FIELD(s.norm_first), 0, NULL}, \
	{#s ".residual_linear", KEY_FLAG, FIELD(s.residual_linear), 0, NULL}, \
	{#s ".embedding_norm", KEY_FLAG, FIELD(s.embedding_norm), 0, NULL}, \
	{#s ".final_norm", KEY_FLAG, FIELD(s.final_norm), 0, NULL}, \
	{#s ".embedding_scale", KEY_REAL, FIELD(s.embedding_scale), 0, NULL}, \
	{#s ".dropout", KEY_RATE, FIELD(s.dropout), 0, NULL}, \
	{#s ".window", KEY_COUNT, FIELD(s.window), 0, NULL}, \
	{#s ".window_from", KEY_COUNT, FIELD(s.window_from), 0, NULL}, \
	{#s ".position.kind", KEY_WORD, FIELD(s.position.kind), HEC_POSITION_NONE, positions}, \
	{#s ".position.max", KEY_COUNT, FIELD(s.position.max), 0, NULL}, \
	{#s ".position.offset", KEY_COUNT, FIELD(s.position.offset), 0, NULL}, \
	{#s ".position.fixed", KEY_FLAG, FIELD(s.position.fixed), 0, NULL}, \
	{#s ".position.skip_padding", KEY_FLAG, FIELD(s.position.skip_padding), 0, NULL}, \
	{#s ".position.base", KEY_REAL, FIELD(s.position.base), 0, NULL}, \
	{#s ".position.sinusoid", KEY_WORD, FIELD(s.position.sinusoid), 0, sinusoids}, \
	{#s ".position.pairs", KEY_WORD, FIELD(s.position.pairs), 0, pairs}, \
	{#s ".position.rotary_width", KEY_COUNT, FIELD(s.position.rotary_width), 0, NULL}, \
	{#s ".position.scaling.kind", KEY_WORD, FIELD(s.position.scaling.kind), 0, stretches}, \
	{#s ".position.scaling.factor", KEY_REAL, FIELD(s.position.scaling.factor), 0, NULL}, \
	{#s ".position.scaling.original", KEY_COUNT, FIELD(s.position.scaling.original), 0, NULL}, \
	{#s ".position.scaling.low", KEY_REAL, FIELD(s.position.scaling.low), 0, NULL}, \
	{#s ".position.scaling.high", KEY_REAL, FIELD(s.position.scaling.high), 0, NULL}, \
	{#s ".position.scaling.fast", KEY_REAL, FIELD(s.position.scaling.fast), 0, NULL}, \
	{#s ".position.scaling.slow", KEY_REAL, FIELD(s.position.scaling.slow), 0, NULL}, \
	{#s ".position.scaling.exact", KEY_FLAG, FIELD(s.position.scaling.exact), 0, NULL}, \
	{#s ".position.scaling.attention_factor", KEY_REAL, \
	 FIELD(s.position.scaling.attention_factor), 0, NULL}, \
	{#s ".position.scaling.longest", KEY_COUNT, FIELD(s.position.scaling.longest), 0, NULL}, \
	{#s ".position.scaling.stretched", KEY_FLAG, FIELD(s.position.scaling.stretched), 0, NULL}, \
	{#s ".position.buckets", KEY_COUNT, FIELD(s.position.buckets), 0, NULL}, \
	{#s ".position.max_distance", KEY_COUNT, FIELD(s.position.max_distance), 0, NULL}
/* clang-format on */

static const family_key keys[] = {
	{"vocab_size", KEY_SIZE, FIELD(vocab), NEEDED, NULL},
	{"width", KEY_SIZE, FIELD(width), NEEDED, NULL},
	{"types", KEY_COUNT, FIELD(types), 0, NULL},
	{"front.features", KEY_COUNT, FIELD(front.features), 0, NULL},
	STACK(encoder),
	STACK(decoder),
	{"separate_embeddings", KEY_FLAG, FIELD(separate_embeddings), 0, NULL},
	{"separate_output", KEY_FLAG, FIELD(separate_output), 0, NULL},
	{"output_bias", KEY_FLAG, FIELD(output_bias), 0, NULL},
	{"output_scale", KEY_REAL, FIELD(output_scale), 0, NULL},
	{"pooler", KEY_FLAG, FIELD(pooler), 0, NULL},
	{"head_act", KEY_WORD, FIELD(head_act), HEC_ACT_NONE, acts},
	{"pool_act", KEY_WORD, FIELD(pool_act), HEC_ACT_NONE, acts},
	{"head_row", KEY_WORD, FIELD(head_row), HEC_ROW_FIRST, rows},
	{"head_plain", KEY_FLAG, FIELD(head_plain), 0, NULL},
	{"head_dropout", KEY_RATE, FIELD(head_dropout), 0, NULL},
	{"labels", KEY_COUNT, FIELD(labels), 0, NULL},
	{"init_std", KEY_REAL, FIELD(init_std), 0, NULL},
	{"pad_token_id", KEY_ID, FIELD(pad_id), -1, NULL},
	{"bos_token_id", KEY_ID, FIELD(bos_id), -1, NULL},
	{"eos_token_id", KEY_ID, FIELD(eos_id), -1, NULL},
	{"decoder_start_token_id", KEY_ID, FIELD(start_id), -1, NULL},
	{"start_last", KEY_FLAG, FIELD(start_last), 0, NULL},
	{NULL, KEY_SIZE, 0, 0, NULL},
};

static void set_fixed_fields_of_hecate(hec_model_config *c)
{
	(void)c;
}

/* Lists, which are no fields of a table of keys. */
static hec_status read_factors(const json_scope *s, const char *stack, hec_position_config *p)
{
	json_scope at = *s;
	const char *const path[] = {stack, "position", "scaling"};
	if (p->kind != HEC_POSITION_ROTARY || p->scaling.kind != HEC_ROTARY_LONG)
		return HEC_OK;
	for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
		json_scope inner;
		HEC_TRY(json_need_object(&at, path[i], &inner));
		at = inner;
	}
	HEC_TRY(rope_read_factors(&at, "short_factor", p->scaling.short_factor,
	                          &p->scaling.factors));
	return rope_read_factors(&at, "long_factor", p->scaling.long_factor, &p->scaling.factors);
}

static hec_status read_hecate(const json_scope *s, hec_model_config *c)
{
	HEC_TRY(read_factors(s, "encoder", &c->encoder.position));
	return read_factors(s, "decoder", &c->decoder.position);
}

static hec_status write_factors(const hec_position_config *p, const char *stack, json_t *config)
{
	const hec_rotary_scaling *r = &p->scaling;
	if (p->kind != HEC_POSITION_ROTARY || r->kind != HEC_ROTARY_LONG)
		return HEC_OK;
	json_t *to = json_object_get(json_object_get(json_object_get(config, stack), "position"),
	                             "scaling");
	HEC_TRY(rope_put_factors(to, "short_factor", r->short_factor, r->factors));
	return rope_put_factors(to, "long_factor", r->long_factor, r->factors);
}

static hec_status write_hecate(const hec_model_config *c, json_t *config)
{
	HEC_TRY(write_factors(&c->encoder.position, "encoder", config));
	return write_factors(&c->decoder.position, "decoder", config);
}

const family family_hecate = {
	.model_type = "hecate",
	.architectures = architectures,
	.prefix = "",
	.keys = keys,
	.begin = set_fixed_fields_of_hecate,
	.read = read_hecate,
	.write = write_hecate,
	.generation = family_generation,
};
