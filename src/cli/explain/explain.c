/* explain.c — `hecate explain`: attention step by step, with its numbers.
 *
 *   example or file ─► problem ─► check ─► steps (through the library) ─► text or JSON */
#include "cli/command/command.h"

#include <inttypes.h>
#include <string.h>

#include <hecate/context.h>
#include <hecate/width.h>
#include <jansson.h>

#include "cli/explain/examples.h"
#include "cli/explain/file.h"
#include "cli/explain/overflow.h"
#include "cli/explain/positions.h"
#include "cli/explain/rotary.h"
#include "cli/explain/show.h"
#include "cli/io/put.h"
#include "cli/io/say.h"

#define SEED_DEFAULT 2017
#define ERROR_SIZE 1024
#define PATH_COLUMNS 60
#define COLUMNS_LEAST 60 /* narrower, the formulas and legends would not fit */

typedef struct request {
	const command *self;
	const char *name; /* of an example, or NULL */
	const char *file; /* or NULL */
	bool json, causal, backward;
	int64_t heads; /* 0: not given */
	option_seed seed;
} request;

/* Examples that are no attention: a page each. */
static const struct lesson {
	const char *name, *summary;
	hec_status (*show)(hec_ctx *ctx, const terminal *term, bool json);
} lessons[] = {{POSITIONS_NAME, POSITIONS_SUMMARY, explain_positions},
               {ROTARY_NAME, ROTARY_SUMMARY, explain_rotary}};
#define LESSONS (sizeof lessons / sizeof *lessons)

static const struct lesson *find_lesson(const char *name)
{
	for (size_t i = 0; i < LESSONS; i++)
		if (strcmp(lessons[i].name, name) == 0)
			return &lessons[i];
	return NULL;
}

/* Name and summary number i of --list; false past the end. */
static bool listed(size_t i, const char **name, const char **summary)
{
	size_t examples = 0;
	while (example_at(examples))
		examples++;
	if (i >= examples + LESSONS)
		return false;
	*name = i < examples ? example_at(i)->name : lessons[i - examples].name;
	*summary = i < examples ? example_at(i)->summary : lessons[i - examples].summary;
	return true;
}

static void list_examples(void)
{
	terminal term = terminal_open(stdout, COLUMNS_LEAST);
	text t = {0};
	const char *name, *summary;
	for (size_t i = 0; listed(i, &name, &summary); i++) {
		text_ink(&t, &term, INK_FORMULA);
		text_add(&t, "%-22s", name);
		text_ink(&t, &term, INK_PLAIN);
		text_add(&t, "  %s\n", summary);
	}
	fputs(t.data, stdout);
	text_free(&t);
}

static bool list_for_machines(void)
{
	json_t *list = json_array();
	const char *name, *summary;
	for (size_t i = 0; listed(i, &name, &summary); i++)
		json_array_append_new(list,
		                      json_pack("{s:s, s:s}", "name", name, "summary", summary));
	json_t *root = json_pack("{s:o}", "examples", list);
	bool written = put_json_value(root, JSON_INDENT(1), stdout);
	fputc('\n', stdout);
	json_decref(root);
	return written;
}

/* Computes a problem whose checks are still to come. */
static hec_status compute(hec_ctx *ctx, explain_problem *p, explain_steps *steps,
                          explain_gradient *gradient, char *error, size_t error_size)
{
	if (!explain_problem_check(p, error, error_size))
		return HEC_ERR_SHAPE;
	hec_status status = explain_compute(ctx, p, steps, error, error_size);
	if (status == HEC_OK && p->backward)
		status = explain_backward(ctx, p, gradient, error, error_size);
	return status;
}

/* For people, after the title and what is given. */
static hec_status show_computed(hec_ctx *ctx, const terminal *term, const example *e,
                                const explain_problem *p, const explain_steps *steps,
                                const explain_gradient *gradient, char *error, size_t error_size)
{
	hec_status status = HEC_OK;
	int number = explain_show_steps(term, p, steps);
	if (e && strcmp(e->name, "four-words") == 0)
		status = explain_show_overflow(ctx, term, p, steps);
	if (status != HEC_OK)
		snprintf(error, error_size, "%s", hec_error_message());
	else if (p->backward)
		explain_show_gradient(term, p, gradient, number);
	return status;
}

/* `label` says what the message is about. */
static int show_problem(const request *r, hec_ctx *ctx, const char *label, const example *e,
                        explain_problem *p)
{
	char error[ERROR_SIZE] = "";
	terminal term = terminal_open(stdout, COLUMNS_LEAST);
	/* They describe the example as it is, not what options have made of it. */
	bool changed = !e || r->heads > 0 || r->causal;
	const char *note = changed ? "" : e->note;
	explain_steps steps = {0};
	explain_gradient gradient = {.loss = 0};
	p->causal = p->causal || r->causal;
	p->backward = r->backward;
	if (!r->json) {
		explain_show_title(&term, label, changed ? "" : e->summary, changed ? "" : e->look);
		explain_show_given(&term, p);
	}
	hec_status status = compute(ctx, p, &steps, &gradient, error, sizeof error);
	if (status == HEC_OK && r->json)
		explain_show_json(e ? e->name : r->file, &steps, p->backward ? &gradient : NULL,
		                  stdout);
	else if (status == HEC_OK)
		status = show_computed(ctx, &term, e, p, &steps, &gradient, error, sizeof error);
	if (!r->json) {
		explain_show_note(&term, note);
		fflush(stdout); /* before the reason, where both go to one place */
	}
	if (status == HEC_OK && !explain_gradient_agrees(&gradient, error, sizeof error))
		status = HEC_ERR_INTERNAL;
	explain_steps_free(&steps);
	explain_gradient_free(&gradient);
	return status == HEC_OK ? EXIT_DONE : command_failed(r->self, "%s: %s", label, error);
}

static int explain_example(const request *r, hec_ctx *ctx, const example *e)
{
	explain_problem p = {.seed = r->seed.value};
	hec_status status = e->build(ctx, r->heads, &p);
	int code;
	if (status == HEC_OK) {
		code = show_problem(r, ctx, e->name, e, &p);
	} else {
		/* Memory that the example itself asked for leaves no message. */
		bool memory = status == HEC_ERR_MEMORY;
		code = command_failed(r->self, "%s: %s", e->name,
		                      memory ? "out of memory" : hec_error_message());
		if (!memory && *e->note && r->heads == 0)
			say_line("%s", e->note);
	}
	explain_problem_free(&p);
	return code;
}

static int explain_file(const request *r, hec_ctx *ctx)
{
	explain_problem p;
	char error[ERROR_SIZE], path[PATH_COLUMNS * 4 + 8];
	hec_text_clean(strcmp(r->file, "-") == 0 ? "standard input" : r->file, PATH_COLUMNS, path,
	               sizeof path);
	if (!explain_file_read(r->file, &p, error, sizeof error))
		return command_failed(r->self, "%s: %s", path, error);
	int code = show_problem(r, ctx, path, NULL, &p);
	explain_problem_free(&p);
	return code;
}

static int explain_named(const request *r, hec_ctx *ctx)
{
	const example *e = example_find(r->name);
	if (e)
		return explain_example(r, ctx, e);
	terminal term = terminal_open(stdout, COLUMNS_LEAST);
	if (find_lesson(r->name)->show(ctx, &term, r->json) != HEC_OK)
		return command_failed(r->self, "%s: %s", r->name, hec_error_message());
	return EXIT_DONE;
}

static int check_request(const request *r, int operands)
{
	if (r->file && operands > 0)
		return command_usage(r->self, "give an example or --file, not both");
	if (!r->file && operands != 1)
		return command_usage(r->self, "give one example, or --file F.json, or --list");
	if (r->file && r->heads > 0)
		return command_usage(r->self,
		                     "with --file, the number of heads stands in the file");
	if (r->file && r->seed.given)
		return command_usage(r->self, "a file has no random weights: --seed has no use");
	if (r->file)
		return PARSED;
	bool lesson = find_lesson(r->name) != NULL;
	if (!lesson && !example_find(r->name))
		return command_usage(r->self, "there is no example '%.60s'; --list shows them",
		                     r->name);
	const example *e = example_find(r->name);
	if (e && r->seed.given && !e->random)
		return command_usage(r->self, "%s has no random weights: --seed has no use",
		                     e->name);
	if (lesson && r->backward)
		return command_usage(r->self, "%s has no gradient: --backward has no use", r->name);
	if (lesson && (r->heads > 0 || r->causal || r->seed.given))
		return command_usage(r->self, "%s has no heads and no mask, and nothing random",
		                     r->name);
	return PARSED;
}

static int run_explain(const command *self, int argc, char **argv)
{
	request r = {.self = self, .seed = {SEED_DEFAULT, false}};
	bool list = false;
	const option table[] = {
		{OPTION_FLAG, "--list", NULL, "the built-in examples", &list, 0, 0},
		{OPTION_TEXT, "--file", "F.json", "your own matrices; - for standard input",
	         &r.file, 0, 0},
		{OPTION_FLAG, "--json", NULL, "every step for machines", &r.json, 0, 0},
		{OPTION_FLAG, "--causal", NULL, "a query sees itself and what came before",
	         &r.causal, 0, 0},
		{OPTION_FLAG, "--backward", NULL,
	         "the gradients, too, each step and a check by differences", &r.backward, 0, 0},
		{OPTION_WHOLE, "--heads", "N", "another number of heads for an example", &r.heads,
	         1, 4096},
		{OPTION_SEED, "--seed", "N", "of random weights (default 2017)", &r.seed, 0, 0},
		{0}};
	int operands = 0;
	int code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	if (list &&
	    (operands > 0 || r.file || r.causal || r.backward || r.heads > 0 || r.seed.given))
		return command_usage(self, "--list stands alone, or with --json");
	if (list) {
		if (r.json && !list_for_machines())
			return command_failed(self, "the list could not be made or written");
		if (!r.json)
			list_examples();
		return EXIT_DONE;
	}
	r.name = operands > 0 ? argv[0] : NULL;
	code = check_request(&r, operands);
	if (code != PARSED)
		return code;
	hec_ctx *ctx = NULL;
	if (hec_ctx_create(NULL, &ctx) != HEC_OK)
		return command_failed(self, "%s", hec_error_message());
	code = r.file ? explain_file(&r, ctx) : explain_named(&r, ctx);
	hec_ctx_destroy(ctx);
	return code;
}

const command command_explain = {
	.name = "explain",
	.summary = "Attention step by step, with its formulas, shapes and numbers",
	.usage = "explain NAME [OPTION]…\nexplain --file F.json [OPTION]…\nexplain --list",
	.about =
		"The file holds {\"X\": [T×d_model], \"memory\": [S×width], \"heads\": h, "
		"\"d_k\": …,\n"
		"\"d_v\": …, \"W_Q\": [d_model × h·d_k], \"W_K\": [d_model × h·d_k],\n"
		"\"W_V\": [d_model × h·d_v], \"W_O\": [h·d_v × d_out], \"b_Q\", \"b_K\", \"b_V\", "
		"\"b_O\",\n"
		"\"d_output\": [T×d_out, for --backward: the gradient at the output],\n"
		"\"mask\": [T×S of 0/1 or true/false, 1 is visible], \"causal\": bool,\n"
		"\"tokens\": […]}; X, heads, W_Q, W_K and W_V must be there. Causal: query t sees\n"
		"the keys up to t + S − T. Rows of memory may have another width than those of X:\n"
		"W_K and W_V then have as many rows. At most 16 MiB, 4096 heads, 2^26 numbers and\n"
		"2^31 products. With --json, null in \"masked\" is a score that is not seen "
		"(−∞).\n\n"
		"Examples:\n"
		"  hecate explain two-by-two\n"
		"  hecate explain two-by-two --backward\n"
		"  hecate explain ten-by-128 --heads 8 --seed 7\n"
		"  echo '{\"X\": [[1, 2], [3, 4]], \"heads\": 1, \"W_Q\": [[1, 0], [0, 1]],\n"
		"    \"W_K\": [[1, 1], [0, 1]], \"W_V\": [[1, 2], [3, 4]]}' | hecate explain "
		"--file -\n",
	.run = run_explain,
};
