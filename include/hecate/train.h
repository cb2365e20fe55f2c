/* train.h — the loop of learning: batches by length, validation, checkpoints, reports.
 *
 * DIR/                  the best model so far, as a Hugging Face directory
 * DIR/log.jsonl         one JSON object a line for each report
 * DIR/curve.svg         loss over steps
 * DIR/best/METRIC/      the best model by each other metric
 * DIR/checkpoint/       latest (a name), step-00001000/ …: for resuming with the same bits */
#ifndef HECATE_TRAIN_H
#define HECATE_TRAIN_H

#include <hecate/corpus.h>
#include <hecate/trainer.h>

HEC_BEGIN

typedef enum hec_metric {
	HEC_METRIC_LOSS = 0,
	HEC_METRIC_BLEU,
	HEC_METRIC_CHRF,
	HEC_METRIC_ACCURACY,
	HEC_METRIC_EXACT, /* answers: as SQuAD's script counts them */
	HEC_METRIC_F1
} hec_metric;
#define HEC_METRICS 6

HEC_API const char *hec_metric_name(hec_metric metric); /* "loss", "bleu", …; "?" */

/* What a validation found. Loss: less is better; the others: more. */
typedef struct hec_train_scores hec_train_scores;
HEC_API double hec_train_scores_get(const hec_train_scores *scores,
                                    hec_metric metric); /* NaN: not measured */
HEC_API void hec_train_scores_set(hec_train_scores *scores, hec_metric metric, double value);

/* Decodes and scores, or whatever else: fills in what it measured. The model is packed. Where it fails,
 * nothing counts as measured, and learning goes on; HEC_ERR_CANCELLED stops the run as hec_train_event_fn may. */
typedef hec_status hec_train_evaluate_fn(void *user, hec_ctx *ctx, const hec_model *model,
                                         hec_train_scores *scores);

typedef enum hec_train_event_kind {
	HEC_TRAIN_BEGIN = 0, /* after a resume, too */
	HEC_TRAIN_STEP,
	HEC_TRAIN_REPORT,      /* a line of the log */
	HEC_TRAIN_VALIDATE,    /* part of a validation is done: `done` of `total` */
	HEC_TRAIN_SCORES,      /* a validation is done */
	HEC_TRAIN_SAVED,       /* a checkpoint is on disk */
	HEC_TRAIN_SAVE_FAILED, /* it is not; the one before stays: `message` */
	HEC_TRAIN_END,
	HEC_TRAIN_NOT_MEASURED /* evaluate failed; learning goes on: `message` */
} hec_train_event_kind;

typedef struct hec_train_event { /* result */
	hec_train_event_kind kind;
	int64_t step, steps, epoch;
	double loss; /* mean since the last report, as hec_step_report has it */
	double lr;
	double tokens_per_s; /* of all that the model reads, on both sides */
	double seconds;      /* of learning */
	double left_s;       /* about; NaN: not known */
	int64_t skips;
	int64_t done, total;
	const hec_train_scores *scores;
	bool better; /* the model was the best so far */
	const char *message;
} hec_train_event;

/* HEC_OK goes on. HEC_ERR_CANCELLED: save, and leave after this step (a validation under way is given up);
 * hec_train then returns HEC_OK with the end HEC_TRAIN_STOPPED. Any other: leave at once, and fail with it. */
typedef hec_status hec_train_event_fn(void *user, const hec_train_event *event);
/* Each batch as it is learned from, for comparison with others. */
typedef void hec_train_batch_fn(void *user, int64_t step, const hec_batch *batch);

/* Two runs in one folder would take each other's files away: while one holds the lock of a folder, a
 * second is told that it cannot have it (HEC_ERR_IO), be it in this process or another. hec_train takes
 * it by itself; whoever writes into the folder before that takes it first and hands it on in the
 * options. The folder is made where it is missing, with those that it lies in. */
typedef struct hec_train_lock hec_train_lock;
HEC_API HEC_MUST_USE hec_status hec_train_lock_create(const char *dir, hec_train_lock **out);
HEC_API void hec_train_lock_destroy(hec_train_lock *lock); /* takes NULL */
/* Whether dir is still the folder that was locked: HEC_ERR_IO where it was renamed, replaced or removed. Who
 * writes into it asks first; hec_train does, and ends. */
HEC_API HEC_MUST_USE hec_status hec_train_lock_holds(const hec_train_lock *lock, const char *dir);
/* Removes what a run made that failed before its first step, so that it is not in the way of the next; and dir
 * itself where the lock made it. Does nothing where a run was in dir when it was locked. Other files stay. */
HEC_API HEC_MUST_USE hec_status hec_train_undo(const hec_train_lock *lock, const char *dir);

typedef struct hec_train_options { /* options */
	size_t size;               /* sizeof(hec_train_options) */
	const char *dir;
	bool resume; /* continue from DIR/checkpoint; where there is none, begin */
	const hec_trainer_options *trainer; /* NULL: as HEC_TRAINER_OPTIONS_INIT */
	const hec_tokenizer *tokenizer;     /* saved beside each model; NULL: none */
	int64_t steps, epochs;              /* whichever comes first; 0: no end */
	double seconds;                     /* save and leave after that long; 0: no end */
	int64_t accumulate;                 /* batches a step */
	int64_t report_every, valid_every, save_every; /* steps; valid, save 0: only at the end */
	int64_t keep; /* checkpoints kept, and the newest; optimizer state only there */
	int64_t average; /* > 1: at the end, the mean of that many last checkpoints is tried too: of those at
	                     multiples of save_every, which a run that was stopped has as well */
	int64_t patience; /* stop after so many validations without a better model; 0: never */
	hec_metric best;  /* what DIR's model is the best of */
	hec_dtype dtype;  /* of the model in DIR */
	double mask_rate; /* mlm */
	uint64_t seed;    /* of the order of the data */
	hec_train_evaluate_fn *evaluate; /* these three: or NULL */
	hec_train_event_fn *event;
	hec_train_batch_fn *batch;
	void *user;
	const hec_train_lock *lock; /* of dir, where the caller holds it; NULL: taken for the run */
	const char *origin; /* a directory whose further keys and files each model in DIR gets, as
	                       hec_train_carry does; NULL: none */
} hec_train_options;

/* clang-format off */
#define HEC_TRAIN_OPTIONS_INIT \
	{.size = sizeof(hec_train_options), .accumulate = 1, .report_every = 100, .valid_every = 1000, \
	 .save_every = 1000, .keep = 3, .mask_rate = 0.15, .seed = 1}
/* clang-format on */

typedef enum hec_train_end {
	HEC_TRAIN_DONE = 0, /* all steps or epochs */
	HEC_TRAIN_EARLY,    /* patience ran out */
	HEC_TRAIN_TIME,
	HEC_TRAIN_STOPPED /* event asked for it */
} hec_train_end;

typedef struct hec_train_result { /* result */
	hec_train_end end;
	int64_t step, epoch, skips;
	int64_t best_step; /* 0: nothing was validated */
	double best;       /* by the metric of the options */
	double seconds;    /* of learning, earlier runs counted in */
	int64_t saves_failed;
} hec_train_result;

/* The model changes with each step. valid may be NULL: then DIR gets the last model. */
HEC_API HEC_MUST_USE hec_status hec_train(hec_ctx *ctx, hec_model *model, hec_corpus *train,
                                          hec_corpus *valid, const hec_train_options *options,
                                          hec_train_result **out /* or NULL */);
HEC_API void hec_train_result_free(hec_train_result *result); /* takes NULL */
/* About how long a step takes here and now, with as much memory as hec_train takes: a few batches are learned from,
 * for a second or two (longer where one batch takes longer), and forgotten. Of the options count those of a step;
 * dir may be any text. */
HEC_API HEC_MUST_USE hec_status hec_train_speed(hec_ctx *ctx, hec_model *model, hec_corpus *train,
                                                const hec_train_options *options,
                                                double *step_seconds);

/* Whether DIR/checkpoint names a checkpoint; says nothing about its health. */
HEC_API bool hec_train_can_resume(const char *dir);
/* hec_corpus_checksum of what the run in dir learned from, and validated on (0: nothing), by its last
 * checkpoint: only with these it can be resumed. False: there is none that can be read. */
HEC_API bool hec_train_checksums(const char *dir, uint32_t *train, uint32_t *valid);

/* Gives a saved model what the directory that it was learned from says besides: keys of config.json that
 * the saved one lacks and that still hold, generation_config.json of a model that writes, and the files that
 * Transformers and sentence-transformers read beside it (special_tokens_map.json, chat_template.jinja,
 * preprocessor_config.json, modules.json with the folders that it names, …). */
HEC_API HEC_MUST_USE hec_status hec_train_carry(const char *from, const char *to);

HEC_END

#endif
