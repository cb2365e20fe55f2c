/* rowwise_avx512.c — the slots of all operations that work on rows by themselves. */
#include "backend/cpu/x86/avx512.h"

void rowwise_f32_avx512_fill(backend_ops *ops)
{
	norm_f32_avx512_fill(ops);
	activation_f32_avx512_fill(ops);
	cross_entropy_f32_avx512_fill(ops);
	adamw_f32_avx512_fill(ops);
	embedding_f32_avx512_fill(ops);
	dropout_f32_avx512_fill(ops);
	elementwise_f32_avx512_fill(ops);
	reduce_f32_avx512_fill(ops);
	rotary_f32_avx512_fill(ops);
}
