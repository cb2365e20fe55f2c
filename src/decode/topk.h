/* topk.h — the largest k of many numbers, in order, without sorting the many. */
#ifndef DECODE_TOPK_H
#define DECODE_TOPK_H

#include <stdint.h>

typedef struct scored {
	float score;
	int32_t id;
} scored;

/* out[0 … k − 1], best first; of equal ones the lower id. NaN is passed over, and −inf comes only
 * where there is nothing else. Returns how many there are: less than k only where x has fewer that
 * are not NaN. */
int64_t topk(const float *x, int64_t n, int64_t k, scored *out);

#endif
