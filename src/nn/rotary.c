/* rotary.c — rotary positions: the pair (x_i, x_j) becomes (x_i·cos − x_j·sin, x_i·sin + x_j·cos).
 * A rotation's gradient is the rotation back, so one operation serves both directions. */
#include <math.h>

#include <hecate/position.h>

#include "backend/backend.h"
#include "base/status.h"
#include "nn/table.h"
#include "tensor/check.h"

typedef struct angles {
	double base;
	int64_t pairs;
} angles;

static double angle(const angles *a, int64_t t, int64_t i)
{
	return (double)t * pow(a->base, -(double)i / (double)a->pairs);
}

static double cosine_value(const void *user, int64_t t, int64_t i)
{
	return cos(angle(user, t, i));
}

static double sine_value(const void *user, int64_t t, int64_t i)
{
	return sin(angle(user, t, i));
}

static hec_status check_tables(const hec_rotary *rotary)
{
	HEC_TRY(CHECK_GIVEN("rotary", rotary));
	if (rotary->pairs != HEC_ROTARY_HALVES && rotary->pairs != HEC_ROTARY_INTERLEAVED)
		return fail(HEC_ERR_ARGUMENT, "rotary: pairs %d are not known", (int)rotary->pairs);
	HEC_TRY(check_real("rotary: cosine", &rotary->cosine));
	HEC_TRY(CHECK_2D("rotary: cosine", &rotary->cosine, rotary->cosine.dtype, ANY, ANY));
	return check_tensor("rotary: sine", &rotary->sine, rotary->cosine.dtype, 2,
	                    rotary->cosine.shape);
}

hec_status hec_rotary_fill(hec_ctx *ctx, double base, hec_rotary *rotary)
{
	HEC_TRY(CHECK_GIVEN("rotary", ctx));
	HEC_TRY(check_tables(rotary));
	if (!(base > 0))
		return fail(HEC_ERR_ARGUMENT, "rotary: base %g", base);
	angles a = {base, rotary->cosine.shape[1]};
	HEC_TRY(table_fill(ctx, &rotary->cosine, cosine_value, &a));
	return table_fill(ctx, &rotary->sine, sine_value, &a);
}

hec_status hec_rotary_apply(hec_ctx *ctx, const hec_rotary *rotary, bool inverse,
                            const hec_tensor *x, const int32_t *first, hec_tensor *y)
{
	HEC_TRY(CHECK_GIVEN("rotary", ctx));
	HEC_TRY(check_tables(rotary));
	hec_dtype dtype = rotary->cosine.dtype;
	HEC_TRY(CHECK_4D("rotary: x", x, dtype, ANY, ANY, ANY, ANY));
	HEC_TRY(check_tensor("rotary: y", y, dtype, 4, x->shape));
	int64_t P = rotary->cosine.shape[0], turned = 2 * rotary->cosine.shape[1];
	if (turned > x->shape[3])
		return fail(HEC_ERR_SHAPE, "rotary: tables turn %lld numbers of a head of %lld",
		            (long long)turned, (long long)x->shape[3]);
	if (hec_tensor_count(x) == 0)
		return HEC_OK;
	for (int64_t b = 0; b < x->shape[0]; b++) {
		int64_t begin = first ? first[b] : 0;
		if (begin < 0 || begin + x->shape[1] > P)
			return fail(HEC_ERR_SHAPE,
			            "rotary: sequence %lld has positions %lld … +%lld, the tables "
			            "have %lld",
			            (long long)b, (long long)begin, (long long)x->shape[1],
			            (long long)P);
	}
	rotary_args args = {.interleaved = rotary->pairs == HEC_ROTARY_INTERLEAVED,
	                    .inverse = inverse,
	                    .cosine = &rotary->cosine,
	                    .sine = &rotary->sine,
	                    .x = x,
	                    .first = first,
	                    .y = y};
	return BACKEND(ctx, dtype, rotary, &args);
}
