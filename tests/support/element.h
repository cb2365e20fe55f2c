/* element.h — one element of any type as a double, and back. The 16-bit formats, which only store, are
 * their bit patterns. */
#ifndef TESTS_SUPPORT_ELEMENT_H
#define TESTS_SUPPORT_ELEMENT_H

#include <stdlib.h>

#include <hecate/tensor.h>

static inline double element_get(const void *p, hec_dtype dtype)
{
	switch (dtype) {
	case HEC_F32:
		return (double)*(const float *)p;
	case HEC_F64:
		return *(const double *)p;
	case HEC_I8:
		return *(const int8_t *)p;
	case HEC_I32:
		return *(const int32_t *)p;
	case HEC_BF16:
	case HEC_F16:
		return *(const uint16_t *)p;
	}
	abort();
}

static inline void element_put(void *p, hec_dtype dtype, double x)
{
	switch (dtype) {
	case HEC_F32:
		*(float *)p = (float)x;
		return;
	case HEC_F64:
		*(double *)p = x;
		return;
	case HEC_I8:
		*(int8_t *)p = (int8_t)x;
		return;
	case HEC_I32:
		*(int32_t *)p = (int32_t)x;
		return;
	case HEC_BF16:
	case HEC_F16:
		*(uint16_t *)p = (uint16_t)x;
		return;
	}
	abort();
}

#endif
