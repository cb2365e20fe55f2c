/* tokenize.c — `hecate tokenize`: text as the tokens of a model, ids as text, and a new vocabulary
 * from text. */
#include "cli/inspect/tokenize.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/width.h>
#include <jansson.h>

#include "cli/command/interrupt.h"
#include "cli/io/line_work.h"
#include "cli/model/path.h"
#include "cli/io/plural.h"
#include "cli/io/put.h"
#include "cli/io/terminal.h"

#define TOKEN_COLUMNS 32
#define CLEAN_MOST 512

typedef struct settings {
	const command *self;
	const char *model;
	bool json, lossy, no_special, decode, keep_going;
	bool truncate_left, as_file; /* lengths: those of the options, or tokenizer.json's */
	int64_t max_length, stride, pad;
	const char *chat; /* a file with a conversation */
	bool prompt;
	hec_tokenizer *tokenizer;
	hec_encoding encoding;
	terminal term;
	input_options input;
	char wrong[160]; /* with a line of ids */
	line_work lines;
} settings;

/* ---- one text ---- */

static bool put_json_string(const char *string)
{
	json_t *value = json_string(string);
	bool good = put_json_value(value, JSON_ENCODE_ANY, stdout);
	json_decref(value);
	return good;
}

/* By hand: a tree of a long text would take hundreds of bytes for each token. */
static int print_json(const settings *s)
{
	const hec_encoding *e = &s->encoding;
	bool good = line_work_begin_json(&s->lines, 0);
	fputs("\"ids\":[", stdout);
	for (size_t i = 0; i < e->n; i++)
		printf("%s%" PRId32, i ? "," : "", e->ids[i]);
	fputs("],\"tokens\":[", stdout);
	for (size_t i = 0; good && i < e->n; i++) {
		const char *token = hec_tokenizer_token(s->tokenizer, e->ids[i]);
		fputs(i ? "," : "", stdout);
		good = put_json_string(token ? token : "");
	}
	fputs("],\"offsets\":[", stdout);
	for (size_t i = 0; good && i < e->n; i++)
		printf("%s[%zu,%zu]", i ? "," : "", e->offsets[i].begin, e->offsets[i].end);
	puts("]}");
	return good ? EXIT_DONE : command_failed(s->self, "no memory for JSON");
}

/* A row for each token: its id, the token as the vocabulary writes it, and the text that it covers. */
static int print_table(const settings *s, const char *line, size_t bytes)
{
	const hec_encoding *e = &s->encoding;
	text row = {0};
	for (size_t i = 0; i < e->n; i++) {
		char token[CLEAN_MOST], part[CLEAN_MOST], covered[CLEAN_MOST];
		const char *name = hec_tokenizer_token(s->tokenizer, e->ids[i]);
		int width = hec_text_clean(name ? name : "", TOKEN_COLUMNS, token, sizeof token);
		size_t n = e->offsets[i].end - e->offsets[i].begin;
		n = n < sizeof part - 1 ? n : sizeof part - 1;
		memcpy(part, line + e->offsets[i].begin, n);
		part[n] = '\0';
		hec_text_clean(part, TOKEN_COLUMNS, covered, sizeof covered);
		text_add(&row, "%8d  ", e->ids[i]);
		text_ink(&row, &s->term, e->sequence[i] < 0 ? INK_FAINT : INK_STEP);
		text_add(&row, "%s", token);
		text_ink(&row, &s->term, INK_PLAIN);
		if (e->sequence[i] >= 0)
			text_add(&row, "%*s  %5zu … %-5zu  %s", TOKEN_COLUMNS - width, "",
			         e->offsets[i].begin, e->offsets[i].end, covered);
		puts(row.data);
		row.length = 0;
	}
	printf("%zu token%s, %zu byte%s\n\n", e->n, plural((int64_t)e->n), bytes,
	       plural((int64_t)bytes));
	text_free(&row);
	return EXIT_DONE;
}

/* Fills one window up where that was asked for; no length: to that of the first one, which is the longest. */
static hec_status pad_one(settings *s, size_t first)
{
	hec_pad_options o = HEC_PAD_OPTIONS_INIT;
	int32_t id = hec_tokenizer_role(s->tokenizer, "pad");
	bool wanted = s->as_file && hec_tokenizer_padding(s->tokenizer, &o);
	if (s->pad > 0) {
		if (!wanted)
			o.id = id < 0 ? 0 : id;
		o.length = s->pad;
		wanted = true;
	}
	if (wanted && o.length == 0)
		o.length = (int64_t)first;
	return wanted ? hec_encoding_pad(&s->encoding, 1, &o) : HEC_OK;
}

/* A text is one window, or several where it has more tokens than --max-length. */
static int encode_one(settings *s, const char *line, size_t bytes)
{
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	int code = EXIT_DONE;
	bool more = true;
	o.lossy = s->lossy;
	o.no_special = s->no_special;
	if (s->as_file)
		(void)hec_tokenizer_truncation(s->tokenizer, &o);
	if (s->max_length) {
		o.max_length = s->max_length;
		o.stride = s->stride;
		o.truncate_left = s->truncate_left;
	}
	if (hec_tokenizer_encode(s->tokenizer, line, bytes, &o, &s->encoding) != HEC_OK)
		return LINE_WORK_REFUSED;
	const size_t first = s->encoding.n;
	while (more && code == EXIT_DONE) {
		if (pad_one(s, first) != HEC_OK)
			return LINE_WORK_REFUSED;
		code = s->json ? print_json(s) : print_table(s, line, bytes);
		if (hec_tokenizer_next_window(s->tokenizer, &s->encoding, &more) != HEC_OK)
			return LINE_WORK_REFUSED;
	}
	return code;
}

/* ---- ids to text ---- */

static bool is_between(char c)
{
	return c != '\0' && strchr(" \t,[]", c) != NULL;
}

/* Whole numbers of up to nine digits with spaces, commas or brackets between them, as a list of JSON has.
 * False: *at is where another word begins. */
static bool read_ids(const char *line, size_t bytes, int32_t *ids, size_t *n, size_t *at)
{
	*n = *at = 0;
	for (;;) {
		while (*at < bytes && is_between(line[*at]))
			++*at;
		if (*at == bytes)
			return true;
		size_t end = *at;
		int32_t id = 0;
		for (; end < bytes && end < *at + 9 && line[end] >= '0' && line[end] <= '9'; end++)
			id = 10 * id + (line[end] - '0');
		if (end == *at || (end < bytes && !is_between(line[end])))
			return false;
		ids[(*n)++] = id;
		*at = end;
	}
}

static int print_text(const settings *s, const char *decoded, size_t bytes)
{
	if (s->json)
		return line_work_put_json(&s->lines, 0,
		                          json_pack("{s:s%}", "text", decoded, bytes));
	put_words(decoded, bytes, stdout);
	putchar('\n');
	return EXIT_DONE;
}

static int decode_one(settings *s, const char *line, size_t bytes)
{
	int32_t *ids = malloc((bytes / 2 + 1) * sizeof *ids);
	size_t n, at, decoded_bytes;
	char *decoded = NULL;
	int code;
	if (!ids)
		code = command_failed(s->self, "no memory for the ids");
	else if (!read_ids(line, bytes, ids, &n, &at)) {
		snprintf(s->wrong, sizeof s->wrong,
		         "'%.*s' at byte %zu is not an id: those are whole numbers of at most nine "
		         "digits",
		         bytes - at < 20 ? (int)(bytes - at) : 20, line + at, at);
		s->lines.reason = s->wrong;
		code = LINE_WORK_REFUSED;
	} else if (hec_tokenizer_decode(s->tokenizer, ids, n, s->no_special, &decoded,
	                                &decoded_bytes) != HEC_OK)
		code = LINE_WORK_REFUSED;
	else
		code = print_text(s, decoded, decoded_bytes);
	hec_free(decoded);
	free(ids);
	return code;
}

/* ---- all of them ---- */

#define LONG                                                                                       \
	((size_t)64                                                                                \
	 << 10) /* bytes of a text that may take long: what is finished goes out before it */

/* Each text is printed before the next is looked at: the one to blame is the first that is not. */
static int tokenize_some(void *user, int64_t n, const char *const *texts, const size_t *bytes,
                         int64_t *failed)
{
	settings *s = user;
	const int64_t before = s->lines.done;
	int code = EXIT_DONE;
	(void)line_work_progress(&s->lines, "lines", 0, n);
	for (int64_t i = 0; code == EXIT_DONE && i < n; i++) {
		const size_t length = bytes[i];
		s->lines.done = before + i;
		*failed = 0;
		if (length >= LONG)
			code = put_done();
		if (code == EXIT_DONE && interrupt_asked())
			code = LINE_WORK_REFUSED;
		else if (code == EXIT_DONE)
			code = s->decode ? decode_one(s, texts[i], length)
			                 : encode_one(s, texts[i], length);
	}
	if (code != EXIT_DONE)
		return code;
	s->lines.done = before;
	return put_done();
}

/* The text itself; with --json its tokens, to which nothing is added. */
static int chat_one(settings *s, const char *model)
{
	char *made = NULL;
	size_t bytes = 0;
	int code = tokenize_chat(s->self, model, s->chat, s->prompt, &made, &bytes);
	if (code == EXIT_DONE && s->json) {
		s->no_special = true;
		code = encode_one(s, made, bytes);
	} else if (code == EXIT_DONE) {
		put_words(made, bytes, stdout);
	}
	hec_free(made);
	return code == LINE_WORK_REFUSED ? command_failed(s->self, "%s", hec_error_message())
	                                 : code;
}

static int tokenize_texts(settings *s, int count, char **texts)
{
	char path[MODEL_PATH_MOST];
	int code = model_path(s->self, s->model, path);
	if (code != EXIT_DONE)
		return code;
	s->term = terminal_open(stdout, 1);
	s->lines = (line_work){.self = s->self,
	                       .work = tokenize_some,
	                       .user = s,
	                       .input = &s->input,
	                       .lossy = s->lossy,
	                       .keep_going = s->keep_going,
	                       .json = s->json};
	if (hec_tokenizer_load(path, &s->tokenizer) != HEC_OK)
		return command_failed(s->self, "%s", hec_error_message());
	code = s->chat ? chat_one(s, path) : line_work_run(&s->lines, count, texts);
	hec_encoding_free(&s->encoding);
	hec_tokenizer_destroy(s->tokenizer);
	return code;
}

/* ---- what can be asked for ---- */

/* clang-format off */
/* Rows of the table of options: lengths, */
#define LENGTH_ROWS(s) \
	{OPTION_WHOLE, "--max-length", "N", "windows of at most so many tokens", \
	 &(s).max_length, 1, INT32_MAX}, \
	{OPTION_WHOLE, "--stride", "N", "tokens that a window shares with the one before", \
	 &(s).stride, 0, INT32_MAX}, \
	{OPTION_FLAG, "--from-end", NULL, "the first window is the end of the text", \
	 &(s).truncate_left, 0, 0}, \
	{OPTION_WHOLE, "--pad", "N", "fill up to so many tokens", &(s).pad, 1, 1 << 24}, \
	{OPTION_FLAG, "--as-file", NULL, "lengths as tokenizer.json says", &(s).as_file, 0, 0}
/* and learning. */
#define TRAIN_ROWS(t) \
	{OPTION_LIST, "--train", "FILE…", "learn a vocabulary from these files", &(t).files, 0, 0}, \
	{OPTION_TEXT, "--out", "DIR", "where the learned one goes", &(t).out, 0, 0}, \
	{OPTION_WHOLE, "--vocab", "N", "its size (8000)", &(t).vocab, 259, 1 << 24}, \
	{OPTION_WHOLE, "--min-count", "N", "join pairs seen at least so often (2)", \
	 &(t).min_frequency, 1, INT64_MAX}, \
	{OPTION_FLAG, "--byte-level", NULL, "its alphabet is the bytes (the default)", \
	 &(t).byte_level, 0, 0}, \
	{OPTION_FLAG, "--unicode", NULL, "its alphabet is the characters of the text", \
	 &(t).unicode, 0, 0}, \
	{OPTION_WHOLE, "--threads", "N", "threads to learn with", &(t).threads, 1, HEC_MAX_THREADS}
/* clang-format on */

static int check_settings(const settings *s, const tokenize_training *t, int operands)
{
	if (s->stride && !s->max_length)
		return command_usage(s->self, "--stride goes with --max-length");
	if (s->chat && operands)
		return command_usage(s->self, "--chat takes its FILE, not also a text");
	if (s->prompt && !s->chat)
		return command_usage(s->self, "--prompt goes with --chat");
	if (t->files.count > 0 && !t->out)
		return command_usage(s->self, "--train wants --out DIR too");
	if (t->files.count > 0 && (s->model || operands || (t->byte_level && t->unicode)))
		return command_usage(s->self, "--train goes with neither -m nor a text, and "
		                              "--byte-level not with --unicode");
	if (s->decode && input_kind_of(&s->input) == INPUT_JSONL)
		return command_usage(s->self, "--decode takes lines of ids, not --input jsonl");
	const int code =
		input_check(s->self, &s->input, operands + (s->chat || t->files.count > 0));
	return code == PARSED ? EXIT_DONE : code;
}

static int run_tokenize(const command *self, int argc, char **argv)
{
	settings s = {.self = self, .encoding = HEC_ENCODING_INIT};
	tokenize_training t = {.vocab = 8000, .min_frequency = 2};
	const option table[] = {
		OPTION_MODEL(
			s.model,
			"a folder with a tokenizer, or its file (default: as `hecate translate`)"),
		{OPTION_FLAG, "--json", NULL, "a line of JSON for each text", &s.json, 0, 0},
		{OPTION_FLAG, "--lossy", NULL, "what is not UTF-8 counts as U+FFFD", &s.lossy, 0,
	         0},
		OPTION_INPUT(s.input),
		OPTION_KEEP_GOING(s.keep_going),
		{OPTION_FLAG, "--no-special", NULL, "add no special tokens; decoding: skip them",
	         &s.no_special, 0, 0},
		LENGTH_ROWS(s),
		{OPTION_TEXT, "--chat", "FILE", "messages (JSON) by the model's chat template",
	         &s.chat, 0, 0},
		{OPTION_FLAG, "--prompt", NULL, "--chat: with what comes before an answer",
	         &s.prompt, 0, 0},
		{OPTION_FLAG, "--decode", NULL, "ids in, text out", &s.decode, 0, 0},
		TRAIN_ROWS(t),
		{0},
	};
	int operands;
	int code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	code = check_settings(&s, &t, operands);
	if (code != EXIT_DONE)
		return code;
	return t.files.count > 0 ? tokenize_train(self, &t) : tokenize_texts(&s, operands, argv);
}

const command command_tokenize = {
	"tokenize",
	"Shows the tokens of a text, and learns vocabularies",
	"tokenize [-m DIR] [OPTION]… [TEXT]…\n"
	"tokenize --train FILE… --out DIR [--vocab N] [--unicode]",
	"Without TEXT it reads lines from standard input. Offsets count bytes. A vocabulary is "
	"learned by\n"
	"byte-pair encoding and saved as tokenizer.json, which other programs read too.\n\n"
	"Examples:\n"
	"  hecate tokenize --train words.en words.de --vocab 8000 --out DIR\n"
	"  hecate tokenize -m DIR \"Who looks at whom?\"\n"
	"  hecate tokenize -m DIR --json < text.txt\n"
	"  hecate tokenize -m DIR --max-length 384 --stride 128 --json < text.txt\n"
	"  hecate tokenize -m DIR --chat messages.json --prompt\n",
	run_tokenize,
};
