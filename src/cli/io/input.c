/* input.c — operands, lines, JSON lines and whole files as texts with names. */
#include "cli/io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/io/json_line.h"
#include "cli/io/valid_text.h"
#include "cli/io/whole_file.h"

#define WHOLE_BYTES ((size_t)1 << 20) /* of files that are taken at once */

static const char *const kinds[] = {"lines", "jsonl", "whole"};
#define KINDS (sizeof kinds / sizeof *kinds)

/* ---- what is asked for ---- */

static int find_kind(const char *name)
{
	for (int i = 0; i < (int)KINDS; i++)
		if (strcmp(kinds[i], name) == 0)
			return i;
	return -1;
}

input_kind input_kind_of(const input_options *o)
{
	if (o->whole)
		return INPUT_WHOLE;
	if (o->kind)
		return (input_kind)find_kind(o->kind);
	return o->files.count > 0 ? INPUT_WHOLE : INPUT_LINES;
}

static const char *name_of(const char *said, const char *known)
{
	return said ? said : known;
}

static int check_fields(const command *self, const input_options *o)
{
	const char *const names[] = {name_of(o->text_field, o->text_name ? o->text_name : "text"),
	                             o->no_second ? name_of(o->second_field, o->second_name) : NULL,
	                             o->id_field};
	for (int i = 0; i < 3; i++)
		for (int j = i + 1; names[i] && j < 3; j++)
			if (names[j] && strcmp(names[i], names[j]) == 0)
				return command_usage(self, "the field '%.40s' cannot be two things",
				                     names[i]);
	return PARSED;
}

int input_check(const command *self, const input_options *o, int operands)
{
	const bool fields = o->text_field || o->second_field || o->id_field;
	if (o->kind && find_kind(o->kind) < 0)
		return command_usage(self, "--input is lines, jsonl or whole, not '%.40s'",
		                     o->kind);
	if (o->whole && o->kind && strcmp(o->kind, "whole") != 0)
		return command_usage(self, "--whole and --input %s do not go together", o->kind);
	if (operands > 0 && (o->kind || o->whole || o->files.count > 0))
		return command_usage(self, "give texts or %s, not both",
		                     o->files.count > 0 ? "--file"
		                     : o->kind          ? "--input"
		                                        : "--whole");
	int inputs = 0;
	for (size_t i = 0; i < o->files.count; i++)
		inputs += strcmp(o->files.items[i], "-") == 0;
	if (inputs > 1)
		return command_usage(self, "standard input is named %d times", inputs);
	const input_kind kind = input_kind_of(o);
	if (fields && kind != INPUT_JSONL)
		return command_usage(self, "%s goes with --input jsonl",
		                     o->text_field     ? "--text-field"
		                     : o->second_field ? "the field of a second text"
		                                       : "--id-field");
	if (kind == INPUT_WHOLE && o->no_second)
		return command_usage(self, "a whole text is one, and two are needed: %s",
		                     o->no_second);
	return kind == INPUT_JSONL ? check_fields(self, o) : PARSED;
}

/* ---- one text ---- */

static char no_memory[] = "no memory";

static void refuse(input_text *t, const char *reason)
{
	char *copy = strdup(reason);
	t->wrong = copy ? copy : no_memory;
}

/* A line is a text, or two with a tab between. */
static void take_line(const input *in, input_text *t)
{
	if (!in->o || !in->o->no_second)
		return;
	const char *tab = memchr(t->text, '\t', t->bytes);
	if (!tab) {
		refuse(t, in->o->no_second);
		return;
	}
	t->second = tab + 1;
	t->second_bytes = t->bytes - (size_t)(tab - t->text) - 1;
	t->bytes = (size_t)(tab - t->text);
}

static void take_object(const input *in, input_text *t)
{
	const input_options *o = in->o;
	json_field fields[] = {
		{.name = name_of(o->text_field, o->text_name ? o->text_name : "text"),
	         .needed = true},
		{.name = name_of(o->id_field, "id"),
	         .kind = JSON_FIELD_ID,
	         .needed = o->id_field != NULL},
		{.name = o->no_second ? name_of(o->second_field, o->second_name) : NULL,
	         .needed = true}};
	char error[JSON_LINE_ERROR], *line;
	if (in->lossy)
		line = t->owned = valid_text(t->text, t->bytes, &t->bytes);
	else
		line = (char *)(uintptr_t)
		               t->text; /* of the buffer, which is ours until the next call */
	if (!line) {
		refuse(t, "no memory for the line");
		return;
	}
	if (!json_line_read(line, t->bytes, fields, fields[2].name ? 3 : 2, error)) {
		/* Whoever looks for the error by its id finds it, where the line has one. */
		json_field id = {.name = fields[1].name, .kind = JSON_FIELD_ID};
		char ignored[JSON_LINE_ERROR];
		if (json_line_read(line, t->bytes, &id, 1, ignored)) {
			t->name.id = id.text;
			t->name.id_bytes = id.bytes;
		}
		refuse(t, error);
		return;
	}
	t->text = fields[0].text;
	t->bytes = fields[0].bytes;
	t->name.id = fields[1].text;
	t->name.id_bytes = fields[1].bytes;
	if (fields[2].name) {
		t->second = fields[2].text;
		t->second_bytes = fields[2].bytes;
	}
}

/* ---- where they come from ---- */

bool input_open(input *in, const input_options *o, int operands, char **argv, int64_t most,
                bool lossy)
{
	const int64_t room = operands > most ? operands : most;
	*in = (input){.o = o, .lossy = lossy, .operands = operands, .argv = argv, .most = most};
	in->kind = o ? input_kind_of(o) : INPUT_LINES;
	in->texts = calloc((size_t)room, sizeof *in->texts);
	in->cut = malloc((size_t)most * sizeof *in->cut);
	in->cut_bytes = malloc((size_t)most * sizeof *in->cut_bytes);
	return in->texts && in->cut && in->cut_bytes;
}

static void free_texts(input *in)
{
	for (int64_t i = 0; i < in->n; i++) {
		if (in->texts[i].wrong != no_memory)
			free(in->texts[i].wrong);
		free(in->texts[i].owned);
	}
	in->n = 0;
}

static input_text *next_text(input *in, const char *file, int64_t number)
{
	input_text *t = &in->texts[in->n++];
	*t = (input_text){.text = "", .name = {.number = number, .file = file}};
	return t;
}

static void take_operands(input *in)
{
	for (; in->at < in->operands; in->at++) {
		input_text *t = next_text(in, NULL, in->at + 1);
		t->text = in->argv[in->at];
		t->bytes = strlen(t->text);
		take_line(in, t);
	}
}

/* Files to read; standard input is one without a name. */
static int file_count(const input *in)
{
	return in->o && in->o->files.count > 0 ? (int)in->o->files.count : 1;
}

static const char *file_at(const input *in, int i)
{
	return in->o && in->o->files.count > 0 ? in->o->files.items[i] : "-";
}

static const char *named(const char *path)
{
	return strcmp(path, "-") ? path : NULL;
}

/* A line end at the end of a file ends its last line, and is no part of the text. */
static void take_whole(input *in, const char *path)
{
	char error[WHOLE_FILE_ERROR];
	input_text *t = next_text(in, named(path), in->at);
	if (!whole_file_take(path, &t->owned, &t->bytes, error)) {
		refuse(t, error);
		return;
	}
	t->text = t->owned;
	if (t->bytes > 0 && t->text[t->bytes - 1] == '\n')
		t->bytes -= 1 + (t->bytes > 1 && t->text[t->bytes - 2] == '\r');
	t->owned[t->bytes] = '\0';
}

static void take_files(input *in)
{
	size_t bytes = 0;
	while (in->at < file_count(in) && in->n < in->most && bytes < WHOLE_BYTES) {
		in->at++;
		take_whole(in, file_at(in, in->at - 1));
		bytes += in->texts[in->n - 1].bytes;
	}
}

/* False: there is a text, which says why not. */
static bool open_file(input *in)
{
	const char *path = file_at(in, in->at);
	const int fd = named(path) ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (fd < 0) {
		char reason[WHOLE_FILE_ERROR];
		snprintf(reason, sizeof reason, "could not be opened: %s", strerror(errno));
		refuse(next_text(in, path, 0), reason);
		in->at++;
		return false;
	}
	in->lines = (lines){.fd = fd, .name = named(path)};
	in->open = true;
	return true;
}

static void close_file(input *in)
{
	if (in->open) {
		lines_close(&in->lines);
		if (in->lines.fd != STDIN_FILENO)
			close(in->lines.fd);
		in->at++;
	}
	in->open = false;
}

static void refuse_long_line(input *in, int64_t number)
{
	char reason[64];
	snprintf(reason, sizeof reason, "has more than %zu bytes", LINES_LONGEST);
	refuse(next_text(in, in->lines.name, number), reason);
}

/* What is left of a file that cannot be read on is one text that is refused; the next file may be better. */
static void refuse_file(input *in)
{
	const size_t n = strlen(in->lines.name ? in->lines.name : "");
	const char *reason = in->lines.error;
	if (n > 0 && strncmp(reason, in->lines.name, n) == 0 && reason[n] == ' ')
		reason += n + 1; /* the file is named beside it */
	refuse(next_text(in, in->lines.name, 0), reason);
	close_file(in);
}

static lines_result take_lines(input *in)
{
	int64_t n;
	while (in->at < file_count(in)) {
		if (!in->open && !open_file(in))
			return LINES_SOME;
		const lines_result r = lines_take(&in->lines, in->most, in->cut, in->cut_bytes, &n);
		if (r == LINES_END) {
			close_file(in);
			continue;
		}
		if (r == LINES_FAILED && in->lines.too_long) {
			refuse_long_line(in, in->lines.given + 1);
			return LINES_SOME;
		}
		if (r == LINES_FAILED && in->o && in->o->files.count > 0) {
			refuse_file(in);
			return LINES_SOME;
		}
		if (r == LINES_FAILED)
			snprintf(in->error, sizeof in->error, "%s", in->lines.error);
		const int64_t before = in->lines.given - n;
		for (int64_t i = 0; r == LINES_SOME && i < n; i++) {
			input_text *t = next_text(in, in->lines.name, before + i + 1);
			t->text = in->cut[i];
			t->bytes = in->cut_bytes[i];
			if (in->kind == INPUT_JSONL)
				take_object(in, t);
			else
				take_line(in, t);
		}
		return r;
	}
	return LINES_END;
}

lines_result input_take(input *in, input_text **texts, int64_t *n)
{
	lines_result r = LINES_SOME;
	free_texts(in);
	if (in->operands > 0)
		take_operands(in);
	else if (in->kind == INPUT_WHOLE)
		take_files(in);
	else
		r = take_lines(in);
	*texts = in->texts;
	*n = in->n;
	return r == LINES_SOME && in->n == 0 ? LINES_END : r;
}

void input_close(input *in)
{
	free_texts(in);
	close_file(in);
	free(in->texts);
	free(in->cut);
	free(in->cut_bytes);
}
