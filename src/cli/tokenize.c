/* tokenize.c — `hecate tokenize`: text as the tokens of a model, ids as text, and a new vocabulary
 * from text. */
#include "tokenize.h"

#include <stdlib.h>
#include <string.h>

#include <hecate/width.h>
#include <jansson.h>

#include "model_path.h"
#include "terminal.h"

#define TOKEN_COLUMNS 32
#define CLEAN_MOST 512

typedef struct settings {
	const char *model;
	bool json, lossy, no_special, decode;
	bool truncate_left, as_file; /* lengths: those of the options, or tokenizer.json's */
	int64_t max_length, stride, pad;
	const char *chat; /* a file with a conversation */
	bool prompt;
	hec_tokenizer *tokenizer;
	hec_encoding encoding;
	terminal term;
} settings;

/* ---- one text ---- */

static int print_json(const settings *s)
{
	const hec_encoding *e = &s->encoding;
	json_t *ids = json_array(), *tokens = json_array(), *offsets = json_array();
	bool good = ids && tokens && offsets;
	for (size_t i = 0; good && i < e->n; i++) {
		const char *token = hec_tokenizer_token(s->tokenizer, e->ids[i]);
		good = json_array_append_new(ids, json_integer(e->ids[i])) == 0 &&
		       json_array_append_new(tokens, json_string(token ? token : "")) == 0 &&
		       json_array_append_new(offsets,
		                             json_pack("[I, I]", (json_int_t)e->offsets[i].begin,
		                                       (json_int_t)e->offsets[i].end)) == 0;
	}
	json_t *line =
		json_pack("{s:o, s:o, s:o}", "ids", ids, "tokens", tokens, "offsets", offsets);
	good = good && line && json_dumpf(line, stdout, JSON_COMPACT) == 0;
	json_decref(line);
	putchar('\n');
	return good ? EXIT_DONE : EXIT_FAILED;
}

/* A row for each token: its id, the token as the vocabulary writes it, and the text that it covers. */
static int print_table(const settings *s, const char *line, size_t bytes)
{
	const hec_encoding *e = &s->encoding;
	text rows = {0};
	for (size_t i = 0; i < e->n; i++) {
		char token[CLEAN_MOST], part[CLEAN_MOST], covered[CLEAN_MOST];
		const char *name = hec_tokenizer_token(s->tokenizer, e->ids[i]);
		int width = hec_text_clean(name ? name : "", TOKEN_COLUMNS, token, sizeof token);
		size_t n = e->offsets[i].end - e->offsets[i].begin;
		n = n < sizeof part - 1 ? n : sizeof part - 1;
		memcpy(part, line + e->offsets[i].begin, n);
		part[n] = '\0';
		hec_text_clean(part, TOKEN_COLUMNS, covered, sizeof covered);
		text_add(&rows, "%8d  ", e->ids[i]);
		text_ink(&rows, &s->term, e->sequence[i] < 0 ? INK_FAINT : INK_STEP);
		text_add(&rows, "%s", token);
		text_ink(&rows, &s->term, INK_PLAIN);
		if (e->sequence[i] >= 0)
			text_add(&rows, "%*s  %5zu … %-5zu  %s", TOKEN_COLUMNS - width, "",
			         e->offsets[i].begin, e->offsets[i].end, covered);
		text_add(&rows, "\n");
	}
	printf("%s%zu tokens, %zu bytes\n\n", rows.data ? rows.data : "", e->n, bytes);
	text_free(&rows);
	return EXIT_DONE;
}

/* Fills one window up where that was asked for. */
static hec_status pad_one(settings *s)
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
	return wanted ? hec_encoding_pad(&s->encoding, 1, &o) : HEC_OK;
}

/* A text is one window, or several where it has more tokens than --max-length. */
static int encode_one(const command *self, settings *s, const char *line, size_t bytes)
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
		return command_failed(self, "%s", hec_error_message());
	while (more && code == EXIT_DONE) {
		if (pad_one(s) != HEC_OK)
			return command_failed(self, "%s", hec_error_message());
		code = s->json ? print_json(s) : print_table(s, line, bytes);
		if (hec_tokenizer_next_window(s->tokenizer, &s->encoding, &more) != HEC_OK)
			return command_failed(self, "%s", hec_error_message());
	}
	return code;
}

/* ---- ids to text ---- */

/* Whole numbers with anything but digits and minus signs between them. Returns what is wrong. */
static const char *read_ids(const char *line, int32_t **ids, size_t *n)
{
	size_t most = strlen(line) / 2 + 1;
	const char *first = line;
	*n = 0;
	*ids = malloc(most * sizeof **ids);
	while (*ids && *(line += strcspn(line, "0123456789"))) {
		size_t digits = strspn(line, "0123456789");
		if (digits > 9)
			return "an id of more than nine digits";
		if (line > first && line[-1] == '-')
			return "an id below 0";
		(*ids)[(*n)++] = (int32_t)strtol(line, NULL, 10);
		line += digits;
	}
	return *ids ? NULL : "no memory for the ids";
}

static int print_text(const settings *s, const char *decoded, size_t bytes)
{
	if (!s->json) {
		fwrite(decoded, 1, bytes, stdout);
		putchar('\n');
		return EXIT_DONE;
	}
	json_t *line = json_pack("{s:s%}", "text", decoded, bytes);
	bool good = line && json_dumpf(line, stdout, JSON_COMPACT) == 0;
	json_decref(line);
	putchar('\n');
	return good ? EXIT_DONE : EXIT_FAILED;
}

static int decode_one(const command *self, settings *s, const char *line)
{
	int32_t *ids;
	size_t n, bytes;
	char *decoded = NULL;
	int code;
	const char *wrong = read_ids(line, &ids, &n);
	if (wrong)
		code = command_failed(self, "%s", wrong);
	else if (hec_tokenizer_decode(s->tokenizer, ids, n, s->no_special, &decoded, &bytes) !=
	         HEC_OK)
		code = command_failed(self, "%s", hec_error_message());
	else
		code = print_text(s, decoded, bytes);
	free(decoded);
	free(ids);
	return code;
}

/* ---- all of them ---- */

static int one(const command *self, settings *s, const char *line, size_t bytes)
{
	return s->decode ? decode_one(self, s, line) : encode_one(self, s, line, bytes);
}

static int lines_in(const command *self, settings *s)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t n;
	int code = EXIT_DONE;
	while (code == EXIT_DONE && (n = getline(&line, &capacity, stdin)) >= 0) {
		if (n > 0 && line[n - 1] == '\n')
			line[--n] = '\0';
		code = one(self, s, line, (size_t)n);
	}
	free(line);
	if (code == EXIT_DONE && ferror(stdin))
		return command_failed(self, "standard input could not be read");
	return code;
}

/* The text itself; with --json its tokens, to which nothing is added. */
static int chat_one(const command *self, settings *s, const char *model)
{
	char *made = NULL;
	size_t bytes = 0;
	int code = tokenize_chat(self, model, s->chat, s->prompt, &made, &bytes);
	if (code == EXIT_DONE && s->json) {
		s->no_special = true;
		code = encode_one(self, s, made, bytes);
	} else if (code == EXIT_DONE) {
		fwrite(made, 1, bytes, stdout);
	}
	free(made);
	return code;
}

static int run_with(const command *self, settings *s, int count, char **texts)
{
	char path[MODEL_PATH_MOST];
	int code = model_path(self, s->model, path);
	if (code != EXIT_DONE)
		return code;
	s->term = terminal_open(stdout);
	if (hec_tokenizer_load(path, &s->tokenizer) != HEC_OK)
		return command_failed(self, "%s", hec_error_message());
	code = s->chat ? chat_one(self, s, path) : count ? EXIT_DONE : lines_in(self, s);
	for (int i = 0; i < count && code == EXIT_DONE; i++)
		code = one(self, s, texts[i], strlen(texts[i]));
	hec_encoding_free(&s->encoding);
	hec_tokenizer_destroy(s->tokenizer);
	return code;
}

static int run(const command *self, int argc, char **argv)
{
	settings s = {.encoding = HEC_ENCODING_INIT};
	tokenize_training t = {.vocab = 8000, .min_frequency = 2};
	bool bytes = false;
	const option table[] = {
		{OPTION_TEXT, "-m", "DIR",
	         "a folder with a tokenizer, or its file (default: as `hecate translate`)",
	         &s.model, 0, 0},
		{OPTION_FLAG, "--json", NULL, "a line of JSON for each text", &s.json, 0, 0},
		{OPTION_FLAG, "--lossy", NULL, "what is not UTF-8 counts as U+FFFD", &s.lossy, 0,
	         0},
		{OPTION_FLAG, "--no-special", NULL, "add no special tokens; decoding: skip them",
	         &s.no_special, 0, 0},
		{OPTION_WHOLE, "--max-length", "N", "windows of at most so many tokens",
	         &s.max_length, 1, INT32_MAX},
		{OPTION_WHOLE, "--stride", "N", "tokens that a window shares with the one before",
	         &s.stride, 0, INT32_MAX},
		{OPTION_FLAG, "--from-end", NULL, "the first window is the end of the text",
	         &s.truncate_left, 0, 0},
		{OPTION_WHOLE, "--pad", "N", "fill up to so many tokens", &s.pad, 1, 1 << 24},
		{OPTION_FLAG, "--as-file", NULL, "lengths as tokenizer.json says", &s.as_file, 0,
	         0},
		{OPTION_TEXT, "--chat", "FILE", "messages (JSON) by the model's chat template",
	         &s.chat, 0, 0},
		{OPTION_FLAG, "--prompt", NULL, "--chat: with what comes before an answer",
	         &s.prompt, 0, 0},
		{OPTION_FLAG, "--decode", NULL, "ids in, text out", &s.decode, 0, 0},
		{OPTION_LIST, "--train", "FILE…", "learn a vocabulary from these files", &t.files,
	         0, 0},
		{OPTION_TEXT, "--out", "DIR", "where the learned one goes", &t.out, 0, 0},
		{OPTION_WHOLE, "--vocab", "N", "its size (8000)", &t.vocab, 259, 1 << 24},
		{OPTION_WHOLE, "--min-count", "N", "join pairs seen at least so often (2)",
	         &t.min_frequency, 1, INT64_MAX},
		{OPTION_FLAG, "--byte-level", NULL, "its alphabet is the bytes (the default)",
	         &bytes, 0, 0},
		{OPTION_FLAG, "--unicode", NULL, "its alphabet is the characters of the text",
	         &t.unicode, 0, 0},
		{OPTION_WHOLE, "--threads", "N", "threads to learn with", &t.threads, 1, 1024},
		{0},
	};
	int operands;
	int code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	if (s.stride && !s.max_length)
		return command_usage(self, "--stride goes with --max-length");
	if (s.prompt && !s.chat)
		return command_usage(self, "--prompt goes with --chat");
	if (t.files.count > 0) {
		if (!t.out)
			return command_usage(self, "--train wants --out DIR too");
		if (s.model || operands || (bytes && t.unicode))
			return command_usage(self, "--train goes with neither -m nor a text, and "
			                           "--byte-level not with --unicode");
		return tokenize_train(self, &t);
	}
	return run_with(self, &s, operands, argv);
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
	run,
};
