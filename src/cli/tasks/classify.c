/* classify.c — `hecate classify`: the labels of texts, or of their tokens. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/classify.h>

#include "cli/io/line_work.h"
#include "cli/model/run.h"
#include "cli/io/put.h"

#define CHUNK 1024 /* lines that are sorted by length together */

typedef struct classifying {
	const command *self;
	model_args m;
	int64_t top;
	bool json, lossy, truncate, pair, tokens;
	hec_classifier *classifier;
	hec_classify_options options;
	line_work lines;
} classifying;

/* ---- results ---- */

static int put_text_json(const classifying *w, int64_t text, const float *scores,
                         const int32_t *order, int64_t labels)
{
	json_t *line = json_object(), *all = json_object();
	bool done = true;
	for (int64_t i = 0; i < labels; i++)
		done = json_object_set_new(all, hec_classifier_label(w->classifier, order[i]),
		                           json_real(scores[order[i]])) == 0 &&
		       done;
	const char *best = hec_classifier_label(w->classifier, order[0]);
	done = json_object_set_new(line, "label", json_string(best)) == 0 && done;
	done = json_object_set_new(line, "score", json_real(scores[order[0]])) == 0 && done;
	done = json_object_set_new(line, "all", all) == 0 && done;
	if (!done) {
		json_decref(line);
		line = NULL;
	}
	return line_work_put_json(&w->lines, text, line);
}

static void put_string(const char *text)
{
	put_field(text, strlen(text), stdout);
}

static int put_texts(const classifying *w, const hec_classes *c)
{
	int code = EXIT_DONE;
	for (int64_t i = 0; code == EXIT_DONE && i < c->texts; i++) {
		const float *scores = c->scores + i * c->labels;
		const int32_t *order = c->order + i * c->labels;
		if (w->json)
			code = put_text_json(w, i, scores, order, c->labels);
		for (int64_t k = 0; !w->json && k < w->top && k < c->labels; k++) {
			put_string(hec_classifier_label(w->classifier, order[k]));
			printf("\t%.6g\n", scores[order[k]]);
		}
	}
	return code == EXIT_DONE ? put_done() : code;
}

static const char *token_text(const classifying *w, const hec_token_class *t)
{
	const char *token = hec_tokenizer_token(hec_classifier_tokenizer(w->classifier), t->id);
	return token ? token : "";
}

static int put_tokens_json(const classifying *w, const hec_token_classes *classes, int64_t text)
{
	json_t *line = json_object(), *list = json_array();
	bool done = true;
	const hec_token_class *t;
	for (int64_t i = 0; (t = hec_token_classes_at(classes, text, i)); i++) {
		json_t *one = json_pack("{s:s, s:s, s:f, s:I, s:I}", "token", token_text(w, t),
		                        "label", hec_classifier_label(w->classifier, t->label),
		                        "score", (double)t->score, "begin",
		                        (json_int_t)t->span.begin, "end", (json_int_t)t->span.end);
		if (one && w->pair)
			done = json_object_set_new(one, "text", json_integer(t->second)) == 0 &&
			       done;
		done = json_array_append_new(list, one) == 0 && done;
	}
	done = json_object_set_new(line, "tokens", list) == 0 && done;
	if (!done) {
		json_decref(line);
		line = NULL;
	}
	return line_work_put_json(&w->lines, text, line);
}

static int put_tokens(const classifying *w, const hec_token_classes *classes, int64_t n)
{
	int code = EXIT_DONE;
	for (int64_t i = 0; code == EXIT_DONE && i < n; i++) {
		const hec_token_class *t;
		if (w->json)
			code = put_tokens_json(w, classes, i);
		for (int64_t k = 0; !w->json && (t = hec_token_classes_at(classes, i, k)); k++) {
			put_string(token_text(w, t));
			fputc('\t', stdout);
			put_string(hec_classifier_label(w->classifier, t->label));
			printf("\t%.6g\t%zu\t%zu\n", t->score, t->span.begin, t->span.end);
		}
		if (!w->json)
			fputc('\n', stdout);
	}
	return code == EXIT_DONE ? put_done() : code;
}

/* ---- work ---- */

static int classify(classifying *w, int64_t n, const char *const *texts, const size_t *bytes,
                    int64_t *failed)
{
	hec_classes *classes = NULL;
	hec_token_classes *tokens = NULL;
	hec_status status =
		w->tokens
			? hec_classify_tokens(w->classifier, n, texts, bytes, &w->options, &tokens)
			: hec_classify(w->classifier, n, texts, bytes, &w->options, &classes);
	if (status != HEC_OK) {
		*failed = hec_error_item();
		return LINE_WORK_REFUSED;
	}
	line_work_clear(&w->lines);
	int code = w->tokens ? put_tokens(w, tokens, n) : put_texts(w, classes);
	hec_classes_free(classes);
	hec_token_classes_free(tokens);
	if (code == EXIT_DONE && n > 0)
		code = attend_flag_text(&w->m.attend, w->self, hec_classifier_model(w->classifier),
		                        hec_classifier_tokenizer(w->classifier), texts[0], bytes[0],
		                        w->pair ? w->options.pairs[0] : NULL,
		                        w->pair ? w->options.pair_bytes[0] : 0);
	return code;
}

/* Each with its second one. */
static int classify_pairs(classifying *w, int64_t n, const char *const *texts, const size_t *bytes,
                          int64_t *failed)
{
	const char **pairs = calloc((size_t)n, sizeof *pairs);
	size_t *second = calloc((size_t)n, sizeof *second);
	int code = pairs && second ? EXIT_DONE : command_failed(w->self, "no memory for pairs");
	for (int64_t i = 0; code == EXIT_DONE && i < n; i++) {
		pairs[i] = line_work_text(&w->lines, i)->second;
		second[i] = line_work_text(&w->lines, i)->second_bytes;
	}
	w->options.pairs = pairs;
	w->options.pair_bytes = second;
	if (code == EXIT_DONE)
		code = classify(w, n, texts, bytes, failed);
	w->options.pairs = NULL;
	w->options.pair_bytes = NULL;
	free(pairs);
	free(second);
	return code;
}

static int classify_lines(void *user, int64_t n, const char *const *texts, const size_t *bytes,
                          int64_t *failed)
{
	classifying *w = user;
	return (w->pair ? classify_pairs : classify)(w, n, texts, bytes, failed);
}

static const hec_model *load_classifier(void *job, hec_ctx *ctx, const char *path,
                                        const hec_model_load_options *options)
{
	classifying *w = job;
	hec_status status = hec_classifier_load(ctx, path, options, &w->classifier);
	return status == HEC_OK ? hec_classifier_model(w->classifier) : NULL;
}

static int classify_operands(void *job, int operands, char **argv)
{
	classifying *w = job;
	const hec_head head = hec_model_config_of(hec_classifier_model(w->classifier))->head;
	if ((head == HEC_HEAD_TOKENS) != w->tokens)
		return command_usage(w->self, w->tokens
		                                      ? "--tokens: this model labels whole texts"
		                                      : "this model labels tokens: give --tokens");
	w->options = (hec_classify_options)HEC_CLASSIFY_OPTIONS_INIT;
	w->options.truncate = w->truncate;
	w->options.lossy = w->lossy;
	w->options.progress = line_work_progress;
	w->options.user = &w->lines;
	w->lines = (line_work){.self = w->self,
	                       .work = classify_lines,
	                       .user = w,
	                       .input = &w->m.input,
	                       .lossy = w->lossy,
	                       .most = CHUNK,
	                       .keep_going = w->m.keep_going,
	                       .json = w->json};
	return line_work_run(&w->lines, operands, argv);
}

static void destroy_classifier(void *job)
{
	classifying *w = job;
	hec_classifier_destroy(w->classifier);
}

static const model_work classifying_work = {load_classifier, classify_operands, destroy_classifier};

static int classify_run(const command *self, int argc, char **argv)
{
	classifying w = {.self = self, .top = 1, .m.input.second_name = "text_pair"};
	const option table[] = {
		OPTION_MODEL(w.m.named, "the model's folder"),
		{OPTION_WHOLE, "--top", "N", "labels of each text, best first (default: 1)", &w.top,
	         1, INT32_MAX},
		{OPTION_FLAG, "--pair", NULL, "each line is TEXT<TAB>TEXT, for models that compare",
	         &w.pair, 0, 0},
		{OPTION_FLAG, "--tokens", NULL,
	         "the label of each token, where the model does that", &w.tokens, 0, 0},
		OPTION_INPUT(w.m.input),
		{OPTION_TEXT, "--pair-field", "NAME",
	         "of JSON lines: the second text of --pair (default: 'text_pair')",
	         &w.m.input.second_field, 0, 0},
		OPTION_THREADS(w.m.threads),
		OPTION_OVERRIDE(w.m.overrides),
		OPTION_LOSSY(w.lossy),
		OPTION_KEEP_GOING(w.m.keep_going),
		OPTION_TRUNCATE(w.truncate),
		ATTEND_OPTION(&w.m.attend),
		{OPTION_FLAG, "--json", NULL, "a JSON object for each line", &w.json, 0, 0},
		{0},
	};
	int operands, code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	if (w.m.input.second_field && !w.pair)
		return command_usage(self, "--pair-field goes with --pair");
	if (w.pair)
		w.m.input.no_second = "--pair wants TEXT<TAB>TEXT";
	return model_run(self, &w.m, &classifying_work, &w, operands, argv);
}

const command command_classify = {
	"classify",
	"Labels for texts, with probabilities: sentiment and the like",
	"classify -m DIR [OPTION]… [TEXT]…",
	"Reads lines from standard input, or takes each TEXT as one, and writes a line for each, "
	"in\n"
	"order: the best label of the model's config.json, a tab, its score. With --top N, the N "
	"best,\n"
	"one a line. Scores are probabilities: of several labels one is right, unless "
	"\"problem_type\"\n"
	"says that each is right or not by itself, or that the model gives numbers "
	"(\"regression\").\n\n"
	"With --json, each line is {\"input\": …, \"label\": …, \"score\": …, \"all\": {LABEL: "
	"SCORE, …}}.\n\n"
	"With --tokens, a line for each token, and an empty one after each text: token, label, "
	"score,\n"
	"begin and end in bytes of the text; with --json\n"
	"  {\"input\": …, \"tokens\": [{\"token\": …, \"label\": …, \"score\": …, \"begin\": …, "
	"\"end\": …}, "
	"…]}\n\n"
	"Example: echo 'What a lovely film!' | hecate classify -m models/sentiment --top 2\n",
	classify_run,
};
