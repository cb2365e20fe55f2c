/* training.h — from files of text to a model in a folder: what `hecate train` does.
 *
 * The text is counted; a tokenizer is learned or taken; text becomes ids; a model is made, or a pretrained one is
 * taken; it learns, is validated, scored and saved (train.h says what lies in the folder). What the options leave
 * open is settled on the way, by the task, the data and the model: hec_training_options_of() tells what came of it.
 *
 * A training belongs to one thread, and learns once: to go on with a run that was stopped, make another with `resume`
 * and the options that were settled. Context, model and corpora belong to the training and live as long. */
#ifndef HECATE_TRAINING_H
#define HECATE_TRAINING_H

#include <hecate/train.h>

HEC_BEGIN

/* clang-format off */

/* How large a fresh model is, and how long it learns; of a pretrained one, how many epochs. On two cores of a server,
 * normal takes a minute or two for some thousand lines and half an hour for half a million; small a few times less,
 * large many times more. */
typedef enum hec_effort { HEC_EFFORT_NORMAL, HEC_EFFORT_SMALL, HEC_EFFORT_LARGE } hec_effort;

/* Texts, and what the pointers lead to, stay the caller's, until the training is destroyed. */
typedef struct hec_training_options { /* options */
	size_t size;                  /* sizeof(hec_training_options) */
	hec_task task;
	const char *const *train;     /* [train_count] files to learn from: of translate in pairs, source and target */
	size_t train_count;
	const char *const *valid;     /* [valid_count] files to validate on; 0: none */
	size_t valid_count;
	const char *dir;              /* where everything goes; made where it is missing. It must hold no run, or resume */
	bool resume;                  /* go on with the run in dir, whose model and tokenizer stay; where there is none, begin */

	/* what it begins from */
	const char *from;             /* a pretrained directory, with its tokenizer; NULL: from fresh parameters */
	const char *const *overrides; /* [override_count] of from, as hec_model_load_options has them */
	size_t override_count;
	const char *config;           /* a config.json, or the folder that has one: its architecture; NULL: by the task */
	const char *tokenizer;        /* a directory that has one; NULL: that of from, or it is learned */

	/* texts */
	int64_t vocab;                /* tokens of a vocabulary that is learned; 0: by the data */
	int64_t max_length;           /* tokens: longer examples are left out; 0: by the task and the model */
	bool truncate;                /* longer texts are cut instead */
	int64_t stride;               /* answer: tokens that windows share; −1: a third of max_length. Else not used */
	const char *source_prefix;    /* translate, seq2seq: before every source; NULL: nothing. Else not used */
	const char *from_language, *to_language;  /* of a tokenizer that knows several (mBART); NULL: its own */
	const char *language, *speech_task;       /* of a model that reads sounds, as hec_speech_load has them */

	/* the model's sizes, where there is neither from nor config; 0: by the data */
	int64_t width, encoder_layers, decoder_layers, heads, hidden;
	double dropout;               /* of embeddings and sublayers; −1: 0.1, or the model's */
	double attention_dropout, activation_dropout;  /* −1: 0, or the model's */

	/* learning, as hec_trainer_options has it */
	int schedule;                 /* a hec_schedule; −1: linear; of a run without an end inverse square root, constant
	                               * with from */
	double lr;                    /* −1: by the width; by the model with from */
	double lr_end;
	int64_t warmup;               /* −1: by the steps */
	double beta1;
	double beta2, eps;            /* −1: 0.98 and 1e-9; 0.999 and 1e-8 with from */
	double weight_decay, clip;
	double smoothing;             /* of the labels; −1: 0.1, and 0 for lm, mlm and with from */
	double mask_rate;             /* mlm: share of tokens that are asked for */
	int64_t batch_tokens;         /* of a batch, on its longer side; −1: as the data and memory allow */
	int64_t batch_rows;           /* examples of a batch, at most; 0: any; −1: any, with from 16, and 32 to classify */
	int64_t accumulate;           /* batches a step; 0: by the data */
	int64_t memory;               /* megabytes that batch_tokens −1 may use; 0: half of what is free */

	/* how long, and what is kept */
	int64_t steps, epochs;        /* whichever comes first; 0: no end; −1: steps by the data, epochs by the effort
	                               * with from: 3 */
	double seconds;               /* save and leave after that long; 0: no end */
	int64_t report_every;         /* steps */
	int64_t valid_every, save_every;  /* steps; 0: by the data; as valid_every */
	int64_t keep, average, patience;  /* as hec_train_options has them */
	int64_t valid_sentences;      /* decoded and scored at a validation; 0: none */
	int64_t valid_beam;
	hec_metric best;              /* what dir's model is the best of */
	hec_dtype dtype;              /* of the model in dir */
	uint64_t seed;                /* of the parameters, the order and dropout */
	int threads;                  /* 0: $HECATE_THREADS, else the cores available */

	/* functions of the caller; each may be NULL */
	hec_progress_fn *progress;    /* long passes over text, and decoding at a validation */
	hec_left_out_fn *left_out;    /* sounds that cannot be read */
	hec_train_event_fn *event;
	hec_train_batch_fn *batch;
	void *user;                   /* of all of them */

	hec_effort effort;            /* for sizes, steps and epochs that are left open */
} hec_training_options;

#define HEC_TRAINING_OPTIONS_INIT \
	{.size = sizeof(hec_training_options), .stride = -1, .dropout = -1, .attention_dropout = -1, \
	 .activation_dropout = -1, .schedule = -1, .lr = -1, .warmup = -1, .beta1 = 0.9, .beta2 = -1, .eps = -1, \
	 .weight_decay = 0.01, .clip = 1, .smoothing = -1, .mask_rate = 0.15, .batch_tokens = -1, .batch_rows = -1, \
	 .steps = -1, .epochs = -1, .report_every = 50, .keep = 3, .patience = 10, .valid_sentences = 200, \
	 .valid_beam = 1, .seed = 1}
/* clang-format on */

typedef struct hec_training hec_training;

/* The numbers that may be asked for in the option of that name, such as "max_length". What leaves it to the library, 0
 * or −1, may lie outside. False: no option of that name is a number. */
HEC_API bool hec_training_range(const char *name, int64_t *least, int64_t *most);

/* Checks the options, as far as they can be without reading the data: HEC_ERR_ARGUMENT says which of them cannot
 * be. With from or config it reads the architecture, which settles the sizes. Makes no file. */
HEC_API HEC_MUST_USE hec_status hec_training_create(const hec_training_options *options,
                                                    hec_training **out);
HEC_API void hec_training_destroy(hec_training *training); /* takes NULL */
/* Counts the text and settles the sizes by it, and about how many steps it will be; makes no file. Before it is open;
 * opening it counts again. */
HEC_API HEC_MUST_USE hec_status hec_training_estimate(hec_training *training);
/* All that comes before the first step: tokenizer, ids, model, the size of a batch. After a failure the training
 * can only be destroyed. */
HEC_API HEC_MUST_USE hec_status hec_training_open(
	hec_training *training,
	const hec_train_lock
		*lock); /* of dir, which outlives the training; NULL: taken until it is destroyed */
/* About how long learning takes here and now, once the training is open: a few steps are tried for a second or two
 * (hec_train_speed). At most, for `patience` and `seconds` may end it before; infinite for a run without an end. Decoding
 * at validations is not in it. */
HEC_API HEC_MUST_USE hec_status hec_training_time(hec_training *training, double *seconds);
/* Learns; opens the training first where that was not done. Afterwards the model is that of the last step, and dir has
 * the best. A run that was stopped, and one that was killed, goes on with the same bits where the options are those
 * that hec_training_options_of() told after opening it, and `resume` is set. */
HEC_API HEC_MUST_USE hec_status hec_training_learn(hec_training *training,
                                                   hec_train_result **out /* or NULL */);

/* The options, as far as they are settled by now; size: sizeof *out. Texts are those of the caller. */
HEC_API void hec_training_options_of(const hec_training *training, hec_training_options *out,
                                     size_t size);
/* These are NULL before it is open. */
HEC_API hec_ctx *hec_training_ctx(const hec_training *training);
HEC_API hec_model *hec_training_model(const hec_training *training);
HEC_API const hec_corpus *hec_training_corpus(const hec_training *training);
HEC_API const hec_corpus *
hec_training_valid(const hec_training *training); /* NULL also where there is none */
/* Whether it learns from sounds. */
HEC_API bool hec_training_listens(const hec_training *training);

/* Bytes that learning takes with these options. */
typedef struct hec_training_memory {           /* result */
	size_t parameters, activations, packs; /* as hec_trainer_memory has them */
	size_t sounds;                         /* what batches hold of sounds */
} hec_training_memory;
HEC_API HEC_MUST_USE hec_status hec_training_memory_of(const hec_training *training,
                                                       hec_training_memory **out);
HEC_API void hec_training_memory_free(hec_training_memory *memory); /* takes NULL */

HEC_END

#endif
