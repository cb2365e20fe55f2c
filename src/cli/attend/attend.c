/* attend.c — `hecate attend`: which tokens each head looks at, in the terminal, as SVG, as a page, or
 * for machines. */
#include "cli/command/command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/context.h>

#include "cli/attend/view.h"
#include "cli/model/load.h"
#include "cli/model/path.h"
#include "cli/io/terminal.h"

#define ERROR_SIZE 1024

typedef struct request {
	const command *self;
	const char *model, *kind, *colour, *svg, *html, *token;
	int64_t layer, head, top; /* −1: all */
	int64_t write;            /* tokens that a decoder alone writes on */
	bool json, lossy;
	option_list overrides;
	const char *text, *target;
} request;

static hec_view_colour choose_colour(const char *asked, const terminal *term)
{
	if (strcmp(asked, "24") == 0)
		return HEC_VIEW_24BIT;
	if (strcmp(asked, "256") == 0)
		return HEC_VIEW_256;
	return strcmp(asked, "none") == 0 ? HEC_VIEW_PLAIN : term->colour;
}

/* The token that is looked at, as asked for; one that is asked for by its number also as it is written. */
static void name_token(const request *r, const attended *a, char name[ATTEND_TITLE])
{
	if (r->token[0] == '#') {
		const char *label = a->key.labels[strtoll(r->token + 1, NULL, 10)];
		snprintf(name, ATTEND_TITLE, "%s (%s)", label + (*label == ' '), r->token);
	} else {
		snprintf(name, ATTEND_TITLE, "%s", r->token);
	}
}

static int show_view(const request *r, const attended *a)
{
	terminal term = terminal_open(stdout, 1);
	char title[ATTEND_TITLE], token[ATTEND_TITLE];
	const bool heads = a->choice.kind == HEC_VIEW_HEADS;
	if (heads)
		name_token(r, a, token);
	attend_title(a, heads ? token : r->text, title);
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
	o.layer = heads ? -1 : r->layer;
	o.head = heads ? -1 : r->head;
	o.top = r->top;
	o.colour = choose_colour(r->colour, &term);
	o.columns = term.columns;
	o.title = title;
	int code = EXIT_DONE;
	if (r->svg)
		code = attend_save(r->self, a, HEC_VIEW_SVG, &o, r->svg);
	if (code == EXIT_DONE && r->html)
		code = attend_save(r->self, a, HEC_VIEW_HTML, &o, r->html);
	if (code == EXIT_DONE && r->json)
		code = attend_draw(r->self, a, HEC_VIEW_JSON, &o, stdout);
	else if (code == EXIT_DONE && !r->svg && !r->html)
		code = attend_draw(r->self, a, HEC_VIEW_TEXT, &o, stdout);
	return code;
}

static int check_choice(const request *r, const char *name, int64_t chosen, int64_t count)
{
	if (chosen < count)
		return EXIT_DONE;
	return command_usage(r->self, "%s %" PRId64 ": this model has %" PRId64 ", 0 to %" PRId64,
	                     name, chosen, count, count - 1);
}

static int attend_text(const request *r, attend_request *asked)
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
	if (r->token && !attend_pick(&a, r->text, r->token, error, sizeof error))
		code = command_usage(r->self, "%s", error);
	else
		code = show_view(r, &a);
	attended_free(&a);
	return code;
}

typedef struct opened {
	hec_ctx *ctx;
	hec_model *model;
	hec_tokenizer *tokenizer, *target_tokenizer; /* the second where it has one of its own */
	hec_translator *translator;
	hec_generator *generator;
} opened;

/* A model that writes its own target comes with its translator or generator, any other alone: each is read
 * once. */
static hec_status open_folder(const request *r, const char *dir, opened *o)
{
	hec_model_config config;
	hec_status status = hec_ctx_create(NULL, &o->ctx);
	if (status == HEC_OK)
		status = hec_model_config_read(dir, NULL, &config);
	if (status != HEC_OK)
		return status;
	const bool encoder = config.encoder.layers > 0, decoder = config.decoder.layers > 0;
	const hec_model_load_options load = model_load_options(&r->overrides);
	const bool looks_at_self = r->kind && strcmp(r->kind, "self") == 0;
	if (encoder && decoder && !r->target && !looks_at_self)
		return hec_translator_load(o->ctx, dir, &load, &o->translator);
	if (!encoder && r->write > 0)
		return hec_generator_load(o->ctx, dir, &load, &o->generator);
	status = hec_tokenizer_load(dir, &o->tokenizer);
	if (status == HEC_OK && encoder && decoder)
		status = hec_tokenizer_load_target(dir, &o->target_tokenizer);
	return status == HEC_OK ? hec_model_load(o->ctx, dir, &load, &o->model) : status;
}

static int attend_opened(const request *r, const opened *o)
{
	attend_request asked = {.ctx = o->ctx,
	                        .translator = o->translator,
	                        .generator = o->generator,
	                        .write = r->write,
	                        .lossy = r->lossy,
	                        .model = o->model,
	                        .tokenizer = o->tokenizer,
	                        .target_tokenizer = o->target_tokenizer,
	                        .text = r->text,
	                        .target = r->target};
	if (o->translator) {
		asked.model = hec_translator_model(o->translator);
		asked.tokenizer = hec_translator_tokenizer(o->translator);
	} else if (o->generator) {
		asked.model = hec_generator_model(o->generator);
		asked.tokenizer = hec_generator_tokenizer(o->generator);
	}
	model_load_tell(r->self, &r->overrides, asked.model);
	if (r->write > 0 && !o->generator)
		return command_usage(r->self, "--write is for a decoder alone: this model has an "
		                              "encoder");
	if (!asked.tokenizer)
		return command_failed(r->self, "the model's folder has no tokenizer");
	if (hec_model_config_of(asked.model)->front.features > 0)
		return command_failed(r->self, "this model hears: hecate transcribe --attend");
	return attend_text(r, &asked);
}

static int attend_folder(const request *r)
{
	char dir[MODEL_PATH_MOST];
	int code = model_folder(r->self, r->model, dir);
	if (code != EXIT_DONE)
		return code;
	opened o = {0};
	code = open_folder(r, dir, &o) == HEC_OK
	               ? attend_opened(r, &o)
	               : command_failed(r->self, "%s", hec_error_message());
	hec_generator_destroy(o.generator);
	hec_translator_destroy(o.translator);
	hec_tokenizer_destroy(o.tokenizer);
	hec_tokenizer_destroy(o.target_tokenizer);
	hec_model_destroy(o.model);
	hec_ctx_destroy(o.ctx);
	return code;
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

static int run_attend(const command *self, int argc, char **argv)
{
	static const char *const kinds[] = {"self", "cross", "decoder", NULL};
	static const char *const colours[] = {"auto", "24", "256", "none", NULL};
	request r = {.self = self, .colour = "auto", .layer = -1, .head = -1};
	const option table[] = {
		OPTION_MODEL(r.model, "the model (default: as `hecate translate`)"),
		{OPTION_WHOLE, "--layer", "N", "one layer, counted from 0", &r.layer, 0, 1 << 20},
		{OPTION_WHOLE, "--head", "N", "one head, counted from 0", &r.head, 0, 1 << 20},
		{OPTION_TEXT, "--kind", "K", "self, cross or decoder", &r.kind, 0, 0},
		{OPTION_TEXT, "--token", "T",
	         "one token of TEXT, in every head: a word, the second such word:2, or its #number",
	         &r.token, 0, 0},
		{OPTION_WHOLE, "--write", "N",
	         "a decoder alone: first let it write N tokens on from TEXT", &r.write, 1, 1 << 20},
		{OPTION_WHOLE, "--top", "K", "also the K keys that each token looks at most",
	         &r.top, 0, HEC_VIEW_MAX_TOP},
		OPTION_LOSSY(r.lossy),
		OPTION_OVERRIDE(r.overrides),
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
	if (r.token && (r.layer >= 0 || r.head >= 0))
		return command_usage(self, "--token shows every head: no --layer or --head");
	if (r.token && !r.kind)
		r.kind = "self";
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
	"--head together draw one head large, with its numbers; --token shows what one token looks "
	"at,\n"
	"down every head.\n\n"
	"Heads with nothing to look for rest on the first token and on separators: those are left\n"
	"out of the colour scale, and the legend says so.\n\n"
	"Examples: hecate attend \"The cat sat on the mat.\" --layer 2 --top 3\n"
	"          hecate attend -m DIR \"The animal was tired, so it slept.\" --token it\n",
	run_attend,
};
