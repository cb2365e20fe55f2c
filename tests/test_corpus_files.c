/* test_corpus_files.c — the files that learning keeps (ids, log) when someone has changed them, or when
 * they are large. */
#include "support/train.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/checkpoint.h"
#include "train/corpus.h"
#include "train/log.h"
#include "train/scores.h"

static void put_id(const char *path, int64_t at, int32_t id)
{
	int fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &id, sizeof id, at * (int64_t)sizeof id), sizeof id);
	close(fd);
}

static int32_t get_id(const char *path, int64_t at)
{
	int32_t id = -1;
	int fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &id, sizeof id, at * (int64_t)sizeof id), sizeof id);
	close(fd);
	return id;
}

static void ids_that_were_changed_are_made_again(void **state)
{
	(void)state;
	lab l = lab_open(7400);
	lab_write_pairs(&l, "a", "b", 50);
	lab_learn_tokenizer(&l, "a", "b");
	hec_corpus *corpus = lab_corpus(&l, "a", "b", "cache");
	int64_t ids = corpus->header.ids;
	hec_corpus_destroy(corpus);
	/* One that is no id, one less than any, and one that could be. */
	const int32_t wrong[3] = {1 << 30, -7, 5};
	for (int i = 0; i < 3; i++) {
		int64_t at = i * (ids - 1) / 2;
		int32_t right = get_id(lab_path(&l, "cache.tokens"), at);
		put_id(lab_path(&l, "cache.tokens"), at, right == wrong[i] ? 6 : wrong[i]);
		corpus = lab_corpus(&l, "a", "b", "cache");
		hec_corpus_destroy(corpus);
		assert_int_equal(get_id(lab_path(&l, "cache.tokens"), at), right);
	}
	lab_close(&l);
}

/* The sum is over all examples, also of texts that have one side only. */
static void every_text_has_its_own_sum(void **state)
{
	(void)state;
	static const hec_task tasks[] = {HEC_TASK_LM, HEC_TASK_MLM};
	lab l = lab_open(7406);
	lab_write_pairs(&l, "a", "b", 50);
	lab_learn_tokenizer(&l, "a", "b");
	for (int i = 0; i < 2; i++) {
		uint32_t sums[2];
		for (int k = 0; k < 2; k++) {
			const char *file = lab_path(&l, "text");
			lab_write(&l, "text", k ? "1 2 3\n4 5\n" : "1 2 4\n4 5\n", 10);
			hec_corpus_options o = {.size = sizeof o,
			                        .task = tasks[i],
			                        .files = &file,
			                        .n = 1,
			                        .tokenizer = l.tokenizer,
			                        .max_source = 5,
			                        .max_target = 5,
			                        .cache = lab_path(&l, "sum")};
			hec_corpus *corpus;
			OK(&l.k, hec_corpus_create(&o, &corpus));
			sums[k] = hec_corpus_checksum(corpus);
			hec_corpus_destroy(corpus);
			/* Time of change and size might be the same. */
			unlink(lab_path(&l, "sum.index"));
		}
		CHECK(&l.k, sums[0] != sums[1] && sums[0] != 0, "task %d: %u and %u", i, sums[0],
		      sums[1]);
	}
	lab_close(&l);
}

static void an_id_that_changes_under_our_hands_is_told(void **state)
{
	(void)state;
	lab l = lab_open(7401);
	lab_write_pairs(&l, "a", "b", 50);
	lab_learn_tokenizer(&l, "a", "b");
	hec_corpus *corpus = lab_corpus(&l, "a", "b", "cache");
	int32_t example[2 * CORPUS_LONGEST];
	OK(&l.k, corpus_read(corpus, 0, example));
	const int32_t wrong[2] = {(int32_t)hec_tokenizer_vocab(l.tokenizer), -1};
	for (int side = 0; side < 2; side++) {
		int64_t at = side ? corpus->lengths[0][0] : 0;
		int32_t right = get_id(lab_path(&l, "cache.tokens"), at);
		for (int i = 0; i < 2; i++) {
			put_id(lab_path(&l, "cache.tokens"), at, wrong[i]);
			FAILS(&l.k, HEC_ERR_FORMAT, corpus_read(corpus, 0, example), "cache.tokens",
			      "example 0");
		}
		put_id(lab_path(&l, "cache.tokens"), at, right);
	}
	hec_corpus_destroy(corpus);
	lab_close(&l);
}

/* A name shorter than what it is compared with. */
static void names_that_are_no_checkpoints_are_passed_over(void **state)
{
	(void)state;
	lab l = lab_open(7402);
	static const char *const names[] = {"s", "", "step", "step-", "step-x", "step-1x"};
	assert_int_equal(mkdir(lab_path(&l, "checkpoint"), 0777), 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		/* Of exactly its size, so that a sanitizer sees what is read behind it. */
		lab_write(&l, "checkpoint/latest", names[i], strlen(names[i]));
		assert_false(hec_train_can_resume(l.dir));
	}
	lab_write(&l, "checkpoint/latest", "step-00000001\n", 14);
	assert_true(hec_train_can_resume(l.dir));
	lab_close(&l);
}

/* ---- the log ---- */

static char *log_text(const lab *l)
{
	static char text[4096];
	FILE *f = fopen(lab_path(l, "log.jsonl"), "rb");
	assert_non_null(f);
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	return text;
}

static void a_log_has_plain_numbers(void **state)
{
	(void)state;
	lab l = lab_open(7403);
	hec_train_scores scores;
	for (int i = 0; i < HEC_METRICS; i++)
		hec_train_scores_set(&scores, (hec_metric)i, 60);
	hec_train_scores_set(&scores, HEC_METRIC_CHRF, 61.25);
	assert_true(hec_train_scores_get(&scores, HEC_METRIC_CHRF) == 61.25);
	log_line line = {
		.step = 1, .lr = 10, .loss = 2.5, .tokens_per_s = 12000, .scores = &scores};
	OK(&l.k, log_add(lab_path(&l, "log.jsonl"), &line));
	const char *text = log_text(&l);
	static const char *const wanted[] = {"\"accuracy\":60.0", "\"chrf\":61.25", "\"lr\":10.0",
	                                     "\"loss\":2.5", "\"tokens_per_s\":12000.0"};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		CHECK(&l.k, strstr(text, wanted[i]), "%s is not in %s", wanted[i], text);
	lab_close(&l);
}

static void a_log_is_cut_at_a_step(void **state)
{
	(void)state;
	lab l = lab_open(7404);
	static const char *const rows[][2] = {
		{"{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n", "{\"step\":1}\n{\"step\":2}\n"},
		{"{\"step\":1}\n{\"step\":9}\n{\"step\":2}\n", "{\"step\":1}\n{\"step\":2}\n"},
		{"{\"step\":1}\n{\"step\":2}\n{\"st", "{\"step\":1}\n{\"step\":2}\n"},
		{"no\n{\"step\":1}\n", "{\"step\":1}\n"},
		{"{\"step\":5}\n", ""},
		{"", ""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		lab_write(&l, "log.jsonl", rows[i][0], strlen(rows[i][0]));
		OK(&l.k, log_cut(lab_path(&l, "log.jsonl"), 2));
		assert_string_equal(log_text(&l), rows[i][1]);
	}
	lab_close(&l);
}

/* More than a gigabyte, nearly all of it a hole: a line that is none of ours. */
static void a_log_of_more_than_a_gigabyte_is_cut_too(void **state)
{
	(void)state;
	lab l = lab_open(7405);
	const char first[] = "{\"step\":1}\n";
	lab_write(&l, "log.jsonl", first, strlen(first));
	assert_int_equal(truncate(lab_path(&l, "log.jsonl"), ((off_t)1 << 30) + 1000), 0);
	OK(&l.k, log_cut(lab_path(&l, "log.jsonl"), 2));
	assert_string_equal(log_text(&l), first);
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_that_were_changed_are_made_again),
		cmocka_unit_test(every_text_has_its_own_sum),
		cmocka_unit_test(an_id_that_changes_under_our_hands_is_told),
		cmocka_unit_test(names_that_are_no_checkpoints_are_passed_over),
		cmocka_unit_test(a_log_has_plain_numbers),
		cmocka_unit_test(a_log_is_cut_at_a_step),
		cmocka_unit_test(a_log_of_more_than_a_gigabyte_is_cut_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
