/* dry.c — every operation left out. */
#include "backend/dry.h"

#define OP(name, args)                                                                             \
	static hec_status name##_dry(hec_ctx *ctx, const args *a)                                  \
	{                                                                                          \
		(void)ctx;                                                                         \
		(void)a;                                                                           \
		return HEC_OK;                                                                     \
	}
BACKEND_OPS(OP)
#undef OP

/* The place of a pack is known from the first time on, as in earnest. No layout: nobody reads it. */
static hec_status pack_dry(hec_ctx *ctx, const gemm_pack_args *a)
{
	if (!a->into)
		*a->out = (hec_packed){.data = a->data, .k = a->b->shape[0], .n = a->b->shape[1]};
	return gemm_pack_dry(ctx, a);
}

void dry_fill(backend *b)
{
	b->dry = true;
	for (int dtype = 0; dtype < HEC_DTYPES; dtype++) {
		backend_ops *ops = &b->ops[dtype];
#define OP(name, args) ops->name = ops->name ? name##_dry : NULL;
		BACKEND_OPS(OP)
#undef OP
		ops->gemm_pack = ops->gemm_pack ? pack_dry : NULL;
	}
}
