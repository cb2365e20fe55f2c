/* attention.c — one attention call: two sequences of different lengths, causal, and its weights.
 *
 *   cc attention.c $(pkg-config --cflags --libs hecate) -o attention && ./attention */
#include <stdio.h>
#include <stdlib.h>

#include <hecate/hecate.h>

enum { B = 2, T = 4, H = 2, D = 8 };

#define MUST(call)                                                                                 \
	do {                                                                                       \
		if ((call) != HEC_OK) {                                                            \
			fprintf(stderr, "%s\n", hec_error_message());                              \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

int main(void)
{
	static float q[B * T * H * D], k[B * T * H * D], v[B * T * H * D], o[B * T * H * D];
	static float lse[B * H * T], weights[B * H * T * T];
	hec_ctx *ctx;
	MUST(hec_ctx_create(NULL, &ctx));

	/* Tensors describe memory that is yours. [B, T, H, D]: batch, time, head, head size. */
	hec_tensor tq = hec_tensor_4d(q, HEC_F32, B, T, H, D);
	hec_tensor tk = hec_tensor_4d(k, HEC_F32, B, T, H, D);
	hec_tensor tv = hec_tensor_4d(v, HEC_F32, B, T, H, D);
	hec_tensor to = hec_tensor_4d(o, HEC_F32, B, T, H, D);
	hec_tensor tl = hec_tensor_3d(lse, HEC_F32, B, H, T);
	hec_tensor tw = hec_tensor_4d(weights, HEC_F32, B, H, T, T);
	MUST(hec_random_normal(ctx, 1, 0, 0, 1, &tq));
	MUST(hec_random_normal(ctx, 1, 1, 0, 1, &tk));
	MUST(hec_random_normal(ctx, 1, 2, 0, 1, &tv));

	/* The second sequence has three tokens only; no token looks ahead. */
	const int32_t length[B] = {4, 3};
	hec_mask mask = HEC_MASK_INIT;
	mask.causal = true;
	mask.query_length = length;
	mask.key_length = length;

	/* One pass: no matrix of T×T is stored. The weights are made again where you ask for them. */
	MUST(hec_attention_fwd(ctx, NULL, &tq, &tk, &tv, &mask, &to, &tl));
	MUST(hec_attention_weights(ctx, NULL, NULL, &tq, &tk, &mask, &tl, &tw));

	for (int b = 0; b < B; b++) {
		for (int h = 0; h < H; h++) {
			printf("sequence %d, head %d: who looks at whom\n", b, h);
			for (int t = 0; t < T; t++) {
				for (int s = 0; s < T; s++)
					printf("  %.3f",
					       (double)weights[((b * H + h) * T + t) * T + s]);
				printf("\n");
			}
		}
	}
	hec_ctx_destroy(ctx);
	return 0;
}
