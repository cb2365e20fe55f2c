/* functions_avx512.c — the vector functions against the C library in double, over floats of every
 * size: each 499th bit pattern, both signs. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/x86/exp2_f32_avx512.h"
#include "backend/cpu/x86/math_avx512.h"
#include "bounds.h"
#include "check.h"

#define STEP 499u

typedef struct function {
	const char *name;
	double ulps;
	double (*truth)(double);
	__m512 (*vector)(__m512);
} function;

static double truth_exp(double x)
{
	return exp(x);
}

static double truth_exp2(double x)
{
	return exp2(x);
}

static double truth_exp2_weights(double x)
{
	return exp2(x);
}

static double truth_log(double x)
{
	return log(x);
}

static double truth_tanh(double x)
{
	return tanh(x);
}

static double truth_normal_cdf(double x)
{
	return 0.5 * erfc(-x * 0.70710678118654752440);
}

static __m512 vector_exp(__m512 x)
{
	return exp_ps_avx512(x);
}

static __m512 vector_exp2(__m512 x)
{
	return exp2_ps_avx512(x);
}

static __m512 vector_exp2_weights(__m512 x)
{
	return exp2_f32_avx512(x);
}

static __m512 vector_log(__m512 x)
{
	return log_ps_avx512(x);
}

static __m512 vector_tanh(__m512 x)
{
	return tanh_ps_avx512(x);
}

static __m512 vector_normal_cdf(__m512 x)
{
	return normal_cdf_ps_avx512(x);
}

static const function functions[] = {
#define ROW(name, ulps, what) {#name, ulps, truth_##name, vector_##name},
	FUNCTION_BOUNDS(ROW)
#undef ROW
};

/* Distance in units in the last place of the result; 0 where both are the same NaN or infinity. */
static double distance(const function *f, double want, float got)
{
	float rounded = (float)want;
	if ((isnan(want) && isnan(got)) || rounded == got)
		return 0;
	if (f->truth == truth_normal_cdf)
		return fabs((double)got - want) / FLT_EPSILON;
	float next = nextafterf(fabsf(rounded), INFINITY);
	double unit = isinf(next) ? FLT_MAX * FLT_EPSILON : (double)next - fabs((double)rounded);
	return fabs((double)got - want) / unit;
}

static int check_function(const function *f)
{
	double worst = 0;
	float at = 0, x[16], y[16];
	for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 16 * STEP) {
		for (int i = 0; i < 16; i++) {
			uint32_t pattern = (uint32_t)(bits + (uint64_t)i * STEP);
			memcpy(&x[i], &pattern, sizeof pattern);
		}
		_mm512_storeu_ps(y, f->vector(_mm512_loadu_ps(x)));
		for (int i = 0; i < 16; i++) {
			double d = distance(f, f->truth((double)x[i]), y[i]);
			if (!(d <= worst)) {
				worst = d;
				at = x[i];
			}
		}
	}
	bool ok = worst <= f->ulps;
	printf("%-18s %-12s off by %.3f at %.9g, allowed %g   %s\n", f->name, "function", worst,
	       (double)at, f->ulps, ok ? "ok" : "FAILED");
	return !ok;
}

int functions_check_avx512(void)
{
	int failures = 0;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		failures += check_function(&functions[i]);
	return failures;
}
