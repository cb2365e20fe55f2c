/* list.c — filters and functions on lists and dicts. */
#include <stdlib.h>

#include "chat/call.h"
#include "text/unicode/utf8.h"

#include "chat/charged.h"

#define MAX_RANGE 100000

static hec_status append_characters(chat_run *r, const json_t *text, json_t *list)
{
	const char *s = json_string_value(text);
	for (; *s; s += utf8_length(*s))
		HEC_TRY(chat_append_text(r, list, s, utf8_length(*s)));
	return HEC_OK;
}

static hec_status append_members(chat_run *r, const json_t *dict, int what, json_t *list)
{
	chat_members_of m = {.dict = (json_t *)dict};
	hec_status status = HEC_OK;
	while (chat_each_member(r, &m, &status)) {
		const bool pairs = what == MEMBER_BOTH || what == MEMBER_BOTH_ONCE;
		json_t *into = pairs ? json_array() : list;
		if (what != MEMBER_VALUE)
			status = chat_append_text(r, into, m.key, m.bytes);
		if (status == HEC_OK && what != MEMBER_KEY)
			status = chat_append(r, into, json_incref(m.value));
		if (pairs && status == HEC_OK)
			status = chat_append(r, list, into);
		else if (pairs)
			json_decref(into);
	}
	return status;
}

hec_status chat_list_of(chat_run *r, const chat_value *on, chat_value *out)
{
	if (chat_is_list(on)) {
		*out = chat_shared(on->json);
		return HEC_OK;
	}
	if (on->kind == VALUE_ONCE) {
		json_t *list = json_array(), *item;
		hec_status status = HEC_OK;
		for (size_t i = 0; chat_each(r, on->json, i, &item, &status); i++)
			status = chat_append(r, list, json_incref(item));
		(void)json_array_clear(on->json);
		return chat_list_end(r, status, list, out);
	}
	if (on->kind != VALUE_UNDEFINED && !chat_is_text(on) && !chat_is_dict(on))
		return chat_wrong(r, "%s is no list", chat_kind_name(on));
	json_t *list = json_array();
	hec_status status = chat_is_text(on)   ? append_characters(r, on->json, list)
	                    : chat_is_dict(on) ? append_members(r, on->json, MEMBER_KEY, list)
	                                       : HEC_OK;
	return chat_list_end(r, status, list, out);
}

static hec_status end_once_list(chat_run *r, hec_status status, json_t *list, chat_value *out)
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
	hec_status status = append_members(r, c->on->json, c->how, list);
	return (c->how == MEMBER_BOTH_ONCE ? end_once_list : chat_list_end)(r, status, list, out);
}

hec_status chat_end(chat_run *r, const chat_call_of *c, chat_value *out)
{
	json_t *item = NULL;
	hec_status status = HEC_OK;
	size_t n = json_array_size(c->on->json);
	(void)chat_each(r, c->on->json, c->how == AT_START ? 0 : n - 1, &item, &status);
	*out = chat_shared(item);
	return status;
}

static hec_status join_items(chat_run *r, const json_t *list, const chat_value *by, chat_value *out)
{
	chat_buffer b = {0};
	json_t *item;
	hec_status status = HEC_OK;
	for (size_t i = 0; chat_each(r, list, i, &item, &status); i++) {
		chat_value one = {.kind = VALUE_JSON, .json = item};
		if (i > 0)
			status = chat_print(r, &b, by);
		if (status == HEC_OK)
			status = chat_print(r, &b, &one);
	}
	return chat_buffer_end(r, status, &b, out);
}

hec_status chat_join(chat_run *r, const chat_call_of *c, chat_value *out)
{
	return join_items(r, c->on->json, &c->at[0], out);
}

hec_status chat_join_method(chat_run *r, const chat_call_of *c, chat_value *out)
{
	if (!chat_has_items(&c->at[0]))
		return chat_wrong(r, "'join' of %s", chat_kind_name(&c->at[0]));
	chat_value all;
	HEC_TRY(chat_list_of(r, &c->at[0], &all));
	hec_status status = join_items(r, all.json, c->on, out);
	chat_value_free(&all);
	return status;
}

hec_status chat_reverse(chat_run *r, const chat_call_of *c, chat_value *out)
{
	if (chat_is_text(c->on))
		return chat_unknown(r, "'reverse' of a text");
	chat_value all;
	HEC_TRY(chat_list_of(r, c->on, &all));
	json_t *list = json_array(), *item;
	hec_status status = HEC_OK;
	for (size_t i = json_array_size(all.json);
	     i > 0 && chat_each(r, all.json, i - 1, &item, &status); i--)
		status = chat_append(r, list, json_incref(item));
	chat_value_free(&all);
	/* In Python, reversing a generator makes a list of it. */
	return (c->on->kind == VALUE_JSON ? end_once_list : chat_list_end)(r, status, list, out);
}

/* ---- attributes ---- */

/* Whether the attribute that a call names is one that items can have here. */
static hec_status check_attribute(chat_run *r, const chat_call_of *c)
{
	if (json_array_size(c->on->json) == 0) /* then Jinja does not look at it either */
		return HEC_OK;
	if (!chat_is_text(&c->at[0]))
		return chat_wrong(r, "'%s' without the name of an attribute", c->name);
	const char *name = json_string_value(c->at[0].json);
	HEC_TRY(chat_read(r, json_string_length(c->at[0].json)));
	bool number = *name;
	for (; *name; name++) {
		number = number && *name >= '0' && *name <= '9';
		if (*name == '.')
			return chat_unknown(r, "'%s' by an attribute with a dot", c->name);
	}
	return number ? chat_unknown(r, "'%s' by a number", c->name) : HEC_OK;
}

/* Here, unlike in item.name, a key of a dict comes before a method of that name. */
static hec_status get_attribute(chat_run *r, const chat_call_of *c, const json_t *item,
                                chat_value *out)
{
	const chat_value on = {.kind = VALUE_JSON, .json = (json_t *)item};
	const char *name = json_string_value(c->at[0].json);
	const size_t bytes = json_string_length(c->at[0].json);
	json_t *found = NULL;
	*out = CHAT_UNDEFINED;
	HEC_TRY(chat_read(r, bytes));
	if (chat_is_dict(&on))
		HEC_TRY(chat_member(r, item, name, bytes, &found));
	*out = chat_shared(found);
	if (found)
		return HEC_OK;
	HEC_TRY(chat_attribute(r, &on, name, bytes, out));
	if (out->kind != VALUE_METHOD)
		return HEC_OK;
	chat_value_free(out);
	return chat_unknown(r, "'%s' of a method", c->name);
}

hec_status chat_map(chat_run *r, const chat_call_of *c, chat_value *out)
{
	HEC_TRY(check_attribute(r, c));
	json_t *list = json_array(), *item;
	hec_status status = HEC_OK;
	for (size_t i = 0; chat_each(r, c->on->json, i, &item, &status); i++) {
		chat_value v;
		status = get_attribute(r, c, item, &v);
		if (status == HEC_OK)
			status = v.json ? chat_append(r, list, v.json)
			                : chat_unknown(r, "a list of what is undefined");
	}
	return end_once_list(r, status, list, out);
}

/* selectattr("role", "equalto", "user"), select("equalto", "user") */
hec_status chat_choose(chat_run *r, const chat_call_of *c, chat_value *out)
{
	const bool by_attribute = c->how & BY_ATTRIBUTE;
	const chat_value *test = &c->at[by_attribute ? 1 : 0], *value = test + 1;
	chat_arguments rest = {.at = {*value}, .n = value->kind != VALUE_UNDEFINED};
	if (by_attribute)
		HEC_TRY(check_attribute(r, c));
	json_t *list = json_array(), *item;
	hec_status status = HEC_OK;
	for (size_t i = 0; chat_each(r, c->on->json, i, &item, &status); i++) {
		chat_value v = by_attribute ? CHAT_UNDEFINED : chat_shared(item);
		if (by_attribute)
			status = get_attribute(r, c, item, &v);
		bool holds = chat_truth(&v);
		if (status == HEC_OK && chat_is_text(test))
			status = chat_test(r, json_string_value(test->json), &v, &rest, &holds);
		if (status == HEC_OK && holds == (c->how & KEEP_THOSE))
			status = chat_append(r, list, json_incref(item));
		chat_value_free(&v);
	}
	return end_once_list(r, status, list, out);
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
	if (count > MAX_RANGE)
		return chat_wrong(r, "'range' of more than %d numbers", MAX_RANGE);
	json_t *list = json_array();
	hec_status status = HEC_OK;
	for (uint64_t i = 0; i < count && status == HEC_OK; i++, from += step)
		status = chat_append(r, list, json_integer((json_int_t)from));
	return chat_list_end(r, status, list, out);
}
