/* test_train_data.c — from files to batches: what is read, what is left out and counted, and that the
 * order is a function of (seed, epoch) alone. */
#include "support/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "train/batch.h"
#include "train/reader.h"

/* ---- lines ---- */

static void check_lines(const lab *l, const char *name, const char *const *want, int count)
{
	reader *r;
	line got;
	bool more;
	OK(&l->k, reader_open(lab_path(l, name), &r));
	for (int i = 0; i < count; i++) {
		OK(&l->k, reader_next(r, &got, &more));
		CHECK(&l->k,
		      more && got.bytes == strlen(want[i]) &&
		              memcmp(got.text, want[i], got.bytes) == 0,
		      "%s: line %d is '%.*s', not '%s'", name, i, more ? (int)got.bytes : 0,
		      more ? got.text : "", want[i]);
	}
	OK(&l->k, reader_next(r, &got, &more));
	CHECK(&l->k, !more, "%s: more than %d lines", name, count);
	reader_close(r);
}

static void lines_end_in_any_way_and_files_may_be_gzip(void **state)
{
	(void)state;
	lab l = lab_open(7100);
	static const char text[] = "one\r\ntwo\n\nlast", *const want[] = {"one", "two", "", "last"};
	lab_write(&l, "plain", text, sizeof text - 1);
	lab_write(&l, "empty", "", 0);
	gzFile gz = gzopen(lab_path(&l, "text.gz"), "wb");
	assert_true(gz && gzwrite(gz, text, sizeof text - 1) == sizeof text - 1);
	assert_int_equal(gzclose(gz), Z_OK);
	check_lines(&l, "plain", want, 4);
	check_lines(&l, "text.gz", want, 4);
	check_lines(&l, "empty", want, 0);
	lab_close(&l);
}

static void a_mark_of_the_encoding_is_no_text(void **state)
{
	(void)state;
	lab l = lab_open(7105);
	static const char text[] = "\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n";
	static const char *const want[] = {"one", "\xEF\xBB\xBFtwo"}, *const none[] = {""};
	lab_write(&l, "marked", text, sizeof text - 1);
	lab_write(&l, "only", text, 3);
	check_lines(&l, "marked", want, 2);
	check_lines(&l, "only", none, 1);
	lab_close(&l);
}

static void what_is_no_file_is_refused(void **state)
{
	(void)state;
	lab l = lab_open(7110);
	reader *r;
	FAILS(&l.k, HEC_ERR_IO, reader_open(lab_path(&l, "nothing"), &r), "nothing");
	FAILS(&l.k, HEC_ERR_IO, reader_open(l.dir, &r), "regular");
	lab_close(&l);
}

static void what_kind_a_line_is(void **state)
{
	(void)state;
	lab l = lab_open(7120);
	size_t n = READER_LONGEST + 70000;
	char *text = malloc(n);
	memset(text, 'x', n);
	memcpy(text, "good\n \t \nbad \xff\n\xed\xa0\x80\n\xc0\xaf\n", 22);
	text[n - 5] = '\n';
	memcpy(text + n - 4, "end\n", 4);
	lab_write(&l, "kinds", text, n);
	free(text);
	static const line_kind want[] = {LINE_GOOD,     LINE_EMPTY,    LINE_BAD_UTF8, LINE_BAD_UTF8,
	                                 LINE_BAD_UTF8, LINE_TOO_LONG, LINE_GOOD};
	reader *r;
	OK(&l.k, reader_open(lab_path(&l, "kinds"), &r));
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		line got;
		bool more;
		OK(&l.k, reader_next(r, &got, &more));
		CHECK(&l.k, more && got.kind == want[i], "line %zu is of kind %d, not %d", i,
		      (int)got.kind, (int)want[i]);
	}
	reader_close(r);
	lab_close(&l);
}

/* ---- a corpus ---- */

static void lines_left_out_are_counted_by_reason(void **state)
{
	(void)state;
	lab l = lab_open(7130);
	lab_write_pairs(&l, "a", "b", 50);
	lab_learn_tokenizer(&l, "a", "b");
	static const char source[] =
		"1 2\n\n3 4\nbad \xff\n5\n1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8\n";
	static const char target[] = "eins zwei\nleer\n  \nschlecht\nfünf\nlang\n";
	lab_write(&l, "c", source, sizeof source - 1);
	lab_write(&l, "d", target, sizeof target - 1);
	for (int again = 0; again < 2; again++) { /* made, then found */
		hec_corpus *corpus = lab_corpus(&l, "c", "d", "cache");
		const hec_corpus_counts *c = hec_corpus_counts_of(corpus);
		assert_int_equal(c->lines, 6);
		assert_int_equal(c->examples, 2);
		assert_int_equal(c->empty, 2);
		assert_int_equal(c->bad_utf8, 1);
		assert_int_equal(c->too_long, 1);
		hec_corpus_destroy(corpus);
	}
	lab_close(&l);
}

static void files_of_unequal_length_are_an_error_with_both_numbers(void **state)
{
	(void)state;
	lab l = lab_open(7140);
	lab_write_pairs(&l, "a", "b", 50);
	lab_learn_tokenizer(&l, "a", "b");
	lab_write(&l, "c", "1\n2\n3\n4\n5\n", 10);
	lab_write(&l, "d", "eins\nzwei\n", 10);
	for (int turn = 0; turn < 2; turn++) {
		const char *files[2] = {lab_path(&l, turn ? "d" : "c"),
		                        lab_path(&l, turn ? "c" : "d")};
		hec_corpus_options o = {.size = sizeof o,
		                        .files = files,
		                        .n = 2,
		                        .tokenizer = l.tokenizer,
		                        .max_source = 9,
		                        .max_target = 9,
		                        .cache = lab_path(&l, "cache")};
		hec_corpus *corpus = NULL;
		FAILS(&l.k, HEC_ERR_FORMAT, hec_corpus_create(&o, &corpus), "has 5", "has 2");
		assert_null(corpus);
		o.n = 1;
		FAILS(&l.k, HEC_ERR_ARGUMENT, hec_corpus_create(&o, &corpus), "pairs", "1");
	}
	assert_int_not_equal(access(lab_path(&l, "cache.index"), F_OK), 0);
	assert_int_not_equal(access(lab_path(&l, "cache.index.new"), F_OK), 0);
	lab_close(&l);
}

static void ids_that_lie_there_are_taken_only_if_they_are_of_the_same_text(void **state)
{
	(void)state;
	lab l = lab_open(7150);
	lab_write_pairs(&l, "a", "b", 50);
	lab_learn_tokenizer(&l, "a", "b");
	hec_corpus *corpus = lab_corpus(&l, "a", "b", "cache");
	uint32_t sum = hec_corpus_checksum(corpus);
	hec_corpus_destroy(corpus);
	lab_write_pairs(&l, "a", "b", 51);
	corpus = lab_corpus(&l, "a", "b", "cache");
	assert_int_equal(hec_corpus_counts_of(corpus)->examples, 51);
	assert_int_not_equal(hec_corpus_checksum(corpus), sum);
	sum = hec_corpus_checksum(corpus);
	hec_corpus_destroy(corpus);
	/* Cut short at any place, it is made again, the same. */
	FILE *f = fopen(lab_path(&l, "cache.index"), "rb");
	char bytes[4096];
	size_t size = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	for (size_t n = 0; n < size; n += 37) {
		lab_write(&l, "cache.index", bytes, n);
		corpus = lab_corpus(&l, "a", "b", "cache");
		CHECK(&l.k, hec_corpus_checksum(corpus) == sum, "another sum after %zu bytes", n);
		hec_corpus_destroy(corpus);
	}
	/* An example of no words, which a batch could not take, is none that we wrote. */
	corpus_entry *third = (corpus_entry *)(bytes + sizeof(corpus_header)) + 3;
	third->target = 0;
	lab_write(&l, "cache.index", bytes, size);
	corpus = lab_corpus(&l, "a", "b", "cache");
	for (int64_t i = 0; i < corpus->header.count; i++)
		assert_true(corpus->lengths[i][0] > 0 && corpus->lengths[i][1] > 0);
	hec_corpus_destroy(corpus);
	lab_close(&l);
}

static uint32_t sum_with(lab *l)
{
	const char *files[1] = {lab_path(l, "text")};
	hec_corpus_options o = {.size = sizeof o,
	                        .task = HEC_TASK_SEQ2SEQ,
	                        .files = files,
	                        .n = 1,
	                        .tokenizer = l->tokenizer,
	                        .max_source = 9,
	                        .max_target = 9,
	                        .cache = lab_path(l, "cache")};
	hec_corpus *corpus = NULL;
	OK(&l->k, hec_corpus_create(&o, &corpus));
	uint32_t sum = hec_corpus_checksum(corpus);
	hec_corpus_destroy(corpus);
	hec_tokenizer_destroy(l->tokenizer);
	l->tokenizer = NULL;
	return sum;
}

/* The same vocabulary behind another normalizer, and with another end. */
static void ids_that_lie_there_are_taken_only_if_they_are_of_the_same_tokenizer(void **state)
{
	(void)state;
	static const char *const normalizer[] = {"null", "{\"type\": \"Lowercase\"}", "null"};
	static const char *const config[] = {"{}", "{}", "{\"eos_token\": \"u\"}"};
	static const char *const bert[] = {
		"{\"tokenizer_class\": \"BertTokenizer\", \"do_lower_case\": true}",
		"{\"tokenizer_class\": \"BertTokenizer\", \"do_lower_case\": false}"};
	static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nA\n";
	lab l = lab_open(7155);
	lab_write(&l, "text", "a A\ta\n", 6);
	uint32_t sums[5];
	for (int i = 0; i < 3; i++) {
		char json[512];
		snprintf(json, sizeof json,
		         "{\"added_tokens\": [], \"normalizer\": %s, \"pre_tokenizer\": {\"type\": "
		         "\"Whitespace\"}, \"model\": {\"type\": \"WordLevel\", \"unk_token\": "
		         "\"u\", \"vocab\": {\"u\": 0, \"a\": 1}}}",
		         normalizer[i]);
		OK(&l.k, hec_tokenizer_parse(json, strlen(json), config[i], strlen(config[i]),
		                             &l.tokenizer));
		sums[i] = sum_with(&l);
	}
	for (int i = 0; i < 2; i++) {
		lab_write(&l, "vocab.txt", vocab, sizeof vocab - 1);
		lab_write(&l, "tokenizer_config.json", bert[i], strlen(bert[i]));
		OK(&l.k, hec_tokenizer_load(l.dir, &l.tokenizer));
		sums[3 + i] = sum_with(&l);
	}
	assert_int_not_equal(sums[0], sums[1]);
	assert_int_not_equal(sums[0], sums[2]);
	assert_int_not_equal(sums[3], sums[4]);
	lab_close(&l);
}

/* The ids of running text, of examples that share one with the next. */
static size_t running_ids(const lab *l, const hec_tokenizer *t, const char *name, int32_t *ids)
{
	const char *file = lab_path(l, name);
	hec_corpus_options o = {.size = sizeof o,
	                        .task = HEC_TASK_LM,
	                        .files = &file,
	                        .n = 1,
	                        .tokenizer = t,
	                        .max_source = 7,
	                        .max_target = 7,
	                        .cache = lab_path(l, "running")};
	hec_corpus *corpus;
	OK(&l->k, hec_corpus_create(&o, &corpus));
	size_t n = 0;
	for (int64_t i = 0; i < corpus->header.count; i++) {
		OK(&l->k, corpus_read(corpus, i, ids + n));
		n += (size_t)corpus->lengths[i][1] - 1;
	}
	hec_corpus_destroy(corpus);
	return n + 1;
}

/* Not line by line: no line gets the mark of a beginning, and what a vocabulary has for several ends of lines,
 * or for ends and spaces, is used. */
static void running_text_is_encoded_as_one(void **state)
{
	(void)state;
	static const char *const vocabularies[] = {"llama", "llama-legacy", "gpt2", "qwen2"};
	static const char text[] = "the cat sat\n\n\n  on the mat\nand  looked\n\tat it .\n";
	lab l = lab_open(7410);
	/* Longer than what is encoded at once. */
	const size_t times = (3 << 16) / (2 * sizeof text);
	char *many = malloc(times * sizeof text);
	size_t bytes = 0;
	for (size_t i = 0; i < times; i++, bytes += sizeof text - 1)
		memcpy(many + bytes, text, sizeof text - 1);
	lab_write(&l, "short", text, sizeof text - 1);
	lab_write(&l, "long", many, bytes);
	int32_t *ids = malloc((bytes + 16) * sizeof *ids);
	for (size_t v = 0; v < sizeof vocabularies / sizeof *vocabularies; v++) {
		char dir[256];
		snprintf(dir, sizeof dir, "%s/golden/vocab/%s", TESTS_DIR, vocabularies[v]);
		hec_tokenizer *t;
		OK(&l.k, hec_tokenizer_load(dir, &t));
		hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
		o.no_special = true;
		hec_encoding want = HEC_ENCODING_INIT;
		OK(&l.k, hec_tokenizer_encode(t, text, sizeof text - 1, &o, &want));
		size_t n = running_ids(&l, t, "short", ids);
		CHECK(&l.k, n == want.n && memcmp(ids, want.ids, n * sizeof *ids) == 0,
		      "%s: %zu ids, not the %zu of the text", vocabularies[v], n, want.n);
		OK(&l.k, hec_tokenizer_encode(t, many, bytes, &o, &want));
		n = running_ids(&l, t, "long", ids);
		/* A part of it may begin with a mark of its own. */
		CHECK(&l.k, n >= want.n && n <= want.n + 2 && ids[n - 1] == want.ids[want.n - 1],
		      "%s: %zu ids, and %zu at once", vocabularies[v], n, want.n);
		hec_encoding_free(&want);
		hec_tokenizer_destroy(t);
	}
	free(ids);
	free(many);
	lab_close(&l);
}

/* This tokenizer drops control characters and adds no end. */
static void a_text_that_the_tokenizer_takes_away_is_empty(void **state)
{
	(void)state;
	static const char tokenizer[] =
		"{\"added_tokens\": [], \"normalizer\": {\"type\": \"BertNormalizer\", "
		"\"clean_text\": "
		"true, \"handle_chinese_chars\": true, \"strip_accents\": null, \"lowercase\": "
		"false}, "
		"\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, \"model\": {\"type\": "
		"\"WordPiece\", \"unk_token\": \"u\", \"continuing_subword_prefix\": \"##\", "
		"\"max_input_chars_per_word\": 100, \"vocab\": {\"u\": 0, \"a\": 1}}}";
	static const char text[] = "a\ta\n\x01\ta\na\t\x01\n\x01\t\x01\n";
	lab l = lab_open(7160);
	lab_write(&l, "tokenizer.json", tokenizer, sizeof tokenizer - 1);
	lab_write(&l, "text", text, sizeof text - 1);
	OK(&l.k, hec_tokenizer_load(l.dir, &l.tokenizer));
	static const hec_task tasks[] = {HEC_TASK_SEQ2SEQ, HEC_TASK_CLASSIFY, HEC_TASK_MLM};
	static const int64_t empty[] = {3, 2, 1};
	static const char *const labels[] = {"\x01", "a"};
	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
		const char *files[1] = {lab_path(&l, "text")};
		hec_corpus_options o = {.size = sizeof o,
		                        .task = tasks[i],
		                        .files = files,
		                        .n = 1,
		                        .tokenizer = l.tokenizer,
		                        .max_source = 9,
		                        .max_target = 9,
		                        .cache = lab_path(&l, "cache"),
		                        .labels = labels,
		                        .n_labels = 2};
		hec_corpus *corpus = NULL;
		OK(&l.k, hec_corpus_create(&o, &corpus));
		const hec_corpus_counts *c = hec_corpus_counts_of(corpus);
		assert_int_equal(c->empty, empty[i]);
		assert_int_equal(c->examples, 4 - empty[i]);
		hec_corpus_destroy(corpus);
	}
	lab_close(&l);
}

/* ---- batches ---- */

typedef struct trace {
	uint32_t sums[4096]; /* of each batch */
	int64_t batches, rows;
} trace;

static uint32_t batch_sum(const hec_batch *b)
{
	uint32_t crc = 0;
	const hec_tensor *all[3] = {&b->input->ids, &b->input->decoder_ids, &b->targets};
	for (int i = 0; i < 3; i++)
		crc = (uint32_t)crc32(crc, all[i]->data, (uInt)(4 * hec_tensor_count(all[i])));
	return crc;
}

static batcher *open_batcher(lab *l, const hec_corpus *corpus, int64_t tokens, uint64_t seed,
                             bool in_order)
{
	batcher_options o = {.max_tokens = tokens,
	                     .seed = seed,
	                     .in_order = in_order,
	                     .pad_id = 289,
	                     .start_id = 289};
	batcher *b = NULL;
	OK(&l->k, batcher_create(corpus, &o, &b));
	return b;
}

static void follow(lab *l, batcher *b, int64_t tokens, int64_t epochs, trace *t)
{
	memset(t, 0, sizeof *t);
	while (epochs > 0) {
		hec_batch batch;
		bool ended;
		OK(&l->k, batcher_next(b, &batch, &ended));
		epochs -= ended;
		int64_t rows = batch.targets.shape[0], S = batch.input->ids.shape[1],
			T = batch.targets.shape[1];
		CHECK(&l->k, rows * S <= tokens && rows * T <= tokens, "%lld × %lld, %lld",
		      (long long)rows, (long long)S, (long long)T);
		for (int64_t i = 0; i < rows; i++) {
			const int32_t *target = (const int32_t *)batch.targets.data + i * T;
			const int32_t *input =
				(const int32_t *)batch.input->decoder_ids.data + i * T;
			int32_t n = batch.input->decoder_length[i];
			assert_int_equal(input[0], 289);
			for (int64_t j = 0; j < T; j++) {
				assert_int_equal(target[j] == -100, j >= n);
				if (j > 0)
					assert_int_equal(input[j], j < n ? target[j - 1] : 289);
			}
		}
		t->rows += rows;
		t->sums[t->batches++] = batch_sum(&batch);
	}
}

static void every_example_comes_once_an_epoch_in_another_order_each_time(void **state)
{
	(void)state;
	static trace first, second, other;
	lab l = lab_open(7160);
	lab_write_pairs(&l, "a", "b", 1000);
	lab_learn_tokenizer(&l, "a", "b");
	hec_corpus *corpus = lab_corpus(&l, "a", "b", "cache");
	batcher *b = open_batcher(&l, corpus, 128, 5, false);
	follow(&l, b, 128, 1, &first);
	follow(&l, b, 128, 1, &second);
	assert_int_equal(first.rows, hec_corpus_counts_of(corpus)->examples);
	assert_int_equal(second.rows, first.rows);
	assert_memory_not_equal(first.sums, second.sums, sizeof first.sums);
	batcher_destroy(b);
	b = open_batcher(&l, corpus, 128, 5, false);
	follow(&l, b, 128, 1, &other);
	assert_memory_equal(first.sums, other.sums, sizeof first.sums);
	batcher_destroy(b);
	b = open_batcher(&l, corpus, 128, 6, false);
	follow(&l, b, 128, 1, &other);
	assert_memory_not_equal(first.sums, other.sums, sizeof first.sums);
	batcher_destroy(b);
	/* Padding is little: examples of a batch have nearly the same length. */
	int64_t padded = 128 * first.batches;
	int64_t whole = hec_corpus_counts_of(corpus)->target_tokens;
	CHECK(&l.k, (double)whole > 0.8 * (double)padded, "%lld tokens in batches of %lld",
	      (long long)whole, (long long)padded);
	hec_corpus_destroy(corpus);
	lab_close(&l);
}

static void a_place_is_enough_to_go_on_with_the_same_batches(void **state)
{
	(void)state;
	lab l = lab_open(7170);
	lab_write_pairs(&l, "a", "b", 300);
	lab_learn_tokenizer(&l, "a", "b");
	hec_corpus *corpus = lab_corpus(&l, "a", "b", "cache");
	batcher *whole = open_batcher(&l, corpus, 64, 9, false);
	for (int i = 0; i < 150; i++) {
		batch_place place = batcher_at(whole);
		hec_batch batch, again;
		bool ended, ended_again;
		batcher *fresh = open_batcher(&l, corpus, 64, 9, false);
		OK(&l.k, batcher_seek(fresh, place));
		OK(&l.k, batcher_next(whole, &batch, &ended));
		OK(&l.k, batcher_next(fresh, &again, &ended_again));
		CHECK(&l.k, batch_sum(&batch) == batch_sum(&again) && ended == ended_again,
		      "another batch at epoch %lld, index %lld", (long long)place.epoch,
		      (long long)place.index);
		batcher_destroy(fresh);
	}
	CHECK(&l.k, batcher_at(whole).epoch >= 2, "only %lld epochs",
	      (long long)batcher_at(whole).epoch);
	FAILS(&l.k, HEC_ERR_FORMAT, batcher_seek(whole, (batch_place){0, 1 << 20}), "1048576");
	FAILS(&l.k, HEC_ERR_FORMAT, batcher_seek(whole, (batch_place){-1, 0}), "-1");
	batcher_destroy(whole);
	batcher *small = NULL;
	batcher_options o = {.max_tokens = 3};
	FAILS(&l.k, HEC_ERR_ARGUMENT, batcher_create(corpus, &o, &small), "does not fit", "3");
	hec_corpus_destroy(corpus);
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_in_any_way_and_files_may_be_gzip),
		cmocka_unit_test(a_mark_of_the_encoding_is_no_text),
		cmocka_unit_test(what_is_no_file_is_refused),
		cmocka_unit_test(what_kind_a_line_is),
		cmocka_unit_test(lines_left_out_are_counted_by_reason),
		cmocka_unit_test(files_of_unequal_length_are_an_error_with_both_numbers),
		cmocka_unit_test(ids_that_lie_there_are_taken_only_if_they_are_of_the_same_text),
		cmocka_unit_test(
			ids_that_lie_there_are_taken_only_if_they_are_of_the_same_tokenizer),
		cmocka_unit_test(running_text_is_encoded_as_one),
		cmocka_unit_test(a_text_that_the_tokenizer_takes_away_is_empty),
		cmocka_unit_test(every_example_comes_once_an_epoch_in_another_order_each_time),
		cmocka_unit_test(a_place_is_enough_to_go_on_with_the_same_batches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
