/* bert.c — BERT: an encoder alone, post-norm, learned positions and token types with a norm after
 * them, and a head for masked words, labels or answers. */
#include <string.h>

#include "base/quote.h"
#include "model/family/layer_rows.h"
#include "model/labels.h"

static const family_architecture architectures[] = {
	{"BertForMaskedLM", HEC_HEAD_MASKED, NULL},
	{"BertForPreTraining", HEC_HEAD_MASKED, NULL},
	{"BertForSequenceClassification", HEC_HEAD_CLASSIFY, NULL},
	{"BertForTokenClassification", HEC_HEAD_TOKENS, NULL},
	{"BertForQuestionAnswering", HEC_HEAD_ANSWER, NULL},
	{"BertModel", HEC_HEAD_NONE, NULL},
	{NULL, HEC_HEAD_NONE, NULL},
};

static const family_key keys[] = {
	{"vocab_size", KEY_SIZE, FIELD(vocab), 30522, NULL},
	BERT_KEY_ROWS,
	{"hidden_act", KEY_WORD, FIELD(head_act), HEC_ACT_GELU, family_activations},
	{"pad_token_id", KEY_ID, FIELD(pad_id), 0, NULL},
	{"bos_token_id", KEY_ID, FIELD(bos_id), -1, NULL},
	{"eos_token_id", KEY_ID, FIELD(eos_id), -1, NULL},
	{NULL, KEY_SIZE, 0, 0, NULL},
};

static const family_tensor tensors[] = {
	BERT_EMBEDDING_ROWS("bert.embeddings."),
	BERT_LAYER_ROWS("bert.encoder.layer.*."),
	LINEAR_OF(HEC_HEAD_MASKED, "head.dense", "cls.predictions.transform.dense"),
	LINEAR_OF(HEC_HEAD_CLASSIFY, "head.dense", "bert.pooler.dense"),
	LINEAR_OF(HEC_HEAD_NONE, "head.dense", "bert.pooler.dense"),
	LINEAR_OF(HEC_HEAD_CLASSIFY, "head.labels", "classifier"),
	LINEAR_OF(HEC_HEAD_TOKENS, "head.labels", "classifier"),
	LINEAR_OF(HEC_HEAD_ANSWER, "head.labels", "qa_outputs"),
	NORM("head.norm", "cls.predictions.transform.LayerNorm"),
	BERT_OUTPUT_ROWS("cls.predictions."),
	{NULL, NULL, 0},
};

static void set_fixed_fields_of_bert(hec_model_config *c)
{
	hec_stack_config *s = &c->encoder;
	s->norm = HEC_NORM_LAYER;
	s->embedding_norm = true;
	s->position.kind = HEC_POSITION_LEARNED;
	c->output_bias = c->head == HEC_HEAD_MASKED;
}

static hec_status read_bert(const json_scope *s, hec_model_config *c)
{
	const char *positions = "absolute";
	HEC_TRY(json_want_string(s, "position_embedding_type", &positions));
	if (strcmp(positions, "absolute") != 0) {
		char file[QUOTE_TEXT];
		return fail(
			HEC_ERR_UNSUPPORTED,
			"%s: a 'position_embedding_type' other than \"absolute\" is not supported",
			quote(s->file, file));
	}
	return family_read_encoder(s, c);
}

static hec_status look_at_bert_files(const safetensors *files, hec_model_config *c)
{
	return family_look_pooler(files, "bert.", c);
}

static hec_status write_bert(const hec_model_config *c, json_t *config)
{
	HEC_TRY(family_write_head_dropout(c, config));
	return labels_plain(c, config);
}

static const char *const read_keys[] = {FAMILY_ENCODER_KEYS, "position_embedding_type", NULL};

const family family_bert = {
	.model_type = "bert",
	.architectures = architectures,
	.prefix = "bert.",
	.keys = keys,
	.tensors = tensors,
	.read_keys = read_keys,
	.begin = set_fixed_fields_of_bert,
	.read = read_bert,
	.look = look_at_bert_files,
	.write = write_bert,
};
