/* classify.h — which labels a text has, or each of its tokens: a model that classifies, and its
 * tokenizer.
 *
 * A classifier belongs to one thread; the model and the tokenizer inside it are only read. Every text
 * gets the same scores, to the bit, alone or among others. */
#ifndef HECATE_CLASSIFY_H
#define HECATE_CLASSIFY_H

#include <hecate/decode.h>
#include <hecate/tokenizer.h>

HEC_BEGIN

typedef struct hec_classifier hec_classifier;

/* How logits become scores. */
typedef enum hec_scoring {
	HEC_SCORING_MODEL =
		0, /* as the model says: "problem_type" of its config.json; where that says
	                          nothing, or there is no folder: sigmoid of one label, else softmax */
	HEC_SCORING_SOFTMAX, /* one label is right: probabilities that add up to 1 */
	HEC_SCORING_SIGMOID, /* each label is right or not, by itself */
	HEC_SCORING_LOGITS   /* as they are: regression */
} hec_scoring;

/* Reads a directory: config.json, model.safetensors, and the tokenizer's files. */
HEC_API HEC_MUST_USE hec_status
hec_classifier_load(hec_ctx *ctx, const char *dir,
                    const hec_model_load_options *options, /* NULL: as the files say */
                    hec_classifier **out);
/* Of a model (packed for ctx) and a tokenizer that the caller keeps for as long. */
HEC_API HEC_MUST_USE hec_status hec_classifier_create(hec_ctx *ctx, const hec_model *model,
                                                      const hec_tokenizer *tokenizer,
                                                      hec_classifier **out);
HEC_API void hec_classifier_destroy(hec_classifier *classifier); /* takes NULL */
HEC_API const hec_model *hec_classifier_model(const hec_classifier *classifier);
HEC_API const hec_tokenizer *hec_classifier_tokenizer(const hec_classifier *classifier);
/* The longest text that the model can take, in tokens; 32,768 where it has no last position (T5). */
HEC_API int64_t hec_classifier_max_tokens(const hec_classifier *classifier);
/* What the model says: never HEC_SCORING_MODEL. */
HEC_API hec_scoring hec_classifier_scoring(const hec_classifier *classifier);
HEC_API int64_t hec_classifier_labels(const hec_classifier *classifier);
/* The name of a label (id2label), which no other has: "LABEL_2" where it has none, "NAME (2)" where several
 * are called NAME. NULL past the last. */
HEC_API const char *hec_classifier_label(const hec_classifier *classifier, int64_t i);

typedef struct hec_classify_options { /* options */
	size_t size;                  /* sizeof(hec_classify_options) */
	hec_scoring scoring;
	const char *const *pairs;  /* [n] a second text for each, as models that compare two take
	                             them; NULL: none; "": that one has none */
	const size_t *pair_bytes;  /* NULL: zero bytes end them */
	bool truncate;             /* a text that is too long loses its end; else it is an error */
	bool lossy;                /* invalid UTF-8 counts as U+FFFD; else it is an error */
	hec_progress_fn *progress; /* in texts; or NULL */
	void *user;
} hec_classify_options;

/* clang-format off */
#define HEC_CLASSIFY_OPTIONS_INIT \
	{.size = sizeof(hec_classify_options)}
/* clang-format on */

typedef struct hec_classes { /* result */
	int64_t texts, labels;
	const float *scores; /* [texts, labels] */
	const int32_t *
		order; /* [texts, labels] the labels of each text, best first; of equals the lower */
} hec_classes;
HEC_API void hec_classes_free(hec_classes *classes);

/* Of a model with a head for whole texts. */
HEC_API HEC_MUST_USE hec_status hec_classify(hec_classifier *classifier, int64_t n,
                                             const char *const *texts,
                                             const size_t *bytes, /* NULL: zero bytes end them */
                                             const hec_classify_options *options, /* or NULL */
                                             hec_classes **out);

typedef struct hec_token_class { /* result */
	int64_t index;           /* among the tokens of the text, what was added to it counted in */
	int32_t id;              /* of the token */
	int32_t label;           /* the best */
	float score;             /* its probability */
	int32_t second;          /* 1: a token of the pair; else 0 */
	hec_span span;           /* in the text, or in its pair */
} hec_token_class;

typedef struct hec_token_classes hec_token_classes;
/* Token i of a text, of those that have a label; NULL past the last. */
HEC_API const hec_token_class *hec_token_classes_at(const hec_token_classes *classes, int64_t text,
                                                    int64_t i);
HEC_API void hec_token_classes_free(hec_token_classes *classes);

/* Of a model with a head for each token. What the tokenizer added is left out; scoring is softmax. */
HEC_API HEC_MUST_USE hec_status hec_classify_tokens(hec_classifier *classifier, int64_t n,
                                                    const char *const *texts, const size_t *bytes,
                                                    const hec_classify_options *options,
                                                    hec_token_classes **out);

HEC_END

#endif
