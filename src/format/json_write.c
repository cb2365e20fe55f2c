/* json_write.c — Jansson prints doubles with 17 digits (0.1 as 0.10000000000000001) or with so many
 * for all; a file that people read and that must give the same bits wants the shortest. So the tree
 * is Jansson's and the text is ours. */
#include "format/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_escape.h"
#include "base/memory.h"
#include "base/size.h"

#define DEPTH_MOST 64  /* of what we write ourselves */
#define LINE_VALUES 16 /* an array of at most so many plain values stays on one line */

typedef struct text {
	char *data;
	size_t size, room;
	bool failed;
} text;

static void put_bytes(text *t, const char *bytes, size_t n)
{
	size_t need, more;
	if (t->failed)
		return;
	if (!size_add(t->size, n, &need) || !size_add(need, 1, &need))
		t->failed = true;
	if (!t->failed && need > t->room) {
		char *bigger = size_mul(need, 2, &more) ? mem_resize(t->data, more) : NULL;
		if (bigger) {
			t->data = bigger;
			t->room = more;
		}
		t->failed = !bigger;
	}
	if (t->failed)
		return;
	memcpy(t->data + t->size, bytes, n);
	t->size += n;
	t->data[t->size] = '\0';
}

static void put_text(text *t, const char *s)
{
	put_bytes(t, s, strlen(s));
}

static void put_string(text *t, const char *s, size_t n)
{
	put_text(t, "\"");
	size_t from = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
			continue;
		char escaped[JSON_ESCAPE];
		json_escape(c, escaped);
		put_bytes(t, s + from, i - from);
		put_text(t, escaped);
		from = i + 1;
	}
	put_bytes(t, s + from, n - from);
	put_text(t, "\"");
}

static void put_real(text *t, double value)
{
	char digits[40];
	int first = 1; /* 60, not 6e+01 */
	for (double power = 10; fabs(value) >= power && first < 15; power *= 10)
		first++;
	for (int precision = first; precision <= 17; precision++) {
		snprintf(digits, sizeof digits, "%.*g", precision, value);
		if (strtod(digits, NULL) == value)
			break;
	}
	bool whole = true;
	for (char *c = digits; *c; c++) {
		if (!strchr("0123456789+-e", *c))
			*c = '.'; /* whatever the locale puts there */
		whole = whole && *c != '.' && *c != 'e';
	}
	put_text(t, digits);
	if (whole)
		put_text(t, ".0");
}

static void new_line(text *t, bool pretty, int depth)
{
	if (!pretty)
		return;
	put_text(t, "\n");
	for (int i = 0; i < depth; i++)
		put_text(t, "  ");
}

static bool on_one_line(const json_t *array)
{
	if (json_array_size(array) > LINE_VALUES)
		return false;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *value = json_array_get(array, i);
		if (json_is_array(value) || json_is_object(value))
			return false;
	}
	return true;
}

static hec_status put_value(text *t, const json_t *value, bool pretty, int depth);

static hec_status put_array(text *t, const json_t *array, bool pretty, int depth)
{
	bool lines = pretty && !on_one_line(array);
	put_text(t, "[");
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (i > 0)
			put_text(t, lines || !pretty ? "," : ", ");
		new_line(t, lines, depth + 1);
		HEC_TRY(put_value(t, json_array_get(array, i), pretty, depth + 1));
	}
	new_line(t, lines, depth);
	put_text(t, "]");
	return HEC_OK;
}

static hec_status put_object(text *t, const json_t *object, bool pretty, int depth)
{
	put_text(t, "{");
	bool first = true;
	for (void *i = json_object_iter((json_t *)object); i;
	     i = json_object_iter_next((json_t *)object, i), first = false) {
		if (!first)
			put_text(t, ",");
		new_line(t, pretty, depth + 1);
		put_string(t, json_object_iter_key(i), strlen(json_object_iter_key(i)));
		put_text(t, pretty ? ": " : ":");
		HEC_TRY(put_value(t, json_object_iter_value(i), pretty, depth + 1));
	}
	if (!first)
		new_line(t, pretty, depth);
	put_text(t, "}");
	return HEC_OK;
}

static hec_status put_value(text *t, const json_t *value, bool pretty, int depth)
{
	char digits[24];
	if (depth > DEPTH_MOST)
		return fail(HEC_ERR_ARGUMENT, "JSON nested more than %d deep is not written",
		            DEPTH_MOST);
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return put_object(t, value, pretty, depth);
	case JSON_ARRAY:
		return put_array(t, value, pretty, depth);
	case JSON_STRING:
		put_string(t, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
		snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
		put_text(t, digits);
		break;
	case JSON_REAL:
		put_real(t, json_real_value(value));
		break;
	case JSON_TRUE:
		put_text(t, "true");
		break;
	case JSON_FALSE:
		put_text(t, "false");
		break;
	case JSON_NULL:
		put_text(t, "null");
		break;
	}
	return HEC_OK;
}

hec_status json_text_make(const json_t *value, bool pretty, char **out, size_t *size)
{
	text t = {0};
	hec_status status = put_value(&t, value, pretty, 0);
	if (pretty)
		put_text(&t, "\n");
	if (status == HEC_OK && t.failed)
		status = fail(HEC_ERR_MEMORY, "no memory for a JSON text of %zu bytes", t.size);
	if (status != HEC_OK) {
		mem_free(t.data);
		return status;
	}
	*out = t.data;
	*size = t.size;
	return HEC_OK;
}

hec_status json_file_write(const char *path, const json_t *value)
{
	char *data;
	size_t size;
	hec_status status = json_text_make(value, true, &data, &size);
	if (status != HEC_OK)
		return fail_in(status, "%s", path);
	status = file_replace(path, data, size);
	mem_free(data);
	return status;
}

hec_status json_put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) != 0)
		return fail(HEC_ERR_MEMORY, "no memory for the JSON member '%s'", key);
	return HEC_OK;
}
