/* test_training.c — training through the C API: what is settled, what is refused, that a run which was stopped ends
 * with the same bits, and that nothing is left behind by one that never began. The tasks themselves and the families
 * are tested through the program. */
#include "support/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc/refuse_each.h"
#include "base/file.h"

enum { STEPS = 12 };

typedef struct run {
	lab l;
	char files[4][128], dir[128];
	const char *names[4];
	int64_t stop_at; /* a step; 0: never */
	int64_t phases;  /* calls of on_progress */
	int64_t cancel_at;
	int64_t steps, scores;
} run;

static void run_open(run *r, uint64_t seed)
{
	static const char *const names[] = {"a", "b", "va", "vb"};
	*r = (run){.l = lab_open(seed)};
	lab_write_pairs(&r->l, "a", "b", 60);
	lab_write_pairs(&r->l, "va", "vb", 8);
	for (int i = 0; i < 4; i++) {
		snprintf(r->files[i], sizeof r->files[i], "%s", lab_path(&r->l, names[i]));
		r->names[i] = r->files[i];
	}
}

static hec_status on_event(void *user, const hec_train_event *e)
{
	run *r = user;
	if (e->kind == HEC_TRAIN_STEP)
		r->steps = e->step;
	r->scores += e->kind == HEC_TRAIN_SCORES;
	return e->kind == HEC_TRAIN_STEP && e->step == r->stop_at ? HEC_ERR_CANCELLED : HEC_OK;
}

static hec_status on_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	run *r = user;
	(void)phase, (void)done, (void)total;
	return ++r->phases == r->cancel_at ? HEC_ERR_CANCELLED : HEC_OK;
}

/* A small model of pairs of lines, into DIR/name. */
static hec_training_options options_of(run *r, const char *name)
{
	hec_training_options o = HEC_TRAINING_OPTIONS_INIT;
	snprintf(r->dir, sizeof r->dir, "%s", lab_path(&r->l, name));
	o.task = HEC_TASK_TRANSLATE;
	o.train = r->names;
	o.train_count = 2;
	o.valid = r->names + 2;
	o.valid_count = 2;
	o.dir = r->dir;
	o.vocab = 280;
	o.width = 16;
	o.heads = 2;
	o.encoder_layers = o.decoder_layers = 1;
	o.batch_tokens = 128;
	o.steps = STEPS;
	o.report_every = 2;
	o.valid_every = o.save_every = 4;
	o.valid_sentences = 4;
	o.threads = 2;
	o.event = on_event;
	o.progress = on_progress;
	o.user = r;
	return o;
}

static hec_training *made(run *r, const hec_training_options *o)
{
	hec_training *t;
	OK(&r->l.k, hec_training_create(o, &t));
	return t;
}

static hec_training_options settled_of(const hec_training *t)
{
	hec_training_options o;
	hec_training_options_of(t, &o, sizeof o);
	return o;
}

static void check_same_model(run *r, const char *one, const char *two)
{
	char *data[2], path[192];
	size_t bytes[2];
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/model.safetensors", lab_path(&r->l, i ? two : one));
		OK(&r->l.k, file_read(path, 1 << 24, &data[i], &bytes[i]));
	}
	CHECK(&r->l.k, bytes[0] == bytes[1] && memcmp(data[0], data[1], bytes[0]) == 0,
	      "%s and %s differ", one, two);
	hec_free(data[0]);
	hec_free(data[1]);
}

/* Resumed with what the first part settled, as a program would keep it. */
static void a_training_that_was_stopped_ends_with_the_same_bits(void **state)
{
	(void)state;
	run r;
	run_open(&r, 8100);
	hec_train_result *result;
	hec_training_options o = options_of(&r, "whole");
	hec_training *t = made(&r, &o);
	OK(&r.l.k, hec_training_learn(t, &result));
	CHECK(&r.l.k, result->end == HEC_TRAIN_DONE && result->step == STEPS && r.scores == 3,
	      "end %d at %lld, %lld validations", (int)result->end, (long long)result->step,
	      (long long)r.scores);
	hec_train_result_free(result);
	hec_training_destroy(t);

	o = options_of(&r, "parts");
	r.stop_at = 6;
	t = made(&r, &o);
	OK(&r.l.k, hec_training_learn(t, &result));
	CHECK(&r.l.k, result->end == HEC_TRAIN_STOPPED && result->step == 6, "end %d at %lld",
	      (int)result->end, (long long)result->step);
	hec_train_result_free(result);
	hec_training_options settled;
	hec_training_options_of(t, &settled, sizeof settled);
	hec_training_destroy(t);

	r.stop_at = 0;
	settled.resume = true;
	t = made(&r, &settled);
	OK(&r.l.k, hec_training_learn(t, NULL));
	hec_training_destroy(t);
	CHECK(&r.l.k, r.steps == STEPS, "ended at step %lld", (long long)r.steps);
	check_same_model(&r, "whole", "parts");
	lab_close(&r.l);
}

static void what_is_left_open_is_settled(void **state)
{
	(void)state;
	run r;
	run_open(&r, 8110);
	hec_training_options o = options_of(&r, "settled");
	o.vocab = o.width = o.heads = o.encoder_layers = o.decoder_layers = 0;
	o.batch_tokens = -1;
	o.valid_every = o.save_every = 0;
	hec_training *t = made(&r, &o);
	hec_training_options now = settled_of(t);
	CHECK(&r.l.k, now.beta2 == 0.98 && now.schedule == HEC_SCHEDULE_LINEAR,
	      "settled by the options: beta2 %g, schedule %d", now.beta2, now.schedule);
	OK(&r.l.k, hec_training_estimate(t));
	now = settled_of(t);
	CHECK(&r.l.k,
	      now.width == 128 && now.heads == 4 && now.hidden == 512 && now.vocab == 300 &&
	              now.encoder_layers == 2 && now.max_length == 128,
	      "settled by the text: width %lld", (long long)now.width);
	CHECK(&r.l.k, access(r.dir, F_OK) != 0, "an estimate made %s", r.dir);
	CHECK(&r.l.k,
	      !hec_training_model(t) && !hec_training_ctx(t) && !hec_training_corpus(t) &&
	              !hec_training_valid(t) && !hec_training_listens(t),
	      "it is not open yet");
	OK(&r.l.k, hec_training_open(t, NULL));
	now = settled_of(t);
	CHECK(&r.l.k, now.batch_tokens > 0 && now.accumulate > 0 && now.valid_every == 50,
	      "settled by the model: %lld tokens", (long long)now.batch_tokens);
	CHECK(&r.l.k,
	      hec_model_config_of(hec_training_model(t))->width == 128 &&
	              hec_corpus_counts_of(hec_training_corpus(t))->examples == 60 &&
	              hec_corpus_counts_of(hec_training_valid(t))->examples == 8 &&
	              hec_ctx_threads(hec_training_ctx(t)) == 2,
	      "it is open");
	hec_training_memory *memory;
	OK(&r.l.k, hec_training_memory_of(t, &memory));
	CHECK(&r.l.k, memory->parameters > 0 && memory->activations > 0 && memory->sounds == 0,
	      "memory: %zu + %zu", memory->parameters, memory->activations);
	hec_training_memory_free(memory);
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_open(t, NULL), "open");
	hec_training_destroy(t);
	lab_close(&r.l);
}

/* 0 where a default is -1, and a memory so small that only the least batch remains. */
static void a_zero_that_is_asked_for_is_a_zero(void **state)
{
	(void)state;
	run r;
	run_open(&r, 8120);
	hec_training_options o = options_of(&r, "zero");
	o.dropout = o.smoothing = o.lr = 0;
	o.warmup = 0;
	o.batch_tokens = -1;
	o.memory = 1;
	hec_training *t = made(&r, &o);
	OK(&r.l.k, hec_training_open(t, NULL));
	hec_training_options now = settled_of(t);
	CHECK(&r.l.k,
	      now.dropout == 0 && now.smoothing == 0 && now.lr == 0 && now.warmup == 0 &&
	              now.batch_tokens == now.max_length,
	      "dropout %g, smoothing %g, lr %g, warmup %lld, %lld tokens", now.dropout,
	      now.smoothing, now.lr, (long long)now.warmup, (long long)now.batch_tokens);
	hec_training_destroy(t);
	lab_close(&r.l);
}

static void what_cannot_be_is_named(void **state)
{
	(void)state;
	run r;
	run_open(&r, 8130);
	static const char *const none = NULL;
#define CASE(status_, word_, ...)                                                                  \
	{                                                                                          \
		hec_training *t;                                                                   \
		hec_training_options o = options_of(&r, "refused");                                \
		__VA_ARGS__;                                                                       \
		FAILS(&r.l.k, status_, hec_training_create(&o, &t), word_);                        \
		CHECK(&r.l.k, !t, "something was made");                                           \
		CHECK(&r.l.k, access(r.dir, F_OK) != 0, "%s was made", r.dir);                     \
	}
	CASE(HEC_ERR_ARGUMENT, "task 9", o.task = (hec_task)9)
	CASE(HEC_ERR_ARGUMENT, "schedule 5", o.schedule = 5)
	CASE(HEC_ERR_ARGUMENT, "metric 6", o.best = (hec_metric)6)
	CASE(HEC_ERR_ARGUMENT, "f32, bf16 or f16", o.dtype = HEC_I32)
	CASE(HEC_ERR_ARGUMENT, "'max_length' is 32769", o.max_length = 32769)
	CASE(HEC_ERR_ARGUMENT, "'vocab' is -1; it is from 1 to 16777216, or 0", o.vocab = -1)
	CASE(HEC_ERR_ARGUMENT, "'dropout' is 1.5", o.dropout = 1.5)
	CASE(HEC_ERR_ARGUMENT, "'dropout' is -0.5; it is from 0 to less than 1, or -1",
	     o.dropout = -0.5)
	CASE(HEC_ERR_ARGUMENT, "'dropout' is 1;", o.dropout = 1)
	CASE(HEC_ERR_ARGUMENT, "'beta1' is 1;", o.beta1 = 1)
	CASE(HEC_ERR_ARGUMENT, "'smoothing' is 1;", o.smoothing = 1)
	CASE(HEC_ERR_ARGUMENT, "'max_length' is 1;", o.max_length = 1)
	CASE(HEC_ERR_ARGUMENT, "'threads' is -5", o.threads = -5)
	CASE(HEC_ERR_ARGUMENT, "'epochs' is 1000001", o.epochs = 1000001)
	CASE(HEC_ERR_ARGUMENT, "'dir' is empty", o.dir = "")
	CASE(HEC_ERR_ARGUMENT, "'from' is empty", o.from = "")
	CASE(HEC_ERR_ARGUMENT, "'train'[1] is empty", o.train = (const char *[]){r.names[0], ""})
	CASE(HEC_ERR_ARGUMENT, "'lr' is nan", o.lr = (double)__builtin_nanf(""))
	CASE(HEC_ERR_ARGUMENT, "'keep' is 0", o.keep = 0)
	CASE(HEC_ERR_ARGUMENT, "'batch_tokens' is 0", o.batch_tokens = 0)
	CASE(HEC_ERR_ARGUMENT, "'eps'", o.eps = 0)
	CASE(HEC_ERR_ARGUMENT, "in pairs", o.train_count = 1)
	CASE(HEC_ERR_ARGUMENT, "'train' is missing", o.train_count = 0)
	CASE(HEC_ERR_ARGUMENT, "'train' is missing", o.train = NULL)
	CASE(HEC_ERR_ARGUMENT, "'valid' is NULL", o.valid = NULL)
	CASE(HEC_ERR_ARGUMENT, "'train'[0] is NULL", o.train = (const char *[]){none, none})
	CASE(HEC_ERR_ARGUMENT, "'overrides' is of 'from'", o.overrides = r.names,
	     o.override_count = 1)
	CASE(HEC_ERR_ARGUMENT, "'from'", o.task = HEC_TASK_ANSWER)
	CASE(HEC_ERR_ARGUMENT, "'config' is too much", o.from = "x", o.config = "y")
	CASE(HEC_ERR_ARGUMENT, "measures loss, bleu", o.best = HEC_METRIC_F1)
	CASE(HEC_ERR_ARGUMENT, "without 'valid'", o.best = HEC_METRIC_BLEU, o.valid_count = 0)
	CASE(HEC_ERR_ARGUMENT, "'steps' says which", o.schedule = HEC_SCHEDULE_LINEAR, o.steps = 0)
	CASE(HEC_ERR_ARGUMENT, "size", o.size = 3)
	CASE(HEC_ERR_IO, "nothing", r.names[1] = "nothing")
	r.names[1] = r.files[1];
	CASE(HEC_ERR_IO, "nowhere", o.from = "nowhere")
	hec_training *t;
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_create(NULL, &t), "options");
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_create(&(hec_training_options){0}, NULL),
	      "out");
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_open(NULL, NULL), "NULL");
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_learn(NULL, NULL), "NULL");
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_estimate(NULL), "NULL");
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_memory_of(NULL, NULL), "NULL");
	hec_training_destroy(NULL);
	hec_training_memory_free(NULL);
	lab_close(&r.l);
}

/* What only the text shows. */
static void sizes_that_do_not_fit_are_found_before_the_first_step(void **state)
{
	(void)state;
	run r;
	run_open(&r, 8140);
	hec_training_options o = options_of(&r, "odd");
	o.heads = 5;
	hec_training *t = made(&r, &o);
	FAILS(&r.l.k, HEC_ERR_SHAPE, hec_training_open(t, NULL), "'heads' is 5");
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_open(t, NULL), "tried to open");
	hec_training_destroy(t);

	o = options_of(&r, "no dir");
	o.dir = NULL;
	t = made(&r, &o);
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_learn(t, NULL), "'dir' is missing");
	hec_training_destroy(t);
	lab_close(&r.l);
}

static uint32_t sum_of(run *r, const char *name, const char *file)
{
	char path[192], *data;
	size_t bytes;
	uint32_t sum = 0;
	snprintf(path, sizeof path, "%s/%s", lab_path(&r->l, name), file);
	OK(&r->l.k, file_read(path, 1 << 24, &data, &bytes));
	for (size_t i = 0; i < bytes; i++)
		sum = sum * 31 + (unsigned char)data[i];
	hec_free(data);
	return sum;
}

/* Neither by one that begins there, nor by one that goes on with something else. */
static void a_run_that_is_there_is_not_written_over(void **state)
{
	(void)state;
	run r;
	run_open(&r, 8180);
	hec_training_options o = options_of(&r, "there");
	hec_training *t = made(&r, &o);
	OK(&r.l.k, hec_training_learn(t, NULL));
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_learn(t, NULL), "has learned");
	o = settled_of(t);
	hec_training_destroy(t);
	static const char *const files[] = {"tokenizer.json", "cache/train.tokens",
	                                    "model.safetensors"};
	uint32_t before[3];
	for (int i = 0; i < 3; i++)
		before[i] = sum_of(&r, "there", files[i]);

	char *text[2];
	size_t bytes[2];
	for (int i = 0; i < 2; i++)
		OK(&r.l.k, file_read(r.files[i], 1 << 20, &text[i], &bytes[i]));
	lab_write_pairs(&r.l, "a", "b", 90); /* other text */
	t = made(&r, &o);
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_learn(t, NULL), "holds a run already");
	hec_training_destroy(t);
	o.resume = true;
	t = made(&r, &o);
	FAILS(&r.l.k, HEC_ERR_FORMAT, hec_training_learn(t, NULL), "other ids");
	hec_training_destroy(t);
	hec_training_options other = HEC_TRAINING_OPTIONS_INIT;
	other.task = HEC_TASK_LM;
	other.from = TESTS_DIR "/golden/models/gpt2_base";
	other.train = r.names;
	other.train_count = 1;
	other.dir = r.dir;
	other.resume = true;
	t = made(&r, &other);
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_open(t, NULL), "'from' cannot be changed");
	hec_training_destroy(t);
	for (int i = 0; i < 3; i++)
		CHECK(&r.l.k, sum_of(&r, "there", files[i]) == before[i], "%s has changed",
		      files[i]);

	for (int i = 0; i < 2; i++) { /* with the text of the run it goes on */
		lab_write(&r.l, i ? "b" : "a", text[i], bytes[i]);
		hec_free(text[i]);
	}
	o.steps += 3;
	t = made(&r, &o);
	OK(&r.l.k, hec_training_learn(t, NULL));
	CHECK(&r.l.k, r.steps == STEPS + 3, "ended at step %lld", (long long)r.steps);
	hec_training_destroy(t);
	lab_close(&r.l);
}

/* What an estimate found is not what was asked for. */
static void an_estimate_changes_nothing(void **state)
{
	(void)state;
	run r;
	run_open(&r, 8190);
	lab_write(&r.l, "labels", "x\tone\ny\ttwo\n", 12);
	hec_training_options o = HEC_TRAINING_OPTIONS_INIT, found[2];
	const char *file = lab_path(&r.l, "labels");
	o.task = HEC_TASK_CLASSIFY;
	o.train = &file;
	o.train_count = 1;
	o.vocab = 280;
	o.width = 16;
	o.steps = 0;
	o.epochs = 3;
	o.threads = 2;
	for (int i = 0; i < 2; i++) {
		char dir[128];
		snprintf(dir, sizeof dir, "%s", lab_path(&r.l, i ? "with" : "without"));
		o.dir = dir;
		hec_training *t = made(&r, &o);
		if (i)
			OK(&r.l.k, hec_training_estimate(t));
		OK(&r.l.k, hec_training_open(t, NULL));
		FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_estimate(t), "open");
		CHECK(&r.l.k, hec_model_config_of(hec_training_model(t))->labels == 2, "labels");
		found[i] = settled_of(t);
		hec_training_destroy(t);
	}
	CHECK(&r.l.k,
	      found[0].steps == found[1].steps && found[0].warmup == found[1].warmup &&
	              found[0].batch_tokens == found[1].batch_tokens,
	      "%lld steps with an estimate, %lld without", (long long)found[1].steps,
	      (long long)found[0].steps);
	lab_close(&r.l);
}

/* At each of the calls that ask: none is passed over. */
static void whoever_watches_can_stop_it_at_any_time(void **state)
{
	(void)state;
	run r;
	run_open(&r, 8150);
	lab_write_pairs(&r.l, "a", "b", 9000); /* so many that it asks */
	hec_training_options o = options_of(&r, "counted");
	hec_training *t = made(&r, &o);
	OK(&r.l.k, hec_training_open(t, NULL));
	hec_training_destroy(t);
	const int64_t phases = r.phases;
	CHECK(&r.l.k, phases > 0, "nobody asked");
	for (int64_t i = 1; i <= phases; i++) {
		char name[32];
		snprintf(name, sizeof name, "stopped%lld", (long long)i);
		o = options_of(&r, name);
		r.phases = 0;
		r.cancel_at = i;
		t = made(&r, &o);
		FAILS(&r.l.k, HEC_ERR_CANCELLED, hec_training_open(t, NULL), "");
		hec_training_destroy(t);
	}
	lab_close(&r.l);
}

/* Whoever writes into the folder before holds its lock already. */
static void the_folder_is_one_training_alone(void **state)
{
	(void)state;
	run r;
	run_open(&r, 8160);
	hec_train_lock *lock;
	hec_training_options o = options_of(&r, "locked");
	CHECK(&r.l.k, mkdir(r.dir, 0777) == 0, "%s could not be made", r.dir);
	OK(&r.l.k, hec_train_lock_create(r.dir, &lock));
	hec_training *t = made(&r, &o);
	FAILS(&r.l.k, HEC_ERR_IO, hec_training_open(t, NULL), "");
	hec_training_destroy(t);
	t = made(&r, &o);
	OK(&r.l.k, hec_training_open(t, lock));
	OK(&r.l.k, hec_training_learn(t, NULL));
	hec_training_destroy(t);
	hec_train_lock_destroy(lock);
	lab_close(&r.l);
}

static hec_status open_and_close(void *user)
{
	const hec_training_options *o = user;
	hec_training *t;
	hec_status status = hec_training_create(o, &t);
	if (status == HEC_OK)
		status = hec_training_open(t, NULL);
	hec_training_destroy(t);
	return status;
}

static void the_time_it_takes_is_measured_and_changes_nothing(void **state)
{
	(void)state;
	run r;
	run_open(&r, 8175);
	double seconds = -1;
	for (int measured = 0; measured < 2; measured++) {
		hec_training_options o = options_of(&r, measured ? "measured" : "not");
		hec_training *t = made(&r, &o);
		FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_time(t, &seconds), "not open");
		OK(&r.l.k, hec_training_open(t, NULL));
		FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_time(t, NULL), "NULL");
		FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_time(NULL, &seconds), "NULL");
		if (measured)
			OK(&r.l.k, hec_training_time(t, &seconds));
		CHECK(&r.l.k, !measured || (seconds > 0 && seconds < 100), "%g s", seconds);
		OK(&r.l.k, hec_training_learn(t, NULL));
		FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_training_time(t, &seconds), "has learned");
		hec_training_destroy(t);
	}
	char line[400];
	snprintf(line, sizeof line, "cmp '%s/model.safetensors' '%s/../not/model.safetensors'",
	         r.dir, r.dir);
	CHECK(&r.l.k, system(line) == 0, "another model");
	/* Without an end it takes for ever, and rises as long as a run of the usual length. */
	hec_training_options o = options_of(&r, "endless");
	o.steps = 0;
	hec_training *t = made(&r, &o);
	OK(&r.l.k, hec_training_open(t, NULL));
	OK(&r.l.k, hec_training_time(t, &seconds));
	const hec_training_options now = settled_of(t);
	CHECK(&r.l.k, isinf(seconds) && now.schedule == HEC_SCHEDULE_INVERSE_SQRT && now.steps == 0,
	      "%g s", seconds);
	CHECK(&r.l.k, now.warmup > 10 && now.warmup < 500, "warm-up of %lld",
	      (long long)now.warmup);
	hec_training_destroy(t);
	/* Of steps and epochs, whichever ends first. */
	o = options_of(&r, "both");
	o.steps = 4000;
	o.epochs = 2;
	t = made(&r, &o);
	OK(&r.l.k, hec_training_open(t, NULL));
	CHECK(&r.l.k, settled_of(t).steps < 200, "%lld steps", (long long)settled_of(t).steps);
	hec_training_destroy(t);
	lab_close(&r.l);
}

static void a_range_can_be_asked_for(void **state)
{
	(void)state;
	lab l = lab_open(8170);
	int64_t least = 7, most = 7;
	CHECK(&l.k, hec_training_range("max_length", &least, &most), "no range");
	CHECK(&l.k, least == 2 && most == 32768, "from %lld to %lld", (long long)least,
	      (long long)most);
	CHECK(&l.k, hec_training_range("lr", &least, &most) && least == 0 && most == 1000,
	      "of a real number");
	CHECK(&l.k, !hec_training_range("dir", &least, &most), "a folder is no number");
	CHECK(&l.k, !hec_training_range("max", &least, &most), "there is no such option");
	CHECK(&l.k, !hec_training_range(NULL, &least, &most), "NULL");
	lab_close(&l);
}

static bool is_there(const run *r, const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", r->dir, name);
	return access(path, F_OK) == 0;
}

static void write_into(const run *r, const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", r->dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
}

/* The folder is made with those that it lies in; what a run made goes, what others put there stays. */
static void a_run_that_never_began_can_be_undone(void **state)
{
	(void)state;
	run r;
	run_open(&r, 8180);
	hec_train_lock *lock;
	hec_training_options o = options_of(&r, "deep/er/run/"); /* however it is written */
	for (int others = 0; others < 2; others++) {
		hec_training *t = made(&r, &o);
		OK(&r.l.k, hec_train_lock_create(r.dir, &lock));
		OK(&r.l.k, hec_training_open(t, lock));
		hec_training_destroy(t);
		CHECK(&r.l.k, is_there(&r, "tokenizer.json") && is_there(&r, "cache"),
		      "nothing was made");
		if (others) {
			write_into(&r, "notes.tmp");
			write_into(&r, "word2vec.model");
		}
		OK(&r.l.k, hec_train_undo(lock, r.dir));
		hec_train_lock_destroy(lock);
		CHECK(&r.l.k, !is_there(&r, "tokenizer.json") && !is_there(&r, "cache"),
		      "something stays");
		CHECK(&r.l.k, is_there(&r, "") == others, "others: %d", others);
	}
	/* What was there before is nobody's to remove. */
	write_into(&r, "best");
	OK(&r.l.k, hec_train_lock_create(r.dir, &lock));
	OK(&r.l.k, hec_train_undo(lock, r.dir));
	CHECK(&r.l.k,
	      is_there(&r, "best") && is_there(&r, "notes.tmp") && is_there(&r, "word2vec.model"),
	      "removed");
	FAILS(&r.l.k, HEC_ERR_IO, hec_train_undo(lock, "/"), "not the folder that was locked");
	FAILS(&r.l.k, HEC_ERR_ARGUMENT, hec_train_undo(NULL, r.dir), "NULL");
	hec_train_lock_destroy(lock);
	lab_close(&r.l);
}

static void every_refused_allocation_is_an_error_and_nothing_leaks(void **state)
{
	(void)state;
	run r;
	run_open(&r, 8170);
	hec_training_options o = options_of(&r, "refused");
	o.threads = 1;
	OK(&r.l.k, open_and_close(&o));
	const long calls = refuse_each(&r.l.k, open_and_close, &o);
	CHECK(&r.l.k, calls > 100, "%ld allocations", calls);
	lab_close(&r.l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_training_that_was_stopped_ends_with_the_same_bits),
		cmocka_unit_test(what_is_left_open_is_settled),
		cmocka_unit_test(a_zero_that_is_asked_for_is_a_zero),
		cmocka_unit_test(what_cannot_be_is_named),
		cmocka_unit_test(sizes_that_do_not_fit_are_found_before_the_first_step),
		cmocka_unit_test(a_run_that_is_there_is_not_written_over),
		cmocka_unit_test(an_estimate_changes_nothing),
		cmocka_unit_test(whoever_watches_can_stop_it_at_any_time),
		cmocka_unit_test(the_folder_is_one_training_alone),
		cmocka_unit_test(the_time_it_takes_is_measured_and_changes_nothing),
		cmocka_unit_test(a_range_can_be_asked_for),
		cmocka_unit_test(a_run_that_never_began_can_be_undone),
		cmocka_unit_test(every_refused_allocation_is_an_error_and_nothing_leaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
