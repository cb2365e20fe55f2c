/* t5.c — T5, T5 1.1 and Flan-T5: RMS norms before each part, no biases, scores that are not scaled but have
 * a bias by distance, whose table is that of layer 0. The first T5 has one table for words and output and
 * scales what the output is given by 1/√C; later ones have two, and gated GELU. */
#include <math.h>
#include <string.h>

#include "base/quote.h"
#include "model/family.h"
#include "model/labels.h"

static const family_architecture architectures[] = {
	{"T5ForConditionalGeneration", HEC_HEAD_LM, NULL},
	{"T5ForSequenceClassification", HEC_HEAD_CLASSIFY, "transformer."},
	{"T5ForTokenClassification", HEC_HEAD_TOKENS, "transformer."}, /* of the encoder */
	{"T5ForQuestionAnswering", HEC_HEAD_ANSWER, NULL},
	{"T5Model", HEC_HEAD_NONE, NULL},
	{"T5EncoderModel", HEC_HEAD_NONE, NULL},
	{NULL, HEC_HEAD_NONE, NULL},
};

/* clang-format off */
#define STACK(s) \
	{"num_heads", KEY_SIZE, FIELD(s.attention.heads), 8, NULL}, \
	{"d_kv", KEY_SIZE, FIELD(s.attention.d_k), 64, NULL}, \
	{"d_ff", KEY_SIZE, FIELD(s.feed_forward.hidden), 2048, NULL}, \
	{"relative_attention_num_buckets", KEY_SIZE, FIELD(s.position.buckets), 32, NULL}, \
	{"relative_attention_max_distance", KEY_SIZE, FIELD(s.position.max_distance), 128, NULL}, \
	{"n_positions", KEY_SIZE, FIELD(s.position.max), 512, NULL}, \
	{"layer_norm_epsilon", KEY_REAL, FIELD(s.norm_eps), 1e-6, NULL}, \
	{"dropout_rate", KEY_RATE, FIELD(s.dropout), 0.1, NULL}, \
	{"dropout_rate", KEY_RATE, FIELD(s.attention.dropout_weights), 0.1, NULL}, \
	{"dropout_rate", KEY_RATE, FIELD(s.attention.dropout_out), 0.1, NULL}, \
	{"dropout_rate", KEY_RATE, FIELD(s.feed_forward.dropout_hidden), 0.1, NULL}, \
	{"dropout_rate", KEY_RATE, FIELD(s.feed_forward.dropout_out), 0.1, NULL}
/* clang-format on */

static const family_key keys[] = {
	{"vocab_size", KEY_SIZE, FIELD(vocab), 32128, NULL},
	{"d_model", KEY_SIZE, FIELD(width), 512, NULL},
	{"num_layers", KEY_SIZE, FIELD(encoder.layers), 6, NULL},
	{"num_decoder_layers", KEY_COUNT, FIELD(decoder.layers), 0, NULL},
	STACK(encoder),
	STACK(decoder),
	{"pad_token_id", KEY_ID, FIELD(pad_id), 0, NULL},
	{"bos_token_id", KEY_ID, FIELD(bos_id), -1, NULL},
	{"eos_token_id", KEY_ID, FIELD(eos_id), 1, NULL},
	{"decoder_start_token_id", KEY_ID, FIELD(start_id), 0, NULL},
	{NULL, KEY_SIZE, 0, 0, NULL},
};

#define ENCODER "encoder.layers.*."
#define DECODER "decoder.layers.*."
#define OF(stack, layer) stack ".block.*.layer." layer "."

static const family_tensor tensors[] = {
	{"embedding", "shared.weight", 0},
	{"embedding", "encoder.embed_tokens.weight", TENSOR_INSTEAD},
	{"embedding", "decoder.embed_tokens.weight", TENSOR_INSTEAD},
	{"encoder.relative", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
         0},
	{"decoder.relative", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
         0},
	LINEAR(ENCODER "attention.q", OF("encoder", "0") "SelfAttention.q"),
	LINEAR(ENCODER "attention.k", OF("encoder", "0") "SelfAttention.k"),
	LINEAR(ENCODER "attention.v", OF("encoder", "0") "SelfAttention.v"),
	LINEAR(ENCODER "attention.out", OF("encoder", "0") "SelfAttention.o"),
	NORM(ENCODER "norm1", OF("encoder", "0") "layer_norm"),
	LINEAR(ENCODER "feed_forward.gate", OF("encoder", "1") "DenseReluDense.wi_0"),
	{ENCODER "feed_forward.up.w", OF("encoder", "1") "DenseReluDense.wi_1.weight",
         TENSOR_GATED},
	{ENCODER "feed_forward.up.w", OF("encoder", "1") "DenseReluDense.wi.weight", TENSOR_PLAIN},
	LINEAR(ENCODER "feed_forward.down", OF("encoder", "1") "DenseReluDense.wo"),
	NORM(ENCODER "norm2", OF("encoder", "1") "layer_norm"),
	LINEAR(DECODER "self.q", OF("decoder", "0") "SelfAttention.q"),
	LINEAR(DECODER "self.k", OF("decoder", "0") "SelfAttention.k"),
	LINEAR(DECODER "self.v", OF("decoder", "0") "SelfAttention.v"),
	LINEAR(DECODER "self.out", OF("decoder", "0") "SelfAttention.o"),
	NORM(DECODER "norm1", OF("decoder", "0") "layer_norm"),
	LINEAR(DECODER "cross.q", OF("decoder", "1") "EncDecAttention.q"),
	LINEAR(DECODER "cross.k", OF("decoder", "1") "EncDecAttention.k"),
	LINEAR(DECODER "cross.v", OF("decoder", "1") "EncDecAttention.v"),
	LINEAR(DECODER "cross.out", OF("decoder", "1") "EncDecAttention.o"),
	NORM(DECODER "norm2", OF("decoder", "1") "layer_norm"),
	LINEAR(DECODER "feed_forward.gate", OF("decoder", "2") "DenseReluDense.wi_0"),
	{DECODER "feed_forward.up.w", OF("decoder", "2") "DenseReluDense.wi_1.weight",
         TENSOR_GATED},
	{DECODER "feed_forward.up.w", OF("decoder", "2") "DenseReluDense.wi.weight", TENSOR_PLAIN},
	LINEAR(DECODER "feed_forward.down", OF("decoder", "2") "DenseReluDense.wo"),
	NORM(DECODER "norm3", OF("decoder", "2") "layer_norm"),
	NORM("encoder.final_norm", "encoder.final_layer_norm"),
	NORM("decoder.final_norm", "decoder.final_layer_norm"),
	{"head.output.w", "lm_head.weight", 0},
	LINEAR_OF(HEC_HEAD_CLASSIFY, "head.dense", "classification_head.dense"),
	LINEAR_OF(HEC_HEAD_CLASSIFY, "head.labels", "classification_head.out_proj"),
	LINEAR_OF(HEC_HEAD_TOKENS, "head.labels", "classifier"),
	LINEAR_OF(HEC_HEAD_ANSWER, "head.labels", "qa_outputs"),
	{NULL, NULL, 0},
};

static const family_word forms[] = {
	{"relu", HEC_ACT_RELU},
	{"gelu", HEC_ACT_GELU},
	{"gelu_new", HEC_ACT_GELU_TANH},
	{"silu", HEC_ACT_SILU},
	{NULL, 0},
};

static void begin_stack(hec_stack_config *s)
{
	s->norm = HEC_NORM_RMS;
	s->norm_first = s->final_norm = true;
	s->attention.no_bias = s->attention.no_out_bias = s->feed_forward.no_bias = true;
	s->attention.scale = 1;
	s->position.kind = HEC_POSITION_RELATIVE;
}

static void set_fixed_fields_of_t5(hec_model_config *c)
{
	begin_stack(&c->encoder);
	begin_stack(&c->decoder);
	c->head_row = HEC_ROW_EOS;
}

/* "relu", "gated-gelu" (which means gelu_new), "gated-silu", … */
static hec_status read_form(const json_scope *s, hec_feed_forward_config *f)
{
	const char *form = "relu";
	char file[QUOTE_TEXT], word[QUOTE_TEXT];
	HEC_TRY(json_want_string(s, "feed_forward_proj", &form));
	f->gated = strncmp(form, "gated-", 6) == 0;
	const char *act = f->gated ? form + 6 : form;
	if (strcmp(form, "gated-gelu") == 0)
		act = "gelu_new";
	for (const family_word *w = forms; w->word; w++) {
		if (strcmp(w->word, act) == 0) {
			f->act = (hec_activation)w->value;
			return HEC_OK;
		}
	}
	return fail(HEC_ERR_UNSUPPORTED,
	            "%s: 'feed_forward_proj' is '%s'; known are: relu, gelu, gelu_new, silu, and "
	            "gated-… of them",
	            quote(s->file, file), quote(form, word));
}

static hec_status read_t5(const json_scope *s, hec_model_config *c)
{
	bool tied = true;
	HEC_TRY(read_form(s, &c->encoder.feed_forward));
	c->decoder.feed_forward.act = c->encoder.feed_forward.act;
	c->decoder.feed_forward.gated = c->encoder.feed_forward.gated;
	if (c->decoder.layers == 0)
		c->decoder.layers = c->encoder.layers;
	if (c->head == HEC_HEAD_TOKENS ||
	    strcmp(family_architecture_of(s), "T5EncoderModel") == 0) {
		c->decoder = (hec_stack_config){0};
		c->start_id = -1;
	}
	/* What "tie_word_embeddings" has come to mean; whether there are two tables, files show. */
	HEC_TRY(json_want_bool(s, "tie_word_embeddings", &tied));
	HEC_TRY(json_want_bool(s, "scale_decoder_outputs", &tied));
	c->output_scale = tied && c->head == HEC_HEAD_LM ? 1 / sqrt((double)c->width) : 1;
	HEC_TRY(json_want_double(s, "classifier_dropout", 0, 1, &c->head_dropout));
	return labels_count(s, c);
}

static hec_status look_at_t5_files(const safetensors *files, hec_model_config *c)
{
	c->separate_output = c->head == HEC_HEAD_LM && safetensors_find(files, "lm_head.weight");
	return HEC_OK;
}

static hec_status write_t5(const hec_model_config *c, json_t *config)
{
	const hec_feed_forward_config *f = &c->encoder.feed_forward;
	const bool scaled = c->head != HEC_HEAD_LM || c->output_scale != 1;
	char form[24] = "?";
	for (const family_word *w = forms; w->word; w++)
		if (w->value == (int)f->act)
			snprintf(form, sizeof form, "%s%s", f->gated ? "gated-" : "", w->word);
	if (strcmp(form, "gated-gelu_new") == 0)
		snprintf(form, sizeof form, "gated-gelu");
	else if (strcmp(form, "gated-gelu") == 0)
		snprintf(form, sizeof form, "?"); /* no way to say it */
	HEC_TRY(json_put(config, "feed_forward_proj", json_string(form)));
	HEC_TRY(json_put(config, "tie_word_embeddings", json_boolean(scaled)));
	HEC_TRY(json_put(config, "is_encoder_decoder", json_boolean(c->decoder.layers > 0)));
	HEC_TRY(json_put(config, "classifier_dropout", json_real(c->head_dropout)));
	HEC_TRY(labels_plain(c, config));
	if (c->decoder.layers == 0) {
		if (c->head == HEC_HEAD_NONE)
			HEC_TRY(json_put(config, "architectures",
			                 json_pack("[s]", "T5EncoderModel")));
		HEC_TRY(json_put(config, "num_decoder_layers", json_integer(c->encoder.layers)));
	}
	return json_put(config, "use_cache", json_true());
}

static const char *const read_keys[] = {"feed_forward_proj", "tie_word_embeddings",
                                        "scale_decoder_outputs", "classifier_dropout", NULL};

/* A table that cross-attention has and never reads. */
static const char *const no_weights[] = {".EncDecAttention.relative_attention_bias.weight", NULL};

const family family_t5 = {
	.model_type = "t5",
	.architectures = architectures,
	.prefix = "",
	.keys = keys,
	.tensors = tensors,
	.read_keys = read_keys,
	.no_weights = no_weights,
	.fine_tuning_rate = 3e-4,
	.begin = set_fixed_fields_of_t5,
	.read = read_t5,
	.look = look_at_t5_files,
	.write = write_t5,
	.generation = family_generation,
};
