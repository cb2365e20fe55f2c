/* ops.c — plain operations on tensors, and sums over them. */
#include <hecate/adamw.h>
#include <hecate/ops.h>

#include "backend/backend.h"
#include "base/status.h"
#include "tensor/check.h"
#include "tensor/view.h"

hec_status hec_tensor_fill(hec_ctx *ctx, double value, hec_tensor *x)
{
	HEC_TRY(CHECK_GIVEN("fill", ctx));
	HEC_TRY(check_any("fill: x", x));
	return BACKEND(ctx, x->dtype, fill, &((fill_args){.value = value, .x = x}));
}

hec_status hec_tensor_copy(hec_ctx *ctx, const hec_tensor *x, hec_tensor *y)
{
	HEC_TRY(CHECK_GIVEN("copy", ctx));
	HEC_TRY(check_any("copy: x", x));
	HEC_TRY(check_any("copy: y", y));
	HEC_TRY(check_tensor("copy: y", y, y->dtype, x->rank, x->shape));
	return BACKEND(ctx, x->dtype, cast, &((cast_args){.x = x, .y = y}));
}

hec_status hec_tensor_add(hec_ctx *ctx, double alpha, const hec_tensor *a, double beta,
                          const hec_tensor *b, hec_tensor *y)
{
	HEC_TRY(CHECK_GIVEN("add", ctx));
	HEC_TRY(check_real("add: y", y));
	HEC_TRY(check_real("add: a", a));
	HEC_TRY(check_tensor("add: a", a, y->dtype, a->rank, a->shape));
	hec_tensor av, bv;
	HEC_TRY(view_broadcast("add: a", a, y->rank, y->shape, &av));
	add_args args = {.alpha = alpha, .a = &av, .y = y};
	if (b) {
		HEC_TRY(check_real("add: b", b));
		HEC_TRY(check_tensor("add: b", b, y->dtype, b->rank, b->shape));
		HEC_TRY(view_broadcast("add: b", b, y->rank, y->shape, &bv));
		args.beta = beta;
		args.b = &bv;
	}
	return BACKEND(ctx, y->dtype, add, &args);
}

hec_status hec_sum_squares(hec_ctx *ctx, const hec_tensor *x, double *sum)
{
	HEC_TRY(CHECK_GIVEN("sum_squares", ctx));
	HEC_TRY(CHECK_GIVEN("sum_squares", sum));
	HEC_TRY(check_real("sum_squares: x", x));
	hec_tensor rows, total = hec_tensor_1d(sum, HEC_F64, 1);
	HEC_TRY(view_rows("sum_squares: x", x, &rows));
	return BACKEND(ctx, x->dtype, sum_squares, &((reduce_args){.x = &rows, .sum = &total}));
}
