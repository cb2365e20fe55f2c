/* levels.c — which levels there are, in order, and when each may run. */
#include "backend/cpu/cpu.h"
#include "base/cpu.h"

static bool always(void)
{
	return true;
}

static void ref_fill(backend *b)
{
	ref_fill_f32(&b->ops[HEC_F32]);
	ref_fill_f64(&b->ops[HEC_F64]);
	ref_fill_casts(b);
}

const cpu_level cpu_levels[] = {
	{"ref", always, ref_fill},
#ifdef HEC_HAVE_AVX512
	{"avx512", cpu_has_avx512, avx512_fill},
#endif
	{NULL, NULL, NULL},
};
