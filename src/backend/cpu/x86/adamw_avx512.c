/* adamw_avx512.c — a step of AdamW; the formulas are in ref/adamw.c. Bound by memory: 28 bytes per
 * parameter pass through. */
#include <math.h>

#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/rows_avx512.h"

static void adamw_span(const void *args, int64_t row, int64_t begin, int64_t end)
{
	(void)row;
	const adamw_args *a = args;
	const float *dw = a->dw->data;
	float *m = a->m->data, *v = a->v->data, *w = a->w->data;
	const __m512 grad_scale = _mm512_set1_ps((float)a->grad_scale);
	const __m512 decay = _mm512_set1_ps((float)(1 - a->lr * a->weight_decay));
	const __m512 beta1 = _mm512_set1_ps((float)a->beta1);
	const __m512 beta2 = _mm512_set1_ps((float)a->beta2);
	const __m512 rest1 = _mm512_set1_ps((float)(1 - a->beta1));
	const __m512 rest2 = _mm512_set1_ps((float)(1 - a->beta2));
	const __m512 step = _mm512_set1_ps((float)(a->lr / a->correction1));
	const __m512 root2 = _mm512_set1_ps((float)sqrt(a->correction2));
	const __m512 eps = _mm512_set1_ps((float)a->eps);
	for (int64_t i = begin; i < end; i += 16) {
		__mmask16 lanes = lanes_at(i, end);
		__m512 g = _mm512_mul_ps(load_ps(lanes, dw + i), grad_scale);
		__m512 new_m =
			_mm512_fmadd_ps(beta1, load_ps(lanes, m + i), _mm512_mul_ps(rest1, g));
		__m512 new_v = _mm512_mul_ps(_mm512_mul_ps(rest2, g), g);
		new_v = _mm512_fmadd_ps(beta2, load_ps(lanes, v + i), new_v);
		__m512 size = _mm512_add_ps(_mm512_div_ps(_mm512_sqrt_ps(new_v), root2), eps);
		__m512 new_w = _mm512_mul_ps(load_ps(lanes, w + i), decay);
		new_w = _mm512_fnmadd_ps(step, _mm512_div_ps(new_m, size), new_w);
		store_ps(m + i, lanes, new_m);
		store_ps(v + i, lanes, new_v);
		store_ps(w + i, lanes, new_w);
	}
}

static hec_status adamw_f32_avx512(hec_ctx *ctx, const adamw_args *a)
{
	return spans_run(ctx, 1, hec_tensor_count(a->w), true, 2, adamw_span, a);
}

void adamw_f32_avx512_fill(backend_ops *ops)
{
	ops->adamw = adamw_f32_avx512;
}
