/* test_fill.c — text with masks in, words out. The models are those of tests/golden/answer_fill; fill.jsonl
 * is what Transformers' pipeline fill-mask gives with them (tools/goldens/answer_fill.py). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/refuse_each.h"
#include "support/golden_lines.h"

#define SCORE 1e-4

static hec_filler *load_at(const kit *k, const char *path)
{
	hec_filler *f = NULL;
	OK(k, hec_filler_load(k->ctx, path, NULL, &f));
	return f;
}

static hec_filler *load(const kit *k, const char *name)
{
	char path[512];
	answers_path(name, path);
	return load_at(k, path);
}

static json_t *read_goldens(const kit *k)
{
	char path[512];
	answers_compared_path("fill.jsonl", path);
	return golden_lines(k, path, 20);
}

static bool same_text(const char *text, size_t bytes, const json_t *want)
{
	return bytes == json_string_length(want) &&
	       memcmp(text, json_string_value(want), bytes + 1) == 0;
}

/* How many predictions a mask has. */
static int64_t count(const hec_filled *filled, int64_t text, int64_t mask)
{
	int64_t n = 0;
	while (hec_filled_at(filled, text, mask, n))
		n++;
	return n;
}

static void compare(const kit *k, int line, const json_t *masks, const hec_filled *got,
                    double *worst)
{
	const int64_t n = hec_filled_masks(got, 0);
	CHECK(k, n == (int64_t)json_array_size(masks), "line %d: %lld masks", line, (long long)n);
	assert_null(hec_filled_at(got, 0, n, 0));
	for (int64_t m = 0; m < n; m++) {
		const json_t *row = json_array_get(masks, (size_t)m);
		const int64_t top = count(got, 0, m);
		CHECK(k, top == (int64_t)json_array_size(row), "line %d: %lld words", line,
		      (long long)top);
		for (int64_t i = 0; i < top; i++) {
			const hec_guess *g = hec_filled_at(got, 0, m, i);
			const json_t *want = json_array_get(row, (size_t)i);
			double score = golden_real(want, "score");
			double off = fabs(g->score - score);
			*worst = fmax(*worst, off);
			CHECK(k,
			      off <= SCORE && g->id == golden_whole(want, "id") &&
			              same_text(g->token, g->token_bytes,
			                        json_object_get(want, "token")) &&
			              same_text(g->text, g->text_bytes,
			                        json_object_get(want, "text")),
			      "line %d, mask %lld, word %lld: %d '%s' with %.9g in '%s'; not '%s' "
			      "with "
			      "%.9g in '%s'",
			      line, (long long)m, (long long)i, g->id, g->token, g->score, g->text,
			      golden_words(want, "token"), score, golden_words(want, "text"));
		}
	}
}

static void words_are_those_of_transformers(void **state)
{
	(void)state;
	kit k = kit_open(1);
	json_t *goldens = read_goldens(&k), *golden;
	size_t i;
	const char *last = "";
	hec_filler *f = NULL;
	double worst = 0;
	json_array_foreach(goldens, i, golden)
	{
		if (strcmp(golden_words(golden, "model"), last) != 0) {
			hec_filler_destroy(f);
			char path[512];
			answers_compared_path(last = golden_words(golden, "model"), path);
			f = load_at(&k, path);
		}
		hec_fill_options o = HEC_FILL_OPTIONS_INIT;
		o.top = golden_whole(golden, "top");
		int32_t targets[8];
		const json_t *named = json_object_get(golden, "targets");
		for (size_t t = 0; t < json_array_size(named); t++) {
			bool exact;
			OK(&k, hec_filler_target(f, json_string_value(json_array_get(named, t)),
			                         &targets[t], &exact));
			assert_true(exact);
			o.targets = targets;
			o.target_count++;
		}
		const char *text = golden_words(golden, "text");
		hec_filled *out;
		OK(&k, hec_fill(f, 1, &text, NULL, &o, &out));
		compare(&k, (int)i + 1, json_object_get(golden, "masks"), out, &worst);
		hec_filled_free(out);
	}
	print_message("largest difference of a score: %.2g\n", worst);
	hec_filler_destroy(f);
	json_decref(goldens);
	kit_close(&k);
}

/* A mask of text i of `all` has the same predictions in the only one of `one`. */
static void check_same(const kit *k, const char *model, const hec_filled *all, int i,
                       const hec_filled *one, int64_t mask)
{
	const int64_t top = count(all, i, mask);
	assert_int_equal(top, 5);
	assert_int_equal(count(one, 0, mask), top);
	for (int64_t rank = 0; rank < top; rank++) {
		const hec_guess *a = hec_filled_at(all, i, mask, rank),
				*b = hec_filled_at(one, 0, mask, rank);
		CHECK(k, a->score == b->score && a->id == b->id && strcmp(a->text, b->text) == 0,
		      "%s: text %d, mask %lld, word %lld differs", model, i, (long long)mask,
		      (long long)rank);
	}
}

static void a_text_is_filled_the_same_alone_and_among_others(void **state)
{
	(void)state;
	kit k = kit_open(2);
	const char *models[] = {"bert_fill", "roberta_fill", "bart_fill"};
	const char *texts[] = {"the [MASK]", "[MASK] of the water [MASK] then", "was [MASK] so",
	                       "one of them [MASK] and they said so when we were there with them",
	                       "[MASK]"};
	for (int m = 0; m < 3; m++) {
		hec_filler *f = load(&k, models[m]);
		hec_fill_options o = HEC_FILL_OPTIONS_INIT;
		hec_filled *all, *one;
		OK(&k, hec_fill(f, 5, texts, NULL, &o, &all));
		for (int i = 0; i < 5; i++) {
			o.batch = 1 + 7 * i;
			OK(&k, hec_fill(f, 1, &texts[i], NULL, &o, &one));
			assert_int_equal(hec_filled_masks(all, i), i == 1 ? 2 : 1);
			assert_int_equal(hec_filled_masks(one, 0), i == 1 ? 2 : 1);
			for (int64_t mask = 0; mask < hec_filled_masks(all, i); mask++)
				check_same(&k, models[m], all, i, one, mask);
			hec_filled_free(one);
		}
		assert_null(hec_filled_at(all, 5, 0, 0));
		hec_filled_free(all);
		hec_filler_destroy(f);
	}
	kit_close(&k);
}

static void any_tokenizer_takes_mask_by_its_common_name(void **state)
{
	(void)state;
	kit k = kit_open(3);
	hec_filler *f = load(&k, "roberta_fill");
	assert_string_equal(hec_filler_mask(f), "<mask>");
	const char *texts[] = {"the<mask> of [MASK][MASK", "the<mask> of <mask>[MASK"};
	hec_filled *out;
	OK(&k, hec_fill(f, 2, texts, NULL, NULL, &out));
	assert_int_equal(hec_filled_masks(out, 0), 2);
	for (int64_t mask = 0; mask < 2; mask++) {
		const int64_t top = count(out, 0, mask);
		assert_int_equal(count(out, 1, mask), top);
		for (int64_t rank = 0; rank < top; rank++) {
			const hec_guess *a = hec_filled_at(out, 0, mask, rank),
					*b = hec_filled_at(out, 1, mask, rank);
			assert_true(a->score == b->score);
			assert_string_equal(a->text, b->text);
		}
	}
	hec_filled_free(out);
	hec_filler_destroy(f);
	kit_close(&k);
}

static void all_probabilities_are_one(void **state)
{
	(void)state;
	kit k = kit_open(4);
	hec_filler *f = load(&k, "xlm-roberta_fill");
	const char *text = "the [MASK] of";
	hec_fill_options o = HEC_FILL_OPTIONS_INIT;
	o.top = 1000;
	hec_filled *out;
	OK(&k, hec_fill(f, 1, &text, NULL, &o, &out));
	double sum = 0;
	const hec_guess *g, *better = NULL;
	for (int64_t i = 0; (g = hec_filled_at(out, 0, 0, i)); i++) {
		sum += g->score;
		assert_true(!better || g->score <= better->score);
		better = g;
	}
	assert_int_equal(count(out, 0, 0), hec_model_config_of(hec_filler_model(f))->vocab);
	assert_true(fabs(sum - 1) < 1e-9);
	hec_filled_free(out);
	hec_filler_destroy(f);
	kit_close(&k);
}

static void expect(const kit *k, hec_filler *f, const char *text, hec_status want,
                   const char *message)
{
	const char *texts[] = {"the [MASK]", text};
	hec_filled *out;
	hec_status status = hec_fill(f, 2, texts, NULL, NULL, &out);
	CHECK(k, status == want && strstr(hec_error_message(), message), "%s: %s; not %s",
	      hec_status_name(status), hec_error_message(), message);
	assert_int_equal(hec_error_item(), 1);
	assert_null(out);
}

static void what_cannot_be_filled_is_said(void **state)
{
	(void)state;
	kit k = kit_open(5);
	hec_filler *f = load(&k, "roberta_fill");
	expect(&k, f, "no mask here", HEC_ERR_ARGUMENT, "no <mask> to fill");
	expect(&k, f, "", HEC_ERR_ARGUMENT, "no <mask> to fill");
	expect(&k, f, "\xff [MASK]", HEC_ERR_FORMAT, "UTF-8");
	expect(&k, f, NULL, HEC_ERR_ARGUMENT, "text 1 is NULL");
	char text[1000] = "[MASK]";
	for (int i = 0; i < 200; i++)
		strcat(text, " the"); /* NOLINT: 6 + 200 · 4 < 1000 */
	expect(&k, f, text, HEC_ERR_SHAPE, "the text has 203 tokens; the model takes ");
	int32_t id = 7, wrong = 1 << 20;
	bool exact = true;
	OK(&k, hec_filler_target(f, "waterwater", &id, &exact));
	assert_false(exact);
	assert_true(id >= 0 && id != 7);
	assert_int_equal(hec_filler_target(f, "", &id, &exact), HEC_ERR_ARGUMENT);
	hec_fill_options o = HEC_FILL_OPTIONS_INIT;
	o.targets = &wrong;
	o.target_count = 1;
	hec_filled *out;
	const char *good = "the [MASK]";
	assert_int_equal(hec_fill(f, 1, &good, NULL, &o, &out), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "target 1048576"));
	assert_null(out);
	assert_int_equal(hec_error_item(), -1);
	o.top = 0; /* is no default */
	assert_int_equal(hec_fill(f, 1, &good, NULL, &o, &out), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "top 0 "));
	o.top = 5;
	int32_t twice[] = {9, 12, 9};
	o.targets = twice;
	o.target_count = 3;
	OK(&k, hec_fill(f, 1, &good, NULL, &o, &out));
	assert_int_equal(count(out, 0, 0), 2);
	assert_int_equal(hec_filled_at(out, 0, 0, 0)->id + hec_filled_at(out, 0, 0, 1)->id, 21);
	hec_filled_free(out);
	hec_filler_destroy(f);
	char path[512];
	answers_path("bert_answer", path);
	f = NULL;
	assert_int_equal(hec_filler_load(k.ctx, path, NULL, &f), HEC_ERR_UNSUPPORTED);
	assert_non_null(strstr(hec_error_message(), "ForMaskedLM"));
	assert_null(f);
	kit_close(&k);
}

static hec_status cancel(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)phase;
	(void)total;
	++*(int *)user;
	return done > 0 ? HEC_ERR_CANCELLED : HEC_OK;
}

static void work_can_be_cancelled(void **state)
{
	(void)state;
	kit k = kit_open(6);
	hec_filler *f = load(&k, "bert_fill");
	const char *texts[] = {"the [MASK]", "a [MASK]", "one [MASK]"};
	int calls = 0;
	hec_fill_options o = HEC_FILL_OPTIONS_INIT;
	o.batch = 1;
	o.progress = cancel;
	o.user = &calls;
	hec_filled *out;
	assert_int_equal(hec_fill(f, 3, texts, NULL, &o, &out), HEC_ERR_CANCELLED);
	assert_int_equal(calls, 2);
	assert_null(out);
	assert_int_equal(hec_error_item(), -1);
	hec_filler_destroy(f);
	kit_close(&k);
}

static hec_status load_and_fill(void *user)
{
	const kit *k = user;
	char path[512];
	answers_path("roberta_fill", path);
	hec_filler *f = NULL;
	hec_status status = hec_filler_load(k->ctx, path, NULL, &f);
	if (status != HEC_OK)
		return status;
	const char *texts[] = {"the [MASK] of [MASK]", "one <mask>"};
	hec_filled *out;
	status = hec_fill(f, 2, texts, NULL, NULL, &out);
	hec_filled_free(out);
	hec_filler_destroy(f);
	return status;
}

static void every_refused_allocation_is_an_error_and_nothing_leaks(void **state)
{
	(void)state;
	kit k = kit_open_at(7, NULL, 1);
	OK(&k, load_and_fill(&k)); /* what the context keeps */
	assert_true(refuse_each(&k, load_and_fill, &k) > 30);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_those_of_transformers),
		cmocka_unit_test(a_text_is_filled_the_same_alone_and_among_others),
		cmocka_unit_test(any_tokenizer_takes_mask_by_its_common_name),
		cmocka_unit_test(all_probabilities_are_one),
		cmocka_unit_test(what_cannot_be_filled_is_said),
		cmocka_unit_test(work_can_be_cancelled),
		cmocka_unit_test(every_refused_allocation_is_an_error_and_nothing_leaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
