/* ceiling.h — loops that do nothing but multiply-add, or nothing but read: one pair per level. */
#ifndef BACKEND_CPU_CEILING_H
#define BACKEND_CPU_CEILING_H

#include <stdint.h>

#define CEILING_CHAINS 16 /* independent sums: more than latency × units of any CPU here */

/* Does rounds · CEILING_CHAINS vector multiply-adds; returns how many operations on single numbers
 * that was. *sink takes something made of the result, so that the work cannot be left out. */
typedef double ceiling_fma(int64_t rounds, float *sink);
/* Reads n floats, a multiple of 256, 64-byte aligned. */
typedef void ceiling_read(const float *x, int64_t n, float *sink);

ceiling_fma fma_f32_ref, fma_f32_avx512;
ceiling_read read_f32_ref, read_f32_avx512;

#endif
