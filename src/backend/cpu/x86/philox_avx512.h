/* philox_avx512.h — Philox 4x32-10 for eight counters at once, and the dropout masks made of it.
 *
 * A counter's words live in the low halves of 64-bit lanes, where a 32×32-bit product is one
 * instruction and its high half one shift; what gathers in the upper halves is never read. */
#ifndef BACKEND_CPU_X86_PHILOX_AVX512_H
#define BACKEND_CPU_X86_PHILOX_AVX512_H

#include <immintrin.h>

#include "backend/cpu/dropout_mask.h"

typedef struct dropout_avx512 {
	uint32_t key[2], site, step;
	__m512i threshold; /* p · 2³² */
} dropout_avx512;

/* False where every element is dropped, which no 32-bit threshold can say. */
static inline bool dropout_avx512_set(const hec_dropout *d, dropout_avx512 *out)
{
	uint64_t threshold = dropout_threshold(d);
	out->key[0] = (uint32_t)d->key.seed;
	out->key[1] = (uint32_t)(d->key.seed >> 32);
	out->site = d->site | (uint32_t)d->key.micro_batch << 16;
	out->step = d->key.step;
	out->threshold = _mm512_set1_epi32((int)(uint32_t)threshold);
	return threshold <= UINT32_MAX;
}

/* Which of 32 columns of a row are kept, from column (a multiple of 4) on: kept[0] the first 16. */
static inline __attribute__((always_inline)) void
dropout_keeps_avx512(const dropout_avx512 *d, uint32_t row, uint32_t column, __mmask16 kept[2])
{
	/* In this order the words come out by columns after the two unpacks below. */
	const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
	__m512i c0 = _mm512_add_epi64(order, _mm512_set1_epi64(column / 4));
	__m512i c1 = _mm512_set1_epi64(row);
	__m512i c2 = _mm512_set1_epi64(d->site), c3 = _mm512_set1_epi64(d->step);
	const __m512i m0 = _mm512_set1_epi64(PHILOX_M0), m1 = _mm512_set1_epi64(PHILOX_M1);
	uint32_t k0 = d->key[0], k1 = d->key[1];
	for (int round = 0; round < PHILOX_ROUNDS; round++) {
		__m512i p0 = _mm512_mul_epu32(c0, m0), p1 = _mm512_mul_epu32(c2, m1);
		__m512i n0 = _mm512_xor_si512(_mm512_srli_epi64(p1, 32), c1);
		__m512i n2 = _mm512_xor_si512(_mm512_srli_epi64(p0, 32), c3);
		c0 = _mm512_xor_si512(n0, _mm512_set1_epi64(k0));
		c2 = _mm512_xor_si512(n2, _mm512_set1_epi64(k1));
		c1 = p1;
		c3 = p0;
		k0 += PHILOX_W0;
		k1 += PHILOX_W1;
	}
	const __mmask16 upper = 0xAAAA;
	__m512i w01 = _mm512_mask_mov_epi32(c0, upper, _mm512_slli_epi64(c1, 32));
	__m512i w23 = _mm512_mask_mov_epi32(c2, upper, _mm512_slli_epi64(c3, 32));
	kept[0] = _mm512_cmpge_epu32_mask(_mm512_unpacklo_epi64(w01, w23), d->threshold);
	kept[1] = _mm512_cmpge_epu32_mask(_mm512_unpackhi_epi64(w01, w23), d->threshold);
}

#endif
