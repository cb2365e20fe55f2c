/* test_answer_span.c — the best answers of windows: against the definition by brute force, words, and
 * that neither order nor a refused allocation matters. */
#include "support/test.h"

#include "alloc/refuse.h"
#include "task/answer_span.h"

#include <math.h>
#include <string.h>

#define TOKENS 23
#define QUESTION 4 /* the first one, the question, what separates */

/* A window over the words of a text, one token for each character of it. */
typedef struct made {
	hec_span offsets[TOKENS];
	int8_t sequence[TOKENS];
	float logits[2 * TOKENS];
	answer_window window;
} made;

static float drawn(uint32_t seed, uint32_t i)
{
	uint32_t out[4];
	hec_philox((uint32_t[4]){i, 0, 0, 0}, (uint32_t[2]){seed, 7}, out);
	return (float)(out[0] * (12.0 / 4294967296.0) - 6.0);
}

static void set_window(made *m, uint32_t seed, size_t first)
{
	for (size_t i = 0; i < TOKENS; i++) {
		bool context = i >= QUESTION && i < TOKENS - 1;
		m->sequence[i] = context ? 1 : (i == 0 || i > 2 ? -1 : 0);
		m->offsets[i] = context ? (hec_span){first + i - QUESTION, first + i - QUESTION + 1}
		                        : (hec_span){0, 0};
		m->logits[2 * i] = drawn(seed, (uint32_t)i);
		m->logits[2 * i + 1] = drawn(seed, (uint32_t)(i + 1000));
	}
	m->window = (answer_window){TOKENS, m->offsets, m->sequence, 1, m->logits, false};
}

static double p(const made *m, size_t i, int side)
{
	double sum = 0;
	for (size_t k = 0; k < TOKENS; k++)
		if (k == 0 || m->sequence[k] == 1)
			sum += exp(m->logits[2 * k + (size_t)side]);
	return exp(m->logits[2 * i + (size_t)side]) / sum;
}

/* The best pair that is none of those before it: rank 0, 1, … */
static answer_span expected(const made *m, int64_t longest, double below)
{
	answer_span best = {-1, 0, 0};
	for (size_t i = QUESTION; i < TOKENS - 1; i++)
		for (size_t k = i; k < TOKENS - 1 && k < i + (size_t)longest; k++) {
			double score = p(m, i, 0) * p(m, k, 1);
			if (score > best.score && score < below - 1e-14)
				best = (answer_span){score, m->offsets[i].begin, m->offsets[k].end};
		}
	return best;
}

static const char plain[] = "a b c d e f g h i j k l m n o p q r s t u v w x y z";

static void the_best_pairs_come_first_with_their_probability(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 20; seed++) {
		made m;
		set_window(&m, seed, 3);
		answer_search s = {.text = plain,
		                   .bytes = sizeof plain - 1,
		                   .top = 9,
		                   .longest = 1 + seed % 6,
		                   .part_words = true};
		assert_int_equal(answer_search_add(&s, &m.window), HEC_OK);
		assert_int_equal(s.count, 9);
		double below = 2;
		for (int64_t i = 0; i < s.count; i++) {
			answer_span want = expected(&m, s.longest, below);
			if (s.best[i].begin != want.begin || s.best[i].end != want.end ||
			    fabs(s.best[i].score - want.score) > 1e-12)
				fail_msg("seed %u, answer %lld: %zu … %zu with %.9f; not %zu … %zu "
				         "with %.9f",
				         seed, (long long)i, s.best[i].begin, s.best[i].end,
				         s.best[i].score, want.begin, want.end, want.score);
			below = want.score;
		}
		assert_true(fabs(s.none - p(&m, 0, 0) * p(&m, 0, 1)) < 1e-12);
		answer_search_free(&s);
	}
}

/* The first words, and of those the fewest. */
static void of_equals_the_earlier_comes_first(void **state)
{
	(void)state;
	made m;
	set_window(&m, 1, 3);
	memset(m.logits, 0, sizeof m.logits);
	answer_search s = {.text = plain,
	                   .bytes = sizeof plain - 1,
	                   .top = 7,
	                   .longest = 3,
	                   .part_words = true};
	assert_int_equal(answer_search_add(&s, &m.window), HEC_OK);
	assert_int_equal(s.count, 7);
	for (int64_t i = 0; i < 7; i++) {
		assert_int_equal(s.best[i].begin, 3 + i / 3);
		assert_int_equal(s.best[i].end, 4 + i / 3 + i % 3);
	}
	answer_search_free(&s);
}

static void the_order_of_windows_does_not_matter(void **state)
{
	(void)state;
	made m[5];
	for (uint32_t i = 0; i < 5; i++)
		set_window(&m[i], i % 3, (size_t)7 * i); /* some equal, and all overlap */
	answer_search a = {.text = plain, .bytes = sizeof plain - 1, .top = 7, .longest = 4};
	answer_search b = a;
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(answer_search_add(&a, &m[i].window), HEC_OK);
		assert_int_equal(answer_search_add(&b, &m[(3 * i + 2) % 5].window), HEC_OK);
	}
	assert_int_equal(a.count, 7);
	assert_int_equal(b.count, 7);
	assert_true(a.none == b.none);
	for (int64_t i = 0; i < 7; i++) {
		assert_true(a.best[i].score == b.best[i].score);
		assert_int_equal(a.best[i].begin, b.best[i].begin);
		assert_int_equal(a.best[i].end, b.best[i].end);
		for (int64_t k = 0; k < i; k++)
			assert_false(a.best[i].begin == a.best[k].begin &&
			             a.best[i].end == a.best[k].end);
	}
	answer_search_free(&a);
	answer_search_free(&b);
}

/* The answer where one token (by its bytes in the text) is sure to be begin and end. */
static void answer_is(const char *text, const hec_span *tokens, size_t n, size_t token,
                      const char *want)
{
	hec_span offsets[TOKENS] = {{0, 0}};
	int8_t sequence[TOKENS] = {-1};
	float logits[2 * TOKENS] = {0};
	for (size_t i = 0; i < n; i++) {
		offsets[i + 1] = tokens[i];
		sequence[i + 1] = 1;
	}
	logits[2 * (token + 1)] = logits[2 * (token + 1) + 1] = 20;
	answer_search s = {.text = text, .bytes = strlen(text), .top = 1, .longest = 15};
	answer_window w = {n + 1, offsets, sequence, 1, logits, false};
	assert_int_equal(answer_search_add(&s, &w), HEC_OK);
	assert_int_equal(s.count, 1);
	if (s.best[0].end - s.best[0].begin != strlen(want) ||
	    memcmp(text + s.best[0].begin, want, strlen(want)) != 0)
		fail_msg("token %zu of \"%s\" gives \"%.*s\", not \"%s\"", token, text,
		         (int)(s.best[0].end - s.best[0].begin), text + s.best[0].begin, want);
	answer_search_free(&s);
}

static void answers_are_whole_words(void **state)
{
	(void)state;
	/* Ber|li|n|,| |in|£|5|. */
	static const hec_span berlin[] = {{0, 3},  {3, 5},   {5, 6},   {6, 7},
	                                  {8, 10}, {11, 13}, {13, 14}, {14, 15}};
	const char *text = "Berlin, in £5.";
	for (size_t i = 0; i < 3; i++)
		answer_is(text, berlin, 8, i, "Berlin");
	answer_is(text, berlin, 8, 3, ",");
	answer_is(text, berlin, 8, 4, "in");
	answer_is(text, berlin, 8, 5, "£5");
	answer_is(text, berlin, 8, 6, "£5");
	answer_is(text, berlin, 8, 7, ".");
	/* A letter of several bytes, in tokens that each span it. */
	static const hec_span cafe[] = {{0, 2}, {2, 5}, {5, 7}, {7, 9}, {7, 9}};
	answer_is("caféñü x", cafe, 5, 4, "caféñü");
	answer_is("caféñü x", cafe, 5, 0, "caféñü");
	/* No words without spaces: what the tokens say. */
	static const hec_span city[] = {{0, 3}, {3, 6}, {6, 12}};
	answer_is("北京在中国", city, 3, 1, "京");
	answer_is("北京在中国", city, 3, 2, "在中");
	/* Tokens that have the space before their word. */
	static const hec_span spaced[] = {{0, 2}, {2, 5}, {5, 8}};
	answer_is("in  Rome", spaced, 3, 1, "Rome");
	/* The window begins and ends within words. */
	static const hec_span inside[] = {{2, 4}, {4, 7}, {7, 9}};
	answer_is("abcdef ghijk", inside, 3, 0, "cdef");
	answer_is("abcdef ghijk", inside, 3, 2, "gh");
	/* Marks that the tokens leave out: behind a token, and behind the window's last one. */
	static const hec_span marked[] = {{0, 9}, {12, 15}};
	answer_is("नमस् तेx", marked, 1, 0, "नमस्");
	answer_is("नमस्ते", marked, 2, 1, "नमस्ते");
	static const hec_span bare[] = {{0, 1}, {2, 3}};
	answer_is("a !\xcc\x81", bare, 2, 1, "!");
	answer_is("a b\xcc\x81\xcc\x81, c", bare, 2, 1, "b\xcc\x81\xcc\x81");
}

static void the_same_words_are_one_answer_with_the_best_score(void **state)
{
	(void)state;
	hec_span offsets[] = {{0, 0}, {0, 3}, {3, 6}, {7, 9}};
	int8_t sequence[] = {-1, 1, 1, 1};
	float logits[] = {0, 0, 2, 1, 1, 2, 0, 0};
	answer_search s = {.text = "Berlin is", .bytes = 9, .top = 10, .longest = 15};
	answer_window w = {4, offsets, sequence, 1, logits, false};
	assert_int_equal(answer_search_add(&s, &w), HEC_OK);
	assert_int_equal(s.count, 3); /* Berlin; Berlin is; is */
	double sum = exp(2) + exp(1) + 2;
	assert_true(fabs(s.best[0].score - exp(2) / sum * exp(2) / sum) < 1e-12);
	assert_int_equal(s.best[0].begin, 0);
	assert_int_equal(s.best[0].end, 6);
	answer_search_free(&s);
}

static void a_window_without_context_has_no_answer(void **state)
{
	(void)state;
	hec_span offsets[] = {{0, 0}, {0, 3}, {0, 0}};
	int8_t sequence[] = {-1, 0, -1};
	float logits[] = {-3, -4, 9, 9, 9, 9};
	answer_search s = {.text = "", .bytes = 0, .top = 2, .longest = 15};
	answer_window w = {3, offsets, sequence, 1, logits, false};
	assert_int_equal(answer_search_add(&s, &w), HEC_OK);
	assert_int_equal(s.count, 0);
	assert_true(s.none == 1);
	answer_search_free(&s);
}

static void logits_that_are_no_numbers_are_an_error(void **state)
{
	(void)state;
	made m;
	set_window(&m, 1, 0);
	m.logits[2 * 9 + 1] = NAN;
	answer_search s = {.text = plain, .bytes = sizeof plain - 1, .top = 1, .longest = 15};
	assert_int_equal(answer_search_add(&s, &m.window), HEC_ERR_FORMAT);
	assert_non_null(strstr(hec_error_message(), "token 9 as the end"));
	m.logits[2 * 9 + 1] = 0;
	m.logits[2 * 2] = INFINITY; /* of the question: nobody looks */
	assert_int_equal(answer_search_add(&s, &m.window), HEC_OK);
	s.top = 0;
	assert_int_equal(answer_search_add(&s, &m.window), HEC_ERR_ARGUMENT);
	answer_search_free(&s);
}

static void a_refused_allocation_is_an_error_and_nothing_leaks(void **state)
{
	(void)state;
	made m;
	set_window(&m, 1, 0);
	for (long n = 1; n <= 4; n++) {
		long before = refuse_live();
		answer_search s = {.text = plain, .bytes = 51, .top = 3, .longest = 15};
		refuse_request(n, false);
		hec_status status = answer_search_add(&s, &m.window);
		bool fired = refuse_fired();
		refuse_request(0, false);
		assert_int_equal(status, fired ? HEC_ERR_MEMORY : HEC_OK);
		assert_int_equal(fired, n <= 3);
		answer_search_free(&s);
		assert_int_equal(refuse_live(), before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_pairs_come_first_with_their_probability),
		cmocka_unit_test(of_equals_the_earlier_comes_first),
		cmocka_unit_test(the_order_of_windows_does_not_matter),
		cmocka_unit_test(answers_are_whole_words),
		cmocka_unit_test(the_same_words_are_one_answer_with_the_best_score),
		cmocka_unit_test(a_window_without_context_has_no_answer),
		cmocka_unit_test(logits_that_are_no_numbers_are_an_error),
		cmocka_unit_test(a_refused_allocation_is_an_error_and_nothing_leaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
