/* saved_models.c — saves small random models of every kind into folders, each with what it gives for
 * some ids (expected.safetensors) and a tokenizer learned for it with what it makes of some texts, and
 * what the model writes for them (texts.json): tools/parity_models.py loads them with other tools and compares.
 *   saved_models FOLDER SEED */
#include "support/models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <hecate/decode.h>
#include <hecate/tokenizer.h>

#include "base/status.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "model/model.h"
#include "task/generation_config.h"

#define PATH 512

static const char *const texts[] = {
	"The cat sat on the mat because it was tired.",
	"Die Katze saß auf der Matte, weil sie müde war.",
	"one two three four five six seven eight nine ten",
	"A dog and a cat; a cat and a dog.",
	"naïve café — 12,345.67 €",
};
#define TEXTS (sizeof texts / sizeof *texts)

static hec_status next_line(void *user, const char **line, size_t *bytes)
{
	size_t *at = user;
	*line = *at < 40 * TEXTS ? texts[*at % TEXTS] : NULL;
	*bytes = *line ? strlen(*line) : 0;
	++*at;
	return HEC_OK;
}

static hec_tokenizer *learn(kit *k, int64_t vocab)
{
	hec_bpe_train_options options = HEC_BPE_TRAIN_OPTIONS_INIT;
	hec_tokenizer *t = NULL;
	size_t at = 0;
	options.vocab = vocab;
	options.threads = 1;
	OK(k, hec_bpe_train(&options, next_line, &at, &t));
	return t;
}

/* What the model writes for ids, as generation_config.json says but for the number of beams. */
static json_t *decode(kit *k, const hec_model *m, const char *dir, const int32_t *ids, size_t n,
                      int64_t beams)
{
	const hec_model_config *c = hec_model_config_of(m);
	int64_t start = c->encoder.layers > 0 ? 1 : (int64_t)n, length = (int64_t)n;
	generation_config g = {0};
	OK(k, generation_config_read(dir, c->vocab, start, NULL, &g));
	g.options.beams = beams;
	hec_session_options options = HEC_SESSION_OPTIONS_INIT;
	options.beams = beams;
	hec_session *s = NULL;
	hec_decoded *out = NULL;
	OK(k, hec_session_create(k->ctx, m, &options, &s));
	OK(k, hec_decode(s, 1, &ids, &length, &g.options, &out));
	json_t *list = json_array();
	const hec_hypothesis *h = hec_decoded_at(out, 0, 0);
	for (int64_t i = 0; i < h->n; i++)
		json_array_append_new(list, json_integer(h->ids[i]));
	hec_decoded_free(out);
	hec_session_destroy(s);
	generation_config_free(&g);
	return list;
}

static void save_texts(kit *k, const hec_model *m, const hec_tokenizer *t, const char *dir)
{
	const hec_model_config *c = hec_model_config_of(m);
	bool writes = c->decoder.layers > 0 && c->head == HEC_HEAD_LM;
	json_t *list = json_array();
	hec_encoding e = HEC_ENCODING_INIT;
	for (size_t i = 0; i < TEXTS; i++) {
		OK(k, hec_tokenizer_encode(t, texts[i], strlen(texts[i]), NULL, &e));
		json_t *ids = json_array();
		for (size_t j = 0; j < e.n; j++)
			json_array_append_new(ids, json_integer(e.ids[j]));
		json_t *entry = json_pack("{s:s, s:o}", "text", texts[i], "ids", ids);
		if (writes) {
			OK(k, json_put(entry, "greedy", decode(k, m, dir, e.ids, e.n, 1)));
			OK(k, json_put(entry, "beam4", decode(k, m, dir, e.ids, e.n, 4)));
		}
		json_array_append_new(list, entry);
	}
	hec_encoding_free(&e);
	char path[PATH + 32];
	snprintf(path, sizeof path, "%s/texts.json", dir);
	OK(k, json_file_write(path, list));
	json_decref(list);
}

static safetensors_item item(const char *name, const hec_tensor *t)
{
	safetensors_item i = {.name = name,
	                      .dtype = safetensors_dtype_of(t->dtype),
	                      .rank = t->rank,
	                      .data = t->data};
	memcpy(i.shape, t->shape, sizeof t->shape);
	return i;
}

static void save_expected(kit *k, const hec_model *m, const char *dir)
{
	model_batch batch;
	safetensors_item items[8];
	size_t n = 0;
	batch_open(&batch, k, m, 3, draw_in(k, 2, 9), draw_in(k, 1, 9), true);
	const hec_model_input *in = &batch.input;
	hec_model_output out = {.size = sizeof out, .logits = logits_open(k, m, in)};
	hec_tensor length = hec_tensor_1d(batch.length, HEC_I32, 3),
		   decoder_length = hec_tensor_1d(batch.decoder_length, HEC_I32, 3);
	OK(k, hec_model_fwd(k->ctx, k->arena, m, in, NULL, &out, NULL));
	if (in->ids.rank) {
		items[n++] = item("ids", &in->ids);
		items[n++] = item("length", &length);
	}
	if (in->types.rank)
		items[n++] = item("types", &in->types);
	if (in->decoder_ids.rank) {
		items[n++] = item("decoder_ids", &in->decoder_ids);
		items[n++] = item("decoder_length", &decoder_length);
	}
	items[n++] = item("logits", &out.logits);
	char path[PATH + 32];
	snprintf(path, sizeof path, "%s/expected.safetensors", dir);
	OK(k, safetensors_write(path, items, n, NULL, NULL, NULL));
}

static void save(kit *k, const char *folder, const char *name, hec_model_config c, hec_dtype dtype,
                 const hec_tokenizer *t)
{
	char dir[PATH];
	snprintf(dir, sizeof dir, "%s/%s", folder, name);
	hec_model *m = model_open(k, &c, HEC_F32), *back = NULL;
	OK(k, model_zero_padding(k->ctx, m));
	OK(k, hec_model_save(k->ctx, m, dtype, dir));
	OK(k, hec_model_load(k->ctx, dir, NULL, &back)); /* in 16 bits it is another model */
	save_expected(k, back, dir);
	OK(k, hec_tokenizer_save(t, dir));
	save_texts(k, back, t, dir);
	hec_model_destroy(m);
	hec_model_destroy(back);
	printf("%s\n", dir);
}

static hec_stack_config stack(kit *k, int64_t layers, int64_t heads)
{
	hec_stack_config s = {.layers = layers, .norm_eps = 1e-5, .embedding_scale = 1};
	s.attention.heads = heads;
	s.attention.fused = draw(k) % 2;
	s.feed_forward.hidden = draw_in(k, 3, 70);
	s.feed_forward.act = HEC_ACT_RELU;
	s.position.kind = HEC_POSITION_LEARNED;
	s.position.max = 48;
	return s;
}

static hec_model_config base(const hec_tokenizer *t, int64_t width)
{
	hec_model_config c = {.size = sizeof c,
	                      .vocab = hec_tokenizer_vocab(t),
	                      .width = width,
	                      .head = HEC_HEAD_LM,
	                      .bos_id = -1,
	                      .start_id = -1,
	                      .eos_id = hec_tokenizer_role(t, "eos"),
	                      .pad_id = hec_tokenizer_role(t, "pad")};
	return c;
}

static void save_marians(kit *k, const char *folder, const hec_tokenizer *t)
{
	static const hec_activation acts[] = {HEC_ACT_RELU, HEC_ACT_SILU, HEC_ACT_GELU};
	static const hec_dtype types[] = {HEC_F32, HEC_BF16, HEC_F16};
	for (int i = 0; i < 3; i++) {
		int64_t heads = draw_in(k, 1, 4), width = heads * 2 * draw_in(k, 1, 8);
		hec_model_config c = base(t, width);
		c.encoder = stack(k, draw_in(k, 1, 3), heads);
		c.decoder = stack(k, draw_in(k, 1, 3), heads);
		c.encoder.feed_forward.act = c.decoder.feed_forward.act = acts[i];
		c.encoder.position.kind = c.decoder.position.kind = HEC_POSITION_SINUSOIDAL;
		c.encoder.position.sinusoid = c.decoder.position.sinusoid = HEC_SINUSOID_HALVES;
		if (i < 2)
			c.encoder.embedding_scale = c.decoder.embedding_scale = sqrt((double)width);
		c.output_bias = i == 1;
		c.start_id = c.pad_id;
		char name[32];
		snprintf(name, sizeof name, "marian-%d", i);
		save(k, folder, name, c, types[i], t);
		if (i == 0) {
			c.encoder.norm_first = true;
			save(k, folder, "hecate-0", c, HEC_F32, t);
		}
	}
}

static void save_gpt2s(kit *k, const char *folder, const hec_tokenizer *t)
{
	for (int i = 0; i < 2; i++) {
		int64_t heads = draw_in(k, 1, 4);
		hec_model_config c = base(t, heads * draw_in(k, 2, 17));
		c.decoder = stack(k, draw_in(k, 1, 3), heads);
		c.decoder.norm_first = c.decoder.final_norm = true;
		c.decoder.feed_forward.act = HEC_ACT_GELU_TANH;
		c.separate_output = i == 1;
		char name[32];
		snprintf(name, sizeof name, "gpt2-%d", i);
		save(k, folder, name, c, i ? HEC_BF16 : HEC_F32, t);
	}
}

static void save_berts(kit *k, const char *folder, const hec_tokenizer *t)
{
	static const hec_head heads[] = {HEC_HEAD_MASKED, HEC_HEAD_CLASSIFY, HEC_HEAD_TOKENS,
	                                 HEC_HEAD_ANSWER};
	for (int i = 0; i < 4; i++) {
		int64_t h = draw_in(k, 1, 4);
		hec_model_config c = base(t, h * draw_in(k, 2, 17));
		c.encoder = stack(k, draw_in(k, 1, 3), h);
		c.encoder.embedding_norm = true;
		c.encoder.feed_forward.act = c.head_act = HEC_ACT_GELU;
		c.types = 2;
		c.head = heads[i];
		c.output_bias = i == 0;
		c.labels = i == 1 || i == 2 ? draw_in(k, 2, 6) : 0;
		char name[32];
		snprintf(name, sizeof name, "bert-%d", i);
		save(k, folder, name, c, HEC_F32, t);
	}
}

/* Encoders that are BERT but for a detail each. */
static void save_near_berts(kit *k, const char *folder, const hec_tokenizer *t)
{
	static const hec_head heads[] = {HEC_HEAD_MASKED, HEC_HEAD_CLASSIFY, HEC_HEAD_TOKENS,
	                                 HEC_HEAD_ANSWER};
	for (int i = 0; i < 8; i++) {
		int64_t h = draw_in(k, 1, 4);
		const bool roberta = i >= 4;
		hec_model_config c = base(t, h * draw_in(k, 2, 17));
		c.encoder = stack(k, draw_in(k, 1, 2), h);
		c.encoder.embedding_norm = true;
		c.encoder.feed_forward.act = c.head_act = HEC_ACT_GELU;
		c.head = heads[i % 4];
		c.output_bias = i % 4 == 0;
		c.labels = i % 4 == 1 || i % 4 == 2 ? draw_in(k, 2, 6) : 0;
		if (roberta) {
			c.types = 1;
			c.encoder.position.offset = c.pad_id + 1;
			c.encoder.position.skip_padding = true;
		} else {
			c.encoder.norm_eps = 1e-12;
			c.pool_act = i % 4 == 1 ? HEC_ACT_RELU : HEC_ACT_NONE;
		}
		char name[32];
		snprintf(name, sizeof name, "%s-%d", roberta ? "roberta" : "distilbert", i % 4);
		save(k, folder, name, c, HEC_F32, t);
	}
}

static void save_llamas(kit *k, const char *folder, const hec_tokenizer *t)
{
	static const char *const names[] = {"llama-0", "llama-1", "mistral-0", "qwen2-0"};
	for (int i = 0; i < 4; i++) {
		int64_t groups = draw_in(k, 1, 2), heads = groups * draw_in(k, 1, 3);
		hec_model_config c = base(t, heads * 2 * draw_in(k, 1, 8));
		hec_stack_config *s = &c.decoder;
		*s = stack(k, draw_in(k, 2, 3), heads);
		s->norm = HEC_NORM_RMS;
		s->norm_first = s->final_norm = true;
		s->attention.kv_heads = groups;
		s->attention.no_bias = i == 0 || i == 2;
		s->attention.no_out_bias = i != 1;
		s->feed_forward.gated = true;
		s->feed_forward.no_bias = i != 1;
		s->feed_forward.act = HEC_ACT_SILU;
		s->position.kind = HEC_POSITION_ROTARY;
		s->position.pairs = HEC_ROTARY_HALVES;
		s->position.base = i == 1 ? 500 : 10000;
		if (i == 1)
			s->position.scaling = (hec_rotary_scaling){.kind = HEC_ROTARY_LLAMA3,
			                                           .factor = 4,
			                                           .original = 20,
			                                           .low = 1,
			                                           .high = 3};
		s->window = i >= 2 ? 4 : 0;
		s->window_from = i == 3;
		c.separate_output = i % 2 == 0;
		save(k, folder, names[i], c, i == 1 ? HEC_BF16 : HEC_F32, t);
	}
}

static void save_barts(kit *k, const char *folder, const hec_tokenizer *t)
{
	for (int i = 0; i < 2; i++) {
		int64_t heads = draw_in(k, 1, 4), width = heads * 2 * draw_in(k, 1, 8);
		hec_model_config c = base(t, width);
		for (int side = 0; side < 2; side++) {
			hec_stack_config *s = side ? &c.decoder : &c.encoder;
			*s = stack(k, draw_in(k, 1, 2), heads);
			s->feed_forward.act = HEC_ACT_GELU;
			s->embedding_norm = true;
			s->norm_first = s->final_norm = i == 1;
			s->position.offset = 2;
			s->embedding_scale = i == 1 ? sqrt((double)width) : 1;
		}
		c.output_bias = i == 0;
		c.start_id = c.eos_id;
		save(k, folder, i ? "mbart-0" : "bart-0", c, HEC_F32, t);
	}
}

static void save_t5s(kit *k, const char *folder, const hec_tokenizer *t)
{
	for (int i = 0; i < 2; i++) {
		int64_t heads = draw_in(k, 1, 4), hidden = draw_in(k, 3, 70),
			d_k = draw_in(k, 3, 12);
		hec_model_config c = base(t, draw_in(k, 5, 40));
		for (int side = 0; side < 2; side++) {
			hec_stack_config *s = side ? &c.decoder : &c.encoder;
			*s = stack(k, draw_in(k, 1, 2), heads);
			s->norm = HEC_NORM_RMS;
			s->norm_first = s->final_norm = true;
			s->attention.d_k = d_k;
			s->attention.scale = 1;
			s->attention.no_bias = s->attention.no_out_bias = true;
			s->feed_forward.no_bias = true;
			s->feed_forward.hidden = hidden;
			s->feed_forward.gated = i == 1;
			s->feed_forward.act = i ? HEC_ACT_GELU_TANH : HEC_ACT_RELU;
			s->position.kind = HEC_POSITION_RELATIVE;
			s->position.buckets = 8;
			s->position.max_distance = 12;
		}
		c.separate_output = i == 1;
		c.output_scale = i == 1 ? 1 : 1 / sqrt((double)c.width);
		c.start_id = c.pad_id;
		save(k, folder, i ? "t5-1" : "t5-0", c, HEC_F32, t);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return fprintf(stderr, "usage: saved_models FOLDER SEED\n"), 2;
	kit k = kit_open(strtoull(argv[2], NULL, 10));
	(void)mkdir(argv[1], 0777);
	hec_tokenizer *t = learn(&k, 300);
	save_marians(&k, argv[1], t);
	save_gpt2s(&k, argv[1], t);
	save_berts(&k, argv[1], t);
	save_near_berts(&k, argv[1], t);
	save_llamas(&k, argv[1], t);
	save_barts(&k, argv[1], t);
	save_t5s(&k, argv[1], t);
	hec_tokenizer_destroy(t);
	kit_close(&k);
	return 0;
}
