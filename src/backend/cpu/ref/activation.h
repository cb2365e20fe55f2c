/* activation.h — one number through an activation, and its slope; gemm's end uses it too. */
#ifndef BACKEND_CPU_REF_ACTIVATION_H
#define BACKEND_CPU_REF_ACTIVATION_H

#include <hecate/activation.h>

#include "backend/cpu/ref/real.h"

#define SQRT_HALF ((real)0.70710678118654752440)
#define SQRT_2_OVER_PI ((real)0.79788456080286535588)
#define INV_SQRT_2PI ((real)0.39894228040143267794)
#define GELU_CUBIC ((real)0.044715)

static inline real sigmoid(real x)
{
	return 1 / (1 + exp(-x));
}

static inline real gelu_tanh_of(real x)
{
	return tanh(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x));
}

static inline real activation_at(hec_activation act, real x)
{
	const real half = (real)0.5;
	switch (act) {
	case HEC_ACT_RELU:
		return x < 0 ? 0 : x; /* NaN stays NaN */
	case HEC_ACT_GELU:
		return half * x * (1 + erf(x * SQRT_HALF));
	case HEC_ACT_GELU_TANH:
		return half * x * (1 + gelu_tanh_of(x));
	case HEC_ACT_SILU:
		return x * sigmoid(x);
	case HEC_ACT_TANH:
		return tanh(x);
	case HEC_ACT_NONE:
		break;
	}
	return x;
}

static inline real activation_slope(hec_activation act, real x)
{
	const real half = (real)0.5;
	switch (act) {
	case HEC_ACT_RELU:
		return x > 0 ? 1 : 0;
	case HEC_ACT_GELU:
		return half * (1 + erf(x * SQRT_HALF)) + x * INV_SQRT_2PI * exp(-half * x * x);
	case HEC_ACT_GELU_TANH: {
		real t = gelu_tanh_of(x);
		/* Far out the slope is 1 or 0, but x² might be inf there. */
		real square = fmin(x * x, (real)0x1p100);
		real inner = SQRT_2_OVER_PI * (1 + 3 * GELU_CUBIC * square);
		return half * (1 + t) + half * x * (1 - t * t) * inner;
	}
	case HEC_ACT_SILU: {
		real s = sigmoid(x);
		return s * (1 + x * (1 - s));
	}
	case HEC_ACT_TANH: {
		real t = tanh(x);
		return (1 - t) * (1 + t);
	}
	case HEC_ACT_NONE:
		break;
	}
	return 1;
}

#endif
