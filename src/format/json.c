/* json.c — reading on Jansson, whose parser is strict and linear. Four things it leaves to us: keys
 * with types and ranges, foreign text in its messages, whole numbers beyond int64, and how much memory
 * its tree takes: an empty object of three bytes takes 236. */
#include "format/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/quote.h"

#define PLACE_MOST ((size_t)1 << 30) /* Jansson counts in int */
/* A tree may take so many times the file, and this: a tokenizer.json without white space takes 20. */
#define TREE_TIMES 24
#define TREE_PLUS ((size_t)16 << 20)
#define TREE_OF_MOST 4 /* but not more than this times the largest file of its kind */

/* Line and column (in bytes) of text[at], from 1. */
static void find_place(const char *text, size_t at, size_t *line, size_t *column)
{
	*line = *column = 1;
	for (size_t i = 0; i < at; i++) {
		if (text[i] == '\n') {
			++*line;
			*column = 1;
		} else {
			++*column;
		}
	}
}

static hec_status fail_at(const char *file, const char *text, size_t at, const char *what)
{
	size_t line, column;
	char name[QUOTE_TEXT];
	find_place(text, at, &line, &column);
	return fail(HEC_ERR_FORMAT, "%s: line %zu, column %zu: %s", quote(file, name), line, column,
	            what);
}

/* Jansson's own columns count characters and start from 0 after a newline; ours are bytes. */
static hec_status fail_parse(const char *file, const char *text, size_t size, size_t from,
                             const json_error_t *error)
{
	char reason[QUOTE_TEXT], name[QUOTE_TEXT];
	/* Most of its failed allocations leave no text at all. */
	if (json_error_code(error) == json_error_out_of_memory || !*error->text)
		return fail(HEC_ERR_MEMORY, "%s: no memory to read it", quote(file, name));
	size_t at = error->position > 0 ? (size_t)error->position - 1 : 0;
	at = from + at < size ? from + at : size;
	return fail_at(file, text, at, quote(error->text, reason));
}

/* One value at text + from. whole: nothing may follow; else *used says where it ended. */
static hec_status read_value(const char *file, const char *text, size_t size, size_t from,
                             size_t most, bool whole, json_t **out, size_t *used)
{
	size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
	if (!whole)
		flags |= JSON_DISABLE_EOF_CHECK;
	/* Jansson leaves the code unset where it had no memory to begin with. */
	json_error_t error = {.line = 0};
	json_t *value = json_loadb(text + from, most, flags, &error);
	if (!value && json_error_code(&error) == json_error_numeric_overflow)
		value = json_loadb(text + from, most, flags | JSON_DECODE_INT_AS_REAL, &error);
	if (!value && most < size - from) {
		size_t line, column;
		char name[QUOTE_TEXT];
		find_place(text, from, &line, &column);
		return fail(HEC_ERR_FORMAT,
		            "%s: line %zu, column %zu: the value that begins here is not valid "
		            "within its first %zu bytes; longer ones are not read",
		            quote(file, name), line, column, most);
	}
	if (!value)
		return fail_parse(file, text, size, from, &error);
	*used = (size_t)error.position;
	*out = value;
	return HEC_OK;
}

static hec_status check_text(const char *file, const char *text, size_t size)
{
	char name[QUOTE_TEXT];
	if (size > PLACE_MOST)
		return fail(HEC_ERR_FORMAT, "%s: has %zu bytes; at most %zu are read as JSON",
		            quote(file, name), size, PLACE_MOST);
	/* Jansson passes over a zero byte that follows a number or a word. */
	const char *zero = size > 0 ? memchr(text, '\0', size) : NULL;
	return zero ? fail_at(file, text, (size_t)(zero - text), "a zero byte") : HEC_OK;
}

/* Memory that the tree of a text will take, and its values: by what Jansson 2.14 allocates for each
 * beginning of an object or a list, for each text, colon and comma, rounded up. Where the text is no
 * JSON, Jansson stops before it has made more. */
static size_t tree_bytes(const char *text, size_t size, size_t *values)
{
	size_t bytes = size;
	*values = 1;
	for (size_t i = 0; i < size; i++) {
		switch (text[i]) {
		case '{':
			bytes += 200;
			break;
		case '[':
			bytes += 124;
			break;
		case ':':
			bytes += 64;
			break;
		case ',':
			bytes += 44;
			++*values;
			break;
		case '"':
			bytes += 48;
			for (i++; i < size && text[i] != '"'; i++)
				i += text[i] == '\\';
			break;
		default:
			break;
		}
	}
	return bytes;
}

static hec_status check_tree(const char *file, const char *text, size_t size, size_t most)
{
	size_t values, bytes = tree_bytes(text, size, &values);
	size_t taken = TREE_PLUS + TREE_TIMES * size;
	taken = taken < TREE_OF_MOST * most ? taken : TREE_OF_MOST * most;
	char name[QUOTE_TEXT];
	if (bytes <= taken)
		return HEC_OK;
	return fail(
		HEC_ERR_FORMAT,
		"%s: its %zu bytes hold about %zu values, which would take %zu bytes of memory; "
		"at most %zu are taken",
		quote(file, name), size, values, bytes, taken);
}

hec_status json_text_read(const char *file, const char *text, size_t size, size_t most,
                          json_t **out)
{
	size_t used;
	HEC_TRY(check_text(file, text, size));
	HEC_TRY(check_tree(file, text, size, most < PLACE_MOST ? most : PLACE_MOST));
	return read_value(file, text, size, 0, size, true, out, &used);
}

hec_status json_file_read(const char *path, size_t most, json_t **out)
{
	char *text;
	size_t size;
	HEC_TRY(file_read(path, most < PLACE_MOST ? most : PLACE_MOST, &text, &size));
	hec_status status = json_text_read(path, text, size, most, out);
	mem_free(text);
	return status;
}

/* ---- typed members ---- */

static const char *kind_of(const json_t *value)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list", [JSON_STRING] = "a text",
		[JSON_TRUE] = "true",        [JSON_FALSE] = "false",  [JSON_NULL] = "null",
	};
	return names[json_typeof(value)];
}

hec_status json_wrong(const json_scope *s, const char *key, const json_t *value, const char *needed)
{
	char name[QUOTE_TEXT], word[QUOTE_TEXT], is[QUOTE_TEXT + 2];
	if (json_is_integer(value))
		snprintf(is, sizeof is, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(is, sizeof is, "%.17g", json_real_value(value));
	else
		snprintf(is, sizeof is, "%s", value ? kind_of(value) : "missing");
	return fail(HEC_ERR_FORMAT, "%s: '%s%s' is %s, %s is needed", quote(s->file, name), s->path,
	            quote(key, word), is, needed);
}

hec_status json_scope_root(const char *file, const json_t *root, json_scope *out)
{
	char name[QUOTE_TEXT];
	if (!json_is_object(root))
		return fail(HEC_ERR_FORMAT, "%s: holds %s, an object {…} is needed",
		            quote(file, name), json_is_number(root) ? "a number" : kind_of(root));
	*out = (json_scope){.file = file, .object = root};
	return HEC_OK;
}

hec_status json_object_read(const char *file, const char *text, size_t size, size_t most,
                            json_t **out)
{
	json_scope root;
	json_t *value = NULL;
	HEC_TRY(json_text_read(file, text, size, most, &value));
	hec_status status = json_scope_root(file, value, &root);
	if (status == HEC_OK)
		*out = value;
	else
		json_decref(value);
	return status;
}

/* The member, or NULL where it may be left out and is. */
static const json_t *find_member(const json_scope *s, const char *key, bool need)
{
	const json_t *value = json_object_get(s->object, key);
	return !need && json_is_null(value) ? NULL : value;
}

bool json_whole(const json_t *value, int64_t *out)
{
	if (json_is_integer(value)) {
		*out = json_integer_value(value);
		return true;
	}
	if (!json_is_real(value))
		return false;
	double real = json_real_value(value);
	if (fabs(real) > 0x1p53 || real != floor(real))
		return false;
	*out = (int64_t)real;
	return true;
}

static hec_status get_int(const json_scope *s, const char *key, bool need, int64_t least,
                          int64_t most, int64_t *out)
{
	const json_t *value = find_member(s, key, need);
	int64_t number;
	if (!value && !need)
		return HEC_OK;
	if (value && json_whole(value, &number) && number >= least && number <= most) {
		*out = number;
		return HEC_OK;
	}
	char needed[96];
	if (most == INT64_MAX)
		snprintf(needed, sizeof needed, "a whole number ≥ %lld", (long long)least);
	else
		snprintf(needed, sizeof needed, "a whole number from %lld to %lld",
		         (long long)least, (long long)most);
	return json_wrong(s, key, value, needed);
}

static hec_status get_double(const json_scope *s, const char *key, bool need, double least,
                             double most, double *out)
{
	const json_t *value = find_member(s, key, need);
	if (!value && !need)
		return HEC_OK;
	double number = json_number_value(value);
	if (json_is_number(value) && number >= least && number <= most) {
		*out = number;
		return HEC_OK;
	}
	char needed[96];
	if (isinf(least) && isinf(most))
		snprintf(needed, sizeof needed, "a number");
	else if (isinf(most))
		snprintf(needed, sizeof needed, "a number ≥ %g", least);
	else
		snprintf(needed, sizeof needed, "a number from %g to %g", least, most);
	return json_wrong(s, key, value, needed);
}

static hec_status get_bool(const json_scope *s, const char *key, bool need, bool *out)
{
	const json_t *value = find_member(s, key, need);
	if (!value && !need)
		return HEC_OK;
	if (!json_is_boolean(value))
		return json_wrong(s, key, value, "true or false");
	*out = json_is_true(value);
	return HEC_OK;
}

static hec_status get_string(const json_scope *s, const char *key, bool need, const char **out)
{
	const json_t *value = find_member(s, key, need);
	if (!value && !need)
		return HEC_OK;
	if (!json_is_string(value))
		return json_wrong(s, key, value, "a text");
	*out = json_string_value(value);
	return HEC_OK;
}

static hec_status get_array(const json_scope *s, const char *key, bool need, json_t **out)
{
	const json_t *value = find_member(s, key, need);
	if (!value && !need)
		return HEC_OK;
	if (!json_is_array(value))
		return json_wrong(s, key, value, "a list");
	*out = (json_t *)value;
	return HEC_OK;
}

hec_status json_need_int(const json_scope *s, const char *key, int64_t least, int64_t most,
                         int64_t *out)
{
	return get_int(s, key, true, least, most, out);
}

hec_status json_want_int(const json_scope *s, const char *key, int64_t least, int64_t most,
                         int64_t *out)
{
	return get_int(s, key, false, least, most, out);
}

hec_status json_need_double(const json_scope *s, const char *key, double least, double most,
                            double *out)
{
	return get_double(s, key, true, least, most, out);
}

hec_status json_want_double(const json_scope *s, const char *key, double least, double most,
                            double *out)
{
	return get_double(s, key, false, least, most, out);
}

hec_status json_need_bool(const json_scope *s, const char *key, bool *out)
{
	return get_bool(s, key, true, out);
}

hec_status json_want_bool(const json_scope *s, const char *key, bool *out)
{
	return get_bool(s, key, false, out);
}

hec_status json_need_string(const json_scope *s, const char *key, const char **out)
{
	return get_string(s, key, true, out);
}

hec_status json_want_string(const json_scope *s, const char *key, const char **out)
{
	return get_string(s, key, false, out);
}

hec_status json_need_array(const json_scope *s, const char *key, json_t **out)
{
	return get_array(s, key, true, out);
}

hec_status json_want_array(const json_scope *s, const char *key, json_t **out)
{
	return get_array(s, key, false, out);
}

hec_status json_need_object(const json_scope *s, const char *key, json_scope *out)
{
	const json_t *value = json_object_get(s->object, key);
	if (!json_is_object(value))
		return json_wrong(s, key, value, "an object {…}");
	json_scope inner = {.file = s->file, .object = value};
	char word[QUOTE_TEXT];
	snprintf(inner.path, sizeof inner.path, "%.40s%.50s.", s->path, quote(key, word));
	*out = inner;
	return HEC_OK;
}

hec_status json_want_object(const json_scope *s, const char *key, json_scope *out, bool *found)
{
	*found = find_member(s, key, false) != NULL;
	return *found ? json_need_object(s, key, out) : HEC_OK;
}

/* ---- members one by one ---- */

void json_members_begin(json_members *m, const char *file, const char *text, size_t size)
{
	*m = (json_members){.file = file, .text = text, .size = size};
}

static void drop_member(json_members *m)
{
	mem_free(m->key);
	m->key = NULL;
	json_decref(m->value);
	m->value = NULL;
}

void json_members_end(json_members *m)
{
	drop_member(m);
}

/* The next character that is no white space; '\0' (which is none of JSON's) at the end. */
static char next_sign(json_members *m)
{
	while (m->at < m->size && strchr(" \t\n\r", m->text[m->at]) && m->text[m->at])
		m->at++;
	return m->at < m->size ? m->text[m->at] : '\0';
}

static hec_status expect_sign(json_members *m, char c)
{
	char what[48];
	snprintf(what, sizeof what, "'%c' is expected here", c);
	if (next_sign(m) != c)
		return fail_at(m->file, m->text, m->at, what);
	m->at++;
	return HEC_OK;
}

static hec_status one_value(json_members *m, size_t most, json_t **out)
{
	size_t used = 0, rest = m->size - m->at;
	HEC_TRY(read_value(m->file, m->text, m->size, m->at, most < rest ? most : rest, false, out,
	                   &used));
	m->at += used;
	return HEC_OK;
}

static hec_status one_key(json_members *m)
{
	json_t *key = NULL;
	if (next_sign(m) != '"')
		return fail_at(m->file, m->text, m->at, "a key in quotes is expected here");
	HEC_TRY(one_value(m, SIZE_MAX, &key));
	size_t bytes = json_string_length(key) + 1;
	m->key = mem_alloc(bytes);
	if (m->key)
		memcpy(m->key, json_string_value(key), bytes);
	json_decref(key);
	return m->key ? HEC_OK : fail(HEC_ERR_MEMORY, "%s: no memory for a key", m->file);
}

hec_status json_members_next(json_members *m, bool *more)
{
	drop_member(m);
	*more = false;
	bool first = !m->begun;
	if (first && !m->inside)
		HEC_TRY(check_text(m->file, m->text, m->size));
	if (first)
		HEC_TRY(expect_sign(m, '{'));
	m->begun = true;
	if (next_sign(m) == '}') {
		m->at++;
		if (!m->inside && (next_sign(m) != '\0' || m->at < m->size))
			return fail_at(m->file, m->text, m->at, "the text should end here");
		return HEC_OK;
	}
	if (!first)
		HEC_TRY(expect_sign(m, ','));
	HEC_TRY(one_key(m));
	HEC_TRY(expect_sign(m, ':'));
	*more = true;
	return HEC_OK;
}

hec_status json_members_value(json_members *m, size_t most)
{
	/* A text takes no more memory than its own length. */
	return one_value(m, next_sign(m) == '"' ? SIZE_MAX : most, &m->value);
}

void json_members_enter(const json_members *m, json_members *inner)
{
	*inner = *m;
	inner->key = NULL;
	inner->value = NULL;
	inner->begun = false;
	inner->inside = true;
}

void json_members_leave(json_members *m, json_members *inner)
{
	m->at = inner->at;
	drop_member(inner);
}
