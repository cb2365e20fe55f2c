/* chat_run.c — walking the statements of a chat template. Names that a loop sets end with its turn, as in
 * Jinja; a namespace is what outlives it. Statements are at most as deep in one another as the parser
 * lets them be. */
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "text/chat_call.h"
#include "text/grow.h"
#include "text/utf8.h"

#define WORK ((int64_t)64 << 20)

static hec_status run_list(chat_run *r, int32_t i);

/* ---- variables ---- */

/* Takes the value over. */
static hec_status set_variable(chat_run *r, const char *name, chat_value *v)
{
	hec_status status = chat_charge(r, 1 + r->n / 8);
	for (size_t i = r->n; status == HEC_OK && i > 0 && r->variables[i - 1].frame == r->frame;
	     i--)
		if (strcmp(r->variables[i - 1].name, name) == 0) {
			chat_value_free(&r->variables[i - 1].value);
			r->variables[i - 1].value = *v;
			return HEC_OK;
		}
	if (status == HEC_OK)
		status = GROW(&r->variables, &r->capacity, r->n + 1);
	if (status == HEC_OK)
		r->variables[r->n++] = (chat_variable){name, *v, r->frame};
	else
		chat_value_free(v);
	return status;
}

static void leave_frame(chat_run *r)
{
	while (r->n > 0 && r->variables[r->n - 1].frame == r->frame)
		chat_value_free(&r->variables[--r->n].value);
	r->frame--;
}

/* Binds the names of a for or set to a value, which it takes over. */
static hec_status bind(chat_run *r, const json_t *names, chat_value *v)
{
	size_t n = json_array_size(names);
	if (n == 1)
		return set_variable(r, json_string_value(json_array_get(names, 0)), v);
	chat_value all = CHAT_UNDEFINED;
	hec_status status = HEC_OK;
	if (chat_has_items(v) || chat_is_text(v) || chat_is_dict(v))
		status = chat_list_of(r, v, &all);
	if (status == HEC_OK && json_array_size(all.json) != n)
		status = chat_wrong(r, "%s is not the %zu values that are named", chat_kind_name(v),
		                    n);
	for (size_t i = 0; i < n && status == HEC_OK; i++) {
		chat_value one = chat_shared(json_array_get(all.json, i));
		status = set_variable(r, json_string_value(json_array_get(names, i)), &one);
	}
	chat_value_free(&all);
	chat_value_free(v);
	return status;
}

/* ---- loops ---- */

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
			status = chat_evaluate(r, n->d, &holds);
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

static hec_status bind_loop(chat_run *r, json_t *list, size_t i)
{
	size_t n = json_array_size(list);
	HEC_TRY(chat_charge(r, 8));
	/* O*: left out where there is none */
	json_t *loop =
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:i, s:i, s:O*, s:O*}", "index",
	                  (json_int_t)i + 1, "index0", (json_int_t)i, "length", (json_int_t)n,
	                  "revindex", (json_int_t)(n - i), "revindex0", (json_int_t)(n - i - 1),
	                  "first", i == 0, "last", i + 1 == n, "depth", 1, "depth0", 0, "previtem",
	                  i > 0 ? json_array_get(list, i - 1) : NULL, "nextitem",
	                  json_array_get(list, i + 1));
	if (!loop)
		return fail(HEC_ERR_MEMORY, "no memory for a loop");
	chat_value v = {VALUE_JSON, loop, NULL};
	return set_variable(r, "loop", &v);
}

/* *done: whether a turn came to its end. What stands behind else runs where none did: where there is no item,
 * and where each turn was broken off. */
static hec_status run_turns(chat_run *r, const chat_node *n, json_t *list, bool *done)
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
		status = run_list(r, n->c);
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
	return run_list(r, holds ? n->b : n->c);
}

static hec_status run_scope(chat_run *r, int32_t body)
{
	r->frame++;
	hec_status status = run_list(r, body);
	leave_frame(r);
	return status;
}

/* {% set x %}…{% endset %}: what its statements print. */
static hec_status capture(chat_run *r, int32_t body, chat_value *out)
{
	chat_buffer before = r->out;
	r->out = (chat_buffer){0};
	hec_status status = chat_buffer_end(r, run_scope(r, body), &r->out, out);
	r->out = before;
	return status;
}

static hec_status run_set(chat_run *r, const chat_node *n)
{
	chat_value v = CHAT_UNDEFINED, space;
	HEC_TRY(n->a < 0 ? capture(r, n->b, &v) : chat_evaluate(r, n->a, &v));
	if (n->d < 0)
		return bind(r, n->value, &v);
	const char *name = json_string_value(json_array_get(n->value, 0));
	hec_status status = chat_get(r, name, &space);
	if (status == HEC_OK && space.kind != VALUE_SPACE)
		status = chat_wrong(r, "%s is %s, no namespace", name, chat_kind_name(&space));
	if (status == HEC_OK && v.kind != VALUE_JSON)
		status = chat_unknown(r, "a member of a namespace that is %s", chat_kind_name(&v));
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
	HEC_TRY(chat_evaluate(r, n->a, &v));
	hec_status status = chat_print(r, &r->out, &v);
	chat_value_free(&v);
	return status;
}

static hec_status run_one(chat_run *r, const chat_node *n)
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

static hec_status run_list(chat_run *r, int32_t i)
{
	for (; i >= 0 && r->signal == RUN_ON; i = r->t->nodes[i].next) {
		HEC_TRY(chat_charge(r, 1));
		HEC_TRY(run_one(r, &r->t->nodes[i]));
	}
	return HEC_OK;
}

/* ---- the calls of chat.h ---- */

static hec_status check_text(size_t message, const char *text)
{
	size_t n = strlen(text), good = utf8_valid(text, n);
	return good == n
	               ? HEC_OK
	               : fail(HEC_ERR_ARGUMENT,
	                      "hec_chat_apply: message %zu: byte %zu is not UTF-8", message, good);
}

static hec_status give_messages(chat_run *r, const hec_chat_message *messages, size_t n)
{
	json_t *list = json_array();
	HEC_TRY(json_put(r->given, "messages", list));
	for (size_t i = 0; i < n; i++) {
		if (!messages[i].role || !messages[i].content)
			return fail(HEC_ERR_ARGUMENT, "hec_chat_apply: message %zu has no %s", i,
			            messages[i].role ? "content" : "role");
		HEC_TRY(check_text(i, messages[i].role));
		HEC_TRY(check_text(i, messages[i].content));
		json_t *one = json_pack("{s:s, s:s}", "role", messages[i].role, "content",
		                        messages[i].content);
		if (json_array_append_new(list, one) != 0)
			return fail(HEC_ERR_MEMORY, "no memory for message %zu", i);
	}
	return HEC_OK;
}

static hec_status give(chat_run *r, const hec_chat_message *messages, size_t n,
                       const hec_chat_options *o)
{
	json_t *more = NULL;
	r->given = json_object();
	HEC_TRY(r->given ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for variables"));
	HEC_TRY(give_messages(r, messages, n));
	HEC_TRY(json_put(r->given, "add_generation_prompt", json_boolean(o->generation_prompt)));
	HEC_TRY(json_put(r->given, "tools", json_null()));
	HEC_TRY(json_put(r->given, "documents", json_null()));
	if (!o->variables)
		return HEC_OK;
	HEC_TRY(json_object_read("variables", o->variables, o->variables_bytes, JSON_CONFIG_MOST,
	                         &more));
	int bad = json_object_update(r->given, more);
	json_decref(more);
	return bad ? fail(HEC_ERR_MEMORY, "no memory for variables") : HEC_OK;
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
		status = chat_put(&r, &r.out, "", 0);
	if (status == HEC_OK)
		status = run_list(&r, t->first);
	while (r.n > 0)
		chat_value_free(&r.variables[--r.n].value);
	free(r.variables);
	json_decref(r.given);
	if (status != HEC_OK) {
		free(r.out.text);
		return status;
	}
	*text = r.out.text;
	if (bytes)
		*bytes = r.out.n;
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
	if (out)
		*out = NULL;
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
