/* test_masked_words.c — mlm: which words are asked for, what stands in their place, and that both are new in
 * every epoch, and the same in every validation. */
#include "support/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <hecate/train.h>

#include "train/batch.h"

enum { WORDS = 200, LINES = 300, LONGEST = 24 };

/* Lines of random words. */
static hec_corpus *open_lines(lab *l, const char *name, int lines)
{
	char path[64];
	FILE *f = fopen(lab_path(l, name), "w");
	assert_non_null(f);
	for (int i = 0; i < lines; i++)
		for (int64_t j = draw_in(&l->k, 10, LONGEST - 2); j >= 0; j--)
			fprintf(f, "w%d%c", (int)(draw(&l->k) % WORDS), j > 0 ? ' ' : '\n');
	assert_int_equal(fclose(f), 0);
	const char *file = lab_path(l, name);
	snprintf(path, sizeof path, "%s.cache", name);
	hec_corpus_options o = {.size = sizeof o,
	                        .task = HEC_TASK_MLM,
	                        .files = &file,
	                        .n = 1,
	                        .tokenizer = l->tokenizer,
	                        .max_source = LONGEST + 2,
	                        .max_target = 9,
	                        .cache = lab_path(l, path)};
	hec_corpus *corpus = NULL;
	OK(&l->k, hec_corpus_create(&o, &corpus));
	return corpus;
}

static batcher *open_masks(const lab *l, const hec_corpus *corpus, uint64_t seed, double rate)
{
	const batcher_options o = {
		.max_tokens = 200, .seed = seed, .pad_id = 0, .mask_rate = rate, .encoder = true};
	batcher *b = NULL;
	OK(&l->k, batcher_create(corpus, &o, &b));
	return b;
}

/* What became of every place of every line. */
typedef struct epoch_masks {
	bool asked[LINES][LONGEST + 2];
	int64_t places, count, hidden, other, kept;
} epoch_masks;

/* The example that a row is made of. */
static int64_t find_line(const kit *k, const hec_corpus *corpus, const int32_t *ids, int64_t n)
{
	int32_t own[LONGEST + 2];
	for (int64_t i = 0; i < corpus->header.count; i++) {
		if (corpus->lengths[i][0] != n)
			continue;
		OK(k, corpus_read(corpus, i, own));
		if (memcmp(own, ids, (size_t)n * sizeof *own) == 0)
			return i;
	}
	CHECK(k, false, "a row of %lld ids is no line", (long long)n);
	return -1;
}

static void read_row(const kit *k, const hec_corpus *corpus, const int32_t *ids,
                     const int32_t *targets, int64_t n, int64_t width, epoch_masks *out)
{
	int32_t whole[LONGEST + 2];
	for (int64_t i = 0; i < width; i++) {
		CHECK(k, i < n || (ids[i] == 0 && targets[i] == -100), "padding %d asks for %d",
		      ids[i], targets[i]);
		if (i < n)
			whole[i] = targets[i] != -100 ? targets[i] : ids[i];
	}
	CHECK(k,
	      ids[0] == WORD_CLS && ids[n - 1] == WORD_SEP && targets[0] == -100 &&
	              targets[n - 1] == -100,
	      "%d … %d: %d and %d are asked for", ids[0], ids[n - 1], targets[0], targets[n - 1]);
	const int64_t line = find_line(k, corpus, whole, n);
	out->places += n - 2;
	for (int64_t i = 1; i + 1 < n; i++) {
		out->asked[line][i] = targets[i] != -100;
		if (targets[i] == -100)
			continue;
		out->count++;
		out->hidden += ids[i] == WORD_MASK;
		out->kept += ids[i] == targets[i];
		out->other += ids[i] != WORD_MASK && ids[i] != targets[i];
	}
}

static void read_epoch(const kit *k, const hec_corpus *corpus, batcher *b, epoch_masks *out)
{
	memset(out, 0, sizeof *out);
	for (bool ended = false; !ended;) {
		hec_batch batch;
		OK(k, batcher_next(b, &batch, &ended));
		const hec_model_input *in = batch.input;
		const int64_t S = in->ids.shape[1];
		for (int64_t i = 0; i < in->ids.shape[0]; i++)
			read_row(k, corpus, (const int32_t *)in->ids.data + i * S,
			         (const int32_t *)batch.targets.data + i * S, in->length[i], S,
			         out);
	}
}

/* Five standard deviations either way. */
static void check_share(const kit *k, const char *what, int64_t got, double p, int64_t n)
{
	CHECK(k, fabs((double)got - p * (double)n) < 5 * sqrt(p * (1 - p) * (double)n),
	      "%s: %lld of %lld, not a share of %g", what, (long long)got, (long long)n, p);
}

static void of_ten_words_asked_for_eight_are_hidden_and_one_is_another(void **state)
{
	(void)state;
	static epoch_masks m;
	static const double rates[] = {0.15, 0.4};
	lab l = lab_open(7600);
	lab_know_words(&l, WORDS);
	hec_corpus *corpus = open_lines(&l, "text", LINES);
	for (int i = 0; i < 2; i++) {
		batcher *b = open_masks(&l, corpus, 5, rates[i]);
		read_epoch(&l.k, corpus, b, &m);
		check_share(&l.k, "asked for", m.count, rates[i], m.places);
		check_share(&l.k, "hidden", m.hidden, 0.8, m.count);
		check_share(&l.k, "another", m.other, 0.1, m.count);
		check_share(&l.k, "as it was", m.kept, 0.1, m.count);
		batcher_destroy(b);
	}
	hec_corpus_destroy(corpus);
	lab_close(&l);
}

/* Places that both ask for, as many as chance makes; n: of how many. */
static void check_unlike(const kit *k, const char *what, const epoch_masks *a, const epoch_masks *b,
                         int line, int place)
{
	int64_t both = 0, n = 0;
	for (int64_t i = 0; i + line < LINES; i++)
		for (int64_t j = 1; j + place < 11; j++, n++) /* each line has that many words */
			both += a->asked[i][j] && b->asked[i + line][j + place];
	check_share(k, what, both, 0.4 * 0.4, n);
}

static void each_epoch_asks_for_other_words(void **state)
{
	(void)state;
	static epoch_masks epochs[3], other, again;
	lab l = lab_open(7610);
	lab_know_words(&l, WORDS);
	hec_corpus *corpus = open_lines(&l, "text", LINES);
	batcher *b = open_masks(&l, corpus, 5, 0.4);
	for (int i = 0; i < 3; i++)
		read_epoch(&l.k, corpus, b, &epochs[i]);
	check_unlike(&l.k, "the first epochs", &epochs[0], &epochs[1], 0, 0);
	check_unlike(&l.k, "later epochs", &epochs[1], &epochs[2], 0, 0);
	check_unlike(&l.k, "epochs two apart", &epochs[0], &epochs[2], 0, 0);
	check_unlike(&l.k, "lines", &epochs[0], &epochs[0], 1, 0);
	check_unlike(&l.k, "words", &epochs[0], &epochs[0], 0, 1);
	/* What a run that is resumed goes on with. */
	OK(&l.k, batcher_seek(b, (batch_place){1, 0}));
	read_epoch(&l.k, corpus, b, &again);
	assert_memory_equal(&again, &epochs[1], sizeof again);
	batcher_destroy(b);
	b = open_masks(&l, corpus, 5 + ((uint64_t)1 << 32), 0.4);
	read_epoch(&l.k, corpus, b, &other);
	check_unlike(&l.k, "seeds", &epochs[0], &other, 0, 0);
	batcher_destroy(b);
	hec_corpus_destroy(corpus);
	lab_close(&l);
}

/* ---- validation ---- */

typedef struct found {
	int n;
	double loss[8];
} found;

static hec_status keep_loss(void *user, const hec_train_event *e)
{
	found *f = user;
	if (e->kind == HEC_TRAIN_SCORES && f->n < 8)
		f->loss[f->n++] = hec_train_scores_get(e->scores, HEC_METRIC_LOSS);
	return HEC_OK;
}

static void a_model_that_stays_as_it_is_is_judged_the_same_each_time(void **state)
{
	(void)state;
	lab l = lab_open(7620);
	lab_know_words(&l, WORDS);
	hec_corpus *train = open_lines(&l, "text", 40), *valid = open_lines(&l, "valid", 30);
	const hec_model_config config = {
		.size = sizeof config,
		.vocab = FIRST_WORD + WORDS,
		.width = 8,
		.encoder = {.layers = 1,
	                    .attention = {.heads = 1},
	                    .feed_forward = {.hidden = 8},
	                    .position = {.kind = HEC_POSITION_SINUSOIDAL, .max = LONGEST + 2}},
		.head = HEC_HEAD_MASKED,
		.pad_id = 0,
		.bos_id = -1,
		.eos_id = -1,
		.start_id = -1};
	hec_model *m = NULL;
	OK(&l.k, hec_model_create(l.k.ctx, &config, HEC_F32, 3, &m));
	found f = {0};
	hec_train_options o = HEC_TRAIN_OPTIONS_INIT;
	o.dir = lab_path(&l, "run");
	o.steps = 8;
	o.valid_every = 2;
	o.mask_rate = 0.3;
	hec_trainer_options trainer = HEC_TRAINER_OPTIONS_INIT;
	trainer.lr = 0; /* nothing is learned */
	trainer.max_tokens = 200;
	trainer.max_source = trainer.max_target = LONGEST + 2;
	o.trainer = &trainer;
	o.event = keep_loss;
	o.user = &f;
	OK(&l.k, hec_train(l.k.ctx, m, train, valid, &o, NULL));
	assert_int_equal(f.n, 4);
	for (int i = 0; i < f.n; i++)
		CHECK(&l.k, isfinite(f.loss[i]) && f.loss[i] == f.loss[0], "%.17g, then %.17g",
		      f.loss[0], f.loss[i]);
	hec_model_destroy(m);
	hec_corpus_destroy(train);
	hec_corpus_destroy(valid);
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_ten_words_asked_for_eight_are_hidden_and_one_is_another),
		cmocka_unit_test(each_epoch_asks_for_other_words),
		cmocka_unit_test(a_model_that_stays_as_it_is_is_judged_the_same_each_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
