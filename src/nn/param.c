/* param.c — parameters one by one: made, started, packed. */
#include "nn/param.h"

#include <math.h>
#include <stdio.h>

#include <hecate/ops.h>
#include <hecate/random.h>

#include "base/status.h"
#include "tensor/check.h"

hec_status param_join(const char *prefix, const char *name, char out[PARAM_NAME])
{
	int n = snprintf(out, PARAM_NAME, "%s%s%s", prefix ? prefix : "",
	                 prefix && *prefix ? "." : "", name);
	if (n < 0 || n >= PARAM_NAME)
		return fail(HEC_ERR_ARGUMENT, "the name of a parameter is longer than %d bytes",
		            PARAM_NAME - 1);
	return HEC_OK;
}

static hec_status call_for_param(const param_walk *walk, const char *part, const char *leaf,
                                 hec_param p)
{
	char outer[PARAM_NAME], name[PARAM_NAME];
	HEC_TRY(param_join(walk->prefix, part, outer));
	HEC_TRY(param_join(outer, leaf, name));
	p.name = name;
	return walk->fn(walk->user, &p);
}

hec_status walk_linear(const param_walk *walk, const char *name, hec_linear *linear, int64_t out,
                       int64_t in, bool bias)
{
	hec_param w = {.tensor = &linear->w,
	               .linear = linear,
	               .rank = 2,
	               .shape = {out, in},
	               .init = HEC_INIT_XAVIER};
	HEC_TRY(call_for_param(walk, name, "w", w));
	if (!bias)
		return HEC_OK;
	hec_param b = {.tensor = &linear->b, .rank = 1, .shape = {out}, .init = HEC_INIT_ZERO};
	return call_for_param(walk, name, "b", b);
}

hec_status walk_norm(const param_walk *walk, const char *name, hec_norm *norm, int64_t C)
{
	hec_param gamma = {.tensor = &norm->gamma, .rank = 1, .shape = {C}, .init = HEC_INIT_ONE};
	HEC_TRY(call_for_param(walk, name, "gamma", gamma));
	if (norm->kind == HEC_NORM_RMS)
		return HEC_OK;
	hec_param beta = {.tensor = &norm->beta, .rank = 1, .shape = {C}, .init = HEC_INIT_ZERO};
	return call_for_param(walk, name, "beta", beta);
}

static hec_status check_alloc(const hec_param_alloc *a, const hec_param *p)
{
	HEC_TRY(CHECK_GIVEN("param", a));
	HEC_TRY(CHECK_GIVEN("param", p));
	if (a->size != sizeof *a)
		return fail(HEC_ERR_ARGUMENT, "hec_param_alloc.size is %zu, expected %zu", a->size,
		            sizeof *a);
	HEC_TRY(CHECK_GIVEN("param", a->ctx));
	return HEC_OK;
}

hec_status hec_param_allocate(void *alloc, const hec_param *p)
{
	hec_param_alloc *a = alloc;
	HEC_TRY(check_alloc(a, p));
	HEC_TRY(CHECK_GIVEN("param", a->arena));
	hec_tensor made;
	hec_status status = hec_arena_tensor(a->arena, a->dtype, p->rank, p->shape, &made);
	if (status != HEC_OK)
		return fail_in(status, "%s", p->name);
	HEC_TRY(hec_tensor_fill(a->ctx, 0, &made));
	*p->tensor = made;
	return HEC_OK;
}

hec_status hec_param_initialise(void *alloc, const hec_param *p)
{
	hec_param_alloc *a = alloc;
	HEC_TRY(check_alloc(a, p));
	uint64_t stream = a->count++;
	double fans;
	switch (p->init) {
	case HEC_INIT_ZERO:
		return hec_tensor_fill(a->ctx, 0, p->tensor);
	case HEC_INIT_ONE:
		return hec_tensor_fill(a->ctx, 1, p->tensor);
	case HEC_INIT_XAVIER:
		fans = (double)(p->shape[0] + p->shape[1]);
		for (int i = 2; i < p->rank; i++) /* the taps of a convolution */
			fans *= (double)p->shape[i];
		return hec_random_uniform(a->ctx, a->seed, stream, -sqrt(6 / fans), sqrt(6 / fans),
		                          p->tensor);
	case HEC_INIT_NORMAL:
		return hec_random_normal(a->ctx, a->seed, stream, 0,
		                         1 / sqrt((double)p->shape[p->rank - 1]), p->tensor);
	}
	return fail(HEC_ERR_ARGUMENT, "%s: init %d is not known", p->name, (int)p->init);
}

hec_status hec_param_pack(void *alloc, const hec_param *p)
{
	hec_param_alloc *a = alloc;
	HEC_TRY(check_alloc(a, p));
	return p->linear ? hec_linear_pack(a->ctx, a->arena, a->with_bwd, p->linear) : HEC_OK;
}
