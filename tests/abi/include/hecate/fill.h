/* fill.h — text with masks in, the words that may stand in their place out.
 *
 * For models that learned to fill in masked words: BERT and its kin, and BART. Each mask has predictions of
 * its own, with the others still masked; the score of one is its probability at that place. Every text
 * gives the same predictions, to the bit, alone or among others.
 *
 * A filler belongs to one thread; the model and the tokenizer inside it are only read. */
#ifndef HECATE_FILL_H
#define HECATE_FILL_H

#include <hecate/decode.h>
#include <hecate/tokenizer.h>

HEC_BEGIN

typedef struct hec_filler hec_filler;

/* Reads a directory: config.json, model.safetensors, tokenizer.json. */
HEC_API HEC_MUST_USE hec_status
hec_filler_load(hec_ctx *ctx, const char *dir,
                const hec_model_load_options *options, /* NULL: as the files say */
                hec_filler **out);
/* Of a model (packed for ctx) and a tokenizer that the caller keeps for as long. */
HEC_API HEC_MUST_USE hec_status hec_filler_create(hec_ctx *ctx, const hec_model *model,
                                                  const hec_tokenizer *tokenizer, hec_filler **out);
HEC_API void hec_filler_destroy(hec_filler *filler); /* takes NULL */
HEC_API const hec_model *hec_filler_model(const hec_filler *filler);
HEC_API const hec_tokenizer *hec_filler_tokenizer(const hec_filler *filler);
/* How this tokenizer writes a mask: "[MASK]", "<mask>". */
HEC_API const char *hec_filler_mask(const hec_filler *filler);

/* The id of a word that is to be looked at: of the token that is written so; else the first of the tokens
 * that the word becomes, and *exact is false. A word that becomes none is HEC_ERR_ARGUMENT. */
HEC_API HEC_MUST_USE hec_status hec_filler_target(hec_filler *filler, const char *word, int32_t *id,
                                                  bool *exact);

typedef struct hec_fill_options { /* options */
	size_t size;              /* sizeof(hec_fill_options) */
	int64_t top;              /* predictions for each mask, the best first */
	const int32_t *targets;   /* [target_count] only these; NULL: every token */
	int64_t target_count;
	bool lossy;                /* invalid UTF-8 counts as U+FFFD; else it is an error */
	int64_t batch;             /* tokens at a time, padding counted */
	hec_progress_fn *progress; /* counts texts; or NULL */
	void *user;
} hec_fill_options;

/* clang-format off */
#define HEC_FILL_OPTIONS_INIT {.size = sizeof(hec_fill_options), .top = 5, .batch = 2048}
/* clang-format on */

typedef struct hec_guess { /* result */
	int32_t id;
	double score;
	const char *token; /* as text, with a zero byte behind it */
	const char
		*text; /* the whole text with it; special tokens left out where there is one mask */
	size_t token_bytes, text_bytes;
} hec_guess;

typedef struct hec_filled hec_filled;
/* Prediction `rank` for a mask of a text, both counted from 0; each mask has `top`. */
HEC_API const hec_guess *hec_filled_at(const hec_filled *filled, int64_t text, int64_t mask,
                                       int64_t rank);
HEC_API int64_t hec_filled_masks(const hec_filled *filled, int64_t text); /* that the text has */
HEC_API void hec_filled_free(hec_filled *filled);

/* "[MASK]" is a mask whatever the tokenizer calls it. A text without a mask is an error. */
HEC_API HEC_MUST_USE hec_status hec_fill(hec_filler *filler, int64_t n, const char *const *texts,
                                         const size_t *bytes, /* NULL: zero bytes end them */
                                         const hec_fill_options *options, /* or NULL */
                                         hec_filled **out);

HEC_END

#endif
