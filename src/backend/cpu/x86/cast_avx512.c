/* cast_avx512.c — between f32 and the two 16-bit formats, with the bits that casts.c gives: to
 * nearest, ties to even; a NaN keeps its sign and nothing else. */
#include "backend/cpu/casts.h"
#include "backend/cpu/rank4.h"
#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/rows_avx512.h"

typedef struct cast_call {
	hec_tensor x, y; /* rank 4 */
} cast_call;

VECTOR_MATH __mmask16 nan_lanes(__m512 x)
{
	return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
}

VECTOR_MATH __m256i to_bf16(__m512 x)
{
	__m512i bits = _mm512_castps_si512(x), upper = _mm512_srli_epi32(bits, 16);
	__m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
	__m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
	__m512i nan = _mm512_and_si512(upper, _mm512_set1_epi32(0x8000));
	nan = _mm512_or_si512(nan, _mm512_set1_epi32(0x7FC0));
	up = _mm512_mask_mov_epi32(_mm512_srli_epi32(up, 16), nan_lanes(x), nan);
	return _mm512_cvtepi32_epi16(up);
}

VECTOR_MATH __m256i to_f16(__m512 x)
{
	__m256i half = _mm512_cvtps_ph(x, NEAREST);
	__m512i sign = _mm512_srli_epi32(_mm512_castps_si512(x), 31);
	__m512i nan = _mm512_add_epi32(_mm512_slli_epi32(sign, 15), _mm512_set1_epi32(0x7E00));
	return _mm256_mask_mov_epi16(half, nan_lanes(x), _mm512_cvtepi32_epi16(nan));
}

VECTOR_MATH __m512 plain_nan(__m512 x)
{
	__m512 nan = _mm512_and_ps(x, _mm512_set1_ps(-0.0f));
	nan = _mm512_or_ps(nan, _mm512_castsi512_ps(_mm512_set1_epi32(0x7FC00000)));
	return _mm512_mask_mov_ps(x, nan_lanes(x), nan);
}

static void narrow_span(const void *args, int64_t row, int64_t begin, int64_t end)
{
	const cast_call *call = args;
	const float *x = (const float *)call->x.data + rank4_row(&call->x, row);
	uint16_t *y = (uint16_t *)call->y.data + rank4_row(&call->y, row);
	bool bf16 = call->y.dtype == HEC_BF16;
	for (int64_t c = begin; c < end; c += 16) {
		__mmask16 lanes = lanes_at(c, end);
		__m512 v = load_ps(lanes, x + c);
		_mm256_mask_storeu_epi16(y + c, lanes, bf16 ? to_bf16(v) : to_f16(v));
	}
}

static void widen_span(const void *args, int64_t row, int64_t begin, int64_t end)
{
	const cast_call *call = args;
	const uint16_t *x = (const uint16_t *)call->x.data + rank4_row(&call->x, row);
	float *y = (float *)call->y.data + rank4_row(&call->y, row);
	bool bf16 = call->x.dtype == HEC_BF16;
	for (int64_t c = begin; c < end; c += 16) {
		__mmask16 lanes = lanes_at(c, end);
		__m256i v = _mm256_maskz_loadu_epi16(lanes, x + c);
		__m512i upper = _mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16);
		__m512 wide = bf16 ? _mm512_castsi512_ps(upper) : _mm512_cvtph_ps(v);
		store_ps(y + c, lanes, plain_nan(wide));
	}
}

static bool is_half(hec_dtype dtype)
{
	return dtype == HEC_BF16 || dtype == HEC_F16;
}

static hec_status cast_avx512(hec_ctx *ctx, const cast_args *a)
{
	bool narrow = a->x->dtype == HEC_F32 && is_half(a->y->dtype);
	bool widen = is_half(a->x->dtype) && a->y->dtype == HEC_F32;
	if ((!narrow && !widen) || !has_rows(a->x) || !has_rows(a->y))
		return cast_any(ctx, a);
	cast_call call = {to_rank4(a->x), to_rank4(a->y)};
	bool flat = hec_tensor_is_contiguous(a->x) && hec_tensor_is_contiguous(a->y);
	return spans_run(ctx, rank4_rows(&call.y), call.y.shape[3], flat, 1,
	                 narrow ? narrow_span : widen_span, &call);
}

void cast_avx512_fill(backend *b)
{
	b->ops[HEC_F32].cast = cast_avx512;
	b->ops[HEC_BF16].cast = cast_avx512;
	b->ops[HEC_F16].cast = cast_avx512;
}
