/* bart.c — BART and mBART: an encoder and a decoder with one table of words (or three: both stacks' and the
 * output's), learned positions from row 2 on, and a norm after the embeddings. BART's layers have their
 * norm behind, mBART's before, with one more at the end of each stack. */
#include <math.h>

#include "model/family/layer_rows.h"
#include "model/labels.h"

static const family_architecture bart[] = {
	{"BartForConditionalGeneration", HEC_HEAD_LM, NULL},
	{"BartForSequenceClassification", HEC_HEAD_CLASSIFY, NULL},
	{"BartForQuestionAnswering", HEC_HEAD_ANSWER, NULL},
	{"BartModel", HEC_HEAD_NONE, NULL},
	{NULL, HEC_HEAD_NONE, NULL},
};

static const family_architecture mbart[] = {
	{"MBartForConditionalGeneration", HEC_HEAD_LM, NULL},
	{"MBartForSequenceClassification", HEC_HEAD_CLASSIFY, NULL},
	{"MBartForQuestionAnswering", HEC_HEAD_ANSWER, NULL},
	{"MBartModel", HEC_HEAD_NONE, NULL},
	{NULL, HEC_HEAD_NONE, NULL},
};

/* clang-format off */
#define KEYS(start) \
	{"vocab_size", KEY_SIZE, FIELD(vocab), 50265, NULL}, \
	BART_SIZE_ROWS(1024, 12, 16, 4096), \
	{"max_position_embeddings", KEY_SIZE, FIELD(encoder.position.max), 1024, NULL}, \
	{"max_position_embeddings", KEY_SIZE, FIELD(decoder.position.max), 1024, NULL}, \
	BART_RATE_ROWS(0.1), \
	{"tie_word_embeddings", KEY_NOT, FIELD(separate_output), 1, NULL}, \
	{"pad_token_id", KEY_ID, FIELD(pad_id), 1, NULL}, \
	{"bos_token_id", KEY_ID, FIELD(bos_id), 0, NULL}, \
	{"eos_token_id", KEY_ID, FIELD(eos_id), 2, NULL}, \
	{"decoder_start_token_id", KEY_ID, FIELD(start_id), start, NULL}
/* clang-format on */

static const family_key bart_keys[] = {KEYS(2), {NULL, KEY_SIZE, 0, 0, NULL}};
static const family_key mbart_keys[] = {KEYS(-1), {NULL, KEY_SIZE, 0, 0, NULL}};

static const family_tensor tensors[] = {
	BART_TABLE_ROWS,
	{"encoder.positions", "model.encoder.embed_positions.weight", 0},
	{"decoder.positions", "model.decoder.embed_positions.weight", 0},
	NORM("encoder.embedding_norm", "model.encoder.layernorm_embedding"),
	NORM("decoder.embedding_norm", "model.decoder.layernorm_embedding"),
	BART_LAYER_ROWS,
	NORM("encoder.final_norm", "model.encoder.layer_norm"), /* mBART's */
	NORM("decoder.final_norm", "model.decoder.layer_norm"),
	{"head.output.w", "lm_head.weight", 0},
	{"head.output.b", "final_logits_bias", TENSOR_ROW | TENSOR_ZERO | TENSOR_OF(HEC_HEAD_LM)},
	LINEAR_OF(HEC_HEAD_CLASSIFY, "head.dense", "classification_head.dense"),
	LINEAR_OF(HEC_HEAD_CLASSIFY, "head.labels", "classification_head.out_proj"),
	LINEAR_OF(HEC_HEAD_ANSWER, "head.labels", "qa_outputs"),
	{NULL, NULL, 0},
};

static void begin_stack(hec_stack_config *s, bool norm_first)
{
	s->norm = HEC_NORM_LAYER;
	s->norm_eps = 1e-5;
	s->embedding_norm = true;
	s->norm_first = s->final_norm = norm_first;
	s->position.kind = HEC_POSITION_LEARNED;
	s->position.offset = 2;
}

static void begin_bart(hec_model_config *c)
{
	c->head_row = HEC_ROW_EOS;
	begin_stack(&c->encoder, false);
	begin_stack(&c->decoder, false);
}

static void begin_mbart(hec_model_config *c)
{
	c->head_row = HEC_ROW_EOS;
	c->start_last = true;
	begin_stack(&c->encoder, true);
	begin_stack(&c->decoder, true);
}

static hec_status read_bart(const json_scope *s, hec_model_config *c)
{
	bool scaled = false;
	c->separate_embeddings = c->separate_output; /* all three are one table, or none is */
	HEC_TRY(json_want_bool(s, "scale_embedding", &scaled));
	c->encoder.embedding_scale = c->decoder.embedding_scale =
		scaled ? sqrt((double)c->width) : 1;
	HEC_TRY(json_want_double(s, "classifier_dropout", 0, 1, &c->head_dropout));
	return labels_count(s, c);
}

static hec_status write_bart(const hec_model_config *c, json_t *config)
{
	bool scaled = c->encoder.embedding_scale == sqrt((double)c->width) && c->width > 1;
	bool apart = c->separate_embeddings || (c->head == HEC_HEAD_LM && c->separate_output);
	HEC_TRY(json_put(config, "scale_embedding", json_boolean(scaled)));
	HEC_TRY(json_put(config, "tie_word_embeddings", json_boolean(!apart)));
	HEC_TRY(json_put(config, "is_encoder_decoder", json_true()));
	HEC_TRY(json_put(config, "classifier_dropout", json_real(c->head_dropout)));
	HEC_TRY(labels_plain(c, config));
	return json_put(config, "use_cache", json_true());
}

static hec_status write_bart_generation(const hec_model_config *c, json_t *g)
{
	HEC_TRY(family_generation(c, g));
	return c->eos_id >= 0 ? json_put(g, "forced_eos_token_id", json_integer(c->eos_id))
	                      : HEC_OK;
}

static const char *const read_keys[] = {"scale_embedding", "classifier_dropout", NULL};

const family family_bart = {
	.model_type = "bart",
	.architectures = bart,
	.prefix = "model.",
	.keys = bart_keys,
	.tensors = tensors,
	.read_keys = read_keys,
	.embeds_with_decoder = true,
	.begin = begin_bart,
	.read = read_bart,
	.look = family_look_bias,
	.write = write_bart,
	.generation = write_bart_generation,
};

const family family_mbart = {
	.model_type = "mbart",
	.architectures = mbart,
	.prefix = "model.",
	.keys = mbart_keys,
	.tensors = tensors,
	.read_keys = read_keys,
	.embeds_with_decoder = true,
	.begin = begin_mbart,
	.read = read_bart,
	.look = family_look_bias,
	.write = write_bart,
	.generation = write_bart_generation,
};
