/* line_work.c — chunks of texts through a command's work, in order. */
#include "cli/io/line_work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/command/interrupt.h"
#include "cli/io/lines.h"
#include "cli/io/plural.h"
#include "cli/io/put.h"
#include "cli/io/say.h"

#define MOST 256

void line_work_clear(line_work *w)
{
	if (w->bar_shown)
		fputs("\r\033[K", stderr);
	w->bar_shown = false;
}

hec_status line_work_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	line_work *w = user;
	(void)phase, (void)total;
	if (w->bar) {
		fprintf(stderr, "\r%" PRId64 " line%s", w->done + done, plural(w->done + done));
		fflush(stderr);
		w->bar_shown = true;
	}
	return interrupt_status();
}

static int fail_interrupted(const line_work *w)
{
	return command_failed(w->self, "interrupted after %" PRId64 " line%s", w->done,
	                      plural(w->done));
}

bool line_work_put_error(bool json, int64_t number, const char *name, const char *reason)
{
	if (!json) {
		putchar('\n');
		return true;
	}
	reason = command_reason(reason);
	json_t *line =
		name ? json_pack("{s:s, s:I, s:s}", "error", reason, "number", (json_int_t)number,
	                         "name", name)
		     : json_pack("{s:s, s:I}", "error", reason, "number", (json_int_t)number);
	return put_json_line(line, stdout);
}

/* A text that was refused: the end, or an error in its place. */
static int refuse_one(line_work *w, const char *reason)
{
	int code = command_failed(w->self, "line %" PRId64 ": %s", w->done + 1, reason);
	if (!w->keep_going)
		return code;
	w->done++;
	w->failures++;
	if (!w->no_place && !line_work_put_error(w->json, w->done, NULL, reason))
		return command_failed(w->self, "no memory for JSON");
	return put_done();
}

/* As many as go through at once. *refused: the text behind them did not, for a reason that is told. */
static int work_on_some(line_work *w, int64_t *n, const char *const *texts, const size_t *bytes,
                        bool *refused)
{
	const int64_t before = w->done;
	int64_t failed = -1;
	int code = w->work(w->user, *n, texts, bytes, &failed);
	line_work_clear(w);
	*refused = false;
	if (code == EXIT_DONE)
		w->done += *n;
	if (code != LINE_WORK_REFUSED)
		return code;
	if (interrupt_asked())
		return fail_interrupted(w);
	char reason[1024];
	snprintf(reason, sizeof reason, "%s", w->reason ? w->reason : hec_error_message());
	w->reason = NULL;
	if (failed < 0)
		return command_failed(w->self, "%s", reason);
	/* Those before it are fine: their results come first. Some work counts what it has done by itself. */
	const int64_t done = w->done - before;
	*n = failed;
	code = EXIT_DONE;
	if (failed > 0)
		code = work_on_some(w, n, texts + done, bytes ? bytes + done : NULL, refused);
	*n += done;
	if (code != EXIT_DONE || *refused)
		return code;
	*refused = true;
	return refuse_one(w, reason);
}

static int work_on_texts(line_work *w, int64_t n, const char *const *texts, const size_t *bytes)
{
	int code = EXIT_DONE;
	for (int64_t i = 0; code == EXIT_DONE && i < n;) {
		int64_t some = n - i;
		bool refused;
		code = work_on_some(w, &some, texts + i, bytes ? bytes + i : NULL, &refused);
		i += some + refused;
	}
	return code;
}

static int work_on_input(line_work *w)
{
	const char **texts = malloc((size_t)w->most * sizeof *texts);
	size_t *bytes = malloc((size_t)w->most * sizeof *bytes);
	lines in = {.fd = STDIN_FILENO};
	if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
		say_line("hecate %s: waits for lines of text; Ctrl-D ends them", w->self->name);
	int code = texts && bytes ? EXIT_DONE : command_failed(w->self, "no memory for lines");
	while (code == EXIT_DONE) {
		int64_t n;
		lines_result r = lines_take(&in, w->most, texts, bytes, &n);
		if (r == LINES_END)
			break;
		if (r == LINES_STOPPED && !interrupt_asked())
			continue;
		if (r == LINES_STOPPED)
			code = fail_interrupted(w);
		else if (r == LINES_FAILED)
			code = command_failed(w->self, "%s", in.error);
		else
			code = work_on_texts(w, n, texts, bytes);
	}
	lines_close(&in);
	free(texts);
	free(bytes);
	return code;
}

int line_work_run(line_work *w, int operands, char **argv)
{
	if (w->most <= 0)
		w->most = MOST;
	w->bar = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	interrupt_catch();
	int code = operands > 0 ? work_on_texts(w, operands, (const char *const *)argv, NULL)
	                        : work_on_input(w);
	w->complete = code == EXIT_DONE;
	if (code == EXIT_DONE && w->failures > 0)
		code = command_failed(w->self, "%" PRId64 " of %" PRId64 " texts failed",
		                      w->failures, w->done);
	return code;
}
