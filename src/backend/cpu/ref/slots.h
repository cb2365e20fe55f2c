/* slots.h — the names of the reference operations: a level may hand a case to them. */
#ifndef BACKEND_CPU_REF_SLOTS_H
#define BACKEND_CPU_REF_SLOTS_H

#include "backend/backend.h"

#define OP(name, args)                                                                             \
	hec_status name##_f32_ref(hec_ctx *ctx, const args *a);                                    \
	hec_status name##_f64_ref(hec_ctx *ctx, const args *a);
BACKEND_OPS(OP)
#undef OP

size_t gemm_pack_size_f32_ref(int64_t k, int64_t n);
size_t gemm_pack_size_f64_ref(int64_t k, int64_t n);

#endif
