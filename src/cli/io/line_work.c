/* line_work.c — chunks of texts through a command's work, in order. */
#include "cli/io/line_work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/interrupt.h"
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

/* ---- which result belongs to which text ---- */

const input_text *line_work_text(const line_work *w, int64_t i)
{
	return w->texts ? &w->texts[w->done - w->first + i] : NULL;
}

static input_name name_of(const line_work *w, int64_t i)
{
	const input_text *t = line_work_text(w, i);
	return t ? t->name : (input_name){.number = w->done + i + 1};
}

int line_work_put_json(const line_work *w, int64_t i, json_t *object)
{
	const input_name name = name_of(w, i);
	return result_put(&name, object, stdout) ? EXIT_DONE
	                                         : command_failed(w->self, "no memory for JSON");
}

bool line_work_begin_json(const line_work *w, int64_t i)
{
	const input_name name = name_of(w, i);
	return result_begin(&name, stdout);
}

/* ---- texts that are refused ---- */

static bool put_error(const line_work *w, const input_name *name, const char *reason)
{
	if (w->json)
		return result_put_error(name, command_reason(w->self, reason), stdout);
	for (int64_t i = 0; i < w->places || i == 0; i++)
		putchar('\n');
	return true;
}

static int tell_refused(const line_work *w, const input_name *name, const char *reason)
{
	const input_kind kind = w->input ? input_kind_of(w->input) : INPUT_LINES;
	const bool whole = kind == INPUT_WHOLE;
	const char *file = name->file ? name->file : kind != INPUT_LINES ? "standard input" : NULL;
	if (file && (whole || name->number == 0))
		return command_failed(w->self, "%s: %s", file, reason);
	const bool of_line =
		strncmp(reason, "has more than ", 14) == 0; /* what is said of the line itself */
	return command_failed(w->self, "%s%sline %" PRId64 "%s %s", file ? file : "",
	                      file ? ": " : "", name->number, of_line ? "" : ":", reason);
}

/* A text that was refused: the end, or an error in its place. */
static int refuse_one(line_work *w, const char *reason)
{
	const input_name name = name_of(w, 0);
	int code = tell_refused(w, &name, reason);
	if (!w->keep_going)
		return code;
	w->done++;
	w->failures++;
	if (!w->no_place && !put_error(w, &name, reason))
		return command_failed(w->self, "no memory for JSON");
	return put_done();
}

/* ---- work ---- */

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
		code = work_on_some(w, n, texts + done, bytes + done, refused);
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
		code = work_on_some(w, &some, texts + i, bytes + i, &refused);
		i += some + refused;
	}
	return code;
}

/* Those that are texts, and in their places those that are none. */
static int work_on_chunk(line_work *w, const input_text *chunk, int64_t n)
{
	const char **texts = malloc((size_t)n * sizeof *texts);
	size_t *bytes = malloc((size_t)n * sizeof *bytes);
	int code = texts && bytes ? EXIT_DONE : command_failed(w->self, "no memory for texts");
	for (int64_t i = 0; code == EXIT_DONE && i < n; i++) {
		texts[i] = chunk[i].text;
		bytes[i] = chunk[i].bytes;
	}
	w->texts = chunk;
	w->first = w->done;
	for (int64_t i = 0, good; code == EXIT_DONE && i < n; i += good) {
		for (good = 0; i + good < n && !chunk[i + good].wrong;)
			good++;
		if (good > 0) {
			code = work_on_texts(w, good, texts + i, bytes + i);
		} else {
			code = refuse_one(w, chunk[i].wrong);
			good = 1;
		}
	}
	w->texts = NULL;
	free(texts);
	free(bytes);
	return code;
}

/* Whoever sits at a terminal is told what is awaited. */
static void say_awaited(const line_work *w, const input *in, int operands)
{
	static const char *const awaited[] = {"lines of text; Ctrl-D ends them",
	                                      "lines of JSON; Ctrl-D ends them",
	                                      "a text; Ctrl-D ends it"};
	const option_list *files = w->input ? &w->input->files : NULL;
	bool typed = operands == 0 && (!files || files->count == 0);
	for (size_t i = 0; files && i < files->count; i++)
		typed = typed || strcmp(files->items[i], "-") == 0;
	if (typed && isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
		say_line("hecate %s: waits for %s", w->self->name, awaited[in->kind]);
}

static int work_on_input(line_work *w, int operands, char **argv)
{
	input in;
	int code = input_open(&in, w->input, operands, argv, w->most, w->lossy)
	                   ? EXIT_DONE
	                   : command_failed(w->self, "no memory for lines");
	say_awaited(w, &in, operands);
	while (code == EXIT_DONE) {
		int64_t n;
		input_text *texts;
		lines_result r = input_take(&in, &texts, &n);
		if (r == LINES_END)
			break;
		if (r == LINES_STOPPED && !interrupt_asked())
			continue;
		if (r == LINES_STOPPED)
			code = fail_interrupted(w);
		else if (r == LINES_FAILED)
			code = command_failed(w->self, "%s", in.error);
		else
			code = work_on_chunk(w, texts, n);
	}
	input_close(&in);
	return code;
}

int line_work_run(line_work *w, int operands, char **argv)
{
	if (w->most <= 0)
		w->most = MOST;
	w->bar = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	interrupt_catch();
	int code = work_on_input(w, operands, argv);
	w->complete = code == EXIT_DONE;
	if (code == EXIT_DONE && w->failures > 0)
		code = command_failed(w->self, "%" PRId64 " of %" PRId64 " texts failed",
		                      w->failures, w->done);
	return code;
}
