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
/* How the directory says to write, to copy and to change: ends, beams, penalties; the numbers of sampling,
 * though not `sample` itself. max_tokens is 0: as many as hec_generate_options says. */
HEC_API const hec_decode_options *hec_generator_defaults(const hec_generator *generator);
/* Whether the directory says that the model is to be sampled. */
HEC_API bool hec_generator_samples(const hec_generator *generator);
/* Tokens that the model can hold: a prompt and what follows; with an encoder, what is written. INT64_MAX:
 * any number (T5). */
HEC_API int64_t hec_generator_longest(const hec_generator *generator);

typedef struct hec_prompt {
	const char *text; /* UTF-8; NULL: ids */
	size_t bytes;
	const int32_t *ids; /* [n] as they are; nothing is added */
	int64_t n;
} hec_prompt;

/* Takes what is written of a prompt, in whole characters, as it is written; anything but 0 cancels. */
typedef int hec_generate_text(void *user, int64_t prompt, const char *text, size_t bytes);

/* How many tokens are written: decode.max_tokens, and a prompt that leaves no room for them is an error that
 * says how long it is. Where that is 0: what the directory says (max_new_tokens; or max_length, with the
 * prompt counted in), else 256; fewer where the model holds no more. */
typedef struct hec_generate_options {
	size_t size;                      /* sizeof(hec_generate_options) */
	const hec_decode_options *decode; /* NULL: hec_generator_defaults */
	int64_t batch;                    /* prompts at a time; 0: 16 */
	bool truncate;   /* a text that is too long loses its beginning; else it is an error */
	bool lossy;      /* invalid UTF-8 counts as U+FFFD; else it is an error */
	bool no_special; /* nothing is added to texts: a chat template wrote them whole */
	hec_generate_text *text; /* or NULL; with one beam, and a tokenizer */
	void *user;              /* of text */
	bool no_min_length;      /* decode->min_tokens holds also where min_length of
	                       generation_config.json is more */
} hec_generate_options;

/* clang-format off */
#define HEC_GENERATE_OPTIONS_INIT \
	{sizeof(hec_generate_options), NULL, 0, false, false, false, NULL, NULL, false}
/* clang-format on */

typedef struct hec_generation {
	char *text;        /* UTF-8, special tokens left out; NULL where there is no tokenizer */
	size_t text_bytes; /* it may hold NUL bytes; a zero byte that is not counted follows it */
	double score;      /* as hec_hypothesis has it */
	int32_t *ids;      /* [n] what was written, the end counted in; not the prompt */
	int64_t n;
	int32_t *
		prompt; /* [prompt_n] of the best one of each prompt: its ids; NULL: of the others */
	int64_t prompt_n;
} hec_generation;

typedef struct hec_generations {
	size_t size;           /* sizeof(hec_generations) */
	hec_generation *items; /* [prompts · nbest], best first within each prompt */
	int64_t prompts, nbest;
	int64_t failed; /* after a failure: the prompt that is to blame; −1: none */
} hec_generations;

/* out need not be set before, is to be freed after, and is empty after a failure. */
HEC_API HEC_MUST_USE hec_status hec_generate(hec_generator *generator, int64_t n,
                                             const hec_prompt *prompts,
                                             const hec_generate_options *options, /* or NULL */
                                             hec_generations *out);
HEC_API void hec_generations_free(hec_generations *generations); /* takes an empty one */

HEC_END

#endif
