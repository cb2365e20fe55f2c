/* chat_parse.c — the text of a chat template to its tree, in one pass: what stands between tags is text,
 * with the rules for white space that Transformers sets (trim_blocks, lstrip_blocks); inside a tag an
 * expression is parsed by descent, a function for each level of precedence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "text/chat_tree.h"
#include "text/grow.h"
#include "text/utf8.h"

#define DEPTH_MOST 100
#define NODES_MOST ((size_t)1 << 20)

typedef enum word_kind { WORD_END, WORD_NAME, WORD_CONST, WORD_OP } word_kind;

typedef struct word {
	word_kind kind;
	int op;           /* WORD_OP */
	const char *text; /* WORD_NAME */
	size_t bytes;
	json_t *value; /* WORD_CONST: the parser's */
} word;

typedef struct parser {
	hec_chat_template *t;
	const char *text;
	size_t at, end, line;
	bool line_starts; /* nothing stands before `at` on its line */
	bool strip, trim; /* what the tag before asks of the text behind it */
	int depth;        /* of what is being parsed */
	int braces;       /* open in the tag */
	char closes;      /* '%' or '}' */
	word word;        /* the one at hand */
	char tag[32];     /* the name of the tag that ended a list of statements */
} parser;

static hec_status refuse(const parser *p, const char *what)
{
	return fail(HEC_ERR_UNSUPPORTED, "chat template, line %zu: %s", p->line, what);
}

static hec_status refuse_named(const parser *p, const char *what, const char *name, size_t bytes)
{
	char text[QUOTE_TEXT];
	return fail(HEC_ERR_UNSUPPORTED, "chat template, line %zu: %s '%s' is not known here",
	            p->line, what, quote_bytes(name, bytes, text));
}

static hec_status deeper(parser *p)
{
	return ++p->depth <= DEPTH_MOST ? HEC_OK : refuse(p, "more than 100 levels in one another");
}

static hec_status add(parser *p, chat_kind kind, json_t *value, int32_t *out)
{
	hec_chat_template *t = p->t;
	hec_status status = t->n < NODES_MOST ? GROW(&t->nodes, &t->capacity, t->n + 1)
	                                      : refuse(p, "too many parts");
	if (status != HEC_OK) {
		json_decref(value);
		return status;
	}
	*out = (int32_t)t->n;
	t->nodes[t->n++] = (chat_node){kind, 0, -1, -1, -1, -1, -1, value, p->line};
	return HEC_OK;
}

static chat_node *at(parser *p, int32_t i)
{
	return &p->t->nodes[i];
}

static hec_status text_node(parser *p, chat_kind kind, const char *text, size_t n, int32_t *out)
{
	json_t *value = json_stringn(text, n);
	return value ? add(p, kind, value, out)
	             : fail(HEC_ERR_MEMORY, "no memory for a chat template");
}

/* ---- words ---- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static char peek(const parser *p, size_t ahead)
{
	return p->end - p->at > ahead ? p->text[p->at + ahead] : '\0';
}

static void skip_spaces(parser *p)
{
	for (; p->at < p->end && is_space(p->text[p->at]); p->at++)
		p->line += p->text[p->at] == '\n';
}

static hec_status read_string(parser *p)
{
	char mark = p->text[p->at++];
	size_t n = 0;
	char *out = malloc(p->end - p->at + 1);
	if (!out)
		return fail(HEC_ERR_MEMORY, "no memory for a chat template");
	while (p->at < p->end && p->text[p->at] != mark) {
		char c = p->text[p->at++];
		p->line += c == '\n';
		if (c == '\\' && p->at < p->end) {
			static const char from[] = "ntr\\'\"abfv\n", to[] = "\n\t\r\\'\"\a\b\f\v\0";
			const char *found = strchr(from, p->text[p->at]);
			if (!found || !p->text[p->at]) {
				free(out);
				return refuse_named(p, "the escape", p->text + p->at - 1, 2);
			}
			p->at++;
			if (*found == '\n')
				continue;
			c = to[found - from];
		}
		out[n++] = c;
	}
	if (p->at == p->end) {
		free(out);
		return refuse(p, "a text that does not end");
	}
	p->at++;
	p->word = (word){.kind = WORD_CONST, .value = json_stringn(out, n)};
	free(out);
	return p->word.value ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a chat template");
}

static hec_status read_number(parser *p)
{
	char digits[32];
	size_t n = 0;
	bool real = false;
	while (is_digit(peek(p, 0)) || (peek(p, 0) == '.' && is_digit(peek(p, 1)) && !real)) {
		real = real || peek(p, 0) == '.';
		if (n == 18)
			return refuse(p, "a number of more than 18 digits");
		digits[n++] = p->text[p->at++];
	}
	digits[n] = '\0';
	p->word = (word){.kind = WORD_CONST,
	                 .value = real ? json_real(strtod(digits, NULL))
	                               : json_integer(strtoll(digits, NULL, 10))};
	return p->word.value ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a chat template");
}

/* Whether a tag ends here; where it does, it is passed. */
static bool read_end(parser *p)
{
	size_t n = peek(p, 0) == '-' || peek(p, 0) == '+' ? 1 : 0;
	if (p->braces > 0 || peek(p, n) != p->closes || peek(p, n + 1) != '}')
		return false;
	char sign = n ? peek(p, 0) : ' ';
	p->at += n + 2;
	p->strip = sign == '-';
	p->trim = p->closes == '%' && sign == ' ';
	p->line_starts = false;
	p->word = (word){.kind = WORD_END};
	return true;
}

static hec_status next_word(parser *p)
{
	static const struct {
		char text[3];
		int op;
	} pairs[] = {{"//", OP_FLOOR}, {"==", OP_EQ}, {"!=", OP_NE}, {"<=", OP_LE}, {">=", OP_GE}};
	if (p->word.kind == WORD_CONST)
		json_decref(p->word.value);
	p->word = (word){.kind = WORD_END};
	skip_spaces(p);
	if (p->at == p->end)
		return refuse(p, "a tag that does not end");
	if (read_end(p))
		return HEC_OK;
	char c = peek(p, 0);
	if (c == '\'' || c == '"')
		return read_string(p);
	if (is_digit(c))
		return read_number(p);
	if (is_letter(c)) {
		size_t first = p->at;
		while (is_letter(peek(p, 0)) || is_digit(peek(p, 0)))
			p->at++;
		p->word =
			(word){.kind = WORD_NAME, .text = p->text + first, .bytes = p->at - first};
		return HEC_OK;
	}
	p->word = (word){.kind = WORD_OP, .op = (unsigned char)c};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (c == pairs[i].text[0] && peek(p, 1) == pairs[i].text[1]) {
			p->word.op = pairs[i].op;
			p->at += 2;
			return HEC_OK;
		}
	if (!strchr("+-*/%~<>()[]{}.,:|=", c) || (c == '*' && peek(p, 1) == '*'))
		return refuse_named(p, "the sign", p->text + p->at, c == '*' ? 2 : 1);
	p->braces += c == '{' || c == '[' || c == '('   ? 1
	             : c == '}' || c == ']' || c == ')' ? -1
	                                                : 0;
	p->at++;
	return HEC_OK;
}

static bool is_op(const parser *p, int op)
{
	return p->word.kind == WORD_OP && p->word.op == op;
}

static bool is_name(const parser *p, const char *name)
{
	return p->word.kind == WORD_NAME && p->word.bytes == strlen(name) &&
	       memcmp(p->word.text, name, p->word.bytes) == 0;
}

static hec_status expect_op(parser *p, int op)
{
	char what[64];
	snprintf(what, sizeof what, "a '%c' is missing", op);
	return is_op(p, op) ? next_word(p) : refuse(p, what);
}

static hec_status expect_end(parser *p)
{
	return p->word.kind == WORD_END ? HEC_OK : refuse(p, "a tag goes on where it should end");
}

static hec_status take_name(parser *p, json_t **out)
{
	if (p->word.kind != WORD_NAME)
		return refuse(p, "a name is missing");
	*out = json_stringn(p->word.text, p->word.bytes);
	if (!*out)
		return fail(HEC_ERR_MEMORY, "no memory for a chat template");
	hec_status status = next_word(p);
	if (status != HEC_OK)
		json_decref(*out);
	return status;
}

/* ---- expressions ---- */

static hec_status expression(parser *p, int32_t *out);
static hec_status unary(parser *p, int32_t *out);

/* Items up to the closing sign, separated by commas. */
static hec_status items(parser *p, int closes, bool dict, bool named, int32_t *first)
{
	int32_t last = -1, one;
	*first = -1;
	for (bool key = true; !is_op(p, closes); key = !key) {
		const char *word = p->word.text;
		size_t bytes = p->word.kind == WORD_NAME ? p->word.bytes : 0;
		HEC_TRY(expression(p, &one));
		if (named && bytes && is_op(p, '=') && at(p, one)->kind == CHAT_NAME) {
			int32_t what;
			HEC_TRY(next_word(p));
			HEC_TRY(expression(p, &what));
			HEC_TRY(text_node(p, CHAT_NAMED, word, bytes, &one));
			at(p, one)->a = what;
		}
		if (last < 0)
			*first = one;
		else
			at(p, last)->next = one;
		last = one;
		if (dict && key) {
			HEC_TRY(expect_op(p, ':'));
			continue;
		}
		if (!is_op(p, ','))
			break;
		HEC_TRY(next_word(p));
	}
	return expect_op(p, closes);
}

static hec_status literal(parser *p, json_t *value, int32_t *out)
{
	HEC_TRY(add(p, CHAT_CONST, value, out));
	return next_word(p);
}

static hec_status parenthesis(parser *p, int32_t *out)
{
	int32_t list;
	HEC_TRY(next_word(p));
	if (is_op(p, ')')) {
		HEC_TRY(add(p, CHAT_LIST, NULL, out));
		return next_word(p);
	}
	HEC_TRY(expression(p, out));
	if (!is_op(p, ','))
		return expect_op(p, ')');
	HEC_TRY(next_word(p));
	int32_t rest, first = *out;
	HEC_TRY(items(p, ')', false, false, &rest));
	at(p, first)->next = rest;
	HEC_TRY(add(p, CHAT_LIST, NULL, &list));
	at(p, list)->b = first;
	*out = list;
	return HEC_OK;
}

static hec_status primary(parser *p, int32_t *out)
{
	int32_t list;
	if (p->word.kind == WORD_CONST) {
		json_t *value = p->word.value;
		p->word.kind = WORD_END; /* the node's now */
		HEC_TRY(literal(p, value, out));
		/* Texts that stand side by side are one. */
		while (p->word.kind == WORD_CONST && json_is_string(p->word.value) &&
		       json_is_string(at(p, *out)->value)) {
			json_t *joined = json_sprintf("%s%s", json_string_value(at(p, *out)->value),
			                              json_string_value(p->word.value));
			json_decref(at(p, *out)->value);
			at(p, *out)->value = joined;
			if (!joined)
				return fail(HEC_ERR_MEMORY, "no memory for a chat template");
			HEC_TRY(next_word(p));
		}
		return HEC_OK;
	}
	if (is_name(p, "true") || is_name(p, "True"))
		return literal(p, json_true(), out);
	if (is_name(p, "false") || is_name(p, "False"))
		return literal(p, json_false(), out);
	if (is_name(p, "none") || is_name(p, "None"))
		return literal(p, json_null(), out);
	if (p->word.kind == WORD_NAME) {
		json_t *name;
		HEC_TRY(take_name(p, &name));
		return add(p, CHAT_NAME, name, out);
	}
	if (is_op(p, '('))
		return parenthesis(p, out);
	if (is_op(p, '[') || is_op(p, '{')) {
		bool dict = is_op(p, '{');
		HEC_TRY(next_word(p));
		HEC_TRY(items(p, dict ? '}' : ']', dict, false, &list));
		HEC_TRY(add(p, dict ? CHAT_DICT : CHAT_LIST, NULL, out));
		at(p, *out)->b = list;
		return HEC_OK;
	}
	return refuse(p, "an expression is missing");
}

/* x[i], x[a:b:c] */
static hec_status subscript(parser *p, int32_t *out)
{
	int32_t part[3] = {-1, -1, -1}, made;
	int n = 0;
	HEC_TRY(next_word(p));
	while (!is_op(p, ']')) {
		if (is_op(p, ':')) {
			if (++n > 2)
				return refuse(p, "a slice of more than three parts");
			HEC_TRY(next_word(p));
			continue;
		}
		if (part[n] >= 0)
			return refuse(p, "a ']' is missing");
		HEC_TRY(expression(p, &part[n]));
	}
	HEC_TRY(next_word(p));
	if (n == 0 && part[0] < 0)
		return refuse(p, "an index is missing");
	HEC_TRY(add(p, n ? CHAT_SLICE : CHAT_ITEM, NULL, &made));
	*at(p, made) = (chat_node){
		n ? CHAT_SLICE : CHAT_ITEM, 0, *out, part[0], part[1], part[2], -1, NULL, p->line};
	*out = made;
	return HEC_OK;
}

static hec_status arguments(parser *p, int32_t *first)
{
	*first = -1;
	if (!is_op(p, '('))
		return HEC_OK;
	HEC_TRY(next_word(p));
	return items(p, ')', false, true, first);
}

static bool is_one_of(const json_t *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(json_string_value(name), *names) == 0)
			return true;
	return false;
}

static const char *const filters[] = {
	"trim",   "tojson",  "length", "count",  "upper",   "lower",      "capitalize",
	"title",  "join",    "first",  "last",   "default", "d",          "replace",
	"string", "int",     "list",   "items",  "safe",    "selectattr", "rejectattr",
	"map",    "reverse", "indent", "unique", NULL};
static const char *const tests[] = {"defined",  "undefined", "none",  "string", "mapping",
                                    "iterable", "sequence",  "true",  "false",  "boolean",
                                    "number",   "integer",   "float", "odd",    "even",
                                    "equalto",  "eq",        "in",    NULL};

static hec_status filter(parser *p, int32_t *out)
{
	json_t *name;
	int32_t made, args;
	HEC_TRY(next_word(p));
	HEC_TRY(take_name(p, &name));
	if (!is_one_of(name, filters)) {
		hec_status status = refuse_named(p, "the filter", json_string_value(name),
		                                 json_string_length(name));
		json_decref(name);
		return status;
	}
	HEC_TRY(add(p, CHAT_FILTER, name, &made));
	HEC_TRY(arguments(p, &args));
	at(p, made)->a = *out;
	at(p, made)->b = args;
	*out = made;
	return HEC_OK;
}

static hec_status test(parser *p, int32_t *out)
{
	json_t *name;
	int32_t made, args = -1;
	HEC_TRY(next_word(p));
	bool negated = is_name(p, "not");
	if (negated)
		HEC_TRY(next_word(p));
	HEC_TRY(take_name(p, &name));
	if (!is_one_of(name, tests)) {
		hec_status status = refuse_named(p, "the test", json_string_value(name),
		                                 json_string_length(name));
		json_decref(name);
		return status;
	}
	HEC_TRY(add(p, CHAT_TEST, name, &made));
	HEC_TRY(is_op(p, '(')                ? arguments(p, &args)
	        : p->word.kind == WORD_CONST ? unary(p, &args)
	                                     : HEC_OK);
	at(p, made)->a = *out;
	at(p, made)->b = args;
	at(p, made)->op = negated;
	*out = made;
	return HEC_OK;
}

static hec_status postfix(parser *p, int32_t *out)
{
	HEC_TRY(primary(p, out));
	for (;;) {
		int32_t made, args;
		if (is_op(p, '.')) {
			json_t *name;
			HEC_TRY(next_word(p));
			HEC_TRY(take_name(p, &name));
			HEC_TRY(add(p, CHAT_ATTR, name, &made));
			at(p, made)->a = *out;
			*out = made;
		} else if (is_op(p, '[')) {
			HEC_TRY(subscript(p, out));
		} else if (is_op(p, '(')) {
			HEC_TRY(arguments(p, &args));
			HEC_TRY(add(p, CHAT_CALL, NULL, &made));
			at(p, made)->a = *out;
			at(p, made)->b = args;
			*out = made;
		} else {
			return HEC_OK;
		}
	}
}

static hec_status unary(parser *p, int32_t *out)
{
	if (is_op(p, '-') || is_op(p, '+')) {
		bool minus = is_op(p, '-');
		int32_t what;
		HEC_TRY(next_word(p));
		HEC_TRY(deeper(p));
		HEC_TRY(unary(p, &what));
		p->depth--;
		*out = what;
		if (!minus)
			return HEC_OK;
		HEC_TRY(add(p, CHAT_MINUS, NULL, out));
		at(p, *out)->a = what;
		return HEC_OK;
	}
	HEC_TRY(postfix(p, out));
	for (;;) {
		if (is_op(p, '|'))
			HEC_TRY(filter(p, out));
		else if (is_name(p, "is"))
			HEC_TRY(test(p, out));
		else
			return HEC_OK;
	}
}

/* From the loosest to the tightest: + and −, ~, * / // %. */
static hec_status binary(parser *p, int level, int32_t *out)
{
	static const char *const signs[] = {"+-", "~", "*/%"};
	if (level == 3)
		return unary(p, out);
	HEC_TRY(binary(p, level + 1, out));
	while (p->word.kind == WORD_OP && ((p->word.op < 128 && strchr(signs[level], p->word.op)) ||
	                                   (level == 2 && p->word.op == OP_FLOOR))) {
		int op = p->word.op;
		int32_t right, made;
		HEC_TRY(next_word(p));
		HEC_TRY(binary(p, level + 1, &right));
		HEC_TRY(add(p, CHAT_BINARY, NULL, &made));
		at(p, made)->op = op;
		at(p, made)->a = *out;
		at(p, made)->b = right;
		*out = made;
	}
	return HEC_OK;
}

/* The comparison at hand, passed; 0: none. */
static hec_status comparison(parser *p, int *op)
{
	*op = 0;
	if (p->word.kind == WORD_OP && (p->word.op == '<' || p->word.op == '>' ||
	                                (p->word.op >= OP_EQ && p->word.op <= OP_GE))) {
		*op = p->word.op;
		return next_word(p);
	}
	if (is_name(p, "in")) {
		*op = OP_IN;
		return next_word(p);
	}
	if (is_name(p, "not")) {
		HEC_TRY(next_word(p));
		if (!is_name(p, "in"))
			return refuse(p, "'not' stands where an operator is needed");
		*op = OP_NOT_IN;
		return next_word(p);
	}
	return HEC_OK;
}

static hec_status compare(parser *p, int32_t *out)
{
	int op;
	int32_t made, last = -1, one, right;
	HEC_TRY(binary(p, 0, out));
	HEC_TRY(comparison(p, &op));
	if (!op)
		return HEC_OK;
	HEC_TRY(add(p, CHAT_COMPARE, NULL, &made));
	at(p, made)->a = *out;
	*out = made;
	for (; op; last = one) {
		HEC_TRY(binary(p, 0, &right));
		HEC_TRY(add(p, CHAT_OPERAND, NULL, &one));
		at(p, one)->a = right;
		at(p, one)->op = op;
		if (last < 0)
			at(p, made)->b = one;
		else
			at(p, last)->next = one;
		HEC_TRY(comparison(p, &op));
	}
	return HEC_OK;
}

static hec_status negation(parser *p, int32_t *out)
{
	if (!is_name(p, "not"))
		return compare(p, out);
	int32_t what;
	HEC_TRY(next_word(p));
	HEC_TRY(deeper(p));
	HEC_TRY(negation(p, &what));
	p->depth--;
	HEC_TRY(add(p, CHAT_NOT, NULL, out));
	at(p, *out)->a = what;
	return HEC_OK;
}

static hec_status logic(parser *p, bool any, int32_t *out)
{
	HEC_TRY(any ? logic(p, false, out) : negation(p, out));
	while (is_name(p, any ? "or" : "and")) {
		int32_t right, made;
		HEC_TRY(next_word(p));
		HEC_TRY(any ? logic(p, false, &right) : negation(p, &right));
		HEC_TRY(add(p, any ? CHAT_OR : CHAT_AND, NULL, &made));
		at(p, made)->a = *out;
		at(p, made)->b = right;
		*out = made;
	}
	return HEC_OK;
}

static hec_status expression(parser *p, int32_t *out)
{
	HEC_TRY(deeper(p));
	HEC_TRY(logic(p, true, out));
	while (is_name(p, "if")) {
		int32_t condition, other = -1, made;
		HEC_TRY(next_word(p));
		HEC_TRY(logic(p, true, &condition));
		if (is_name(p, "else")) {
			HEC_TRY(next_word(p));
			HEC_TRY(expression(p, &other));
		}
		HEC_TRY(add(p, CHAT_CHOICE, NULL, &made));
		at(p, made)->a = condition;
		at(p, made)->b = *out;
		at(p, made)->c = other;
		*out = made;
	}
	p->depth--;
	return HEC_OK;
}

/* ---- statements ---- */

static hec_status statements(parser *p, int32_t *first);

static bool tag_is(const parser *p, const char *name)
{
	return strcmp(p->tag, name) == 0;
}

static hec_status end_tag(parser *p, const char *name)
{
	char what[64];
	snprintf(what, sizeof what, "a {%% %s %%} is missing", name);
	return tag_is(p, name) ? expect_end(p) : refuse(p, what);
}

static hec_status parse_if(parser *p, int32_t *out)
{
	int32_t condition, body, other = -1;
	HEC_TRY(add(p, CHAT_IF, NULL, out));
	HEC_TRY(expression(p, &condition));
	HEC_TRY(expect_end(p));
	HEC_TRY(statements(p, &body));
	at(p, *out)->a = condition;
	at(p, *out)->b = body;
	if (tag_is(p, "elif")) {
		HEC_TRY(deeper(p));
		HEC_TRY(parse_if(p, &other));
		p->depth--;
		at(p, *out)->c = other;
		return HEC_OK; /* the innermost one took the endif */
	}
	if (tag_is(p, "else")) {
		HEC_TRY(expect_end(p));
		HEC_TRY(statements(p, &other));
		at(p, *out)->c = other;
	}
	return end_tag(p, "endif");
}

/* a, or a, b: a list of names. */
static hec_status names(parser *p, json_t **out)
{
	json_t *name;
	*out = json_array();
	hec_status status = *out ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a chat template");
	while (status == HEC_OK) {
		status = take_name(p, &name);
		if (status == HEC_OK && json_array_append_new(*out, name) != 0)
			status = fail(HEC_ERR_MEMORY, "no memory for a chat template");
		if (status != HEC_OK || !is_op(p, ','))
			break;
		status = next_word(p);
	}
	if (status != HEC_OK)
		json_decref(*out);
	return status;
}

static hec_status parse_for(parser *p, int32_t *out)
{
	json_t *list;
	int32_t what, where = -1, body, other = -1;
	HEC_TRY(names(p, &list));
	HEC_TRY(add(p, CHAT_FOR, list, out));
	if (!is_name(p, "in"))
		return refuse(p, "a for without 'in'");
	HEC_TRY(next_word(p));
	HEC_TRY(logic(p, true, &what));
	if (is_name(p, "if")) {
		HEC_TRY(next_word(p));
		HEC_TRY(expression(p, &where));
	}
	if (is_name(p, "recursive"))
		return refuse_named(p, "the word", "recursive", 9);
	HEC_TRY(expect_end(p));
	HEC_TRY(statements(p, &body));
	if (tag_is(p, "else")) {
		HEC_TRY(expect_end(p));
		HEC_TRY(statements(p, &other));
	}
	at(p, *out)->a = what;
	at(p, *out)->b = body;
	at(p, *out)->c = other;
	at(p, *out)->d = where;
	return end_tag(p, "endfor");
}

static hec_status parse_set(parser *p, int32_t *out)
{
	json_t *list, *name;
	int32_t what, space = -1;
	HEC_TRY(names(p, &list));
	HEC_TRY(add(p, CHAT_SET, list, out));
	if (is_op(p, '.')) {
		HEC_TRY(next_word(p));
		HEC_TRY(take_name(p, &name));
		HEC_TRY(add(p, CHAT_NAME, name, &space)); /* the attribute */
		at(p, *out)->d = space;
	}
	if (is_op(p, '=')) {
		HEC_TRY(next_word(p));
		HEC_TRY(expression(p, &what));
		at(p, *out)->a = what;
		if (is_op(p, ','))
			return refuse(p, "a set of more than one value");
		return expect_end(p);
	}
	HEC_TRY(expect_end(p));
	HEC_TRY(statements(p, &what));
	at(p, *out)->b = what;
	at(p, *out)->op = 1;
	return end_tag(p, "endset");
}

/* A tag whose name is at hand. *inside: its statements stand for it (generation). */
static hec_status statement(parser *p, const char *name, int32_t *out)
{
	*out = -1;
	if (strcmp(name, "if") == 0)
		return parse_if(p, out);
	if (strcmp(name, "for") == 0)
		return parse_for(p, out);
	if (strcmp(name, "set") == 0)
		return parse_set(p, out);
	if (strcmp(name, "break") == 0 || strcmp(name, "continue") == 0) {
		HEC_TRY(add(p, *name == 'b' ? CHAT_BREAK : CHAT_CONTINUE, NULL, out));
		return expect_end(p);
	}
	if (strcmp(name, "generation") == 0) { /* marks what the assistant says, for training */
		HEC_TRY(expect_end(p));
		HEC_TRY(statements(p, out));
		return end_tag(p, "endgeneration");
	}
	return refuse_named(p, "the tag", name, strlen(name));
}

static bool ends_statements(const char *name)
{
	static const char *const words[] = {"elif",   "else",          "endif", "endfor",
	                                    "endset", "endgeneration", NULL};
	for (const char *const *w = words; *w; w++)
		if (strcmp(*w, name) == 0)
			return true;
	return false;
}

/* Text up to the next tag, by the rules for white space. */
static hec_status plain_text(parser *p, int32_t *out)
{
	size_t begin = p->at;
	*out = -1;
	if (p->strip) {
		while (begin < p->end && is_space(p->text[begin])) {
			p->line_starts = p->text[begin] == '\n';
			begin++;
		}
	} else if (p->trim && begin < p->end && p->text[begin] == '\n') {
		begin++;
		p->line_starts = true;
	}
	p->strip = p->trim = false;
	size_t stop = begin;
	while (stop < p->end && !(p->text[stop] == '{' && p->end - stop > 1 &&
	                          strchr("{%#", p->text[stop + 1]) && p->text[stop + 1]))
		stop++;
	for (size_t i = p->at; i < stop; i++)
		p->line += p->text[i] == '\n';
	p->at = stop;
	size_t end = stop;
	if (stop < p->end) {
		char sign = p->end - stop > 2 ? p->text[stop + 2] : ' ';
		if (sign == '-') {
			while (end > begin && is_space(p->text[end - 1]))
				end--;
		} else if (p->text[stop + 1] != '{' && sign != '+') {
			size_t line = end;
			while (line > begin &&
			       (p->text[line - 1] == ' ' || p->text[line - 1] == '\t'))
				line--;
			if (line > begin ? p->text[line - 1] == '\n' : p->line_starts)
				end = line;
		}
	}
	return end > begin ? text_node(p, CHAT_TEXT, p->text + begin, end - begin, out) : HEC_OK;
}

static hec_status comment(parser *p)
{
	while (p->at < p->end && !(p->text[p->at] == '#' && peek(p, 1) == '}')) {
		p->line += p->text[p->at] == '\n';
		p->at++;
	}
	if (p->at == p->end)
		return refuse(p, "a comment that does not end");
	p->strip = p->text[p->at - 1] == '-';
	p->trim = p->text[p->at - 1] != '-' && p->text[p->at - 1] != '+';
	p->line_starts = false;
	p->at += 2;
	return HEC_OK;
}

/* One tag. *stop: it ends the statements; its name is in p->tag. */
static hec_status tag(parser *p, int32_t *out, bool *stop)
{
	char kind = p->text[p->at + 1];
	*out = -1;
	p->at += 2;
	if (kind == '#') {
		return comment(p);
	}
	p->closes = kind == '%' ? '%' : '}';
	p->braces = 0;
	if (peek(p, 0) == '-' || peek(p, 0) == '+')
		p->at++;
	HEC_TRY(next_word(p));
	if (kind == '{') {
		int32_t what;
		HEC_TRY(expression(p, &what));
		HEC_TRY(expect_end(p));
		HEC_TRY(add(p, CHAT_PRINT, NULL, out));
		at(p, *out)->a = what;
		return HEC_OK;
	}
	if (p->word.kind != WORD_NAME)
		return refuse(p, "a tag without a name");
	char name[32];
	snprintf(name, sizeof name, "%.*s", p->word.bytes < 31 ? (int)p->word.bytes : 31,
	         p->word.text);
	HEC_TRY(next_word(p));
	if (ends_statements(name)) {
		strcpy(p->tag, name);
		*stop = true;
		return HEC_OK;
	}
	return statement(p, name, out);
}

static hec_status statements(parser *p, int32_t *first)
{
	int32_t last = -1, one;
	bool stop = false;
	*first = -1;
	HEC_TRY(deeper(p));
	p->tag[0] = '\0';
	while (!stop) {
		HEC_TRY(plain_text(p, &one));
		if (one < 0) {
			if (p->at == p->end)
				break;
			HEC_TRY(tag(p, &one, &stop));
		}
		if (one < 0)
			continue;
		if (last < 0)
			*first = one;
		else
			at(p, last)->next = one;
		for (last = one; at(p, last)->next >= 0;)
			last = at(p, last)->next;
	}
	p->depth--;
	if (!stop)
		p->tag[0] = '\0';
	return HEC_OK;
}

hec_status chat_parse(const char *text, size_t bytes, hec_chat_template *t)
{
	size_t good = utf8_valid(text, bytes), n = 0;
	if (good != bytes || memchr(text, 0, bytes))
		return fail(HEC_ERR_FORMAT, "chat template: byte %zu is no text",
		            good != bytes ? good : strlen(text));
	char *copy = malloc(bytes + 1);
	if (!copy)
		return fail(HEC_ERR_MEMORY, "no memory for a chat template of %zu bytes", bytes);
	for (size_t i = 0; i < bytes; i++) /* every kind of line end is one */
		if (text[i] != '\r')
			copy[n++] = text[i];
		else if (i + 1 == bytes || text[i + 1] != '\n')
			copy[n++] = '\n';
	if (n > 0 && copy[n - 1] == '\n')
		n--;
	copy[n] = '\0';
	parser p = {.t = t, .text = copy, .end = n, .line = 1, .line_starts = true};
	hec_status status = statements(&p, &t->first);
	if (status == HEC_OK && (p.tag[0] || p.at < p.end))
		status = refuse_named(&p, "what would end nothing,", p.tag, strlen(p.tag));
	if (p.word.kind == WORD_CONST)
		json_decref(p.word.value);
	free(copy);
	return status;
}
