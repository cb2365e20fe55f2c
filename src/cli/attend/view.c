/* view.c — from weights to hec_view. */
#include "cli/attend/view.h"

#include <stdlib.h>

#include <hecate/width.h>

#define TITLE_COLUMNS 40

static hec_status write_out(void *user, const char *text, size_t length)
{
	if (fwrite(text, 1, length, user) == length)
		return HEC_OK;
	(void)command_output_failed();
	return HEC_ERR_CANCELLED;
}

static hec_view view_of(const attended *a, bool labels)
{
	return (hec_view){.size = sizeof(hec_view),
	                  .kind = a->choice.kind,
	                  .query = labels ? (const char *const *)a->query.labels : a->query.tokens,
	                  .queries = a->query.count,
	                  .key = labels ? (const char *const *)a->key.labels : a->key.tokens,
	                  .keys = a->key.count,
	                  .sink = a->key.sink,
	                  .layers = a->choice.layers,
	                  .heads = a->choice.heads,
	                  .weights = a->weights};
}

void attend_title(const attended *a, const char *text, char title[ATTEND_TITLE])
{
	static const char *const kinds[HEC_VIEW_KINDS] = {"Self-attention", "Cross-attention",
	                                                  "Self-attention of the decoder",
	                                                  "What every head looks at"};
	char clean[TITLE_COLUMNS * 4 + 8];
	hec_text_clean(text, TITLE_COLUMNS, clean, sizeof clean);
	snprintf(title, ATTEND_TITLE, "%s: %s", kinds[a->choice.kind], clean);
}

int attend_draw(const command *self, const attended *a, hec_view_format format,
                const hec_view_options *options, FILE *out)
{
	hec_view view = view_of(a, format != HEC_VIEW_JSON);
	hec_status status = hec_view_draw(&view, format, options, write_out, out);
	if (status == HEC_ERR_CANCELLED) /* main says what is wrong with standard output */
		return EXIT_FAILED;
	return status == HEC_OK ? EXIT_DONE : command_failed(self, "%s", hec_error_message());
}

int attend_save(const command *self, const attended *a, hec_view_format format,
                const hec_view_options *options, const char *path)
{
	hec_view view = view_of(a, true);
	return hec_view_save(&view, format, options, path) == HEC_OK
	               ? EXIT_DONE
	               : command_failed(self, "%s", hec_error_message());
}
