/* fill_avx512.c — what AVX-512 puts over the reference. */
#include "backend/cpu/conv1d_gemm.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/x86/avx512.h"

void avx512_fill(backend *b)
{
	gemm_f32_avx512_fill(&b->ops[HEC_F32]);
	attention_f32_avx512_fill(&b->ops[HEC_F32]);
	rowwise_f32_avx512_fill(&b->ops[HEC_F32]);
	cast_avx512_fill(b);
	b->ops[HEC_F32].conv1d_fwd = conv1d_fwd_gemm;
	b->ops[HEC_F32].conv1d_bwd = conv1d_bwd_gemm;
}
