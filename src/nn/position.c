/* position.c — positions that are added to the embeddings: sinusoidal and learned. */
#include <hecate/position.h>

#include <math.h>

#include <hecate/ops.h>

#include "base/status.h"
#include "nn/table.h"
#include "tensor/check.h"

typedef struct sinusoid {
	hec_sinusoid layout;
	double base;
	int64_t first, width;
} sinusoid;

static double sinusoid_value(const void *user, int64_t row, int64_t column)
{
	const sinusoid *s = user;
	int64_t sines = (s->width + 1) / 2, i;
	bool cosine;
	if (s->layout == HEC_SINUSOID_INTERLEAVED) {
		i = column / 2;
		cosine = column % 2 != 0;
	} else {
		i = column % sines;
		cosine = column >= sines;
	}
	double angle = (double)(s->first + row) * pow(s->base, -2.0 * (double)i / (double)s->width);
	return cosine ? cos(angle) : sin(angle);
}

hec_status hec_position_sinusoidal(hec_ctx *ctx, hec_sinusoid layout, double base, int64_t first,
                                   hec_tensor *table)
{
	HEC_TRY(CHECK_GIVEN("sinusoidal", ctx));
	HEC_TRY(check_real("sinusoidal: table", table));
	HEC_TRY(CHECK_2D("sinusoidal: table", table, table->dtype, ANY, ANY));
	if (layout != HEC_SINUSOID_INTERLEAVED && layout != HEC_SINUSOID_HALVES)
		return fail(HEC_ERR_ARGUMENT, "sinusoidal: layout %d is not known", (int)layout);
	if (!(base > 0) || first < 0)
		return fail(HEC_ERR_ARGUMENT, "sinusoidal: base %g, first position %lld", base,
		            (long long)first);
	sinusoid s = {layout, base, first, table->shape[1]};
	return table_fill(ctx, table, sinusoid_value, &s);
}

/* Rows first … first + T of a table [P, C]. */
static hec_status rows_of(const hec_tensor *table, const hec_tensor *x, int64_t first,
                          hec_tensor *rows)
{
	HEC_TRY(check_real("position: x", x));
	HEC_TRY(CHECK_3D("position: x", x, x->dtype, ANY, ANY, ANY));
	HEC_TRY(CHECK_2D("position: table", table, x->dtype, ANY, x->shape[2]));
	int64_t T = x->shape[1], P = table->shape[0];
	if (first < 0 || first > P || T > P - first)
		return fail(HEC_ERR_SHAPE,
		            "position: %lld … +%lld asked of a table of %lld positions",
		            (long long)first, (long long)T, (long long)P);
	return hec_tensor_slice(table, 0, first, T, rows);
}

hec_status hec_position_add_fwd(hec_ctx *ctx, const hec_tensor *table, int64_t first,
                                const hec_tensor *x, hec_tensor *y)
{
	HEC_TRY(CHECK_GIVEN("position", ctx));
	hec_tensor rows;
	HEC_TRY(rows_of(table, x, first, &rows));
	HEC_TRY(check_tensor("position: y", y, x->dtype, 3, x->shape));
	return hec_tensor_add(ctx, 1, x, 1, &rows, y);
}

hec_status hec_position_add_bwd(hec_ctx *ctx, const hec_tensor *dy, int64_t first,
                                hec_tensor *dtable)
{
	HEC_TRY(CHECK_GIVEN("position", ctx));
	hec_tensor rows, one;
	HEC_TRY(rows_of(dtable, dy, first, &rows));
	for (int64_t b = 0; b < dy->shape[0]; b++) {
		HEC_TRY(hec_tensor_slice(dy, 0, b, 1, &one));
		HEC_TRY(hec_tensor_reshape(&one, 2, one.shape + 1, &one));
		HEC_TRY(hec_tensor_add(ctx, 1, &rows, 1, &one, &rows));
	}
	return HEC_OK;
}
