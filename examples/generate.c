/* generate.c — what a model writes after a text, as it writes it: a model's folder, a text, how many tokens.
 *
 *   cc generate.c $(pkg-config --cflags --libs hecate) -o generate
 *   ./generate models/smollm2 'Once upon a time' 40 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/hecate.h>

#define MUST(call)                                                                                 \
	do {                                                                                       \
		if ((call) != HEC_OK) {                                                            \
			fprintf(stderr, "%s\n", hec_error_message());                              \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Called for each piece of whole characters. */
static hec_status print(void *user, int64_t prompt, const char *text, size_t bytes)
{
	(void)prompt;
	fwrite(text, 1, bytes, user);
	fflush(user);
	return HEC_OK; /* anything else would end it here */
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: generate FOLDER TEXT TOKENS\n");
		return 2;
	}
	hec_ctx *ctx;
	hec_generator *generator;
	hec_generations *written;
	MUST(hec_ctx_create(NULL, &ctx));
	MUST(hec_generator_load(ctx, argv[1], NULL, &generator));

	/* As the folder says, but for the length, and greedily: with one beam text can come as it is written. */
	hec_decode_options decode;
	hec_generator_defaults(generator, &decode, sizeof decode);
	decode.max_tokens = strtoll(argv[3], NULL, 10);
	decode.beams = decode.nbest = 1;

	hec_generate_options options = HEC_GENERATE_OPTIONS_INIT;
	options.decode = &decode;
	options.text = print;
	options.user = stdout;
	const hec_prompt prompt = {.text = argv[2], .bytes = strlen(argv[2])};
	fputs(argv[2], stdout);
	MUST(hec_generate(generator, 1, &prompt, &options, &written));
	const hec_generation *best = hec_generations_at(written, 0, 0);
	printf("\n%lld tokens, log p %.3f\n", (long long)best->n, best->score);

	hec_generations_free(written);
	hec_generator_destroy(generator);
	hec_ctx_destroy(ctx);
	return 0;
}
