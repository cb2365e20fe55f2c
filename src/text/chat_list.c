/* chat_list.c — what chat templates do with lists and dicts. */
#include <stdlib.h>
#include <string.h>

#include "text/chat_call.h"
#include "text/utf8.h"

#define RANGE_MOST 100000

static hec_status characters(chat_run *r, const json_t *text, json_t *list)
{
	const char *s = json_string_value(text);
	for (; *s; s += utf8_length(*s))
		HEC_TRY(chat_append(r, list, json_stringn(s, utf8_length(*s))));
	return HEC_OK;
}

static hec_status members(chat_run *r, const json_t *dict, int what, json_t *list)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)dict, key, value)
	{
		HEC_TRY(chat_append(r, list,
		                    what == MEMBER_KEY     ? json_string(key)
		                    : what == MEMBER_VALUE ? json_incref(value)
		                                           : json_pack("[s, O]", key, value)));
	}
	return HEC_OK;
}

hec_status chat_list_of(chat_run *r, const chat_value *on, chat_value *out)
{
	if (chat_is_list(on)) {
		*out = chat_shared(on->json);
		return HEC_OK;
	}
	if (on->kind == VALUE_ONCE) {
		HEC_TRY(chat_json(r, json_copy(on->json), out));
		(void)json_array_clear(on->json);
		return HEC_OK;
	}
	if (on->kind != VALUE_UNDEFINED && !chat_is_text(on) && !chat_is_dict(on))
		return chat_wrong(r, "%s is no list", chat_kind_name(on));
	json_t *list = json_array();
	hec_status status = chat_is_text(on)   ? characters(r, on->json, list)
	                    : chat_is_dict(on) ? members(r, on->json, MEMBER_KEY, list)
	                                       : HEC_OK;
	return chat_list_end(r, status, list, out);
}

static hec_status once_end(chat_run *r, hec_status status, json_t *list, chat_value *out)
{
	HEC_TRY(chat_list_end(r, status, list, out));
	out->kind = VALUE_ONCE;
	return HEC_OK;
}

hec_status chat_members(chat_run *r, const chat_call_of *c, chat_value *out)
{
	if (!chat_is_dict(c->on) && c->on->kind != VALUE_UNDEFINED)
		return chat_wrong(r, "'%s' of %s", c->name, chat_kind_name(c->on));
	json_t *list = json_array();
	hec_status status = members(r, c->on->json, c->how, list);
	return (c->how == MEMBER_BOTH_ONCE ? once_end : chat_list_end)(r, status, list, out);
}

hec_status chat_end(chat_run *r, const chat_call_of *c, chat_value *out)
{
	(void)r;
	size_t n = json_array_size(c->on->json);
	*out = chat_shared(json_array_get(c->on->json, c->how == AT_START ? 0 : n - 1));
	return HEC_OK;
}

static hec_status join(chat_run *r, const json_t *list, const chat_value *by, chat_value *out)
{
	chat_buffer b = {0};
	hec_status status = HEC_OK;
	for (size_t i = 0; i < json_array_size(list) && status == HEC_OK; i++) {
		chat_value one = {VALUE_JSON, json_array_get(list, i), NULL};
		if (i > 0)
			status = chat_print(r, &b, by);
		if (status == HEC_OK)
			status = chat_charge(r, 1);
		if (status == HEC_OK)
			status = chat_print(r, &b, &one);
	}
	return chat_buffer_end(r, status, &b, out);
}

hec_status chat_join(chat_run *r, const chat_call_of *c, chat_value *out)
{
	return join(r, c->on->json, &c->at[0], out);
}

hec_status chat_join_method(chat_run *r, const chat_call_of *c, chat_value *out)
{
	if (!chat_has_items(&c->at[0]))
		return chat_wrong(r, "'join' of %s", chat_kind_name(&c->at[0]));
	chat_value all;
	HEC_TRY(chat_list_of(r, &c->at[0], &all));
	hec_status status = join(r, all.json, c->on, out);
	chat_value_free(&all);
	return status;
}

static hec_status reverse_text(chat_run *r, const char *text, size_t n, chat_value *out)
{
	chat_buffer b = {0};
	hec_status status = HEC_OK;
	for (size_t at; n > 0 && status == HEC_OK; n = at) {
		at = utf8_before(text, n);
		status = chat_put(r, &b, text + at, n - at);
	}
	return chat_buffer_end(r, status, &b, out);
}

hec_status chat_reverse(chat_run *r, const chat_call_of *c, chat_value *out)
{
	if (chat_is_text(c->on))
		return reverse_text(r, json_string_value(c->on->json),
		                    json_string_length(c->on->json), out);
	chat_value all;
	HEC_TRY(chat_list_of(r, c->on, &all));
	json_t *list = json_array();
	hec_status status = HEC_OK;
	for (size_t i = json_array_size(all.json); i-- > 0 && status == HEC_OK;)
		status = chat_append(r, list, json_incref(json_array_get(all.json, i)));
	chat_value_free(&all);
	/* What Python cannot go over backwards becomes a list for it. */
	return (c->on->kind == VALUE_JSON ? once_end : chat_list_end)(r, status, list, out);
}

/* A dict's key comes before its method of that name here: item[name], not item.name. */
static hec_status part_of(chat_run *r, const chat_call_of *c, const chat_value *on,
                          const char *name, chat_value *out)
{
	HEC_TRY(chat_charge(r, 1));
	*out = chat_shared(chat_is_dict(on) ? json_object_get(on->json, name) : NULL);
	if (out->kind != VALUE_UNDEFINED)
		return HEC_OK;
	if (*name && name[strspn(name, "0123456789")] == '\0')
		return chat_unknown(r, "'%s' by a number", c->name);
	HEC_TRY(chat_attribute(r, on, name, out));
	if (out->kind != VALUE_METHOD)
		return HEC_OK;
	chat_value_free(out);
	return chat_unknown(r, "'%s' of a method", c->name);
}

/* The attribute that a call names, of an item; "a.b" is the b of its a. */
static hec_status attribute_of(chat_run *r, const chat_call_of *c, json_t *item, chat_value *out)
{
	*out = CHAT_UNDEFINED;
	if (!chat_is_text(&c->at[0]))
		return chat_wrong(r, "'%s' without the name of an attribute", c->name);
	const char *all = json_string_value(c->at[0].json);
	char *names = malloc(strlen(all) + 1);
	if (!names)
		return fail(HEC_ERR_MEMORY, "chat template: no memory for a name");
	memcpy(names, all, strlen(all) + 1);
	chat_value on = chat_shared(item);
	hec_status status = HEC_OK;
	for (char *name = names, *next; status == HEC_OK && name; name = next) {
		next = strchr(name, '.');
		if (next)
			*next++ = '\0';
		status = part_of(r, c, &on, name, out);
		chat_value_free(&on);
		if (next)
			on = *out, *out = CHAT_UNDEFINED;
	}
	chat_value_free(&on);
	free(names);
	return status;
}

hec_status chat_map(chat_run *r, const chat_call_of *c, chat_value *out)
{
	json_t *list = json_array(), *item;
	hec_status status = HEC_OK;
	size_t i;
	json_array_foreach(c->on->json, i, item)
	{
		chat_value v = CHAT_UNDEFINED;
		status = attribute_of(r, c, item, &v);
		if (status == HEC_OK)
			status = v.json ? chat_append(r, list, v.json)
			                : chat_unknown(r, "a list of what is undefined");
		if (status != HEC_OK)
			break;
	}
	return once_end(r, status, list, out);
}

/* selectattr("role", "equalto", "user"), select("equalto", "user") */
hec_status chat_choose(chat_run *r, const chat_call_of *c, chat_value *out)
{
	json_t *list = json_array(), *item;
	hec_status status = HEC_OK;
	size_t i;
	const chat_value *test = &c->at[c->how & BY_ATTRIBUTE ? 1 : 0], *value = test + 1;
	chat_arguments rest = {.at = {*value}, .n = value->kind != VALUE_UNDEFINED};
	json_array_foreach(c->on->json, i, item)
	{
		chat_value v = CHAT_UNDEFINED;
		if (c->how & BY_ATTRIBUTE)
			status = attribute_of(r, c, item, &v);
		else
			v = chat_shared(item);
		bool holds = chat_truth(&v);
		if (status == HEC_OK && chat_is_text(test))
			status = chat_test(r, json_string_value(test->json), &v, &rest, &holds);
		if (status == HEC_OK && holds == (c->how & KEEP_THOSE))
			status = chat_append(r, list, json_incref(item));
		chat_value_free(&v);
		if (status != HEC_OK)
			break;
	}
	return once_end(r, status, list, out);
}

/* range(to), range(from, to), range(from, to, step) */
hec_status chat_range(chat_run *r, const chat_call_of *c, chat_value *out)
{
	int64_t part[3] = {0, 0, 1};
	int n = c->all->n;
	for (int i = 0; i < n; i++) {
		if (!chat_is_whole(&c->at[i]))
			return chat_wrong(r, "'range' of %s", chat_kind_name(&c->at[i]));
		part[n == 1 ? 1 : i] = json_integer_value(c->at[i].json);
	}
	if (n == 0 || part[2] == 0)
		return chat_wrong(r, n ? "'range' with a step of 0" : "'range' of nothing");
	/* Unsigned: the way from one end of the whole numbers to the other has no int64_t. */
	bool up = part[2] > 0;
	uint64_t from = (uint64_t)part[0], to = (uint64_t)part[1], step = (uint64_t)part[2];
	uint64_t way = up ? to - from : from - to, count = 0;
	if (up ? part[0] < part[1] : part[0] > part[1])
		count = (way - 1) / (up ? step : 0 - step) + 1;
	if (count > RANGE_MOST)
		return chat_wrong(r, "'range' of more than %d numbers", RANGE_MOST);
	json_t *list = json_array();
	hec_status status = HEC_OK;
	for (uint64_t i = 0; i < count && status == HEC_OK; i++, from += step)
		status = chat_append(r, list, json_integer((json_int_t)from));
	return chat_list_end(r, status, list, out);
}
