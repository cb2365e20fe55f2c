/* chat_value.c — what the values of a chat template have in common: truth, equality, printing. Each step
 * and each byte that is made is charged, so that a hostile template ends in a message. */
#include "text/chat_value.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/grow.h"

#define NESTED_MOST 64
#define ELEMENT 32 /* what an element of a list is charged: about its bytes */

void chat_value_free(chat_value *v)
{
	json_decref(v->json);
	*v = CHAT_UNDEFINED;
}

chat_value chat_shared(const json_t *json)
{
	return json ? (chat_value){VALUE_JSON, json_incref((json_t *)json), NULL} : CHAT_UNDEFINED;
}

hec_status chat_charge(chat_run *r, size_t units)
{
	if (units > (size_t)r->work) {
		r->work = 0;
		return fail(HEC_ERR_ARGUMENT,
		            "chat template, line %zu: takes more steps and memory than it may",
		            r->line);
	}
	r->work -= (int64_t)units;
	return HEC_OK;
}

static hec_status say(const chat_run *r, hec_status status, const char *format, va_list list)
{
	char what[256];
	vsnprintf(what, sizeof what, format, list);
	return fail(status, "chat template, line %zu: %s", r->line, what);
}

hec_status chat_wrong(const chat_run *r, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	hec_status status = say(r, HEC_ERR_ARGUMENT, format, list);
	va_end(list);
	return status;
}

hec_status chat_unknown(const chat_run *r, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	hec_status status = say(r, HEC_ERR_UNSUPPORTED, format, list);
	va_end(list);
	return status;
}

const char *chat_kind_name(const chat_value *v)
{
	switch (v->kind) {
	case VALUE_UNDEFINED:
		return "undefined";
	case VALUE_ONCE:
		return "a list that is made item by item";
	case VALUE_SPACE:
		return "a namespace";
	case VALUE_FUNCTION:
	case VALUE_METHOD:
		return "a function";
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
	size_t n = json_array_size(a);
	*equal = n == json_array_size(b);
	for (size_t i = 0; i < n && *equal; i++)
		HEC_TRY(chat_equal(r, json_array_get(a, i), json_array_get(b, i), equal));
	return HEC_OK;
}

hec_status chat_equal(chat_run *r, const json_t *a, const json_t *b, bool *equal)
{
	double x, y;
	HEC_TRY(chat_charge(r, 1));
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
	if (json_is_string(a)) {
		size_t n = json_string_length(a);
		*equal = n == json_string_length(b) &&
		         memcmp(json_string_value(a), json_string_value(b), n) == 0;
		return chat_charge(r, *equal ? n / 16 : 0);
	}
	if (!json_is_object(a))
		return HEC_OK;
	const char *key;
	json_t *value;
	*equal = json_object_size(a) == json_object_size(b);
	json_object_foreach((json_t *)a, key, value)
	{
		const json_t *other = json_object_get(b, key);
		if (!*equal)
			break;
		*equal = other != NULL;
		if (other)
			HEC_TRY(chat_equal(r, value, other, equal));
	}
	return HEC_OK;
}

/* Lists in lists come to an end: freeing them goes as deep as they are. */
static hec_status check_depth(chat_run *r, const json_t *v, int depth)
{
	const char *key;
	json_t *value;
	size_t i;
	HEC_TRY(chat_charge(r, 1));
	if (depth > NESTED_MOST)
		return chat_wrong(r, "lists and dicts are more than %d deep", NESTED_MOST);
	if (json_is_array(v))
		json_array_foreach(v, i, value) HEC_TRY(check_depth(r, value, depth + 1));
	if (json_is_object(v))
		json_object_foreach((json_t *)v, key, value)
			HEC_TRY(check_depth(r, value, depth + 1));
	return HEC_OK;
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
		*out = (chat_value){VALUE_JSON, json, NULL};
	else
		json_decref(json);
	return status;
}

hec_status chat_string(chat_run *r, const char *text, size_t n, chat_value *out)
{
	HEC_TRY(chat_charge(r, n));
	return chat_json(r, json_stringn(text, n), out);
}

hec_status chat_append(chat_run *r, json_t *list, json_t *value)
{
	size_t cost = ELEMENT + (json_is_string(value) ? json_string_length(value) : 0);
	hec_status status = chat_charge(r, cost);
	if (status != HEC_OK)
		json_decref(value);
	else if (json_array_append_new(list, value) != 0)
		status = fail(HEC_ERR_MEMORY, "no memory for a list of a chat template");
	return status;
}

hec_status chat_list_end(chat_run *r, hec_status status, json_t *list, chat_value *out)
{
	if (status == HEC_OK)
		return chat_json(r, list, out);
	json_decref(list);
	return status;
}

hec_status chat_put(chat_run *r, chat_buffer *b, const char *bytes, size_t n)
{
	HEC_TRY(chat_charge(r, n));
	HEC_TRY(GROW(&b->text, &b->capacity, b->n + n + 1));
	if (n > 0)
		memcpy(b->text + b->n, bytes, n);
	b->n += n;
	b->text[b->n] = '\0';
	return HEC_OK;
}

hec_status chat_buffer_end(chat_run *r, hec_status status, chat_buffer *b, chat_value *out)
{
	if (status == HEC_OK)
		status = chat_string(r, b->text ? b->text : "", b->n, out);
	free(b->text);
	return status;
}

hec_status chat_print(chat_run *r, chat_buffer *b, const chat_value *v)
{
	char digits[32];
	if (v->kind == VALUE_UNDEFINED)
		return HEC_OK;
	if (v->kind != VALUE_JSON || json_is_array(v->json) || json_is_object(v->json))
		return chat_unknown(r, "%s cannot be printed as text; there is the filter tojson",
		                    chat_kind_name(v));
	if (json_is_string(v->json))
		return chat_put(r, b, json_string_value(v->json), json_string_length(v->json));
	if (json_is_real(v->json)) {
		char *made;
		size_t bytes;
		HEC_TRY(json_text_make(v->json, false, &made, &bytes));
		hec_status status = chat_put(r, b, made, bytes);
		free(made);
		return status;
	}
	const char *word = json_is_true(v->json)    ? "True"
	                   : json_is_false(v->json) ? "False"
	                   : json_is_null(v->json)  ? "None"
	                                            : digits;
	snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(v->json));
	return chat_put(r, b, word, strlen(word));
}
