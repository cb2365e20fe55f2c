/* avx512.h — the families of AVX-512 operations; each fills the slots that it has. */
#ifndef BACKEND_CPU_X86_AVX512_H
#define BACKEND_CPU_X86_AVX512_H

#include "backend/backend.h"

void gemm_f32_avx512_fill(backend_ops *ops);
void attention_f32_avx512_fill(backend_ops *ops);
void rowwise_f32_avx512_fill(backend_ops *ops); /* all of those below */

void norm_f32_avx512_fill(backend_ops *ops);
void activation_f32_avx512_fill(backend_ops *ops);
void cross_entropy_f32_avx512_fill(backend_ops *ops);
void adamw_f32_avx512_fill(backend_ops *ops);
void embedding_f32_avx512_fill(backend_ops *ops);
void dropout_f32_avx512_fill(backend_ops *ops);
void elementwise_f32_avx512_fill(backend_ops *ops);
void reduce_f32_avx512_fill(backend_ops *ops);
void rotary_f32_avx512_fill(backend_ops *ops);

void cast_avx512_fill(backend *b); /* f32, bf16 and f16 */

#endif
