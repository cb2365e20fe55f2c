/* translate.c — the shortest useful program: one English sentence, written in German.
 *   translate [MODEL]     a folder; models/en-de where none is given */
#include <hecate/hecate.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	hec_ctx *ctx = NULL;
	hec_translator *translator = NULL;
	hec_translations *result = NULL;
	const char *model = argc > 1 ? argv[1] : "models/en-de";
	const char *texts[] = {"The file could not be opened."};
	int failed = hec_ctx_create(NULL, &ctx) != HEC_OK || /* best kernels, all cores */
	             hec_translator_load(ctx, model, NULL, &translator) != HEC_OK ||
	             hec_translate(translator, 1, texts, NULL, NULL, &result) != HEC_OK;
	if (failed)
		fprintf(stderr, "%s\n", hec_error_message()); /* what, where, with which numbers */
	else
		puts(hec_translations_at(result, 0, 0)->text);
	hec_translations_free(result);
	hec_translator_destroy(translator);
	hec_ctx_destroy(ctx);
	return failed;
}
