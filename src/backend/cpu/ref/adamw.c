/* adamw.c — Adam with decoupled weight decay, in the order in which PyTorch computes it. */
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/rows.h"

static void adamw_elements(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const adamw_args *a = args;
	const real *dw = a->dw->data;
	real *m = a->m->data, *v = a->v->data, *w = a->w->data;
	const real grad_scale = (real)a->grad_scale, decay = (real)(1 - a->lr * a->weight_decay);
	const real beta1 = (real)a->beta1, beta2 = (real)a->beta2;
	const real rest1 = (real)(1 - a->beta1), rest2 = (real)(1 - a->beta2);
	const real step = (real)(a->lr / a->correction1);
	const real root2 = (real)sqrt(a->correction2), eps = (real)a->eps;
	for (int64_t i = begin; i < end; i++) {
		real g = dw[i] * grad_scale;
		m[i] = beta1 * m[i] + rest1 * g;
		v[i] = beta2 * v[i] + rest2 * g * g;
		w[i] = w[i] * decay - step * (m[i] / (sqrt(v[i]) / root2 + eps));
	}
}

hec_status REF(adamw)(hec_ctx *ctx, const adamw_args *a)
{
	return rows_run(ctx, hec_tensor_count(a->w), 4, 0, adamw_elements, a);
}
