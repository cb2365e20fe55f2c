/* fuzz_json_line.c — any bytes as a line of `--input jsonl`: what is taken is what Jansson takes, with the same texts, and
 * what is refused is refused with its column. Jansson refuses some lines more: those are numbered below. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/io/json_line.h"
#include "stop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_column(const char *error)
{
	char *end;
	if (strncmp(error, "column ", 7) != 0 || strtol(error + 7, &end, 10) < 1 || *end != ':')
		stop(error);
	for (const char *c = error; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7F)
			stop("a message could steer a terminal");
}

/* What we pass over, or keep as it is written, and Jansson does not: names that stand twice where nobody asks for
 * them, numbers beyond a double, NUL bytes in names. */
static bool is_its_own(const json_error_t *error)
{
	const enum json_error_code code = json_error_code(error);
	return code == json_error_duplicate_key || code == json_error_numeric_overflow ||
	       code == json_error_null_byte_in_key;
}

static void compare(const json_t *root, const json_field *f)
{
	const json_t *value = json_object_get(root, f->name);
	if (!value != !f->text)
		stop("a field is there for one alone");
	if (!value)
		return;
	json_t *kept = f->kind == JSON_FIELD_ID ? json_loadb(f->text, f->bytes,
	                                                     JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
	                                        : json_stringn(f->text, f->bytes);
	if (!kept || !json_equal(kept, value))
		stop("a field has another value");
	json_decref(kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_field fields[] = {{.name = "text", .needed = true},
	                       {.name = "id", .kind = JSON_FIELD_ID},
	                       {.name = "text_pair"}};
	char error[JSON_LINE_ERROR] = "", *line = malloc(size + 1);
	json_error_t why = {0};
	if (!line)
		return 0;
	memcpy(line, data, size);
	json_t *root =
		json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	const json_t *text = json_object_get(root, "text"), *id = json_object_get(root, "id"),
		     *pair = json_object_get(root, "text_pair");
	const bool wanted = json_is_string(text) &&
	                    (!id || json_is_string(id) || json_is_number(id)) &&
	                    (!pair || json_is_string(pair));
	const bool taken = json_line_read(line, size, fields, 3, error);
	if (!taken) {
		expect_column(error);
		if (memcmp(line, data, size) != 0)
			stop("a line that is refused was changed");
		/* Jansson passes over a NUL byte behind a number. */
		if (wanted && !strstr(error, "nested") && !memchr(data, '\0', size))
			stop(error);
	} else if (!root && !is_its_own(&why)) {
		stop(why.text);
	} else if (root && !wanted) {
		stop("a line without its fields was taken");
	}
	for (int i = 0; taken && root && i < 3; i++)
		compare(root, &fields[i]);
	json_decref(root);
	free(line);
	return 0;
}
