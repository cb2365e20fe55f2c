/* attend.c — `hecate attend`: which tokens each head looks at, in the terminal, as SVG, as a page, or
 * for machines. */
#include "command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/context.h>
#include <hecate/width.h>

#include "attend_model.h"
#include "model_path.h"
#include "terminal.h"

#define ERROR_SIZE 1024
#define TITLE_COLUMNS 70

typedef struct request {
	const command *self;
	const char *model, *kind, *colour, *svg, *html;
	int64_t layer, head, top; /* −1: all */
	bool json;
	const char *text, *target;
} request;

static int write_out(void *user, const char *text, size_t length)
{
	return fwrite(text, 1, length, user) != length;
}

static hec_view_colour choose_colour(const char *asked, const terminal *term)
{
	static const hec_view_colour of_terminal[] = {[COLOUR_NONE] = HEC_VIEW_PLAIN,
	                                              [COLOUR_256] = HEC_VIEW_256,
	                                              [COLOUR_24BIT] = HEC_VIEW_24BIT};
	if (strcmp(asked, "24") == 0)
		return HEC_VIEW_24BIT;
	if (strcmp(asked, "256") == 0)
		return HEC_VIEW_256;
	return strcmp(asked, "none") == 0 ? HEC_VIEW_PLAIN : of_terminal[term->colour];
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

/* "text → target", short. */
static void make_title(const request *r, const attended *a, char *out, size_t size)
{
	static const char *const kinds[] = {"Self-attention", "Cross-attention",
	                                    "Self-attention of the decoder"};
	char clean[TITLE_COLUMNS * 4 + 8];
	hec_text_clean(r->text, TITLE_COLUMNS - 30, clean, sizeof clean);
	snprintf(out, size, "%s: %s", kinds[a->choice.kind], clean);
}

static int show(const request *r, const attended *a)
{
	hec_view for_people = view_of(a, true), for_machines = view_of(a, false);
	terminal term = terminal_open(stdout);
	char title[TITLE_COLUMNS * 4 + 64];
	make_title(r, a, title, sizeof title);
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
	o.layer = r->layer;
	o.head = r->head;
	o.top = r->top;
	o.colour = choose_colour(r->colour, &term);
	o.columns = term.columns;
	o.title = title;
	hec_status status = HEC_OK;
	if (r->svg)
		status = hec_view_save(&for_people, HEC_VIEW_SVG, &o, r->svg);
	if (status == HEC_OK && r->html)
		status = hec_view_save(&for_people, HEC_VIEW_HTML, &o, r->html);
	if (status == HEC_OK && r->json)
		status = hec_view_draw(&for_machines, HEC_VIEW_JSON, &o, write_out, stdout);
	else if (status == HEC_OK && !r->svg && !r->html)
		status = hec_view_draw(&for_people, HEC_VIEW_TEXT, &o, write_out, stdout);
	if (status == HEC_ERR_CANCELLED) /* main says what is wrong with standard output */
		return EXIT_FAILED;
	return status == HEC_OK ? EXIT_DONE : command_failed(r->self, "%s", hec_error_message());
}

static int check_choice(const request *r, const char *name, int64_t chosen, int64_t count)
{
	if (chosen < count)
		return EXIT_DONE;
	return command_usage(r->self, "%s %" PRId64 ": this model has %" PRId64 ", 0 to %" PRId64,
	                     name, chosen, count, count - 1);
}

static int attend(const request *r, attend_request *asked)
{
	char error[ERROR_SIZE] = "";
	if (!attend_choose(asked->model, r->kind, &asked->choice, error, sizeof error))
		return command_usage(r->self, "%s", error);
	int code = check_choice(r, "--layer", r->layer, asked->choice.layers);
	if (code == EXIT_DONE)
		code = check_choice(r, "--head", r->head, asked->choice.heads);
	if (code != EXIT_DONE)
		return code;
	bool usage = false;
	attended a;
	if (attend_compute(asked, &a, &usage, error, sizeof error) != HEC_OK)
		return usage ? command_usage(r->self, "%s", error)
		             : command_failed(r->self, "%s", error);
	code = show(r, &a);
	attended_free(&a);
	return code;
}

/* A model that writes its own target comes with its translator, any other alone: each is read once. */
static int attend_folder(const request *r)
{
	char dir[MODEL_PATH_MOST];
	int code = model_path(r->self, r->model, dir);
	if (code != EXIT_DONE)
		return code;
	hec_ctx *ctx = NULL;
	hec_model *model = NULL;
	hec_tokenizer *tokenizer = NULL;
	hec_translator *translator = NULL;
	hec_model_config config;
	hec_status status = hec_ctx_create(NULL, &ctx);
	if (status == HEC_OK)
		status = hec_model_config_read(dir, &config);
	bool writes = status == HEC_OK && !r->target &&
	              (!r->kind || strcmp(r->kind, "self") != 0) && config.encoder.layers > 0 &&
	              config.decoder.layers > 0;
	if (status == HEC_OK && writes)
		status = hec_translator_load(ctx, dir, &translator);
	if (status == HEC_OK && !writes)
		status = hec_tokenizer_load(dir, &tokenizer);
	if (status == HEC_OK && !writes)
		status = hec_model_load(ctx, dir, &model);
	attend_request asked = {.ctx = ctx,
	                        .translator = translator,
	                        .model = translator ? hec_translator_model(translator) : model,
	                        .tokenizer = translator ? hec_translator_tokenizer(translator)
	                                                : tokenizer,
	                        .text = r->text,
	                        .target = r->target};
	code = status == HEC_OK ? attend(r, &asked)
	                        : command_failed(r->self, "%s", hec_error_message());
	hec_translator_destroy(translator);
	hec_tokenizer_destroy(tokenizer);
	hec_model_destroy(model);
	hec_ctx_destroy(ctx);
	return code;
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

static int run(const command *self, int argc, char **argv)
{
	static const char *const kinds[] = {"self", "cross", "decoder", NULL};
	static const char *const colours[] = {"auto", "24", "256", "none", NULL};
	request r = {.self = self, .colour = "auto", .layer = -1, .head = -1};
	const option table[] = {
		{OPTION_TEXT, "-m", "DIR", "the model (default: as `hecate translate`)", &r.model,
	         0, 0},
		{OPTION_WHOLE, "--layer", "N", "one layer, counted from 0", &r.layer, 0, 1 << 20},
		{OPTION_WHOLE, "--head", "N", "one head, counted from 0", &r.head, 0, 1 << 20},
		{OPTION_TEXT, "--kind", "K", "self, cross or decoder", &r.kind, 0, 0},
		{OPTION_WHOLE, "--top", "K", "also the K keys that each token looks at most",
	         &r.top, 0, HEC_VIEW_TOP_MOST},
		{OPTION_TEXT, "--color", "C", "auto, 24 (bits), 256 or none", &r.colour, 0, 0},
		{OPTION_TEXT, "--svg", "F", "a picture, into the file F", &r.svg, 0, 0},
		{OPTION_TEXT, "--html", "F", "a page to look around in, into the file F", &r.html,
	         0, 0},
		{OPTION_FLAG, "--json", NULL, "all weights for machines", &r.json, 0, 0},
		{0},
	};
	int operands = 0, code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	if (operands < 1 || operands > 2)
		return command_usage(self, "give a text, and at most a target beside it");
	if (r.kind && !is_one_of(r.kind, kinds))
		return command_usage(self, "--kind is self, cross or decoder, not '%.40s'", r.kind);
	if (!is_one_of(r.colour, colours))
		return command_usage(self, "--color is auto, 24, 256 or none, not '%.40s'",
		                     r.colour);
	r.text = argv[0];
	r.target = operands > 1 ? argv[1] : NULL;
	return attend_folder(&r);
}

const command command_attend = {
	"attend",
	"Which tokens each head of a model looks at",
	"attend [-m DIR] TEXT [TARGET] [OPTION]…",
	"A model with an encoder and a decoder shows its cross-attention: down what it writes,\n"
	"across what it reads. It writes TARGET, or without one its own translation of TEXT. "
	"Others\n"
	"show their self-attention; an encoder alone takes TEXT and TARGET as a pair. --layer and\n"
	"--head together draw one head large, with its numbers.\n\n"
	"Heads with nothing to look for rest on the first token and on separators: those are left\n"
	"out of the colour scale, and the legend says so.\n\n"
	"Example: hecate attend \"The cat sat on the mat.\" --layer 2 --top 3\n",
	run,
};
