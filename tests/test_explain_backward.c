/* test_explain_backward.c — `hecate explain --backward`: each step against its formula and against the library's
 * public backward pass, the numbers of two-by-two in closed form, and what happens where something is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hecate/attention.h>

#include "cli/explain/gradient.h"
#include "explain_json.h"

/* A problem with everything: memory, two heads, biases, a mask with a query that sees nothing, d_output. */
static const char whole_file[] =
	"{\"X\": [[1, -2], [0.5, 0.25], [3, 0.1]], \"heads\": 2,"
	" \"memory\": [[0.1, 1], [-0.7, 0.3], [2, 0.2], [-1, -1]],"
	" \"W_Q\": [[0.5, 1, -1, 0.3], [2, 0.1, 0.3, 1]], \"W_K\": [[1, 0.2, 0.3, 0.5], [0.4, "
	"-0.5, 0.6, 1]],"
	" \"W_V\": [[1, 2, 3, 4], [-1, 0.5, 0.25, 2]], \"W_O\": [[1, 2, 3], [4, 5, 6], [7, 8, 9], "
	"[0, 1, 0]],"
	" \"b_Q\": [0.1, 0.2, 0.3, 0.4], \"b_K\": [1, 2, 3, 4], \"b_V\": [1, 1, 1, -1], \"b_O\": "
	"[5, 6, 7],"
	" \"mask\": [[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 1]], \"causal\": true,"
	" \"d_output\": [[1, 0, -1], [2, 0.5, 1], [-0.25, 1, 3]]}";

static char whole[128]; /* the arguments that explain it */

static json_t *run_whole(void)
{
	write_file("whole.json", whole_file);
	snprintf(whole, sizeof whole, "--file %s/whole.json --backward", folder);
	return run_json(whole);
}

/* ---- the steps ---- */

/* c must be a·b, where ta and tb say that a and b are taken transposed. */
static void expect_product(const char *what, const mat *a, bool ta, const mat *b, bool tb,
                           const mat *c)
{
	size_t n = ta ? a->rows : a->columns;
	assert_int_equal(n, tb ? b->columns : b->rows);
	for (size_t i = 0; i < c->rows; i++)
		for (size_t j = 0; j < c->columns; j++) {
			double sum = 0, magnitude = 0;
			for (size_t k = 0; k < n; k++) {
				double x = (ta ? at(a, k, i) : at(a, i, k)) *
				           (tb ? at(b, j, k) : at(b, k, j));
				sum += x;
				magnitude += fabs(x);
			}
			/* Forward's steps are floats, each of which is rounded. */
			near(what, i, j, at(c, i, j), sum, 64 * U * magnitude + 1e-30);
		}
}

typedef struct head_steps {
	mat q, k, v, weights, d_head, dv, d_weights, row_sums, d_scaled, d_scores, dq, dk;
} head_steps;

static head_steps read_head(const json_t *root, int h)
{
	return (head_steps){
		find(root, "Q", h),         find(root, "K", h),        find(root, "V", h),
		find(root, "weights", h),   find(root, "d_head", h),   find(root, "dV", h),
		find(root, "d_weights", h), find(root, "row_sums", h), find(root, "d_scaled", h),
		find(root, "d_scores", h),  find(root, "dQ", h),       find(root, "dK", h)};
}

static void free_head(head_steps *s)
{
	mat *all = (mat *)s;
	for (size_t i = 0; i < sizeof *s / sizeof *all; i++)
		free(all[i].v);
}

static void check_head(const json_t *root, int h)
{
	head_steps s = read_head(root, h);
	expect_product("dV", &s.weights, true, &s.d_head, false, &s.dv);
	expect_product("d_weights", &s.d_head, false, &s.v, true, &s.d_weights);
	expect_product("dQ", &s.d_scores, false, &s.k, false, &s.dq);
	expect_product("dK", &s.d_scores, true, &s.q, false, &s.dk);
	double scale = 1 / sqrt((double)s.q.columns);
	for (size_t t = 0; t < s.q.rows; t++) {
		double sum = 0, magnitude = 0;
		for (size_t i = 0; i < s.k.rows; i++) {
			sum += at(&s.weights, t, i) * at(&s.d_weights, t, i);
			magnitude += fabs(at(&s.weights, t, i) * at(&s.d_weights, t, i));
		}
		near("row_sums", t, 0, at(&s.row_sums, t, 0), sum, 64 * U * magnitude + 1e-30);
		for (size_t i = 0; i < s.k.rows; i++) {
			double w = at(&s.weights, t, i), d = at(&s.d_weights, t, i);
			double r = at(&s.row_sums, t, 0);
			near("d_scaled", t, i, at(&s.d_scaled, t, i), w * (d - r),
			     64 * U * w * (fabs(d) + fabs(r)) + 1e-30);
			near("d_scores", t, i, at(&s.d_scores, t, i), at(&s.d_scaled, t, i) * scale,
			     fabs(at(&s.d_scaled, t, i)) * 1e-15);
		}
	}
	free_head(&s);
}

static void the_steps_backward_are_their_formulas(void **state)
{
	(void)state;
	static const char *const arguments[] = {"two-by-two --backward",
	                                        "pronoun --backward --heads 2",
	                                        "five-by-two-free --backward --causal"};
	for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
		json_t *root = run_json(arguments[i]);
		check_head(root, 0);
		if (i > 0)
			check_head(root, 1);
		json_decref(root);
	}
	json_t *root = run_whole();
	check_head(root, 0);
	check_head(root, 1);
	json_decref(root);
}

/* With weights a, 1 − a in row 0 and b, 1 − b in row 1, by hand. */
static void two_by_two_has_the_right_gradient(void **state)
{
	(void)state;
	json_t *root = run_json("two-by-two --backward");
	double a = 1 / (1 + exp(10 / sqrt(2))), b = 1 / (1 + exp(22 / sqrt(2)));
	double o[2][2] = {{15 - 8 * a, 22 - 12 * a}, {15 - 8 * b, 22 - 12 * b}};
	double loss = 0, slope[2];
	for (int t = 0; t < 2; t++) {
		double w = t == 0 ? a : b;
		loss += (o[t][0] * o[t][0] + o[t][1] * o[t][1]) / 2;
		/* d_weights of key 0 − of key 1 is o·(v₀ − v₁) = −8·o₀ − 12·o₁. */
		slope[t] = w * (1 - w) * (-8 * o[t][0] - 12 * o[t][1]) / sqrt(2);
	}
	near("loss", 0, 0, json_number_value(json_object_get(root, "loss")), loss, 1e-9);
	mat d_scores = need(root, "d_scores", 0, 2, 2), dw_v = need(root, "dW_V", -1, 2, 2);
	mat dw_q = need(root, "dW_Q", -1, 2, 2);
	for (size_t t = 0; t < 2; t++) {
		near("d_scores", t, 0, at(&d_scores, t, 0), slope[t], 1e-10);
		near("d_scores", t, 1, at(&d_scores, t, 1), -slope[t], 1e-10);
	}
	/* dQ row t = slope·(k₀ − k₁) = slope·(−2, −4); dW_Q = Xᵀ·dQ. */
	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < 2; j++) {
			double k = j == 0 ? -2 : -4, x0 = i == 0 ? 1 : 2, x1 = i == 0 ? 3 : 4;
			near("dW_Q", i, j, at(&dw_q, i, j), (x0 * slope[0] + x1 * slope[1]) * k,
			     1e-10);
			double dv0 = a * o[0][j] + b * o[1][j];
			double dv1 = (1 - a) * o[0][j] + (1 - b) * o[1][j];
			near("dW_V", i, j, at(&dw_v, i, j), x0 * dv0 + x1 * dv1, 1e-10);
		}
	free(d_scores.v);
	free(dw_v.v);
	free(dw_q.v);
	json_decref(root);
}

/* ---- the library ---- */

static hec_tensor tensor_of(const mat *m)
{
	return hec_tensor_4d(m->v, HEC_F64, 1, (int64_t)m->rows, 1, (int64_t)m->columns);
}

static void expect_near_matrix(const char *what, const mat *got, const mat *want)
{
	double largest = 0;
	for (size_t i = 0; i < want->rows * want->columns; i++)
		largest = fmax(largest, fabs(want->v[i]));
	for (size_t i = 0; i < want->rows * want->columns; i++)
		near(what, i / want->columns, i % want->columns, got->v[i], want->v[i],
		     256 * U * largest + 1e-30); /* forward's steps are floats */
}

/* Q, K, V and d_head of the program through hec_attention_bwd, in doubles. */
static void expect_library(hec_ctx *ctx, const json_t *root, int h, const hec_mask *mask)
{
	head_steps s = read_head(root, h);
	mat out = {s.d_head.rows, s.d_head.columns, calloc(s.d_head.rows * s.d_head.columns, 8)};
	mat dq = {s.q.rows, s.q.columns, calloc(s.q.rows * s.q.columns, 8)};
	mat dk = {s.k.rows, s.k.columns, calloc(s.k.rows * s.k.columns, 8)};
	mat dv = {s.v.rows, s.v.columns, calloc(s.v.rows * s.v.columns, 8)};
	double *lse = calloc(s.q.rows, 8);
	hec_tensor q = tensor_of(&s.q), k = tensor_of(&s.k), v = tensor_of(&s.v);
	hec_tensor to = tensor_of(&out), d_to = tensor_of(&s.d_head);
	hec_tensor tq = tensor_of(&dq), tk = tensor_of(&dk), tv = tensor_of(&dv);
	hec_tensor tl = hec_tensor_3d(lse, HEC_F64, 1, 1, (int64_t)s.q.rows);
	assert_int_equal(hec_attention_fwd(ctx, NULL, &q, &k, &v, mask, &to, &tl), HEC_OK);
	assert_int_equal(hec_attention_bwd(ctx, NULL, &q, &k, &v, mask, &to, &tl, &d_to, &tq, &tk,
	                                   &tv, NULL),
	                 HEC_OK);
	expect_near_matrix("dQ", &s.dq, &dq);
	expect_near_matrix("dK", &s.dk, &dk);
	expect_near_matrix("dV", &s.dv, &dv);
	free(out.v);
	free(dq.v);
	free(dk.v);
	free(dv.v);
	free(lse);
	free_head(&s);
}

static void the_library_computes_the_gradient_that_is_explained(void **state)
{
	(void)state;
	hec_ctx *ctx;
	assert_int_equal(hec_ctx_create(NULL, &ctx), HEC_OK);
	json_t *root = run_json("two-by-two --backward");
	expect_library(ctx, root, 0, NULL);
	json_decref(root);
	root = run_json("five-by-two-free --backward");
	expect_library(ctx, root, 0, NULL);
	expect_library(ctx, root, 1, NULL);
	json_decref(root);
	root = run_whole();
	int8_t visible[] = {1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1};
	hec_mask mask = HEC_MASK_INIT;
	mask.causal = true;
	mask.visible = hec_tensor_4d(visible, HEC_I8, 1, 1, 3, 4);
	expect_library(ctx, root, 0, &mask);
	expect_library(ctx, root, 1, &mask);
	json_decref(root);
	hec_ctx_destroy(ctx);
}

/* docs/grouped.json repeats keys and values for two heads. The library takes them once, as one group: the same
 * heads, and a gradient of the keys that is the sum of both heads' gradients. */
static void heads_with_the_same_keys_are_one_group(void **state)
{
	(void)state;
	enum { T = 3, H = 2, K = 2 };
	json_t *root = run_json("--backward --file '" TESTS_DIR "/../docs/grouped.json'");
	head_steps a = read_head(root, 0), b = read_head(root, 1);
	double q[T * H * K], d_out[T * H * K], out[T * H * K], lse[H * T];
	double dq[T * H * K], dk[T * K], dv[T * K];
	for (size_t t = 0; t < T; t++)
		for (size_t i = 0; i < H * K; i++) {
			q[t * H * K + i] = at(i < K ? &a.q : &b.q, t, i % K);
			d_out[t * H * K + i] = at(i < K ? &a.d_head : &b.d_head, t, i % K);
		}
	assert_memory_equal(a.k.v, b.k.v, T * K * sizeof(double));
	assert_memory_equal(a.v.v, b.v.v, T * K * sizeof(double));
	hec_tensor tq = hec_tensor_4d(q, HEC_F64, 1, T, H, K), tk = tensor_of(&a.k),
		   tv = tensor_of(&a.v);
	hec_tensor to = hec_tensor_4d(out, HEC_F64, 1, T, H, K);
	hec_tensor td = hec_tensor_4d(d_out, HEC_F64, 1, T, H, K);
	hec_tensor tl = hec_tensor_3d(lse, HEC_F64, 1, H, T);
	hec_tensor tdq = hec_tensor_4d(dq, HEC_F64, 1, T, H, K);
	hec_tensor tdk = hec_tensor_4d(dk, HEC_F64, 1, T, 1, K);
	hec_tensor tdv = hec_tensor_4d(dv, HEC_F64, 1, T, 1, K);
	hec_ctx *ctx;
	assert_int_equal(hec_ctx_create(NULL, &ctx), HEC_OK);
	assert_int_equal(hec_attention_fwd(ctx, NULL, &tq, &tk, &tv, NULL, &to, &tl), HEC_OK);
	assert_int_equal(hec_attention_bwd(ctx, NULL, &tq, &tk, &tv, NULL, &to, &tl, &td, &tdq,
	                                   &tdk, &tdv, NULL),
	                 HEC_OK);
	mat concat = need(root, "concat", -1, T, H * K);
	for (size_t t = 0; t < T; t++)
		for (size_t i = 0; i < K; i++) {
			near("head", t, i, out[t * H * K + i], at(&concat, t, i), 1e-6);
			near("dK", t, i, dk[t * K + i], at(&a.dk, t, i) + at(&b.dk, t, i), 1e-6);
			near("dV", t, i, dv[t * K + i], at(&a.dv, t, i) + at(&b.dv, t, i), 1e-6);
			near("dQ", t, i, dq[t * H * K + i], at(&a.dq, t, i), 1e-6);
		}
	near("dK", 0, 0, dk[0], -2.150, 5e-4); /* as docs/attention.md has it */
	near("dK", 0, 1, dk[1], -2.055, 5e-4);
	hec_ctx_destroy(ctx);
	free(concat.v);
	free_head(&a);
	free_head(&b);
	json_decref(root);
}

/* ---- the check ---- */

/* Every number of small matrices is there; each agrees, and the limits are narrow, as shares of the largest
 * number. They count each rounding at its worst, so they grow with the width. */
static void expect_agreement(const char *arguments, size_t least, double narrow)
{
	json_t *root = run_json(arguments);
	const json_t *list = json_object_get(root, "differences"), *d;
	size_t i;
	double largest = 0;
	if (json_array_size(list) < least)
		fail_msg("%s: %zu numbers, expected %zu", arguments, json_array_size(list), least);
	json_array_foreach(list, i, d) largest =
		fmax(largest, fabs(json_number_value(json_object_get(d, "analytic"))));
	json_array_foreach(list, i, d)
	{
		double allowed = json_number_value(json_object_get(d, "allowed"));
		near(json_string_value(json_object_get(d, "name")), i, 0,
		     json_number_value(json_object_get(d, "numeric")),
		     json_number_value(json_object_get(d, "analytic")), allowed);
		if (!(allowed <= narrow * largest))
			fail_msg("%s: number %zu: allowed %g of %g", arguments, i, allowed,
			         largest);
	}
	const json_t *library = json_object_get(root, "library");
	static const char *const types[] = {"f64", "f32"};
	for (i = 0; i < 2; i++) {
		d = json_object_get(library, types[i]);
		near(types[i], 0, 0, json_number_value(json_object_get(d, "library")),
		     json_number_value(json_object_get(d, "analytic")),
		     json_number_value(json_object_get(d, "allowed")));
		near(types[i], 0, 0, json_number_value(json_object_get(d, "library")),
		     json_number_value(json_object_get(d, "analytic")),
		     (i == 0 ? 1e-12 : 1e-3) * fmax(1, largest));
	}
	json_decref(root);
}

static void the_gradients_of_every_example_agree_with_differences(void **state)
{
	(void)state;
	expect_agreement("pronoun --backward", 20 + 3 * 16, 1e-6);
	expect_agreement("two-heads --backward", 8 + 4 * 16, 1e-6);
	expect_agreement("four-words --backward", 4 * 16, 1e-6);
	expect_agreement("four-words --backward --causal --heads 2", 4 * 16, 1e-6);
	expect_agreement("two-by-two --backward", 16, 1e-6);
	expect_agreement("five-by-two-free --backward", 15 + 20 + 20 + 30 + 30, 1e-6);
	expect_agreement("ten-by-128 --backward", 5, 1e-4);
	expect_agreement("base --backward", 5, 1e-3);
	expect_agreement("base --backward --heads 512 --seed 7", 5, 1e-3);
	json_decref(run_whole());
	expect_agreement(whole, 6 + 8 + 8 + 8 + 8 + 12 + 4 + 4 + 4 + 3, 1e-6);
}

static void what_a_query_does_not_see_has_no_gradient(void **state)
{
	(void)state;
	json_t *root = run_whole();
	for (int h = 0; h < 2; h++) {
		mat dq = need(root, "dQ", h, 3, 2), d_scores = need(root, "d_scores", h, 3, 4);
		for (size_t i = 0; i < 2; i++)
			assert_true(at(&dq, 1, i) == 0); /* it sees no key */
		assert_true(at(&d_scores, 0, 2) == 0 && at(&d_scores, 2, 2) == 0);
		assert_true(at(&d_scores, 2, 0) != 0 && at(&d_scores, 2, 1) != 0);
		free(dq.v);
		free(d_scores.v);
	}
	mat dx = need(root, "dX", -1, 3, 2), given = need(root, "d_output", -1, 3, 3);
	assert_true(at(&dx, 1, 0) == 0 && at(&dx, 1, 1) == 0 && at(&dx, 2, 0) != 0);
	assert_true(at(&given, 0, 2) == -1 && at(&given, 2, 2) == 3);
	free(dx.v);
	free(given.v);
	json_decref(root);
}

/* ---- what goes wrong ---- */

static void add(hec_tensor *numbers, double what)
{
	*double_at(numbers, 0, 0) += what;
}

static void a_gradient_that_disagrees_is_named(void **state)
{
	(void)state;
	float x[] = {1, 2, 3, 4}, w[] = {1, 0.5f, -1, 2};
	hec_ctx *ctx;
	char error[512] = "";
	explain_gradient g;
	explain_problem p = {.heads = 1, .backward = true};
	static const given all[] = {GIVEN_X, GIVEN_W_Q, GIVEN_W_K, GIVEN_W_V};
	for (size_t i = 0; i < 4; i++)
		p.given[all[i]] = hec_tensor_2d(i == 0 ? x : w, HEC_F32, 2, 2);
	assert_true(explain_problem_check(&p, error, sizeof error));
	assert_int_equal(hec_ctx_create(NULL, &ctx), HEC_OK);
	assert_int_equal(explain_backward(ctx, &p, &g, error, sizeof error), HEC_OK);
	if (!explain_gradient_agrees(&g, error, sizeof error))
		fail_msg("%s", error);
	assert_int_equal(g.count, 16);
	double right = g.differences[7].other;
	g.differences[7].other = right + 1e-3;
	assert_false(explain_gradient_agrees(&g, error, sizeof error));
	assert_non_null(strstr(error, "dW_Q[1][1] is "));
	assert_non_null(strstr(error, "by differences of the loss"));
	g.differences[7].other = NAN;
	assert_false(explain_gradient_agrees(&g, error, sizeof error));
	g.differences[7].other = right;
	g.library[LIBRARY_FLOATS].worst.other += 1;
	assert_false(explain_gradient_agrees(&g, error, sizeof error));
	assert_non_null(strstr(error, "by the library's backward pass in floats"));
	explain_gradient_free(&g);
	hec_ctx_destroy(ctx);
}

/* The slope of a chain whose gradient was changed is found to be another. */
static void a_wrong_number_anywhere_is_found_by_differences(void **state)
{
	(void)state;
	float x[] = {1, 2, 3, 4}, w[] = {0.1f, 0.5f, -0.25f, 0.2f};
	hec_ctx *ctx;
	hec_arena *arena;
	char error[512] = "";
	explain_problem p = {.heads = 1, .backward = true};
	for (int i = GIVEN_X; i <= GIVEN_W_V; i++)
		if (i != GIVEN_MEMORY)
			p.given[i] = hec_tensor_2d(i == GIVEN_X ? x : w, HEC_F32, 2, 2);
	assert_true(explain_problem_check(&p, error, sizeof error));
	assert_int_equal(hec_ctx_create(NULL, &ctx), HEC_OK);
	assert_int_equal(hec_arena_create(1 << 20, &arena), HEC_OK);
	for (int wrong = -1; wrong <= GIVEN_W_V; wrong++) {
		const rounding doubles = {DBL_EPSILON / 2, 0};
		explain_gradient g = {.loss = 0};
		pass pass64;
		chain c;
		if (wrong == GIVEN_MEMORY)
			continue;
		hec_arena_rewind(arena, 0);
		assert_int_equal(pass_make(ctx, &p, HEC_F64, arena, &pass64), HEC_OK);
		assert_int_equal(chain_make(&p, pass64.given, doubles, arena, &c), HEC_OK);
		chain_forward(&c);
		chain_backward(&c);
		if (wrong >= 0)
			add(&c.d_given[wrong].value, 1e-5);
		assert_int_equal(explain_differentiate(&pass64, &c, &g), HEC_OK);
		assert_true(explain_gradient_agrees(&g, error, sizeof error) == (wrong < 0));
		if (wrong >= 0)
			assert_non_null(strstr(error, gradient_names[wrong]));
		explain_gradient_free(&g);
	}
	hec_arena_destroy(arena);
	hec_ctx_destroy(ctx);
}

/* Scores of 10³⁰: what rounding decides is not called an agreement. */
static void scores_that_rounding_decides_are_not_judged(void **state)
{
	(void)state;
	char arguments[160];
	write_file("huge.json", "{\"X\": [[1e15, 1], [2, 3]], \"heads\": 1, \"W_Q\": [[1], [2]], "
	                        "\"W_K\": [[1], [1]], \"W_V\": [[1], [3]]}");
	snprintf(arguments, sizeof arguments, "explain --backward --file %s/huge.json", folder);
	result r = run(arguments);
	assert_int_equal(r.code, 0);
	assert_non_null(strstr(r.out, "no\n  slope can be measured"));
	assert_null(strstr(r.out, "agrees:"));
	done(&r);
}

static void a_problem_that_is_too_large_backward_says_so(void **state)
{
	(void)state;
	size_t rows = 1100, used = 0, size = rows * 4 + 200;
	char *text = malloc(size), arguments[160];
	assert_non_null(text);
	used += (size_t)snprintf(text + used, size - used, "{\"X\": [[1]");
	for (size_t i = 1; i < rows; i++)
		used += (size_t)snprintf(text + used, size - used, ",[1]");
	snprintf(text + used, size - used,
	         "], \"heads\": 1, \"W_Q\": [[1]], \"W_K\": [[1]], \"W_V\": [[1]]}");
	write_file("long.json", text);
	free(text);
	snprintf(arguments, sizeof arguments, "explain --file %s/long.json", folder);
	result r = run(arguments);
	assert_int_equal(r.code, 0);
	done(&r);
	snprintf(arguments, sizeof arguments, "explain --backward --json --file %s/long.json",
	         folder);
	r = run(arguments);
	assert_int_equal(r.code, 1);
	assert_string_equal(r.out, "");
	assert_non_null(
		strstr(r.err, "1100 queries, 1100 keys and 1 heads, forward and backward,"));
	done(&r);
}

/* The numbers fit forward, but their gradients are beyond the largest float. */
static void gradients_that_overflow_end_with_1_and_the_place(void **state)
{
	(void)state;
	char arguments[160];
	write_file("steep.json", "{\"X\": [[1e15, 2]], \"heads\": 1, \"W_Q\": [[1e-15], [0]], "
	                         "\"W_K\": [[1e-15], [0]], \"W_V\": [[1e10], [1]]}");
	snprintf(arguments, sizeof arguments, "explain --backward --file %s/steep.json", folder);
	result r = run(arguments);
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err,
	                       "dQ is not a number at row 0, column 0: the numbers given are too "
	                       "large for the gradients of 32-bit floats"));
	done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_steps_backward_are_their_formulas),
		cmocka_unit_test(two_by_two_has_the_right_gradient),
		cmocka_unit_test(the_library_computes_the_gradient_that_is_explained),
		cmocka_unit_test(heads_with_the_same_keys_are_one_group),
		cmocka_unit_test(the_gradients_of_every_example_agree_with_differences),
		cmocka_unit_test(what_a_query_does_not_see_has_no_gradient),
		cmocka_unit_test(a_gradient_that_disagrees_is_named),
		cmocka_unit_test(a_wrong_number_anywhere_is_found_by_differences),
		cmocka_unit_test(scores_that_rounding_decides_are_not_judged),
		cmocka_unit_test(a_problem_that_is_too_large_backward_says_so),
		cmocka_unit_test(gradients_that_overflow_end_with_1_and_the_place),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
