/* marian.c — MarianMTModel: the encoder–decoder of 2017 as the Marian toolkit trains it and Hugging
 * Face stores it. Post-norm, biases everywhere, embeddings shared by both stacks and the output and
 * scaled by √C, sinusoidal positions with the sines in the first half: computed, not stored (older
 * files hold them, where they are passed over). */
#include <math.h>

#include "base/quote.h"
#include "model/family/layer_rows.h"
#include "model/model.h"

static const family_architecture architectures[] = {
	{"MarianMTModel", HEC_HEAD_LM, NULL},
	{"MarianModel", HEC_HEAD_NONE, NULL},
	{NULL, HEC_HEAD_NONE, NULL},
};

static const family_key keys[] = {
	{"vocab_size", KEY_SIZE, FIELD(vocab), 58101, NULL},
	BART_SIZE_ROWS(1024, 12, 16, 4096),
	{"max_position_embeddings", KEY_SIZE, FIELD(encoder.position.max), 1024, NULL},
	{"max_position_embeddings", KEY_SIZE, FIELD(decoder.position.max), 1024, NULL},
	BART_RATE_ROWS(0.1),
	{"share_encoder_decoder_embeddings", KEY_NOT, FIELD(separate_embeddings), 1, NULL},
	{"tie_word_embeddings", KEY_NOT, FIELD(separate_output), 1, NULL},
	{"pad_token_id", KEY_ID, FIELD(pad_id), 58100, NULL},
	{"bos_token_id", KEY_ID, FIELD(bos_id), -1, NULL},
	{"eos_token_id", KEY_ID, FIELD(eos_id), 0, NULL},
	{"decoder_start_token_id", KEY_ID, FIELD(start_id), 58100, NULL},
	{NULL, KEY_SIZE, 0, 0, NULL},
};

static const family_tensor tensors[] = {
	BART_TABLE_ROWS,
	BART_LAYER_ROWS,
	{"head.output.w", "lm_head.weight", 0},
	{"head.output.b", "final_logits_bias", TENSOR_ROW | TENSOR_ZERO},
	{NULL, NULL, 0},
};

static void begin_stack(hec_stack_config *s)
{
	s->norm = HEC_NORM_LAYER;
	s->norm_eps = 1e-5;
	s->position.kind = HEC_POSITION_SINUSOIDAL;
	s->position.sinusoid = HEC_SINUSOID_HALVES;
	s->position.base = 10000;
}

static void set_fixed_fields_of_marian(hec_model_config *c)
{
	begin_stack(&c->encoder);
	begin_stack(&c->decoder);
}

static hec_status read_marian(const json_scope *s, hec_model_config *c)
{
	bool scaled = false;
	int64_t decoder_vocab = c->vocab;
	HEC_TRY(json_want_bool(s, "scale_embedding", &scaled));
	HEC_TRY(json_want_int(s, "decoder_vocab_size", 1, INT32_MAX, &decoder_vocab));
	if (decoder_vocab != c->vocab) {
		char file[QUOTE_TEXT];
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s: 'decoder_vocab_size' is %lld, 'vocab_size' %lld: two vocabularies "
		            "are not supported",
		            quote(s->file, file), (long long)decoder_vocab, (long long)c->vocab);
	}
	/* What is shared is all one table. */
	c->separate_embeddings = c->separate_embeddings || c->separate_output;
	c->encoder.embedding_scale = c->decoder.embedding_scale =
		scaled ? sqrt((double)c->width) : 1;
	return HEC_OK;
}

static hec_status write_marian(const hec_model_config *c, json_t *config)
{
	bool scaled = c->encoder.embedding_scale == sqrt((double)c->width);
	HEC_TRY(json_put(config, "scale_embedding", json_boolean(scaled)));
	HEC_TRY(json_put(config, "decoder_vocab_size", json_integer(c->vocab)));
	HEC_TRY(json_put(config, "is_encoder_decoder", json_true()));
	if (c->eos_id >= 0)
		HEC_TRY(json_put(config, "forced_eos_token_id", json_integer(c->eos_id)));
	return json_put(config, "use_cache", json_true());
}

static hec_status write_marian_generation(const hec_model_config *c, json_t *g)
{
	int64_t most = c->decoder.position.max < 512 ? c->decoder.position.max : 512;
	if (c->start_id >= 0)
		HEC_TRY(json_put(g, "decoder_start_token_id", json_integer(c->start_id)));
	if (c->pad_id >= 0)
		HEC_TRY(json_put(g, "pad_token_id", json_integer(c->pad_id)));
	if (c->bos_id >= 0)
		HEC_TRY(json_put(g, "bos_token_id", json_integer(c->bos_id)));
	if (c->eos_id >= 0) {
		HEC_TRY(json_put(g, "eos_token_id", json_integer(c->eos_id)));
		HEC_TRY(json_put(g, "forced_eos_token_id", json_integer(c->eos_id)));
	}
	if (c->pad_id >= 0)
		HEC_TRY(json_put(g, "bad_words_ids", json_pack("[[i]]", (int)c->pad_id)));
	HEC_TRY(json_put(g, "max_length", json_integer(most)));
	return json_put(g, "num_beams", json_integer(4));
}

static const char *const read_keys[] = {"scale_embedding", "decoder_vocab_size", NULL};

const family family_marian = {
	.model_type = "marian",
	.architectures = architectures,
	.prefix = "model.",
	.keys = keys,
	.tensors = tensors,
	.read_keys = read_keys,
	.begin = set_fixed_fields_of_marian,
	.read = read_marian,
	.look = family_look_bias,
	.write = write_marian,
	.generation = write_marian_generation,
};
