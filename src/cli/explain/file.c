/* file.c — reading a problem from JSON. The file may come from anyone: every type, length
 * and number is looked at before it is used, and what is wrong is said by its place. */
#include "cli/explain/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hecate/width.h>
#include <jansson.h>

#include "cli/io/plural.h"

#define SAY(...) (snprintf(error, error_size, __VA_ARGS__), false)
#define NAME_COLUMNS 40 /* of a foreign name in a message */
#define NAME_BYTES 256

static const char *type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a text";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
		return "null";
	}
	return "unknown";
}

/* One row of numbers, all of which fit a float. where is "X[3]" or "b_Q". */
static bool read_row(const char *where, const json_t *row, float *to, char *error,
                     size_t error_size)
{
	for (size_t i = 0; i < json_array_size(row); i++) {
		const json_t *value = json_array_get(row, i);
		if (!json_is_number(value))
			return SAY("%s[%zu] is %s, not a number", where, i, type_name(value));
		double number = json_number_value(value);
		to[i] = (float)number;
		if (!isfinite(to[i]))
			return SAY("%s[%zu] is %g, which does not fit a 32-bit float", where, i,
			           number);
	}
	return true;
}

/* A list of rows of the same length: its size. */
static bool matrix_size(const char *name, const json_t *value, int64_t *rows, int64_t *columns,
                        char *error, size_t error_size)
{
	if (!json_is_array(value))
		return SAY("%s is %s, it must be a list of rows", name, type_name(value));
	if (json_array_size(value) == 0)
		return SAY("%s has no rows", name);
	*rows = (int64_t)json_array_size(value);
	for (size_t t = 0; t < json_array_size(value); t++) {
		const json_t *row = json_array_get(value, t);
		if (!json_is_array(row))
			return SAY("%s[%zu] is %s, it must be a list of numbers", name, t,
			           type_name(row));
		if (json_array_size(row) == 0)
			return SAY("%s[%zu] is empty", name, t);
		if (t > 0 && json_array_size(row) != (size_t)*columns)
			return SAY("%s[%zu] has %zu number%s, %s[0] has %zu: rows must be of one "
			           "length",
			           name, t, json_array_size(row), plural(json_array_size(row)),
			           name, (size_t)*columns);
		*columns = (int64_t)json_array_size(row);
	}
	return true;
}

static bool read_matrix(explain_problem *p, given which, const json_t *value, char *error,
                        size_t error_size)
{
	const char *name = given_names[which];
	int64_t rows, columns;
	if (!matrix_size(name, value, &rows, &columns, error, error_size))
		return false;
	if (!explain_problem_make(p, which, 2, rows, columns))
		return SAY("out of memory for %s", name);
	float *data = p->given[which].data;
	for (int64_t t = 0; t < rows; t++) {
		char where[48];
		snprintf(where, sizeof where, "%s[%lld]", name, (long long)t);
		if (!read_row(where, json_array_get(value, (size_t)t), data + t * columns, error,
		              error_size))
			return false;
	}
	return true;
}

static bool read_bias(explain_problem *p, given which, const json_t *value, char *error,
                      size_t error_size)
{
	const char *name = given_names[which];
	if (!json_is_array(value))
		return SAY("%s is %s, it must be a list of numbers", name, type_name(value));
	if (json_array_size(value) == 0)
		return SAY("%s is empty", name);
	if (!explain_problem_make(p, which, 1, 1, (int64_t)json_array_size(value)))
		return SAY("out of memory for %s", name);
	return read_row(name, value, p->given[which].data, error, error_size);
}

static bool read_mask(explain_problem *p, const json_t *value, char *error, size_t error_size)
{
	int64_t rows, columns;
	if (!matrix_size("mask", value, &rows, &columns, error, error_size))
		return false;
	if (!explain_problem_make_mask(p, rows, columns))
		return SAY("out of memory for mask");
	int8_t *data = p->mask.data;
	for (int64_t i = 0; i < rows * columns; i++) {
		size_t t = (size_t)(i / columns), s = (size_t)(i % columns);
		const json_t *entry = json_array_get(json_array_get(value, t), s);
		double number = json_is_boolean(entry)  ? json_is_true(entry)
		                : json_is_number(entry) ? json_number_value(entry)
		                                        : NAN;
		if (isnan(number))
			return SAY("mask[%zu][%zu] is %s, it must be 0 or 1", t, s,
			           type_name(entry));
		if (number != 0 && number != 1)
			return SAY("mask[%zu][%zu] is %g, it must be 0 (invisible) or 1 (visible)",
			           t, s, number);
		data[i] = number == 1;
	}
	return true;
}

static bool read_tokens(explain_problem *p, const json_t *value, char *error, size_t error_size)
{
	if (!json_is_array(value))
		return SAY("tokens is %s, it must be a list of texts", type_name(value));
	size_t count = json_array_size(value);
	p->tokens = calloc(count + 1, sizeof *p->tokens);
	if (!p->tokens)
		return SAY("out of memory for tokens");
	for (size_t i = 0; i < count; i++) {
		const json_t *entry = json_array_get(value, i);
		if (!json_is_string(entry))
			return SAY("tokens[%zu] is %s, it must be a text", i, type_name(entry));
		p->tokens[i] = strdup(json_string_value(entry));
		if (!p->tokens[i])
			return SAY("out of memory for tokens");
		p->token_count = i + 1;
	}
	return true;
}

static bool read_whole(const char *name, const json_t *value, int64_t *to, char *error,
                       size_t error_size)
{
	if (!json_is_number(value))
		return SAY("%s is %s, it must be a whole number", name, type_name(value));
	double real = json_number_value(value); /* 2.0 is whole, too */
	if (json_is_real(value) && !(fabs(real) < 1e15 && real == floor(real)))
		return SAY("%s is %g, it must be a whole number", name, real);
	*to = json_is_real(value) ? (int64_t)real : json_integer_value(value);
	if (*to < 1)
		return SAY("%s is %lld, it must be at least 1", name, (long long)*to);
	return true;
}

static bool read_member(explain_problem *p, const char *key, const json_t *value, char *error,
                        size_t error_size)
{
	for (int i = 0; i < GIVEN_COUNT; i++)
		if (strcmp(key, given_names[i]) == 0)
			return is_bias((given)i)
			               ? read_bias(p, (given)i, value, error, error_size)
			               : read_matrix(p, (given)i, value, error, error_size);
	if (strcmp(key, "heads") == 0)
		return read_whole(key, value, &p->heads, error, error_size);
	if (strcmp(key, "d_k") == 0)
		return read_whole(key, value, &p->d_k, error, error_size);
	if (strcmp(key, "d_v") == 0)
		return read_whole(key, value, &p->d_v, error, error_size);
	if (strcmp(key, "mask") == 0)
		return read_mask(p, value, error, error_size);
	if (strcmp(key, "tokens") == 0)
		return read_tokens(p, value, error, error_size);
	if (strcmp(key, "causal") == 0) {
		if (!json_is_boolean(value))
			return SAY("causal is %s, it must be true or false", type_name(value));
		p->causal = json_is_true(value);
		return true;
	}
	char name[NAME_BYTES];
	hec_text_clean(key, NAME_COLUMNS, name, sizeof name);
	return SAY(
		"there is no key \"%s\" here; the keys are X, memory, heads, d_k, d_v, W_Q, W_K, "
		"W_V, W_O, b_Q, b_K, b_V, b_O, d_output, mask, causal, tokens",
		name);
}

static bool read_problem(json_t *root, explain_problem *p, char *error, size_t error_size)
{
	if (!json_is_object(root))
		return SAY("the file holds %s, it must be an object {\"X\": …}", type_name(root));
	const char *key;
	json_t *value;
	json_object_foreach(root, key,
	                    value) if (!read_member(p, key, value, error, error_size)) return false;
	if (p->heads == 0)
		return SAY("heads is missing");
	return explain_problem_check(p, error, error_size);
}

bool explain_file_parse(const char *text, size_t length, explain_problem *out, char *error,
                        size_t error_size)
{
	*out = (explain_problem){0};
	if (length > EXPLAIN_FILE_MOST)
		return SAY("the file is larger than %u MiB", EXPLAIN_FILE_MOST >> 20);
	json_error_t at;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &at);
	if (!root) {
		/* jansson quotes the file in its message. */
		char reason[sizeof at.text + NAME_BYTES];
		hec_text_clean(at.text, JSON_ERROR_TEXT_LENGTH, reason, sizeof reason);
		return SAY("line %d, column %d: %s", at.line, at.column, reason);
	}
	bool read = read_problem(root, out, error, error_size);
	json_decref(root);
	if (!read)
		explain_problem_free(out);
	return read;
}

/* A file by its path. What is no regular file (a pipe without a writer, a device) could keep us
 * waiting for ever: opened without waiting, looked at, and refused. */
static FILE *open_regular(const char *path, char *error, size_t error_size)
{
	struct stat is;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	const char *reason = NULL;
	if (fd < 0 || fstat(fd, &is) != 0)
		reason = strerror(errno);
	else if (S_ISDIR(is.st_mode))
		reason = strerror(EISDIR);
	else if (!S_ISREG(is.st_mode))
		reason = "this is no regular file; --file - reads standard input";
	FILE *in = reason ? NULL : fdopen(fd, "rb");
	if (!in)
		snprintf(error, error_size, "%s", reason ? reason : strerror(errno));
	if (fd >= 0 && !in)
		close(fd);
	return in;
}

bool explain_file_read(const char *path, explain_problem *out, char *error, size_t error_size)
{
	*out = (explain_problem){0};
	bool standard_input = strcmp(path, "-") == 0;
	FILE *in = standard_input ? stdin : open_regular(path, error, error_size);
	if (!in)
		return false;
	/* One byte more than allowed, so that a larger file is noticed without reading it all. */
	size_t capacity = EXPLAIN_FILE_MOST + 1, length = 0;
	char *text = malloc(capacity);
	bool read = false;
	if (!text) {
		read = SAY("out of memory");
	} else {
		length = fread(text, 1, capacity, in);
		if (ferror(in))
			read = SAY("%s", strerror(errno));
		else
			read = explain_file_parse(text, length, out, error, error_size);
	}
	free(text);
	if (!standard_input)
		fclose(in);
	return read;
}
