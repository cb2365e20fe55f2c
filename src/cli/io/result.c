/* result.c — see result.h. */
#include "cli/io/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/io/put.h"
#include "cli/io/valid_text.h"

/* Any bytes as a text of JSON. */
static json_t *text_json(const char *text)
{
	size_t bytes;
	char *valid = valid_text(text, strlen(text), &bytes);
	json_t *value = valid ? json_stringn(valid, bytes) : NULL;
	free(valid);
	return value;
}

/* An id goes out by the bytes that came in, unless that could steer a terminal: put_json_value knows. */
static bool put_id(const char *id, size_t bytes, FILE *out)
{
	fputs("\"id\":", out);
	if (*id != '"' || !put_is_terminal(out)) {
		fwrite(id, 1, bytes, out);
		return true;
	}
	json_t *value = json_loadb(id, bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	const bool good = put_json_value(value, JSON_ENCODE_ANY, out);
	json_decref(value);
	return good;
}

static bool put_file(const char *file, FILE *out)
{
	json_t *value = text_json(file);
	fputs("\"file\":", out);
	const bool good = put_json_value(value, JSON_ENCODE_ANY, out);
	json_decref(value);
	return good;
}

bool result_begin(const input_name *name, FILE *out)
{
	bool good = true;
	fputc('{', out);
	if (name->number > 0)
		fprintf(out, "\"input\":%" PRId64 ",", name->number);
	if (name->id) {
		good = put_id(name->id, name->id_bytes, out);
		fputc(',', out);
	}
	if (name->file) {
		good = put_file(name->file, out) && good;
		fputc(',', out);
	}
	return good;
}

bool result_put(const input_name *name, json_t *object, FILE *out)
{
	bool good = object && result_begin(name, out) &&
	            put_json_value(object, JSON_COMPACT | JSON_EMBED | JSON_REAL_PRECISION(9), out);
	fputs(good ? "}\n" : "\n", out);
	json_decref(object);
	return good;
}

bool result_put_error(const input_name *name, const char *reason, FILE *out)
{
	json_t *object = json_object();
	if (json_object_set_new(object, "error", text_json(reason)) != 0) {
		json_decref(object);
		object = NULL;
	}
	return result_put(name, object, out);
}
