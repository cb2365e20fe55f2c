/* real.h — every file in this folder is compiled twice: real is float, and again double.
 * REF(gemm) is gemm_f32_ref in the one, gemm_f64_ref in the other. */
#ifndef BACKEND_CPU_REF_REAL_H
#define BACKEND_CPU_REF_REAL_H

#include <math.h>
#include <tgmath.h>

#ifdef HEC_REF_F64
typedef double real;
#define REF(name) name##_f64_ref
#else
typedef float real;
#define REF(name) name##_f32_ref
#endif

#endif
