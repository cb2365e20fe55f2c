/* input.h — the texts of a command, some at a time: its operands, or what standard input or files are cut into.
 *
 *     --input lines    each line is a text; of two texts with a tab between
 *     --input jsonl    each line is a JSON object, with fields for the text, a second one, and an id
 *     --input whole    all of it is one text, but for a line end at its end */
#ifndef CLI_IO_INPUT_H
#define CLI_IO_INPUT_H

#include "cli/command/command.h"
#include "cli/io/lines.h"
#include "cli/io/result.h"

typedef enum input_kind { INPUT_LINES = 0, INPUT_JSONL, INPUT_WHOLE } input_kind;

typedef struct input_options {
	const char *kind, *text_field, *second_field, *id_field; /* NULL: not said */
	option_list files;                                       /* none: standard input */
	bool whole;
	/* What the command says: names of fields where none is said (NULL: "text"; no second one), */
	const char *text_name, *second_name;
	const char *no_second; /* why a text without a second one is refused; NULL: there is none */
} input_options;

/* clang-format off */
/* Rows of a command's table. */
#define OPTION_INPUT_FROM(i) \
	{OPTION_TEXT, "--input", "KIND", "lines, jsonl or whole: what standard input, or each file, is cut into", \
	 &(i).kind, 0, 0}, \
	{OPTION_TEXT, "--id-field", "NAME", "of JSON lines: an id that --json repeats (default: 'id', if there is one)", \
	 &(i).id_field, 0, 0}
#define OPTION_INPUT(i) \
	OPTION_INPUT_FROM(i), \
	{OPTION_TEXT, "--text-field", "NAME", "of JSON lines: the text (default: 'text')", &(i).text_field, 0, 0}, \
	{OPTION_LIST, "--file", "FILE…", "read these (-: standard input): each is one text, unless --input is given", \
	 &(i).files, 0, 0}, \
	{OPTION_FLAG, "--whole", NULL, "standard input is one text: --input whole", &(i).whole, 0, 0}
/* clang-format on */

/* What of these does not go together, or with operands, is wrong usage. PARSED, or the code to end with. */
int input_check(const command *self, const input_options *o, int operands);
input_kind input_kind_of(const input_options *o);

typedef struct input_text {
	const char *text, *second; /* second NULL: there is none */
	size_t bytes, second_bytes;
	input_name name;
	char *wrong; /* why it is no text; NULL: it is one */
	char *owned; /* its memory, where it lies in no buffer */
} input_text;

typedef struct input {
	const input_options *o;
	input_kind kind;
	bool lossy;
	int operands;
	char **argv;
	int64_t most; /* texts at a time */
	/* its own: */
	int at; /* operands or files so far */
	bool open;
	lines lines;
	input_text *texts;
	const char **cut; /* [most] lines of the buffer */
	size_t *cut_bytes;
	int64_t n;
	char error[400];
} input;

/* o NULL: lines of standard input. Operands come all at once. False: no memory. */
bool input_open(input *in, const input_options *o, int operands, char **argv, int64_t most,
                bool lossy);
/* The next texts, as lines_take gives lines; they stay until the next call. */
lines_result input_take(input *in, input_text **texts, int64_t *n);
void input_close(input *in);

#endif
