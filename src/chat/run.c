/* run.c — runs the statements of a chat template. As in Jinja, variables set in a loop end with its turn; only a
 * namespace keeps its values. The parser limits how deep statements are nested. */
#include "chat/call.h"
#include "base/grow.h"

#include "chat/charged.h"

/* ---- variables ---- */

/* Takes the value over. */
static hec_status set_variable(chat_run *r, const char *name, size_t bytes, chat_value *v)
{
	hec_status status = HEC_OK;
	for (size_t i = r->n; status == HEC_OK && i > 0 && r->variables[i - 1].frame == r->frame;
	     i--) {
		chat_variable *old = &r->variables[i - 1];
		bool same;
		status = chat_same_text(r, old->name, old->bytes, name, bytes, &same);
		if (status == HEC_OK && same) {
			chat_value_free(&old->value);
			old->value = *v;
			return HEC_OK;
		}
	}
	if (status == HEC_OK)
		status = chat_charge(r, sizeof(chat_variable));
	if (status == HEC_OK)
		status = GROW(&r->variables, &r->capacity, r->n + 1);
	if (status == HEC_OK)
		r->variables[r->n++] = (chat_variable){name, bytes, *v, r->frame};
	else
		chat_value_free(v);
	return status;
}

static hec_status set_named(chat_run *r, const json_t *name, chat_value *v)
{
	return set_variable(r, json_string_value(name), json_string_length(name), v);
}

static void leave_frame(chat_run *r)
{
	while (r->n > 0 && r->variables[r->n - 1].frame == r->frame)
		chat_value_free(&r->variables[--r->n].value);
	r->frame--;
}

/* Sets the variables of a for or set to a value, which it takes over. */
static hec_status bind_names(chat_run *r, const json_t *names, chat_value *v)
{
	size_t n = json_array_size(names);
	json_t *name = NULL, *item = NULL;
	hec_status status = HEC_OK;
	if (n == 1 && chat_each(r, names, 0, &name, &status))
		return set_named(r, name, v);
	chat_value all = CHAT_UNDEFINED;
	if (status == HEC_OK && (chat_has_items(v) || chat_is_text(v) || chat_is_dict(v)))
		status = chat_list_of(r, v, &all);
	if (status == HEC_OK && json_array_size(all.json) != n)
		status = chat_wrong(r, "%s is not the %zu values that are named", chat_kind_name(v),
		                    n);
	for (size_t i = 0;
	     chat_each(r, names, i, &name, &status) && chat_each(r, all.json, i, &item, &status);
	     i++) {
		chat_value one = chat_shared(item);
		status = set_named(r, name, &one);
	}
	chat_value_free(&all);
	chat_value_free(v);
	return status;
}

/* ---- loops ---- */

/* Keeps the items for which the condition of a for holds. */
static hec_status select_items(chat_run *r, const chat_node *n, json_t **list)
{
	json_t *kept = json_array(), *item;
	hec_status status = kept ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a loop");
	for (size_t i = 0; chat_each(r, *list, i, &item, &status); i++) {
		chat_value v = chat_shared(item), holds;
		r->frame++;
		status = bind_names(r, n->value, &v);
		if (status == HEC_OK)
			status = chat_evaluate(r, n->d, &holds);
		if (status == HEC_OK) {
			if (chat_truth(&holds))
				status = chat_append(r, kept, json_incref(item));
			chat_value_free(&holds);
		}
		leave_frame(r);
	}
	json_decref(*list);
	*list = kept;
	return status;
}

static hec_status describe_loop(chat_run *r, const json_t *list, size_t i, json_t *loop)
{
	const json_int_t n = (json_int_t)json_array_size(list), at = (json_int_t)i;
	json_t *item = NULL;
	hec_status status = HEC_OK;
	HEC_TRY(chat_put_member(r, loop, "index", 5, json_integer(at + 1)));
	HEC_TRY(chat_put_member(r, loop, "index0", 6, json_integer(at)));
	HEC_TRY(chat_put_member(r, loop, "length", 6, json_integer(n)));
	HEC_TRY(chat_put_member(r, loop, "revindex", 8, json_integer(n - at)));
	HEC_TRY(chat_put_member(r, loop, "revindex0", 9, json_integer(n - at - 1)));
	HEC_TRY(chat_put_member(r, loop, "first", 5, json_boolean(i == 0)));
	HEC_TRY(chat_put_member(r, loop, "last", 4, json_boolean(at + 1 == n)));
	HEC_TRY(chat_put_member(r, loop, "depth", 5, json_integer(1)));
	HEC_TRY(chat_put_member(r, loop, "depth0", 6, json_integer(0)));
	if (i > 0 && chat_each(r, list, i - 1, &item, &status))
		status = chat_put_member(r, loop, "previtem", 8, json_incref(item));
	if (chat_each(r, list, i + 1, &item, &status))
		status = chat_put_member(r, loop, "nextitem", 8, json_incref(item));
	return status;
}

hec_status chat_describe_turn(chat_run *r, chat_value *turn)
{
	chat_value loop = {.kind = VALUE_JSON, .json = json_object()};
	hec_status status = loop.json ? describe_loop(r, turn->json, turn->turn, loop.json)
	                              : fail(HEC_ERR_MEMORY, "no memory for a loop");
	chat_value_free(status == HEC_OK ? turn : &loop);
	if (status == HEC_OK)
		*turn = loop;
	return status;
}

static hec_status bind_loop(chat_run *r, const json_t *list, size_t i)
{
	chat_value turn = chat_shared(list);
	turn.kind = VALUE_TURN;
	turn.turn = i;
	return set_variable(r, "loop", 4, &turn);
}

/* *done: whether a turn came to its end. Without one, the else of the loop runs: there is no item, or a break or
 * continue ended each turn. */
static hec_status run_turns(chat_run *r, const chat_node *n, json_t *list, bool *done)
{
	hec_status status = HEC_OK;
	json_t *item;
	for (size_t i = 0; chat_each(r, list, i, &item, &status); i++) {
		chat_value v = chat_shared(item);
		r->frame++;
		status = bind_names(r, n->value, &v);
		if (status == HEC_OK)
			status = bind_loop(r, list, i);
		if (status == HEC_OK)
			status = chat_run_list(r, n->b);
		leave_frame(r);
		bool stop = r->signal == RUN_BREAK;
		*done = *done || r->signal == RUN_ON;
		r->signal = RUN_ON;
		if (stop)
			break;
	}
	return status;
}

static hec_status run_for(chat_run *r, const chat_node *n)
{
	chat_value what, over = CHAT_UNDEFINED;
	bool done = false;
	HEC_TRY(chat_evaluate(r, n->a, &what));
	hec_status status = chat_list_of(r, &what, &over);
	chat_value_free(&what);
	if (status == HEC_OK && n->d >= 0)
		status = select_items(r, n, &over.json);
	if (status == HEC_OK)
		status = run_turns(r, n, over.json, &done);
	if (status == HEC_OK && !done)
		status = chat_run_list(r, n->c);
	chat_value_free(&over);
	return status;
}

/* ---- other statements ---- */

static hec_status run_if(chat_run *r, const chat_node *n)
{
	chat_value v;
	HEC_TRY(chat_evaluate(r, n->a, &v));
	bool holds = chat_truth(&v);
	chat_value_free(&v);
	return chat_run_list(r, holds ? n->b : n->c);
}

static hec_status run_scope(chat_run *r, int32_t body)
{
	r->frame++;
	hec_status status = chat_run_list(r, body);
	leave_frame(r);
	return status;
}

/* {% set x %}…{% endset %}: the value is what the statements print. */
static hec_status capture_output(chat_run *r, int32_t body, chat_value *out)
{
	chat_buffer before = r->out;
	r->out = (chat_buffer){0};
	hec_status status = chat_buffer_end(r, run_scope(r, body), &r->out, out);
	r->out = before;
	return status;
}

static hec_status run_set(chat_run *r, const chat_node *n)
{
	chat_value v = CHAT_UNDEFINED, space = CHAT_UNDEFINED;
	HEC_TRY(n->a < 0 ? capture_output(r, n->b, &v) : chat_evaluate(r, n->a, &v));
	if (n->d < 0)
		return bind_names(r, n->value, &v);
	json_t *name = NULL;
	const json_t *member = r->t->nodes[n->d].value;
	hec_status status = HEC_OK;
	if (chat_each(r, n->value, 0, &name, &status))
		status = chat_get(r, name, &space);
	if (status == HEC_OK && space.kind != VALUE_SPACE)
		status = chat_wrong(r, "%s is %s, no namespace", json_string_value(name),
		                    chat_kind_name(&space));
	if (status == HEC_OK && v.kind != VALUE_JSON)
		status = chat_unknown(r, "a member of a namespace that is %s", chat_kind_name(&v));
	if (status == HEC_OK)
		status = chat_put_member(r, space.json, json_string_value(member),
		                         json_string_length(member), json_incref(v.json));
	chat_value_free(&space);
	chat_value_free(&v);
	return status;
}

static hec_status run_print(chat_run *r, const chat_node *n)
{
	chat_value v;
	HEC_TRY(chat_evaluate(r, n->a, &v));
	hec_status status = chat_print(r, &r->out, &v);
	chat_value_free(&v);
	return status;
}

static hec_status run_statement(chat_run *r, const chat_node *n)
{
	r->line = n->line;
	switch (n->kind) {
	case CHAT_TEXT:
		return chat_put(r, &r->out, json_string_value(n->value),
		                json_string_length(n->value));
	case CHAT_PRINT:
		return run_print(r, n);
	case CHAT_IF:
		return run_if(r, n);
	case CHAT_FOR:
		return run_for(r, n);
	case CHAT_SET:
		return run_set(r, n);
	case CHAT_SCOPE:
		return run_scope(r, n->b);
	case CHAT_BREAK:
		r->signal = RUN_BREAK;
		return HEC_OK;
	default:
		r->signal = RUN_CONTINUE;
		return HEC_OK;
	}
}

hec_status chat_run_list(chat_run *r, int32_t i)
{
	for (; i >= 0 && r->signal == RUN_ON; i = r->t->nodes[i].next) {
		HEC_TRY(chat_charge(r, CHAT_STEP));
		HEC_TRY(run_statement(r, &r->t->nodes[i]));
	}
	return HEC_OK;
}
