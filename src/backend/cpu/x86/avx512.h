/* avx512.h — the families of AVX-512 operations; each fills the slots that it has. */
#ifndef BACKEND_CPU_X86_AVX512_H
#define BACKEND_CPU_X86_AVX512_H

#include "backend/backend.h"

void gemm_f32_avx512_fill(backend_ops *ops);
void attention_f32_avx512_fill(backend_ops *ops);
void rowwise_f32_avx512_fill(backend_ops *ops); /* norms, activations, loss, and all the rest */

#endif
