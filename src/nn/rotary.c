/* rotary.c — rotary positions: the pair (x_i, x_j) becomes (x_i·cos − x_j·sin, x_i·sin + x_j·cos).
 * A rotation's gradient is the rotation back, so one operation serves both directions. */
#include <math.h>

#include <hecate/position.h>

#include "backend/backend.h"
#include "base/status.h"
#include "nn/rotary.h"
#include "nn/table.h"
#include "tensor/check.h"

#define PI 3.14159265358979323846

typedef struct angles {
	double base;
	int64_t pairs;
	const hec_rotary_scaling *scaling;
	double low, high; /* YARN: pairs where the ramp begins and ends */
} angles;

static double clamp01(double x)
{
	return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* How far pair i turns from one position to the next. */
static double frequency(const angles *a, int64_t i)
{
	const hec_rotary_scaling *s = a->scaling;
	const double plain = pow(a->base, -(double)i / (double)a->pairs);
	if (s->kind == HEC_ROTARY_LINEAR)
		return plain / s->factor;
	if (s->kind == HEC_ROTARY_LLAMA3) {
		/* 1 where a pair turns often enough within the original length to be left alone. */
		double turns = (double)s->original * plain / (2 * PI);
		double keep = clamp01((turns - s->low) / (s->high - s->low));
		return plain * (keep + (1 - keep) / s->factor);
	}
	if (s->kind == HEC_ROTARY_LONG)
		return plain / (s->stretched ? s->long_factor : s->short_factor)[i];
	if (s->kind == HEC_ROTARY_YARN) {
		double keep = 1 - clamp01(((double)i - a->low) / (a->high - a->low));
		return plain * (keep + (1 - keep) / s->factor);
	}
	return plain;
}

/* The pair (as a real number) that turns so many times within the original length. */
static double pair_of(const angles *a, double turns)
{
	return (double)a->pairs * log((double)a->scaling->original / (turns * 2 * PI)) /
	       log(a->base);
}

static void set_ramp(angles *a)
{
	const hec_rotary_scaling *s = a->scaling;
	if (s->kind != HEC_ROTARY_YARN)
		return;
	const double last = (double)(2 * a->pairs - 1);
	double low = pair_of(a, s->fast), high = pair_of(a, s->slow);
	low = s->exact ? low : floor(low);
	high = s->exact ? high : ceil(high);
	a->low = low < 0 ? 0 : low;
	a->high = high > last ? last : high;
	if (a->low == a->high)
		a->high += 0.001; /* a step, not a division by zero */
}

static double size_of(const angles *a)
{
	const hec_rotary_scaling *s = a->scaling;
	return s->kind == HEC_ROTARY_YARN || s->kind == HEC_ROTARY_LONG ? s->attention_factor : 1;
}

static double cosine_value(const void *user, int64_t t, int64_t i)
{
	return size_of(user) * cos((double)t * frequency(user, i));
}

static double sine_value(const void *user, int64_t t, int64_t i)
{
	return size_of(user) * sin((double)t * frequency(user, i));
}

static hec_status wrong_scaling(const char *name, double value)
{
	return fail(HEC_ERR_ARGUMENT, "rotary: scaling with %s %g", name, value);
}

static hec_status check_factors(const hec_rotary_scaling *s)
{
	if (s->factors < 1 || s->factors > HEC_ROTARY_FACTORS)
		return fail(HEC_ERR_ARGUMENT, "rotary: scaling with %lld factors, not 1 … %d",
		            (long long)s->factors, HEC_ROTARY_FACTORS);
	for (int64_t i = 0; i < 2 * s->factors; i++) {
		double f = (i % 2 ? s->long_factor : s->short_factor)[i / 2];
		if (!(f > 0) || !isfinite(f))
			return wrong_scaling(i % 2 ? "a long factor" : "a short factor", f);
	}
	return HEC_OK;
}

hec_status rotary_check_scaling(const hec_rotary_scaling *s, int64_t pairs)
{
	if ((unsigned)s->kind > HEC_ROTARY_LONG)
		return fail(HEC_ERR_ARGUMENT, "rotary: scaling %d is not known", (int)s->kind);
	if (s->kind == HEC_ROTARY_PLAIN)
		return HEC_OK;
	if (!(s->factor > 0) || !isfinite(s->factor))
		return wrong_scaling("factor", s->factor);
	if (s->kind == HEC_ROTARY_LINEAR || s->kind == HEC_ROTARY_DYNAMIC)
		return HEC_OK;
	if (s->original < 1)
		return wrong_scaling("original positions", (double)s->original);
	if (s->kind == HEC_ROTARY_LLAMA3)
		return s->low > 0 && s->high > s->low && isfinite(s->high)
		               ? HEC_OK
		               : wrong_scaling("a ramp that ends at", s->high);
	if (s->kind == HEC_ROTARY_LONG) {
		HEC_TRY(check_factors(s));
		if (s->factors != pairs)
			return fail(
				HEC_ERR_ARGUMENT,
				"rotary: scaling with %lld factors for the %lld pairs of a head",
				(long long)s->factors, (long long)pairs);
	} else if (!(s->slow > 0) || !(s->fast > s->slow) || !isfinite(s->fast))
		return wrong_scaling("a ramp that begins at", s->fast);
	if (!(s->attention_factor > 0) || !isfinite(s->attention_factor))
		return wrong_scaling("attention factor", s->attention_factor);
	return HEC_OK;
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
	const hec_rotary_scaling plain = {.kind = HEC_ROTARY_PLAIN};
	return hec_rotary_fill_scaled(ctx, base, &plain, rotary);
}

hec_status hec_rotary_fill_scaled(hec_ctx *ctx, double base, const hec_rotary_scaling *scaling,
                                  hec_rotary *rotary)
{
	HEC_TRY(CHECK_GIVEN("rotary", ctx));
	HEC_TRY(CHECK_GIVEN("rotary", scaling));
	HEC_TRY(check_tables(rotary));
	if (!(base > 0))
		return fail(HEC_ERR_ARGUMENT, "rotary: base %g", base);
	HEC_TRY(rotary_check_scaling(scaling, rotary->cosine.shape[1]));
	angles a = {.base = base, .pairs = rotary->cosine.shape[1], .scaling = scaling};
	set_ramp(&a);
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
