/* training.c — from files of text to a model, as `hecate train` does it. */
#include "world.h"

#include <stdint.h>

typedef struct watcher {
	int64_t steps, batches, scores;
} watcher;

static hec_status watch(void *user, const hec_train_event *e)
{
	watcher *w = user;
	w->steps += e->kind == HEC_TRAIN_STEP;
	w->scores += e->kind == HEC_TRAIN_SCORES;
	return HEC_OK;
}

static void take_batch(void *user, int64_t step, const hec_batch *batch)
{
	EXPECT(step >= 1 && batch->targets.dtype == HEC_I32);
	((watcher *)user)->batches++;
}

static hec_status go_on(void *user, const char *phase, int64_t done, int64_t total)
{
	EXPECT(user && phase[0] && done >= 0 && total >= 0);
	return HEC_OK;
}

static void write_lines(const char *folder)
{
	FILE *f = fopen(world_path(folder, "lines"), "w");
	EXPECT(f != NULL);
	for (int i = 0; i < 200; i++)
		fprintf(f, "%d %d\t%d\n", i, i % 7, i % 7);
	EXPECT(fclose(f) == 0);
}

int main(int argc, char **argv)
{
	EXPECT(argc == 2);
	write_lines(argv[1]);
	const char *lines = world_path(argv[1], "lines");
	watcher w = {0};
	hec_training *training;
	hec_training_options settled;
	hec_training_memory *memory;
	hec_train_result *result;
	hec_training_options o = HEC_TRAINING_OPTIONS_INIT;
	EXPECT(o.size == sizeof o && o.lr == -1 && o.beta1 == 0.9 && o.seed == 1);
	o.task = HEC_TASK_SEQ2SEQ;
	o.train = o.valid = &lines;
	o.train_count = o.valid_count = 1;
	o.dir = world_path(argv[1], "run");
	o.vocab = 270;
	o.width = 16;
	o.batch_tokens = 128;
	o.steps = 6;
	o.valid_every = 3;
	o.valid_sentences = 3;
	o.threads = 2;
	o.event = watch;
	o.batch = take_batch;
	o.progress = go_on;
	o.user = &w;
	EXPECT_OK(hec_training_create(&o, &training));
	EXPECT_OK(hec_training_estimate(training));
	hec_training_options_of(training, &settled, sizeof settled);
	printf("width %d, heads %d, layers %d, length %d\n", (int)settled.width, (int)settled.heads,
	       (int)settled.encoder_layers, (int)settled.max_length);
	EXPECT_OK(hec_training_open(training, NULL));
	EXPECT_OK(hec_training_memory_of(training, &memory));
	EXPECT(memory->parameters > 0 && memory->activations > 0 && memory->sounds == 0);
	hec_training_memory_free(memory);
	EXPECT(!hec_training_listens(training) && hec_ctx_threads(hec_training_ctx(training)) == 2);
	EXPECT(hec_model_config_of(hec_training_model(training))->width == 16);
	printf("examples: %d and %d\n",
	       (int)hec_corpus_counts_of(hec_training_corpus(training))->examples,
	       (int)hec_corpus_counts_of(hec_training_valid(training))->examples);
	EXPECT_OK(hec_training_learn(training, &result));
	EXPECT(result->end == HEC_TRAIN_DONE && result->step == 6);
	hec_train_result_free(result);
	hec_training_options_of(training, &settled, sizeof settled);
	hec_training_destroy(training);
	/* What was settled is what a second one goes on with. */
	settled.resume = true;
	settled.steps = 8;
	EXPECT_OK(hec_training_create(&settled, &training));
	EXPECT_OK(hec_training_learn(training, NULL));
	hec_training_destroy(training);
	printf("steps %d, batches %d, validations %d\n", (int)w.steps, (int)w.batches,
	       (int)w.scores);
	return 0;
}
