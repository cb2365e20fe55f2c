/* generate.c — `hecate generate`: prompts in, what the model writes after them out. */
#include "cli/tasks/generate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command/interrupt.h"
#include "cli/command/number_list.h"
#include "cli/io/put.h"

#define BATCH 16
#define BATCH_MOST 4096
#define CHUNK_LEAST 64

typedef struct generate_settings {
	const char *ids, *system;
	int64_t beam, max_tokens, min_tokens, batch, top_k, no_repeat;
	double temperature, top_p, min_p, repetition, length_penalty;
	option_seed seed;
	bool sample, json, lossy, truncate, stream, echo, chat;
} settings;

/* What no option is given. */
#define UNSET (-1000)

/* ---- results ---- */

static json_t *ids_json(const hec_generation *one)
{
	json_t *ids = json_array();
	for (int64_t i = 0; i < one->n; i++)
		json_array_append_new(ids, json_integer(one->ids[i]));
	return ids;
}

static int put_json(const generating *g, int64_t i, const hec_generation *one)
{
	json_t *text = one->text ? json_stringn(one->text, one->text_bytes) : json_null();
	return line_work_put_json(&g->lines, i,
	                          json_pack("{s:o, s:o, s:f}", "ids", ids_json(one), "text", text,
	                                    "score", one->score));
}

static void put_ids(const int32_t *ids, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		printf("%s%" PRId32, i ? "," : "", ids[i]);
}

/* The prompt and what follows it are one text. */
static char *echoed(const hec_prompt *p, const hec_generation *one, size_t *bytes)
{
	size_t before = p->text ? p->bytes : 0;
	*bytes = before + one->text_bytes;
	char *whole = malloc(*bytes + 1);
	if (whole) {
		memcpy(whole, p->text ? p->text : "", before);
		memcpy(whole + before, one->text, one->text_bytes + 1);
	}
	return whole;
}

static int put_one(const generating *g, int64_t i, const hec_prompt *p, const hec_generation *one)
{
	if (g->json)
		return put_json(g, i, one);
	if (!one->text) {
		if (g->echo) {
			put_ids(p->ids, p->n);
			fputc(',', stdout);
		}
		put_ids(one->ids, one->n);
		fputc('\n', stdout);
		return EXIT_DONE;
	}
	size_t bytes = one->text_bytes;
	char *whole = g->echo ? echoed(p, one, &bytes) : NULL;
	if (g->echo && !whole)
		return command_failed(g->self, "no memory for a text");
	const char *text = whole ? whole : one->text;
	if (g->as_lines) {
		put_text_line(text, bytes, stdout);
	} else {
		put_words(text, bytes, stdout);
		fputc('\n', stdout);
	}
	free(whole);
	return EXIT_DONE;
}

/* Of the first: with an encoder the prompt across and what was written down, else both as one. */
static int attend(generating *g, const hec_prompt *prompt, const hec_generation *one)
{
	if (!attend_flag_wants(&g->m.attend) || one->n == 0)
		return EXIT_DONE;
	const hec_model *model = hec_generator_model(g->generator);
	const bool both = hec_model_config_of(model)->encoder.layers > 0;
	int32_t *all = malloc((size_t)(one->prompt_n + one->n) * sizeof *all);
	char *title = prompt->text ? strndup(prompt->text, prompt->bytes) : strdup("ids");
	if (!all || !title) {
		free(all);
		free(title);
		return command_failed(g->self, "no memory for --attend");
	}
	memcpy(all, one->prompt, (size_t)one->prompt_n * sizeof *all);
	memcpy(all + one->prompt_n, one->ids, (size_t)one->n * sizeof *all);
	attend_pass p = {.ctx = g->m.attend.ctx,
	                 .model = model,
	                 .tokenizer = hec_generator_tokenizer(g->generator),
	                 .ids = all,
	                 .n = one->prompt_n + (both ? 0 : one->n),
	                 .written = one->ids,
	                 .T = one->n};
	int code = attend_flag_pass(&g->m.attend, g->self, &p, title);
	free(all);
	free(title);
	return code;
}

/* ---- calls ---- */

hec_status generate_call(generating *g, int64_t n, const hec_prompt *prompts, hec_generations **out)
{
	g->decode.first_stream = (uint64_t)g->lines.done;
	return hec_generate(g->generator, n, prompts, &g->options, out);
}

/* ---- as it is written ---- */

hec_status generate_put_text(generating *g, const char *text, size_t bytes)
{
	wrap_text(&g->wrap, text, bytes);
	return put_done() == EXIT_DONE ? interrupt_status() : HEC_ERR_CANCELLED;
}

static hec_status on_text(void *user, int64_t prompt, const char *text, size_t bytes)
{
	(void)prompt;
	return generate_put_text(user, text, bytes);
}

static hec_status stream_one(generating *g, const hec_prompt *p, int *code)
{
	hec_generations *out;
	if (g->echo && p->text)
		wrap_text(&g->wrap, p->text, p->bytes);
	hec_status status = generate_call(g, 1, p, &out);
	wrap_end(&g->wrap);
	if (status == HEC_OK) {
		fputc('\n', stdout);
		fflush(stdout);
		*code = attend(g, p, hec_generations_at(out, 0, 0));
	}
	hec_generations_free(out);
	return status;
}

/* One after the other: what is written shall not be mixed. */
static int stream_some(generating *g, int64_t n, const hec_prompt *prompts, int64_t *failed)
{
	g->options.text = on_text;
	g->options.user = g;
	g->wrap = g->s->chat ? wrap_open(stdout) : (wrap){.out = stdout};
	int code = EXIT_DONE;
	for (int64_t i = 0; code == EXIT_DONE && i < n; i++) {
		/* Told as if it were the first of its call: those before it are written already. */
		if (stream_one(g, &prompts[i], &code) != HEC_OK) {
			*failed = 0;
			return ferror(stdout) ? EXIT_FAILED : LINE_WORK_REFUSED;
		}
		g->lines.done++;
	}
	g->lines.done -= n;
	return code == EXIT_DONE ? put_done() : code;
}

int generate_some(generating *g, int64_t n, const hec_prompt *prompts, int64_t *failed)
{
	if (g->stream)
		return stream_some(g, n, prompts, failed);
	hec_generations *out;
	if (generate_call(g, n, prompts, &out) != HEC_OK) {
		*failed = hec_error_item();
		return LINE_WORK_REFUSED;
	}
	line_work_clear(&g->lines);
	int code = EXIT_DONE;
	for (int64_t i = 0; code == EXIT_DONE && i < n; i++)
		code = put_one(g, i, &prompts[i], hec_generations_at(out, i, 0));
	if (code == EXIT_DONE)
		code = put_done();
	if (code == EXIT_DONE && n > 0)
		code = attend(g, &prompts[0], hec_generations_at(out, 0, 0));
	hec_generations_free(out);
	return code;
}

static int generate_lines(void *user, int64_t n, const char *const *texts, const size_t *bytes,
                          int64_t *failed)
{
	generating *g = user;
	hec_prompt *prompts = calloc((size_t)n, sizeof *prompts);
	if (!prompts)
		return command_failed(g->self, "no memory for prompts");
	for (int64_t i = 0; i < n; i++) {
		prompts[i].text = texts[i];
		prompts[i].bytes = bytes[i];
	}
	int code = generate_some(g, n, prompts, failed);
	free(prompts);
	return code;
}

static int generate_ids(generating *g, const char *list)
{
	number_list ids = {0};
	int code = number_list_take(g->self, "--ids", list, INT32_MAX, &ids);
	hec_prompt prompt = {.ids = ids.items, .n = ids.count};
	int64_t failed = -1;
	interrupt_catch();
	if (code == EXIT_DONE)
		code = generate_some(g, 1, &prompt, &failed);
	free(ids.items);
	if (code == LINE_WORK_REFUSED)
		code = command_failed(g->self, "%s",
		                      interrupt_asked() ? "interrupted" : hec_error_message());
	return code;
}

/* ---- options ---- */

static uint64_t any_seed(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000003u ^ (uint64_t)now.tv_nsec;
}

static void set_sampling(const settings *s, hec_decode_options *o)
{
	/* Who names a number of sampling wants to sample; temperature 0 is greedy by another name. */
	const bool numbers = s->temperature > 0 || s->top_k >= 0 || s->top_p >= 0 ||
	                     s->min_p >= 0 || s->seed.given;
	o->sample = (s->sample || numbers) && s->temperature != 0;
	if (!o->sample)
		return;
	o->beams = s->beam > 0 ? s->beam : 1;
	if (s->temperature > 0)
		o->temperature = s->temperature;
	if (s->top_k >= 0)
		o->top_k = s->top_k > 0 ? s->top_k : -1;
	if (s->top_p >= 0)
		o->top_p = s->top_p;
	if (s->min_p >= 0)
		o->min_p = s->min_p;
	o->seed = s->seed.given ? s->seed.value : any_seed();
}

static int set_options(generating *g, const settings *s, int operands)
{
	hec_decode_options *o = &g->decode;
	hec_generator_defaults(g->generator, o, sizeof *o);
	if (s->beam > 0)
		o->beams = s->beam;
	set_sampling(s, o);
	if (s->max_tokens > 0)
		o->max_tokens = s->max_tokens;
	if (s->min_tokens >= 0)
		o->min_tokens = s->min_tokens;
	if (s->no_repeat >= 0)
		o->no_repeat_ngram = s->no_repeat;
	if (s->repetition == 0)
		return command_usage(g->self, "--repetition-penalty divides by what it is: not 0");
	if (s->repetition > 0)
		o->repetition_penalty = s->repetition;
	if (s->length_penalty > UNSET)
		o->length_penalty = s->length_penalty;
	if (s->stream && (s->json || o->beams > 1))
		return command_usage(g->self, s->json ? "--stream and --json do not go together"
		                                      : "--stream takes one beam: --beam 1");
	if (o->sample && o->beams > 1)
		return command_usage(g->self, "to sample takes one beam, not --beam %" PRId64,
		                     o->beams);
	o->progress = line_work_progress;
	o->user = &g->lines;
	g->options = (hec_generate_options)HEC_GENERATE_OPTIONS_INIT;
	g->options.decode = o;
	g->options.batch = s->batch;
	g->options.lossy = s->lossy;
	g->options.truncate = s->truncate;
	g->options.no_special = s->chat;
	g->options.no_min_length = s->min_tokens >= 0;
	const input_options *in = &g->m.input;
	const bool whole = input_kind_of(in) == INPUT_WHOLE && in->files.count < 2,
		   one = operands == 1 || s->ids || whole;
	g->json = s->json;
	g->echo = s->echo;
	g->as_lines = !one;
	g->stream = s->stream || (one && !s->json && o->beams == 1 && isatty(STDOUT_FILENO));
	if (!hec_generator_tokenizer(g->generator))
		g->stream = false;
	g->lines = (line_work){.self = g->self,
	                       .work = s->chat ? generate_chat_lines : generate_lines,
	                       .user = g,
	                       .input = in,
	                       .lossy = s->lossy,
	                       .most = s->batch < CHUNK_LEAST ? CHUNK_LEAST : s->batch,
	                       .keep_going = g->m.keep_going,
	                       .json = s->json};
	return EXIT_DONE;
}

static const hec_model *load_generator(void *job, hec_ctx *ctx, const char *path,
                                       const hec_model_load_options *options)
{
	generating *g = job;
	hec_status status = hec_generator_load(ctx, path, options, &g->generator);
	if (status == HEC_OK && g->s->chat)
		status = hec_chat_template_load(path, &g->chat);
	return status == HEC_OK ? hec_generator_model(g->generator) : NULL;
}

static int generate_operands(void *job, int operands, char **argv)
{
	generating *g = job;
	const settings *s = g->s;
	int code = set_options(g, s, operands);
	if (code != EXIT_DONE)
		return code;
	if (s->ids)
		return generate_ids(g, s->ids);
	const bool talk = s->chat && operands == 0 && !s->json && g->decode.beams == 1 &&
	                  !g->m.input.kind && !g->m.input.whole && g->m.input.files.count == 0;
	if (talk && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		return generate_chat_terminal(g);
	return line_work_run(&g->lines, operands, argv);
}

static void destroy_generator(void *job)
{
	generating *g = job;
	hec_chat_template_destroy(g->chat);
	hec_generator_destroy(g->generator);
}

static const model_work generating_work = {load_generator, generate_operands, destroy_generator};

/* ---- what can be asked for ---- */

/* clang-format off */
/* Rows of the table of options: how it is written, */
#define SEARCH_ROWS(s) \
	{OPTION_WHOLE, "--max-tokens", "N", \
	 "the most that are written (default: as the model says, else 256)", &(s).max_tokens, 1, 1 << 30}, \
	{OPTION_WHOLE, "--min-tokens", "N", "no end before that many", &(s).min_tokens, 0, 1 << 30}, \
	OPTION_BEAM((s).beam), \
	OPTION_LENGTH_PENALTY((s).length_penalty), \
	{OPTION_REAL, "--repetition-penalty", "X", "of what was written already; 1: none", \
	 &(s).repetition, 0, 1000}, \
	{OPTION_WHOLE, "--no-repeat-ngram", "N", "no N tokens in a row appear twice", \
	 &(s).no_repeat, 0, 1 << 20}
/* and how tokens are drawn. */
#define SAMPLE_ROWS(s) \
	{OPTION_FLAG, "--sample", NULL, \
	 "draw each token, with the numbers that the model says unless they are given", &(s).sample, 0, 0}, \
	{OPTION_REAL, "--temperature", "X", "sharper below 1, flatter above; 0: greedy", \
	 &(s).temperature, 0, 1000000}, \
	{OPTION_WHOLE, "--top-k", "N", "draw from the N likeliest; 0: all", &(s).top_k, 0, INT32_MAX}, \
	{OPTION_REAL, "--top-p", "X", "draw from the likeliest that make up X", &(s).top_p, 0, 1}, \
	{OPTION_REAL, "--min-p", "X", "draw from what has X of the likeliest's probability", \
	 &(s).min_p, 0, 1}, \
	{OPTION_SEED, "--seed", "N", "the same draws each time", &(s).seed, 0, 0}
/* clang-format on */

static int check(const command *self, const settings *s, int operands)
{
	if (s->ids && (operands > 0 || s->chat))
		return command_usage(self, "--ids is the prompt: give none beside it%s",
		                     s->chat ? ", and no --chat" : "");
	if (s->system && !s->chat)
		return command_usage(self, "--system is for --chat");
	return EXIT_DONE;
}

static int generate_run(const command *self, int argc, char **argv)
{
	settings s = {.batch = BATCH,
	              .min_tokens = -1,
	              .top_k = -1,
	              .no_repeat = -1,
	              .temperature = -1,
	              .top_p = -1,
	              .min_p = -1,
	              .repetition = -1,
	              .length_penalty = UNSET};
	generating g = {.self = self, .s = &s, .m = {.any_writer = true}};
	const option table[] = {
		OPTION_MODEL(g.m.named, "the model"),
		{OPTION_TEXT, "--ids", "I,I,…", "the prompt as ids, in place of text", &s.ids, 0,
	         0},
		SEARCH_ROWS(s),
		SAMPLE_ROWS(s),
		{OPTION_FLAG, "--chat", NULL,
	         "prompts are what a user says, by the model's chat template; on a terminal "
	         "without a prompt, a conversation",
	         &s.chat, 0, 0},
		{OPTION_TEXT, "--system", "TEXT", "with --chat: what the system says first",
	         &s.system, 0, 0},
		{OPTION_FLAG, "--stream", NULL,
	         "print as it is written (on a terminal, for one prompt, it is so anyhow)",
	         &s.stream, 0, 0},
		{OPTION_FLAG, "--echo", NULL, "print the prompt, too", &s.echo, 0, 0},
		{OPTION_WHOLE, "--batch", "N", "prompts at a time (default: 16)", &s.batch, 1,
	         BATCH_MOST},
		OPTION_INPUT(g.m.input),
		OPTION_THREADS(g.m.threads),
		OPTION_OVERRIDE(g.m.overrides),
		OPTION_LOSSY(s.lossy),
		OPTION_KEEP_GOING(g.m.keep_going),
		{OPTION_FLAG, "--truncate", NULL, "cut off the beginning of what is too long",
	         &s.truncate, 0, 0},
		ATTEND_OPTION(&g.m.attend),
		{OPTION_FLAG, "--json", NULL, "a JSON object for each prompt", &s.json, 0, 0},
		{0},
	};
	int operands;
	int code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	code = check(self, &s, operands);
	if (code == EXIT_DONE)
		code = input_check(self, &g.m.input, s.ids != NULL);
	if (code != PARSED)
		return code;
	g.system = s.system;
	return model_run(self, &g.m, &generating_work, &g, operands, argv);
}

const command command_generate = {
	"generate",
	"Writes on from a prompt",
	"generate -m DIR [OPTION]… [PROMPT]…\n"
	"generate -m DIR --ids I,I,… [OPTION]…\n"
	"generate -m DIR --chat [--system TEXT] [OPTION]…",
	"Reads lines from standard input, or takes each PROMPT as one, and writes a line for each: "
	"what\n"
	"follows the prompt. One PROMPT alone is answered with its line ends as they are. A model "
	"with an\n"
	"encoder reads the prompt and writes its answer. The same words come out however many "
	"other\n"
	"prompts there are. Without --sample the likeliest are written; with it, draws depend on "
	"the seed\n"
	"and the number of the line alone.\n\n"
	"With --json, each line is\n"
	"  {\"input\": …, \"ids\": […], \"text\": …, \"score\": …}\n"
	"where score is the logarithm of the probability divided by length^X, and text is null "
	"where the\n"
	"model's directory has no tokenizer.\n\n"
	"With --chat and no PROMPT, a terminal is a conversation: /help there says more.\n\n"
	"Example: hecate generate -m smollm2 --chat 'What is a transformer?' --max-tokens 60\n",
	generate_run,
};
