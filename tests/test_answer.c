/* test_answer.c — questions in, words of the context out. The models are those of
 * tests/golden/answer_fill; answer.jsonl is what Transformers' numbers say (tools/goldens/answer_fill.py). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/refuse_each.h"
#include "support/golden_lines.h"

#define SCORE 1e-4
#define QUESTIONS 64

static hec_answerer *load_at(const kit *k, const char *path)
{
	hec_answerer *a = NULL;
	OK(k, hec_answerer_load(k->ctx, path, NULL, &a));
	return a;
}

static hec_answerer *load(const kit *k, const char *name)
{
	char path[512];
	answers_path(name, path);
	return load_at(k, path);
}

static json_t *read_goldens(const kit *k)
{
	char path[512];
	answers_compared_path("answer.jsonl", path);
	return golden_lines(k, path, 20);
}

static hec_question question_of(const json_t *golden)
{
	const char *q = golden_words(golden, "question"), *c = golden_words(golden, "context");
	return (hec_question){q, c, strlen(q), strlen(c)};
}

static hec_question ask(const char *question, const char *context)
{
	return (hec_question){question, context, strlen(question), strlen(context)};
}

/* How many answers a question has. */
static int64_t count(const hec_answers *answers, int64_t question)
{
	int64_t n = 0;
	while (hec_answers_at(answers, question, n))
		n++;
	return n;
}

static void compare(const kit *k, int line, const json_t *golden, const hec_answers *got,
                    double *worst)
{
	const json_t *want = json_object_get(golden, "answers");
	const int64_t n = count(got, 0), windows = hec_answers_windows(got, 0);
	const double none = hec_answers_none(got, 0);
	CHECK(k, n == (int64_t)json_array_size(want), "line %d: %lld answers, not %zu", line,
	      (long long)n, json_array_size(want));
	CHECK(k, windows == golden_whole(golden, "windows"), "line %d: %lld windows, not %lld",
	      line, (long long)windows, (long long)golden_whole(golden, "windows"));
	CHECK(k, fabs(none - golden_real(golden, "none")) <= SCORE, "line %d: no answer %.9g", line,
	      none);
	for (int64_t i = 0; i < n; i++) {
		const json_t *w = json_array_get(want, (size_t)i);
		const hec_answer_item *a = hec_answers_at(got, 0, i);
		double off = fabs(a->score - golden_real(w, "score"));
		*worst = fmax(*worst, off);
		CHECK(k,
		      off <= SCORE && strcmp(a->text, golden_words(w, "answer")) == 0 &&
		              a->bytes == strlen(a->text) &&
		              (int64_t)a->begin == golden_whole(w, "begin") &&
		              (int64_t)a->end == golden_whole(w, "end"),
		      "line %d, answer %lld: '%s' %zu … %zu with %.9g; not '%s' %lld … %lld with "
		      "%.9g",
		      line, (long long)i, a->text, a->begin, a->end, a->score,
		      golden_words(w, "answer"), (long long)golden_whole(w, "begin"),
		      (long long)golden_whole(w, "end"), golden_real(w, "score"));
	}
}

static void answers_are_those_of_transformers(void **state)
{
	(void)state;
	kit k = kit_open(1);
	json_t *goldens = read_goldens(&k), *golden;
	size_t i;
	int places = 0;
	const char *last = "";
	hec_answerer *a = NULL;
	double worst = 0;
	json_array_foreach(goldens, i, golden)
	{
		if (strcmp(golden_words(golden, "model"), last) != 0) {
			hec_answerer_destroy(a);
			char path[512];
			answers_compared_path(last = golden_words(golden, "model"), path);
			a = load_at(&k, path);
		}
		hec_answer_options o = HEC_ANSWER_OPTIONS_INIT;
		o.top = golden_whole(golden, "top");
		o.max_tokens = golden_whole(golden, "most");
		o.window = golden_whole(golden, "window");
		o.part_words = json_is_true(json_object_get(golden, "part_words"));
		hec_question q = question_of(golden);
		hec_answers *out;
		OK(&k, hec_answer(a, 1, &q, &o, &out));
		compare(&k, (int)i + 1, golden, out, &worst);
		hec_answers_free(out);
		const char *place = golden_words(golden, "place");
		places |= place[0] == 'f' ? 1 : place[0] == 'l' ? 2 : place[0] == 't' ? 4 : 0;
	}
	assert_true(answers_live() ||
	            places == 7); /* best in the first window, in the last, in two */
	print_message("largest difference of a score: %.2g\n", worst);
	hec_answerer_destroy(a);
	json_decref(goldens);
	kit_close(&k);
}

/* Question i of `all` has the same answers as the only one of `one`. */
static bool same(const hec_answers *all, int64_t i, const hec_answers *one)
{
	bool equal = hec_answers_none(all, i) == hec_answers_none(one, 0) &&
	             hec_answers_windows(all, i) == hec_answers_windows(one, 0);
	for (int64_t rank = 0; equal; rank++) {
		const hec_answer_item *a = hec_answers_at(all, i, rank),
				      *b = hec_answers_at(one, 0, rank);
		if (!a || !b)
			return !a && !b;
		equal = a->score == b->score && a->begin == b->begin && a->end == b->end &&
		        strcmp(a->text, b->text) == 0;
	}
	return false;
}

static void a_question_has_the_same_answer_alone_and_among_others(void **state)
{
	(void)state;
	kit k = kit_open(2);
	json_t *golden = read_goldens(&k);
	const int n = (int)json_array_size(golden);
	hec_question *q = calloc((size_t)n, sizeof *q);
	assert_non_null(q);
	for (int i = 0; i < n; i++) /* of any model: the texts are what is wanted */
		q[i] = question_of(json_array_get(golden, (size_t)i));
	hec_answerer *a = load(&k, "bert_answer");
	hec_answer_options o = HEC_ANSWER_OPTIONS_INIT;
	o.top = 4;
	hec_answers *all, *one;
	OK(&k, hec_answer(a, n, q, &o, &all));
	assert_null(hec_answers_at(all, n, 0));
	for (int i = 0; i < n; i++) {
		o.batch = 1 + 50 * i;
		OK(&k, hec_answer(a, 1, &q[i], &o, &one));
		CHECK(&k, same(all, i, one), "question %d differs", i);
		hec_answers_free(one);
	}
	hec_answers_free(all);
	hec_answerer_destroy(a);
	free(q);
	json_decref(golden);
	kit_close(&k);
}

static void offsets_are_bytes_of_the_context(void **state)
{
	(void)state;
	kit k = kit_open(3);
	const char *models[] = {"bert_answer", "distilbert_answer", "roberta_answer",
	                        "xlm-roberta_answer"};
	/* clang-format off */
	const char *context = "größer, 你好 世界: Ελλάδα — “naïve café” 👍🏽 नमस्ते £5 (мир)…";
	/* clang-format on */
	for (int m = 0; m < 4; m++) {
		hec_answerer *a = load(&k, models[m]);
		hec_answer_options o = HEC_ANSWER_OPTIONS_INIT;
		o.top = 500;
		hec_question q = ask("what", context);
		hec_answers *out;
		OK(&k, hec_answer(a, 1, &q, &o, &out));
		assert_true(count(out, 0) > 20);
		const hec_answer_item *x, *better = NULL;
		for (int64_t i = 0; (x = hec_answers_at(out, 0, i)); i++) {
			assert_int_equal(x->bytes, x->end - x->begin);
			assert_memory_equal(x->text, context + x->begin, x->bytes);
			assert_true((context[x->begin] & 0xc0) != 0x80); /* whole characters */
			assert_true((context[x->end] & 0xc0) != 0x80);
			assert_true(x->text[0] != ' ' && x->text[x->bytes - 1] != ' ');
			assert_true(!better || x->score <= better->score);
			better = x;
		}
		hec_answers_free(out);
		hec_answerer_destroy(a);
	}
	kit_close(&k);
}

static void a_context_without_a_word_has_no_answer(void **state)
{
	(void)state;
	kit k = kit_open(4);
	hec_answerer *a = load(&k, "bert_answer");
	hec_question q[] = {ask("who", ""), ask("who", "the time"), ask("who", " \t\n  ")};
	hec_answers *out;
	OK(&k, hec_answer(a, 3, q, NULL, &out));
	for (int i = 0; i < 3; i += 2) {
		const hec_answer_item *x = hec_answers_at(out, i, 0);
		assert_int_equal(count(out, i), 1);
		assert_string_equal(x->text, "");
		assert_int_equal(x->begin, 0);
		assert_int_equal(x->end, 0);
		assert_true(x->score == 1);
		assert_int_equal(hec_answers_windows(out, i), 0);
	}
	assert_true(hec_answers_at(out, 1, 0)->bytes > 0);
	hec_answers_free(out);
	hec_answerer_destroy(a);
	kit_close(&k);
}

static void the_empty_answer_comes_where_it_is_better(void **state)
{
	(void)state;
	kit k = kit_open(5);
	hec_answerer *a = load(&k, "distilbert_answer");
	hec_question q = ask("who", "the water was called one of them");
	hec_answer_options o = HEC_ANSWER_OPTIONS_INIT;
	o.top = 3;
	hec_answers *out;
	OK(&k, hec_answer(a, 1, &q, &o, &out));
	const double none = hec_answers_none(out, 0), best = hec_answers_at(out, 0, 0)->score,
		     second = hec_answers_at(out, 0, 1)->score;
	assert_true(none > 0 && none < best);
	hec_answers_free(out);
	o.may_be_none = true;
	/* Before the first; between the two; below all three. */
	const double margins[] = {none - best - 1e-6, none - (best + second) / 2, none};
	for (int i = 0; i < 3; i++) {
		o.none_margin = margins[i];
		OK(&k, hec_answer(a, 1, &q, &o, &out));
		assert_int_equal(count(out, 0), 3);
		for (int j = 0; j < 3; j++) {
			const hec_answer_item *x = hec_answers_at(out, 0, j);
			assert_int_equal(x->bytes == 0, j == i && i < 2);
			assert_true(x->bytes > 0 || (x->score == none && x->end == 0));
		}
		hec_answers_free(out);
	}
	o.none_margin = NAN;
	assert_int_equal(hec_answer(a, 1, &q, &o, &out), HEC_ERR_ARGUMENT);
	assert_null(out);
	hec_answerer_destroy(a);
	kit_close(&k);
}

/* Hundreds of windows: what they find lies anywhere between the first word and the last. */
static void a_long_context_is_read_to_its_end(void **state)
{
	(void)state;
	kit k = kit_open(6);
	hec_answerer *a = load(&k, "distilbert_answer");
	const char *part = "the water was called one of them, and they said so. ";
	size_t length = strlen(part), bytes = length * 600;
	char *text = malloc(bytes + 1);
	assert_non_null(text);
	for (size_t i = 0; i < 600; i++)
		memcpy(text + i * length, part, length + 1);
	hec_question q = {"who", text, 3, bytes};
	hec_answer_options o = HEC_ANSWER_OPTIONS_INIT;
	o.top = 10000;
	hec_answers *out;
	OK(&k, hec_answer(a, 1, &q, &o, &out));
	assert_true(hec_answers_windows(out, 0) > 600);
	size_t first = bytes, last = 0;
	const hec_answer_item *x;
	for (int64_t i = 0; (x = hec_answers_at(out, 0, i)); i++) {
		first = x->begin < first ? x->begin : first;
		last = x->end > last ? x->end : last;
		assert_memory_equal(x->text, text + x->begin, x->bytes);
	}
	assert_true(first < length && last > bytes - length);
	hec_answers_free(out);
	/* One word, longer than a window. */
	memset(text, 'a', bytes);
	o.top = 2;
	OK(&k, hec_answer(a, 1, &q, &o, &out));
	assert_true(hec_answers_windows(out, 0) >= 1);
	hec_answers_free(out);
	free(text);
	hec_answerer_destroy(a);
	kit_close(&k);
}

static void expect(const kit *k, hec_answerer *a, hec_question q, const hec_answer_options *o,
                   hec_status want, const char *message)
{
	hec_question both[] = {ask("who", "the time"), q};
	hec_answers *out;
	hec_status status = hec_answer(a, 2, both, o, &out);
	CHECK(k, status == want && strstr(hec_error_message(), message), "%s: %s; not %s",
	      hec_status_name(status), hec_error_message(), message);
	assert_int_equal(hec_error_item(), 1);
	assert_null(out);
}

static void what_cannot_be_answered_is_said(void **state)
{
	(void)state;
	kit k = kit_open(7);
	hec_answerer *a = load(&k, "bert_answer"); /* 44 positions */
	char question[400] = "";
	for (int i = 0; i < 45; i++)
		strcat(question, "the "); /* NOLINT: 45 · 4 < 400 */
	expect(&k, a, ask(question, "the time"), NULL, HEC_ERR_SHAPE,
	       "the question has 45 tokens, 3 are added, and a window of 44 leaves none");
	/* It just fits: a window with one token of the context. */
	question[40 * 4] = '\0';
	hec_question fits = ask(question, "the the the");
	hec_answers *out;
	OK(&k, hec_answer(a, 1, &fits, NULL, &out));
	assert_int_equal(hec_answers_windows(out, 0), 3);
	hec_answers_free(out);
	expect(&k, a, ask(" ", "the time"), NULL, HEC_ERR_ARGUMENT, "no word");
	expect(&k, a, ask("who", "the \xff time"), NULL, HEC_ERR_FORMAT, "UTF-8");
	expect(&k, a, ask("\xff", "the time"), NULL, HEC_ERR_FORMAT, "UTF-8");
	expect(&k, a, (hec_question){"who", NULL, 3, 0}, NULL, HEC_ERR_ARGUMENT, "NULL");
	hec_answer_options o = HEC_ANSWER_OPTIONS_INIT;
	o.window = 20;
	o.stride = 13;
	question[4 * 4] = '\0';
	expect(&k, a, ask(question, "the time"), &o, HEC_ERR_ARGUMENT,
	       "share 13 tokens, but one of 20 has room for 13");
	o.window = 45;
	assert_int_equal(hec_answer(a, 1, &fits, &o, &out), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "windows of 45 tokens; the model takes 44"));
	assert_int_equal(hec_error_item(), -1);
	assert_null(out);
	o = (hec_answer_options)HEC_ANSWER_OPTIONS_INIT;
	o.top = 0; /* is no default */
	assert_int_equal(hec_answer(a, 1, &fits, &o, &out), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "top 0 "));
	assert_int_equal(hec_error_item(), -1);
	assert_null(out);
	o = (hec_answer_options)HEC_ANSWER_OPTIONS_INIT;
	o.lossy = true;
	o.top = 300;
	hec_question lossy = ask("who\xff", "the \xff time \xe4\xbd of");
	OK(&k, hec_answer(a, 1, &lossy, &o, &out));
	bool replaced = false;
	const hec_answer_item *x;
	for (int64_t i = 0; (x = hec_answers_at(out, 0, i)); i++)
		replaced |= strstr(x->text, "\xef\xbf\xbd") != NULL;
	assert_true(replaced);
	hec_answers_free(out);
	hec_answerer_destroy(a);
	kit_close(&k);
}

static void a_model_without_the_head_says_what_to_use(void **state)
{
	(void)state;
	kit k = kit_open(8);
	char path[512];
	hec_answerer *a = NULL;
	answers_path("bart_fill", path);
	assert_int_equal(hec_answerer_load(k.ctx, path, NULL, &a), HEC_ERR_UNSUPPORTED);
	assert_non_null(strstr(hec_error_message(), "hecate generate"));
	answers_path("bert_fill", path);
	assert_int_equal(hec_answerer_load(k.ctx, path, NULL, &a), HEC_ERR_UNSUPPORTED);
	assert_non_null(strstr(hec_error_message(), "--task answer"));
	assert_null(a);
	assert_int_equal(hec_answerer_create(k.ctx, NULL, NULL, &a), HEC_ERR_ARGUMENT);
	kit_close(&k);
}

static hec_status cancel_later(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)phase;
	(void)total;
	int *calls = user;
	return ++*calls > 2 && done > 0 ? HEC_ERR_CANCELLED : HEC_OK;
}

static void work_can_be_cancelled(void **state)
{
	(void)state;
	kit k = kit_open(9);
	hec_answerer *a = load(&k, "bert_answer");
	hec_question q[QUESTIONS];
	for (int i = 0; i < QUESTIONS; i++)
		q[i] = ask("who", "the water was called one of them");
	int calls = 0;
	hec_answer_options o = HEC_ANSWER_OPTIONS_INIT;
	o.batch = 50;
	o.progress = cancel_later;
	o.user = &calls;
	hec_answers *out;
	assert_int_equal(hec_answer(a, QUESTIONS, q, &o, &out), HEC_ERR_CANCELLED);
	assert_int_equal(calls, 3);
	assert_int_equal(hec_error_item(), -1);
	assert_null(out);
	o.progress = NULL;
	OK(&k, hec_answer(a, QUESTIONS, q, &o, &out)); /* and all is well again */
	hec_answers_free(out);
	hec_answerer_destroy(a);
	kit_close(&k);
}

static hec_status load_and_answer(void *user)
{
	const kit *k = user;
	char path[512];
	answers_path("bert_answer", path);
	hec_answerer *a = NULL;
	hec_status status = hec_answerer_load(k->ctx, path, NULL, &a);
	if (status != HEC_OK)
		return status;
	hec_question q[] = {ask("who", "the water was called one of them"),
	                    ask("what", "the water was called one of them, and they said so. the "
	                                "water was called one of them, and they said so")};
	hec_answer_options o = HEC_ANSWER_OPTIONS_INIT;
	o.top = 3;
	o.may_be_none = true;
	hec_answers *out;
	status = hec_answer(a, 2, q, &o, &out);
	hec_answers_free(out);
	hec_answerer_destroy(a);
	return status;
}

static void every_refused_allocation_is_an_error_and_nothing_leaks(void **state)
{
	(void)state;
	kit k = kit_open_at(10, NULL, 1);
	OK(&k, load_and_answer(&k)); /* what the context keeps */
	assert_true(refuse_each(&k, load_and_answer, &k) > 30);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_those_of_transformers),
		cmocka_unit_test(a_question_has_the_same_answer_alone_and_among_others),
		cmocka_unit_test(offsets_are_bytes_of_the_context),
		cmocka_unit_test(a_context_without_a_word_has_no_answer),
		cmocka_unit_test(the_empty_answer_comes_where_it_is_better),
		cmocka_unit_test(a_long_context_is_read_to_its_end),
		cmocka_unit_test(what_cannot_be_answered_is_said),
		cmocka_unit_test(a_model_without_the_head_says_what_to_use),
		cmocka_unit_test(work_can_be_cancelled),
		cmocka_unit_test(every_refused_allocation_is_an_error_and_nothing_leaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
