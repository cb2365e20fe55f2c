/* pass.c — each step is a public call of the library. */
#include "cli/explain/pass.h"

#include <hecate/linear.h>
#include <hecate/ops.h>

#include "cli/command/try.h"

int64_t pass_numbers(const explain_problem *p)
{
	int64_t T = p->given[GIVEN_X].shape[0], S = key_source(p)->shape[0], all = 0;
	for (int i = 0; i < GIVEN_COUNT; i++)
		all += is_given(p, (given)i) ? 2 * hec_tensor_count(&p->given[i]) : 0;
	int64_t out = is_given(p, GIVEN_W_O) ? p->given[GIVEN_W_O].shape[1] : 0;
	return all + 2 * ((T + S) * p->heads * p->d_k + (T + S) * p->heads * p->d_v) +
	       T * (out + p->heads);
}

static hec_status make_matrix(const pass *w, int64_t rows, int64_t columns, hec_tensor *out)
{
	return hec_arena_tensor(w->arena, w->dtype, 2, (const int64_t[]){rows, columns}, out);
}

static hec_status make_like(const pass *w, const hec_tensor *t, hec_tensor *out)
{
	return hec_arena_tensor(w->arena, w->dtype, t->rank, t->shape, out);
}

hec_status pass_make(hec_ctx *ctx, const explain_problem *p, hec_dtype dtype, hec_arena *arena,
                     pass *out)
{
	*out = (pass){.ctx = ctx,
	              .arena = arena,
	              .p = p,
	              .dtype = dtype,
	              .T = p->given[GIVEN_X].shape[0],
	              .S = key_source(p)->shape[0],
	              .H = p->heads,
	              .K = p->d_k,
	              .D = p->d_v};
	for (int i = 0; i < GIVEN_COUNT; i++) {
		out->given[i] = p->given[i];
		if (dtype == HEC_F32 || !is_given(p, (given)i))
			continue;
		TRY(make_like(out, &p->given[i], &out->given[i]));
		TRY(hec_tensor_copy(ctx, &p->given[i], &out->given[i]));
	}
	TRY(make_matrix(out, out->T, out->H * out->K, &out->q));
	TRY(make_matrix(out, out->S, out->H * out->K, &out->k));
	TRY(make_matrix(out, out->S, out->H * out->D, &out->v));
	TRY(make_matrix(out, out->T, out->H * out->D, &out->concat));
	TRY(hec_arena_tensor(arena, dtype, 3, (const int64_t[]){1, out->H, out->T}, &out->lse));
	out->output = out->concat;
	if (!is_given(p, GIVEN_W_O))
		return HEC_OK;
	return make_matrix(out, out->T, p->given[GIVEN_W_O].shape[1], &out->output);
}

/* What the projections read: X or, for keys and values, the memory. */
static const hec_tensor *source_of(const pass *w, given weight)
{
	if (weight == GIVEN_W_O)
		return &w->concat;
	bool memory = weight != GIVEN_W_Q && is_given(w->p, GIVEN_MEMORY);
	return &w->given[memory ? GIVEN_MEMORY : GIVEN_X];
}

/* The library keeps W as [out, in]: a transposed view. */
static hec_status as_linear(const hec_tensor *numbers, given weight, hec_linear *out)
{
	*out = (hec_linear){.b = numbers[bias_of(weight)]};
	return hec_tensor_transpose(&numbers[weight], 0, 1, &out->w);
}

/* y = x·W + b. */
static hec_status project(const pass *w, given weight, hec_tensor *y)
{
	hec_linear linear;
	TRY(as_linear(w->given, weight, &linear));
	return hec_linear_fwd(w->ctx, &linear, HEC_ACT_NONE, source_of(w, weight), NULL, y, NULL);
}

static hec_status as_heads(const pass *w, const hec_tensor *t, int64_t size, hec_tensor *out)
{
	return hec_tensor_reshape(t, 4, (const int64_t[]){1, t->shape[0], w->H, size}, out);
}

/* q, k and v, and who sees whom, as attention takes them. */
typedef struct attention_input {
	hec_tensor q, k, v;
	hec_mask mask;
} attention_input;

static hec_status as_input(const pass *w, attention_input *in)
{
	in->mask = (hec_mask)HEC_MASK_INIT;
	in->mask.causal = w->p->causal;
	if (w->p->mask.rank > 0)
		TRY(hec_tensor_reshape(&w->p->mask, 4, (const int64_t[]){1, 1, w->T, w->S},
		                       &in->mask.visible));
	TRY(as_heads(w, &w->q, w->K, &in->q));
	TRY(as_heads(w, &w->k, w->K, &in->k));
	return as_heads(w, &w->v, w->D, &in->v);
}

hec_status pass_forward(pass *w)
{
	attention_input in;
	hec_tensor out;
	TRY(project(w, GIVEN_W_Q, &w->q));
	TRY(project(w, GIVEN_W_K, &w->k));
	TRY(project(w, GIVEN_W_V, &w->v));
	TRY(as_input(w, &in));
	TRY(as_heads(w, &w->concat, w->D, &out));
	TRY(hec_attention_fwd(w->ctx, NULL, &in.q, &in.k, &in.v, &in.mask, &out, &w->lse));
	return is_given(w->p, GIVEN_W_O) ? project(w, GIVEN_W_O, &w->output) : HEC_OK;
}

hec_status pass_unfused(const pass *w, hec_attention_steps *steps, const hec_tensor *out)
{
	attention_input in;
	hec_tensor heads;
	TRY(as_input(w, &in));
	TRY(as_heads(w, out, w->D, &heads));
	steps->out = &heads;
	return hec_attention_unfused(w->ctx, NULL, &in.q, &in.k, &in.v, &in.mask, steps);
}

/* dy at x·W + b: adds to the gradients of x, W and b. */
static hec_status unproject(const pass *w, given weight, const hec_tensor *dy, hec_tensor *dx,
                            pass_gradient *g)
{
	hec_linear linear, grad;
	TRY(as_linear(w->given, weight, &linear));
	TRY(as_linear(g->given, weight, &grad));
	return hec_linear_bwd(w->ctx, &linear, dy, source_of(w, weight), dx, &grad);
}

static hec_status make_zeros(const pass *w, const hec_tensor *like, hec_tensor *out)
{
	TRY(make_like(w, like, out));
	return hec_tensor_fill(w->ctx, 0, out);
}

hec_status pass_backward(const pass *w, const hec_tensor *d_output, pass_gradient *out)
{
	*out = (pass_gradient){.q = {0}};
	for (int i = 0; i <= GIVEN_B_O; i++)
		if (is_given(w->p, (given)i))
			TRY(make_zeros(w, &w->given[i], &out->given[i]));
	TRY(make_zeros(w, &w->q, &out->q));
	TRY(make_zeros(w, &w->k, &out->k));
	TRY(make_zeros(w, &w->v, &out->v));
	hec_tensor d_concat = *d_output;
	if (is_given(w->p, GIVEN_W_O)) {
		TRY(make_zeros(w, &w->concat, &d_concat));
		TRY(unproject(w, GIVEN_W_O, d_output, &d_concat, out));
	}
	attention_input in;
	hec_tensor heads, d_heads, dq, dk, dv;
	TRY(as_input(w, &in));
	TRY(as_heads(w, &w->concat, w->D, &heads));
	TRY(as_heads(w, &d_concat, w->D, &d_heads));
	TRY(as_heads(w, &out->q, w->K, &dq));
	TRY(as_heads(w, &out->k, w->K, &dk));
	TRY(as_heads(w, &out->v, w->D, &dv));
	TRY(hec_attention_bwd(w->ctx, NULL, &in.q, &in.k, &in.v, &in.mask, &heads, &w->lse,
	                      &d_heads, &dq, &dk, &dv, NULL));
	hec_tensor *source = &out->given[is_given(w->p, GIVEN_MEMORY) ? GIVEN_MEMORY : GIVEN_X];
	TRY(unproject(w, GIVEN_W_Q, &out->q, &out->given[GIVEN_X], out));
	TRY(unproject(w, GIVEN_W_K, &out->k, source, out));
	return unproject(w, GIVEN_W_V, &out->v, source, out);
}
