/* answer.c — `hecate answer`: the words of a text that answer a question. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/answer.h>
#include <jansson.h>

#include "cli/command/interrupt.h"
#include "cli/io/line_work.h"
#include "cli/model/run.h"
#include "cli/io/plural.h"
#include "cli/io/put.h"
#include "cli/io/whole_file.h"

/* Lines of standard input are answered so many at a time. */
#define CHUNK 256
#define STRING_(number) #number
#define STRING(number) STRING_(number)
#define NOT_GIVEN (-2.0) /* of --no-answer, which is from -1 to 1 */

typedef struct settings {
	const char *context;
	option_list questions;
	double no_answer_margin;
	bool json;
} settings;

typedef struct answering {
	const command *self;
	settings s;
	model_args m;
	hec_answerer *answerer;
	hec_answer_options options;
	char *context; /* of all questions; NULL: each line has its own */
	size_t context_bytes;
	line_work lines;
} answering;

/* ---- results ---- */

static json_t *answer_json(const hec_answer_item *a)
{
	json_t *object = json_object();
	if (json_object_set_new(object, "answer", json_stringn(a->text, a->bytes)) != 0 ||
	    json_object_set_new(object, "score", json_real(a->score)) != 0 ||
	    json_object_set_new(object, "begin", json_integer((json_int_t)a->begin)) != 0 ||
	    json_object_set_new(object, "end", json_integer((json_int_t)a->end)) != 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static int put_json(const answering *w, const hec_answers *answers, int64_t question)
{
	json_t *line = answer_json(hec_answers_at(answers, question, 0));
	if (line && w->options.top > 1) {
		json_t *all = json_array();
		bool good = all != NULL;
		const hec_answer_item *a;
		for (int64_t i = 0; good && (a = hec_answers_at(answers, question, i)); i++)
			good = json_array_append_new(all, answer_json(a)) == 0;
		if (!good)
			json_decref(all);
		if (!good || json_object_set_new(line, "answers", all) != 0) {
			json_decref(line);
			line = NULL;
		}
	}
	return line_work_put_json(&w->lines, question, line);
}

static void put_plain(const hec_answer_item *a)
{
	put_field(a->text, a->bytes, stdout);
	printf("\t%.4f\t%zu\t%zu\n", a->score, a->begin, a->end);
}

static int put_all(const answering *w, const hec_answers *answers, int64_t n)
{
	int code = EXIT_DONE;
	for (int64_t i = 0; code == EXIT_DONE && i < n; i++) {
		const hec_answer_item *a;
		if (w->s.json)
			code = put_json(w, answers, i);
		for (int64_t k = 0; !w->s.json && (a = hec_answers_at(answers, i, k)); k++)
			put_plain(a);
	}
	return code == EXIT_DONE ? put_done() : code;
}

/* ---- work ---- */

/* A long context is one line: its windows tell how far it is. */
static hec_status on_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	answering *w = user;
	(void)phase, (void)total;
	if (w->lines.bar && done > 0) {
		fprintf(stderr, "\r%" PRId64 " line%s, %" PRId64 " window%s", w->lines.done,
		        plural(w->lines.done), done, plural(done));
		fflush(stderr);
		w->lines.bar_shown = true;
	}
	return interrupt_status();
}

static int answer_some(answering *w, int64_t n, const hec_question *questions, int64_t *failed)
{
	if (n == 0)
		return EXIT_DONE;
	hec_answers *out;
	hec_status status = hec_answer(w->answerer, n, questions, &w->options, &out);
	if (status != HEC_OK) {
		*failed = hec_error_item();
		return LINE_WORK_REFUSED;
	}
	line_work_clear(&w->lines);
	int code = put_all(w, out, n);
	hec_answers_free(out);
	if (code == EXIT_DONE)
		code = attend_flag_text(&w->m.attend, w->self, hec_answerer_model(w->answerer),
		                        hec_answerer_tokenizer(w->answerer), questions->question,
		                        questions->question_bytes, questions->context,
		                        questions->context_bytes);
	return code;
}

/* Each with the context of all, or with its own. */
static int answer_lines(void *user, int64_t n, const char *const *texts, const size_t *bytes,
                        int64_t *failed)
{
	answering *w = user;
	hec_question *questions = calloc((size_t)n, sizeof *questions);
	if (!questions)
		return command_failed(w->self, "no memory for %" PRId64 " questions", n);
	for (int64_t i = 0; i < n; i++) {
		const input_text *t = line_work_text(&w->lines, i);
		questions[i] =
			(hec_question){texts[i], w->context ? w->context : t->second, bytes[i],
		                       w->context ? w->context_bytes : t->second_bytes};
	}
	int code = answer_some(w, n, questions, failed);
	free(questions);
	return code;
}

static const hec_model *load_answerer(void *job, hec_ctx *ctx, const char *path,
                                      const hec_model_load_options *options)
{
	answering *w = job;
	hec_status status = hec_answerer_load(ctx, path, options, &w->answerer);
	return status == HEC_OK ? hec_answerer_model(w->answerer) : NULL;
}

static int answer_operands(void *job, int operands, char **argv)
{
	answering *w = job;
	settings *s = &w->s;
	const bool asked = s->questions.count > 0;
	const char *context = s->context ? s->context : asked || operands > 0 ? "-" : NULL;
	if (context) {
		int code = whole_file_read(w->self, context, &w->context, &w->context_bytes);
		if (code != EXIT_DONE)
			return code;
	}
	w->options.may_be_none = s->no_answer_margin != NOT_GIVEN;
	w->options.none_margin = w->options.may_be_none ? s->no_answer_margin : 0;
	w->options.progress = on_progress;
	w->options.user = w;
	w->lines = (line_work){.self = w->self,
	                       .work = answer_lines,
	                       .user = w,
	                       .input = &w->m.input,
	                       .lossy = w->options.lossy,
	                       .most = CHUNK,
	                       .keep_going = w->m.keep_going,
	                       .json = w->s.json};
	return asked ? line_work_run(&w->lines, (int)s->questions.count,
	                             (char **)s->questions.items)
	             : line_work_run(&w->lines, operands, argv);
}

static void destroy_answerer(void *job)
{
	answering *w = job;
	free(w->context);
	hec_answerer_destroy(w->answerer);
}

static const model_work answering_work = {load_answerer, answer_operands, destroy_answerer};

static int answer_run(const command *self, int argc, char **argv)
{
	answering w = {.self = self,
	               .s = {.no_answer_margin = NOT_GIVEN},
	               .m.input = {.text_name = "question", .second_name = "context"},
	               .options = HEC_ANSWER_OPTIONS_INIT};
	settings *s = &w.s;
	hec_answer_options *o = &w.options;
	const option table[] = {
		OPTION_MODEL(w.m.named, "the model: one with a head for question answering"),
		{OPTION_LIST, "--question", "Q…", "what to ask of the context", &s->questions, 0,
	         0},
		{OPTION_TEXT, "--context", "FILE", "the text to answer from; -: standard input",
	         &s->context, 0, 0},
		{OPTION_WHOLE, "--top", "N", "answers to each question, the best first", &o->top, 1,
	         10000},
		{OPTION_REAL, "--no-answer", "X",
	         "say 'no answer' when its score beats the best answer's by more than X (0: when "
	         "it is higher)",
	         &s->no_answer_margin, -1, 1},
		{OPTION_WHOLE, "--most", "N", "tokens of the longest answer (default: 15)",
	         &o->max_tokens, 1, 1 << 20},
		{OPTION_WHOLE, "--window", "N",
	         "tokens of a window (default: " STRING(
			 HEC_ANSWER_WINDOW) ", or what the model takes)",
	         &o->window, 1, 1 << 20},
		{OPTION_WHOLE, "--stride", "N",
	         "tokens that windows share (default: " STRING(
			 HEC_ANSWER_STRIDE) ", or half a window)",
	         &o->stride, 1, 1 << 20},
		{OPTION_FLAG, "--part-words", NULL, "answers may begin and end within words",
	         &o->part_words, 0, 0},
		OPTION_INPUT_FROM(w.m.input),
		{OPTION_TEXT, "--question-field", "NAME",
	         "of JSON lines: the question (default: 'question')", &w.m.input.text_field, 0, 0},
		{OPTION_TEXT, "--context-field", "NAME",
	         "of JSON lines: its context, without --context (default: 'context')",
	         &w.m.input.second_field, 0, 0},
		OPTION_LOSSY(o->lossy),
		OPTION_KEEP_GOING(w.m.keep_going),
		OPTION_THREADS(w.m.threads),
		OPTION_OVERRIDE(w.m.overrides),
		ATTEND_OPTION(&w.m.attend),
		{OPTION_FLAG, "--json", NULL, "a JSON object for each question", &s->json, 0, 0},
		{0},
	};
	int operands;
	int code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	if (s->questions.count > 0 && operands > 0)
		return command_usage(self, "'%s': give all questions by --question, or none",
		                     argv[0]);
	if (s->questions.count == 0 && operands == 0 && s->context && strcmp(s->context, "-") == 0)
		return command_usage(self, "--context - leaves no input for the questions: "
		                           "name them with --question");
	const bool own = !s->context && s->questions.count == 0 && operands == 0;
	if (w.m.input.second_field && !own)
		return command_usage(self, "--context-field: all questions have one context");
	w.m.input.no_second = own ? "no tab between a question and its context" : NULL;
	code = input_check(self, &w.m.input, operands + (int)s->questions.count);
	return code == PARSED ? model_run(self, &w.m, &answering_work, &w, operands, argv) : code;
}

const command command_answer = {
	"answer",
	"Answers questions with words of a text",
	"answer -m DIR --question Q… [--context FILE]\n"
	"answer -m DIR --context FILE [Q]…\n"
	"answer -m DIR",
	"Asks each question of the text in FILE, or of standard input. With a FILE and no "
	"question, "
	"each\n"
	"line of standard input is one; with neither, each line is a question, a tab, and its "
	"context.\n"
	"A line for each answer: the answer, its score, and the bytes of the context where it "
	"begins\n"
	"and ends, with tabs between. The score is the probability of the begin times that of the "
	"end.\n"
	"A context that is longer than the model takes is read in windows that overlap. With\n"
	"--no-answer X, the answer may be none: an empty one, at 0 0.\n\n"
	"With --json, each line is\n"
	"  {\"input\": …, \"answer\": …, \"score\": …, \"begin\": …, \"end\": …}\n"
	"and with --top also \"answers\": a list of such objects, the best first.\n\n"
	"Example: hecate answer -m DIR --question 'Who wrote it?' --context book.txt\n",
	answer_run,
};
