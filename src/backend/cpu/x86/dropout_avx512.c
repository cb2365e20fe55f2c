/* dropout_avx512.c — y = dropout(x) + residual, 32 columns to a turn of Philox. */
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/philox_avx512.h"
#include "backend/cpu/x86/rows_avx512.h"

static void dropout_rows(const void *args, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const dropout_args *a = args;
	int64_t C = a->x->shape[1];
	const __m512 scale = _mm512_set1_ps((float)dropout_scale(&a->dropout));
	dropout_avx512 mask;
	dropout_avx512_set(&a->dropout, &mask);
	for (int64_t n = begin; n < end; n++) {
		const float *x = row_at(a->x, n),
			    *residual = a->residual ? row_at(a->residual, n) : x;
		float *y = row_at(a->y, n);
		for (int64_t c = 0; c < C; c += 32) {
			__mmask16 kept[2];
			dropout_keeps_avx512(&mask, (uint32_t)n, (uint32_t)c, kept);
			for (int i = 0; i < 2 && c + 16 * i < C; i++) {
				int64_t at = c + 16 * i;
				__mmask16 lanes = lanes_at(at, C);
				__m512 v =
					_mm512_maskz_mul_ps(kept[i], load_ps(lanes, x + at), scale);
				if (a->residual)
					v = _mm512_add_ps(v, load_ps(lanes, residual + at));
				store_ps(y + at, lanes, v);
			}
		}
	}
}

static hec_status dropout_f32_avx512(hec_ctx *ctx, const dropout_args *a)
{
	dropout_avx512 mask;
	bool fast = has_rows(a->x) && has_rows(a->residual) && has_rows(a->y);
	if (!fast || a->dropout.p <= 0 || !dropout_avx512_set(&a->dropout, &mask))
		return dropout_f32_ref(ctx, a);
	return rows_run(ctx, a->x->shape[0], a->x->shape[1], 0, dropout_rows, a);
}

void dropout_f32_avx512_fill(backend_ops *ops)
{
	ops->dropout = dropout_f32_avx512;
}
