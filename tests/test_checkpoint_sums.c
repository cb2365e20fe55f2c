/* test_checkpoint_sums.c — a checkpoint of which one byte is not as it was written is refused by the name of the
 * file, be it to go on from or as a part of a mean; and what the message advises does. */
#include "support/train_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "support/scratch.h"
#include "train/checkpoint.h"
#include "train/sums.h"

#define NEWEST "whole/checkpoint/step-00000045"
#define OLDER "whole/checkpoint/step-00000040"

/* An unbroken run, and what reads its checkpoints. */
typedef struct reader {
	bench b;
	hec_model *model;
	hec_trainer *trainer;
	checkpoints all;
	run_state state; /* of the newest */
} reader;

static void reader_open(reader *r, uint64_t seed)
{
	order none = {0};
	*r = (reader){.b = bench_open(seed)};
	kit *k = &r->b.l.k;
	bench_unbroken(&r->b);
	hec_train_options t = bench_options(&r->b, "whole", &none);
	OK(k, hec_model_create(k->ctx, &r->b.config, HEC_F32, 9, &r->model));
	OK(k, hec_trainer_create(k->ctx, r->model, t.trainer, &r->trainer));
	OK(k, state_read(lab_path(&r->b.l, NEWEST "/state.json"), &r->state, NULL));
	OK(k, checkpoints_open(t.dir, &r->all));
	r->all.keep = t.keep;
	r->all.every = t.save_every;
}

static void reader_close(reader *r)
{
	checkpoints_close(&r->all);
	hec_trainer_destroy(r->trainer);
	hec_model_destroy(r->model);
	bench_close(&r->b);
}

static hec_status go_on(reader *r)
{
	run_state s;
	bool found;
	return checkpoint_load(&r->all, r->trainer, &r->state.identity, &s, &found);
}

static hec_status average(reader *r)
{
	int64_t count;
	return checkpoint_average(&r->all, r->b.l.k.ctx, 2, STEPS, &r->state.identity, r->model,
	                          &count);
}

typedef struct bytes {
	char *data;
	size_t size;
} bytes;

static bytes take(reader *r, const char *name)
{
	bytes b;
	OK(&r->b.l.k, file_read(lab_path(&r->b.l, name), 1 << 24, &b.data, &b.size));
	return b;
}

/* Not flushed: it is done some thousand times. */
static void put_bytes(reader *r, const char *name, const void *data, size_t size)
{
	FILE *f = fopen(lab_path(&r->b.l, name), "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void put_back(reader *r, const char *name, bytes *b)
{
	put_bytes(r, name, b->data, b->size);
	free(b->data);
}

/* Refused by the call whose checkpoint it is of, by its name. */
static void check_refused(reader *r, const char *name, const char *how)
{
	kit *k = &r->b.l.k;
	const bool newest = strncmp(name, NEWEST, strlen(NEWEST)) == 0;
	hec_status status = newest ? go_on(r) : average(r);
	/* Where the byte is that of the version, it seems to be of another program. */
	CHECK(k, status == HEC_ERR_FORMAT || status == HEC_ERR_IO || status == HEC_ERR_UNSUPPORTED,
	      "%s, %s: %s: %s", name, how, hec_status_name(status), hec_error_message());
	CHECK(k, strstr(hec_error_message(), name), "%s, %s: the message does not name it: %s",
	      name, how, hec_error_message());
}

/* ---- one byte ---- */

static char next_digit(char c)
{
	return c >= '0' && c <= '9' ? (char)('0' + (c - '0' + 1) % 10) : (char)(c ^ 1);
}

static void every_byte_of_a_state_counts(void **state)
{
	(void)state;
	static const char *const names[] = {NEWEST "/state.json", OLDER "/state.json"};
	reader r;
	reader_open(&r, 7300);
	const hec_tensor block = hec_model_block(r.model), before = make_copy(&r.b.l.k, &block);
	for (size_t f = 0; f < 2; f++) {
		bytes b = take(&r, names[f]);
		for (size_t i = 0; i < b.size; i++) {
			const char was = b.data[i],
				   other[2] = {next_digit(was),
			                       (char)(was ^ (1 << draw(&r.b.l.k) % 8))};
			for (int j = 0; j < 2; j++) {
				char how[80];
				snprintf(how, sizeof how, "byte %zu of %zu is %d, not %d", i,
				         b.size, other[j], was);
				b.data[i] = other[j];
				put_bytes(&r, names[f], b.data, b.size);
				check_refused(&r, names[f], how);
			}
			b.data[i] = was;
		}
		uint32_t train, valid;
		b.data[b.size / 2] ^= 1;
		put_bytes(&r, names[f], b.data, b.size);
		assert_int_equal(hec_train_checksums(lab_path(&r.b.l, "whole"), &train, &valid),
		                 f == 1);
		b.data[b.size / 2] ^= 1;
		put_back(&r, names[f], &b);
	}
	check_same_bits(&r.b.l.k, "weights after refusals", &before, &block);
	OK(&r.b.l.k, average(&r));
	OK(&r.b.l.k, go_on(&r));
	reader_close(&r);
}

/* ---- every file ---- */

static void damage_each_way(reader *r, const char *name)
{
	kit *k = &r->b.l.k;
	bytes b = take(r, name);
	char how[64];
	for (int i = 0; i < 24; i++) {
		size_t at = i == 0 ? 0 : i == 1 ? b.size - 1 : draw(k) % b.size;
		char bit = (char)(1 << draw(k) % 8);
		b.data[at] ^= bit;
		put_bytes(r, name, b.data, b.size);
		b.data[at] ^= bit;
		snprintf(how, sizeof how, "with byte %zu changed", at);
		check_refused(r, name, how);
	}
	put_bytes(r, name, b.data, b.size - 1);
	check_refused(r, name, "cut by a byte");
	put_bytes(r, name, b.data, 0);
	check_refused(r, name, "empty");
	put_bytes(r, name, b.data, b.size + 1); /* the zero byte behind what was read */
	check_refused(r, name, "with a byte more");
	assert_int_equal(unlink(lab_path(&r->b.l, name)), 0);
	check_refused(r, name, "missing");
	put_back(r, name, &b);
}

static void every_file_of_a_checkpoint_is_looked_at(void **state)
{
	(void)state;
	static const char *const files[] = {"model.safetensors", "optimizer.safetensors",
	                                    "config.json",       "generation_config.json",
	                                    "tokenizer.json",    "tokenizer_config.json",
	                                    "state.json"};
	const int count = sizeof files / sizeof *files;
	reader r;
	reader_open(&r, 7310);
	/* All there are, so that a new one is not forgotten here. */
	assert_int_equal(scratch_entries(lab_path(&r.b.l, NEWEST)), count);
	assert_int_equal(scratch_entries(lab_path(&r.b.l, OLDER)), count - 1);
	for (int i = 0; i < count; i++) {
		char name[128];
		snprintf(name, sizeof name, NEWEST "/%s", files[i]);
		damage_each_way(&r, name);
		if (strcmp(files[i], "optimizer.safetensors") == 0)
			continue;
		snprintf(name, sizeof name, OLDER "/%s", files[i]);
		damage_each_way(&r, name);
	}
	OK(&r.b.l.k, average(&r));
	OK(&r.b.l.k, go_on(&r));
	reader_close(&r);
}

/* ---- of two saves ---- */

static void swap(reader *r, const char *one, const char *two)
{
	bytes a = take(r, one), b = take(r, two);
	put_back(r, one, &b);
	put_back(r, two, &a);
}

static void move(reader *r, const char *from, const char *to)
{
	assert_int_equal(rename(lab_path(&r->b.l, from), lab_path(&r->b.l, to)), 0);
}

static void files_of_two_saves_do_not_pass_for_one(void **state)
{
	(void)state;
	reader r;
	reader_open(&r, 7320);
	kit *k = &r.b.l.k;
	swap(&r, NEWEST "/model.safetensors", OLDER "/model.safetensors");
	FAILS(k, HEC_ERR_FORMAT, go_on(&r), NEWEST "/model.safetensors", "its sum is");
	FAILS(k, HEC_ERR_FORMAT, average(&r), OLDER "/model.safetensors", "its sum is");
	swap(&r, NEWEST "/model.safetensors", OLDER "/model.safetensors");
	swap(&r, NEWEST "/state.json", OLDER "/state.json");
	FAILS(k, HEC_ERR_FORMAT, go_on(&r), NEWEST "/state.json", "is of step 40");
	FAILS(k, HEC_ERR_FORMAT, average(&r), OLDER "/state.json", "is of step 45");
	swap(&r, NEWEST "/state.json", OLDER "/state.json");
	/* Whole, but by another name. */
	move(&r, "whole/checkpoint/step-00000030", "whole/checkpoint/aside");
	move(&r, OLDER, "whole/checkpoint/step-00000030");
	FAILS(k, HEC_ERR_FORMAT, average(&r), "step-00000030/state.json", "is of step 40");
	move(&r, "whole/checkpoint/step-00000030", OLDER);
	move(&r, "whole/checkpoint/aside", "whole/checkpoint/step-00000030");
	/* Of another run of the same model. */
	run_identity other = r.state.identity;
	other.seed++;
	int64_t count;
	FAILS(k, HEC_ERR_FORMAT,
	      checkpoint_average(&r.all, k->ctx, 2, STEPS, &other, r.model, &count), "seed");
	OK(k, average(&r));
	OK(k, go_on(&r));
	reader_close(&r);
}

/* Which byte changed in them cannot be told. */
static void a_checkpoint_without_sums_is_refused(void **state)
{
	(void)state;
	static const char old[] = "{\n  \"format\": \"hecate checkpoint\",\n  \"version\": 1\n}\n";
	reader r;
	reader_open(&r, 7330);
	put_bytes(&r, NEWEST "/state.json", old, sizeof old - 1);
	FAILS(&r.b.l.k, HEC_ERR_UNSUPPORTED, go_on(&r), NEWEST "/state.json", "version 1",
	      "reads 2");
	reader_close(&r);
}

/* ---- what can be done ---- */

static void what_is_advised_helps(void **state)
{
	(void)state;
	reader r;
	reader_open(&r, 7340);
	kit *k = &r.b.l.k;
	/* The newest is damaged: the others have weights alone. */
	bytes b = take(&r, NEWEST "/config.json");
	put_bytes(&r, NEWEST "/config.json", b.data, b.size - 1);
	FAILS(k, HEC_ERR_FORMAT, go_on(&r), NEWEST "/config.json", "bytes", "the weights of ",
	      OLDER " are whole");
	hec_model *weights = NULL;
	OK(k, hec_model_load(k->ctx, lab_path(&r.b.l, OLDER), NULL, &weights));
	hec_model_destroy(weights);
	put_back(&r, NEWEST "/config.json", &b);
	/* `latest` is damaged. */
	put_bytes(&r, "whole/checkpoint/latest", "step-00000040\n", 14);
	FAILS(k, HEC_ERR_IO, go_on(&r), OLDER "/optimizer.safetensors",
	      NEWEST " is whole: with its name in ", "/latest");
	put_bytes(&r, "whole/checkpoint/latest", "step-00000045\n", 14);
	OK(k, go_on(&r));
	/* One of the mean is. */
	b = take(&r, OLDER "/config.json");
	put_bytes(&r, OLDER "/config.json", b.data, b.size - 1);
	FAILS(k, HEC_ERR_FORMAT, average(&r), OLDER "/config.json", "once ", OLDER " is removed");
	put_back(&r, OLDER "/config.json", &b);
	assert_int_equal(scratch_folder_remove(lab_path(&r.b.l, OLDER)), 0);
	OK(k, average(&r));
	reader_close(&r);
}

static void a_run_goes_on_without_latest(void **state)
{
	(void)state;
	reader r;
	reader_open(&r, 7380);
	kit *k = &r.b.l.k;
	run_state s = {0};
	bool found;
	assert_int_equal(unlink(lab_path(&r.b.l, "whole/checkpoint/latest")), 0);
	assert_true(hec_train_can_resume(lab_path(&r.b.l, "whole")));
	OK(k, checkpoint_load(&r.all, r.trainer, &r.state.identity, &s, &found));
	assert_true(found);
	assert_int_equal(s.step, STEPS);
	assert_int_equal(access(lab_path(&r.b.l, "whole/checkpoint/latest"), F_OK), 0);
	reader_close(&r);
}

/* Through hec_train: neither goes on, and nothing of the run has changed. */
static void a_run_with_a_damaged_checkpoint_does_not_go_on(void **state)
{
	(void)state;
	reader r;
	reader_open(&r, 7350);
	kit *k = &r.b.l.k;
	order o = {0};
	hec_train_options t = bench_options(&r.b, "whole", &o);
	t.resume = true;
	t.average = 2;
	bytes b = take(&r, NEWEST "/tokenizer.json");
	b.data[b.size / 3] ^= 4;
	put_bytes(&r, NEWEST "/tokenizer.json", b.data, b.size);
	b.data[b.size / 3] ^= 4;
	FAILS(k, HEC_ERR_FORMAT, bench_run(&r.b, &t, NULL), NEWEST "/tokenizer.json");
	put_back(&r, NEWEST "/tokenizer.json", &b);
	b = take(&r, OLDER "/tokenizer.json");
	b.data[b.size / 3] ^= 4;
	put_bytes(&r, OLDER "/tokenizer.json", b.data, b.size);
	b.data[b.size / 3] ^= 4;
	FAILS(k, HEC_ERR_FORMAT, bench_run(&r.b, &t, NULL), OLDER "/tokenizer.json");
	put_back(&r, OLDER "/tokenizer.json", &b);
	OK(k, bench_run(&r.b, &t, NULL));
	reader_close(&r);
}

/* ---- what others put there ---- */

static void a_link_goes_and_what_it_leads_to_stays(void **state)
{
	(void)state;
	static const char *const links[] = {"whole/checkpoint/step-00000098",
	                                    "whole/checkpoint/.new-98"};
	reader r;
	reader_open(&r, 7360);
	lab *l = &r.b.l;
	assert_int_equal(mkdir(lab_path(l, "beside"), 0777), 0);
	lab_write(l, "beside/letter", "dear reader", 11);
	for (int i = 0; i < 2; i++)
		assert_int_equal(symlink("../../beside", lab_path(l, links[i])), 0);
	OK(&l->k, go_on(&r));
	assert_int_equal(access(lab_path(l, "beside/letter"), F_OK), 0);
	/* latest and the three that are kept */
	assert_int_equal(scratch_entries(lab_path(l, "whole/checkpoint")), 4);
	reader_close(&r);
}

/* A file system, or a desktop, at any moment. */
static void a_hidden_file_of_others_has_no_sum(void **state)
{
	(void)state;
	reader r;
	json_t *sums = NULL;
	reader_open(&r, 7365);
	kit *k = &r.b.l.k;
	lab_write(&r.b.l, NEWEST "/.DS_Store", "x", 1);
	OK(k, sums_make(lab_path(&r.b.l, NEWEST), &sums));
	assert_null(json_object_get(sums, ".DS_Store"));
	assert_int_equal(json_object_size(sums), 7);
	assert_int_equal(unlink(lab_path(&r.b.l, NEWEST "/.DS_Store")), 0);
	OK(k, sums_check(lab_path(&r.b.l, NEWEST), sums, NULL));
	json_decref(sums);
	reader_close(&r);
}

static void what_cannot_be_removed_keeps_its_name(void **state)
{
	(void)state;
	reader r;
	reader_open(&r, 7370);
	lab *l = &r.b.l;
	assert_int_equal(mkdir(lab_path(l, "whole/checkpoint/.new-7"), 0777), 0);
	assert_int_equal(mkdir(lab_path(l, "whole/checkpoint/.new-7/mine"), 0777), 0);
	for (int i = 0; i < 3; i++)
		OK(&l->k, go_on(&r));
	assert_int_equal(access(lab_path(l, "whole/checkpoint/.new-7/mine"), F_OK), 0);
	reader_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_of_a_state_counts),
		cmocka_unit_test(every_file_of_a_checkpoint_is_looked_at),
		cmocka_unit_test(files_of_two_saves_do_not_pass_for_one),
		cmocka_unit_test(a_checkpoint_without_sums_is_refused),
		cmocka_unit_test(what_is_advised_helps),
		cmocka_unit_test(a_run_goes_on_without_latest),
		cmocka_unit_test(a_run_with_a_damaged_checkpoint_does_not_go_on),
		cmocka_unit_test(a_link_goes_and_what_it_leads_to_stays),
		cmocka_unit_test(a_hidden_file_of_others_has_no_sum),
		cmocka_unit_test(what_cannot_be_removed_keeps_its_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
