/* roberta.c — RoBERTa and XLM-RoBERTa: BERT whose positions begin behind the padding's own row and do not
 * count it, with heads of other names. The two differ in nothing but what they are called. */
#include "base/quote.h"
#include "model/family/layer_rows.h"
#include "model/labels.h"

#define ARCHITECTURES(name)                                                                        \
	{                                                                                          \
		{name "ForMaskedLM", HEC_HEAD_MASKED, NULL},                                       \
			{name "ForSequenceClassification", HEC_HEAD_CLASSIFY, NULL},               \
			{name "ForTokenClassification", HEC_HEAD_TOKENS, NULL},                    \
			{name "ForQuestionAnswering", HEC_HEAD_ANSWER, NULL},                      \
			{name "Model", HEC_HEAD_NONE, NULL}, {NULL, HEC_HEAD_NONE, NULL},          \
	}

static const family_architecture roberta[] = ARCHITECTURES("Roberta");
static const family_architecture xlm_roberta[] = ARCHITECTURES("XLMRoberta");

static const family_key keys[] = {
	{"vocab_size", KEY_SIZE, FIELD(vocab), 50265, NULL},
	BERT_KEY_ROWS,
	{"pad_token_id", KEY_ID, FIELD(pad_id), 1, NULL},
	{"bos_token_id", KEY_ID, FIELD(bos_id), 0, NULL},
	{"eos_token_id", KEY_ID, FIELD(eos_id), 2, NULL},
	{NULL, KEY_SIZE, 0, 0, NULL},
};

static const family_tensor tensors[] = {
	BERT_EMBEDDING_ROWS("roberta.embeddings."),
	BERT_LAYER_ROWS("roberta.encoder.layer.*."),
	LINEAR_OF(HEC_HEAD_MASKED, "head.dense", "lm_head.dense"),
	LINEAR_OF(HEC_HEAD_CLASSIFY, "head.dense", "classifier.dense"),
	LINEAR_OF(HEC_HEAD_NONE, "head.dense", "roberta.pooler.dense"),
	LINEAR_OF(HEC_HEAD_CLASSIFY, "head.labels", "classifier.out_proj"),
	LINEAR_OF(HEC_HEAD_TOKENS, "head.labels", "classifier"),
	LINEAR_OF(HEC_HEAD_ANSWER, "head.labels", "qa_outputs"),
	NORM("head.norm", "lm_head.layer_norm"),
	BERT_OUTPUT_ROWS("lm_head."),
	{NULL, NULL, 0},
};

static void set_fixed_fields_of_roberta(hec_model_config *c)
{
	hec_stack_config *s = &c->encoder;
	s->norm = HEC_NORM_LAYER;
	s->embedding_norm = true;
	s->position.kind = HEC_POSITION_LEARNED;
	s->position.skip_padding = true;
	c->output_bias = c->head == HEC_HEAD_MASKED;
	c->head_act = HEC_ACT_GELU; /* whatever the layers have */
}

static hec_status read_roberta(const json_scope *s, hec_model_config *c)
{
	hec_position_config *p = &c->encoder.position;
	char file[QUOTE_TEXT];
	p->offset = (int64_t)c->pad_id + 1;
	if (c->pad_id < 0 || p->max <= p->offset)
		return fail(
			HEC_ERR_FORMAT,
			"%s: 'max_position_embeddings' is %lld and 'pad_token_id' %d: positions "
			"begin behind the padding's",
			quote(s->file, file), (long long)p->max, (int)c->pad_id);
	p->max -= p->offset;
	return family_read_encoder(s, c);
}

static hec_status look_at_roberta_files(const safetensors *files, hec_model_config *c)
{
	return family_look_pooler(files, "roberta.", c);
}

static hec_status write_roberta(const hec_model_config *c, json_t *config)
{
	const hec_position_config *p = &c->encoder.position;
	HEC_TRY(json_put(config, "max_position_embeddings", json_integer(p->max + p->offset)));
	HEC_TRY(family_write_head_dropout(c, config));
	return labels_plain(c, config);
}

static const char *const read_keys[] = {FAMILY_ENCODER_KEYS, NULL};

const family family_roberta = {
	.model_type = "roberta",
	.architectures = roberta,
	.prefix = "roberta.",
	.keys = keys,
	.tensors = tensors,
	.read_keys = read_keys,
	.begin = set_fixed_fields_of_roberta,
	.read = read_roberta,
	.look = look_at_roberta_files,
	.write = write_roberta,
};

const family family_xlm_roberta = {
	.model_type = "xlm-roberta",
	.architectures = xlm_roberta,
	.prefix = "roberta.",
	.keys = keys,
	.tensors = tensors,
	.read_keys = read_keys,
	.begin = set_fixed_fields_of_roberta,
	.read = read_roberta,
	.look = look_at_roberta_files,
	.write = write_roberta,
};
