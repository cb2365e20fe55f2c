/* test_bleu_chrf.c — BLEU and chrF are sacrebleu's numbers, ROUGE-L those of rouge-score, also of odd text;
 * nothing is lost or leaked when memory is refused. */
#include "score/ngram.h" /* before cmocka.h, which has a macro `fail` */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/score.h>

#include "alloc/refuse.h"
#include "support/clock.h"

/* Sums of at most a few logarithms of numbers near 100: 1e-11 is a hundred times their rounding. */
#define NEAR 1e-11
#define PAIRS_MOST 64
#define LINE_MOST 4096

typedef struct corpus {
	char name[64];
	size_t count;
	double bleu, chrf, rouge;
	char *hypotheses[PAIRS_MOST], *references[PAIRS_MOST];
} corpus;

/* A line of the file without its escapes, in new memory. */
static char *read_text(FILE *f)
{
	char line[LINE_MOST];
	assert_non_null(fgets(line, sizeof line, f));
	char *out = calloc(1, sizeof line), *to = out;
	assert_non_null(out);
	for (const char *at = line; *at && *at != '\n'; at++) {
		if (*at != '\\') {
			*to++ = *at;
			continue;
		}
		at++;
		*to++ = *at == 'n' ? '\n' : *at == 'r' ? '\r' : '\\';
	}
	return out;
}

static bool read_corpus(FILE *f, corpus *c)
{
	char line[256];
	if (!fgets(line, sizeof line, f))
		return false;
	assert_int_equal(sscanf(line, "corpus %63s %zu %lf %lf %lf", c->name, &c->count, &c->bleu,
	                        &c->chrf, &c->rouge),
	                 5);
	assert_true(c->count > 0 && c->count <= PAIRS_MOST);
	for (size_t i = 0; i < c->count; i++) {
		c->hypotheses[i] = read_text(f);
		c->references[i] = read_text(f);
	}
	return true;
}

static void free_corpus(corpus *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->hypotheses[i]);
		free(c->references[i]);
	}
}

static FILE *open_goldens(void)
{
	FILE *f = fopen(TESTS_DIR "/golden/score.txt", "r");
	assert_non_null(f);
	return f;
}

static void scores_are_those_of_their_references(void **state)
{
	(void)state;
	FILE *f = open_goldens();
	int seen = 0;
	for (corpus c; read_corpus(f, &c); seen++) {
		double bleu = NAN, chrf = NAN, rouge = NAN;
		const char *const *h = (const char *const *)c.hypotheses;
		const char *const *r = (const char *const *)c.references;
		assert_int_equal(hec_score_bleu(h, r, c.count, &bleu), HEC_OK);
		assert_int_equal(hec_score_chrf(h, r, c.count, &chrf), HEC_OK);
		assert_int_equal(hec_score_rouge(h, r, c.count, &rouge), HEC_OK);
		if (!(fabs(bleu - c.bleu) <= NEAR))
			fail_msg("%s: BLEU is %.17g, sacrebleu says %.17g", c.name, bleu, c.bleu);
		if (!(fabs(chrf - c.chrf) <= NEAR))
			fail_msg("%s: chrF is %.17g, sacrebleu says %.17g", c.name, chrf, c.chrf);
		if (!(fabs(rouge - c.rouge) <= NEAR))
			fail_msg("%s: ROUGE-L is %.17g, rouge-score says %.17g", c.name, rouge,
			         c.rouge);
		free_corpus(&c);
	}
	fclose(f);
	assert_true(seen >= 30);
}

static hec_status add(hec_scorer *s, const char *h, const char *r)
{
	return hec_scorer_add(s, h, strlen(h), r, strlen(r));
}

static hec_scorer *scorer(hec_score kind)
{
	hec_scorer *s = NULL;
	assert_int_equal(hec_scorer_create(kind, &s), HEC_OK);
	return s;
}

static void pair_by_pair_the_scores_have_the_same_bits(void **state)
{
	(void)state;
	FILE *f = open_goldens();
	for (corpus c; read_corpus(f, &c); free_corpus(&c)) {
		const char *const *h = (const char *const *)c.hypotheses;
		const char *const *r = (const char *const *)c.references;
		double whole[3];
		assert_int_equal(hec_score_bleu(h, r, c.count, &whole[HEC_SCORE_BLEU]), HEC_OK);
		assert_int_equal(hec_score_chrf(h, r, c.count, &whole[HEC_SCORE_CHRF]), HEC_OK);
		assert_int_equal(hec_score_rouge(h, r, c.count, &whole[HEC_SCORE_ROUGE]), HEC_OK);
		for (int kind = 0; kind < 3; kind++) {
			hec_scorer *s = scorer((hec_score)kind);
			assert_true(hec_scorer_score(s) == 0);
			for (size_t i = 0; i < c.count; i++)
				assert_int_equal(add(s, h[i], r[i]), HEC_OK);
			const double score = hec_scorer_score(s);
			assert_memory_equal(&score, &whole[kind], sizeof score);
			hec_scorer_destroy(s);
		}
	}
	fclose(f);
}

static void a_scorer_needs_a_score_that_there_is_and_texts(void **state)
{
	(void)state;
	hec_scorer *s;
	assert_int_equal(hec_scorer_create((hec_score)3, &s), HEC_ERR_ARGUMENT);
	assert_null(s);
	assert_int_equal(hec_scorer_create(HEC_SCORE_BLEU, NULL), HEC_ERR_ARGUMENT);
	s = scorer(HEC_SCORE_CHRF);
	assert_int_equal(hec_scorer_add(s, NULL, 0, "a", 1), HEC_ERR_ARGUMENT);
	assert_int_equal(hec_scorer_add(s, "a", 1, NULL, 0), HEC_ERR_ARGUMENT);
	assert_int_equal(hec_scorer_add(NULL, "a", 1, "a", 1), HEC_ERR_ARGUMENT);
	/* A text ends where its bytes do; a zero byte is one of them. */
	assert_int_equal(hec_scorer_add(s, "a\0bX", 3, "a\0bY", 3), HEC_OK);
	assert_true(fabs(hec_scorer_score(s) - 100) <= NEAR);
	hec_scorer_destroy(s);
	hec_scorer_destroy(NULL);
}

/* ---- against plain counting ---- */

static uint32_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* Each n-gram of the first takes one of the second that is the same and free. */
static uint64_t shared_plainly(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b,
                               size_t n)
{
	bool taken[64] = {false};
	uint64_t shared = 0;
	for (size_t i = 0; i + n <= n_a; i++)
		for (size_t j = 0; j + n <= n_b; j++)
			if (!taken[j] && memcmp(a + i, b + j, n * sizeof *a) == 0) {
				taken[j] = true;
				shared++;
				break;
			}
	return shared;
}

static void shared_ngrams_are_those_of_plain_counting(void **state)
{
	(void)state;
	uint64_t seed = 41;
	ngram_room room = {0};
	for (int round = 0; round < 3000; round++) {
		uint32_t symbols[120];
		const size_t n_a = draw(&seed) % 60, n_b = draw(&seed) % 60;
		const uint32_t kinds = 1 + draw(&seed) % 6;
		for (size_t i = 0; i < n_a + n_b; i++)
			symbols[i] = draw(&seed) % kinds;
		uint64_t shared[6];
		assert_int_equal(ngram_shared(&room, symbols, n_a, n_b, 6, shared), HEC_OK);
		for (size_t n = 1; n <= 6; n++)
			if (shared[n - 1] != shared_plainly(symbols, n_a, symbols + n_a, n_b, n))
				fail_msg("round %d: %zu-grams: %llu shared", round, n,
				         (unsigned long long)shared[n - 1]);
	}
	ngram_room_free(&room);
}

#define WORDS_OF_PAIR 300

static size_t longest_plainly(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b)
{
	size_t row[WORDS_OF_PAIR + 1] = {0};
	for (size_t i = 0; i < n_a; i++)
		for (size_t j = 0, corner = 0; j < n_b; j++) {
			const size_t above = row[j + 1];
			row[j + 1] = a[i] == b[j] ? corner + 1 : row[j] > above ? row[j] : above;
			corner = above;
		}
	return row[n_b];
}

static void write_words(char *to, const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to += snprintf(to, 8, "w%u ", (unsigned)words[i]);
	*to = '\0';
}

/* Pairs that begin and end alike, that have words of their own, short and long. */
static void rouge_finds_the_longest_common_subsequence(void **state)
{
	(void)state;
	uint64_t seed = 42;
	for (int round = 0; round < 1500; round++) {
		uint32_t a[WORDS_OF_PAIR], b[WORDS_OF_PAIR];
		const size_t most = round % 3 ? WORDS_OF_PAIR : 8;
		const size_t n_a = 1 + draw(&seed) % most, n_b = 1 + draw(&seed) % most;
		const uint32_t kinds = 1 + draw(&seed) % (round % 5 ? 200 : 4);
		const size_t alike = draw(&seed) % 2 ? draw(&seed) % 100 : 0;
		for (size_t i = 0; i < n_a; i++)
			a[i] = draw(&seed) % kinds;
		for (size_t i = 0; i < n_b; i++)
			b[i] = i < alike && i < n_a ? a[i] : draw(&seed) % kinds + kinds / 4;
		for (size_t i = 0; i < alike / 2 && i < n_a && i < n_b; i++)
			b[n_b - 1 - i] = a[n_a - 1 - i];
		const double length = (double)longest_plainly(a, n_a, b, n_b);
		const double p = length / (double)n_a, r = length / (double)n_b;
		const double want = length > 0 ? 100 * (2 * p * r / (p + r)) : 0;
		char text[2][8 * WORDS_OF_PAIR];
		write_words(text[0], a, n_a);
		write_words(text[1], b, n_b);
		hec_scorer *s = scorer(HEC_SCORE_ROUGE);
		assert_int_equal(add(s, text[0], text[1]), HEC_OK);
		if (fabs(hec_scorer_score(s) - want) > NEAR)
			fail_msg("round %d: %.17g, not %.17g", round, hec_scorer_score(s), want);
		hec_scorer_destroy(s);
	}
}

static void no_pairs_score_nothing(void **state)
{
	(void)state;
	double bleu = NAN, chrf = NAN, rouge = NAN;
	assert_int_equal(hec_score_bleu(NULL, NULL, 0, &bleu), HEC_OK);
	assert_int_equal(hec_score_chrf(NULL, NULL, 0, &chrf), HEC_OK);
	assert_int_equal(hec_score_rouge(NULL, NULL, 0, &rouge), HEC_OK);
	assert_true(bleu == 0 && chrf == 0 && rouge == 0);
}

static void a_missing_text_is_named(void **state)
{
	(void)state;
	double score;
	const char *some[] = {"a", "b"}, *hole[] = {"a", NULL};
	assert_int_equal(hec_score_bleu(some, hole, 2, &score), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "reference 1 is NULL"));
	assert_int_equal(hec_score_chrf(hole, some, 2, &score), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "hypothesis 1 is NULL"));
	assert_int_equal(hec_score_rouge(some, hole, 2, &score), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "hec_score_rouge: reference 1 is NULL"));
	assert_int_equal(hec_score_chrf(NULL, some, 2, &score), HEC_ERR_ARGUMENT);
	assert_int_equal(hec_score_bleu(some, some, 2, NULL), HEC_ERR_ARGUMENT);
}

/* Every byte string is a text: what is not UTF-8 counts byte by byte. */
static void text_that_is_not_utf8_is_scored(void **state)
{
	(void)state;
	static const char *const odd[] = {"\xff\xfe\xfd", "a\x80z",          "\xc3",
	                                  "\xe2\x82",     "\xf0\x9f\x98",    "\xed\xa0\x80",
	                                  "\xc0\xaf",     "\xf4\x90\x80\x80"};
	for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
		double chrf = NAN;
		assert_int_equal(hec_score_chrf(&odd[i], &odd[i], 1, &chrf), HEC_OK);
		assert_true(fabs(chrf - 100) <= NEAR);
	}
	const char *a = "\x80\x81", *b = "\x81\x80";
	double chrf = NAN;
	assert_int_equal(hec_score_chrf(&a, &b, 1, &chrf), HEC_OK);
	/* Both bytes are shared, their pair is not: the mean of 1 and 0. */
	assert_true(fabs(chrf - 50) <= NEAR);
}

/* Sorting is what could be slow: long runs of one symbol are its worst input. */
static void a_long_line_takes_no_time(void **state)
{
	(void)state;
	size_t size = 200000;
	char *line = malloc(size + 1);
	assert_non_null(line);
	memset(line, 'a', size);
	for (size_t i = 1; i < size; i += 2)
		line[i] = ' ';
	line[size] = '\0';
	const char *h = line;
	double bleu = NAN, chrf = NAN, rouge = NAN;
	assert_int_equal(hec_score_bleu(&h, &h, 1, &bleu), HEC_OK);
	assert_int_equal(hec_score_chrf(&h, &h, 1, &chrf), HEC_OK);
	assert_int_equal(hec_score_rouge(&h, &h, 1, &rouge), HEC_OK);
	assert_true(fabs(bleu - 100) <= 1e-9 && fabs(chrf - 100) <= 1e-9);
	assert_true(fabs(rouge - 100) <= 1e-9);
	free(line);
}

/* n words, "a" and "b" in turn. */
static char *turns(size_t n, char first, char second)
{
	char *text = malloc(2 * n + 1);
	assert_non_null(text);
	for (size_t i = 0; i < n; i++) {
		text[2 * i] = i % 2 ? second : first;
		text[2 * i + 1] = ' ';
	}
	text[2 * n] = '\0';
	return text;
}

/* Words × words would be 48 seconds here. */
static void texts_that_differ_in_a_few_words_take_no_time(void **state)
{
	(void)state;
	const size_t n = 1600000;
	char *h = turns(n, 'a', 'b'), *r = turns(n, 'a', 'b');
	h[0] = h[2 * n - 2] = 'c'; /* which only one of them has */
	r[0] = r[2 * n - 2] = 'd';
	h[n + 40] = 'e';
	hec_scorer *s = scorer(HEC_SCORE_ROUGE);
	const double begin = seconds_of_processor();
	assert_int_equal(add(s, h, r), HEC_OK);
	const double took = seconds_of_processor() - begin;
	if (!(took < 10))
		fail_msg("%g seconds", took);
	assert_true(fabs(hec_scorer_score(s) - 100 * (double)(n - 3) / (double)n) <= NEAR);
	hec_scorer_destroy(s);
	free(h);
	free(r);
}

static void a_pair_that_would_take_too_long_is_refused_with_its_numbers(void **state)
{
	(void)state;
	const size_t n = 750000;
	char *h = turns(n, 'a', 'b'), *r = turns(n, 'b', 'a');
	hec_scorer *s = scorer(HEC_SCORE_ROUGE);
	assert_int_equal(add(s, "one two", "one three"), HEC_OK);
	const double before = hec_scorer_score(s);
	assert_int_equal(add(s, h, r), HEC_ERR_UNSUPPORTED);
	assert_non_null(strstr(hec_error_message(), "ROUGE-L: 750000 and 750000 words"));
	assert_true(hec_scorer_score(s) == before);
	hec_scorer_destroy(s);
	free(h);
	free(r);
}

static double time_of_short_pairs(hec_scorer *s)
{
	const double begin = seconds_of_processor();
	for (int i = 0; i < 20000; i++)
		assert_int_equal(add(s, "a b c", "a b d"), HEC_OK);
	return seconds_of_processor() - begin;
}

/* What a pair leaves behind goes by its words, not by the room that a longer one took. */
static void short_pairs_behind_a_long_one_take_no_more_time(void **state)
{
	(void)state;
	const size_t different = 1000000;
	char *text = malloc(8 * different), *end = text;
	assert_non_null(text);
	for (size_t i = 0; i < different; i++)
		end += snprintf(end, 8, "%zu ", i);
	for (int kind = 0; kind < 3; kind++) {
		hec_scorer *s = scorer((hec_score)kind);
		const double alone = time_of_short_pairs(s);
		assert_int_equal(add(s, text, "1 2 3"), HEC_OK);
		const double behind = time_of_short_pairs(s);
		if (!(behind < 10 * alone + 0.1))
			fail_msg("score %d: %g seconds, not %g", kind, behind, alone);
		hec_scorer_destroy(s);
	}
	free(text);
}

static void every_refused_allocation_is_an_error(void **state)
{
	(void)state;
	const char *h[] = {"one", "a longer sentence, with more words."};
	const char *r[] = {"two", "a longer sentence with more words!"};
	double score;
	for (int which = 0; which < 3; which++) {
		long n = 1;
		for (;; n++) {
			long before = refuse_live();
			refuse_request(n, false);
			hec_status status = which == 0   ? hec_score_bleu(h, r, 2, &score)
			                    : which == 1 ? hec_score_chrf(h, r, 2, &score)
			                                 : hec_score_rouge(h, r, 2, &score);
			bool fired = refuse_fired();
			refuse_request(0, false);
			assert_int_equal(refuse_live(), before);
			assert_int_equal(status, fired ? HEC_ERR_MEMORY : HEC_OK);
			if (!fired)
				break;
		}
		assert_true(n > 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scores_are_those_of_their_references),
		cmocka_unit_test(pair_by_pair_the_scores_have_the_same_bits),
		cmocka_unit_test(a_scorer_needs_a_score_that_there_is_and_texts),
		cmocka_unit_test(shared_ngrams_are_those_of_plain_counting),
		cmocka_unit_test(rouge_finds_the_longest_common_subsequence),
		cmocka_unit_test(no_pairs_score_nothing),
		cmocka_unit_test(a_missing_text_is_named),
		cmocka_unit_test(text_that_is_not_utf8_is_scored),
		cmocka_unit_test(a_long_line_takes_no_time),
		cmocka_unit_test(texts_that_differ_in_a_few_words_take_no_time),
		cmocka_unit_test(a_pair_that_would_take_too_long_is_refused_with_its_numbers),
		cmocka_unit_test(short_pairs_behind_a_long_one_take_no_more_time),
		cmocka_unit_test(every_refused_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
