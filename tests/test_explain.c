/* test_explain.c — the numbers of `hecate explain` against a computation in double that stands on
 * its own: every step of every example and of files, each with the bound of its roundings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain_json.h"

/* y = x·w[:, first …] + b, with the bound of a float sum of so many products. */
static void check_product(const char *what, const mat *x, const mat *w, const mat *b, size_t first,
                          const mat *y)
{
	assert_int_equal(x->columns, w->rows);
	assert_int_equal(x->rows, y->rows);
	for (size_t r = 0; r < y->rows; r++)
		for (size_t c = 0; c < y->columns; c++) {
			double sum = b->rows ? at(b, 0, first + c) : 0, magnitude = fabs(sum);
			for (size_t i = 0; i < x->columns; i++) {
				double term = at(x, r, i) * at(w, i, first + c);
				sum += term;
				magnitude += fabs(term);
			}
			near(what, r, c, at(y, r, c), sum,
			     (double)(x->columns + 2) * U * magnitude + FLT_MIN);
		}
}

typedef bool sees_fn(size_t t, size_t s, size_t T, size_t S);

static bool sees_all(size_t t, size_t s, size_t T, size_t S)
{
	(void)t, (void)s, (void)T, (void)S;
	return true;
}

static bool sees_past(size_t t, size_t s, size_t T, size_t S)
{
	return s + T <= t + S;
}

/* One row of one head: scores, scaled, masked, weights and head from Q, K and V. */
static void check_row(size_t t, const mat *q, const mat *k, const mat *v, const mat steps[5],
                      sees_fn *sees)
{
	size_t S = k->rows, K = q->columns, T = q->rows;
	double max = -INFINITY, sum = 0, largest = 0, scale = 1 / sqrt((double)K);
	double *score = calloc(S, sizeof *score);
	assert_non_null(score);
	for (size_t s = 0; s < S; s++) {
		double magnitude = 0;
		for (size_t i = 0; i < K; i++) {
			score[s] += at(q, t, i) * at(k, s, i);
			magnitude += fabs(at(q, t, i) * at(k, s, i));
		}
		double bound = (double)(K + 2) * U * magnitude + FLT_MIN;
		near("scores", t, s, at(&steps[0], t, s), score[s], bound);
		near("scaled", t, s, at(&steps[1], t, s), scale * score[s], scale * bound * 1.01);
		if (!sees(t, s, T, S)) {
			assert_true(isnan(at(&steps[2], t, s))); /* null */
			assert_true(at(&steps[3], t, s) == 0);
			continue;
		}
		near("masked", t, s, at(&steps[2], t, s), scale * score[s], scale * bound * 1.01);
		max = fmax(max, scale * score[s]);
		largest = fmax(largest, magnitude);
	}
	for (size_t s = 0; s < S; s++)
		sum += sees(t, s, T, S) ? exp(scale * score[s] - max) : 0;
	/* As far as rounding of the scores can move a weight, and the sums after that. */
	double off = expm1(2 * (double)(K + 6) * U * largest * scale) + (2 * (double)S + 16) * U;
	double total = 0;
	for (size_t s = 0; s < S; s++) {
		if (!sees(t, s, T, S))
			continue;
		double w = exp(scale * score[s] - max) / sum;
		near("weights", t, s, at(&steps[3], t, s), w, w * off + FLT_MIN);
		total += at(&steps[3], t, s);
	}
	near("sum of weights", t, 0, total, sum > 0 ? 1 : 0, (double)(S + 2) * 2 * U);
	for (size_t d = 0; d < v->columns; d++) {
		double mixed = 0, magnitude = 0, highest = 0;
		for (size_t s = 0; s < S && sum > 0; s++) {
			double w = sees(t, s, T, S) ? exp(scale * score[s] - max) / sum : 0;
			mixed += w * at(v, s, d);
			magnitude += fabs(w * at(v, s, d));
			highest = fmax(highest, fabs(at(v, s, d)));
		}
		near("head", t, d, at(&steps[4], t, d), mixed,
		     magnitude * off + (double)S * FLT_MIN * highest);
	}
	free(score);
}

typedef struct sizes {
	size_t T, S, C, H, K, D, out; /* out 0: no W_O */
} sizes;

static void check_head(const json_t *root, const sizes *n, size_t h, sees_fn *sees, const mat *x,
                       const mat *source, const mat *concat)
{
	static const char *const names[] = {"scores", "scaled", "masked", "weights"};
	int head = (int)h;
	mat w_q = find(root, "W_Q", -1), w_k = find(root, "W_K", -1), w_v = find(root, "W_V", -1);
	mat b_q = find(root, "b_Q", -1), b_k = find(root, "b_K", -1), b_v = find(root, "b_V", -1);
	mat q = need(root, "Q", head, n->T, n->K), k = need(root, "K", head, n->S, n->K);
	mat v = need(root, "V", head, n->S, n->D), steps[5];
	for (int i = 0; i < 4; i++)
		steps[i] = need(root, names[i], head, n->T, n->S);
	steps[4] = need(root, "head", head, n->T, n->D);
	check_product("Q", x, &w_q, &b_q, h * n->K, &q);
	check_product("K", source, &w_k, &b_k, h * n->K, &k);
	check_product("V", source, &w_v, &b_v, h * n->D, &v);
	for (size_t t = 0; t < n->T; t++) {
		check_row(t, &q, &k, &v, steps, sees);
		for (size_t d = 0; d < n->D; d++) /* heads do not mix */
			assert_true(at(concat, t, h * n->D + d) == at(&steps[4], t, d));
	}
	mat *all[] = {&w_q, &w_k, &w_v,      &b_q,      &b_k,      &b_v,      &q,
	              &k,   &v,   &steps[0], &steps[1], &steps[2], &steps[3], &steps[4]};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		free(all[i]->v);
}

/* Every step of the program's JSON against its definition. */
static void check_steps(const json_t *root, const char *name, const sizes *n, sees_fn *sees)
{
	size_t HD = n->H * n->D, out = n->out ? n->out : HD;
	assert_string_equal(json_string_value(json_object_get(root, "example")), name);
	mat x = need(root, "X", -1, n->T, n->C), memory = find(root, "memory", -1);
	mat concat = need(root, "concat", -1, n->T, HD);
	mat output = need(root, "output", -1, n->T, out);
	for (size_t h = 0; h < n->H; h++)
		check_head(root, n, h, sees, &x, memory.rows ? &memory : &x, &concat);
	mat past = find(root, "Q", (int)n->H); /* and no head more */
	assert_int_equal(past.rows, 0);
	mat w_o = find(root, "W_O", -1), b_o = find(root, "b_O", -1);
	assert_int_equal(w_o.rows, n->out ? HD : 0);
	if (n->out)
		check_product("output", &concat, &w_o, &b_o, 0, &output);
	else
		assert_memory_equal(output.v, concat.v, n->T * HD * sizeof *concat.v);
	mat top = read_values(json_object_get(root, "output"));
	assert_int_equal(top.rows, output.rows);
	assert_int_equal(top.columns, output.columns);
	assert_memory_equal(top.v, output.v, top.rows * top.columns * sizeof *top.v);
	mat *all[] = {&x, &memory, &concat, &output, &w_o, &b_o, &top};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		free(all[i]->v);
}

static void check_run(const char *arguments, const char *name, sizes n, sees_fn *sees)
{
	json_t *root = run_json(arguments);
	check_steps(root, name, &n, sees);
	json_decref(root);
}

/* ---- the examples ---- */

static void every_step_of_every_example_is_what_it_says(void **state)
{
	(void)state;
	check_run("pronoun", "pronoun", (sizes){5, 5, 4, 1, 4, 4, 0}, sees_all);
	check_run("two-heads", "two-heads", (sizes){2, 2, 4, 2, 2, 2, 4}, sees_all);
	check_run("four-words", "four-words", (sizes){4, 4, 4, 1, 4, 4, 0}, sees_all);
	check_run("two-by-two", "two-by-two", (sizes){2, 2, 2, 1, 2, 2, 0}, sees_all);
	check_run("five-by-two-free", "five-by-two-free", (sizes){3, 3, 5, 2, 2, 3, 5}, sees_all);
	check_run("ten-by-128", "ten-by-128", (sizes){10, 10, 128, 4, 32, 32, 128}, sees_past);
	check_run("base", "base", (sizes){6, 6, 512, 8, 64, 64, 512}, sees_all);
}

static void options_change_an_example(void **state)
{
	(void)state;
	check_run("two-heads --heads 1", "two-heads", (sizes){2, 2, 4, 1, 4, 4, 4}, sees_all);
	check_run("two-heads --heads=4 --seed 7", "two-heads", (sizes){2, 2, 4, 4, 1, 1, 4},
	          sees_all);
	check_run("--causal four-words", "four-words", (sizes){4, 4, 4, 1, 4, 4, 0}, sees_past);
	check_run("four-words --heads 2", "four-words", (sizes){4, 4, 4, 2, 2, 2, 0}, sees_all);
	check_run("five-by-two --heads 5", "five-by-two", (sizes){3, 3, 5, 5, 1, 1, 5}, sees_all);
	check_run("base --heads 16 --causal", "base", (sizes){6, 6, 512, 16, 32, 32, 512},
	          sees_past);

	result a = run("explain two-heads --json"), b = run("explain two-heads --json");
	result c = run("explain two-heads --json --seed 18446744073709551615");
	assert_string_equal(a.out, b.out);
	assert_string_not_equal(a.out, c.out);
	done(&a);
	done(&b);
	done(&c);
}

static void expect_matrix(const json_t *root, const char *name, int head, size_t rows,
                          size_t columns, const double *want, double bound)
{
	mat m = need(root, name, head, rows, columns);
	for (size_t i = 0; i < rows * columns; i++)
		near(name, i / columns, i % columns, m.v[i], want[i], bound);
	free(m.v);
}

static void four_words_has_the_right_numbers(void **state)
{
	(void)state;
	json_t *root = run_json("four-words");
	mat scaled = need(root, "scaled", 0, 4, 4), weights = need(root, "weights", 0, 4, 4);
	static const double row[] = {15, 35, 55, 75};
	for (size_t s = 0; s < 4; s++)
		assert_true(at(&scaled, 0, s) == row[s]);
	near("weights", 0, 2, at(&weights, 0, 2), exp(-20), exp(-20) * 1e-6);
	near("weights", 0, 3, at(&weights, 0, 3), 1, 1e-6);
	expect_matrix(
		root, "output", -1, 4, 4,
		(const double[]){13, 14, 15, 16, 13, 14, 15, 16, 13, 14, 15, 16, 13, 14, 15, 16},
		1e-5);
	free(scaled.v);
	free(weights.v);
	json_decref(root);
}

static void two_by_two_has_the_right_numbers(void **state)
{
	(void)state;
	json_t *root = run_json("two-by-two");
	expect_matrix(root, "Q", 0, 2, 2, (const double[]){1, 2, 3, 4}, 0);
	expect_matrix(root, "K", 0, 2, 2, (const double[]){1, 3, 3, 7}, 0);
	expect_matrix(root, "V", 0, 2, 2, (const double[]){7, 10, 15, 22}, 0);
	expect_matrix(root, "scores", 0, 2, 2, (const double[]){7, 17, 15, 37}, 0);
	double a = 1 / (1 + exp(10 / sqrt(2))), b = 1 / (1 + exp(22 / sqrt(2)));
	expect_matrix(root, "weights", 0, 2, 2, (const double[]){a, 1 - a, b, 1 - b}, 1e-6);
	expect_matrix(root, "output", -1, 2, 2,
	              (const double[]){15 - 8 * a, 22 - 12 * a, 15 - 8 * b, 22 - 12 * b}, 2e-5);
	json_decref(root);
}

/* What `make run` opens with: the words that are looked at are the right ones, and no weight is 0 or 1. */
static void a_pronoun_finds_its_noun(void **state)
{
	(void)state;
	enum { CAT, DRANK, MILK, IT, WORDS = 5 };
	json_t *root = run_json("pronoun");
	mat weights = need(root, "weights", 0, WORDS, WORDS),
	    output = need(root, "output", -1, WORDS, 4);
	double e = exp(3) + exp(1) + 3;
	near("weights", IT, CAT, at(&weights, IT, CAT), exp(3) / e, 1e-6);
	near("weights", IT, MILK, at(&weights, IT, MILK), exp(1) / e, 1e-6);
	for (size_t t = 0; t < WORDS; t++)
		for (size_t s = 0; s < WORDS; s++)
			assert_true(at(&weights, t, s) > 0.03 && at(&weights, t, s) < 0.8);
	assert_true(at(&output, IT, 0) == at(&weights, IT, CAT)); /* an animal */
	free(weights.v);
	free(output.v);
	json_decref(root);
	result r = run("explain pronoun");
	assert_non_null(
		strstr(r.out, "Look at \"it\" in step 4: 0.78 of its weight lies on \"cat\".\n"));
	assert_non_null(strstr(r.out, "it     ⎢ 0.7784 "));
	done(&r);
}

/* residual = X + dropped, hidden = ReLU(residual·W_1), and block − residual is hidden·W_2 with a
 * share of zeros and the rest enlarged. */
static void ten_by_128_goes_through_its_block(void **state)
{
	(void)state;
	json_t *root = run_json("ten-by-128");
	mat x = need(root, "X", -1, 10, 128), output = need(root, "output", -1, 10, 128);
	mat dropped = need(root, "dropped", -1, 10, 128),
	    residual = need(root, "residual", -1, 10, 128);
	mat hidden = need(root, "hidden", -1, 10, 512), block = need(root, "block", -1, 10, 128);
	mat w1 = need(root, "W_1", -1, 128, 512), w2 = need(root, "W_2", -1, 512, 128);
	size_t zeros = 0, unchanged = 0;
	for (size_t t = 0; t < 10; t++)
		for (size_t c = 0; c < 128; c++) {
			double o = at(&output, t, c), d = at(&dropped, t, c);
			zeros += d == 0;
			if (d != 0)
				near("dropped", t, c, d, o / 0.9, fabs(o / 0.9) * 4 * U);
			near("residual", t, c, at(&residual, t, c), at(&x, t, c) + d,
			     2 * U * (fabs(at(&x, t, c)) + fabs(d)));
			double sum = 0, magnitude = 0;
			for (size_t i = 0; i < 512; i++) {
				sum += at(&hidden, t, i) * at(&w2, i, c);
				magnitude += fabs(at(&hidden, t, i) * at(&w2, i, c));
			}
			double added = at(&block, t, c) - at(&residual, t, c);
			unchanged += added == 0;
			if (added != 0)
				near("block", t, c, added, sum / 0.9,
				     (512 + 8) * U * (magnitude + fabs(at(&residual, t, c))));
		}
	/* 10 % of 1280 is 128; a binomial count is within 6 standard deviations (65) of it. */
	assert_in_range(zeros, 63, 193);
	assert_in_range(unchanged, 63, 193);
	for (size_t t = 0; t < 10; t++)
		for (size_t c = 0; c < 512; c++) {
			double sum = 0, magnitude = 0;
			for (size_t i = 0; i < 128; i++) {
				sum += at(&residual, t, i) * at(&w1, i, c);
				magnitude += fabs(at(&residual, t, i) * at(&w1, i, c));
			}
			near("hidden", t, c, at(&hidden, t, c), fmax(sum, 0), 130 * U * magnitude);
		}
	mat *all[] = {&x, &output, &dropped, &residual, &hidden, &block, &w1, &w2};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		free(all[i]->v);
	json_decref(root);
}

static void positions_are_sines_and_cosines(void **state)
{
	(void)state;
	json_t *root = run_json("positions");
	mat a = need(root, "interleaved", -1, 10, 8), b = need(root, "halves", -1, 10, 8);
	for (size_t t = 0; t < 10; t++)
		for (size_t i = 0; i < 4; i++) {
			double angle = (double)t / pow(10000, 2 * (double)i / 8);
			near("interleaved", t, 2 * i, at(&a, t, 2 * i), sin(angle), 2 * U);
			near("interleaved", t, 2 * i + 1, at(&a, t, 2 * i + 1), cos(angle), 2 * U);
			assert_true(at(&a, t, 2 * i) == at(&b, t, i));
			assert_true(at(&a, t, 2 * i + 1) == at(&b, t, 4 + i));
		}
	free(a.v);
	free(b.v);
	json_decref(root);
}

/* The score of positions t and s is sin(t − s) + cos((t − s)/100), also 100 positions later. */
static void scores_of_rotary_positions_depend_on_the_distance_alone(void **state)
{
	(void)state;
	json_t *root = run_json("rotary");
	mat q = need(root, "Q", -1, 6, 4), k = need(root, "K", -1, 6, 4);
	mat scores = need(root, "scores", -1, 6, 6), later = need(root, "scores_later", -1, 6, 6);
	for (size_t t = 0; t < 6; t++) {
		double a = (double)t, b = (double)t / 100;
		const double turned_q[] = {cos(a), sin(a), cos(b), sin(b)};
		const double turned_k[] = {-sin(a), cos(a), cos(b), sin(b)};
		for (size_t i = 0; i < 4; i++) {
			near("Q", t, i, at(&q, t, i), turned_q[i], 4 * U);
			near("K", t, i, at(&k, t, i), turned_k[i], 4 * U);
		}
		for (size_t s = 0; s < 6; s++) {
			double d = (double)t - (double)s, want = sin(d) + cos(d / 100);
			near("scores", t, s, at(&scores, t, s), want, 32 * U);
			near("scores_later", t, s, at(&later, t, s), want, 32 * U);
		}
	}
	mat *all[] = {&q, &k, &scores, &later};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		free(all[i]->v);
	json_decref(root);
}

/* docs/step.json is one word and a cache of four: it gives the row of that word among all of them. */
static void a_step_with_a_cache_is_a_row_of_the_causal_pass(void **state)
{
	(void)state;
	enum { STEP = 3, KEYS = 4 };
	json_t *all = run_json("pronoun --causal"),
	       *one = run_json("--file '" TESTS_DIR "/../docs/step.json'");
	static const char *const names[] = {"scores", "weights", "head"};
	for (size_t i = 0; i < 3; i++) {
		mat rows = need(all, names[i], 0, 5, i == 2 ? 4 : 5),
		    row = need(one, names[i], 0, 1, 4);
		for (size_t s = 0; s < KEYS; s++)
			near(names[i], STEP, s, at(&row, 0, s), at(&rows, STEP, s), 4 * U);
		free(rows.v);
		free(row.v);
	}
	json_decref(all);
	json_decref(one);
}

/* ---- files ---- */

static bool sees_file_mask(size_t t, size_t s, size_t T, size_t S)
{
	static const bool mask[3][4] = {{1, 0, 1, 1}, {0, 0, 0, 0}, {1, 1, 0, 1}};
	return mask[t][s] && sees_past(t, s, T, S);
}

static const char cross_file[] =
	"{\"X\": [[1, -2], [0.5, 0.25], [3, 1e-3]],"
	" \"memory\": [[0.1, 1], [-0.7, 0.3], [2, 0.2], [-1, -1]], \"heads\": 2,"
	" \"W_Q\": [[0.5, 1, -1], [2, 0.1, 0.3]],"
	" \"W_K\": [[1, 0.2, 0.3], [0.4, -0.5, 0.6]],"
	" \"W_V\": [[1, 2, 3, 4], [-1, 0.5, 0.25, 2]],"
	" \"W_O\": [[1, 2, 3], [4, 5, 6], [7, 8, 9], [0, 1, 0]],"
	" \"b_Q\": [0.1, 0.2, 0.3], \"b_K\": [1, 2, 3], \"b_V\": [1, 1, 1, -1], \"b_O\": [5, 6, 7],"
	" \"mask\": [[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 1]], \"causal\": true,"
	" \"tokens\": [\"a\\u001b[31m\", \"思考\", \"c\"]}";

/* The file with heads of 3 columns for 2 heads replaced by something that fits. */
static void write_cross_file(void)
{
	char text[sizeof cross_file];
	memcpy(text, cross_file, sizeof text);
	char *heads = strstr(text, "\"heads\": 2");
	heads[strlen("\"heads\": ")] = '1';
	write_file("cross.json", text);
}

static void a_reader_s_file_is_computed(void **state)
{
	(void)state;
	char arguments[128];
	write_cross_file();
	snprintf(arguments, sizeof arguments, "--file %s/cross.json", folder);
	json_t *root = run_json(arguments);
	char name[96];
	snprintf(name, sizeof name, "%s/cross.json", folder);
	check_steps(root, name, &(sizes){3, 4, 2, 1, 3, 4, 3}, sees_file_mask);
	/* The query that sees nothing: zeros, and the output is the bias alone. */
	mat head = need(root, "head", 0, 3, 4), output = need(root, "output", -1, 3, 3);
	for (size_t d = 0; d < 4; d++)
		assert_true(at(&head, 1, d) == 0);
	assert_true(at(&output, 1, 0) == 5 && at(&output, 1, 1) == 6 && at(&output, 1, 2) == 7);
	free(head.v);
	free(output.v);
	json_decref(root);
}

/* Numbers near the smallest float: means of them round to its multiples, each pass in its way. */
static void the_smallest_numbers_are_numbers(void **state)
{
	(void)state;
	char arguments[128];
	write_file("tiny.json", "{\"X\": [[1]], \"memory\": [[1e-45], [1e-45]], \"heads\": 1, "
	                        "\"W_Q\": [[1]], \"W_K\": [[1]], \"W_V\": [[1]]}");
	snprintf(arguments, sizeof arguments, "explain --file %s/tiny.json", folder);
	result r = run(arguments);
	if (r.code != 0)
		fail_msg("%s", r.err);
	done(&r);
}

static void a_file_cannot_steer_the_terminal(void **state)
{
	(void)state;
	char arguments[128];
	write_cross_file();
	snprintf(arguments, sizeof arguments, "explain --file %s/cross.json", folder);
	result r = run(arguments);
	assert_int_equal(r.code, 0);
	assert_null(strchr(r.out, '\x1b'));
	assert_non_null(strstr(r.out, "a\xEF\xBF\xBD[31m"));
	assert_non_null(strstr(r.out, "1 query sees no key at all"));
	done(&r);
}

static void a_wrong_file_ends_with_1_and_a_reason(void **state)
{
	(void)state;
	char arguments[128];
	write_file("bad.json", cross_file); /* 2 heads, 3 columns */
	snprintf(arguments, sizeof arguments, "explain --file %s/bad.json --json", folder);
	result r = run(arguments);
	assert_int_equal(r.code, 1);
	assert_string_equal(r.out, "");
	assert_non_null(strstr(r.err, "bad.json: W_Q has 3 columns: 3 does not divide by 2 heads"));
	done(&r);

	r = run("explain --file /nowhere.json");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "/nowhere.json: No such file"));
	done(&r);
	r = run("explain --file /");
	assert_int_equal(r.code, 1);
	done(&r);
}

/* Finite numbers in, but their products are beyond the largest float. */
static void numbers_that_overflow_end_with_1_and_the_place(void **state)
{
	(void)state;
	char arguments[128];
	write_file("large.json",
	           "{\"X\": [[1e30, 2], [3, 4]], \"heads\": 1, \"W_Q\": [[1, 0], [0, 1]],"
	           " \"W_K\": [[1, 0], [0, 1]], \"W_V\": [[1, 0], [0, 1]]}");
	snprintf(arguments, sizeof arguments, "explain --file %s/large.json --json", folder);
	result r = run(arguments);
	assert_int_equal(r.code, 1);
	assert_string_equal(r.out, "");
	assert_non_null(strstr(r.err, "scores of head 0 is inf at row 0, column 0"));
	done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_of_every_example_is_what_it_says),
		cmocka_unit_test(options_change_an_example),
		cmocka_unit_test(four_words_has_the_right_numbers),
		cmocka_unit_test(two_by_two_has_the_right_numbers),
		cmocka_unit_test(ten_by_128_goes_through_its_block),
		cmocka_unit_test(positions_are_sines_and_cosines),
		cmocka_unit_test(scores_of_rotary_positions_depend_on_the_distance_alone),
		cmocka_unit_test(a_pronoun_finds_its_noun),
		cmocka_unit_test(a_step_with_a_cache_is_a_row_of_the_causal_pass),
		cmocka_unit_test(a_reader_s_file_is_computed),
		cmocka_unit_test(the_smallest_numbers_are_numbers),
		cmocka_unit_test(a_file_cannot_steer_the_terminal),
		cmocka_unit_test(a_wrong_file_ends_with_1_and_a_reason),
		cmocka_unit_test(numbers_that_overflow_end_with_1_and_the_place),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
