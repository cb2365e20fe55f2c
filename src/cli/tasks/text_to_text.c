/* text_to_text.c — lines in, lines out, in order, through hec_translate. */
#include "cli/tasks/text_to_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/io/put.h"

/* Lines that are sorted by length together: some that are long and some that are short. */
#define CHUNK_BATCHES 16
#define CHUNK_LEAST 256
#define NO_PENALTY (-1000.0)

typedef struct translating {
	const command *self;
	text_to_text *s;
	const char *path; /* of the model */
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

static int put_json(const translating *w, const hec_translations *t, int64_t i)
{
	const hec_translation *best = hec_translations_at(t, i, 0), *k;
	json_t *line = json_object(), *all = json_array();
	for (int64_t rank = 0; (k = hec_translations_at(t, i, rank)); rank++) {
		json_t *one = json_object();
		json_object_set_new(one, "text", json_stringn(k->text, k->text_bytes));
		json_object_set_new(one, "score", json_real(k->score));
		json_array_append_new(all, one);
	}
	json_object_set_new(line, "text", json_stringn(best->text, best->text_bytes));
	json_object_set_new(line, "score", json_real(best->score));
	json_object_set_new(line, "tokens",
	                    tokens_json(hec_translator_tokenizer(w->translator), best));
	if (json_object_set_new(line, "nbest", all) != 0 || json_object_size(line) != 4) {
		json_decref(line);
		line = NULL;
	}
	return line_work_put_json(&w->lines, i, line);
}

static int put_all(const translating *w, const hec_translations *t, int64_t n)
{
	int code = EXIT_DONE;
	for (int64_t i = 0; code == EXIT_DONE && i < n; i++) {
		const hec_translation *one;
		if (w->s->json)
			code = put_json(w, t, i);
		for (int64_t k = 0; !w->s->json && (one = hec_translations_at(t, i, k)); k++)
			put_text_line(one->text, one->text_bytes, stdout);
	}
	return code == EXIT_DONE ? put_done() : code;
}

/* ---- work ---- */

/* Inside the first that has words. */
static int attend(translating *w, const hec_translations *t, const char *const *texts,
                  const size_t *bytes)
{
	int64_t i = 0;
	const hec_translation *first = hec_translations_at(t, 0, 0);
	while (first && !(first->source && first->n > 0))
		first = hec_translations_at(t, ++i, 0);
	if (!first || !attend_flag_wants(&w->s->m.attend))
		return EXIT_DONE;
	attend_pass p = {.ctx = w->s->m.attend.ctx,
	                 .model = hec_translator_model(w->translator),
	                 .tokenizer = hec_translator_tokenizer(w->translator),
	                 .ids = first->source,
	                 .n = first->source_n,
	                 .begin = &first->start,
	                 .begins = 1,
	                 .written = first->ids,
	                 .T = first->n};
	char *title = strndup(texts[i], bytes[i]);
	int code = title ? attend_flag_pass(&w->s->m.attend, w->self, &p, title)
	                 : command_failed(w->self, "no memory for a title");
	free(title);
	return code;
}

static int translate(void *user, int64_t n, const char *const *texts, const size_t *bytes,
                     int64_t *failed)
{
	translating *w = user;
	hec_translations *out;
	hec_status status = hec_translate(w->translator, n, texts, bytes, &w->options, &out);
	if (status != HEC_OK) {
		*failed = hec_error_item();
		return LINE_WORK_REFUSED;
	}
	line_work_clear(&w->lines);
	int code = put_all(w, out, n);
	if (code == EXIT_DONE)
		code = attend(w, out, texts, bytes);
	hec_translations_free(out);
	return code;
}

static int set_options(translating *w)
{
	const text_to_text *s = w->s;
	hec_translator_defaults(w->translator, &w->decode, sizeof w->decode);
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
	if (s->min_tokens >= 0)
		w->decode.min_tokens = s->min_tokens;
	if (s->no_repeat >= 0)
		w->decode.no_repeat_ngram = s->no_repeat;
	if (s->length_penalty > NO_PENALTY)
		w->decode.length_penalty = s->length_penalty;
	w->decode.progress = line_work_progress;
	w->decode.user = &w->lines;
	w->options = (hec_translate_options)HEC_TRANSLATE_OPTIONS_INIT;
	w->options.decode = &w->decode;
	w->options.batch = s->batch;
	w->options.lossy = s->lossy;
	w->options.truncate = s->truncate;
	w->options.windows = s->windows;
	w->options.prefix = s->prefix;
	w->options.from_language = s->from_language;
	w->options.to_language = s->to_language;
	const int64_t most = s->batch * CHUNK_BATCHES;
	w->lines = (line_work){.self = w->self,
	                       .work = translate,
	                       .user = w,
	                       .input = &s->m.input,
	                       .lossy = s->lossy,
	                       .keep_going = s->m.keep_going,
	                       .places = w->decode.nbest,
	                       .json = s->json};
	w->lines.most = most < CHUNK_LEAST ? CHUNK_LEAST : most;
	return EXIT_DONE;
}

static const hec_model *load_translator(void *job, hec_ctx *ctx, const char *path,
                                        const hec_model_load_options *options)
{
	translating *w = job;
	hec_model_load_options o = *options;
	o.task = w->s->task;
	hec_status status = hec_translator_load(ctx, path, &o, &w->translator);
	w->path = path;
	return status == HEC_OK ? hec_translator_model(w->translator) : NULL;
}

static int translate_operands(void *job, int operands, char **argv)
{
	translating *w = job;
	if (w->s->task_said && !hec_translator_knows_task(w->translator))
		return command_failed(w->self,
		                      "config.json of %s says nothing about the task '%.60s'",
		                      w->path, w->s->task);
	int code = set_options(w);
	if (code != EXIT_DONE)
		return code;
	return line_work_run(&w->lines, operands, argv);
}

static void destroy_translator(void *job)
{
	translating *w = job;
	hec_translator_destroy(w->translator);
}

static const model_work translating_work = {load_translator, translate_operands,
                                            destroy_translator};

int text_to_text_run(const command *self, text_to_text *s, int operands, char **argv)
{
	translating w = {.self = self, .s = s};
	if (s->truncate && s->windows)
		return command_usage(self, "--truncate and --windows do not go together");
	return model_run(self, &s->m, &translating_work, &w, operands, argv);
}
