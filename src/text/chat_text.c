/* chat_text.c — what chat templates do with texts, as Python does it. */
#include <stdlib.h>
#include <string.h>

#include "text/characters.h"
#include "text/chat_call.h"
#include "text/classes.h"
#include "text/utf8.h"

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
	for (; c->how & STRIP_LEFT && begin < end && is_one_of(s + begin, set);
	     begin += utf8_length(s[begin]))
		HEC_TRY(chat_charge(r, cost));
	for (; c->how & STRIP_RIGHT && end > begin && is_one_of(s + utf8_before(s, end), set);
	     end = utf8_before(s, end))
		HEC_TRY(chat_charge(r, cost));
	return chat_string(r, s + begin, end - begin, out);
}

/* ASCII only: other letters with a case are refused, never left as they are. */
hec_status chat_case(chat_run *r, const chat_call_of *c, chat_value *out)
{
	const char *s = json_string_value(c->on->json);
	size_t n = json_string_length(c->on->json), length;
	bool start = true;
	char *made = malloc(n + 1);
	if (!made)
		return fail(HEC_ERR_MEMORY, "no memory for a text");
	classes_prepare();
	for (size_t i = 0; i < n; i += length) {
		uint32_t u = utf8_get(s + i, &length);
		if (u > 0x7f && class_of(u) & (CLASS_UPPER | CLASS_LOWER | CLASS_TITLE)) {
			free(made);
			return chat_unknown(r, "'%s' knows the letters of ASCII only", c->name);
		}
		bool letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z');
		bool up = c->how == CASE_UPPER || (c->how != CASE_LOWER && start);
		memcpy(made + i, s + i, length);
		if (letter)
			made[i] = (char)(up ? s[i] & ~0x20 : s[i] | 0x20);
		start = c->how == CASE_WORDS
		                ? character_is_space(u) || (u < 0x80 && strchr("-({[<", s[i]))
		        : c->how == CASE_LETTERS ? !letter
		                                 : false;
	}
	hec_status status = chat_string(r, made, n, out);
	free(made);
	return status;
}

hec_status chat_replace(chat_run *r, const chat_call_of *c, chat_value *out)
{
	const chat_value *old = &c->at[0], *new = &c->at[1];
	if (!chat_is_text(old) || !chat_is_text(new))
		return chat_wrong(r, "'replace' needs two texts");
	if (json_string_length(old->json) == 0)
		return chat_unknown(r, "'replace' of an empty text is not known here");
	chat_buffer b = {0};
	const char *s = json_string_value(c->on->json), *found;
	hec_status status = HEC_OK;
	for (; status == HEC_OK && (found = strstr(s, json_string_value(old->json)));
	     s = found + json_string_length(old->json)) {
		status = chat_put(r, &b, s, (size_t)(found - s));
		if (status == HEC_OK)
			status = chat_print(r, &b, new);
	}
	if (status == HEC_OK)
		status = chat_put(r, &b, s, strlen(s));
	return chat_buffer_end(r, status, &b, out);
}

static hec_status split_by(chat_run *r, const char *s, const char *by, int64_t most, json_t *list)
{
	for (const char *found; most-- != 0 && (found = strstr(s, by)); s = found + strlen(by))
		HEC_TRY(chat_append(r, list, json_stringn(s, (size_t)(found - s))));
	return chat_append(r, list, json_string(s));
}

static hec_status split_by_space(chat_run *r, const char *s, json_t *list)
{
	for (;;) {
		while (*s && is_one_of(s, NULL))
			s += utf8_length(*s);
		size_t n = 0;
		while (s[n] && !is_one_of(s + n, NULL))
			n += utf8_length(s[n]);
		if (n == 0)
			return HEC_OK;
		HEC_TRY(chat_append(r, list, json_stringn(s, n)));
		s += n;
	}
}

hec_status chat_split(chat_run *r, const chat_call_of *c, chat_value *out)
{
	const char *s = json_string_value(c->on->json);
	const char *by = chat_is_text(&c->at[0]) ? json_string_value(c->at[0].json) : NULL;
	if (by ? !*by : chat_truth(&c->at[0]))
		return chat_wrong(r, "'split' by %s",
		                  by ? "an empty text" : chat_kind_name(&c->at[0]));
	int64_t most = chat_is_whole(&c->at[1]) ? json_integer_value(c->at[1].json) : -1;
	if (c->all->n > 1 && (!by || most < 0))
		return chat_unknown(r, "'split' by white space, or %s times, is not known here",
		                    chat_kind_name(&c->at[1]));
	HEC_TRY(chat_charge(r, json_string_length(c->on->json)));
	json_t *list = json_array();
	return chat_list_end(r, by ? split_by(r, s, by, most, list) : split_by_space(r, s, list),
	                     list, out);
}

hec_status chat_has_end(chat_run *r, const chat_call_of *c, chat_value *out)
{
	if (!chat_is_text(&c->at[0]))
		return (chat_is_list(&c->at[0]) ? chat_unknown : chat_wrong)(
			r, "'%s' needs a text, not %s", c->name, chat_kind_name(&c->at[0]));
	size_t n = json_string_length(c->on->json), k = json_string_length(c->at[0].json);
	const char *s = json_string_value(c->on->json) + (c->how == AT_START || k > n ? 0 : n - k);
	bool holds = k <= n && memcmp(s, json_string_value(c->at[0].json), k) == 0;
	return chat_json(r, json_boolean(holds), out);
}
