/* conv1d_gemm.h — conv1d for every level whose gemm is faster than plain loops. */
#ifndef BACKEND_CPU_CONV1D_GEMM_H
#define BACKEND_CPU_CONV1D_GEMM_H

#include "backend/backend.h"

hec_status conv1d_fwd_gemm(hec_ctx *ctx, const conv1d_args *a);
hec_status conv1d_bwd_gemm(hec_ctx *ctx, const conv1d_args *a);

#endif
