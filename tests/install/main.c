/* main.c — a program outside the tree: two queries look at two keys. */
#include <hecate/hecate.h>

#include <stdio.h>

int main(void)
{
	float x[] = {1, 0, 0, 1}, y[4];
	hec_tensor q = hec_tensor_4d(x, HEC_F32, 1, 2, 1, 2), out = q;
	out.data = y;
	hec_ctx *ctx = NULL;
	if (hec_ctx_create(NULL, &ctx) ||
	    hec_attention_fwd(ctx, NULL, &q, &q, &q, NULL, &out, NULL))
		return fprintf(stderr, "%s\n", hec_error_message()), 1;
	printf("%s: %.4f %.4f %.4f %.4f\n", hec_version(), y[0], y[1], y[2], y[3]);
	hec_ctx_destroy(ctx);
	return 0;
}
