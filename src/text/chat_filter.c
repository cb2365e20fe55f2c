/* chat_filter.c — the filters, tests, methods and functions that chat templates use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/quote.h"
#include "text/chat_value.h"

#define RANGE_MOST 100000

static bool is_text(const chat_value *v)
{
	return v->kind == VALUE_JSON && json_is_string(v->json);
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

/* ---- texts ---- */

static bool is_one_of(char c, const char *set)
{
	return set ? c && strchr(set, c) : is_space(c);
}

/* side: 1 at the start, 2 at the end, 3 both. */
static hec_status strip(chat_run *r, const json_t *text, int side, const json_t *set,
                        chat_value *out)
{
	const char *s = json_string_value(text), *of = json_string_value(set);
	size_t begin = 0, end = json_string_length(text);
	while (side & 1 && begin < end && is_one_of(s[begin], of))
		begin++;
	while (side & 2 && end > begin && is_one_of(s[end - 1], of))
		end--;
	return chat_string(r, s + begin, end - begin, out);
}

/* ASCII only: other letters stay as they are. */
static hec_status change_case(chat_run *r, const json_t *text, const char *how, chat_value *out)
{
	size_t n = json_string_length(text);
	const char *s = json_string_value(text);
	char *made = malloc(n + 1);
	if (!made)
		return fail(HEC_ERR_MEMORY, "no memory for a text");
	bool start = true;
	for (size_t i = 0; i < n; i++) {
		bool letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z');
		bool up = *how == 'u' || (*how == 'c' && i == 0) || (*how == 't' && start);
		made[i] = letter ? (char)(up ? s[i] & ~0x20 : s[i] | 0x20) : s[i];
		start = !letter;
	}
	hec_status status = chat_string(r, made, n, out);
	free(made);
	return status;
}

static hec_status replace(chat_run *r, const json_t *text, const json_t *old, const json_t *new,
                          chat_value *out)
{
	if (!json_is_string(old) || !json_is_string(new) || json_string_length(old) == 0)
		return chat_wrong(r, "replace needs two texts, the first not empty");
	char *made = NULL;
	size_t n = 0, capacity = 0;
	const char *s = json_string_value(text), *found;
	hec_status status = chat_put(r, "", 0, &made, &n, &capacity);
	for (; status == HEC_OK && (found = strstr(s, json_string_value(old)));
	     s = found + json_string_length(old)) {
		status = chat_put(r, s, (size_t)(found - s), &made, &n, &capacity);
		if (status == HEC_OK)
			status = chat_put(r, json_string_value(new), json_string_length(new), &made,
			                  &n, &capacity);
		if (status == HEC_OK)
			status = chat_charge(r, 1);
	}
	if (status == HEC_OK)
		status = chat_put(r, s, strlen(s), &made, &n, &capacity);
	if (status == HEC_OK)
		status = chat_string(r, made, n, out);
	free(made);
	return status;
}

static hec_status append(json_t *list, json_t *value)
{
	return json_array_append_new(list, value) == 0
	               ? HEC_OK
	               : fail(HEC_ERR_MEMORY, "no memory for a list");
}

static hec_status split(chat_run *r, const json_t *text, const json_t *by, chat_value *out)
{
	const char *s = json_string_value(text), *sign = json_string_value(by);
	json_t *list = json_array();
	hec_status status = list ? chat_charge(r, json_string_length(text))
	                         : fail(HEC_ERR_MEMORY, "no memory for a list");
	if (sign && !*sign)
		status = chat_wrong(r, "split by an empty text");
	while (status == HEC_OK) {
		while (!sign && is_space(*s))
			s++;
		if (!sign && !*s)
			break;
		size_t n = 0;
		const char *found = sign ? strstr(s, sign) : NULL;
		if (sign)
			n = found ? (size_t)(found - s) : strlen(s);
		while (!sign && s[n] && !is_space(s[n]))
			n++;
		status = append(list, json_stringn(s, n));
		if (status == HEC_OK)
			status = chat_charge(r, 1);
		s += n;
		if (sign && !found)
			break;
		s += sign ? strlen(sign) : 0;
	}
	if (status == HEC_OK)
		return chat_json(r, list, out);
	json_decref(list);
	return status;
}

static hec_status indent(chat_run *r, const json_t *text, const json_t *width, const json_t *first,
                         chat_value *out)
{
	int64_t w = width ? json_integer_value(width) : 4;
	char *made = NULL;
	size_t n = 0, capacity = 0;
	hec_status status = w >= 0 && w <= 256 ? chat_put(r, "", 0, &made, &n, &capacity)
	                                       : chat_wrong(r, "indent by %lld", (long long)w);
	bool now = json_is_true(first);
	for (const char *s = json_string_value(text); *s && status == HEC_OK; s++) {
		for (int64_t i = 0; now && *s != '\n' && i < w && status == HEC_OK; i++)
			status = chat_put(r, " ", 1, &made, &n, &capacity);
		if (status == HEC_OK)
			status = chat_put(r, s, 1, &made, &n, &capacity);
		now = *s == '\n';
	}
	if (status == HEC_OK)
		status = chat_string(r, made, n, out);
	free(made);
	return status;
}

/* ---- tojson: as Python's json.dumps writes it ---- */

typedef struct dump {
	chat_run *r;
	char *text;
	size_t n, capacity;
	int64_t indent; /* −1: in one line */
} dump;

static hec_status dump_put(dump *d, const char *bytes, size_t n)
{
	return chat_put(d->r, bytes, n, &d->text, &d->n, &d->capacity);
}

static hec_status dump_text(dump *d, const char *s, size_t n)
{
	static const char named[] = "\"\\\n\r\t\b\f", letters[] = "\"\\nrtbf";
	HEC_TRY(dump_put(d, "\"", 1));
	for (size_t i = 0; i < n; i++) {
		const char *found = s[i] ? strchr(named, s[i]) : NULL;
		char escape[8] = {'\\', found ? letters[found - named] : 0};
		if (found)
			HEC_TRY(dump_put(d, escape, 2));
		else if ((unsigned char)s[i] < 0x20)
			HEC_TRY(dump_put(d, escape,
			                 (size_t)snprintf(escape, sizeof escape, "\\u%04x",
			                                  (unsigned)(unsigned char)s[i])));
		else
			HEC_TRY(dump_put(d, s + i, 1));
	}
	return dump_put(d, "\"", 1);
}

static hec_status dump_line(dump *d, int depth)
{
	if (d->indent < 0)
		return HEC_OK;
	HEC_TRY(dump_put(d, "\n", 1));
	for (int64_t i = 0; i < d->indent * depth; i++)
		HEC_TRY(dump_put(d, " ", 1));
	return HEC_OK;
}

static hec_status dump_value(dump *d, const json_t *v, int depth);

static hec_status dump_many(dump *d, const json_t *v, int depth)
{
	bool list = json_is_array(v), first = true;
	size_t n = list ? json_array_size(v) : json_object_size(v), i = 0;
	const char *comma = d->indent < 0 ? ", " : ",";
	HEC_TRY(dump_put(d, list ? "[" : "{", 1));
	void *at = list ? NULL : json_object_iter((json_t *)v);
	for (; list ? i < n : at != NULL; i++, first = false) {
		if (!first)
			HEC_TRY(dump_put(d, comma, strlen(comma)));
		HEC_TRY(dump_line(d, depth + 1));
		if (!list) {
			const char *key = json_object_iter_key(at);
			HEC_TRY(dump_text(d, key, strlen(key)));
			HEC_TRY(dump_put(d, ": ", 2));
		}
		HEC_TRY(dump_value(d, list ? json_array_get(v, i) : json_object_iter_value(at),
		                   depth + 1));
		if (!list)
			at = json_object_iter_next((json_t *)v, at);
	}
	if (!first)
		HEC_TRY(dump_line(d, depth));
	return dump_put(d, list ? "]" : "}", 1);
}

static hec_status dump_value(dump *d, const json_t *v, int depth)
{
	HEC_TRY(chat_charge(d->r, 1));
	if (json_is_string(v))
		return dump_text(d, json_string_value(v), json_string_length(v));
	if (json_is_array(v) || json_is_object(v))
		return dump_many(d, v, depth);
	if (json_is_number(v)) {
		chat_value number = {VALUE_JSON, (json_t *)v, NULL};
		return chat_print(d->r, &number, &d->text, &d->n, &d->capacity);
	}
	const char *word = json_is_true(v) ? "true" : json_is_false(v) ? "false" : "null";
	return dump_put(d, word, strlen(word));
}

static hec_status to_json(chat_run *r, const chat_value *on, const chat_arguments *a,
                          chat_value *out)
{
	const json_t *wide = chat_argument(a, 1, "indent");
	dump d = {.r = r, .indent = json_is_integer(wide) ? json_integer_value(wide) : -1};
	if (on->kind != VALUE_JSON || d.indent > 64)
		return chat_wrong(r, "tojson of %s", chat_kind_name(on));
	hec_status status = dump_value(&d, on->json, 0);
	if (status == HEC_OK)
		status = chat_string(r, d.text, d.n, out);
	free(d.text);
	return status;
}

/* ---- lists ---- */

static hec_status characters(chat_run *r, const json_t *text, json_t *list)
{
	const char *s = json_string_value(text);
	for (size_t i = 0, n; i < json_string_length(text); i += n) {
		for (n = 1; ((unsigned char)s[i + n] & 0xc0u) == 0x80u;)
			n++;
		HEC_TRY(chat_charge(r, 2));
		HEC_TRY(append(list, json_stringn(s + i, n)));
	}
	return HEC_OK;
}

/* kind: 'k' keys, 'v' values, 'i' both. */
static hec_status members(chat_run *r, const json_t *dict, char kind, json_t *list)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)dict, key, value)
	{
		HEC_TRY(chat_charge(r, 2));
		HEC_TRY(append(list, kind == 'k'   ? json_string(key)
		                     : kind == 'v' ? json_incref(value)
		                                   : json_pack("[s, O]", key, value)));
	}
	return HEC_OK;
}

static hec_status list_of(chat_run *r, const chat_value *on, char kind, chat_value *out)
{
	json_t *list = json_array();
	hec_status status = list ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a list");
	if (status != HEC_OK || on->kind == VALUE_UNDEFINED)
		;
	else if (on->kind == VALUE_JSON && json_is_array(on->json))
		status = json_array_extend(list, on->json) == 0
		                 ? HEC_OK
		                 : fail(HEC_ERR_MEMORY, "no memory for a list");
	else if (is_text(on))
		status = characters(r, on->json, list);
	else if (on->kind == VALUE_JSON && json_is_object(on->json))
		status = members(r, on->json, kind, list);
	else
		status = chat_wrong(r, "%s is no list", chat_kind_name(on));
	if (status == HEC_OK)
		return chat_json(r, list, out);
	json_decref(list);
	return status;
}

static hec_status join(chat_run *r, const json_t *list, const json_t *by, const json_t *attribute,
                       chat_value *out)
{
	char *text = NULL;
	size_t n = 0, capacity = 0, i;
	json_t *item;
	hec_status status = chat_put(r, "", 0, &text, &n, &capacity);
	json_array_foreach(list, i, item)
	{
		chat_value one = {VALUE_JSON, item, NULL};
		if (attribute)
			one.json = json_object_get(item, json_string_value(attribute));
		if (status == HEC_OK && i > 0 && json_is_string(by))
			status = chat_put(r, json_string_value(by), json_string_length(by), &text,
			                  &n, &capacity);
		if (status == HEC_OK && one.json)
			status = chat_print(r, &one, &text, &n, &capacity);
	}
	if (status == HEC_OK)
		status = chat_string(r, text, n, out);
	free(text);
	return status;
}

/* selectattr("role", "equalto", "user"), and map(attribute="content"). */
static hec_status pick(chat_run *r, const char *name, const json_t *list, const chat_arguments *a,
                       chat_value *out)
{
	bool map = *name == 'm';
	const json_t *attribute = chat_argument(a, map ? 9 : 0, "attribute");
	const json_t *test = map ? NULL : chat_argument(a, 1, "test");
	json_t *made = json_array(), *item;
	size_t i;
	hec_status status = made ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a list");
	if (status == HEC_OK && !json_is_string(attribute))
		status = chat_wrong(r, "%s without the name of an attribute", name);
	chat_arguments rest = {.n = 0};
	if (a->n > 2)
		rest = (chat_arguments){.at = {a->at[2]}, .n = 1};
	json_array_foreach(list, i, item)
	{
		chat_value on = {VALUE_JSON, item, NULL}, v;
		if (status == HEC_OK)
			status = chat_attribute(r, &on, json_string_value(attribute), &v);
		if (status != HEC_OK)
			break;
		bool keep = chat_truth(&v);
		if (json_is_string(test))
			status = chat_test(r, json_string_value(test), &v, &rest, &keep);
		if (status == HEC_OK && map)
			status = append(made, v.json ? json_incref(v.json) : json_null());
		else if (status == HEC_OK && keep == (*name == 's'))
			status = append(made, json_incref(item));
		chat_value_free(&v);
	}
	if (status == HEC_OK)
		return chat_json(r, made, out);
	json_decref(made);
	return status;
}

static hec_status unique(chat_run *r, const json_t *list, chat_value *out)
{
	json_t *made = json_array(), *item;
	size_t i;
	hec_status status = made ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a list");
	json_array_foreach(list, i, item)
	{
		bool known = false;
		for (size_t k = 0; k < json_array_size(made) && !known && status == HEC_OK; k++)
			status = chat_equal(r, json_array_get(made, k), item, &known);
		if (status == HEC_OK && !known)
			status = append(made, json_incref(item));
	}
	if (status == HEC_OK)
		return chat_json(r, made, out);
	json_decref(made);
	return status;
}

static hec_status list_filter(chat_run *r, const char *name, const json_t *list,
                              const chat_arguments *a, chat_value *out)
{
	size_t n = json_array_size(list);
	HEC_TRY(chat_charge(r, n));
	if (strcmp(name, "first") == 0 || strcmp(name, "last") == 0) {
		json_t *item = json_array_get(list, *name == 'f' ? 0 : n - 1);
		*out = item ? (chat_value){VALUE_JSON, json_incref(item), NULL}
		            : (chat_value){VALUE_UNDEFINED, NULL, NULL};
		return HEC_OK;
	}
	if (strcmp(name, "join") == 0)
		return join(r, list, chat_argument(a, 0, "d"), chat_argument(a, 1, "attribute"),
		            out);
	if (strcmp(name, "unique") == 0)
		return unique(r, list, out);
	if (strcmp(name, "reverse") == 0) {
		json_t *made = json_array();
		for (size_t i = n; made && i-- > 0;)
			if (json_array_append(made, json_array_get(list, i)) != 0) {
				json_decref(made);
				made = NULL;
			}
		return chat_json(r, made, out);
	}
	return pick(r, name, list, a, out);
}

/* ---- filters ---- */

static hec_status length_of(chat_run *r, const chat_value *on, chat_value *out)
{
	int64_t n = 0;
	if (on->kind == VALUE_UNDEFINED)
		n = 0;
	else if (on->kind == VALUE_JSON && json_is_array(on->json))
		n = (int64_t)json_array_size(on->json);
	else if (on->kind == VALUE_JSON && json_is_object(on->json))
		n = (int64_t)json_object_size(on->json);
	else if (is_text(on))
		for (size_t i = 0; i < json_string_length(on->json); i++)
			n += ((unsigned char)json_string_value(on->json)[i] & 0xc0u) != 0x80u;
	else
		return chat_wrong(r, "the length of %s", chat_kind_name(on));
	return chat_json(r, json_integer(n), out);
}

static hec_status to_string(chat_run *r, const chat_value *on, chat_value *out)
{
	char *text = NULL;
	size_t n = 0, capacity = 0;
	hec_status status = chat_put(r, "", 0, &text, &n, &capacity);
	if (status == HEC_OK)
		status = chat_print(r, on, &text, &n, &capacity);
	if (status == HEC_OK)
		status = chat_string(r, text, n, out);
	free(text);
	return status;
}

static hec_status to_int(chat_run *r, const chat_value *on, chat_value *out)
{
	int64_t n = 0;
	if (is_text(on))
		n = strtoll(json_string_value(on->json), NULL, 10);
	else if (on->kind == VALUE_JSON && json_is_integer(on->json))
		n = json_integer_value(on->json);
	else if (on->kind == VALUE_JSON && json_is_real(on->json) &&
	         json_real_value(on->json) > -9e18 && json_real_value(on->json) < 9e18)
		n = (int64_t)json_real_value(on->json);
	return chat_json(r, json_integer(n), out);
}

static hec_status text_filter(chat_run *r, const char *name, const json_t *text,
                              const chat_arguments *a, chat_value *out)
{
	if (strcmp(name, "trim") == 0)
		return strip(r, text, 3, chat_argument(a, 0, "chars"), out);
	if (strcmp(name, "replace") == 0)
		return replace(r, text, chat_argument(a, 0, "old"), chat_argument(a, 1, "new"),
		               out);
	if (strcmp(name, "indent") == 0)
		return indent(r, text, chat_argument(a, 0, "width"), chat_argument(a, 1, "first"),
		              out);
	return change_case(r, text, name, out);
}

hec_status chat_filter(chat_run *r, const char *name, const chat_value *on, const chat_arguments *a,
                       chat_value *out)
{
	static const char texts[] = " trim replace indent upper lower capitalize title ";
	static const char lists[] = " first last join reverse map selectattr rejectattr unique ";
	char word[32];
	chat_value made;
	snprintf(word, sizeof word, " %s ", name);
	if (strcmp(name, "default") == 0 || strcmp(name, "d") == 0) {
		const json_t *even = chat_argument(a, 1, "boolean");
		bool use = on->kind == VALUE_UNDEFINED || (json_is_true(even) && !chat_truth(on));
		*out = use ? (a->n ? a->at[0] : (chat_value){VALUE_JSON, NULL, NULL}) : *on;
		if (use && !a->n)
			return chat_string(r, "", 0, out);
		json_incref(out->json);
		return HEC_OK;
	}
	if (strcmp(name, "tojson") == 0)
		return to_json(r, on, a, out);
	if (strcmp(name, "length") == 0 || strcmp(name, "count") == 0)
		return length_of(r, on, out);
	if (strcmp(name, "string") == 0 || strcmp(name, "safe") == 0)
		return to_string(r, on, out);
	if (strcmp(name, "int") == 0)
		return to_int(r, on, out);
	if (strcmp(name, "list") == 0 || strcmp(name, "items") == 0)
		return list_of(r, on, *name == 'i' ? 'i' : 'k', out);
	if (strstr(lists, word)) {
		HEC_TRY(list_of(r, on, 'k', &made));
		hec_status status = list_filter(r, name, made.json, a, out);
		chat_value_free(&made);
		return status;
	}
	if (!strstr(texts, word))
		return chat_wrong(r, "the filter '%s' is not known here", name);
	/* As Jinja, they take anything that can be printed. */
	HEC_TRY(to_string(r, on, &made));
	hec_status status = text_filter(r, name, made.json, a, out);
	chat_value_free(&made);
	return status;
}

/* ---- tests ---- */

hec_status chat_test(chat_run *r, const char *name, const chat_value *on, const chat_arguments *a,
                     bool *out)
{
	const json_t *v = on->kind == VALUE_JSON ? on->json : NULL;
	bool whole = v && json_is_integer(v);
	const char *known = " defined undefined none string mapping iterable sequence true false "
			    "boolean number integer float odd even ";
	char word[32];
	snprintf(word, sizeof word, " %s ", name);
	if (strcmp(name, "equalto") == 0 || strcmp(name, "eq") == 0 || strcmp(name, "in") == 0) {
		const json_t *other = chat_argument(a, 0, "other");
		*out = false;
		if (!v || !other)
			return HEC_OK;
		if (*name != 'i')
			return chat_equal(r, v, other, out);
		for (size_t i = 0; i < json_array_size(other) && !*out; i++)
			HEC_TRY(chat_equal(r, v, json_array_get(other, i), out));
		return HEC_OK;
	}
	if (!strstr(known, word))
		return chat_wrong(r, "the test '%s' is not known here", name);
	*out = strcmp(name, "defined") == 0     ? on->kind != VALUE_UNDEFINED
	       : strcmp(name, "undefined") == 0 ? on->kind == VALUE_UNDEFINED
	       : strcmp(name, "none") == 0      ? v && json_is_null(v)
	       : strcmp(name, "string") == 0    ? v && json_is_string(v)
	       : strcmp(name, "mapping") == 0   ? v && json_is_object(v)
	       : strcmp(name, "true") == 0      ? v && json_is_true(v)
	       : strcmp(name, "false") == 0     ? v && json_is_false(v)
	       : strcmp(name, "boolean") == 0   ? v && json_is_boolean(v)
	       : strcmp(name, "number") == 0    ? v && (json_is_number(v) || json_is_boolean(v))
	       : strcmp(name, "integer") == 0   ? whole
	       : strcmp(name, "float") == 0     ? v && json_is_real(v)
	       : strcmp(name, "odd") == 0       ? whole && json_integer_value(v) % 2 != 0
	       : strcmp(name, "even") == 0      ? whole && json_integer_value(v) % 2 == 0
	                                        : on->kind == VALUE_UNDEFINED ||
	                                             (v && (json_is_string(v) || json_is_array(v) ||
	                                                    json_is_object(v)));
	return HEC_OK;
}

/* ---- methods and functions ---- */

bool chat_has_method(const json_t *on, const char *name)
{
	char word[32];
	snprintf(word, sizeof word, " %.28s ", name);
	if (json_is_string(on))
		return strstr(" strip lstrip rstrip split startswith endswith upper lower title "
		              "capitalize replace join ",
		              word);
	return json_is_object(on) && strstr(" items keys values get ", word);
}

static hec_status begins_or_ends(chat_run *r, const json_t *on, const json_t *with, bool begins,
                                 chat_value *out)
{
	size_t n = json_string_length(on), k = json_string_length(with);
	if (!json_is_string(with))
		return chat_wrong(r, "startswith and endswith need a text");
	const char *s = json_string_value(on) + (begins || k > n ? 0 : n - k);
	bool holds = k <= n && memcmp(s, json_string_value(with), k) == 0;
	return chat_json(r, json_boolean(holds), out);
}

hec_status chat_method(chat_run *r, const json_t *on, const char *name, const chat_arguments *a,
                       chat_value *out)
{
	const json_t *first = chat_argument(a, 0, "");
	chat_value self = {VALUE_JSON, (json_t *)on, NULL};
	if (json_is_object(on)) {
		if (strcmp(name, "get") != 0)
			return list_of(r, &self, *name, out);
		json_t *found = json_is_string(first)
		                        ? json_object_get(on, json_string_value(first))
		                        : NULL;
		const json_t *other = chat_argument(a, 1, "default");
		return chat_json(r,
		                 json_incref(found   ? found
		                             : other ? (json_t *)other
		                                     : json_null()),
		                 out);
	}
	if (strstr(name, "strip"))
		return strip(r, on, *name == 'l' ? 1 : *name == 'r' ? 2 : 3, first, out);
	if (strcmp(name, "split") == 0)
		return split(r, on, first, out);
	if (strcmp(name, "startswith") == 0 || strcmp(name, "endswith") == 0)
		return begins_or_ends(r, on, first, *name == 's', out);
	if (strcmp(name, "replace") == 0)
		return replace(r, on, first, chat_argument(a, 1, ""), out);
	if (strcmp(name, "join") == 0)
		return json_is_array(first) ? join(r, first, on, NULL, out)
		                            : chat_wrong(r, "join of what is no list");
	return change_case(r, on, name, out);
}

bool chat_has_function(const char *name)
{
	char word[32];
	snprintf(word, sizeof word, " %.28s ", name);
	return strstr(" range namespace raise_exception strftime_now dict ", word);
}

static hec_status range(chat_run *r, const chat_arguments *a, chat_value *out)
{
	int64_t part[3] = {0, 0, 1};
	for (int i = 0; i < a->n && i < 3; i++) {
		const json_t *v = chat_argument(a, i, "");
		if (!json_is_integer(v))
			return chat_wrong(r, "range of what is no whole number");
		part[a->n == 1 ? 1 : i] = json_integer_value(v);
	}
	if (a->n == 0 || part[2] == 0 || part[2] < -INT32_MAX || part[2] > INT32_MAX)
		return chat_wrong(r, "range with %d numbers", a->n);
	json_t *list = json_array();
	for (int64_t i = part[0]; list && (part[2] > 0 ? i < part[1] : i > part[1]); i += part[2])
		if (json_array_size(list) == RANGE_MOST ||
		    json_array_append_new(list, json_integer(i)) != 0) {
			json_decref(list);
			return chat_wrong(r, "a range of more than %d numbers", RANGE_MOST);
		}
	return chat_json(r, list, out);
}

/* namespace(a=1), dict(a=1) */
static hec_status make_space(chat_run *r, bool space, const chat_arguments *a, chat_value *out)
{
	json_t *object = json_object();
	hec_status status = object ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a namespace");
	for (int i = 0; i < a->n && status == HEC_OK; i++) {
		if (!a->name[i] || a->at[i].kind != VALUE_JSON)
			status = chat_wrong(r, "a namespace of values without names");
		else if (json_object_set(object, a->name[i], a->at[i].json) != 0)
			status = fail(HEC_ERR_MEMORY, "no memory for a namespace");
	}
	if (status != HEC_OK) {
		json_decref(object);
		return status;
	}
	HEC_TRY(chat_json(r, object, out));
	out->kind = space ? VALUE_SPACE : VALUE_JSON;
	return HEC_OK;
}

static hec_status now(chat_run *r, const json_t *format, chat_value *out)
{
	char text[256];
	time_t t = time(NULL);
	struct tm parts;
	if (!json_is_string(format) || !localtime_r(&t, &parts))
		return chat_wrong(r, "strftime_now without a format");
	size_t n = strftime(text, sizeof text, json_string_value(format), &parts);
	return chat_string(r, text, n, out);
}

hec_status chat_function(chat_run *r, const char *name, const chat_arguments *a, chat_value *out)
{
	char text[QUOTE_TEXT];
	if (strcmp(name, "raise_exception") == 0) {
		const char *what = json_string_value(chat_argument(a, 0, "message"));
		return fail(HEC_ERR_ARGUMENT, "chat template, line %zu: it refuses: %s", r->line,
		            quote(what ? what : "", text));
	}
	if (strcmp(name, "range") == 0)
		return range(r, a, out);
	if (strcmp(name, "strftime_now") == 0)
		return now(r, chat_argument(a, 0, "format"), out);
	return make_space(r, strcmp(name, "namespace") == 0, a, out);
}

hec_status chat_attribute(chat_run *r, const chat_value *on, const char *name, chat_value *out)
{
	*out = (chat_value){VALUE_UNDEFINED, NULL, NULL};
	if (on->kind == VALUE_UNDEFINED)
		return chat_wrong(r, "'%s' of what is undefined", name);
	if (on->kind != VALUE_JSON && on->kind != VALUE_SPACE)
		return HEC_OK;
	if (on->kind == VALUE_JSON && chat_has_method(on->json, name)) {
		*out = (chat_value){VALUE_METHOD, json_incref(on->json), name};
		return HEC_OK;
	}
	json_t *found = json_object_get(on->json, name);
	if (found)
		*out = (chat_value){VALUE_JSON, json_incref(found), NULL};
	else if (on->kind == VALUE_JSON && json_is_string(on->json))
		return chat_wrong(r, "a text has no '%s' that is known here", name);
	return HEC_OK;
}
