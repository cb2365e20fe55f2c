/* encoder_layer.c — an encoder layer with its parameters, run once and differentiated once.
 *
 *   cc encoder_layer.c $(pkg-config --cflags --libs hecate) -o encoder_layer && ./encoder_layer */
#include <stdio.h>
#include <stdlib.h>

#include <hecate/hecate.h>

enum { B = 2, T = 6, C = 32 };

#define MUST(call)                                                                                 \
	do {                                                                                       \
		if ((call) != HEC_OK) {                                                            \
			fprintf(stderr, "%s\n", hec_error_message());                              \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static hec_status print_param(void *gradient_of, const hec_param *p)
{
	double square = 0;
	hec_status status = hec_sum_squares(gradient_of, p->tensor, &square);
	printf("  %-16s [%lld%s%.0lld]  |gradient|² %.4g\n", p->name, (long long)p->shape[0],
	       p->rank > 1 ? ", " : "", p->rank > 1 ? (long long)p->shape[1] : 0LL, square);
	return status;
}

int main(void)
{
	hec_ctx *ctx;
	hec_arena *params, *work; /* what stays, and what a step needs */
	MUST(hec_ctx_create(NULL, &ctx));
	MUST(hec_arena_create(4 << 20, &params));
	MUST(hec_arena_create(4 << 20, &work));

	hec_encoder_layer_config config = {
		.size = sizeof config,
		.attention = {.size = sizeof config.attention,
	                      .width = C,
	                      .heads = 4,
	                      .dropout_weights = 0.1,
	                      .dropout_out = 0.1},
		.feed_forward = {.size = sizeof config.feed_forward,
	                         .width = C,
	                         .hidden = 4 * C,
	                         .act = HEC_ACT_GELU,
	                         .dropout_out = 0.1},
		.norm_first = true,
	};
	hec_encoder_layer layer, grad;
	MUST(hec_encoder_layer_setup(&config, &layer));
	MUST(hec_encoder_layer_setup(&config, &grad));
	hec_param_alloc alloc = {
		.size = sizeof alloc, .ctx = ctx, .arena = params, .dtype = HEC_F32, .seed = 7};
	MUST(hec_encoder_layer_params(&layer, "", hec_param_allocate, &alloc));
	MUST(hec_encoder_layer_params(&layer, "", hec_param_initialise, &alloc));
	MUST(hec_encoder_layer_params(&grad, "", hec_param_allocate, &alloc)); /* zeros */

	hec_tensor x, y, dy, dx;
	const int64_t shape[3] = {B, T, C};
	MUST(hec_arena_tensor(params, HEC_F32, 3, shape, &x));
	MUST(hec_arena_tensor(params, HEC_F32, 3, shape, &y));
	MUST(hec_arena_tensor(params, HEC_F32, 3, shape, &dy));
	MUST(hec_arena_tensor(params, HEC_F32, 3, shape, &dx));
	MUST(hec_random_normal(ctx, 7, 1000, 0, 1, &x));
	MUST(hec_tensor_fill(ctx, 1, &dy));
	MUST(hec_tensor_fill(ctx, 0, &dx));

	/* Forward keeps what backward needs in the arena; the dropout masks are made again. */
	hec_dropout_key key = {.seed = 7, .step = 1};
	hec_encoder_layer_kept *kept;
	MUST(hec_encoder_layer_fwd(ctx, work, &layer, &x, NULL, &key, &y, NULL, &kept));
	printf("forward kept %zu bytes\n", hec_arena_used(work));
	MUST(hec_encoder_layer_bwd(ctx, work, &layer, &dy, &x, NULL, &key, kept, &dx, NULL, &grad));
	hec_arena_rewind(work, 0);
	MUST(hec_encoder_layer_params(&grad, "", print_param, ctx));

	hec_arena_destroy(work);
	hec_arena_destroy(params);
	hec_ctx_destroy(ctx);
	return 0;
}
