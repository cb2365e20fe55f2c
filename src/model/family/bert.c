/* bert.c — BERT: an encoder alone, post-norm, learned positions and token types with a norm after
 * them, and a head for masked words, labels or answers. */
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "model/family.h"

static const family_architecture architectures[] = {
	{"BertForMaskedLM", HEC_HEAD_MASKED},
	{"BertForPreTraining", HEC_HEAD_MASKED},
	{"BertForSequenceClassification", HEC_HEAD_CLASSIFY},
	{"BertForTokenClassification", HEC_HEAD_TOKENS},
	{"BertForQuestionAnswering", HEC_HEAD_ANSWER},
	{"BertModel", HEC_HEAD_NONE},
	{NULL, HEC_HEAD_NONE},
};

static const family_key keys[] = {
	{"vocab_size", KEY_SIZE, FIELD(vocab), 30522, NULL},
	{"hidden_size", KEY_SIZE, FIELD(width), 768, NULL},
	{"num_hidden_layers", KEY_SIZE, FIELD(encoder.layers), 12, NULL},
	{"num_attention_heads", KEY_SIZE, FIELD(encoder.attention.heads), 12, NULL},
	{"intermediate_size", KEY_SIZE, FIELD(encoder.feed_forward.hidden), 3072, NULL},
	{"hidden_act", KEY_WORD, FIELD(encoder.feed_forward.act), HEC_ACT_GELU, family_activations},
	{"hidden_act", KEY_WORD, FIELD(head_act), HEC_ACT_GELU, family_activations},
	{"max_position_embeddings", KEY_SIZE, FIELD(encoder.position.max), 512, NULL},
	{"type_vocab_size", KEY_SIZE, FIELD(types), 2, NULL},
	{"layer_norm_eps", KEY_REAL, FIELD(encoder.norm_eps), 1e-12, NULL},
	{"hidden_dropout_prob", KEY_RATE, FIELD(encoder.dropout), 0.1, NULL},
	{"hidden_dropout_prob", KEY_RATE, FIELD(encoder.attention.dropout_out), 0.1, NULL},
	{"hidden_dropout_prob", KEY_RATE, FIELD(encoder.feed_forward.dropout_out), 0.1, NULL},
	{"hidden_dropout_prob", KEY_RATE, FIELD(head_dropout), 0.1, NULL},
	{"attention_probs_dropout_prob", KEY_RATE, FIELD(encoder.attention.dropout_weights), 0.1,
         NULL},
	{"initializer_range", KEY_REAL, FIELD(init_std), 0.02, NULL},
	{"tie_word_embeddings", KEY_NOT, FIELD(separate_output), 1, NULL},
	{"pad_token_id", KEY_ID, FIELD(pad_id), 0, NULL},
	{"bos_token_id", KEY_ID, FIELD(bos_id), -1, NULL},
	{"eos_token_id", KEY_ID, FIELD(eos_id), -1, NULL},
	{NULL, KEY_SIZE, 0, 0, NULL},
};

#define OURS "encoder.layers.*."
#define THEIRS "bert.encoder.layer.*."

static const family_tensor tensors[] = {
	{"embedding", "bert.embeddings.word_embeddings.weight", 0},
	{"encoder.types", "bert.embeddings.token_type_embeddings.weight", 0},
	{"encoder.positions", "bert.embeddings.position_embeddings.weight", 0},
	NORM("encoder.embedding_norm", "bert.embeddings.LayerNorm"),
	LINEAR(OURS "attention.q", THEIRS "attention.self.query"),
	LINEAR(OURS "attention.k", THEIRS "attention.self.key"),
	LINEAR(OURS "attention.v", THEIRS "attention.self.value"),
	LINEAR(OURS "attention.out", THEIRS "attention.output.dense"),
	NORM(OURS "norm1", THEIRS "attention.output.LayerNorm"),
	LINEAR(OURS "feed_forward.up", THEIRS "intermediate.dense"),
	LINEAR(OURS "feed_forward.down", THEIRS "output.dense"),
	NORM(OURS "norm2", THEIRS "output.LayerNorm"),
	LINEAR_OF(HEC_HEAD_MASKED, "head.dense", "cls.predictions.transform.dense"),
	LINEAR_OF(HEC_HEAD_CLASSIFY, "head.dense", "bert.pooler.dense"),
	LINEAR_OF(HEC_HEAD_CLASSIFY, "head.labels", "classifier"),
	LINEAR_OF(HEC_HEAD_TOKENS, "head.labels", "classifier"),
	LINEAR_OF(HEC_HEAD_ANSWER, "head.labels", "qa_outputs"),
	NORM("head.norm", "cls.predictions.transform.LayerNorm"),
	{"head.output.w", "cls.predictions.decoder.weight", 0},
	{"head.output.b", "cls.predictions.bias", 0},
	{"head.output.b", "cls.predictions.decoder.bias", TENSOR_INSTEAD},
	{NULL, NULL, 0},
};

static void begin(hec_model_config *c)
{
	hec_stack_config *s = &c->encoder;
	s->norm = HEC_NORM_LAYER;
	s->embedding_norm = true;
	s->position.kind = HEC_POSITION_LEARNED;
	c->output_bias = c->head == HEC_HEAD_MASKED;
}

static hec_status unsupported(const json_scope *s, const char *what)
{
	char file[QUOTE_TEXT];
	return fail(HEC_ERR_UNSUPPORTED, "%s: %s is not supported", quote(s->file, file), what);
}

static hec_status read(const json_scope *s, hec_model_config *c)
{
	bool decoder = false, named;
	const char *positions = "absolute";
	json_scope names;
	HEC_TRY(json_want_bool(s, "is_decoder", &decoder));
	HEC_TRY(json_want_string(s, "position_embedding_type", &positions));
	if (decoder)
		return unsupported(s, "'is_decoder': true");
	if (strcmp(positions, "absolute") != 0)
		return unsupported(s, "a 'position_embedding_type' other than \"absolute\"");
	HEC_TRY(json_want_double(s, "classifier_dropout", 0, 1, &c->head_dropout));
	if (c->head != HEC_HEAD_CLASSIFY && c->head != HEC_HEAD_TOKENS)
		return HEC_OK;
	c->labels = 2;
	HEC_TRY(json_want_object(s, "id2label", &names, &named));
	if (named)
		c->labels = (int64_t)json_object_size(names.object);
	return HEC_OK;
}

static hec_status write_labels(const hec_model_config *c, json_t *config)
{
	HEC_TRY(json_put(config, "id2label", json_object()));
	HEC_TRY(json_put(config, "label2id", json_object()));
	for (int64_t i = 0; i < c->labels; i++) {
		char id[24], name[32];
		(void)snprintf(id, sizeof id, "%lld", (long long)i);
		(void)snprintf(name, sizeof name, "LABEL_%lld", (long long)i);
		HEC_TRY(json_put(json_object_get(config, "id2label"), id, json_string(name)));
		HEC_TRY(json_put(json_object_get(config, "label2id"), name, json_integer(i)));
	}
	return HEC_OK;
}

static hec_status write(const hec_model_config *c, json_t *config)
{
	if (c->head == HEC_HEAD_CLASSIFY || c->head == HEC_HEAD_TOKENS)
		HEC_TRY(write_labels(c, config));
	return HEC_OK;
}

const family family_bert = {
	.model_type = "bert",
	.architectures = architectures,
	.prefix = "bert.",
	.keys = keys,
	.tensors = tensors,
	.begin = begin,
	.read = read,
	.write = write,
};
