/* similar.c — which of some texts are most like the first: a model's folder, then texts.
 *
 *   cc similar.c $(pkg-config --cflags --libs hecate) -o similar
 *   ./similar models/minilm 'disk full' 'no space left on device' 'permission denied' 'file not found' */
#include <stdio.h>
#include <stdlib.h>

#include <hecate/hecate.h>

#define MUST(call)                                                                                 \
	do {                                                                                       \
		if ((call) != HEC_OK) {                                                            \
			fprintf(stderr, "%s\n", hec_error_message());                              \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: similar FOLDER TEXT OTHER…\n");
		return 2;
	}
	hec_ctx *ctx;
	hec_embedder *embedder;
	hec_embeddings *vectors;
	MUST(hec_ctx_create(NULL, &ctx));
	MUST(hec_embedder_load(ctx, argv[1], NULL, &embedder));

	/* All texts in one call: they run together, and each gets the vector that it would get alone. */
	const char *const *texts = (const char *const *)argv + 2;
	const int64_t n = argc - 2;
	MUST(hec_embed(embedder, n, texts, NULL, NULL, &vectors));

	int64_t best = 1;
	double most = -2;
	for (int64_t i = 1; i < n; i++) {
		const float *other = vectors->rows + i * vectors->width;
		double cosine = hec_cosine(vectors->rows, other, vectors->width);
		printf("%.3f  %s\n", cosine, texts[i]);
		if (cosine > most) {
			most = cosine;
			best = i;
		}
	}
	printf("most like \"%s\": \"%s\"\n", texts[0], texts[best]);

	hec_embeddings_free(vectors);
	hec_embedder_destroy(embedder);
	hec_ctx_destroy(ctx);
	return 0;
}
