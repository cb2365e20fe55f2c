/* translate.c — `hecate translate`: lines in, lines out, in order. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hecate/translate.h>
#include <hecate/width.h>
#include <jansson.h>

#include "command.h"
#include "lines.h"
#include "model_path.h"

#define BATCH 16
#define BATCH_MOST 4096
/* Lines that are sorted by length together: some that are long and some that are short. */
#define CHUNK_BATCHES 16
#define CHUNK_LEAST 256

typedef struct settings {
	const char *model;
	int64_t beam, nbest, max_tokens, batch, threads;
	double length_penalty;
	bool json, lossy, truncate;
} settings;

typedef struct translating {
	const command *self;
	settings s;
	hec_translator *translator;
	hec_decode_options decode;
	hec_translate_options options;
	int64_t lines;       /* translated before this call */
	bool bar, bar_shown; /* on a terminal that shows nothing else */
} translating;

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

/* A second one ends the program at once. */
static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND};
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* ---- results ---- */

/* One line: a line end within a translation is a space. */
static void put_text(const char *text, FILE *out)
{
	for (; *text; text++)
		fputc(*text == '\n' || *text == '\r' ? ' ' : *text, out);
	fputc('\n', out);
}

/* What a model writes shall not steer the terminal. */
static void put_text_clean(const char *text, FILE *out)
{
	size_t length = strlen(text), room = 3 * length + 4;
	char *clean = malloc(room);
	if (clean)
		hec_text_clean(text, length < INT_MAX / 2 ? 2 * (int)length : INT_MAX, clean, room);
	put_text(clean ? clean : "", out);
	free(clean);
}

static json_t *tokens_json(const hec_tokenizer *tokenizer, const hec_translation *t)
{
	json_t *tokens = json_array();
	for (int64_t i = 0; i < t->n; i++) {
		const char *token = hec_tokenizer_token(tokenizer, t->ids[i]);
		json_array_append_new(tokens, json_string(token ? token : ""));
	}
	return tokens;
}

static bool put_json(const translating *w, const hec_translation *best, int64_t nbest, FILE *out)
{
	json_t *line = json_object(), *all = json_array();
	for (int64_t k = 0; k < nbest; k++) {
		json_t *one = json_object();
		json_object_set_new(one, "text", json_string(best[k].text));
		json_object_set_new(one, "score", json_real(best[k].score));
		json_array_append_new(all, one);
	}
	json_object_set_new(line, "text", json_string(best->text));
	json_object_set_new(line, "score", json_real(best->score));
	json_object_set_new(line, "tokens",
	                    tokens_json(hec_translator_tokenizer(w->translator), best));
	bool complete = json_object_set_new(line, "nbest", all) == 0 && json_object_size(line) == 4;
	/* Nine digits bring a float back exactly. */
	if (complete)
		complete = json_dumpf(line, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0;
	fputc('\n', out);
	json_decref(line);
	return complete;
}

static int put_all(const translating *w, const hec_translations *t)
{
	bool screen = isatty(STDOUT_FILENO);
	for (int64_t i = 0; i < t->texts; i++) {
		const hec_translation *best = &t->items[i * t->nbest];
		if (w->s.json) {
			if (!put_json(w, best, t->nbest, stdout))
				return command_failed(w->self, "no memory for JSON");
			continue;
		}
		for (int64_t k = 0; k < t->nbest; k++)
			(screen ? put_text_clean : put_text)(best[k].text, stdout);
	}
	/* Whoever waits for an answer gets it; main.c looks at whether it could be written. */
	fflush(stdout);
	return ferror(stdout) ? EXIT_FAILED : EXIT_DONE;
}

/* ---- work ---- */

static void clear_bar(translating *w)
{
	if (w->bar_shown)
		fputs("\r\033[K", stderr);
	w->bar_shown = false;
}

static int on_progress(void *user, int64_t done, int64_t total)
{
	translating *w = user;
	(void)total;
	if (w->bar) {
		fprintf(stderr, "\r%" PRId64 " lines", w->lines + done);
		fflush(stderr);
		w->bar_shown = true;
	}
	return stopped;
}

/* Texts first … first + n − 1 of all. What comes before a bad one is still written. */
static int translate(translating *w, int64_t n, const char *const *texts, const size_t *bytes)
{
	hec_translations out;
	hec_status status = hec_translate(w->translator, n, texts, bytes, &w->options, &out);
	clear_bar(w);
	if (status == HEC_OK) {
		int code = put_all(w, &out);
		hec_translations_free(&out);
		w->lines += n;
		return code;
	}
	if (status == HEC_ERR_CANCELLED && stopped)
		return command_failed(w->self, "interrupted after %" PRId64 " lines", w->lines);
	if (out.failed < 0)
		return command_failed(w->self, "%s", hec_error_message());
	char reason[1024];
	snprintf(reason, sizeof reason, "%s", hec_error_message());
	int code = out.failed > 0 ? translate(w, out.failed, texts, bytes) : EXIT_DONE;
	if (code != EXIT_DONE)
		return code;
	return command_failed(w->self, "line %" PRId64 ": %s", w->lines + 1, reason);
}

static int translate_input(translating *w)
{
	int64_t most = w->s.batch * CHUNK_BATCHES;
	if (most < CHUNK_LEAST)
		most = CHUNK_LEAST;
	const char **texts = malloc((size_t)most * sizeof *texts);
	size_t *bytes = malloc((size_t)most * sizeof *bytes);
	lines in = {.fd = STDIN_FILENO};
	int code = texts && bytes ? EXIT_DONE : command_failed(w->self, "no memory for lines");
	while (code == EXIT_DONE) {
		int64_t n;
		lines_result r = lines_take(&in, most, texts, bytes, &n);
		if (r == LINES_END)
			break;
		if (r == LINES_STOPPED && !stopped)
			continue;
		if (r == LINES_STOPPED)
			code = command_failed(w->self, "interrupted after %" PRId64 " lines",
			                      w->lines);
		else if (r == LINES_FAILED)
			code = command_failed(w->self, "%s", in.error);
		else
			code = translate(w, n, texts, bytes);
	}
	lines_close(&in);
	free(texts);
	free(bytes);
	return code;
}

static int set_options(translating *w)
{
	const settings *s = &w->s;
	w->decode = *hec_translator_defaults(w->translator);
	if (s->beam > 0)
		w->decode.beams = s->beam;
	if (s->nbest > 0)
		w->decode.nbest = s->nbest;
	/* More results than beams are no results: search as wide as is asked for. */
	if (s->beam == 0 && w->decode.beams < s->nbest)
		w->decode.beams = s->nbest;
	if (w->decode.nbest > w->decode.beams)
		return command_usage(w->self,
		                     "--nbest %" PRId64 " wants at least as many beams, "
		                     "not %" PRId64,
		                     w->decode.nbest, w->decode.beams);
	if (s->max_tokens > 0)
		w->decode.max_tokens = s->max_tokens;
	if (s->length_penalty > -100)
		w->decode.length_penalty = s->length_penalty;
	w->decode.progress = on_progress;
	w->decode.user = w;
	w->options = (hec_translate_options)HEC_TRANSLATE_OPTIONS_INIT;
	w->options.decode = &w->decode;
	w->options.batch = s->batch;
	w->options.lossy = s->lossy;
	w->options.truncate = s->truncate;
	w->bar = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	return EXIT_DONE;
}

static int run_with(translating *w, hec_ctx *ctx, int operands, char **argv)
{
	char path[MODEL_PATH_MOST];
	int code = model_path(w->self, w->s.model, path);
	if (code != EXIT_DONE)
		return code;
	if (hec_translator_load(ctx, path, &w->translator) != HEC_OK)
		return command_failed(w->self, "%s", hec_error_message());
	code = set_options(w);
	if (code != EXIT_DONE)
		return code;
	catch_signals();
	return operands > 0 ? translate(w, operands, (const char *const *)argv, NULL)
	                    : translate_input(w);
}

static int run(const command *self, int argc, char **argv)
{
	translating w = {.self = self, .s = {.batch = BATCH, .length_penalty = -1000}};
	settings *s = &w.s;
	const option table[] = {
		{OPTION_TEXT, "-m", "DIR", "the model (default: the one that comes with hecate)",
	         &s->model, 0, 0},
		{OPTION_WHOLE, "--beam", "N", "beams; 1: greedy (default: as the model says)",
	         &s->beam, 1, 1024},
		{OPTION_WHOLE, "--nbest", "N", "translations of each line, best first", &s->nbest,
	         1, 1024},
		{OPTION_REAL, "--length-penalty", "X", "score = log p / length^X",
	         &s->length_penalty, -8, 8},
		{OPTION_WHOLE, "--max-tokens", "N",
	         "the longest translation (default: as the model says, else 3 times the source + "
	         "50)",
	         &s->max_tokens, 1, 1 << 20},
		{OPTION_WHOLE, "--batch", "N", "lines at a time (default: 16)", &s->batch, 1,
	         BATCH_MOST},
		{OPTION_WHOLE, "--threads", "N", "(default: HECATE_THREADS, else all cores)",
	         &s->threads, 1, 4096},
		{OPTION_FLAG, "--lossy", NULL, "take invalid UTF-8 as U+FFFD", &s->lossy, 0, 0},
		{OPTION_FLAG, "--truncate", NULL, "cut off what is too long for the model",
	         &s->truncate, 0, 0},
		{OPTION_FLAG, "--json", NULL, "a JSON object for each line", &s->json, 0, 0},
		{0},
	};
	int operands;
	int code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	hec_ctx_options wanted = HEC_CTX_OPTIONS_INIT;
	wanted.threads = (int)s->threads;
	hec_ctx *ctx = NULL;
	if (hec_ctx_create(&wanted, &ctx) != HEC_OK)
		return command_failed(self, "%s", hec_error_message());
	code = run_with(&w, ctx, operands, argv);
	hec_translator_destroy(w.translator);
	hec_ctx_destroy(ctx);
	return code;
}

const command command_translate = {
	"translate",
	"Translates text, line by line",
	"translate [OPTION]… [TEXT]…",
	"Reads lines from standard input, or takes each TEXT as one, and writes a line for each, "
	"in\n"
	"order; an empty line for an empty one. With --nbest N, N lines for each. The model is "
	"that of\n"
	"-m DIR, else of the variable HECATE_MODEL, else the one that comes with hecate (English "
	"to\n"
	"German). A line is translated to the same words however many others there are.\n\n"
	"With --json, each line is\n"
	"  {\"text\": …, \"score\": …, \"tokens\": […], \"nbest\": [{\"text\": …, \"score\": …}, "
	"…]}\n"
	"where score is the logarithm of the probability divided by length^X.\n\n"
	"Example: echo 'The file could not be opened.' | hecate translate --beam 4\n",
	run,
};
