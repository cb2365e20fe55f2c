/* random.c — random numbers by counter, and tensors filled with them. */
#include <hecate/random.h>

#include "backend/backend.h"
#include "base/random.h"
#include "base/status.h"
#include "tensor/check.h"

void hec_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	philox(counter, key, out);
}

static hec_status fill_random(hec_ctx *ctx, const random_args *args)
{
	HEC_TRY(CHECK_GIVEN("random", ctx));
	HEC_TRY(check_real("random: x", args->x));
	return BACKEND(ctx, args->x->dtype, random, args);
}

hec_status hec_random_uniform(hec_ctx *ctx, uint64_t seed, uint64_t stream, double low, double high,
                              hec_tensor *x)
{
	return fill_random(
		ctx, &(random_args){.a = low, .b = high, .seed = seed, .stream = stream, .x = x});
}

hec_status hec_random_normal(hec_ctx *ctx, uint64_t seed, uint64_t stream, double mean,
                             double stddev, hec_tensor *x)
{
	return fill_random(ctx, &(random_args){.normal = true,
	                                       .a = mean,
	                                       .b = stddev,
	                                       .seed = seed,
	                                       .stream = stream,
	                                       .x = x});
}
