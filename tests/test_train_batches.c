/* test_train_batches.c — what a batch of each task holds, what an example of an answer points at, and the
 * order in which batches come. */
#include "support/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/batch.h"

enum { WORDS = 120, LONGEST = 40, PAD = 7, START = 9, NOTHING = -100 };

static hec_corpus *open_task(const lab *l, hec_task task, const char *name, hec_corpus_options o)
{
	static const char *const labels[] = {"w1", "w2", "w3"};
	const char *file = lab_path(l, name);
	o.size = sizeof o;
	o.task = task;
	o.files = &file;
	o.n = 1;
	o.tokenizer = l->tokenizer;
	o.labels = labels;
	o.n_labels = 3;
	o.cache = lab_path(l, hec_task_name(task));
	hec_corpus *corpus = NULL;
	OK(&l->k, hec_corpus_create(&o, &corpus));
	return corpus;
}

/* ---- what a batch holds ---- */

/* One row of a batch, by the definition of its task. */
typedef struct wanted {
	int32_t ids[LONGEST], types[LONGEST], decoder_ids[LONGEST], targets[LONGEST];
	int32_t length, decoder_length;
	bool seen;
} wanted;

static void fill_row(int32_t *row, int32_t value)
{
	for (int i = 0; i < LONGEST; i++)
		row[i] = value;
}

/* What a decoder reads that is to write ids, or to judge them: its start, or else the last of them; then
 * all but the last. */
static void put_shifted(wanted *w, const int32_t *ids, int32_t n, int32_t start)
{
	w->decoder_ids[0] = start >= 0 ? start : ids[n - 1];
	memcpy(w->decoder_ids + 1, ids, (size_t)(n - 1) * sizeof *ids);
	w->decoder_length = n;
}

static void define(const hec_corpus *c, const batcher_options *o, const int32_t *ids, int32_t n,
                   int32_t m, wanted *w)
{
	const bool written = c->task == HEC_TASK_SEQ2SEQ;
	memset(w, 0, sizeof *w);
	fill_row(w->ids, PAD);
	fill_row(w->decoder_ids, PAD);
	fill_row(w->targets, NOTHING);
	if (c->task == HEC_TASK_LM) { /* each word, and the next */
		memcpy(w->decoder_ids, ids, (size_t)(m - 1) * sizeof *ids);
		memcpy(w->targets, ids + 1, (size_t)(m - 1) * sizeof *ids);
		w->decoder_length = m - 1;
		return;
	}
	memcpy(o->encoder ? w->ids : w->decoder_ids, ids, (size_t)n * sizeof *ids);
	*(o->encoder ? &w->length : &w->decoder_length) = n;
	memcpy(w->targets, ids + n, (size_t)(c->task == HEC_TASK_ANSWER ? 2 : m) * sizeof *ids);
	if (o->encoder && o->decoder)
		put_shifted(w, ids + (written ? n : 0), written ? m : n, o->start_id);
	bool second = false; /* [CLS] question [SEP] context [SEP] */
	for (int32_t i = 0; i < n; i++) {
		w->types[i] = second;
		second = second || ids[i] == WORD_SEP;
	}
}

static bool same_row(const hec_tensor *t, int64_t row, const int32_t *want)
{
	const int64_t n = t->rank > 1 ? t->shape[1] : 1;
	return !t->data ||
	       memcmp((const int32_t *)t->data + row * n, want, (size_t)n * sizeof *want) == 0;
}

static bool is_row(const hec_batch *b, int64_t row, const wanted *w)
{
	const hec_model_input *in = b->input;
	return same_row(&in->ids, row, w->ids) && same_row(&in->types, row, w->types) &&
	       same_row(&in->decoder_ids, row, w->decoder_ids) &&
	       same_row(&b->targets, row, w->targets) &&
	       (!in->ids.data || in->length[row] == w->length) &&
	       (!in->decoder_ids.data || in->decoder_length[row] == w->decoder_length);
}

/* All examples, as rows. */
static wanted *define_all(const lab *l, const hec_corpus *c, const batcher_options *o,
                          int64_t count)
{
	wanted *all = calloc((size_t)count, sizeof *all);
	assert_non_null(all);
	for (int64_t i = 0; i < count; i++) {
		int32_t ids[2 * LONGEST];
		OK(&l->k, corpus_read(c, i, ids));
		define(c, o, ids, c->lengths[i][0], c->lengths[i][1], &all[i]);
	}
	return all;
}

static void check_task(lab *l, const hec_corpus *c, const batcher_options *o, bool types)
{
	const char *name = hec_task_name(c->task);
	const int64_t count = hec_corpus_counts_of(c)->examples;
	const bool decoder = o->decoder || c->task == HEC_TASK_LM;
	wanted *all = define_all(l, c, o, count);
	batcher *b = NULL;
	int64_t rows = 0;
	bool ragged = false;
	OK(&l->k, batcher_create(c, o, &b));
	for (bool ended = false; !ended;) {
		hec_batch batch;
		OK(&l->k, batcher_next(b, &batch, &ended));
		const hec_model_input *in = batch.input;
		CHECK(&l->k,
		      !!in->ids.data == o->encoder && !!in->decoder_ids.data == decoder &&
		              !!in->types.data == types,
		      "%s: what is read is not what the model reads", name);
		for (int64_t row = 0; row < batch.targets.shape[0]; row++, rows++) {
			int64_t e = 0;
			while (e < count && (all[e].seen || !is_row(&batch, row, &all[e])))
				e++;
			CHECK(&l->k, e < count, "%s: row %lld of a batch is no example", name,
			      (long long)row);
			all[e].seen = true;
			ragged |= o->encoder ? all[e].length < in->ids.shape[1]
			                     : all[e].decoder_length < in->decoder_ids.shape[1];
		}
	}
	CHECK(&l->k, rows == count && ragged, "%s: %lld rows of %lld examples", name,
	      (long long)rows, (long long)count);
	batcher_destroy(b);
	free(all);
}

static void write_words(lab *l, FILE *f, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		fprintf(f, "%sw%d", i ? " " : "", (int)(draw(&l->k) % WORDS));
}

/* Lines of two sides, the first of them a label or a text. */
static void write_sides(lab *l, const char *name, bool labels)
{
	FILE *f = fopen(lab_path(l, name), "w");
	assert_non_null(f);
	for (int i = 0; i < 60; i++) {
		write_words(l, f, labels ? 0 : draw_in(&l->k, 1, 9));
		if (labels)
			fprintf(f, "w%d", (int)(1 + draw(&l->k) % 3));
		fputc('\t', f);
		write_words(l, f, draw_in(&l->k, 1, 9));
		fputc('\n', f);
	}
	assert_int_equal(fclose(f), 0);
}

/* {encoder, decoder} of the models that there are. */
static const bool forms[3][2] = {{true, false}, {false, true}, {true, true}};

static void check_forms(lab *l, const hec_corpus *c, int first, int last)
{
	for (int form = first; form <= last; form++)
		for (int i = 0; i < 2; i++) {
			const batcher_options o = {.max_tokens = 41,
			                           .seed = 3,
			                           .pad_id = PAD,
			                           .start_id = i ? START : -1,
			                           .encoder = forms[form][0],
			                           .decoder = forms[form][1],
			                           .types = c->task == HEC_TASK_ANSWER};
			check_task(l, c, &o, o.types && o.encoder);
		}
}

static void a_batch_is_what_its_task_reads_and_is_to_say(void **state)
{
	(void)state;
	lab l = lab_open(7700);
	const hec_corpus_options sizes = {.max_source = 12, .max_target = 12};
	lab_know_words(&l, WORDS);
	write_sides(&l, "pairs", false);
	hec_corpus *c = open_task(&l, HEC_TASK_SEQ2SEQ, "pairs", sizes);
	check_forms(&l, c, 2, 2);
	hec_corpus_destroy(c);
	write_sides(&l, "labels", true);
	c = open_task(&l, HEC_TASK_CLASSIFY, "labels", sizes);
	check_forms(&l, c, 0, 2);
	hec_corpus_destroy(c);
	FILE *f = fopen(lab_path(&l, "running"), "w");
	assert_non_null(f);
	write_words(&l, f, 200);
	assert_int_equal(fclose(f), 0);
	c = open_task(&l, HEC_TASK_LM, "running", sizes);
	check_forms(&l, c, 1, 1);
	hec_corpus_destroy(c);
	lab_close(&l);
}

/* ---- answers ---- */

/* The words w0 … w39, and about each place from which an answer of up to three words may go, one question.
 * The last one begins within a word and ends within the next. */
static void write_questions(lab *l, const char *name)
{
	FILE *f = fopen(lab_path(l, name), "w");
	int at[41] = {0};
	char text[256] = "";
	for (int i = 0; i < 40; i++) {
		strcat(text, i ? " " : "");
		at[i] = (int)strlen(text);
		snprintf(text + at[i], sizeof text - (size_t)at[i], "w%d", i);
	}
	assert_non_null(f);
	fprintf(f, "{\"data\": [{\"paragraphs\": [{\"context\": \"%s\", \"qas\": [", text);
	for (int n = 1; n <= 3; n++)
		for (int i = 0; i + n <= 40; i++) {
			const int end = i + n < 40 ? at[i + n] - 1 : (int)strlen(text);
			fprintf(f,
			        "{\"id\": \"\", \"question\": \"w%d w%d\", \"answers\": "
			        "[{\"text\": "
			        "\"%.*s\", \"answer_start\": %d}]}, ",
			        40 + i, 90 + n, end - at[i], text + at[i], at[i]);
		}
	fprintf(f,
	        "{\"id\": \"\", \"question\": \"w80 w92\", \"answers\": [{\"text\": \"%.*s\", "
	        "\"answer_start\": %d}]}, {\"id\": \"\", \"question\": \"w89 w89\", \"answers\": "
	        "[], "
	        "\"is_impossible\": true}]}]}]}\n",
	        at[31] - at[30], text + at[30] + 1, at[30] + 1);
	assert_int_equal(fclose(f), 0);
}

/* The question says which words the answer has: the window has them all, or points at its first token. */
static void check_window(const lab *l, const int32_t *ids, int64_t n, const int32_t *target,
                         int64_t *answered)
{
	const int32_t begin = ids[1] - FIRST_WORD - 40, count = ids[2] - FIRST_WORD - 90;
	const bool straddles = begin == 40; /* w80 w92: from within w30 to within w31 */
	const int32_t first = FIRST_WORD + (straddles ? 30 : begin), last = first + count - 1;
	int32_t want[2] = {0, 0};
	for (int64_t i = 4; i < n; i++) {
		want[0] = ids[i] == first ? (int32_t)i : want[0];
		want[1] = ids[i] == last ? (int32_t)i : want[1];
	}
	if (want[0] == 0 || want[1] == 0 || begin > 40)
		want[0] = want[1] = 0;
	*answered += want[0] > 0;
	CHECK(&l->k, target[0] == want[0] && target[1] == want[1],
	      "words %d … %d: tokens %d … %d, not %d … %d", first - FIRST_WORD, last - FIRST_WORD,
	      target[0], target[1], want[0], want[1]);
}

static void a_window_points_at_a_whole_answer_or_at_its_first_token(void **state)
{
	(void)state;
	lab l = lab_open(7710);
	lab_know_words(&l, WORDS);
	write_questions(&l, "questions");
	const hec_corpus_options sizes = {.max_source = 20, .max_target = 4, .stride = 5};
	hec_corpus *c = open_task(&l, HEC_TASK_ANSWER, "questions", sizes);
	const int64_t count = hec_corpus_counts_of(c)->examples;
	int64_t answered = 0;
	for (int64_t i = 0; i < count; i++) {
		int32_t ids[LONGEST];
		OK(&l.k, corpus_read(c, i, ids));
		check_window(&l, ids, c->lengths[i][0], ids + c->lengths[i][0], &answered);
	}
	assert_true(answered > 120 && answered < count / 2);
	check_forms(&l, c, 0, 2);
	hec_corpus_destroy(c);
	lab_close(&l);
}

/* ---- labels ---- */

static void a_label_is_a_whole_name(void **state)
{
	(void)state;
	static const char *const labels[] = {"a", "ab", "abc", "b"};
	static const char lines[] = "ab\tw0\na\tw1\nabc\tw2\nabcd\tw3\nB\tw4\nb\tw5\tw6\n b\tw7\n";
	static const int32_t want[][2] = {{0, 1}, {1, 0}, {2, 2}, {5, 3}}; /* word, label */
	lab l = lab_open(7715);
	lab_know_words(&l, WORDS);
	lab_write(&l, "lines", lines, sizeof lines - 1);
	const char *file = lab_path(&l, "lines");
	const hec_corpus_options o = {.size = sizeof o,
	                              .task = HEC_TASK_CLASSIFY,
	                              .files = &file,
	                              .n = 1,
	                              .tokenizer = l.tokenizer,
	                              .labels = labels,
	                              .n_labels = 4,
	                              .max_source = 9,
	                              .max_target = 9,
	                              .cache = lab_path(&l, "cache")};
	hec_corpus *c = NULL;
	OK(&l.k, hec_corpus_create(&o, &c));
	assert_int_equal(hec_corpus_counts_of(c)->examples, 4);
	assert_int_equal(hec_corpus_counts_of(c)->unknown_label, 3);
	for (int64_t i = 0; i < 4; i++) {
		int32_t ids[LONGEST];
		OK(&l.k, corpus_read(c, i, ids));
		assert_int_equal(c->lengths[i][0],
		                 i < 3 ? 3 : 4); /* a further tab is of the text */
		assert_int_equal(ids[1], FIRST_WORD + want[i][0]);
		assert_int_equal(ids[c->lengths[i][0]], want[i][1]);
	}
	hec_corpus_destroy(c);
	lab_close(&l);
}

/* ---- texts that are cut ---- */

static hec_corpus *open_cut(const lab *l, hec_task task, const char *const files[], bool cut)
{
	const hec_corpus_options o = {.size = sizeof o,
	                              .task = task,
	                              .files = files,
	                              .n = task == HEC_TASK_TRANSLATE ? 2 : 1,
	                              .tokenizer = l->tokenizer,
	                              .max_source = cut ? 6 : 24,
	                              .max_target = cut ? 9 : 24,
	                              .truncate = cut,
	                              .cache = lab_path(l, cut ? "cut" : "whole")};
	hec_corpus *c = NULL;
	OK(&l->k, hec_corpus_create(&o, &c));
	return c;
}

static void check_cut(lab *l, hec_task task, const char *const files[])
{
	hec_corpus *whole = open_cut(l, task, files, false), *cut = open_cut(l, task, files, true);
	const hec_corpus_counts *counts = hec_corpus_counts_of(cut);
	const int32_t eos = hec_tokenizer_role(l->tokenizer, "eos");
	int64_t sides = 0;
	assert_true(eos >= 0);
	assert_int_equal(counts->examples, hec_corpus_counts_of(whole)->examples);
	for (int64_t i = 0; i < counts->examples; i++) {
		int32_t was[2 * LONGEST], is[2 * LONGEST], *x = was, *y = is;
		OK(&l->k, corpus_read(whole, i, was));
		OK(&l->k, corpus_read(cut, i, is));
		for (int side = 0; side < 2; side++) {
			const int64_t most = side ? 9 : 6, all = whole->lengths[i][side],
				      n = cut->lengths[i][side];
			CHECK(&l->k,
			      n == (all < most ? all : most) && y[n - 1] == eos &&
			              memcmp(x, y, (size_t)(n - 1) * sizeof *x) == 0,
			      "example %lld: of %lld tokens %lld are left", (long long)i,
			      (long long)all, (long long)n);
			sides += all > most;
			x += all;
			y += n;
		}
	}
	assert_true(sides > 10);
	assert_int_equal(counts->cut, sides);
	assert_int_equal(hec_corpus_counts_of(whole)->cut, 0);
	hec_corpus_destroy(whole);
	hec_corpus_destroy(cut);
}

/* The end is the tokenizer's own, or put there. */
static void a_text_that_is_cut_keeps_its_end_and_is_counted(void **state)
{
	(void)state;
	static const char json[] =
		"{\"added_tokens\": [], \"normalizer\": null, \"pre_tokenizer\": {\"type\": "
		"\"Whitespace\"}, \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"unk\", "
		"\"vocab\": "
		"{\"unk\": 0, \"end\": 1}}}",
			  config[] = "{\"eos_token\": \"end\"}";
	lab l = lab_open(7720);
	lab_write_pairs(&l, "a", "b", 60);
	lab_learn_tokenizer(&l, "a", "b");
	check_cut(&l, HEC_TASK_TRANSLATE, (const char *[]){lab_path(&l, "a"), lab_path(&l, "b")});
	hec_tokenizer_destroy(l.tokenizer);
	OK(&l.k,
	   hec_tokenizer_parse(json, sizeof json - 1, config, sizeof config - 1, &l.tokenizer));
	write_sides(&l, "pairs", false);
	check_cut(&l, HEC_TASK_SEQ2SEQ, (const char *[]){lab_path(&l, "pairs")});
	lab_close(&l);
}

/* ---- their order ---- */

enum { LINES = 8, EPOCHS = 512 };

/* Line i has the word wi, or i + 1 of them: of one length all, or of as many lengths as there are lines. */
static hec_corpus *open_order(lab *l, const char *name, bool one_length)
{
	const hec_corpus_options sizes = {.max_source = 12, .max_target = 12};
	FILE *f = fopen(lab_path(l, name), "w");
	assert_non_null(f);
	for (int i = 0; i < LINES; i++) {
		fprintf(f, "w1\t");
		for (int j = 0; j < (one_length ? 1 : i + 1); j++)
			fprintf(f, "w%d ", i);
		fputc('\n', f);
	}
	assert_int_equal(fclose(f), 0);
	return open_task(l, HEC_TASK_CLASSIFY, name, sizes);
}

/* seen[i][j]: how often line i came at place j, in batches of so many rows. */
static void count_places(const lab *l, const hec_corpus *c, int64_t rows,
                         int64_t seen[LINES][LINES])
{
	batcher_options o = {.max_tokens = 1000, .max_rows = rows, .seed = 11, .encoder = true};
	batcher *b = NULL;
	memset(seen, 0, LINES * sizeof *seen);
	OK(&l->k, batcher_create(c, &o, &b));
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		int64_t at = 0;
		for (bool ended = false; !ended;) {
			hec_batch batch;
			OK(&l->k, batcher_next(b, &batch, &ended));
			const hec_tensor *ids = &batch.input->ids;
			CHECK(&l->k, ids->shape[0] == rows, "%lld rows", (long long)ids->shape[0]);
			for (int64_t i = 0; i < rows; i++)
				seen[((const int32_t *)ids->data)[i * ids->shape[1] + 1] -
				     FIRST_WORD][at++]++;
		}
		assert_int_equal(at, LINES);
	}
	batcher_destroy(b);
}

/* Of one length, lines are drawn; of several, batches are. */
static void each_line_comes_at_each_place_as_often(void **state)
{
	(void)state;
	lab l = lab_open(7730);
	lab_know_words(&l, WORDS);
	for (int one_length = 0; one_length < 2; one_length++) {
		hec_corpus *c = open_order(&l, one_length ? "same" : "longer", one_length);
		for (int64_t rows = 1; rows <= (one_length ? 4 : 1); rows *= 4) {
			int64_t seen[LINES][LINES];
			count_places(&l, c, rows, seen);
			const double p = 1.0 / LINES, most = 5 * sqrt(EPOCHS * p * (1 - p));
			for (int i = 0; i < LINES; i++)
				for (int j = 0; j < LINES; j++)
					CHECK(&l.k, fabs((double)seen[i][j] - EPOCHS * p) < most,
					      "line %d is %lld times at place %d of %d epochs, in "
					      "batches "
					      "of %lld",
					      i, (long long)seen[i][j], j, EPOCHS, (long long)rows);
		}
		hec_corpus_destroy(c);
	}
	lab_close(&l);
}

/* Whatever the seed says. */
static void what_is_validated_on_comes_in_order_of_length(void **state)
{
	(void)state;
	lab l = lab_open(7740);
	lab_know_words(&l, WORDS);
	hec_corpus *c = open_order(&l, "longer", false);
	const batcher_options o = {
		.max_tokens = 1000, .max_rows = 1, .in_order = true, .seed = 11, .encoder = true};
	batcher *b = NULL;
	OK(&l.k, batcher_create(c, &o, &b));
	for (int i = 0; i < 2 * LINES; i++) {
		hec_batch batch;
		bool ended;
		OK(&l.k, batcher_next(b, &batch, &ended));
		assert_int_equal(batch.input->length[0], i % LINES + 3);
		assert_int_equal(ended, i % LINES == LINES - 1);
	}
	batcher_destroy(b);
	hec_corpus_destroy(c);
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_is_what_its_task_reads_and_is_to_say),
		cmocka_unit_test(a_window_points_at_a_whole_answer_or_at_its_first_token),
		cmocka_unit_test(a_label_is_a_whole_name),
		cmocka_unit_test(a_text_that_is_cut_keeps_its_end_and_is_counted),
		cmocka_unit_test(each_line_comes_at_each_place_as_often),
		cmocka_unit_test(what_is_validated_on_comes_in_order_of_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
