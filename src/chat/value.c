/* value.c — truth, equality and printing of the values of a chat template. */
#include "chat/work.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "chat/charged.h"

#define MAX_NESTED 64

void chat_value_free(chat_value *v)
{
	json_decref(v->json);
	*v = CHAT_UNDEFINED;
}

chat_value chat_shared(const json_t *json)
{
	return json ? (chat_value){.kind = VALUE_JSON, .json = json_incref((json_t *)json)}
	            : CHAT_UNDEFINED;
}

static hec_status fail_at_line(const chat_run *r, hec_status status, const char *format,
                               va_list list)
{
	char what[256];
	vsnprintf(what, sizeof what, format, list);
	return fail(status, "chat template, line %zu: %s", r->line, what);
}

hec_status chat_wrong(const chat_run *r, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	hec_status status = fail_at_line(r, HEC_ERR_ARGUMENT, format, list);
	va_end(list);
	return status;
}

hec_status chat_unknown(const chat_run *r, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	hec_status status = fail_at_line(r, HEC_ERR_UNSUPPORTED, format, list);
	va_end(list);
	return status;
}

const char *chat_kind_name(const chat_value *v)
{
	switch (v->kind) {
	case VALUE_UNDEFINED:
		return "undefined";
	case VALUE_ONCE:
		return "a generator";
	case VALUE_SPACE:
		return "a namespace";
	case VALUE_FUNCTION:
	case VALUE_METHOD:
		return "a function";
	case VALUE_TURN:
		return "a dict";
	case VALUE_JSON:
		break;
	}
	switch (json_typeof(v->json)) {
	case JSON_STRING:
		return "a text";
	case JSON_ARRAY:
		return "a list";
	case JSON_OBJECT:
		return "a dict";
	case JSON_NULL:
		return "none";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a truth value";
	default:
		return "a number";
	}
}

bool chat_truth(const chat_value *v)
{
	if (v->kind != VALUE_JSON)
		return v->kind != VALUE_UNDEFINED;
	switch (json_typeof(v->json)) {
	case JSON_STRING:
		return json_string_length(v->json) > 0;
	case JSON_ARRAY:
		return json_array_size(v->json) > 0;
	case JSON_OBJECT:
		return json_object_size(v->json) > 0;
	case JSON_INTEGER:
		return json_integer_value(v->json) != 0;
	case JSON_REAL:
		return json_real_value(v->json) != 0;
	default:
		return json_is_true(v->json);
	}
}

static bool as_number(const json_t *v, double *out)
{
	*out = json_is_true(v) ? 1 : json_is_false(v) ? 0 : json_number_value(v);
	return json_is_number(v) || json_is_boolean(v);
}

static hec_status equal_lists(chat_run *r, const json_t *a, const json_t *b, bool *equal)
{
	json_t *one;
	hec_status status = HEC_OK;
	*equal = json_array_size(a) == json_array_size(b);
	for (size_t i = 0; *equal && chat_each(r, a, i, &one, &status); i++) {
		json_t *other;
		if (chat_each(r, b, i, &other, &status))
			status = chat_equal(r, one, other, equal);
	}
	return status;
}

static hec_status equal_dicts(chat_run *r, const json_t *a, const json_t *b, bool *equal)
{
	chat_members_of m = {.dict = (json_t *)a};
	hec_status status = HEC_OK;
	*equal = json_object_size(a) == json_object_size(b);
	while (*equal && chat_each_member(r, &m, &status)) {
		json_t *other;
		status = chat_member(r, b, m.key, m.bytes, &other);
		*equal = other != NULL;
		if (status == HEC_OK && other)
			status = chat_equal(r, m.value, other, equal);
	}
	return status;
}

hec_status chat_equal(chat_run *r, const json_t *a, const json_t *b, bool *equal)
{
	double x, y;
	HEC_TRY(chat_charge(r, CHAT_TOUCH));
	if (as_number(a, &x) && as_number(b, &y)) {
		*equal = json_is_integer(a) && json_is_integer(b)
		                 ? json_integer_value(a) == json_integer_value(b)
		                 : x == y;
		return HEC_OK;
	}
	*equal = json_typeof(a) == json_typeof(b);
	if (!*equal)
		return HEC_OK;
	if (json_is_array(a))
		return equal_lists(r, a, b, equal);
	if (json_is_object(a))
		return equal_dicts(r, a, b, equal);
	return json_is_string(a)
	               ? chat_same_text(r, json_string_value(a), json_string_length(a),
	                                json_string_value(b), json_string_length(b), equal)
	               : HEC_OK;
}

/* Limits how deep lists are nested, since freeing them is recursive. */
static hec_status check_depth(chat_run *r, const json_t *v, int depth)
{
	chat_members_of m = {.dict = json_is_object(v) ? (json_t *)v : NULL};
	json_t *item;
	hec_status status = HEC_OK;
	if (depth > MAX_NESTED)
		return chat_wrong(r, "lists and dicts are more than %d deep", MAX_NESTED);
	for (size_t i = 0; chat_each(r, v, i, &item, &status); i++)
		status = check_depth(r, item, depth + 1);
	while (chat_each_member(r, &m, &status))
		status = check_depth(r, m.value, depth + 1);
	return status;
}

hec_status chat_json(chat_run *r, json_t *json, chat_value *out)
{
	*out = CHAT_UNDEFINED;
	if (!json)
		return fail(HEC_ERR_MEMORY, "no memory for a value of a chat template");
	hec_status status = chat_charge(r, 1);
	if (status == HEC_OK && (json_is_array(json) || json_is_object(json)))
		status = check_depth(r, json, 0);
	if (status == HEC_OK)
		*out = (chat_value){.kind = VALUE_JSON, .json = json};
	else
		json_decref(json);
	return status;
}

hec_status chat_list_end(chat_run *r, hec_status status, json_t *list, chat_value *out)
{
	if (status == HEC_OK)
		return chat_json(r, list, out);
	json_decref(list);
	return status;
}

hec_status chat_buffer_end(chat_run *r, hec_status status, chat_buffer *b, chat_value *out)
{
	if (status == HEC_OK)
		status = chat_string(r, b->text ? b->text : "", b->n, out);
	mem_free(b->text);
	return status;
}

static hec_status print_real(chat_run *r, chat_buffer *b, const json_t *number)
{
	char *made;
	size_t bytes;
	HEC_TRY(chat_charge(r, CHAT_FORMAT));
	HEC_TRY(json_text_make(number, false, &made, &bytes));
	hec_status status = chat_put(r, b, made, bytes);
	mem_free(made);
	return status;
}

hec_status chat_print(chat_run *r, chat_buffer *b, const chat_value *v)
{
	char word[32];
	if (v->kind == VALUE_UNDEFINED)
		return HEC_OK;
	if (v->kind != VALUE_JSON || json_is_array(v->json) || json_is_object(v->json))
		return chat_unknown(r, "%s cannot be printed as text; there is the filter tojson",
		                    chat_kind_name(v));
	if (json_is_string(v->json))
		return chat_put(r, b, json_string_value(v->json), json_string_length(v->json));
	if (json_is_real(v->json))
		return print_real(r, b, v->json);
	HEC_TRY(chat_charge(r, CHAT_FORMAT));
	int n = json_is_integer(v->json) ? snprintf(word, sizeof word, "%lld",
	                                            (long long)json_integer_value(v->json))
	                                 : snprintf(word, sizeof word, "%s",
	                                            json_is_true(v->json)    ? "True"
	                                            : json_is_false(v->json) ? "False"
	                                                                     : "None");
	return chat_put(r, b, word, (size_t)n);
}
