/* test_squad.c — questions from SQuAD's JSON: places in bytes, windows with their answers, what is wrong
 * told with its place, however broken the file; and the score of answers as SQuAD's script has it. */
#include "support/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/squad.h>

#include "train/batch.h"

static void write_text(const lab *l, const char *name, const char *text)
{
	lab_write(l, name, text, strlen(text));
}

#define ONE(context, answers, more)                                                                \
	"{\"data\": [{\"paragraphs\": [{\"context\": \"" context                                   \
	"\", \"qas\": [{\"id\": \"7\", \"question\": \"Who?\", \"answers\": " answers more         \
	"}]}]}]}"

static hec_status read_text(const lab *l, const char *text, hec_squad **out)
{
	write_text(l, "squad.json", text);
	const char *file = lab_path(l, "squad.json");
	return hec_squad_load(&file, 1, out);
}

static void places_count_characters_there_and_bytes_here(void **state)
{
	(void)state;
	lab l = lab_open(7700);
	hec_squad *s;
	OK(&l.k, read_text(&l,
	                   ONE("Zürich, où Émile né 😀 Ada",
	                       "[{\"text\": \"Émile\", \"answer_start\": 11}, {\"text\": "
	                       "\"Ada\", \"answer_start\": 22}]",
	                       ""),
	                   &s));
	assert_int_equal(hec_squad_count(s), 1);
	const hec_squad_question *q = hec_squad_at(s, 0);
	assert_int_equal(q->n, 2);
	for (size_t i = 0; i < 2; i++)
		assert_memory_equal(q->context + q->answers[i].begin, q->answers[i].text,
		                    q->answers[i].end - q->answers[i].begin);
	assert_string_equal(q->id, "7");
	assert_null(hec_squad_at(s, 1));
	hec_squad_destroy(s);
	lab_close(&l);
}

/* Beyond the marks, too. */
static void an_answer_far_into_a_long_context_is_found(void **state)
{
	(void)state;
	lab l = lab_open(7705);
	size_t n = 5000, at = 0;
	char *text = malloc(8 * n + 400);
	assert_non_null(text);
	at += (size_t)sprintf(text, "{\"data\": [{\"paragraphs\": [{\"context\": \"");
	for (size_t i = 0; i < n; i++)
		at += (size_t)sprintf(text + at, "%s", i == 4321 ? "x" : i % 3 ? "é" : "a");
	sprintf(text + at, "\", \"qas\": [{\"question\": \"?\", \"answers\": [{\"text\": \"x\", "
	                   "\"answer_start\": 4321}]}]}]}]}");
	hec_squad *s;
	OK(&l.k, read_text(&l, text, &s));
	const hec_squad_answer *a = hec_squad_at(s, 0)->answers;
	assert_int_equal(hec_squad_at(s, 0)->context[a->begin], 'x');
	hec_squad_destroy(s);
	free(text);
	lab_close(&l);
}

static void what_is_wrong_is_told_with_its_place(void **state)
{
	(void)state;
	lab l = lab_open(7710);
	static const char *const rows[][2] = {
		{"", ""},
		{"[]", "no list 'data'"},
		{"{\"data\": {}}", "no list 'data'"},
		{"{\"data\": [1]}", "data[0] has no list 'paragraphs'"},
		{"{\"data\": [{\"paragraphs\": [{}]}]}", "no 'context'"},
		{"{\"data\": [{\"paragraphs\": [{\"context\": \"a\"}]}]}", "no list 'qas'"},
		{"{\"data\": [{\"paragraphs\": [{\"context\": \"a\", \"qas\": [{}]}]}]}",
	         "no 'question'"},
		{ONE("abc", "[]", ""), "has no answer"},
		{ONE("abc", "3", ""), "'answers' is no list"},
		{ONE("abc", "[]", ", \"is_impossible\": 1"), "neither true nor false"},
		{ONE("abc", "[{\"answer_start\": 0}]", ""), "no 'text'"},
		{ONE("abc", "[{\"text\": \"a\"}]", ""), "no 'answer_start'"},
		{ONE("abc", "[{\"text\": \"a\", \"answer_start\": -1}]", ""), "'answer_start'"},
		{ONE("abc", "[{\"text\": \"a\", \"answer_start\": 0.5}]", ""), "'answer_start'"},
		{ONE("abc", "[{\"text\": \"a\", \"answer_start\": 3}]", ""), "character 3 of a"},
		{ONE("abc", "[{\"text\": \"a\", \"answer_start\": 9223372036854775807}]", ""),
	         "9223372036854775807"},
		{ONE("abc", "[{\"text\": \"b\", \"answer_start\": 0}]", ""),
	         "is 'b', but at character 0 stands 'abc"},
		{ONE("abc", "[{\"text\": \"cd\", \"answer_start\": 2}]", ""), "is 'cd'"},
		{ONE("abc", "[{\"text\": \"\", \"answer_start\": 0}]", ""), "is empty"},
		{"{\"data\": [], \"data\": []}", "data"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		hec_squad *s = NULL;
		hec_status status = read_text(&l, rows[i][0], &s);
		CHECK(&l.k, status == HEC_ERR_FORMAT && strstr(hec_error_message(), rows[i][1]),
		      "%s gave %d: %s", rows[i][0], (int)status, hec_error_message());
		assert_null(s);
	}
	lab_close(&l);
}

/* Cut at every byte, and every byte another one. */
static void no_broken_file_does_harm(void **state)
{
	(void)state;
	lab l = lab_open(7715);
	static const char good[] = ONE("abc é", "[{\"text\": \"bc\", \"answer_start\": 1}]",
	                               ", \"is_impossible\": false");
	const char *file = lab_path(&l, "squad.json");
	char name[512];
	snprintf(name, sizeof name, "%s", file);
	file = name;
	for (size_t i = 0; i < sizeof good - 1; i++) {
		hec_squad *s = NULL;
		lab_write(&l, "squad.json", good, i);
		assert_int_not_equal(hec_squad_load(&file, 1, &s), HEC_OK);
		for (size_t k = 0; k < 4; k++) {
			char other[sizeof good];
			memcpy(other, good, sizeof good);
			other[i] = "\xFF\"0["[k];
			lab_write(&l, "squad.json", other, sizeof good - 1);
			s = NULL;
			if (hec_squad_load(&file, 1, &s) == HEC_OK)
				hec_squad_destroy(s);
		}
	}
	lab_close(&l);
}

/* ---- scores: the numbers are those of evaluate-v2.0.py ---- */

static void scores_are_those_of_the_script(void **state)
{
	(void)state;
	static const struct {
		const char *given, *right[3];
		double exact, f1;
	} rows[] = {
		{"The Cat!", {"cat"}, 1, 1},
		{"a cat", {"the  cat"}, 1, 1},
		{"another cat", {"cat"}, 0, 2.0 / 3},
		{"in the year 1999", {"1999", "year 1999"}, 0, 0.8},
		{"dog", {"cat"}, 0, 0},
		{"", {NULL}, 1, 1},
		{"cat", {NULL}, 0, 0},
		{"", {"cat"}, 0, 0},
		{"the", {"cat"}, 0, 0},
		{"", {"the"}, 1, 1},
		{"U.S. Army", {"us army"}, 1, 1},
		{"cat cat dog", {"cat dog dog"}, 0, 2.0 / 3},
		{"\xC3\x89mile \xE2\x80\x94 a\xC3\xA9",
	         {"\xC3\xA9mile \xE2\x80\x94 a\xC3\xA9"},
	         1,
	         1},
		{"x\xE2\x80\x93"
	         "a\xE2\x80\x93y",
	         {"x\xE2\x80\x93 \xE2\x80\x93y"},
	         1,
	         1},
		{"one\xC2\xA0two", {"one two"}, 1, 1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		double exact = -1, f1 = -1;
		size_t n = 0;
		while (n < 3 && rows[i].right[n])
			n++;
		assert_int_equal(hec_score_answer(rows[i].given, rows[i].right, n, &exact, &f1),
		                 HEC_OK);
		if (exact != rows[i].exact || f1 < rows[i].f1 - 1e-12 || f1 > rows[i].f1 + 1e-12) {
			print_message("'%s': %g %g, not %g %g\n", rows[i].given, exact, f1,
			              rows[i].exact, rows[i].f1);
			assert_true(false);
		}
	}
	double x;
	assert_int_equal(hec_score_answer(NULL, NULL, 0, &x, &x), HEC_ERR_ARGUMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_count_characters_there_and_bytes_here),
		cmocka_unit_test(an_answer_far_into_a_long_context_is_found),
		cmocka_unit_test(what_is_wrong_is_told_with_its_place),
		cmocka_unit_test(no_broken_file_does_harm),
		cmocka_unit_test(scores_are_those_of_the_script),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
