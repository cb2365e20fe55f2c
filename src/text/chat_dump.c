/* chat_dump.c — tojson: as Python's json.dumps writes it. */
#include <stdio.h>
#include <string.h>

#include "text/chat_call.h"

#define INDENT_MOST 64

typedef struct dump {
	chat_run *r;
	chat_buffer out;
	int64_t indent; /* −1: in one line */
} dump;

static hec_status put(dump *d, const char *bytes, size_t n)
{
	return chat_put(d->r, &d->out, bytes, n);
}

static hec_status dump_text(dump *d, const char *s, size_t n)
{
	static const char named[] = "\"\\\n\r\t\b\f", letters[] = "\"\\nrtbf";
	HEC_TRY(put(d, "\"", 1));
	for (size_t i = 0; i < n; i++) {
		const char *found = s[i] ? strchr(named, s[i]) : NULL;
		char escape[8] = {'\\', found ? letters[found - named] : 0};
		if (found)
			HEC_TRY(put(d, escape, 2));
		else if ((unsigned char)s[i] < 0x20)
			HEC_TRY(put(d, escape,
			            (size_t)snprintf(escape, sizeof escape, "\\u%04x",
			                             (unsigned)(unsigned char)s[i])));
		else
			HEC_TRY(put(d, s + i, 1));
	}
	return put(d, "\"", 1);
}

static hec_status new_line(dump *d, int depth)
{
	if (d->indent < 0)
		return HEC_OK;
	HEC_TRY(put(d, "\n", 1));
	for (int64_t i = 0; i < d->indent * depth; i++)
		HEC_TRY(put(d, " ", 1));
	return HEC_OK;
}

static hec_status dump_value(dump *d, const json_t *v, int depth);

/* What stands before an item: a comma, a line. */
static hec_status before(dump *d, bool first, int depth)
{
	if (!first)
		HEC_TRY(put(d, ", ", d->indent < 0 ? 2 : 1));
	return new_line(d, depth);
}

static hec_status dump_list(dump *d, const json_t *v, int depth)
{
	size_t n = json_array_size(v);
	HEC_TRY(put(d, "[", 1));
	for (size_t i = 0; i < n; i++) {
		HEC_TRY(before(d, i == 0, depth + 1));
		HEC_TRY(dump_value(d, json_array_get(v, i), depth + 1));
	}
	if (n > 0)
		HEC_TRY(new_line(d, depth));
	return put(d, "]", 1);
}

static hec_status dump_dict(dump *d, const json_t *v, int depth)
{
	const char *key;
	json_t *value;
	bool first = true;
	HEC_TRY(put(d, "{", 1));
	json_object_foreach((json_t *)v, key, value)
	{
		HEC_TRY(before(d, first, depth + 1));
		HEC_TRY(dump_text(d, key, strlen(key)));
		HEC_TRY(put(d, ": ", 2));
		HEC_TRY(dump_value(d, value, depth + 1));
		first = false;
	}
	if (!first)
		HEC_TRY(new_line(d, depth));
	return put(d, "}", 1);
}

static hec_status dump_value(dump *d, const json_t *v, int depth)
{
	HEC_TRY(chat_charge(d->r, 1));
	if (json_is_string(v))
		return dump_text(d, json_string_value(v), json_string_length(v));
	if (json_is_array(v))
		return dump_list(d, v, depth);
	if (json_is_object(v))
		return dump_dict(d, v, depth);
	if (json_is_number(v)) {
		chat_value number = {VALUE_JSON, (json_t *)v, NULL};
		return chat_print(d->r, &d->out, &number);
	}
	const char *word = json_is_true(v) ? "true" : json_is_false(v) ? "false" : "null";
	return put(d, word, strlen(word));
}

hec_status chat_tojson(chat_run *r, const chat_call_of *c, chat_value *out)
{
	dump d = {.r = r, .indent = -1};
	if (c->on->kind != VALUE_JSON)
		return chat_wrong(r, "'tojson' of %s", chat_kind_name(c->on));
	if (chat_truth(&c->at[0]))
		return chat_unknown(r, "'tojson' with ensure_ascii is not known here");
	if (chat_is_whole(&c->at[1]))
		d.indent = json_integer_value(c->at[1].json);
	else if (chat_truth(&c->at[1]))
		return chat_unknown(r, "'tojson' with an indent of %s", chat_kind_name(&c->at[1]));
	if (d.indent < -1 || d.indent > INDENT_MOST)
		return chat_unknown(r, "'tojson' with an indent of %lld", (long long)d.indent);
	return chat_buffer_end(r, dump_value(&d, c->on->json, 0), &d.out, out);
}
