/* word.c — splits the tags of a chat template into words: names, constants and signs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "chat/parser.h"

#define MAX_NAME 200
#define MAX_DIGITS 18

hec_status chat_refuse(const chat_parser *p, const char *what)
{
	return fail(HEC_ERR_UNSUPPORTED, "chat template, line %zu: %s", p->line, what);
}

hec_status chat_refuse_named(const chat_parser *p, const char *what, const char *name, size_t bytes)
{
	char text[QUOTE_TEXT];
	return fail(HEC_ERR_UNSUPPORTED, "chat template, line %zu: %s '%s' is not supported",
	            p->line, what, quote_bytes(name, bytes, text));
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool chat_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

char chat_peek(const chat_parser *p, size_t ahead)
{
	return p->end - p->at > ahead ? p->text[p->at + ahead] : '\0';
}

static void skip_spaces(chat_parser *p)
{
	for (; p->at < p->end && chat_is_space(p->text[p->at]); p->at++)
		p->line += p->text[p->at] == '\n';
}

/* The offset of the mark that closes a text; the end of the template where there is none. */
static size_t text_ends(const chat_parser *p, char mark)
{
	size_t i = p->at;
	while (i < p->end && p->text[i] != mark)
		i += p->text[i] == '\\' && p->end - i > 1 ? 2 : 1;
	return i;
}

static hec_status read_string(chat_parser *p)
{
	static const char from[] = "ntr\\'\"abfv\n", to[] = "\n\t\r\\'\"\a\b\f\v";
	char mark = p->text[p->at++];
	size_t end = text_ends(p, mark), n = 0;
	if (end >= p->end)
		return chat_refuse(p, "a text that does not end");
	char *out = mem_alloc(end - p->at + 1);
	if (!out)
		return fail(HEC_ERR_MEMORY, "no memory for a chat template");
	while (p->at < end) {
		char c = p->text[p->at++];
		p->line += c == '\n';
		if (c == '\\') {
			const char *found = strchr(from, c = p->text[p->at++]);
			if (!found) {
				mem_free(out);
				return chat_refuse_named(p, "the escape", p->text + p->at - 2, 2);
			}
			p->line += c == '\n';
			if (c == '\n') /* goes on in the next line */
				continue;
			c = to[found - from];
		}
		out[n++] = c;
	}
	p->at++;
	p->word = (chat_word){.kind = WORD_CONST, .value = json_stringn(out, n)};
	mem_free(out);
	return p->word.value ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a chat template");
}

static hec_status read_number(chat_parser *p)
{
	char digits[32];
	size_t n = 0;
	bool real = false;
	while (is_digit(chat_peek(p, 0)) ||
	       (chat_peek(p, 0) == '.' && is_digit(chat_peek(p, 1)) && !real)) {
		real = real || chat_peek(p, 0) == '.';
		if (n == MAX_DIGITS)
			return chat_refuse(p, "a number of more than 18 digits");
		digits[n++] = p->text[p->at++];
	}
	digits[n] = '\0';
	if (is_letter(chat_peek(p, 0))) /* 1e3, 0x10, 1_000 */
		return chat_refuse_named(p, "the number", p->text + p->at - n, n + 1);
	p->word = (chat_word){.kind = WORD_CONST,
	                      .value = real ? json_real(strtod(digits, NULL))
	                                    : json_integer(strtoll(digits, NULL, 10))};
	return p->word.value ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a chat template");
}

/* Reads the end of a tag; false: the tag goes on. */
static bool read_end(chat_parser *p)
{
	size_t n = chat_peek(p, 0) == '-' || chat_peek(p, 0) == '+' ? 1 : 0;
	if (p->braces > 0 || chat_peek(p, n) != p->closes || chat_peek(p, n + 1) != '}')
		return false;
	char sign = n ? chat_peek(p, 0) : ' ';
	p->at += n + 2;
	p->strip = sign == '-';
	p->trim = p->closes == '%' && sign == ' ';
	p->line_starts = false;
	p->word = (chat_word){.kind = WORD_END};
	return true;
}

hec_status chat_next(chat_parser *p)
{
	static const struct {
		char text[3];
		int op;
	} pairs[] = {{"//", OP_FLOOR}, {"==", OP_EQ}, {"!=", OP_NE}, {"<=", OP_LE}, {">=", OP_GE}};
	if (p->word.kind == WORD_CONST)
		json_decref(p->word.value);
	p->word = (chat_word){.kind = WORD_END};
	skip_spaces(p);
	if (p->at == p->end)
		return chat_refuse(p, "a tag that does not end");
	if (read_end(p))
		return HEC_OK;
	char c = chat_peek(p, 0);
	if (c == '\'' || c == '"')
		return read_string(p);
	if (is_digit(c))
		return read_number(p);
	if (is_letter(c)) {
		size_t first = p->at;
		while (is_letter(chat_peek(p, 0)) || is_digit(chat_peek(p, 0)))
			p->at++;
		p->word = (chat_word){
			.kind = WORD_NAME, .text = p->text + first, .bytes = p->at - first};
		return HEC_OK;
	}
	p->word = (chat_word){.kind = WORD_OP, .op = (unsigned char)c};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (c == pairs[i].text[0] && chat_peek(p, 1) == pairs[i].text[1]) {
			p->word.op = pairs[i].op;
			p->at += 2;
			return HEC_OK;
		}
	if (!strchr("+-*%~<>()[]{}.,:|=", c) || (c == '*' && chat_peek(p, 1) == '*'))
		return chat_refuse_named(p, "the sign", p->text + p->at, c == '*' ? 2 : 1);
	p->braces += c == '{' || c == '[' || c == '('   ? 1
	             : c == '}' || c == ']' || c == ')' ? -1
	                                                : 0;
	p->at++;
	return HEC_OK;
}

bool chat_is_op(const chat_parser *p, int op)
{
	return p->word.kind == WORD_OP && p->word.op == op;
}

bool chat_is_name(const chat_parser *p, const char *name)
{
	return p->word.kind == WORD_NAME && p->word.bytes == strlen(name) &&
	       memcmp(p->word.text, name, p->word.bytes) == 0;
}

hec_status chat_expect_op(chat_parser *p, int op)
{
	char what[64];
	snprintf(what, sizeof what, "a '%c' is missing", op);
	return chat_is_op(p, op) ? chat_next(p) : chat_refuse(p, what);
}

hec_status chat_expect_end(chat_parser *p)
{
	return p->word.kind == WORD_END ? HEC_OK
	                                : chat_refuse(p, "a tag goes on where it should end");
}

hec_status chat_take_name(chat_parser *p, json_t **out)
{
	if (p->word.kind != WORD_NAME)
		return chat_refuse(p, "a name is missing");
	if (p->word.bytes > MAX_NAME)
		return chat_refuse_named(p, "the name", p->word.text, p->word.bytes);
	*out = json_stringn(p->word.text, p->word.bytes);
	if (!*out)
		return fail(HEC_ERR_MEMORY, "no memory for a chat template");
	hec_status status = chat_next(p);
	if (status != HEC_OK)
		json_decref(*out);
	return status;
}
