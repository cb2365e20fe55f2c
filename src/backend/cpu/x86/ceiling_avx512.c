/* ceiling_avx512.c — the ceilings with 512-bit registers.
 *
 * The multiply-adds are written as instructions: sixteen chains and two factors that never leave
 * their registers, whatever the compiler thinks of the loop. */
#include "backend/cpu/ceiling.h"

#include <immintrin.h>

#define FMA(i) "vfmadd231ps %%zmm16, %%zmm17, %%zmm" #i "\n\t"

double fma_f32_avx512(int64_t rounds, float *sink)
{
	const float nearly_one = 0.999f;
	float lanes[16];
	int64_t left = rounds;
	__asm__ volatile(
		"vbroadcastss %[f], %%zmm16\n\t"
		"vbroadcastss %[f], %%zmm17\n\t"
		"vpxord %%zmm0, %%zmm0, %%zmm0\n\t"
		"vmovaps %%zmm0, %%zmm1\n\t"
		"vmovaps %%zmm0, %%zmm2\n\t"
		"vmovaps %%zmm0, %%zmm3\n\t"
		"vmovaps %%zmm0, %%zmm4\n\t"
		"vmovaps %%zmm0, %%zmm5\n\t"
		"vmovaps %%zmm0, %%zmm6\n\t"
		"vmovaps %%zmm0, %%zmm7\n\t"
		"vmovaps %%zmm0, %%zmm8\n\t"
		"vmovaps %%zmm0, %%zmm9\n\t"
		"vmovaps %%zmm0, %%zmm10\n\t"
		"vmovaps %%zmm0, %%zmm11\n\t"
		"vmovaps %%zmm0, %%zmm12\n\t"
		"vmovaps %%zmm0, %%zmm13\n\t"
		"vmovaps %%zmm0, %%zmm14\n\t"
		"vmovaps %%zmm0, %%zmm15\n\t"
		".p2align 5\n"
		"1:\n\t" FMA(0) FMA(1) FMA(2) FMA(3) FMA(4) FMA(5) FMA(6) FMA(7) FMA(8) FMA(9)
			FMA(10) FMA(11) FMA(12) FMA(13) FMA(14) FMA(15) "dec %[left]\n\t"
									"jnz 1b\n\t"
									"vmovups %%zmm0, %[out]\n\t"
		: [left] "+r"(left), [out] "=m"(lanes)
		: [f] "m"(nearly_one)
		: "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
		  "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17");
	*sink = lanes[0];
	return 2.0 * 16 * CEILING_CHAINS * (double)rounds;
}

void read_f32_avx512(const float *x, int64_t n, float *sink)
{
	__m512i sum[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
	                  _mm512_setzero_si512()};
	for (int64_t i = 0; i < n; i += 64) {
		_mm_prefetch((const char *)(x + i + 128), _MM_HINT_T0);
		_mm_prefetch((const char *)(x + i + 144), _MM_HINT_T0);
		_mm_prefetch((const char *)(x + i + 160), _MM_HINT_T0);
		_mm_prefetch((const char *)(x + i + 176), _MM_HINT_T0);
		for (int j = 0; j < 4; j++)
			sum[j] = _mm512_xor_si512(sum[j], _mm512_load_si512(x + i + 16 * j));
	}
	sum[0] = _mm512_xor_si512(_mm512_xor_si512(sum[0], sum[1]),
	                          _mm512_xor_si512(sum[2], sum[3]));
	*sink = (float)_mm512_reduce_add_epi32(sum[0]);
}
