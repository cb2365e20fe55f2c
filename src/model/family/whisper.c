/* whisper.c — Whisper: an encoder that reads frames of a log-mel spectrogram through two convolutions,
 * and a decoder of words. Norms first, with one more at the end of each stack; keys without a bias. The
 * encoder's positions are sinusoids that the files hold and learning leaves alone; the decoder's are
 * learned. 'scale_embedding' is not read: Transformers computes from it, but uses it nowhere. */
#include "model/family/layer_rows.h"

static const family_architecture architectures[] = {
	{"WhisperForConditionalGeneration", HEC_HEAD_LM, NULL},
	{"WhisperModel", HEC_HEAD_NONE, NULL},
	{NULL, HEC_HEAD_NONE, NULL},
};

static const family_key keys[] = {
	{"vocab_size", KEY_SIZE, FIELD(vocab), 51865, NULL},
	{"num_mel_bins", KEY_SIZE, FIELD(front.features), 80, NULL},
	BART_SIZE_ROWS(384, 4, 6, 1536),
	{"max_source_positions", KEY_SIZE, FIELD(encoder.position.max), 1500, NULL},
	{"max_target_positions", KEY_SIZE, FIELD(decoder.position.max), 448, NULL},
	BART_RATE_ROWS(0),
	{"tie_word_embeddings", KEY_NOT, FIELD(separate_output), 1, NULL},
	{"pad_token_id", KEY_ID, FIELD(pad_id), 50256, NULL},
	{"bos_token_id", KEY_ID, FIELD(bos_id), 50256, NULL},
	{"eos_token_id", KEY_ID, FIELD(eos_id), 50256, NULL},
	{"decoder_start_token_id", KEY_ID, FIELD(start_id), 50257, NULL},
	{NULL, KEY_SIZE, 0, 0, NULL},
};

static const family_tensor tensors[] = {
	{"embedding", "model.decoder.embed_tokens.weight", 0},
	{"embedding", "proj_out.weight", TENSOR_INSTEAD},
	LINEAR("encoder.front1", "model.encoder.conv1"),
	LINEAR("encoder.front2", "model.encoder.conv2"),
	{"encoder.positions", "model.encoder.embed_positions.weight", 0},
	{"decoder.positions", "model.decoder.embed_positions.weight", 0},
	BART_LAYER_ROWS,
	NORM("encoder.final_norm", "model.encoder.layer_norm"),
	NORM("decoder.final_norm", "model.decoder.layer_norm"),
	{"head.output.w", "proj_out.weight", 0},
	{NULL, NULL, 0},
};

static void begin_stack(hec_stack_config *s)
{
	s->norm = HEC_NORM_LAYER;
	s->norm_eps = 1e-5;
	s->norm_first = s->final_norm = true;
	s->attention.no_k_bias = true;
	s->embedding_scale = 1;
	s->position.kind = HEC_POSITION_LEARNED;
}

static void set_fixed_fields_of_whisper(hec_model_config *c)
{
	begin_stack(&c->encoder);
	begin_stack(&c->decoder);
	c->encoder.position.fixed = true;
	c->encoder.position.sinusoid = HEC_SINUSOID_HALVES;
}

static hec_status write_whisper(const hec_model_config *c, json_t *config)
{
	(void)c;
	HEC_TRY(json_put(config, "scale_embedding", json_false()));
	HEC_TRY(json_put(config, "is_encoder_decoder", json_true()));
	return json_put(config, "use_cache", json_true());
}

static hec_status write_whisper_generation(const hec_model_config *c, json_t *g)
{
	HEC_TRY(family_generation(c, g));
	return json_put(g, "max_length", json_integer(c->decoder.position.max));
}

const family family_whisper = {
	.model_type = "whisper",
	.architectures = architectures,
	.prefix = "model.",
	.keys = keys,
	.tensors = tensors,
	.fine_tuning_rate = 1e-5,
	.begin = set_fixed_fields_of_whisper,
	.write = write_whisper,
	.generation = write_whisper_generation,
};
