/* apply.c — hec_chat_template_parse and hec_chat_apply: sets the variables and runs the template. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "chat/work.h"
#include "text/unicode/utf8.h"

#define WORK ((int64_t)64 << 20)

static hec_status check_text(size_t message, const char *text)
{
	size_t n = strlen(text), good = utf8_valid(text, n);
	return good == n
	               ? HEC_OK
	               : fail(HEC_ERR_ARGUMENT,
	                      "hec_chat_apply: message %zu: byte %zu is not UTF-8", message, good);
}

static hec_status set_messages(chat_run *r, const hec_chat_message *messages, size_t n)
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

static hec_status set_variables(chat_run *r, const hec_chat_message *messages, size_t n,
                                const hec_chat_options *o)
{
	json_t *more = NULL;
	r->given = json_object();
	HEC_TRY(r->given ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for variables"));
	HEC_TRY(set_messages(r, messages, n));
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
	hec_status status = set_variables(&r, messages, n, &o);
	if (status == HEC_OK)
		status = chat_put(&r, &r.out, "", 0);
	if (status == HEC_OK)
		status = chat_run_list(&r, t->first);
	while (r.n > 0)
		chat_value_free(&r.variables[--r.n].value);
	mem_free(r.variables);
	json_decref(r.given);
	if (status != HEC_OK) {
		mem_free(r.out.text);
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
	mem_free(t->nodes);
	json_decref(t->tokens);
	mem_free(t);
}

hec_status hec_chat_template_parse(const char *text, size_t bytes, hec_chat_template **out)
{
	if (out)
		*out = NULL;
	if (!text || !out)
		return fail(HEC_ERR_ARGUMENT, "hec_chat_template_parse: %s is NULL",
		            text ? "out" : "text");
	hec_chat_template *t = mem_zeros(1, sizeof *t);
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
