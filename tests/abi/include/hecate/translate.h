/* translate.h — text in, text out: a model with an encoder and a decoder, its tokenizer, and how it was
 * meant to write.
 *
 * A translator belongs to one thread; the model and the tokenizer inside it are only read. Every text
 * gives the same translation, to the bit, alone or among others. Where it is drawn, the streams must be the
 * same as well: text i of a call draws from the stream that hec_decode_options says for source i, piece k of
 * it (windows) from the one k · 2^40 further on. */
#ifndef HECATE_TRANSLATE_H
#define HECATE_TRANSLATE_H

#include <hecate/decode.h>
#include <hecate/tokenizer.h>

HEC_BEGIN

typedef struct hec_translator hec_translator;

/* Reads a directory: config.json, model.safetensors, tokenizer.json, and generation_config.json where
 * there is one. */
HEC_API HEC_MUST_USE hec_status
hec_translator_load(hec_ctx *ctx, const char *dir,
                    const hec_model_load_options *options, /* NULL: as the files say */
                    hec_translator **out);
/* Of a model (packed for ctx) and a tokenizer that the caller keeps for as long. */
HEC_API HEC_MUST_USE hec_status hec_translator_create(hec_ctx *ctx, const hec_model *model,
                                                      const hec_tokenizer *tokenizer,
                                                      hec_translator **out);
HEC_API void hec_translator_destroy(hec_translator *translator); /* takes NULL */
HEC_API const hec_model *hec_translator_model(const hec_translator *translator);
HEC_API const hec_tokenizer *hec_translator_tokenizer(const hec_translator *translator);
/* Sets how the directory's generation_config.json says to write: beams, length penalty, ids that are never
 * written, and so on. What it then points at is the translator's. */
HEC_API void hec_translator_defaults(const hec_translator *translator, hec_decode_options *out,
                                     size_t size /* sizeof *out */);
/* Whether task_specific_params of config.json says something about the task it was loaded for. */
HEC_API bool hec_translator_knows_task(const hec_translator *translator);
/* What the task puts before each text ("summarize: "); "": nothing. */
HEC_API const char *hec_translator_prefix(const hec_translator *translator);
/* The longest text that the model can take, in tokens; 32,768 where it has no last position (T5). */
HEC_API int64_t hec_translator_max_tokens(const hec_translator *translator);
/* Bytes of the session that the last call needed. */
HEC_API size_t hec_translator_session_bytes(const hec_translator *translator);

typedef struct hec_translate_options { /* options */
	size_t size;                   /* sizeof(hec_translate_options) */
	/* NULL: as hec_translator_defaults sets them. What it says of each source, and tells of one, goes by the number
	 * of the text. */
	const hec_decode_options *decode;
	int64_t batch;      /* texts at a time */
	bool truncate;      /* a text that is too long loses its end; else it is an error */
	bool lossy;         /* invalid UTF-8 counts as U+FFFD; else it is an error */
	const char *prefix; /* put before each text; NULL: hec_translator_prefix */
	/* Of a model of many languages, as its tokenizer names them ("de_DE", "deu_Latn", "de"): that of
	 * the texts, which takes the place of the one that the tokenizer adds; that to write. NULL: as
	 * the tokenizer and generation_config.json say. */
	const char *from_language, *to_language;
	/* A text that is too long is done in pieces that overlap by an eighth, and their results are
	 * joined with spaces: score is their mean by tokens, ids one after the other. With nbest 1. */
	bool windows;
} hec_translate_options;

/* clang-format off */
#define HEC_TRANSLATE_OPTIONS_INIT {.size = sizeof(hec_translate_options), .batch = 16}
/* clang-format on */

typedef struct hec_translation { /* result */
	const char *text;        /* UTF-8, special tokens left out; "" where there is none */
	size_t text_bytes;  /* it may hold NUL bytes; a zero byte that is not counted follows it */
	double score;       /* as hec_hypothesis has it; 0 for an empty text */
	const int32_t *ids; /* [n] the tokens, the end counted in */
	int64_t n;
	/* Of the best one of each text: [source_n] what the encoder read, with all that was added (the
	 * first window's), and what the decoder began with. NULL: there was no word. */
	const int32_t *source;
	int64_t source_n;
	int32_t start;
} hec_translation;

typedef struct hec_translations hec_translations;
/* Translation `rank` of a text, 0 the best; there are nbest of each. */
HEC_API const hec_translation *hec_translations_at(const hec_translations *translations,
                                                   int64_t text, int64_t rank);
HEC_API void hec_translations_free(hec_translations *translations);

/* A text without a word (empty, or white space) has an empty translation. */
HEC_API HEC_MUST_USE hec_status hec_translate(hec_translator *translator, int64_t n,
                                              const char *const *texts,
                                              const size_t *bytes, /* NULL: zero bytes end them */
                                              const hec_translate_options *options, /* or NULL */
                                              hec_translations **out);

HEC_END

#endif
