/* chat_run.c — walking the tree of a chat template. Names that a loop sets end with its turn, as in Jinja;
 * a namespace is what outlives it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/options.h"
#include "text/chat_value.h"
#include "text/grow.h"

#define WORK ((int64_t)64 << 20)
#define DEPTH_MOST 400

static hec_status evaluate(chat_run *r, int32_t i, chat_value *out);
static hec_status run_list(chat_run *r, int32_t i);

/* ---- variables ---- */

static hec_status set_variable(chat_run *r, const char *name, chat_value *v)
{
	for (size_t i = r->n; i > 0 && r->variables[i - 1].frame == r->frame; i--)
		if (strcmp(r->variables[i - 1].name, name) == 0) {
			chat_value_free(&r->variables[i - 1].value);
			r->variables[i - 1].value = *v;
			return HEC_OK;
		}
	hec_status status = GROW(&r->variables, &r->capacity, r->n + 1);
	if (status != HEC_OK) {
		chat_value_free(v);
		return status;
	}
	r->variables[r->n++] = (chat_variable){name, *v, r->frame};
	return HEC_OK;
}

static void leave_frame(chat_run *r)
{
	while (r->n > 0 && r->variables[r->n - 1].frame == r->frame)
		chat_value_free(&r->variables[--r->n].value);
	r->frame--;
}

static hec_status get_variable(chat_run *r, const char *name, chat_value *out)
{
	HEC_TRY(chat_charge(r, 1 + r->n / 8));
	for (size_t i = r->n; i-- > 0;)
		if (strcmp(r->variables[i].name, name) == 0) {
			*out = r->variables[i].value;
			json_incref(out->json);
			return HEC_OK;
		}
	json_t *given = json_object_get(r->given, name);
	if (!given)
		given = json_object_get(r->t->tokens, name);
	if (given)
		*out = (chat_value){VALUE_JSON, json_incref(given), NULL};
	else if (chat_has_function(name))
		*out = (chat_value){VALUE_FUNCTION, NULL, name};
	else
		*out = (chat_value){VALUE_UNDEFINED, NULL, NULL};
	return HEC_OK;
}

/* ---- operators ---- */

static hec_status need_json(const chat_run *r, const chat_value *v, const char *what)
{
	return v->kind == VALUE_JSON ? HEC_OK
	                             : chat_wrong(r, "%s of what is %s", what, chat_kind_name(v));
}

static hec_status join_texts(chat_run *r, const chat_value *a, const chat_value *b, chat_value *out)
{
	char *text = NULL;
	size_t n = 0, capacity = 0;
	hec_status status = chat_put(r, "", 0, &text, &n, &capacity);
	if (status == HEC_OK)
		status = chat_print(r, a, &text, &n, &capacity);
	if (status == HEC_OK)
		status = chat_print(r, b, &text, &n, &capacity);
	if (status == HEC_OK)
		status = chat_string(r, text, n, out);
	free(text);
	return status;
}

static hec_status join_lists(chat_run *r, const json_t *a, const json_t *b, chat_value *out)
{
	json_t *list = json_copy((json_t *)a);
	if (list && json_array_extend(list, (json_t *)b) != 0) {
		json_decref(list);
		list = NULL;
	}
	return chat_json(r, list, out);
}

static hec_status whole_numbers(chat_run *r, int op, int64_t x, int64_t y, chat_value *out)
{
	int64_t z = 0;
	bool over = false;
	if ((op == '/' || op == '%' || op == OP_FLOOR) && y == 0)
		return chat_wrong(r, "a division by 0");
	if (op == '/')
		return chat_json(r, json_real((double)x / (double)y), out);
	if (op == '+')
		over = __builtin_add_overflow(x, y, &z);
	else if (op == '-')
		over = __builtin_sub_overflow(x, y, &z);
	else if (op == '*')
		over = __builtin_mul_overflow(x, y, &z);
	else if (y == -1) /* INT64_MIN / −1 has no answer */
		over = op == OP_FLOOR && __builtin_sub_overflow((int64_t)0, x, &z);
	else if (op == OP_FLOOR)
		z = x / y - (x % y != 0 && (x < 0) != (y < 0));
	else
		z = x % y + (x % y != 0 && (x < 0) != (y < 0) ? y : 0);
	return over ? chat_wrong(r, "a number beyond 64 bits") : chat_json(r, json_integer(z), out);
}

static hec_status repeat(chat_run *r, const json_t *text, int64_t times, chat_value *out)
{
	size_t n = json_string_length(text), used = 0, capacity = 0;
	char *made = NULL;
	hec_status status = chat_put(r, "", 0, &made, &used, &capacity);
	for (int64_t i = 0; i < times && status == HEC_OK; i++) {
		status = chat_charge(r, 1);
		if (status == HEC_OK)
			status = chat_put(r, json_string_value(text), n, &made, &used, &capacity);
	}
	if (status == HEC_OK)
		status = chat_string(r, made, used, out);
	free(made);
	return status;
}

static hec_status binary(chat_run *r, int op, const chat_value *a, const chat_value *b,
                         chat_value *out)
{
	if (op == '~')
		return join_texts(r, a, b, out);
	HEC_TRY(need_json(r, a, "a sum or product"));
	HEC_TRY(need_json(r, b, "a sum or product"));
	if (op == '+' && json_is_string(a->json) && json_is_string(b->json))
		return join_texts(r, a, b, out);
	if (op == '+' && json_is_array(a->json) && json_is_array(b->json))
		return join_lists(r, a->json, b->json, out);
	if (op == '*' && json_is_string(a->json) && json_is_integer(b->json))
		return repeat(r, a->json, json_integer_value(b->json), out);
	if (json_is_integer(a->json) && json_is_integer(b->json))
		return whole_numbers(r, op, json_integer_value(a->json),
		                     json_integer_value(b->json), out);
	if (!json_is_number(a->json) || !json_is_number(b->json) || op == '%' || op == OP_FLOOR)
		return chat_wrong(r, "'%c' between %s and %s", op < 128 ? op : '/',
		                  chat_kind_name(a), chat_kind_name(b));
	double x = json_number_value(a->json), y = json_number_value(b->json);
	if (op == '/' && y == 0)
		return chat_wrong(r, "a division by 0");
	return chat_json(r,
	                 json_real(op == '+'   ? x + y
	                           : op == '-' ? x - y
	                           : op == '*' ? x * y
	                                       : x / y),
	                 out);
}

static hec_status is_in(chat_run *r, const chat_value *a, const chat_value *b, bool *out)
{
	*out = false;
	if (b->kind == VALUE_UNDEFINED)
		return HEC_OK;
	HEC_TRY(need_json(r, b, "'in'"));
	if (json_is_array(b->json)) {
		size_t i;
		json_t *item;
		json_array_foreach(b->json, i, item) if (!*out && a->kind == VALUE_JSON)
			HEC_TRY(chat_equal(r, a->json, item, out));
		return HEC_OK;
	}
	if (a->kind != VALUE_JSON || !json_is_string(a->json) ||
	    (!json_is_string(b->json) && !json_is_object(b->json)))
		return chat_wrong(r, "%s in %s", chat_kind_name(a), chat_kind_name(b));
	if (json_is_object(b->json)) {
		*out = json_object_get(b->json, json_string_value(a->json)) != NULL;
		return HEC_OK;
	}
	HEC_TRY(chat_charge(r, json_string_length(b->json)));
	*out = strstr(json_string_value(b->json), json_string_value(a->json)) != NULL;
	return HEC_OK;
}

static hec_status compare(chat_run *r, int op, const chat_value *a, const chat_value *b, bool *out)
{
	if (op == OP_IN || op == OP_NOT_IN) {
		HEC_TRY(is_in(r, a, b, out));
		*out = *out == (op == OP_IN);
		return HEC_OK;
	}
	if (op == OP_EQ || op == OP_NE) {
		bool equal = a->kind == b->kind && a->kind != VALUE_JSON && a->json == b->json;
		if (a->kind == VALUE_JSON && b->kind == VALUE_JSON)
			HEC_TRY(chat_equal(r, a->json, b->json, &equal));
		*out = equal == (op == OP_EQ);
		return HEC_OK;
	}
	HEC_TRY(need_json(r, a, "a comparison"));
	HEC_TRY(need_json(r, b, "a comparison"));
	double d;
	if (json_is_string(a->json) && json_is_string(b->json))
		d = strcmp(json_string_value(a->json), json_string_value(b->json));
	else if (json_is_integer(a->json) && json_is_integer(b->json))
		d = (double)(json_integer_value(a->json) > json_integer_value(b->json)) -
		    (double)(json_integer_value(a->json) < json_integer_value(b->json));
	else if (json_is_number(a->json) && json_is_number(b->json))
		d = json_number_value(a->json) - json_number_value(b->json);
	else
		return chat_wrong(r, "%s compared with %s", chat_kind_name(a), chat_kind_name(b));
	*out = op == '<' ? d < 0 : op == '>' ? d > 0 : op == OP_LE ? d <= 0 : d >= 0;
	return HEC_OK;
}

/* a < b < c: each with the next, as long as they hold. */
static hec_status chain(chat_run *r, const chat_node *n, chat_value *out)
{
	chat_value left, right;
	bool holds = true;
	HEC_TRY(evaluate(r, n->a, &left));
	for (int32_t i = n->b; i >= 0 && holds; i = r->t->nodes[i].next) {
		hec_status status = evaluate(r, r->t->nodes[i].a, &right);
		if (status == HEC_OK) {
			status = compare(r, r->t->nodes[i].op, &left, &right, &holds);
			chat_value_free(&left);
			left = right;
		}
		if (status != HEC_OK) {
			chat_value_free(&left);
			return status;
		}
	}
	chat_value_free(&left);
	return chat_json(r, json_boolean(holds), out);
}

/* ---- parts of values ---- */

/* Where character i of a text begins; n where there is none. */
static size_t character(const char *text, size_t n, int64_t i)
{
	size_t at = 0;
	for (; at < n && i > 0; i--)
		do
			at++;
		while (at < n && ((unsigned char)text[at] & 0xc0u) == 0x80u);
	return at;
}

static int64_t count(const chat_run *r, const json_t *v)
{
	(void)r;
	if (json_is_array(v))
		return (int64_t)json_array_size(v);
	const char *text = json_string_value(v);
	int64_t n = 0;
	for (size_t i = 0; i < json_string_length(v); i++)
		n += ((unsigned char)text[i] & 0xc0u) != 0x80u;
	return n;
}

static hec_status part_of_text(chat_run *r, const json_t *v, int64_t i, chat_value *out)
{
	const char *text = json_string_value(v);
	size_t n = json_string_length(v), begin, end;
	HEC_TRY(chat_charge(r, n));
	begin = character(text, n, i);
	end = begin + character(text + begin, n - begin, 1);
	return chat_string(r, text + begin, end - begin, out);
}

static hec_status item(chat_run *r, const chat_value *on, const chat_value *key, chat_value *out)
{
	*out = (chat_value){VALUE_UNDEFINED, NULL, NULL};
	if (key->kind == VALUE_JSON && json_is_string(key->json) &&
	    (on->kind == VALUE_SPACE || (on->kind == VALUE_JSON && json_is_object(on->json)))) {
		json_t *found = json_object_get(on->json, json_string_value(key->json));
		if (found)
			*out = (chat_value){VALUE_JSON, json_incref(found), NULL};
		return HEC_OK;
	}
	HEC_TRY(need_json(r, on, "an item"));
	if (key->kind != VALUE_JSON || !json_is_integer(key->json) ||
	    !(json_is_array(on->json) || json_is_string(on->json)))
		return HEC_OK;
	int64_t i = json_integer_value(key->json), n = count(r, on->json);
	i = i < 0 ? i + n : i;
	if (i < 0 || i >= n)
		return HEC_OK;
	if (json_is_string(on->json))
		return part_of_text(r, on->json, i, out);
	*out = (chat_value){VALUE_JSON, json_incref(json_array_get(on->json, (size_t)i)), NULL};
	return HEC_OK;
}

static hec_status bound(chat_run *r, int32_t node, int64_t *out, bool *given)
{
	chat_value v;
	*given = false;
	if (node < 0)
		return HEC_OK;
	HEC_TRY(evaluate(r, node, &v));
	bool whole = v.kind == VALUE_JSON && json_is_integer(v.json);
	bool none = v.kind == VALUE_JSON && json_is_null(v.json);
	*out = whole ? json_integer_value(v.json) : 0;
	*given = whole;
	chat_value_free(&v);
	return whole || none ? HEC_OK : chat_wrong(r, "a slice by what is no whole number");
}

/* As Python: from, to and step over n items. */
static hec_status slice(chat_run *r, const chat_node *s, const json_t *on, chat_value *out)
{
	int64_t n = count(r, on), from = 0, to = 0, step = 1;
	bool has_from, has_to, has_step;
	HEC_TRY(bound(r, s->b, &from, &has_from));
	HEC_TRY(bound(r, s->c, &to, &has_to));
	HEC_TRY(bound(r, s->d, &step, &has_step));
	step = has_step ? step : 1;
	if (step == 0 || step < -INT32_MAX || step > INT32_MAX)
		return chat_wrong(r, "a slice with a step of %lld", (long long)step);
	int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
	from = !has_from ? (step > 0 ? low : high) : from < 0 ? from + n : from;
	to = !has_to ? (step > 0 ? high : low) : to < 0 ? to + n : to;
	from = from < low ? low : from > high ? high : from;
	to = to < low ? low : to > high ? high : to;
	if (json_is_string(on)) {
		if (step != 1)
			return chat_wrong(r, "a slice of a text with a step");
		const char *text = json_string_value(on);
		size_t bytes = json_string_length(on), begin = character(text, bytes, from);
		size_t end = to > from ? begin + character(text + begin, bytes - begin, to - from)
		                       : begin;
		HEC_TRY(chat_charge(r, bytes));
		return chat_string(r, text + begin, end - begin, out);
	}
	json_t *list = json_array();
	for (int64_t i = from; list && (step > 0 ? i < to : i > to); i += step)
		if (json_array_append(list, json_array_get(on, (size_t)i)) != 0) {
			json_decref(list);
			list = NULL;
		}
	return chat_json(r, list, out);
}

static hec_status take_slice(chat_run *r, const chat_node *n, chat_value *out)
{
	chat_value on;
	HEC_TRY(evaluate(r, n->a, &on));
	hec_status status = need_json(r, &on, "a slice");
	if (status == HEC_OK && !json_is_array(on.json) && !json_is_string(on.json))
		status = chat_wrong(r, "a slice of %s", chat_kind_name(&on));
	if (status == HEC_OK)
		status = slice(r, n, on.json, out);
	chat_value_free(&on);
	return status;
}

/* ---- calls ---- */

static void free_arguments(chat_arguments *a)
{
	for (int i = 0; i < a->n; i++)
		chat_value_free(&a->at[i]);
	a->n = 0;
}

static hec_status evaluate_arguments(chat_run *r, int32_t i, chat_arguments *a)
{
	a->n = 0;
	for (; i >= 0; i = r->t->nodes[i].next) {
		const chat_node *n = &r->t->nodes[i];
		bool named = n->kind == CHAT_NAMED;
		hec_status status = a->n < CHAT_ARGUMENTS
		                            ? evaluate(r, named ? n->a : i, &a->at[a->n])
		                            : chat_wrong(r, "a call with more than %d arguments",
		                                         CHAT_ARGUMENTS);
		if (status != HEC_OK) {
			free_arguments(a);
			return status;
		}
		a->name[a->n++] = named ? json_string_value(n->value) : NULL;
	}
	return HEC_OK;
}

static hec_status call(chat_run *r, const chat_node *n, chat_value *out)
{
	chat_value callee;
	chat_arguments a;
	HEC_TRY(evaluate(r, n->a, &callee));
	hec_status status = evaluate_arguments(r, n->b, &a);
	if (status == HEC_OK) {
		status = callee.kind == VALUE_FUNCTION ? chat_function(r, callee.name, &a, out)
		         : callee.kind == VALUE_METHOD
		                 ? chat_method(r, callee.json, callee.name, &a, out)
		                 : chat_wrong(r, "a call of %s", chat_kind_name(&callee));
		free_arguments(&a);
	}
	chat_value_free(&callee);
	return status;
}

static hec_status filter_or_test(chat_run *r, const chat_node *n, chat_value *out)
{
	chat_value on;
	chat_arguments a;
	const char *name = json_string_value(n->value);
	HEC_TRY(evaluate(r, n->a, &on));
	hec_status status = evaluate_arguments(r, n->b, &a);
	if (status == HEC_OK && n->kind == CHAT_FILTER) {
		status = chat_filter(r, name, &on, &a, out);
	} else if (status == HEC_OK) {
		bool holds = false;
		status = chat_test(r, name, &on, &a, &holds);
		if (status == HEC_OK)
			status = chat_json(r, json_boolean(holds != (n->op != 0)), out);
	}
	if (status == HEC_OK || a.n > 0)
		free_arguments(&a);
	chat_value_free(&on);
	return status;
}

/* ---- expressions ---- */

static hec_status make_list(chat_run *r, const chat_node *n, chat_value *out)
{
	json_t *list = json_array();
	hec_status status = list ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a list");
	for (int32_t i = n->b; i >= 0 && status == HEC_OK; i = r->t->nodes[i].next) {
		chat_value v = {VALUE_UNDEFINED, NULL, NULL};
		status = evaluate(r, i, &v);
		if (status == HEC_OK)
			status = need_json(r, &v, "a list");
		if (status == HEC_OK && json_array_append(list, v.json) != 0)
			status = fail(HEC_ERR_MEMORY, "no memory for a list");
		chat_value_free(&v);
	}
	if (status == HEC_OK)
		return chat_json(r, list, out);
	json_decref(list);
	return status;
}

static hec_status make_dict(chat_run *r, const chat_node *n, chat_value *out)
{
	json_t *dict = json_object();
	hec_status status = dict ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a dict");
	for (int32_t i = n->b; i >= 0 && status == HEC_OK;) {
		chat_value key = {VALUE_UNDEFINED, NULL, NULL}, v = key;
		int32_t value = r->t->nodes[i].next;
		status =
			value >= 0 ? evaluate(r, i, &key) : chat_wrong(r, "a dict without a value");
		if (status == HEC_OK)
			status = evaluate(r, value, &v);
		if (status == HEC_OK && (key.kind != VALUE_JSON || !json_is_string(key.json)))
			status = chat_wrong(r, "a key of a dict that is no text");
		if (status == HEC_OK)
			status = need_json(r, &v, "a dict");
		if (status == HEC_OK &&
		    json_object_set(dict, json_string_value(key.json), v.json) != 0)
			status = fail(HEC_ERR_MEMORY, "no memory for a dict");
		chat_value_free(&key);
		chat_value_free(&v);
		i = value >= 0 ? r->t->nodes[value].next : -1;
	}
	if (status == HEC_OK)
		return chat_json(r, dict, out);
	json_decref(dict);
	return status;
}

/* a and b, a or b: the value that decides. */
static hec_status logic(chat_run *r, const chat_node *n, chat_value *out)
{
	HEC_TRY(evaluate(r, n->a, out));
	if (chat_truth(out) == (n->kind == CHAT_OR))
		return HEC_OK;
	chat_value_free(out);
	return evaluate(r, n->b, out);
}

static hec_status one_operand(chat_run *r, const chat_node *n, chat_value *out)
{
	chat_value v;
	HEC_TRY(evaluate(r, n->a, &v));
	hec_status status;
	if (n->kind == CHAT_NOT)
		status = chat_json(r, json_boolean(!chat_truth(&v)), out);
	else if (n->kind == CHAT_ATTR)
		status = chat_attribute(r, &v, json_string_value(n->value), out);
	else if (v.kind == VALUE_JSON && json_is_integer(v.json))
		status = whole_numbers(r, '-', 0, json_integer_value(v.json), out);
	else if (v.kind == VALUE_JSON && json_is_real(v.json))
		status = chat_json(r, json_real(-json_real_value(v.json)), out);
	else
		status = chat_wrong(r, "minus %s", chat_kind_name(&v));
	chat_value_free(&v);
	return status;
}

static hec_status two_operands(chat_run *r, const chat_node *n, chat_value *out)
{
	chat_value a, b;
	HEC_TRY(evaluate(r, n->a, &a));
	hec_status status = evaluate(r, n->b, &b);
	if (status == HEC_OK) {
		status =
			n->kind == CHAT_ITEM ? item(r, &a, &b, out) : binary(r, n->op, &a, &b, out);
		chat_value_free(&b);
	}
	chat_value_free(&a);
	return status;
}

static hec_status choice(chat_run *r, const chat_node *n, chat_value *out)
{
	chat_value v;
	HEC_TRY(evaluate(r, n->a, &v));
	int32_t chosen = chat_truth(&v) ? n->b : n->c;
	chat_value_free(&v);
	*out = (chat_value){VALUE_UNDEFINED, NULL, NULL};
	return chosen >= 0 ? evaluate(r, chosen, out) : HEC_OK;
}

static hec_status evaluate_node(chat_run *r, const chat_node *n, chat_value *out)
{
	switch (n->kind) {
	case CHAT_CONST:
		*out = (chat_value){VALUE_JSON, json_incref(n->value), NULL};
		return HEC_OK;
	case CHAT_NAME:
		return get_variable(r, json_string_value(n->value), out);
	case CHAT_ITEM:
	case CHAT_BINARY:
		return two_operands(r, n, out);
	case CHAT_SLICE:
		return take_slice(r, n, out);
	case CHAT_CALL:
		return call(r, n, out);
	case CHAT_FILTER:
	case CHAT_TEST:
		return filter_or_test(r, n, out);
	case CHAT_AND:
	case CHAT_OR:
		return logic(r, n, out);
	case CHAT_NOT:
	case CHAT_MINUS:
	case CHAT_ATTR:
		return one_operand(r, n, out);
	case CHAT_COMPARE:
		return chain(r, n, out);
	case CHAT_CHOICE:
		return choice(r, n, out);
	case CHAT_LIST:
		return make_list(r, n, out);
	case CHAT_DICT:
		return make_dict(r, n, out);
	default:
		return chat_wrong(r, "an argument with a name where a value is needed");
	}
}

static hec_status evaluate(chat_run *r, int32_t i, chat_value *out)
{
	*out = (chat_value){VALUE_UNDEFINED, NULL, NULL};
	HEC_TRY(chat_charge(r, 1));
	r->line = r->t->nodes[i].line;
	if (++r->depth > DEPTH_MOST)
		return chat_wrong(r, "more than %d levels in one another", DEPTH_MOST);
	hec_status status = evaluate_node(r, &r->t->nodes[i], out);
	r->depth--;
	return status;
}

/* ---- statements ---- */

static hec_status run_if(chat_run *r, const chat_node *n)
{
	chat_value v;
	HEC_TRY(evaluate(r, n->a, &v));
	bool holds = chat_truth(&v);
	chat_value_free(&v);
	return run_list(r, holds ? n->b : n->c);
}

/* Binds the names of a for or set to a value, which it takes over. */
static hec_status bind(chat_run *r, const json_t *names, chat_value *v)
{
	size_t n = json_array_size(names);
	if (n == 1)
		return set_variable(r, json_string_value(json_array_get(names, 0)), v);
	hec_status status = HEC_OK;
	if (v->kind != VALUE_JSON || !json_is_array(v->json) || json_array_size(v->json) != n)
		status = chat_wrong(r, "%s is not the %zu values that are named", chat_kind_name(v),
		                    n);
	for (size_t i = 0; i < n && status == HEC_OK; i++) {
		chat_value one = {VALUE_JSON, json_incref(json_array_get(v->json, i)), NULL};
		status = set_variable(r, json_string_value(json_array_get(names, i)), &one);
	}
	chat_value_free(v);
	return status;
}

/* What a for goes over, as a list: the keys of a dict, the characters of a text. */
static hec_status list_of(chat_run *r, chat_value *v, json_t **out)
{
	if (v->kind == VALUE_JSON && json_is_array(v->json)) {
		*out = json_incref(v->json);
		return HEC_OK;
	}
	chat_value made;
	chat_arguments none = {.n = 0};
	if (v->kind == VALUE_UNDEFINED)
		*out = json_array();
	else {
		HEC_TRY(chat_filter(r, "list", v, &none, &made));
		*out = made.json;
	}
	return *out ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a loop");
}

/* Only the items for which the condition holds. */
static hec_status select_items(chat_run *r, const chat_node *n, json_t **list)
{
	json_t *kept = json_array();
	hec_status status = kept ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a loop");
	for (size_t i = 0; i < json_array_size(*list) && status == HEC_OK; i++) {
		chat_value v = {VALUE_JSON, json_incref(json_array_get(*list, i)), NULL}, holds;
		r->frame++;
		status = bind(r, n->value, &v);
		if (status == HEC_OK)
			status = evaluate(r, n->d, &holds);
		if (status == HEC_OK) {
			if (chat_truth(&holds) &&
			    json_array_append(kept, json_array_get(*list, i)) != 0)
				status = fail(HEC_ERR_MEMORY, "no memory for a loop");
			chat_value_free(&holds);
		}
		leave_frame(r);
	}
	json_decref(*list);
	*list = kept;
	return status;
}

static hec_status bind_loop(chat_run *r, const json_t *list, size_t i)
{
	size_t n = json_array_size(list);
	chat_value v;
	HEC_TRY(chat_charge(r, 8));
	json_t *loop = json_pack("{s:I, s:I, s:I, s:I, s:I, s:b, s:b}", "index", (json_int_t)i + 1,
	                         "index0", (json_int_t)i, "length", (json_int_t)n, "revindex",
	                         (json_int_t)(n - i), "revindex0", (json_int_t)(n - i - 1), "first",
	                         i == 0, "last", i + 1 == n);
	if (loop && i > 0 && json_object_set(loop, "previtem", json_array_get(list, i - 1)) != 0) {
		json_decref(loop);
		loop = NULL;
	}
	if (loop && i + 1 < n &&
	    json_object_set(loop, "nextitem", json_array_get(list, i + 1)) != 0) {
		json_decref(loop);
		loop = NULL;
	}
	if (!loop)
		return fail(HEC_ERR_MEMORY, "no memory for a loop");
	v = (chat_value){VALUE_JSON, loop, NULL};
	return set_variable(r, "loop", &v);
}

static hec_status run_turns(chat_run *r, const chat_node *n, const json_t *list)
{
	hec_status status = HEC_OK;
	for (size_t i = 0; i < json_array_size(list) && status == HEC_OK; i++) {
		chat_value v = {VALUE_JSON, json_incref(json_array_get(list, i)), NULL};
		r->frame++;
		status = bind(r, n->value, &v);
		if (status == HEC_OK)
			status = bind_loop(r, list, i);
		if (status == HEC_OK)
			status = run_list(r, n->b);
		leave_frame(r);
		bool stop = r->signal == RUN_BREAK;
		r->signal = RUN_ON;
		if (stop)
			break;
	}
	return status;
}

static hec_status run_for(chat_run *r, const chat_node *n)
{
	chat_value what;
	json_t *list = NULL;
	HEC_TRY(evaluate(r, n->a, &what));
	hec_status status = list_of(r, &what, &list);
	chat_value_free(&what);
	if (status == HEC_OK && n->d >= 0)
		status = select_items(r, n, &list);
	if (status == HEC_OK)
		status = json_array_size(list) ? run_turns(r, n, list) : run_list(r, n->c);
	json_decref(list);
	return status;
}

/* {% set x %}…{% endset %}: what its statements print. */
static hec_status capture(chat_run *r, int32_t body, chat_value *out)
{
	char *text = r->out;
	size_t n = r->bytes, capacity = r->out_capacity;
	r->out = NULL;
	r->bytes = r->out_capacity = 0;
	hec_status status = run_list(r, body);
	if (status == HEC_OK)
		status = chat_string(r, r->out ? r->out : "", r->bytes, out);
	free(r->out);
	r->out = text;
	r->bytes = n;
	r->out_capacity = capacity;
	return status;
}

static hec_status run_set(chat_run *r, const chat_node *n)
{
	chat_value v = {VALUE_UNDEFINED, NULL, NULL}, space;
	HEC_TRY(n->op ? capture(r, n->b, &v) : evaluate(r, n->a, &v));
	if (n->d < 0)
		return bind(r, n->value, &v);
	const char *name = json_string_value(json_array_get(n->value, 0));
	hec_status status = get_variable(r, name, &space);
	if (status == HEC_OK && space.kind != VALUE_SPACE)
		status = chat_wrong(r, "%s is %s, no namespace", name, chat_kind_name(&space));
	if (status == HEC_OK)
		status = need_json(r, &v, "a member");
	if (status == HEC_OK &&
	    json_object_set(space.json, json_string_value(r->t->nodes[n->d].value), v.json) != 0)
		status = fail(HEC_ERR_MEMORY, "no memory for a namespace");
	chat_value_free(&space);
	chat_value_free(&v);
	return status;
}

static hec_status run_print(chat_run *r, const chat_node *n)
{
	chat_value v;
	HEC_TRY(evaluate(r, n->a, &v));
	hec_status status = chat_print(r, &v, &r->out, &r->bytes, &r->out_capacity);
	chat_value_free(&v);
	return status;
}

static hec_status run_one(chat_run *r, const chat_node *n)
{
	r->line = n->line;
	switch (n->kind) {
	case CHAT_TEXT:
		return chat_put(r, json_string_value(n->value), json_string_length(n->value),
		                &r->out, &r->bytes, &r->out_capacity);
	case CHAT_PRINT:
		return run_print(r, n);
	case CHAT_IF:
		return run_if(r, n);
	case CHAT_FOR:
		return run_for(r, n);
	case CHAT_SET:
		return run_set(r, n);
	case CHAT_BREAK:
		r->signal = RUN_BREAK;
		return HEC_OK;
	default:
		r->signal = RUN_CONTINUE;
		return HEC_OK;
	}
}

static hec_status run_list(chat_run *r, int32_t i)
{
	if (++r->depth > DEPTH_MOST)
		return chat_wrong(r, "more than %d levels in one another", DEPTH_MOST);
	for (; i >= 0 && r->signal == RUN_ON; i = r->t->nodes[i].next) {
		HEC_TRY(chat_charge(r, 1));
		HEC_TRY(run_one(r, &r->t->nodes[i]));
	}
	r->depth--;
	return HEC_OK;
}

/* ---- the calls of chat.h ---- */

static hec_status give_messages(chat_run *r, const hec_chat_message *messages, size_t n)
{
	json_t *list = json_array();
	HEC_TRY(json_put(r->given, "messages", list));
	for (size_t i = 0; i < n; i++) {
		if (!messages[i].role || !messages[i].content)
			return fail(HEC_ERR_ARGUMENT, "hec_chat_apply: message %zu has no %s", i,
			            messages[i].role ? "content" : "role");
		json_t *one = json_pack("{s:s, s:s}", "role", messages[i].role, "content",
		                        messages[i].content);
		if (!one || json_array_append_new(list, one) != 0)
			return fail(HEC_ERR_ARGUMENT,
			            "hec_chat_apply: message %zu is not UTF-8, or there is no "
			            "memory for it",
			            i);
	}
	return HEC_OK;
}

static hec_status give(chat_run *r, const hec_chat_message *messages, size_t n,
                       const hec_chat_options *o)
{
	json_t *more, *value;
	const char *key;
	json_scope scope;
	r->given = json_object();
	HEC_TRY(r->given ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for variables"));
	HEC_TRY(give_messages(r, messages, n));
	HEC_TRY(json_put(r->given, "add_generation_prompt", json_boolean(o->generation_prompt)));
	HEC_TRY(json_put(r->given, "tools", json_null()));
	HEC_TRY(json_put(r->given, "documents", json_null()));
	if (!o->variables)
		return HEC_OK;
	HEC_TRY(json_text_read("variables", o->variables, o->variables_bytes, JSON_CONFIG_MOST,
	                       &more));
	hec_status status = json_scope_root("variables", more, &scope);
	if (status == HEC_OK)
		json_object_foreach(more, key, value) if (status == HEC_OK) status =
			json_put(r->given, key, json_incref(value));
	json_decref(more);
	return status;
}

hec_status hec_chat_apply(const hec_chat_template *t, const hec_chat_message *messages, size_t n,
                          const hec_chat_options *options, char **text, size_t *bytes)
{
	hec_chat_options o = HEC_CHAT_OPTIONS_INIT;
	if (!t || !text || (!messages && n))
		return fail(HEC_ERR_ARGUMENT, "hec_chat_apply: %s is NULL",
		            !t     ? "chat"
		            : text ? "messages"
		                   : "text");
	HEC_TRY(options_take("hec_chat_options", &o, sizeof o, options));
	if (o.work < 0)
		return fail(HEC_ERR_ARGUMENT, "hec_chat_options: work is %lld", (long long)o.work);
	chat_run r = {.t = t, .work = o.work ? o.work : WORK};
	hec_status status = give(&r, messages, n, &o);
	if (status == HEC_OK)
		status = chat_put(&r, "", 0, &r.out, &r.bytes, &r.out_capacity);
	if (status == HEC_OK)
		status = run_list(&r, t->first);
	while (r.n > 0)
		chat_value_free(&r.variables[--r.n].value);
	free(r.variables);
	json_decref(r.given);
	if (status != HEC_OK) {
		free(r.out);
		return status;
	}
	*text = r.out;
	if (bytes)
		*bytes = r.bytes;
	return HEC_OK;
}

void hec_chat_template_destroy(hec_chat_template *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		json_decref(t->nodes[i].value);
	free(t->nodes);
	json_decref(t->tokens);
	free(t);
}

hec_status hec_chat_template_parse(const char *text, size_t bytes, hec_chat_template **out)
{
	if (!text || !out)
		return fail(HEC_ERR_ARGUMENT, "hec_chat_template_parse: %s is NULL",
		            text ? "out" : "text");
	hec_chat_template *t = calloc(1, sizeof *t);
	if (!t)
		return fail(HEC_ERR_MEMORY, "no memory for a chat template");
	t->first = -1;
	hec_status status = chat_parse(text, bytes, t);
	if (status != HEC_OK) {
		hec_chat_template_destroy(t);
		return status;
	}
	*out = t;
	return HEC_OK;
}
