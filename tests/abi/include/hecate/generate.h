/* generate.h — a prompt in, what a model writes after it out: greedy, by beams, or drawn.
 *
 * A model without an encoder goes on where its prompt ends; one with an encoder reads the prompt and writes
 * from its start. A generator belongs to one thread; the model and the tokenizer inside it are only read.
 * Every prompt gives the same tokens and score, to the bit, alone or among others. Where it is drawn, the
 * streams must be the same as well: prompt i of a call draws from the stream that hec_decode_options says for
 * source i. */
#ifndef HECATE_GENERATE_H
#define HECATE_GENERATE_H

#include <hecate/decode.h>
#include <hecate/tokenizer.h>

HEC_BEGIN

typedef struct hec_generator hec_generator;

/* Reads a directory: config.json, model.safetensors, generation_config.json and a tokenizer where there are
 * such. Where the tokenizer is missing or cannot be read, prompts of ids still work. */
HEC_API HEC_MUST_USE hec_status
hec_generator_load(hec_ctx *ctx, const char *dir,
                   const hec_model_load_options *options, /* NULL: as the files say */
                   hec_generator **out);
/* Of a model (packed for ctx) and a tokenizer (NULL: prompts are ids) that the caller keeps for as long. */
HEC_API HEC_MUST_USE hec_status hec_generator_create(hec_ctx *ctx, const hec_model *model,
                                                     const hec_tokenizer *tokenizer,
                                                     hec_generator **out);
HEC_API void hec_generator_destroy(hec_generator *generator); /* takes NULL */
HEC_API const hec_model *hec_generator_model(const hec_generator *generator);
HEC_API const hec_tokenizer *hec_generator_tokenizer(const hec_generator *generator); /* or NULL */
/* Sets how the directory says to write: ends, beams, penalties; the numbers of sampling, though not `sample`
 * itself. What it then points at is the generator's. max_tokens is −1: as many as hec_generate_options says. */
HEC_API void hec_generator_defaults(const hec_generator *generator, hec_decode_options *out,
                                    size_t size /* sizeof *out */);
/* Whether the directory says that the model is to be sampled. */
HEC_API bool hec_generator_samples(const hec_generator *generator);
/* Tokens that the model can hold: a prompt and what follows; with an encoder, what is written. INT64_MAX:
 * any number (T5). */
HEC_API int64_t hec_generator_max_tokens(const hec_generator *generator);

typedef struct hec_prompt { /* value */
	const char *text;   /* UTF-8; NULL: ids */
	size_t bytes;
	const int32_t *ids; /* [n] as they are; nothing is added */
	int64_t n;
} hec_prompt;

/* Takes what is written of a prompt, in whole characters, as it is written. */
typedef hec_status hec_generate_text_fn(void *user, int64_t prompt, const char *text, size_t bytes);

/* How many tokens are written: decode.max_tokens, and a prompt that leaves no room for them is an error that
 * says how long it is. Where that is −1: what the directory says (max_new_tokens; or max_length, with the
 * prompt counted in), else 256; fewer where the model holds no more. */
typedef struct hec_generate_options {     /* options */
	size_t size;                      /* sizeof(hec_generate_options) */
	const hec_decode_options *decode; /* NULL: as hec_generator_defaults sets them */
	int64_t batch;                    /* prompts at a time */
	bool truncate;   /* a text that is too long loses its beginning; else it is an error */
	bool lossy;      /* invalid UTF-8 counts as U+FFFD; else it is an error */
	bool no_special; /* nothing is added to texts: a chat template wrote them whole */
	hec_generate_text_fn *text; /* or NULL; with one beam, and a tokenizer */
	void *user;                 /* of text */
	bool no_min_length;         /* decode->min_tokens holds also where min_length of
	                       generation_config.json is more */
} hec_generate_options;

/* clang-format off */
#define HEC_GENERATE_OPTIONS_INIT \
	{.size = sizeof(hec_generate_options), .batch = 16}
/* clang-format on */

typedef struct hec_generation { /* result */
	const char *text;   /* UTF-8, special tokens left out; NULL where there is no tokenizer */
	size_t text_bytes;  /* it may hold NUL bytes; a zero byte that is not counted follows it */
	double score;       /* as hec_hypothesis has it */
	const int32_t *ids; /* [n] what was written, the end counted in; not the prompt */
	int64_t n;
	const int32_t *
		prompt; /* [prompt_n] of the best one of each prompt: its ids; NULL: of the others */
	int64_t prompt_n;
} hec_generation;

typedef struct hec_generations hec_generations;
/* What was written after a prompt: `rank` 0 is the best; there are nbest of each. */
HEC_API const hec_generation *hec_generations_at(const hec_generations *generations, int64_t prompt,
                                                 int64_t rank);
HEC_API void hec_generations_free(hec_generations *generations);

HEC_API HEC_MUST_USE hec_status hec_generate(hec_generator *generator, int64_t n,
                                             const hec_prompt *prompts,
                                             const hec_generate_options *options, /* or NULL */
                                             hec_generations **out);

HEC_END

#endif
