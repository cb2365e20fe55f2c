/* random.h — numbers from a counter (Philox 4x32-10), the same on every device and in any order. */
#ifndef HECATE_RANDOM_H
#define HECATE_RANDOM_H

#include <hecate/context.h>
#include <hecate/tensor.h>

HEC_BEGIN

/* Four random words for one counter and key: Salmon et al., SC 2011. */
HEC_API void hec_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Fills x with uniform numbers in [low, high), or normal ones. Element i (in row-major order) takes
 * word i mod 4 of counter (i / 4, stream) under the key seed (a normal one takes two words). */
HEC_API HEC_MUST_USE hec_status hec_random_uniform(hec_ctx *ctx, uint64_t seed, uint64_t stream,
                                                   double low, double high, hec_tensor *x);
HEC_API HEC_MUST_USE hec_status hec_random_normal(hec_ctx *ctx, uint64_t seed, uint64_t stream,
                                                  double mean, double stddev, hec_tensor *x);

HEC_END

#endif
