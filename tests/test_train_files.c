/* test_train_files.c — whatever happens to the disk, the last good checkpoint of a run stays good, and its log
 * whole; a checkpoint that is not what it claims is refused. */
#include "support/train_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "train/log.h"

static void a_disk_that_is_full_keeps_the_last_good_checkpoint(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	bench_unbroken(&b);
	struct rlimit before;
	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	order o = {.limit_at = 13};
	hec_train_options t = bench_options(&b, "full", &o);
	hec_status status = bench_run(&b, &t, NULL);
	char message[256];
	snprintf(message, sizeof message, "%s", hec_error_message());
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK(&b.l.k, status == HEC_ERR_IO, "it ended with %s: %s", hec_status_name(status),
	      message);
	assert_non_null(strstr(message, "not saved"));
	CHECK(&b.l.k, o.saved == 1 && o.failed >= 4, "%lld saved, %lld failed", (long long)o.saved,
	      (long long)o.failed);
	assert_true(hec_train_can_resume(lab_path(&b.l, "full")));
	/* Nothing half done is left beside it. */
	assert_int_not_equal(access(lab_path(&b.l, "full/checkpoint/step-00000020"), F_OK), 0);
	o = (order){0};
	t = bench_options(&b, "full", &o);
	t.resume = true;
	OK(&b.l.k, bench_run(&b, &t, NULL));
	bench_check_same(&b, "whole", "full");
	bench_close(&b);
}

static void a_line_that_did_not_fit_leaves_the_log_whole(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	signal(SIGXFSZ, SIG_IGN);
	order o = {.limit_at = 3, .relief_at = 30};
	hec_train_options t = bench_options(&b, "full", &o);
	OK(&b.l.k, bench_run(&b, &t, NULL));
	assert_true(o.failed > 0);
	char *log;
	size_t size;
	int lines = 0;
	OK(&b.l.k, file_read(lab_path(&b.l, "full/log.jsonl"), 1 << 20, &log, &size));
	for (char *at = log, *end; *at; at = end + 1, lines++) {
		end = strchr(at, '\n');
		CHECK(&b.l.k, end && strncmp(at, "{\"step\":", 8) == 0 && end[-1] == '}',
		      "line %d of the log is %.200s", lines, at);
		for (char *inside = at + 1; inside < end; inside++)
			CHECK(&b.l.k, *inside != '{', "two lines in one: %.300s", at);
	}
	CHECK(&b.l.k, lines >= 5, "only %d lines", lines);
	free(log);
	bench_close(&b);
}

/* What is left of a log when a run goes on: no line of a step that counts is lost, be the disk full or
 * a line in between spoiled. */
static void a_log_is_cut_on_a_full_disk(void **state)
{
	(void)state;
	static const char good[] = "{\"step\":4}\n{\"step\":8}\n", late[] = "{\"step\":12}\n{\"st";
	static const char spoiled[] =
		"{\"step\":4}\n{\"st{\"step\":6}\n{\"step\":8}\n{\"step\":12}\n";
	lab l = lab_open(7215);
	char text[128], *log;
	size_t size;
	struct rlimit before, none;
	getrlimit(RLIMIT_FSIZE, &before);
	none = before;
	none.rlim_cur = 1;
	signal(SIGXFSZ, SIG_IGN);
	size = (size_t)snprintf(text, sizeof text, "%s%s", good, late);
	lab_write(&l, "log", text, size);
	setrlimit(RLIMIT_FSIZE, &none);
	hec_status status = log_cut(lab_path(&l, "log"), 8);
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK(&l.k, status == HEC_OK, "%s", hec_error_message());
	OK(&l.k, file_read(lab_path(&l, "log"), sizeof text, &log, &size));
	assert_string_equal(log, good);
	free(log);
	lab_write(&l, "log", spoiled, sizeof spoiled - 1);
	setrlimit(RLIMIT_FSIZE, &none);
	status = log_cut(lab_path(&l, "log"), 8);
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK(&l.k, status == HEC_ERR_IO && strstr(hec_error_message(), "/log"), "%s",
	      hec_error_message());
	OK(&l.k, file_read(lab_path(&l, "log"), sizeof text, &log, &size));
	assert_string_equal(log, spoiled);
	free(log);
	OK(&l.k, log_cut(lab_path(&l, "log"), 8));
	OK(&l.k, file_read(lab_path(&l, "log"), sizeof text, &log, &size));
	assert_string_equal(log, good);
	free(log);
	lab_close(&l);
}

static void a_folder_that_cannot_be_written_is_told(void **state)
{
	(void)state;
	bench b = bench_open(7220);
	char name[64];
	OK(&b.l.k, HEC_OK);
	assert_int_equal(mkdir(lab_path(&b.l, "run"), 0777), 0);
	assert_int_equal(mkdir(lab_path(&b.l, "run/checkpoint"), 0777), 0);
	/* A file where the folder of a save would go. */
	snprintf(name, sizeof name, "run/checkpoint/.new-%ld", (long)getpid());
	lab_write(&b.l, name, "x", 1);
	order o = {0};
	hec_train_options t = bench_options(&b, "run", &o);
	FAILS(&b.l.k, HEC_ERR_IO, bench_run(&b, &t, NULL), "not saved");
	assert_true(o.failed == STEPS / SAVE_EVERY + 1 && o.saved == 0);
	assert_non_null(strstr(o.message, ".new-"));
	/* The best model was kept all the same. */
	assert_int_equal(access(lab_path(&b.l, "run/model.safetensors"), F_OK), 0);
	bench_close(&b);
}

/* ---- checkpoints that are not what they claim ---- */

static void load_cut(bench *b, hec_trainer *trainer, const char *file, size_t step)
{
	kit *k = &b->l.k;
	char name[128], *bytes;
	size_t size;
	snprintf(name, sizeof name, "whole/checkpoint/step-00000045/%s", file);
	OK(k, file_read(lab_path(&b->l, name), 1 << 24, &bytes, &size));
	hec_tensor block = hec_model_block(hec_trainer_model(trainer)),
		   before = make_copy(k, &block);
	for (size_t n = 0; n < size; n += n < 80 ? 1 : step) {
		lab_write(&b->l, name, bytes, n);
		hec_status status = hec_trainer_load(
			trainer, lab_path(&b->l, "whole/checkpoint/step-00000045"));
		CHECK(k, status == HEC_ERR_FORMAT || status == HEC_ERR_IO,
		      "%s of %zu bytes instead of %zu: %s", file, n, size, hec_status_name(status));
		CHECK(k, strstr(hec_error_message(), file), "the message does not name %s: %s",
		      file, hec_error_message());
	}
	check_same_bits(k, "weights after a load that failed", &before, &block);
	lab_write(&b->l, name, bytes, size);
	/* One bit of a weight: whole, but not what was saved. */
	bytes[size - 3] ^= 1;
	lab_write(&b->l, name, bytes, size);
	FAILS(k, HEC_ERR_FORMAT,
	      hec_trainer_load(trainer, lab_path(&b->l, "whole/checkpoint/step-00000045")),
	      "saved together");
	bytes[size - 3] ^= 1;
	lab_write(&b->l, name, bytes, size);
	OK(k, hec_trainer_load(trainer, lab_path(&b->l, "whole/checkpoint/step-00000045")));
	free(bytes);
}

static void a_checkpoint_that_is_cut_short_is_refused(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	bench_unbroken(&b);
	hec_model *model;
	hec_trainer *trainer;
	order none = {0};
	hec_train_options t = bench_options(&b, "whole", &none);
	OK(&b.l.k, hec_model_create(b.l.k.ctx, &b.config, HEC_F32, 9, &model));
	OK(&b.l.k, hec_trainer_create(b.l.k.ctx, model, t.trainer, &trainer));
	load_cut(&b, trainer, "optimizer.safetensors", 211);
	load_cut(&b, trainer, "model.safetensors", 211);
	hec_trainer_destroy(trainer);
	hec_model_destroy(model);
	bench_close(&b);
}

static void a_state_that_is_cut_short_or_of_another_run_is_refused(void **state)
{
	(void)state;
	bench b = bench_open(7200);
	bench_unbroken(&b);
	const char *name = "whole/checkpoint/step-00000045/state.json";
	char *bytes;
	size_t size;
	OK(&b.l.k, file_read(lab_path(&b.l, name), 1 << 24, &bytes, &size));
	order o = {0};
	hec_train_options t = bench_options(&b, "whole", &o);
	t.resume = true;
	for (size_t n = 0; n + 3 < size; n += n < 80 ? 1 : 7) {
		lab_write(&b.l, name, bytes, n);
		hec_status status = bench_run(&b, &t, NULL);
		CHECK(&b.l.k, status == HEC_ERR_FORMAT && strstr(hec_error_message(), "state.json"),
		      "%zu of %zu bytes: %s: %s", n, size, hec_status_name(status),
		      hec_error_message());
	}
	lab_write(&b.l, name, bytes, size);
	free(bytes);
	t.seed = 77;
	FAILS(&b.l.k, HEC_ERR_FORMAT, bench_run(&b, &t, NULL), "seed", "77");
	t.seed = 1;
	t.accumulate = 3;
	FAILS(&b.l.k, HEC_ERR_FORMAT, bench_run(&b, &t, NULL), "batches a step", "2", "3");
	t.accumulate = ACCUMULATE;
	hec_corpus *own = b.train;
	b.train = b.valid;
	FAILS(&b.l.k, HEC_ERR_FORMAT, bench_run(&b, &t, NULL),
	      "checksum of the data to learn from");
	b.train = own;
	lab_write(&b.l, "whole/checkpoint/latest", "../../etc\n", 10);
	FAILS(&b.l.k, HEC_ERR_FORMAT, bench_run(&b, &t, NULL), "latest");
	lab_write(&b.l, "whole/checkpoint/latest", "step-00000099\n", 14);
	FAILS(&b.l.k, HEC_ERR_IO, bench_run(&b, &t, NULL), "step-00000099");
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disk_that_is_full_keeps_the_last_good_checkpoint),
		cmocka_unit_test(a_line_that_did_not_fit_leaves_the_log_whole),
		cmocka_unit_test(a_log_is_cut_on_a_full_disk),
		cmocka_unit_test(a_folder_that_cannot_be_written_is_told),
		cmocka_unit_test(a_checkpoint_that_is_cut_short_is_refused),
		cmocka_unit_test(a_state_that_is_cut_short_or_of_another_run_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
