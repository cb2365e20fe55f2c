/* test_dbias.c — the gradient of a bias whose elements several sequences, heads, queries or keys
 * share, through strides of every kind: each pair's share is added once, in the same order at any
 * number of threads. */
#include "support/definition.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { B = 4, H = 4, T = 65, S = 67, K = 32 };

/* The view [B, H, T, S] of a line; returns in *line how many elements it spans. */
static hec_tensor view(kit *k, const int64_t stride[4], hec_tensor *line)
{
	const int64_t shape[4] = {B, H, T, S};
	int64_t first = 0, last = 0;
	for (int i = 0; i < 4; i++) {
		int64_t reach = stride[i] * (shape[i] - 1);
		first += reach < 0 ? -reach : 0;
		last += reach > 0 ? reach : 0;
	}
	*line = make_zero(k, HEC_F32, SHAPE(first + last + 1));
	hec_tensor x = {(float *)line->data + first,
	                HEC_F32,
	                HEC_DEVICE_CPU,
	                4,
	                {B, H, T, S},
	                {stride[0], stride[1], stride[2], stride[3]}};
	return x;
}

static const int64_t strides[][4] = {
	{H * T * S, T *S, S, 1},   /* nothing shared */
	{T * S, T *S, S, 1},       /* b + h */
	{T * S, 2 * T *S, S, 1},   /* b + 2h */
	{S, T *S, S, 1},           /* b + t */
	{H, 1, 0, H *B},           /* heads innermost */
	{1, B, B *H, B *H *T},     /* everything the other way round */
	{0, T + S - 1, -1, 1},     /* a relative bias */
	{T + S - 1, 0, -1, 1},     /* the same, by sequence */
	{T + S, T + S - 2, -1, 1}, /* relative biases that touch */
	{0, 5, -1, 1},             /* that overlap, by head */
	{5, 0, -1, 1},             /* by sequence */
	{0, 0, 0, 0},
};

/* out, lse and dout of one forward pass; dbias by pair. */
static void run_backward(kit *k, problem *p, hec_ctx *ctx, const result *r, hec_tensor *dbias)
{
	hec_tensor dq = make(k, HEC_F32, SHAPE(B, T, H, K)),
		   dk = make(k, HEC_F32, SHAPE(B, S, 4, K)),
		   dv = make(k, HEC_F32, SHAPE(B, S, 4, K));
	OK(k, hec_attention_bwd(ctx, &p->desc, &p->q, &p->key, &p->v, &p->mask, &r->out, &r->lse,
	                        &p->dout, &dq, &dk, &dv, dbias));
	check_same_bits(k, "dq", &dq, &r->dq);
	check_same_bits(k, "dk", &dk, &r->dk);
	check_same_bits(k, "dv", &dv, &r->dv);
}

/* The line against the sum of what the pairs gave alone. */
static void check_line(kit *k, const hec_tensor *line, const hec_tensor *seen,
                       const hec_tensor *pairs)
{
	hec_tensor want = make_zero(k, HEC_F64, SHAPE(line->shape[0])),
		   bound = make_zero(k, HEC_F64, SHAPE(line->shape[0]));
	const int64_t origin = (float *)seen->data - (float *)line->data;
	for (int64_t i = 0; i < hec_tensor_count(pairs); i++) {
		int64_t at = origin + i / S / T / H * seen->stride[0] +
		             i / S / T % H * seen->stride[1] + i / S % T * seen->stride[2] +
		             i % S * seen->stride[3];
		put(&want, at, get(&want, at) + get(pairs, i));
		put(&bound, at,
		    get(&bound, at) + B * H * T * S * FLT_EPSILON * fabs(get(pairs, i)));
	}
	check_within(k, "dbias", line, &want, &bound);
}

static void shared_elements_get_every_share_at_any_number_of_threads(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof strides / sizeof *strides; n++) {
		kit k = kit_open_at(9300 + n, NULL, 1), many = kit_open_at(9300 + n, NULL, 3);
		problem p;
		problem_open(&p, &k, HEC_F32, B, T, S, H, 4, K, K);
		hec_tensor line, other, dbias, again;
		p.mask.causal = n % 2;
		p.mask.bias = view(&k, strides[n], &line);
		for (int64_t i = 0; i < hec_tensor_count(&line); i++)
			put(&line, i, draw_normal(&k));
		result r = problem_run(&p, k.ctx); /* its dbias is by pair: nothing shared */
		dbias = view(&k, strides[n], &line);
		run_backward(&k, &p, k.ctx, &r, &dbias);
		check_line(&k, &line, &dbias, &r.dbias);
		for (int i = 0; i < 5; i++) {
			again = view(&k, strides[n], &other);
			run_backward(&k, &p, many.ctx, &r, &again);
			char what[64];
			snprintf(what, sizeof what, "dbias, strides %zu, 1 and 3 threads", n);
			check_same_bits(&k, what, &other, &line);
		}
		kit_close(&many);
		kit_close(&k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_elements_get_every_share_at_any_number_of_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
