/* answer.h — a question and a text in, the words of the text that answer it out.
 *
 * For models with a head that marks where an answer begins and ends (…ForQuestionAnswering). A text that
 * is longer than the model takes goes through it in windows that overlap. The score of an answer is the
 * probability of its begin times that of its end within its window, the first token ("no answer")
 * counted in, as Transformers has it; the same words found in several windows are one answer with the
 * best of their scores. Every question gives the same answer, to the bit, alone or among others.
 *
 * An answerer belongs to one thread; the model and the tokenizer inside it are only read. */
#ifndef HECATE_ANSWER_H
#define HECATE_ANSWER_H

#include <hecate/decode.h>
#include <hecate/tokenizer.h>

HEC_BEGIN

typedef struct hec_answerer hec_answerer;

/* Reads a directory: config.json, model.safetensors, tokenizer.json. */
HEC_API HEC_MUST_USE hec_status
hec_answerer_load(hec_ctx *ctx, const char *dir,
                  const hec_model_load_options *options, /* NULL: as the files say */
                  hec_answerer **out);
/* Of a model (packed for ctx) and a tokenizer that the caller keeps for as long. */
HEC_API HEC_MUST_USE hec_status hec_answerer_create(hec_ctx *ctx, const hec_model *model,
                                                    const hec_tokenizer *tokenizer,
                                                    hec_answerer **out);
HEC_API void hec_answerer_destroy(hec_answerer *answerer); /* takes NULL */
HEC_API const hec_model *hec_answerer_model(const hec_answerer *answerer);
HEC_API const hec_tokenizer *hec_answerer_tokenizer(const hec_answerer *answerer);

/* Tokens of a window and of what two of them share, where nothing else is asked for; as Transformers has them. */
#define HEC_ANSWER_WINDOW 384
#define HEC_ANSWER_STRIDE 128

typedef struct hec_answer_options { /* options */
	size_t size;                /* sizeof(hec_answer_options) */
	int64_t top;                /* answers to each question, the best first */
	int64_t max_tokens;         /* of an answer */
	int64_t window; /* tokens of question, context and what is added; −1: HEC_ANSWER_WINDOW, or what the model
	                   takes where that is less */
	int64_t stride; /* tokens of the context that a window shares with the one before; −1: HEC_ANSWER_STRIDE, or
	                   less: at most half of the window and of what the question leaves of it */
	bool part_words;  /* answers may begin and end within a word, as tokens do */
	bool may_be_none; /* the empty answer is one of them: for models that learned that some
	                     questions have no answer (SQuAD 2.0) */
	double none_margin; /* it comes before those whose score is less than its own − none_margin */
	bool lossy;         /* invalid UTF-8 counts as U+FFFD; else it is an error */
	int64_t batch;      /* tokens at a time, padding counted */
	hec_progress_fn *progress; /* counts windows, of those known by then; or NULL */
	void *user;
} hec_answer_options;

/* clang-format off */
#define HEC_ANSWER_OPTIONS_INIT \
	{.size = sizeof(hec_answer_options), .top = 1, .max_tokens = 15, .window = -1, .stride = -1, .batch = 2048}
/* clang-format on */

typedef struct hec_question { /* value */
	const char *question, *context;
	size_t question_bytes, context_bytes;
} hec_question;

typedef struct hec_answer_item { /* result */
	const char *text;        /* of the context, with a zero byte behind it; "": no answer */
	size_t bytes;
	double score;
	size_t begin, end; /* bytes begin … end − 1 of the context; 0, 0 where there is no answer */
} hec_answer_item;

typedef struct hec_answers hec_answers;
/* Answer `rank` to a question, 0 the best; each has at least 1 and at most `top`. */
HEC_API const hec_answer_item *hec_answers_at(const hec_answers *answers, int64_t question,
                                              int64_t rank);
/* The score of "no answer" to a question: of its windows the least. */
HEC_API double hec_answers_none(const hec_answers *answers, int64_t question);
/* Through how many windows the context of a question went. */
HEC_API int64_t hec_answers_windows(const hec_answers *answers, int64_t question);
HEC_API void hec_answers_free(hec_answers *answers);

/* A context without a word has no answer, with score 1. A question without a word is an error; one that
 * leaves no room in the window says how long it is. */
HEC_API HEC_MUST_USE hec_status hec_answer(hec_answerer *answerer, int64_t n,
                                           const hec_question *questions,
                                           const hec_answer_options *options, /* or NULL */
                                           hec_answers **out);

HEC_END

#endif
