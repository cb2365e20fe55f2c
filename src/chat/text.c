/* text.c — filters and methods on texts, as Python defines them. */
#include <stdlib.h>

#include "base/memory.h"
#include "text/unicode/characters.h"
#include "chat/call.h"
#include "text/unicode/classes.h"
#include "text/unicode/utf8.h"

#include "chat/charged.h"

/* Whether the character at s is in the set; set NULL: white space. */
static bool is_one_of(const char *s, const char *set)
{
	size_t n, k;
	uint32_t c = utf8_get(s, &n);
	if (!set)
		return character_is_space(c);
	for (; *set; set += k)
		if (utf8_get(set, &k) == c)
			return true;
	return false;
}

hec_status chat_strip(chat_run *r, const chat_call_of *c, chat_value *out)
{
	const char *s = json_string_value(c->on->json), *set = NULL;
	size_t begin = 0, end = json_string_length(c->on->json), cost = 1;
	if (chat_is_text(&c->at[0])) {
		set = json_string_value(c->at[0].json);
		cost = 1 + json_string_length(c->at[0].json);
	} else if (chat_truth(&c->at[0])) {
		return chat_wrong(r, "'%s' of %s", c->name, chat_kind_name(&c->at[0]));
	}
	HEC_TRY(chat_charge(r, 2 * cost)); /* for the comparison that ends each loop */
	for (; c->how & STRIP_LEFT && begin < end && is_one_of(s + begin, set);
	     begin += utf8_length(s[begin]))
		HEC_TRY(chat_charge(r, cost));
	for (; c->how & STRIP_RIGHT && end > begin && is_one_of(s + utf8_before(s, end), set);
	     end = utf8_before(s, end))
		HEC_TRY(chat_charge(r, cost));
	return chat_string(r, s + begin, end - begin, out);
}

/* ASCII only: other letters that have a case are refused. */
hec_status chat_case(chat_run *r, const chat_call_of *c, chat_value *out)
{
	const char *s = json_string_value(c->on->json);
	size_t n = json_string_length(c->on->json), length;
	bool start = true;
	char *made;
	HEC_TRY(chat_copy(r, s, n, &made));
	classes_prepare();
	for (size_t i = 0; i < n; i += length) {
		uint32_t u = utf8_get(s + i, &length);
		if (u > 0x7f && class_of(u) & (CLASS_UPPER | CLASS_LOWER | CLASS_TITLE)) {
			mem_free(made);
			return chat_unknown(r, "'%s' knows the letters of ASCII only", c->name);
		}
		bool letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z');
		bool up = c->how == CASE_UPPER || (c->how != CASE_LOWER && start);
		if (letter)
			made[i] = (char)(up ? s[i] & ~0x20 : s[i] | 0x20);
		start = c->how == CASE_WORDS
		                ? character_is_space(u) || chat_is_byte_of(s[i], "-({[<")
		        : c->how == CASE_LETTERS ? !letter
		                                 : false;
	}
	hec_status status = chat_string(r, made, n, out);
	mem_free(made);
	return status;
}

hec_status chat_replace(chat_run *r, const chat_call_of *c, chat_value *out)
{
	const chat_value *old = &c->at[0], *new = &c->at[1];
	if (!chat_is_text(old) || !chat_is_text(new))
		return chat_wrong(r, "'replace' needs two texts");
	if (json_string_length(old->json) == 0)
		return chat_unknown(r, "'replace' of an empty text is not supported");
	chat_buffer b = {0};
	const char *s = json_string_value(c->on->json), *found;
	const char *end = s + json_string_length(c->on->json);
	hec_status status = chat_find(r, s, (size_t)(end - s), old->json, &found);
	while (status == HEC_OK && found) {
		status = chat_put(r, &b, s, (size_t)(found - s));
		s = found + json_string_length(old->json);
		if (status == HEC_OK)
			status = chat_print(r, &b, new);
		if (status == HEC_OK)
			status = chat_find(r, s, (size_t)(end - s), old->json, &found);
	}
	if (status == HEC_OK)
		status = chat_put(r, &b, s, (size_t)(end - s));
	return chat_buffer_end(r, status, &b, out);
}

/* Splits at most `most` times; < 0: no limit. */
static hec_status split_by(chat_run *r, const json_t *text, const json_t *by, int64_t most,
                           json_t *list)
{
	const char *s = json_string_value(text), *end = s + json_string_length(text), *found;
	for (; most != 0; most--) {
		HEC_TRY(chat_find(r, s, (size_t)(end - s), by, &found));
		if (!found)
			break;
		HEC_TRY(chat_append_text(r, list, s, (size_t)(found - s)));
		s = found + json_string_length(by);
	}
	return chat_append_text(r, list, s, (size_t)(end - s));
}

static hec_status split_by_space(chat_run *r, const json_t *text, json_t *list)
{
	const char *s = json_string_value(text);
	HEC_TRY(chat_charge(r, json_string_length(text)));
	for (;;) {
		while (*s && is_one_of(s, NULL))
			s += utf8_length(*s);
		size_t n = 0;
		while (s[n] && !is_one_of(s + n, NULL))
			n += utf8_length(s[n]);
		if (n == 0)
			return HEC_OK;
		HEC_TRY(chat_append_text(r, list, s, n));
		s += n;
	}
}

hec_status chat_split(chat_run *r, const chat_call_of *c, chat_value *out)
{
	const json_t *text = c->on->json, *by = chat_is_text(&c->at[0]) ? c->at[0].json : NULL;
	if (by ? json_string_length(by) == 0 : chat_truth(&c->at[0]))
		return chat_wrong(r, "'split' by %s",
		                  by ? "an empty text" : chat_kind_name(&c->at[0]));
	int64_t most = chat_is_whole(&c->at[1]) ? json_integer_value(c->at[1].json) : -1;
	if (c->all->n > 1 && (!by || most < 0))
		return chat_unknown(r, "'split' by white space, or %s times, is not supported",
		                    chat_kind_name(&c->at[1]));
	json_t *list = json_array();
	return chat_list_end(r,
	                     by ? split_by(r, text, by, most, list) : split_by_space(r, text, list),
	                     list, out);
}

hec_status chat_has_end(chat_run *r, const chat_call_of *c, chat_value *out)
{
	if (!chat_is_text(&c->at[0]))
		return (chat_is_list(&c->at[0]) ? chat_unknown : chat_wrong)(
			r, "'%s' needs a text, not %s", c->name, chat_kind_name(&c->at[0]));
	size_t n = json_string_length(c->on->json), k = json_string_length(c->at[0].json);
	const char *s = json_string_value(c->on->json) + (c->how == AT_START || k > n ? 0 : n - k);
	bool holds;
	HEC_TRY(chat_same_text(r, s, k > n ? n : k, json_string_value(c->at[0].json), k, &holds));
	return chat_json(r, json_boolean(holds), out);
}
