/* distilbert.c — DistilBERT: BERT without token types and without a pooler; its labels are read through
 * a dense layer with ReLU. */
#include "model/family.h"
#include "model/labels.h"

static const family_architecture architectures[] = {
	{"DistilBertForMaskedLM", HEC_HEAD_MASKED, NULL},
	{"DistilBertForSequenceClassification", HEC_HEAD_CLASSIFY, NULL},
	{"DistilBertForTokenClassification", HEC_HEAD_TOKENS, NULL},
	{"DistilBertForQuestionAnswering", HEC_HEAD_ANSWER, NULL},
	{"DistilBertModel", HEC_HEAD_NONE, NULL},
	{NULL, HEC_HEAD_NONE, NULL},
};

static const family_key keys[] = {
	{"vocab_size", KEY_SIZE, FIELD(vocab), 30522, NULL},
	{"dim", KEY_SIZE, FIELD(width), 768, NULL},
	{"n_layers", KEY_SIZE, FIELD(encoder.layers), 6, NULL},
	{"n_heads", KEY_SIZE, FIELD(encoder.attention.heads), 12, NULL},
	{"hidden_dim", KEY_SIZE, FIELD(encoder.feed_forward.hidden), 3072, NULL},
	{"activation", KEY_WORD, FIELD(encoder.feed_forward.act), HEC_ACT_GELU, family_activations},
	{"activation", KEY_WORD, FIELD(head_act), HEC_ACT_GELU, family_activations},
	{"max_position_embeddings", KEY_SIZE, FIELD(encoder.position.max), 512, NULL},
	{"dropout", KEY_RATE, FIELD(encoder.dropout), 0.1, NULL},
	{"dropout", KEY_RATE, FIELD(encoder.feed_forward.dropout_out), 0.1, NULL},
	{"dropout", KEY_RATE, FIELD(head_dropout), 0.1, NULL},
	{"attention_dropout", KEY_RATE, FIELD(encoder.attention.dropout_weights), 0.1, NULL},
	{"initializer_range", KEY_REAL, FIELD(init_std), 0.02, NULL},
	{"tie_word_embeddings", KEY_NOT, FIELD(separate_output), 1, NULL},
	{"pad_token_id", KEY_ID, FIELD(pad_id), 0, NULL},
	{"bos_token_id", KEY_ID, FIELD(bos_id), -1, NULL},
	{"eos_token_id", KEY_ID, FIELD(eos_id), -1, NULL},
	{NULL, KEY_SIZE, 0, 0, NULL},
};

#define OURS "encoder.layers.*."
#define THEIRS "distilbert.transformer.layer.*."

static const family_tensor tensors[] = {
	{"embedding", "distilbert.embeddings.word_embeddings.weight", 0},
	{"encoder.positions", "distilbert.embeddings.position_embeddings.weight", 0},
	NORM("encoder.embedding_norm", "distilbert.embeddings.LayerNorm"),
	LINEAR(OURS "attention.q", THEIRS "attention.q_lin"),
	LINEAR(OURS "attention.k", THEIRS "attention.k_lin"),
	LINEAR(OURS "attention.v", THEIRS "attention.v_lin"),
	LINEAR(OURS "attention.out", THEIRS "attention.out_lin"),
	NORM(OURS "norm1", THEIRS "sa_layer_norm"),
	LINEAR(OURS "feed_forward.up", THEIRS "ffn.lin1"),
	LINEAR(OURS "feed_forward.down", THEIRS "ffn.lin2"),
	NORM(OURS "norm2", THEIRS "output_layer_norm"),
	LINEAR_OF(HEC_HEAD_MASKED, "head.dense", "vocab_transform"),
	LINEAR_OF(HEC_HEAD_CLASSIFY, "head.dense", "pre_classifier"),
	LINEAR_OF(HEC_HEAD_CLASSIFY, "head.labels", "classifier"),
	LINEAR_OF(HEC_HEAD_TOKENS, "head.labels", "classifier"),
	LINEAR_OF(HEC_HEAD_ANSWER, "head.labels", "qa_outputs"),
	NORM("head.norm", "vocab_layer_norm"),
	{"head.output.w", "vocab_projector.weight", 0},
	{"head.output.b", "vocab_projector.bias", 0},
	{NULL, NULL, 0},
};

static void set_fixed_fields_of_distilbert(hec_model_config *c)
{
	hec_stack_config *s = &c->encoder;
	s->norm = HEC_NORM_LAYER;
	s->norm_eps = 1e-12;
	s->embedding_norm = true;
	s->position.kind = HEC_POSITION_LEARNED; /* sinusoidal ones are in the files, too */
	c->output_bias = c->head == HEC_HEAD_MASKED;
	c->pool_act = c->head == HEC_HEAD_CLASSIFY ? HEC_ACT_RELU : HEC_ACT_NONE;
}

static hec_status read_distilbert(const json_scope *s, hec_model_config *c)
{
	if (c->head == HEC_HEAD_CLASSIFY) {
		c->head_dropout = 0.2;
		HEC_TRY(json_want_double(s, "seq_classif_dropout", 0, 1, &c->head_dropout));
	}
	return labels_count(s, c);
}

static hec_status write_distilbert(const hec_model_config *c, json_t *config)
{
	if (c->head == HEC_HEAD_CLASSIFY)
		HEC_TRY(json_put(config, "seq_classif_dropout", json_real(c->head_dropout)));
	return labels_plain(c, config);
}

static const char *const read_keys[] = {"seq_classif_dropout", NULL};

const family family_distilbert = {
	.model_type = "distilbert",
	.architectures = architectures,
	.prefix = "distilbert.",
	.keys = keys,
	.tensors = tensors,
	.read_keys = read_keys,
	.begin = set_fixed_fields_of_distilbert,
	.read = read_distilbert,
	.write = write_distilbert,
};
