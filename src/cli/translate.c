/* translate.c — `hecate translate`: lines in, lines out, in order. */
#include <inttypes.h>

#include <hecate/translate.h>

#include "line_work.h"
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
	line_work lines;
} translating;

/* ---- results ---- */

static json_t *tokens_json(const hec_tokenizer *tokenizer, const hec_translation *t)
{
	json_t *tokens = json_array();
	for (int64_t i = 0; i < t->n; i++) {
		const char *token = hec_tokenizer_token(tokenizer, t->ids[i]);
		json_array_append_new(tokens, json_string(token ? token : ""));
	}
	return tokens;
}

static bool put_json(const translating *w, const hec_translation *best, int64_t nbest)
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
	if (json_object_set_new(line, "nbest", all) != 0 || json_object_size(line) != 4) {
		json_decref(line);
		line = NULL;
	}
	return put_json_line(line, stdout);
}

static int put_all(const translating *w, const hec_translations *t)
{
	for (int64_t i = 0; i < t->texts; i++) {
		const hec_translation *best = &t->items[i * t->nbest];
		if (w->s.json && !put_json(w, best, t->nbest))
			return command_failed(w->self, "no memory for JSON");
		for (int64_t k = 0; !w->s.json && k < t->nbest; k++)
			put_line(best[k].text, stdout);
	}
	return put_done();
}

/* ---- work ---- */

static int translate(void *user, int64_t n, const char *const *texts, const size_t *bytes,
                     int64_t *failed)
{
	translating *w = user;
	hec_translations out;
	hec_status status = hec_translate(w->translator, n, texts, bytes, &w->options, &out);
	*failed = out.failed;
	if (status != HEC_OK)
		return LINE_WORK_REFUSED;
	line_work_clear(&w->lines);
	int code = put_all(w, &out);
	hec_translations_free(&out);
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
	w->decode.progress = line_work_progress;
	w->decode.user = &w->lines;
	w->options = (hec_translate_options)HEC_TRANSLATE_OPTIONS_INIT;
	w->options.decode = &w->decode;
	w->options.batch = s->batch;
	w->options.lossy = s->lossy;
	w->options.truncate = s->truncate;
	const int64_t most = s->batch * CHUNK_BATCHES;
	w->lines = (line_work){.self = w->self, .work = translate, .user = w};
	w->lines.most = most < CHUNK_LEAST ? CHUNK_LEAST : most;
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
	return line_work_run(&w->lines, operands, argv);
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
