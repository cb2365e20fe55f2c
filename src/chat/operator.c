/* operator.c — operators, indices and slices, as Python defines them. */
#include "chat/call.h"
#include "text/unicode/utf8.h"

#include "chat/charged.h"

static hec_status join_lists(chat_run *r, const json_t *a, const json_t *b, chat_value *out)
{
	json_t *list = json_array(), *item;
	hec_status status = HEC_OK;
	for (size_t i = 0; chat_each(r, a, i, &item, &status); i++)
		status = chat_append(r, list, json_incref(item));
	for (size_t i = 0; chat_each(r, b, i, &item, &status); i++)
		status = chat_append(r, list, json_incref(item));
	return chat_list_end(r, status, list, out);
}

static hec_status whole_numbers(chat_run *r, int op, int64_t x, int64_t y, chat_value *out)
{
	int64_t z = 0;
	bool over = false;
	if ((op == '%' || op == OP_FLOOR) && y == 0)
		return chat_wrong(r, "a division by 0");
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
	return over ? chat_unknown(r, "a number beyond 64 bits")
	            : chat_json(r, json_integer(z), out);
}

static hec_status is_item(chat_run *r, const chat_value *a, const chat_value *b, bool *out)
{
	chat_value all;
	json_t *item;
	hec_status status = chat_list_of(r, b, &all);
	for (size_t i = 0;
	     a->kind == VALUE_JSON && !*out && chat_each(r, all.json, i, &item, &status); i++)
		status = chat_equal(r, a->json, item, out);
	chat_value_free(&all);
	return status;
}

static hec_status is_in(chat_run *r, const chat_value *a, const chat_value *b, bool *out)
{
	*out = false;
	if (b->kind == VALUE_UNDEFINED)
		return HEC_OK;
	if (chat_has_items(b))
		return is_item(r, a, b, out);
	if (chat_is_dict(b) && (chat_is_number(a) || a->kind == VALUE_UNDEFINED ||
	                        (a->kind == VALUE_JSON && json_is_null(a->json))))
		return HEC_OK; /* keys are texts */
	if (!chat_is_text(a) || (!chat_is_text(b) && !chat_is_dict(b)))
		return chat_wrong(r, "%s in %s", chat_kind_name(a), chat_kind_name(b));
	const char *text = json_string_value(b->json), *found = NULL;
	json_t *member = NULL;
	if (chat_is_dict(b))
		HEC_TRY(chat_member(r, b->json, json_string_value(a->json),
		                    json_string_length(a->json), &member));
	else
		HEC_TRY(chat_find(r, text, json_string_length(b->json), a->json, &found));
	*out = member || found;
	return HEC_OK;
}

static hec_status is_equal(chat_run *r, const chat_value *a, const chat_value *b, bool *out)
{
	if (a->kind == VALUE_JSON && b->kind == VALUE_JSON)
		return chat_equal(r, a->json, b->json, out);
	*out = a->kind == b->kind && a->json == b->json;
	return HEC_OK;
}

/* −1, 0 or 1. */
static hec_status compare_order(chat_run *r, const chat_value *a, const chat_value *b, int *out)
{
	if (chat_is_text(a) && chat_is_text(b)) {
		return chat_order_texts(r, a->json, b->json, out);
	} else if (chat_is_whole(a) && chat_is_whole(b)) {
		int64_t x = json_integer_value(a->json), y = json_integer_value(b->json);
		*out = (x > y) - (x < y);
	} else if (a->kind == VALUE_JSON && b->kind == VALUE_JSON && json_is_number(a->json) &&
	           json_is_number(b->json)) {
		double x = json_number_value(a->json), y = json_number_value(b->json);
		*out = (x > y) - (x < y);
	} else if ((chat_is_number(a) && chat_is_number(b)) ||
	           (chat_is_list(a) && chat_is_list(b))) {
		return chat_unknown(r, "%s compared with %s", chat_kind_name(a), chat_kind_name(b));
	} else {
		return chat_wrong(r, "%s compared with %s", chat_kind_name(a), chat_kind_name(b));
	}
	return HEC_OK;
}

static hec_status compare_values(chat_run *r, int op, const chat_value *a, const chat_value *b,
                                 bool *out)
{
	int d = 0;
	switch (op) {
	case OP_IN:
	case OP_NOT_IN:
		HEC_TRY(is_in(r, a, b, out));
		*out = *out == (op == OP_IN);
		return HEC_OK;
	case OP_EQ:
	case OP_NE:
		HEC_TRY(is_equal(r, a, b, out));
		*out = *out == (op == OP_EQ);
		return HEC_OK;
	default:
		HEC_TRY(compare_order(r, a, b, &d));
		*out = op == '<' ? d < 0 : op == '>' ? d > 0 : op == OP_LE ? d <= 0 : d >= 0;
		return HEC_OK;
	}
}

static bool is_repeated(const chat_value *a, const chat_value *b)
{
	bool many = chat_is_text(a) || chat_is_list(a);
	return many ? chat_is_number(b) : chat_is_number(a) && (chat_is_text(b) || chat_is_list(b));
}

hec_status chat_binary(chat_run *r, int op, const chat_value *a, const chat_value *b,
                       chat_value *out)
{
	bool holds;
	if (op == '<' || op == '>' || op > OP_FLOOR) {
		HEC_TRY(compare_values(r, op, a, b, &holds));
		return chat_json(r, json_boolean(holds), out);
	}
	if (op == '~' || (op == '+' && chat_is_text(a) && chat_is_text(b))) {
		chat_buffer joined = {0};
		hec_status status = chat_print(r, &joined, a);
		if (status == HEC_OK)
			status = chat_print(r, &joined, b);
		return chat_buffer_end(r, status, &joined, out);
	}
	if (op == '+' && chat_is_list(a) && chat_is_list(b))
		return join_lists(r, a->json, b->json, out);
	if (chat_is_whole(a) && chat_is_whole(b))
		return whole_numbers(r, op, json_integer_value(a->json),
		                     json_integer_value(b->json), out);
	/* Python also computes with fractions, formats texts and repeats texts and lists. */
	bool pythons = (chat_is_number(a) && chat_is_number(b)) || (op == '%' && chat_is_text(a)) ||
	               (op == '*' && is_repeated(a, b));
	return (pythons ? chat_unknown : chat_wrong)(
		r, "'%s%c' between %s and %s", op == OP_FLOOR ? "/" : "", op == OP_FLOOR ? '/' : op,
		chat_kind_name(a), chat_kind_name(b));
}

/* ---- parts ---- */

/* The offset of character i of a text; n: there is none. */
static size_t character_offset(const char *text, size_t n, int64_t i)
{
	size_t at = 0;
	for (; at < n && i > 0; i--)
		at += utf8_length(text[at]);
	return at;
}

static hec_status count_parts(chat_run *r, const json_t *v, int64_t *out)
{
	size_t n = json_array_size(v);
	if (json_is_string(v))
		HEC_TRY(chat_count(r, v, &n));
	*out = (int64_t)n;
	return HEC_OK;
}

/* The characters from … to − 1 of a text. */
static hec_status make_part(chat_run *r, const json_t *v, int64_t from, int64_t to, chat_value *out)
{
	const char *text = json_string_value(v);
	size_t n = json_string_length(v), begin, end;
	HEC_TRY(chat_read(r, n));
	begin = character_offset(text, n, from);
	end = to > from ? begin + character_offset(text + begin, n - begin, to - from) : begin;
	return chat_string(r, text + begin, end - begin, out);
}

hec_status chat_item(chat_run *r, const chat_value *on, const chat_value *key, chat_value *out)
{
	json_t *found = NULL;
	int64_t i, n;
	hec_status status = HEC_OK;
	*out = CHAT_UNDEFINED;
	if (chat_is_text(key) && (on->kind == VALUE_SPACE || chat_is_dict(on))) {
		status = chat_member(r, on->json, json_string_value(key->json),
		                     json_string_length(key->json), &found);
		*out = chat_shared(found);
		return status;
	}
	if (on->kind != VALUE_JSON)
		return chat_wrong(r, "an item of what is %s", chat_kind_name(on));
	if (!chat_is_whole(key) || !(chat_is_list(on) || chat_is_text(on)))
		return HEC_OK;
	HEC_TRY(count_parts(r, on->json, &n));
	i = json_integer_value(key->json);
	i = i < 0 ? i + n : i;
	if (i < 0 || i >= n)
		return HEC_OK;
	if (chat_is_text(on))
		return make_part(r, on->json, i, i + 1, out);
	(void)chat_each(r, on->json, (size_t)i, &found, &status);
	*out = chat_shared(found);
	return status;
}

/* A bound of a slice as an index in low … high; negative bounds count from the end. */
static int64_t slice_bound(const chat_value *bound, int64_t absent, int64_t n, int64_t low,
                           int64_t high)
{
	if (!chat_is_whole(bound))
		return absent;
	int64_t i = json_integer_value(bound->json);
	i = i < 0 ? i + n : i;
	return i < low ? low : i > high ? high : i;
}

hec_status chat_slice(chat_run *r, const chat_value *on, const chat_value bounds[3],
                      chat_value *out)
{
	if (!chat_is_list(on) && !chat_is_text(on))
		return chat_wrong(r, "a slice of %s", chat_kind_name(on));
	for (int i = 0; i < 3; i++)
		if (!chat_is_whole(&bounds[i]) && !json_is_null(bounds[i].json))
			return chat_wrong(r, "a slice by %s", chat_kind_name(&bounds[i]));
	int64_t step = chat_is_whole(&bounds[2]) ? json_integer_value(bounds[2].json) : 1;
	if (step == 0)
		return chat_wrong(r, "a slice with a step of 0");
	if (step < -INT32_MAX || step > INT32_MAX)
		return chat_unknown(r, "a slice with a step of %lld", (long long)step);
	bool up = step > 0;
	int64_t n;
	HEC_TRY(count_parts(r, on->json, &n));
	int64_t low = up ? 0 : -1, high = up ? n : n - 1;
	int64_t from = slice_bound(&bounds[0], up ? low : high, n, low, high);
	int64_t to = slice_bound(&bounds[1], up ? high : low, n, low, high);
	if (chat_is_text(on))
		return step == 1 ? make_part(r, on->json, from, to, out)
		                 : chat_unknown(r, "a slice of a text with a step");
	json_t *list = json_array(), *item;
	hec_status status = HEC_OK;
	for (int64_t i = from;
	     (up ? i < to : i > to) && chat_each(r, on->json, (size_t)i, &item, &status); i += step)
		status = chat_append(r, list, json_incref(item));
	return chat_list_end(r, status, list, out);
}
