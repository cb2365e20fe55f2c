/* test_bleu_chrf.c — BLEU and chrF are sacrebleu's numbers, ROUGE-L those of rouge-score, also of odd text;
 * nothing is lost or leaked when memory is refused. */
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
		cmocka_unit_test(no_pairs_score_nothing),
		cmocka_unit_test(a_missing_text_is_named),
		cmocka_unit_test(text_that_is_not_utf8_is_scored),
		cmocka_unit_test(a_long_line_takes_no_time),
		cmocka_unit_test(every_refused_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
