/* world.h — what the programs share: a context, small models made from a seed, a tokenizer of fourteen words. */
#ifndef TESTS_ABI_WORLD_H
#define TESTS_ABI_WORLD_H

#include "expect.h"

enum { PAD = 0, CLS = 2, SEP = 3, MASK = 4, VOCAB = 19, WIDTH = 12, PLACES = 24 };

/* The reference level: its numbers are the same to the bit however the library was compiled. */
static inline hec_ctx *world_ctx(void)
{
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	hec_ctx *ctx;
	o.threads = 2;
	o.isa = "ref";
	EXPECT_OK(hec_ctx_create(&o, &ctx));
	EXPECT(hec_ctx_threads(ctx) == 2);
	EXPECT_TEXT(hec_ctx_isa(ctx), "ref");
	return ctx;
}

static inline hec_stack_config world_stack(void)
{
	return (hec_stack_config){
		.layers = 2,
		.attention = {.heads = 2},
		.feed_forward = {.hidden = 16, .act = HEC_ACT_GELU},
		.embedding_scale = 3,
		.position = {.kind = HEC_POSITION_SINUSOIDAL, .max = PLACES},
	};
}

/* encoder, decoder: whether it has this stack. */
static inline hec_model *world_model(hec_ctx *ctx, bool encoder, bool decoder, hec_head head,
                                     uint64_t seed)
{
	hec_model_config c = {.size = sizeof c,
	                      .vocab = VOCAB,
	                      .width = WIDTH,
	                      .types = decoder ? 0 : 2,
	                      .head = head,
	                      .head_act = HEC_ACT_GELU,
	                      .labels = 3,
	                      .init_std = 0.4,
	                      .pad_id = PAD,
	                      .bos_id = -1,
	                      .eos_id = SEP,
	                      .start_id = CLS};
	hec_model *model;
	if (head != HEC_HEAD_CLASSIFY && head != HEC_HEAD_TOKENS)
		c.labels = 0;
	if (encoder)
		c.encoder = world_stack();
	if (decoder)
		c.decoder = world_stack();
	EXPECT_OK(hec_model_create(ctx, &c, HEC_F32, seed, &model));
	EXPECT_OK(hec_model_pack(ctx, model, false));
	return model;
}

/* folder/name, valid until four more are asked for. */
static inline const char *world_path(const char *folder, const char *name)
{
	static char paths[4][4096];
	static int next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

static inline void world_write(const char *folder, const char *name, const void *data, size_t bytes)
{
	FILE *f = fopen(world_path(folder, name), "wb");
	EXPECT(f && fwrite(data, 1, bytes, f) == bytes);
	EXPECT(fclose(f) == 0);
}

static inline void world_write_text(const char *folder, const char *name, const char *text)
{
	world_write(folder, name, text, strlen(text));
}

/* BERT's: [CLS] before a text, [SEP] behind it; ids as above. Word i of the list is 5 + i. */
static inline hec_tokenizer *world_tokenizer(const char *folder)
{
	hec_tokenizer *t;
	world_write_text(folder, "vocab.txt",
	                 "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\ndog\nbird\nsaw\na\nred\n"
	                 "blue\nbig\nsmall\nran\nhome\n##s\n.\n");
	world_write_text(folder, "tokenizer_config.json",
	                 "{\"tokenizer_class\": \"BertTokenizer\"}");
	EXPECT_OK(hec_tokenizer_load(folder, &t));
	EXPECT(hec_tokenizer_vocab(t) == VOCAB);
	return t;
}

#endif
