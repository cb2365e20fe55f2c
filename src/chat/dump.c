/* dump.c — tojson: as Python's json.dumps writes it. */
#include "base/json_escape.h"
#include "chat/call.h"

#include "chat/charged.h"

#define MAX_INDENT 64

typedef struct dump {
	chat_run *r;
	chat_buffer out;
	int64_t indent; /* −1: in one line */
} dump;

static hec_status put_bytes(dump *d, const char *bytes, size_t n)
{
	return chat_put(d->r, &d->out, bytes, n);
}

static hec_status dump_text(dump *d, const char *s, size_t n)
{
	char escaped[JSON_ESCAPE];
	HEC_TRY(put_bytes(d, "\"", 1));
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i;
		     end < n && (unsigned char)s[end] >= 0x20 && s[end] != '"' && s[end] != '\\';)
			end++;
		HEC_TRY(put_bytes(d, s + i, end - i));
		if (end < n) {
			HEC_TRY(chat_charge(d->r, CHAT_FORMAT));
			HEC_TRY(put_bytes(d, escaped,
			                  json_escape((unsigned char)s[end++], escaped)));
		}
	}
	return put_bytes(d, "\"", 1);
}

static hec_status put_new_line(dump *d, int depth)
{
	if (d->indent < 0)
		return HEC_OK;
	HEC_TRY(put_bytes(d, "\n", 1));
	for (int64_t i = 0; i < d->indent * depth; i++)
		HEC_TRY(put_bytes(d, " ", 1));
	return HEC_OK;
}

static hec_status dump_value(dump *d, const json_t *v, int depth);

/* The comma and the new line before an item. */
static hec_status put_separator(dump *d, bool first, int depth)
{
	if (!first)
		HEC_TRY(put_bytes(d, ", ", d->indent < 0 ? 2 : 1));
	return put_new_line(d, depth);
}

static hec_status dump_list(dump *d, const json_t *v, int depth)
{
	json_t *item;
	hec_status status = put_bytes(d, "[", 1);
	for (size_t i = 0; chat_each(d->r, v, i, &item, &status); i++) {
		status = put_separator(d, i == 0, depth + 1);
		if (status == HEC_OK)
			status = dump_value(d, item, depth + 1);
	}
	if (status == HEC_OK && json_array_size(v) > 0)
		status = put_new_line(d, depth);
	return status == HEC_OK ? put_bytes(d, "]", 1) : status;
}

static hec_status dump_member(dump *d, const chat_members_of *m, int depth)
{
	HEC_TRY(dump_text(d, m->key, m->bytes));
	HEC_TRY(put_bytes(d, ": ", 2));
	return dump_value(d, m->value, depth);
}

static hec_status dump_dict(dump *d, const json_t *v, int depth)
{
	chat_members_of m = {.dict = (json_t *)v};
	hec_status status = put_bytes(d, "{", 1);
	for (bool first = true; chat_each_member(d->r, &m, &status); first = false) {
		status = put_separator(d, first, depth + 1);
		if (status == HEC_OK)
			status = dump_member(d, &m, depth + 1);
	}
	if (status == HEC_OK && json_object_size(v) > 0)
		status = put_new_line(d, depth);
	return status == HEC_OK ? put_bytes(d, "}", 1) : status;
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
		chat_value number = {.kind = VALUE_JSON, .json = (json_t *)v};
		return chat_print(d->r, &d->out, &number);
	}
	return json_is_true(v)    ? put_bytes(d, "true", 4)
	       : json_is_false(v) ? put_bytes(d, "false", 5)
	                          : put_bytes(d, "null", 4);
}

hec_status chat_tojson(chat_run *r, const chat_call_of *c, chat_value *out)
{
	dump d = {.r = r, .indent = -1};
	if (c->on->kind != VALUE_JSON)
		return chat_wrong(r, "'tojson' of %s", chat_kind_name(c->on));
	if (chat_truth(&c->at[0]))
		return chat_unknown(r, "'tojson' with ensure_ascii is not supported");
	if (chat_is_whole(&c->at[1]))
		d.indent = json_integer_value(c->at[1].json);
	else if (chat_truth(&c->at[1]))
		return chat_unknown(r, "'tojson' with an indent of %s", chat_kind_name(&c->at[1]));
	if (d.indent < -1 || d.indent > MAX_INDENT)
		return chat_unknown(r, "'tojson' with an indent of %lld", (long long)d.indent);
	return chat_buffer_end(r, dump_value(&d, c->on->json, 0), &d.out, out);
}
