/* rowwise_avx512.c — the slots of all operations that work on rows by themselves. */
#include "backend/cpu/x86/avx512.h"

void rowwise_f32_avx512_fill(backend_ops *ops)
{
	(void)ops;
}
