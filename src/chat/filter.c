/* filter.c — the filters, tests, methods and functions of chat templates: tables of their names and parameters. An
 * argument that is not in the table is refused, never ignored. */
#include <time.h>

#include "base/quote.h"
#include "chat/call.h"

#include "chat/charged.h"

/* ---- small ones ---- */

static hec_status use_default(chat_run *r, const chat_call_of *c, chat_value *out)
{
	bool use = c->on->kind == VALUE_UNDEFINED || (chat_truth(&c->at[1]) && !chat_truth(c->on));
	if (use && c->all->n == 0)
		return chat_string(r, "", 0, out);
	*out = use ? c->at[0] : *c->on;
	json_incref(out->json);
	return HEC_OK;
}

static hec_status count_items(chat_run *r, const chat_call_of *c, chat_value *out)
{
	const json_t *v = c->on->json;
	size_t n = 0;
	if (chat_is_text(c->on))
		HEC_TRY(chat_count(r, v, &n));
	else if (chat_is_list(c->on) || chat_is_dict(c->on))
		n = json_is_array(v) ? json_array_size(v) : json_object_size(v);
	else if (c->on->kind != VALUE_UNDEFINED)
		return chat_wrong(r, "'length' of %s", chat_kind_name(c->on));
	return chat_json(r, json_integer((json_int_t)n), out);
}

/* A text of digits, perhaps with a sign and spaces around it. Jinja reads more than that. */
static hec_status read_int(chat_run *r, const char *text, size_t bytes, int64_t *out)
{
	const char *at = text, *end = text + bytes;
	HEC_TRY(chat_read(r, bytes));
	while (at < end && *at == ' ')
		at++;
	while (at < end && end[-1] == ' ')
		end--;
	const bool minus = at < end && *at == '-';
	int64_t n = 0; /* below zero, where one more number fits */
	at += at < end && (*at == '-' || *at == '+');
	if (at == end)
		return chat_unknown(r, "'int' of a text that is no whole number");
	for (; at < end; at++) {
		if (*at < '0' || *at > '9')
			return chat_unknown(r, "'int' of a text that is no whole number");
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_sub_overflow(n, *at - '0', &n))
			return chat_unknown(r, "a number beyond 64 bits");
	}
	return __builtin_mul_overflow(n, minus ? 1 : -1, out)
	               ? chat_unknown(r, "a number beyond 64 bits")
	               : HEC_OK;
}

static hec_status to_int(chat_run *r, const chat_call_of *c, chat_value *out)
{
	if (chat_is_whole(c->on)) {
		*out = chat_shared(c->on->json);
		return HEC_OK;
	}
	if (!chat_is_text(c->on))
		return chat_unknown(r, "'int' of %s", chat_kind_name(c->on));
	int64_t n = 0;
	HEC_TRY(read_int(r, json_string_value(c->on->json), json_string_length(c->on->json), &n));
	return chat_json(r, json_integer(n), out);
}

/* chat_filter has made the value a text or a list already. */
static hec_status return_value(chat_run *r, const chat_call_of *c, chat_value *out)
{
	(void)r;
	*out = chat_shared(c->on->json);
	return HEC_OK;
}

static hec_status get_member(chat_run *r, const chat_call_of *c, chat_value *out)
{
	json_t *found = NULL;
	const json_t *key = c->at[0].json;
	if (chat_is_text(&c->at[0]))
		HEC_TRY(chat_member(r, c->on->json, json_string_value(key), json_string_length(key),
		                    &found));
	*out = chat_shared(found ? found : c->all->n > 1 ? c->at[1].json : json_null());
	return HEC_OK;
}

static hec_status raise_exception(chat_run *r, const chat_call_of *c, chat_value *out)
{
	char text[QUOTE_TEXT];
	(void)out;
	const char *what = chat_is_text(&c->at[0]) ? json_string_value(c->at[0].json) : "";
	return chat_wrong(r, "it refuses: %s", quote(what, text));
}

static hec_status write_time_now(chat_run *r, const chat_call_of *c, chat_value *out)
{
	char text[256];
	time_t t = time(NULL);
	struct tm parts;
	size_t n = 0;
	HEC_TRY(chat_charge(r, sizeof text + CHAT_TIME * json_string_length(c->at[0].json)));
	if (chat_is_text(&c->at[0]) && localtime_r(&t, &parts))
		n = strftime(text, sizeof text, json_string_value(c->at[0].json), &parts);
	return n ? chat_string(r, text, n, out)
	         : chat_wrong(r, "'strftime_now' needs a format of a short text");
}

static hec_status create_namespace(chat_run *r, const chat_call_of *c, chat_value *out)
{
	json_t *object = json_object();
	hec_status status = HEC_OK;
	for (int i = 0; i < c->all->n && status == HEC_OK; i++) {
		const chat_value *v = &c->all->at[i];
		const json_t *name = c->all->name[i];
		status = name && v->kind == VALUE_JSON
		                 ? chat_put_member(r, object, json_string_value(name),
		                                   json_string_length(name), json_incref(v->json))
		                 : chat_unknown(r, "a namespace of values without names");
	}
	HEC_TRY(chat_list_end(r, status, object, out));
	out->kind = VALUE_SPACE;
	return HEC_OK;
}

/* ---- tables ---- */

typedef enum takes { TAKES_ANY, TAKES_TEXT, TAKES_LIST } takes;

typedef struct known {
	const char *name;
	chat_do *run;
	const char *parameters; /* in order; "=x": by name only; "*": any names */
	int how;
	takes on; /* a filter: its value is made into this first */
} known;

static const known filters[] = {
	{"trim", chat_strip, "chars", STRIP_BOTH, TAKES_TEXT},
	{"upper", chat_case, "", CASE_UPPER, TAKES_TEXT},
	{"lower", chat_case, "", CASE_LOWER, TAKES_TEXT},
	{"capitalize", chat_case, "", CASE_FIRST, TAKES_TEXT},
	{"title", chat_case, "", CASE_WORDS, TAKES_TEXT},
	{"replace", chat_replace, "old new", 0, TAKES_TEXT},
	{"string", return_value, "", 0, TAKES_TEXT},
	{"safe", return_value, "", 0, TAKES_TEXT},
	{"list", return_value, "", 0, TAKES_LIST},
	{"first", chat_end, "", AT_START, TAKES_LIST},
	{"last", chat_end, "", AT_END, TAKES_LIST},
	{"join", chat_join, "d", 0, TAKES_LIST},
	{"map", chat_map, "=attribute", 0, TAKES_LIST},
	{"select", chat_choose, "test value", KEEP_THOSE, TAKES_LIST},
	{"reject", chat_choose, "test value", 0, TAKES_LIST},
	{"selectattr", chat_choose, "attribute test value", KEEP_THOSE | BY_ATTRIBUTE, TAKES_LIST},
	{"rejectattr", chat_choose, "attribute test value", BY_ATTRIBUTE, TAKES_LIST},
	{"items", chat_members, "", MEMBER_BOTH_ONCE, TAKES_ANY},
	{"reverse", chat_reverse, "", 0, TAKES_ANY},
	{"default", use_default, "default_value boolean", 0, TAKES_ANY},
	{"length", count_items, "", 0, TAKES_ANY},
	{"int", to_int, "", 0, TAKES_ANY},
	{"tojson", chat_tojson, "ensure_ascii indent", 0, TAKES_ANY},
	{0},
};

static const known text_methods[] = {
	{"strip", chat_strip, "chars", STRIP_BOTH, 0},
	{"lstrip", chat_strip, "chars", STRIP_LEFT, 0},
	{"rstrip", chat_strip, "chars", STRIP_RIGHT, 0},
	{"split", chat_split, "sep maxsplit", 0, 0},
	{"startswith", chat_has_end, "prefix", AT_START, 0},
	{"endswith", chat_has_end, "suffix", AT_END, 0},
	{"upper", chat_case, "", CASE_UPPER, 0},
	{"lower", chat_case, "", CASE_LOWER, 0},
	{"title", chat_case, "", CASE_LETTERS, 0},
	{"capitalize", chat_case, "", CASE_FIRST, 0},
	{"replace", chat_replace, "old new", 0, 0},
	{"join", chat_join_method, "list", 0, 0},
	{0},
};

static const known dict_methods[] = {
	{"items", chat_members, "", MEMBER_BOTH, 0},
	{"keys", chat_members, "", MEMBER_KEY, 0},
	{"values", chat_members, "", MEMBER_VALUE, 0},
	{"get", get_member, "key default", 0, 0},
	{0},
};

static const known functions[] = {
	{"range", chat_range, "start stop step", 0, 0},
	{"namespace", create_namespace, "*", 0, 0},
	{"raise_exception", raise_exception, "message", 0, 0},
	{"strftime_now", write_time_now, "format", 0, 0},
	{0},
};

/* Tests of what a value is; those that compare are in chat_test. */
#define OF(type) (1u << JSON_##type)
#define OF_UNDEFINED (1u << 8)
#define OF_ONCE (1u << 9)
#define OF_OTHER (1u << 10)
#define OF_MANY (OF(STRING) | OF(ARRAY) | OF(OBJECT) | OF_UNDEFINED)

static const struct {
	const char *name;
	unsigned kinds;
} tests[] = {
	{"defined", ~OF_UNDEFINED},
	{"undefined", OF_UNDEFINED},
	{"none", OF(NULL)},
	{"string", OF(STRING)},
	{"mapping", OF(OBJECT)},
	{"iterable", OF_MANY | OF_ONCE},
	{"sequence", OF_MANY},
	{"true", OF(TRUE)},
	{"false", OF(FALSE)},
	{"boolean", OF(TRUE) | OF(FALSE)},
	{"number", OF(INTEGER) | OF(REAL) | OF(TRUE) | OF(FALSE)},
	{"integer", OF(INTEGER)},
	{"float", OF(REAL)},
	{"equalto", 0},
	{"eq", 0},
	{"==", 0},
	{"in", 0},
};

static const known *find_known(const known *table, const char *name)
{
	for (; table->name; table++)
		if (chat_is_word(name, table->name))
			return table;
	return NULL;
}

bool chat_knows_filter(const char *name)
{
	return find_known(filters, name) != NULL;
}

bool chat_knows_function(const char *name)
{
	return find_known(functions, name) != NULL;
}

static int find_test(const char *name)
{
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		if (chat_is_word(name, tests[i].name))
			return (int)i;
	return -1;
}

bool chat_knows_test(const char *name)
{
	return find_test(name) >= 0;
}

/* ---- calls ---- */

/* Whether a name is the first of some words with spaces between them. */
static bool is_first(const char *name, const char *words)
{
	while (*name && *name == *words && *name != ' ')
		name++, words++;
	return !*name && (!*words || *words == ' ');
}

/* The place of a parameter, by its name or as the place-th; −1: there is none. */
static int place_of(const char *parameters, const char *name, int place)
{
	for (int i = 0; *parameters; i++) {
		bool by_name = *parameters == '=';
		parameters += by_name;
		if (name ? is_first(name, parameters) : i == place && !by_name)
			return i;
		while (*parameters && *parameters++ != ' ')
			;
	}
	return -1;
}

static hec_status call_known(chat_run *r, const known *k, const chat_value *on,
                             const chat_arguments *a, chat_value *out)
{
	char text[QUOTE_TEXT];
	chat_call_of c = {.name = k->name, .how = k->how, .on = on, .all = a};
	HEC_TRY(chat_charge(r, CHAT_LOOK_UP));
	for (int i = 0; i < a->n && *k->parameters != '*'; i++) {
		const char *name = json_string_value(a->name[i]);
		int place = place_of(k->parameters, name, i);
		if (place < 0 && name)
			return chat_unknown(r, "'%s' with '%s' is not supported", k->name,
			                    quote(name, text));
		if (place < 0)
			return chat_unknown(r, "'%s' with %d arguments is not supported", k->name,
			                    a->n);
		c.at[place] = a->at[i];
	}
	return k->run(r, &c, out);
}

hec_status chat_filter(chat_run *r, const char *name, const chat_value *on, const chat_arguments *a,
                       chat_value *out)
{
	const known *k = find_known(filters, name);
	if (k->on == TAKES_ANY)
		return call_known(r, k, on, a, out);
	chat_value made;
	if (k->on == TAKES_LIST) {
		HEC_TRY(chat_list_of(r, on, &made));
	} else if (chat_is_text(on)) {
		made = chat_shared(on->json);
	} else { /* as in Jinja: anything that can be printed */
		chat_buffer b = {0};
		HEC_TRY(chat_buffer_end(r, chat_print(r, &b, on), &b, &made));
	}
	hec_status status = call_known(r, k, &made, a, out);
	chat_value_free(&made);
	return status;
}

hec_status chat_test(chat_run *r, const char *name, const chat_value *on, const chat_arguments *a,
                     bool *out)
{
	char text[QUOTE_TEXT];
	int i = find_test(name);
	HEC_TRY(chat_charge(r, CHAT_LOOK_UP));
	if (i < 0)
		return chat_unknown(r, "the test '%s' is not supported", quote(name, text));
	unsigned kind = on->kind == VALUE_UNDEFINED ? OF_UNDEFINED
	                : on->kind == VALUE_ONCE    ? OF_ONCE
	                : on->kind == VALUE_JSON    ? 1u << json_typeof(on->json)
	                                            : OF_OTHER;
	if (a->n != (tests[i].kinds == 0))
		return chat_wrong(r, "the test '%s' with %d arguments", tests[i].name, a->n);
	*out = (tests[i].kinds & kind) != 0;
	if (tests[i].kinds)
		return HEC_OK;
	chat_value holds;
	HEC_TRY(chat_binary(r, chat_is_word(name, "in") ? OP_IN : OP_EQ, on, &a->at[0], &holds));
	*out = chat_truth(&holds);
	chat_value_free(&holds);
	return HEC_OK;
}

hec_status chat_call(chat_run *r, const chat_value *callee, const char *name,
                     const chat_arguments *a, chat_value *out)
{
	char text[QUOTE_TEXT];
	if (callee->kind == VALUE_FUNCTION)
		return call_known(r, find_known(functions, callee->name), NULL, a, out);
	if (callee->kind == VALUE_UNDEFINED && name)
		return chat_unknown(r, "the function '%s' is not supported", quote(name, text));
	if (callee->kind != VALUE_METHOD)
		return chat_wrong(r, "a call of %s", chat_kind_name(callee));
	chat_value on = {.kind = VALUE_JSON, .json = callee->json};
	return call_known(r,
	                  find_known(chat_is_text(&on) ? text_methods : dict_methods, callee->name),
	                  &on, a, out);
}

/* Methods that Python has and this does not: they are refused. Any other name is undefined, as in Python. */
static const char *python_methods(const json_t *v)
{
	if (json_is_string(v))
		return " casefold center count encode expandtabs find format format_map index "
		       "isalnum "
		       "isalpha isascii isdecimal isdigit isidentifier islower isnumeric "
		       "isprintable "
		       "isspace istitle isupper ljust maketrans partition removeprefix "
		       "removesuffix "
		       "rfind rindex rjust rpartition rsplit splitlines swapcase translate zfill ";
	if (json_is_array(v))
		return " append clear copy count extend index insert pop remove reverse sort ";
	if (json_is_object(v))
		return " clear copy fromkeys pop popitem setdefault update ";
	return " ";
}

static bool has_method(const char *names, const char *name)
{
	for (; *name && *names; names++)
		if (*names == ' ' && is_first(name, names + 1))
			return true;
	return false;
}

hec_status chat_attribute(chat_run *r, const chat_value *on, const char *name, size_t bytes,
                          chat_value *out)
{
	char text[QUOTE_TEXT];
	json_t *found;
	*out = CHAT_UNDEFINED;
	HEC_TRY(chat_charge(r, CHAT_LOOK_UP));
	if (on->kind == VALUE_UNDEFINED)
		return chat_wrong(r, "'%s' of what is undefined", quote(name, text));
	const known *k = chat_is_text(on)   ? find_known(text_methods, name)
	                 : chat_is_dict(on) ? find_known(dict_methods, name)
	                                    : NULL;
	if (k)
		*out = (chat_value){
			.kind = VALUE_METHOD, .json = json_incref(on->json), .name = k->name};
	else if (on->kind == VALUE_JSON && has_method(python_methods(on->json), name))
		return chat_unknown(r, "'%s' of %s is not supported", name, chat_kind_name(on));
	else if (chat_is_dict(on) || on->kind == VALUE_SPACE) {
		HEC_TRY(chat_member(r, on->json, name, bytes, &found));
		*out = chat_shared(found);
	}
	return HEC_OK;
}
