/* embed.h — a vector for each text, near those of texts that mean the same: a model's hidden states made
 * into one, as sentence-transformers does.
 *
 * An embedder belongs to one thread; the model and the tokenizer inside it are only read. Every text
 * gets the same vector, to the bit, alone or among others. */
#ifndef HECATE_EMBED_H
#define HECATE_EMBED_H

#include <hecate/decode.h>
#include <hecate/tokenizer.h>

HEC_BEGIN

typedef struct hec_embedder hec_embedder;

/* How the hidden states of a text's tokens become one vector. Several are put one after the other, in
 * this order. */
typedef enum hec_pooling {
	HEC_POOL_MODEL = 0, /* as the folder says; the mean where it says nothing */
	HEC_POOL_FIRST = 1, /* that of the first token, [CLS] */
	HEC_POOL_MAX = 2,   /* the largest of each number */
	HEC_POOL_MEAN = 4,
	HEC_POOL_MEAN_SQRT = 8, /* the sum, divided by the root of how many there are */
	HEC_POOL_WEIGHTED = 16, /* the mean in which token i counts i times, from 1 */
	HEC_POOL_LAST = 32
} hec_pooling;

/* Reads a directory: config.json, model.safetensors, the tokenizer's files; and where they are, as
 * sentence-transformers writes them, modules.json, the pooling's config.json, sentence_bert_config.json. */
HEC_API HEC_MUST_USE hec_status
hec_embedder_load(hec_ctx *ctx, const char *dir,
                  const hec_model_load_options *options, /* NULL: as the files say */
                  hec_embedder **out);
/* Of a model (packed for ctx) and a tokenizer that the caller keeps for as long: the mean, not
 * normalised. Of a model with an encoder and a decoder, the encoder's hidden states. */
HEC_API HEC_MUST_USE hec_status hec_embedder_create(hec_ctx *ctx, const hec_model *model,
                                                    const hec_tokenizer *tokenizer,
                                                    hec_embedder **out);
HEC_API void hec_embedder_destroy(hec_embedder *embedder); /* takes NULL */
HEC_API const hec_model *hec_embedder_model(const hec_embedder *embedder);
HEC_API const hec_tokenizer *hec_embedder_tokenizer(const hec_embedder *embedder);
/* The longest text that it takes, in tokens: of the model, or less where the folder says so; 32,768
 * where it has no last position (T5). */
HEC_API int64_t hec_embedder_max_tokens(const hec_embedder *embedder);
HEC_API int hec_embedder_pooling(const hec_embedder *embedder); /* a sum of hec_pooling */
HEC_API bool hec_embedder_normalizes(const hec_embedder *embedder);

typedef struct hec_embed_options { /* options */
	size_t size;               /* sizeof(hec_embed_options) */
	int pooling;               /* a sum of hec_pooling; HEC_POOL_MODEL: as the folder says */
	bool normalize; /* every vector to length 1, also where the folder does not say so */
	bool truncate;  /* a text that is too long loses its end; else it is an error */
	bool lossy;     /* invalid UTF-8 counts as U+FFFD; else it is an error */
	hec_progress_fn *progress; /* in texts; or NULL */
	void *user;
} hec_embed_options;

/* clang-format off */
#define HEC_EMBED_OPTIONS_INIT \
	{.size = sizeof(hec_embed_options)}
/* clang-format on */

typedef struct hec_embeddings { /* result */
	int64_t texts, width;
	const float *rows; /* [texts, width] */
} hec_embeddings;
HEC_API void hec_embeddings_free(hec_embeddings *embeddings);

HEC_API HEC_MUST_USE hec_status hec_embed(hec_embedder *embedder, int64_t n,
                                          const char *const *texts,
                                          const size_t *bytes, /* NULL: zero bytes end them */
                                          const hec_embed_options *options, /* or NULL */
                                          hec_embeddings **out);

/* The cosine of the angle between two vectors; 0 where one of them is zero. */
HEC_API double hec_cosine(const float *a, const float *b, int64_t width);

HEC_END

#endif
