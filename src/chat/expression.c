/* expression.c — parses an expression of a chat template by recursive descent: one function for each level of
 * precedence, the tightest first. */
#include <string.h>

#include "chat/parser.h"
#include "base/grow.h"

#define MAX_DEPTH 100
#define MAX_NODES ((size_t)1 << 20)

hec_status chat_deeper(chat_parser *p)
{
	return ++p->depth <= MAX_DEPTH ? HEC_OK
	                               : chat_refuse(p, "more than 100 levels in one another");
}

hec_status chat_add(chat_parser *p, chat_kind kind, json_t *value, int32_t *out)
{
	hec_chat_template *t = p->t;
	hec_status status = t->n < MAX_NODES ? GROW(&t->nodes, &t->capacity, t->n + 1)
	                                     : chat_refuse(p, "too many parts");
	if (status != HEC_OK) {
		json_decref(value);
		return status;
	}
	*out = (int32_t)t->n;
	t->nodes[t->n++] = (chat_node){kind, 0, -1, -1, -1, -1, -1, value, p->line};
	return HEC_OK;
}

hec_status chat_add_text(chat_parser *p, chat_kind kind, const char *text, size_t n, int32_t *out)
{
	json_t *value = json_stringn(text, n);
	return value ? chat_add(p, kind, value, out)
	             : fail(HEC_ERR_MEMORY, "no memory for a chat template");
}

/* Makes *out the child a of a new node. Takes value over. */
static hec_status wrap_node(chat_parser *p, chat_kind kind, json_t *value, int32_t b, int32_t *out)
{
	int32_t made;
	HEC_TRY(chat_add(p, kind, value, &made));
	chat_at(p, made)->a = *out;
	chat_at(p, made)->b = b;
	*out = made;
	return HEC_OK;
}

/* Items up to the closing sign, separated by commas. */
static hec_status parse_items(chat_parser *p, int closes, bool dict, bool named, int32_t *first)
{
	int32_t last = -1, one;
	*first = -1;
	/* After a key and its colon a value has to come. */
	for (bool key = true; !key || !chat_is_op(p, closes); key = !dict || !key) {
		const char *word = p->word.text;
		size_t bytes = p->word.kind == WORD_NAME ? p->word.bytes : 0;
		HEC_TRY(chat_expression(p, &one));
		if (named && bytes && chat_is_op(p, '=') && chat_at(p, one)->kind == CHAT_NAME) {
			int32_t what;
			HEC_TRY(chat_next(p));
			HEC_TRY(chat_expression(p, &what));
			HEC_TRY(chat_add_text(p, CHAT_NAMED, word, bytes, &one));
			chat_at(p, one)->a = what;
		}
		if (last < 0)
			*first = one;
		else
			chat_at(p, last)->next = one;
		last = one;
		if (dict && key) {
			HEC_TRY(chat_expect_op(p, ':'));
			continue;
		}
		if (!chat_is_op(p, ','))
			break;
		HEC_TRY(chat_next(p));
	}
	return chat_expect_op(p, closes);
}

static hec_status parse_constant(chat_parser *p, json_t *value, int32_t *out)
{
	HEC_TRY(chat_add(p, CHAT_CONST, value, out));
	return chat_next(p);
}

static hec_status parse_parenthesis(chat_parser *p, int32_t *out)
{
	int32_t list;
	HEC_TRY(chat_next(p));
	if (chat_is_op(p, ')')) {
		HEC_TRY(chat_add(p, CHAT_LIST, NULL, out));
		return chat_next(p);
	}
	HEC_TRY(chat_expression(p, out));
	if (!chat_is_op(p, ','))
		return chat_expect_op(p, ')');
	HEC_TRY(chat_next(p));
	int32_t rest, first = *out;
	HEC_TRY(parse_items(p, ')', false, false, &rest));
	chat_at(p, first)->next = rest;
	HEC_TRY(chat_add(p, CHAT_LIST, NULL, &list));
	chat_at(p, list)->b = first;
	*out = list;
	return HEC_OK;
}

static hec_status parse_primary(chat_parser *p, int32_t *out)
{
	static const struct {
		const char *name;
		json_type type;
	} constants[] = {{"true", JSON_TRUE},   {"True", JSON_TRUE}, {"false", JSON_FALSE},
	                 {"False", JSON_FALSE}, {"none", JSON_NULL}, {"None", JSON_NULL}};
	int32_t list;
	if (p->word.kind == WORD_CONST) {
		p->word.kind = WORD_END; /* the value is the node's now */
		return parse_constant(p, p->word.value, out);
	}
	for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
		if (chat_is_name(p, constants[i].name))
			return parse_constant(
				p,
				constants[i].type == JSON_NULL
					? json_null()
					: json_boolean(constants[i].type == JSON_TRUE),
				out);
	if (p->word.kind == WORD_NAME) {
		json_t *name;
		HEC_TRY(chat_take_name(p, &name));
		return chat_add(p, CHAT_NAME, name, out);
	}
	if (chat_is_op(p, '('))
		return parse_parenthesis(p, out);
	if (chat_is_op(p, '[') || chat_is_op(p, '{')) {
		bool dict = chat_is_op(p, '{');
		HEC_TRY(chat_next(p));
		HEC_TRY(parse_items(p, dict ? '}' : ']', dict, false, &list));
		HEC_TRY(chat_add(p, dict ? CHAT_DICT : CHAT_LIST, NULL, out));
		chat_at(p, *out)->b = list;
		return HEC_OK;
	}
	return chat_refuse(p, "an expression is missing");
}

/* x[i], x[a:b:c] */
static hec_status parse_subscript(chat_parser *p, int32_t *out)
{
	int32_t part[3] = {-1, -1, -1};
	int n = 0;
	HEC_TRY(chat_next(p));
	while (!chat_is_op(p, ']')) {
		if (chat_is_op(p, ':')) {
			if (++n > 2)
				return chat_refuse(p, "a slice of more than three parts");
			HEC_TRY(chat_next(p));
			continue;
		}
		if (part[n] >= 0)
			return chat_refuse(p, "a ']' is missing");
		HEC_TRY(chat_expression(p, &part[n]));
	}
	HEC_TRY(chat_next(p));
	if (n == 0 && part[0] < 0)
		return chat_refuse(p, "an index is missing");
	HEC_TRY(wrap_node(p, n ? CHAT_SLICE : CHAT_ITEM, NULL, part[0], out));
	chat_at(p, *out)->c = part[1];
	chat_at(p, *out)->d = part[2];
	return HEC_OK;
}

static hec_status parse_arguments(chat_parser *p, int32_t *first)
{
	*first = -1;
	if (!chat_is_op(p, '('))
		return HEC_OK;
	HEC_TRY(chat_next(p));
	return parse_items(p, ')', false, true, first);
}

static hec_status parse_postfix(chat_parser *p, int32_t *out)
{
	HEC_TRY(parse_primary(p, out));
	for (;;) {
		int32_t args;
		if (chat_is_op(p, '.')) {
			json_t *name;
			HEC_TRY(chat_next(p));
			HEC_TRY(chat_take_name(p, &name));
			HEC_TRY(wrap_node(p, CHAT_ATTR, name, -1, out));
		} else if (chat_is_op(p, '[')) {
			HEC_TRY(parse_subscript(p, out));
		} else if (chat_is_op(p, '(')) {
			HEC_TRY(parse_arguments(p, &args));
			HEC_TRY(wrap_node(p, CHAT_CALL, NULL, args, out));
		} else {
			return HEC_OK;
		}
	}
}

/* Makes *out the operand of the filter or test whose name is the current word. */
static hec_status wrap_known(chat_parser *p, chat_kind kind, int32_t *out)
{
	json_t *name;
	HEC_TRY(chat_take_name(p, &name));
	const char *text = json_string_value(name);
	if (kind == CHAT_FILTER ? chat_knows_filter(text) : chat_knows_test(text))
		return wrap_node(p, kind, name, -1, out);
	hec_status status = chat_refuse_named(p, kind == CHAT_FILTER ? "the filter" : "the test",
	                                      text, json_string_length(name));
	json_decref(name);
	return status;
}

static hec_status parse_filter(chat_parser *p, int32_t *out)
{
	int32_t args;
	HEC_TRY(chat_next(p));
	HEC_TRY(wrap_known(p, CHAT_FILTER, out));
	HEC_TRY(parse_arguments(p, &args));
	chat_at(p, *out)->b = args;
	return HEC_OK;
}

/* x is y, x is not y; an argument may stand without parentheses. */
static hec_status parse_test(chat_parser *p, int32_t *out)
{
	int32_t args;
	HEC_TRY(chat_next(p));
	bool negated = chat_is_name(p, "not");
	if (negated)
		HEC_TRY(chat_next(p));
	HEC_TRY(wrap_known(p, CHAT_TEST, out));
	HEC_TRY(p->word.kind == WORD_CONST || chat_is_op(p, '[') ? parse_postfix(p, &args)
	                                                         : parse_arguments(p, &args));
	chat_at(p, *out)->b = args;
	chat_at(p, *out)->op = negated;
	return HEC_OK;
}

static hec_status parse_minus(chat_parser *p, int32_t *out)
{
	if (!chat_is_op(p, '-'))
		return parse_postfix(p, out);
	HEC_TRY(chat_next(p));
	HEC_TRY(chat_deeper(p));
	HEC_TRY(parse_minus(p, out));
	p->depth--;
	return wrap_node(p, CHAT_MINUS, NULL, -1, out);
}

static hec_status parse_filtered(chat_parser *p, int32_t *out)
{
	HEC_TRY(parse_minus(p, out));
	for (;;) {
		if (chat_is_op(p, '|'))
			HEC_TRY(parse_filter(p, out));
		else if (chat_is_name(p, "is"))
			HEC_TRY(parse_test(p, out));
		else
			return HEC_OK;
	}
}

/* From the loosest to the tightest: + and −, ~, * // %. */
static hec_status parse_binary(chat_parser *p, int level, int32_t *out)
{
	static const char *const signs[] = {"+-", "~", "*%"};
	if (level == 3)
		return parse_filtered(p, out);
	HEC_TRY(parse_binary(p, level + 1, out));
	while (p->word.kind == WORD_OP && ((p->word.op < 128 && strchr(signs[level], p->word.op)) ||
	                                   (level == 2 && p->word.op == OP_FLOOR))) {
		int op = p->word.op;
		int32_t right;
		HEC_TRY(chat_next(p));
		HEC_TRY(parse_binary(p, level + 1, &right));
		HEC_TRY(wrap_node(p, CHAT_BINARY, NULL, right, out));
		chat_at(p, *out)->op = op;
	}
	return HEC_OK;
}

/* Reads a comparison operator; 0: there is none. */
static hec_status read_comparison(chat_parser *p, int *op)
{
	*op = 0;
	if (p->word.kind == WORD_OP && (p->word.op == '<' || p->word.op == '>' ||
	                                (p->word.op >= OP_EQ && p->word.op <= OP_GE))) {
		*op = p->word.op;
		return chat_next(p);
	}
	if (chat_is_name(p, "in")) {
		*op = OP_IN;
		return chat_next(p);
	}
	if (chat_is_name(p, "not")) {
		HEC_TRY(chat_next(p));
		if (!chat_is_name(p, "in"))
			return chat_refuse(p, "'not' stands where an operator is needed");
		*op = OP_NOT_IN;
		return chat_next(p);
	}
	return HEC_OK;
}

static hec_status parse_comparison(chat_parser *p, int32_t *out)
{
	int op;
	int32_t right;
	HEC_TRY(parse_binary(p, 0, out));
	HEC_TRY(read_comparison(p, &op));
	if (!op)
		return HEC_OK;
	HEC_TRY(parse_binary(p, 0, &right));
	HEC_TRY(wrap_node(p, CHAT_BINARY, NULL, right, out));
	chat_at(p, *out)->op = op;
	HEC_TRY(read_comparison(p, &op));
	return op ? chat_refuse(p, "a chain of comparisons is not supported") : HEC_OK;
}

static hec_status parse_not(chat_parser *p, int32_t *out)
{
	if (!chat_is_name(p, "not"))
		return parse_comparison(p, out);
	HEC_TRY(chat_next(p));
	HEC_TRY(chat_deeper(p));
	HEC_TRY(parse_not(p, out));
	p->depth--;
	return wrap_node(p, CHAT_NOT, NULL, -1, out);
}

static hec_status parse_and(chat_parser *p, int32_t *out)
{
	int32_t right;
	HEC_TRY(parse_not(p, out));
	while (chat_is_name(p, "and")) {
		HEC_TRY(chat_next(p));
		HEC_TRY(parse_not(p, &right));
		HEC_TRY(wrap_node(p, CHAT_AND, NULL, right, out));
	}
	return HEC_OK;
}

hec_status chat_condition(chat_parser *p, int32_t *out)
{
	int32_t right;
	HEC_TRY(parse_and(p, out));
	while (chat_is_name(p, "or")) {
		HEC_TRY(chat_next(p));
		HEC_TRY(parse_and(p, &right));
		HEC_TRY(wrap_node(p, CHAT_OR, NULL, right, out));
	}
	return HEC_OK;
}

hec_status chat_expression(chat_parser *p, int32_t *out)
{
	HEC_TRY(chat_deeper(p));
	HEC_TRY(chat_condition(p, out));
	while (chat_is_name(p, "if")) {
		int32_t condition, other = -1, made;
		HEC_TRY(chat_next(p));
		HEC_TRY(chat_condition(p, &condition));
		if (chat_is_name(p, "else")) {
			HEC_TRY(chat_next(p));
			HEC_TRY(chat_expression(p, &other));
		}
		HEC_TRY(chat_add(p, CHAT_CHOICE, NULL, &made));
		chat_at(p, made)->a = condition;
		chat_at(p, made)->b = *out;
		chat_at(p, made)->c = other;
		*out = made;
	}
	p->depth--;
	return HEC_OK;
}
