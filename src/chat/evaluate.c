/* evaluate.c — evaluates the expressions of a chat template. */
#include "chat/work.h"

#include "chat/charged.h"

#define MAX_DEPTH 400

hec_status chat_get(chat_run *r, const json_t *name_of, chat_value *out)
{
	const char *name = json_string_value(name_of);
	size_t bytes = json_string_length(name_of);
	bool same;
	json_t *given;
	for (size_t i = r->n; i-- > 0;) {
		chat_variable *v = &r->variables[i];
		HEC_TRY(chat_same_text(r, v->name, v->bytes, name, bytes, &same));
		if (!same)
			continue;
		if (v->value.kind == VALUE_TURN)
			HEC_TRY(chat_describe_turn(r, &v->value));
		*out = v->value;
		json_incref(out->json);
		return HEC_OK;
	}
	HEC_TRY(chat_member(r, r->given, name, bytes, &given));
	if (!given)
		HEC_TRY(chat_member(r, r->t->tokens, name, bytes, &given));
	*out = chat_shared(given);
	if (out->kind == VALUE_UNDEFINED && chat_knows_function(name))
		*out = (chat_value){.kind = VALUE_FUNCTION, .json = NULL, .name = name};
	return HEC_OK;
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
		                            ? chat_evaluate(r, named ? n->a : i, &a->at[a->n])
		                            : chat_unknown(r, "a call with more than %d arguments",
		                                           CHAT_ARGUMENTS);
		if (status != HEC_OK) {
			free_arguments(a);
			return status;
		}
		a->name[a->n++] = named ? n->value : NULL;
	}
	return HEC_OK;
}

/* What is called, filtered or tested, and its arguments. */
static hec_status evaluate_call(chat_run *r, const chat_node *n, chat_value *out)
{
	chat_value on;
	chat_arguments a;
	bool holds;
	HEC_TRY(chat_evaluate(r, n->a, &on));
	hec_status status = evaluate_arguments(r, n->b, &a);
	if (status == HEC_OK && n->kind == CHAT_CALL)
		status = chat_call(r, &on, json_string_value(r->t->nodes[n->a].value), &a, out);
	else if (status == HEC_OK && n->kind == CHAT_FILTER)
		status = chat_filter(r, json_string_value(n->value), &on, &a, out);
	else if (status == HEC_OK) {
		status = chat_test(r, json_string_value(n->value), &on, &a, &holds);
		if (status == HEC_OK)
			status = chat_json(r, json_boolean(holds != (n->op != 0)), out);
	}
	free_arguments(&a);
	chat_value_free(&on);
	return status;
}

/* ---- lists and dicts ---- */

static hec_status need_json(chat_run *r, const chat_value *v, const char *of)
{
	return v->kind == VALUE_JSON ? HEC_OK
	                             : chat_unknown(r, "%s of what is %s", of, chat_kind_name(v));
}

static hec_status evaluate_list(chat_run *r, const chat_node *n, chat_value *out)
{
	json_t *list = json_array();
	hec_status status = HEC_OK;
	for (int32_t i = n->b; i >= 0 && status == HEC_OK; i = r->t->nodes[i].next) {
		chat_value v = CHAT_UNDEFINED;
		status = chat_evaluate(r, i, &v);
		if (status == HEC_OK)
			status = need_json(r, &v, "a list");
		if (status == HEC_OK)
			status = chat_append(r, list, json_incref(v.json));
		chat_value_free(&v);
	}
	return chat_list_end(r, status, list, out);
}

static hec_status evaluate_dict(chat_run *r, const chat_node *n, chat_value *out)
{
	json_t *dict = json_object();
	hec_status status = HEC_OK;
	for (int32_t i = n->b; i >= 0 && status == HEC_OK;
	     i = r->t->nodes[r->t->nodes[i].next].next) {
		chat_value key = CHAT_UNDEFINED, v = CHAT_UNDEFINED;
		status = chat_evaluate(r, i, &key);
		if (status == HEC_OK)
			status = chat_evaluate(r, r->t->nodes[i].next, &v);
		if (status == HEC_OK && !chat_is_text(&key))
			status = chat_unknown(r, "a dict with a key that is %s",
			                      chat_kind_name(&key));
		if (status == HEC_OK)
			status = need_json(r, &v, "a dict");
		if (status == HEC_OK)
			status = chat_put_member(r, dict, json_string_value(key.json),
			                         json_string_length(key.json), json_incref(v.json));
		chat_value_free(&key);
		chat_value_free(&v);
	}
	return chat_list_end(r, status, dict, out);
}

static hec_status evaluate_slice(chat_run *r, const chat_node *n, chat_value *out)
{
	const int32_t nodes[3] = {n->b, n->c, n->d};
	chat_value on, bounds[3];
	HEC_TRY(chat_evaluate(r, n->a, &on));
	hec_status status = HEC_OK;
	for (int i = 0; i < 3; i++) {
		bounds[i] = (chat_value){.kind = VALUE_JSON, .json = json_null()};
		if (nodes[i] >= 0 && status == HEC_OK)
			status = chat_evaluate(r, nodes[i], &bounds[i]);
	}
	if (status == HEC_OK)
		status = chat_slice(r, &on, bounds, out);
	for (int i = 0; i < 3; i++)
		chat_value_free(&bounds[i]);
	chat_value_free(&on);
	return status;
}

/* ---- operands ---- */

/* a and b, a or b: the value that decides. */
static hec_status evaluate_logic(chat_run *r, const chat_node *n, chat_value *out)
{
	HEC_TRY(chat_evaluate(r, n->a, out));
	if (chat_truth(out) == (n->kind == CHAT_OR))
		return HEC_OK;
	chat_value_free(out);
	return chat_evaluate(r, n->b, out);
}

static hec_status evaluate_unary(chat_run *r, const chat_node *n, chat_value *out)
{
	chat_value v, zero = CHAT_UNDEFINED;
	HEC_TRY(chat_evaluate(r, n->a, &v));
	hec_status status;
	if (n->kind == CHAT_NOT)
		status = chat_json(r, json_boolean(!chat_truth(&v)), out);
	else if (n->kind == CHAT_ATTR)
		status = chat_attribute(r, &v, json_string_value(n->value),
		                        json_string_length(n->value), out);
	else if (!chat_is_whole(&v))
		status = chat_is_number(&v)
		                 ? chat_unknown(r, "minus %s that is not whole", chat_kind_name(&v))
		                 : chat_wrong(r, "minus %s", chat_kind_name(&v));
	else {
		status = chat_json(r, json_integer(0), &zero);
		if (status == HEC_OK)
			status = chat_binary(r, '-', &zero, &v, out);
		chat_value_free(&zero);
	}
	chat_value_free(&v);
	return status;
}

static hec_status evaluate_binary(chat_run *r, const chat_node *n, chat_value *out)
{
	chat_value a, b;
	HEC_TRY(chat_evaluate(r, n->a, &a));
	hec_status status = chat_evaluate(r, n->b, &b);
	if (status == HEC_OK) {
		status = n->kind == CHAT_ITEM ? chat_item(r, &a, &b, out)
		                              : chat_binary(r, n->op, &a, &b, out);
		chat_value_free(&b);
	}
	chat_value_free(&a);
	return status;
}

static hec_status evaluate_choice(chat_run *r, const chat_node *n, chat_value *out)
{
	chat_value v;
	HEC_TRY(chat_evaluate(r, n->a, &v));
	int32_t chosen = chat_truth(&v) ? n->b : n->c;
	chat_value_free(&v);
	return chosen >= 0 ? chat_evaluate(r, chosen, out) : HEC_OK;
}

static hec_status evaluate_node(chat_run *r, const chat_node *n, chat_value *out)
{
	switch (n->kind) {
	case CHAT_CONST:
		*out = chat_shared(n->value);
		return HEC_OK;
	case CHAT_NAME:
		return chat_get(r, n->value, out);
	case CHAT_ITEM:
	case CHAT_BINARY:
		return evaluate_binary(r, n, out);
	case CHAT_SLICE:
		return evaluate_slice(r, n, out);
	case CHAT_CALL:
	case CHAT_FILTER:
	case CHAT_TEST:
		return evaluate_call(r, n, out);
	case CHAT_AND:
	case CHAT_OR:
		return evaluate_logic(r, n, out);
	case CHAT_NOT:
	case CHAT_MINUS:
	case CHAT_ATTR:
		return evaluate_unary(r, n, out);
	case CHAT_CHOICE:
		return evaluate_choice(r, n, out);
	case CHAT_LIST:
		return evaluate_list(r, n, out);
	case CHAT_DICT:
		return evaluate_dict(r, n, out);
	default:
		return chat_unknown(r, "an argument with a name where a value is needed");
	}
}

hec_status chat_evaluate(chat_run *r, int32_t i, chat_value *out)
{
	size_t line = r->line;
	*out = CHAT_UNDEFINED;
	r->line = r->t->nodes[i].line;
	if (++r->depth > MAX_DEPTH)
		return chat_wrong(r, "more than %d levels in one another", MAX_DEPTH);
	HEC_TRY(chat_charge(r, CHAT_STEP));
	HEC_TRY(evaluate_node(r, &r->t->nodes[i], out));
	r->depth--;
	r->line = line;
	return HEC_OK;
}
