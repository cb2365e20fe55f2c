/* fuzz_explain.c — any bytes as the file of `hecate explain --file --backward`: either a reason in one line, or
 * a problem that can be computed and shown; where it is small, its gradients too, and they agree. What is shown never holds a control character from the
 * file, and what machines read is JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/context.h>
#include <jansson.h>

#include "cli/explain/file.h"
#include "cli/explain/show.h"
#include "cli/explain/steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_ELEMENTS 4096 /* of a matrix: larger ones only cost time */
#define MAX_BACKWARD 64   /* the same, where each number is moved a dozen times */

static void stop(const char *why, const char *text)
{
	fprintf(stderr, "%s:\n%s\n", why, text);
	abort();
}

static void expect_printable(const char *what, const char *text, bool one_line)
{
	for (const char *c = text; *c; c++) {
		unsigned char byte = (unsigned char)*c;
		if ((byte < 0x20 && (one_line || byte != '\n')) || byte == 0x7f)
			stop(what, text);
	}
	/* C1 control characters are U+0080 … U+009F: C2 80 … C2 9F. */
	for (const char *c = text; (c = strchr(c, '\xc2')); c++) {
		if ((unsigned char)c[1] >= 0x80 && (unsigned char)c[1] < 0xa0)
			stop(what, text);
	}
}

static hec_ctx *context(void)
{
	static hec_ctx *ctx;
	hec_ctx_options options = HEC_CTX_OPTIONS_INIT;
	options.threads = 1;
	if (!ctx && hec_ctx_create(&options, &ctx) != HEC_OK)
		stop("no context", hec_error_message());
	return ctx;
}

/* gradient: or NULL */
static void show(const explain_problem *p, const explain_steps *steps,
                 const explain_gradient *gradient)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		abort();
	terminal term = terminal_open(out, 60);
	explain_show_given(&term, p);
	int number = explain_show_steps(&term, p, steps);
	if (gradient)
		explain_show_gradient(&term, p, gradient, number);
	fclose(out);
	expect_printable("shown to people", text, false);
	free(text);

	out = open_memstream(&text, &length);
	if (!out)
		abort();
	explain_show_json("fuzz", steps, gradient, out);
	fclose(out);
	json_error_t at;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &at);
	if (!root)
		stop(at.text, text);
	json_decref(root);
	free(text);
}

static bool is_small(const explain_problem *p, int64_t elements)
{
	for (int i = 0; i < GIVEN_COUNT; i++) {
		if (p->given[i].rank > 0 && hec_tensor_count(&p->given[i]) > elements)
			return false;
	}
	return p->heads <= 64;
}

static void explain(explain_problem *p)
{
	char error[1024] = "";
	explain_steps steps = {.arena = NULL};
	explain_gradient gradient = {.loss = 0};
	p->backward = is_small(p, MAX_BACKWARD);
	hec_status status = HEC_ERR_SHAPE;
	if (explain_problem_check(p, error, sizeof error))
		status = explain_compute(context(), p, &steps, error, sizeof error);
	if (status == HEC_OK && p->backward)
		status = explain_backward(context(), p, &gradient, error, sizeof error);
	if (status == HEC_OK)
		show(p, &steps, p->backward ? &gradient : NULL);
	else if (!*error)
		stop("failed without a reason", "");
	if (status == HEC_OK && !explain_gradient_agrees(&gradient, error, sizeof error))
		stop("gradients disagree", error);
	explain_steps_free(&steps);
	explain_gradient_free(&gradient);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	explain_problem p;
	char error[1024] = "";
	if (!explain_file_parse((const char *)data, size, &p, error, sizeof error)) {
		if (!*error)
			stop("refused without a reason", "");
		expect_printable("the reason", error, true);
		return 0;
	}
	if (is_small(&p, MAX_ELEMENTS))
		explain(&p);
	explain_problem_free(&p);
	return 0;
}
