/* learn.c — learning: a corpus from files, a step by hand, the loop, and questions on texts. */
#include "world.h"

/* ---- corpus.h ---- */

/* Every text of up to four words; one line has no words, one is too long. */
static void write_pairs(const char *folder)
{
	static const char *const words[] = {"the", "cat", "dog", "bird", "saw", "a", "red"};
	char text[2][8192] = {"", ""};
	for (int i = 0; i < 40; i++) {
		for (int j = 0; j <= i % 4; j++) {
			const char *word = words[(i * 5 + j * 3) % 7];
			strcat(strcat(text[0], j ? " " : ""), word);
			strcat(strcat(text[1], j ? " " : ""), word);
		}
		strcat(text[0], "\n");
		strcat(text[1], "\n");
	}
	strcat(text[0], "\na dog\n");
	strcat(text[1], "\na a a a a a a a a a a a a a a a a a a a a\n");
	world_write_text(folder, "source", text[0]);
	world_write_text(folder, "target", text[1]);
}

static hec_status count_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)done, (void)total;
	EXPECT(*phase != 0);
	++*(int *)user;
	return HEC_OK;
}

static hec_corpus *open_corpus(const char *folder, const hec_tokenizer *tokenizer)
{
	const char *files[2] = {world_path(folder, "source"), world_path(folder, "target")};
	int calls = 0;
	int64_t batches;
	hec_corpus_options o = HEC_CORPUS_OPTIONS_INIT;
	hec_corpus *corpus;
	o.task = HEC_TASK_TRANSLATE;
	o.files = files;
	o.n = 2;
	o.tokenizer = tokenizer;
	o.max_source = o.max_target = 12;
	o.cache = world_path(folder, "ids");
	o.progress = count_progress;
	o.user = &calls;
	o.source_prefix = "big ";
	EXPECT_OK(hec_corpus_create(&o, &corpus));
	const hec_corpus_counts *c = hec_corpus_counts_of(corpus);
	EXPECT(c->lines == 42 && c->examples == 40 && c->empty == 1 && c->too_long == 1);
	EXPECT(c->target_tokens == 10 * (3 + 4 + 5 + 6));
	EXPECT(c->source_tokens == c->target_tokens + 40);
	EXPECT(c->bad_utf8 == 0 && c->no_tab == 0 && c->cut == 0 && c->seconds == 0);
	EXPECT_OK(hec_corpus_batches(corpus, 48, 0, 1, 2, &batches));
	EXPECT(batches >= 2 * 5);
	printf("corpus: %d batches, checksum %u, progress %d\n", (int)batches,
	       (unsigned)hec_corpus_checksum(corpus), calls);
	return corpus;
}

static void run_lines(const char *folder)
{
	const char *files[2] = {world_path(folder, "source"), world_path(folder, "target")},
		   *text[2];
	size_t bytes[2];
	bool more = true;
	int n = 0;
	hec_lines *lines;
	EXPECT_OK(hec_lines_create(HEC_TASK_TRANSLATE, files, 2, &lines));
	for (; more; n++)
		EXPECT_OK(hec_lines_next_pair(lines, text, bytes, &more));
	EXPECT(n == 42 && hec_lines_counts(lines)->lines == 42);
	EXPECT(hec_lines_counts(lines)->empty == 1 && hec_lines_counts(lines)->examples == 41);
	hec_lines_destroy(lines);
}

/* ---- trainer.h ---- */

static hec_trainer_options trainer_options(void)
{
	hec_trainer_options o = HEC_TRAINER_OPTIONS_INIT;
	o.schedule = HEC_SCHEDULE_CONSTANT;
	o.lr = 0.01;
	o.warmup = 2;
	o.smoothing = 0;
	o.max_rows = 8;
	o.max_tokens = 96;
	o.max_source = o.max_target = 12;
	return o;
}

static void run_trainer(hec_ctx *ctx)
{
	int32_t ids[6] = {CLS, 5, SEP, CLS, 6, SEP}, begun[6] = {CLS, 5, 5, CLS, 6, 6};
	int32_t next[6] = {5, 5, SEP, 6, 6, -100};
	double loss = 0, sum = 0;
	int64_t targets = 0;
	hec_model *model = world_model(ctx, true, true, HEC_HEAD_LM, 41);
	hec_trainer_options o = trainer_options();
	hec_trainer *trainer;
	hec_trainer_memory *memory;
	hec_model_input input = HEC_MODEL_INPUT_INIT;
	hec_batch batch = HEC_BATCH_INIT;
	EXPECT_OK(hec_trainer_plan(ctx, model, &o, &memory));
	EXPECT(memory->parameters >= 16 * 3000 && memory->activations > 10000);
	printf("plan: %zu\n", memory->parameters);
	hec_trainer_memory_free(memory);
	EXPECT_OK(hec_trainer_create(ctx, model, &o, &trainer));
	EXPECT(hec_trainer_report(trainer)->step == 0);
	input.ids = hec_tensor_2d(ids, HEC_I32, 2, 3);
	input.decoder_ids = hec_tensor_2d(begun, HEC_I32, 2, 3);
	batch.input = &input;
	batch.targets = hec_tensor_2d(next, HEC_I32, 2, 3);
	for (int i = 1; i <= 20; i++) {
		const hec_batch *const batches[2] = {&batch, &batch};
		EXPECT_OK(hec_trainer_step(trainer, batches, 2));
		const hec_step_report *r = hec_trainer_report(trainer);
		EXPECT(r->step == i && r->targets == 10 && !r->skipped && r->skips == 0);
		EXPECT_NEAR(r->lr, i == 1 ? 0.005 : 0.01);
		EXPECT(r->grad_norm > 0 && (i < 20 || r->loss < loss / 2));
		loss = i == 1 ? r->loss : loss;
		printf("step %d: %.17g %.17g\n", i, r->loss, r->grad_norm);
	}
	EXPECT_OK(hec_trainer_loss(trainer, &batch, &sum, &targets));
	EXPECT(targets == 5 && sum / 5 < loss / 2);
	hec_trainer_destroy(trainer);
	hec_model_destroy(model);
}

/* ---- train.h ---- */

typedef struct watcher {
	int events[HEC_TRAIN_NOT_MEASURED + 1], batches;
	double best;
	int64_t step;
} watcher;

static hec_status watch(void *user, const hec_train_event *e)
{
	watcher *w = user;
	EXPECT(e->kind >= 0 && e->kind <= HEC_TRAIN_NOT_MEASURED);
	w->events[e->kind]++;
	EXPECT(e->step >= w->step && e->step <= e->steps && e->steps == 8);
	w->step = e->step;
	if (e->kind == HEC_TRAIN_REPORT)
		printf("report %d: %.17g %.17g, epoch %d\n", (int)e->step, e->loss, e->lr,
		       (int)e->epoch);
	if (e->kind == HEC_TRAIN_VALIDATE)
		EXPECT(e->done >= 0 && e->done <= e->total);
	if (e->kind == HEC_TRAIN_SCORES) {
		const double accuracy = hec_train_scores_get(e->scores, HEC_METRIC_ACCURACY);
		EXPECT(accuracy == 0.25 * (double)e->step);
		EXPECT(e->better == (accuracy > w->best) && e->skips == 0);
		w->best = accuracy;
	}
	if (e->kind == HEC_TRAIN_NOT_MEASURED || e->kind == HEC_TRAIN_SAVE_FAILED)
		EXPECT(!e->message);
	return HEC_OK;
}

static void take_batch(void *user, int64_t step, const hec_batch *batch)
{
	EXPECT(step >= 1 && batch->input->ids.rank == 2 && batch->targets.dtype == HEC_I32);
	EXPECT(batch->input->decoder_ids.shape[1] == batch->targets.shape[1]);
	((watcher *)user)->batches++;
}

static hec_status evaluate(void *user, hec_ctx *ctx, const hec_model *model,
                           hec_train_scores *scores)
{
	EXPECT(ctx && hec_model_config_of(model)->vocab == VOCAB);
	hec_train_scores_set(scores, HEC_METRIC_ACCURACY, 0.25 * (double)((watcher *)user)->step);
	return HEC_OK;
}

static void run_train(hec_ctx *ctx, const char *folder, const hec_tokenizer *tokenizer)
{
	const hec_trainer_options learn = trainer_options();
	hec_model *model = world_model(ctx, true, true, HEC_HEAD_LM, 42);
	hec_corpus *corpus = open_corpus(folder, tokenizer);
	watcher w = {.best = -1};
	hec_train_options o = HEC_TRAIN_OPTIONS_INIT;
	hec_train_result *result;
	hec_train_lock *lock;
	o.dir = folder;
	o.trainer = &learn;
	o.tokenizer = tokenizer;
	o.steps = 8;
	o.accumulate = 2;
	o.report_every = 2;
	o.valid_every = o.save_every = 4;
	o.keep = 1;
	o.best = HEC_METRIC_ACCURACY;
	o.seed = 5;
	o.evaluate = evaluate;
	o.event = watch;
	o.batch = take_batch;
	o.user = &w;
	EXPECT_OK(hec_train_lock_create(folder, &lock));
	o.lock = lock; /* without it, the folder is taken */
	EXPECT_OK(hec_train(ctx, model, corpus, corpus, &o, &result));
	EXPECT(result->end == HEC_TRAIN_DONE && result->step == 8 && result->best_step == 8);
	EXPECT(result->best == 2 && result->skips == 0 && result->saves_failed == 0);
	EXPECT(w.batches == 16 && w.events[HEC_TRAIN_REPORT] == 4 && w.events[HEC_TRAIN_STEP] == 8);
	EXPECT(w.events[HEC_TRAIN_SCORES] == 2 && w.events[HEC_TRAIN_SAVED] == 2);
	printf("trained: epoch %d\n", (int)result->epoch);
	hec_train_result_free(result);
	hec_train_lock_destroy(lock);
	hec_corpus_destroy(corpus);
	hec_model_destroy(model);
}

/* ---- squad.h ---- */

static void run_squad(const char *folder)
{
	static const char json[] =
		"{\"data\": [{\"paragraphs\": [{\"context\": \"Ada met Émile.\", \"qas\": ["
		"{\"id\": \"7\", \"question\": \"Who?\", \"answers\": ["
		"{\"text\": \"Ada\", \"answer_start\": 0}, {\"text\": \"Émile\", \"answer_start\": "
		"8}, "
		"{\"text\": \"met\", \"answer_start\": 4}]}, "
		"{\"id\": \"8\", \"question\": \"Where?\", \"answers\": [], \"is_impossible\": "
		"true}, "
		"{\"id\": \"9\", \"question\": \"How?\", \"answers\": ["
		"{\"text\": \"met\", \"answer_start\": 4}]}]}]}]}";
	static const char *const ids[] = {"7", "8", "9"}, *const texts[] = {"Ada", "Émile", "met"};
	static const size_t begins[] = {0, 8, 4}, ends[] = {3, 14, 7}, counts[] = {3, 0, 1};
	hec_squad *squad;
	world_write_text(folder, "squad.json", json);
	const char *file = world_path(folder, "squad.json");
	EXPECT_OK(hec_squad_load(&file, 1, &squad));
	EXPECT(hec_squad_count(squad) == 3 && !hec_squad_at(squad, 3));
	for (size_t i = 0; i < 3; i++) {
		const hec_squad_question *q = hec_squad_at(squad, i);
		EXPECT_TEXT(q->id, ids[i]);
		EXPECT(q->n == counts[i] && q->context_bytes == strlen(q->context));
		EXPECT(q->question_bytes == strlen(q->question));
	}
	const hec_squad_question *q = hec_squad_at(squad, 0);
	for (size_t i = 0; i < 3; i++) {
		const hec_squad_answer *a = &q->answers[i];
		EXPECT(a->begin == begins[i] && a->end == ends[i]);
		EXPECT_TEXT(a->text, texts[i]);
	}
	hec_squad_destroy(squad);
}

int main(int argc, char **argv)
{
	EXPECT(argc == 2);
	hec_ctx *ctx = world_ctx();
	hec_tokenizer *tokenizer = world_tokenizer(argv[1]);
	write_pairs(argv[1]);
	run_lines(argv[1]);
	run_trainer(ctx);
	run_train(ctx, argv[1], tokenizer);
	run_squad(argv[1]);
	hec_tokenizer_destroy(tokenizer);
	hec_ctx_destroy(ctx);
	return 0;
}
