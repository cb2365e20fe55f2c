/* parse.c — parses the text and the statements of a chat template in one pass. White space around tags follows the
 * settings of Transformers: trim_blocks and lstrip_blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chat/parser.h"
#include "text/unicode/utf8.h"

static hec_status parse_statements(chat_parser *p, int32_t *first);

static bool tag_is(const chat_parser *p, const char *name)
{
	return strcmp(p->tag, name) == 0;
}

static hec_status expect_end_tag(chat_parser *p, const char *name)
{
	char what[64];
	snprintf(what, sizeof what, "a {%% %s %%} is missing", name);
	return tag_is(p, name) ? chat_expect_end(p) : chat_refuse(p, what);
}

static hec_status parse_if(chat_parser *p, int32_t *out)
{
	int32_t condition, body, other = -1;
	HEC_TRY(chat_add(p, CHAT_IF, NULL, out));
	HEC_TRY(chat_expression(p, &condition));
	HEC_TRY(chat_expect_end(p));
	HEC_TRY(parse_statements(p, &body));
	chat_at(p, *out)->a = condition;
	chat_at(p, *out)->b = body;
	if (tag_is(p, "elif")) {
		HEC_TRY(chat_deeper(p));
		HEC_TRY(parse_if(p, &other));
		p->depth--;
		chat_at(p, *out)->c = other;
		return HEC_OK; /* the innermost if has read the endif */
	}
	if (tag_is(p, "else")) {
		HEC_TRY(chat_expect_end(p));
		HEC_TRY(parse_statements(p, &other));
		chat_at(p, *out)->c = other;
	}
	return expect_end_tag(p, "endif");
}

/* a, or a, b: a list of names. */
static hec_status parse_names(chat_parser *p, json_t **out)
{
	json_t *name;
	*out = json_array();
	hec_status status = *out ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a chat template");
	while (status == HEC_OK) {
		status = chat_take_name(p, &name);
		if (status == HEC_OK && json_array_append_new(*out, name) != 0)
			status = fail(HEC_ERR_MEMORY, "no memory for a chat template");
		if (status != HEC_OK || !chat_is_op(p, ','))
			break;
		status = chat_next(p);
	}
	if (status != HEC_OK)
		json_decref(*out);
	return status;
}

static hec_status parse_for(chat_parser *p, int32_t *out)
{
	json_t *list;
	int32_t what, where = -1, body, other = -1;
	HEC_TRY(parse_names(p, &list));
	HEC_TRY(chat_add(p, CHAT_FOR, list, out));
	if (!chat_is_name(p, "in"))
		return chat_refuse(p, "a for without 'in'");
	HEC_TRY(chat_next(p));
	HEC_TRY(chat_condition(p, &what));
	if (chat_is_name(p, "if")) {
		HEC_TRY(chat_next(p));
		HEC_TRY(chat_expression(p, &where));
	}
	if (chat_is_name(p, "recursive"))
		return chat_refuse_named(p, "the word", "recursive", 9);
	HEC_TRY(chat_expect_end(p));
	p->loops++;
	HEC_TRY(parse_statements(p, &body));
	p->loops--;
	if (tag_is(p, "else")) {
		HEC_TRY(chat_expect_end(p));
		HEC_TRY(parse_statements(p, &other));
	}
	chat_at(p, *out)->a = what;
	chat_at(p, *out)->b = body;
	chat_at(p, *out)->c = other;
	chat_at(p, *out)->d = where;
	return expect_end_tag(p, "endfor");
}

static hec_status parse_set(chat_parser *p, int32_t *out)
{
	json_t *list, *name;
	int32_t what, space = -1;
	HEC_TRY(parse_names(p, &list));
	HEC_TRY(chat_add(p, CHAT_SET, list, out));
	if (chat_is_op(p, '.')) {
		if (json_array_size(list) > 1)
			return chat_refuse(p, "a set of several names, one of a namespace");
		HEC_TRY(chat_next(p));
		HEC_TRY(chat_take_name(p, &name));
		HEC_TRY(chat_add(p, CHAT_NAME, name, &space)); /* the attribute */
		chat_at(p, *out)->d = space;
	}
	if (chat_is_op(p, '=')) {
		HEC_TRY(chat_next(p));
		HEC_TRY(chat_expression(p, &what));
		chat_at(p, *out)->a = what;
		if (chat_is_op(p, ','))
			return chat_refuse(p, "a set of more than one value");
		return chat_expect_end(p);
	}
	HEC_TRY(chat_expect_end(p));
	HEC_TRY(parse_statements(p, &what));
	chat_at(p, *out)->b = what;
	return expect_end_tag(p, "endset");
}

/* The statement of a tag whose name was read. */
static hec_status parse_statement(chat_parser *p, const char *name, int32_t *out)
{
	*out = -1;
	if (strcmp(name, "if") == 0)
		return parse_if(p, out);
	if (strcmp(name, "for") == 0)
		return parse_for(p, out);
	if (strcmp(name, "set") == 0)
		return parse_set(p, out);
	if (strcmp(name, "break") == 0 || strcmp(name, "continue") == 0) {
		if (p->loops == 0)
			return chat_refuse(p, "a break or continue outside of a loop");
		HEC_TRY(chat_add(p, *name == 'b' ? CHAT_BREAK : CHAT_CONTINUE, NULL, out));
		return chat_expect_end(p);
	}
	if (strcmp(name, "generation") ==
	    0) { /* marks the assistant's turns for training; no effect here */
		int32_t what;
		HEC_TRY(chat_add(p, CHAT_SCOPE, NULL, out));
		HEC_TRY(chat_expect_end(p));
		HEC_TRY(parse_statements(p, &what));
		chat_at(p, *out)->b = what;
		return expect_end_tag(p, "endgeneration");
	}
	return chat_refuse_named(p, "the tag", name, strlen(name));
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

/* Text up to the next tag, without the white space that the tags around it remove. */
static hec_status parse_text(chat_parser *p, int32_t *out)
{
	size_t begin = p->at;
	*out = -1;
	if (p->strip) {
		while (begin < p->end && chat_is_space(p->text[begin])) {
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
			while (end > begin && chat_is_space(p->text[end - 1]))
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
	return end > begin ? chat_add_text(p, CHAT_TEXT, p->text + begin, end - begin, out)
	                   : HEC_OK;
}

static hec_status skip_comment(chat_parser *p)
{
	while (p->at < p->end && !(p->text[p->at] == '#' && chat_peek(p, 1) == '}')) {
		p->line += p->text[p->at] == '\n';
		p->at++;
	}
	if (p->at == p->end)
		return chat_refuse(p, "a comment that does not end");
	p->strip = p->text[p->at - 1] == '-';
	p->trim = p->text[p->at - 1] != '-' && p->text[p->at - 1] != '+';
	p->line_starts = false;
	p->at += 2;
	return HEC_OK;
}

/* One tag. *stop: it ends the statements; its name is in p->tag. */
static hec_status parse_tag(chat_parser *p, int32_t *out, bool *stop)
{
	char kind = p->text[p->at + 1];
	*out = -1;
	p->at += 2;
	if (kind == '#')
		return skip_comment(p);
	p->closes = kind == '%' ? '%' : '}';
	p->braces = 0;
	if (chat_peek(p, 0) == '-' || chat_peek(p, 0) == '+')
		p->at++;
	HEC_TRY(chat_next(p));
	if (kind == '{') {
		int32_t what;
		HEC_TRY(chat_expression(p, &what));
		HEC_TRY(chat_expect_end(p));
		HEC_TRY(chat_add(p, CHAT_PRINT, NULL, out));
		chat_at(p, *out)->a = what;
		return HEC_OK;
	}
	if (p->word.kind != WORD_NAME)
		return chat_refuse(p, "a tag without a name");
	char name[32];
	snprintf(name, sizeof name, "%.*s", p->word.bytes < 31 ? (int)p->word.bytes : 31,
	         p->word.text);
	HEC_TRY(chat_next(p));
	if (ends_statements(name)) {
		strcpy(p->tag, name);
		*stop = true;
		return HEC_OK;
	}
	return parse_statement(p, name, out);
}

static hec_status parse_statements(chat_parser *p, int32_t *first)
{
	int32_t last = -1, one;
	bool stop = false;
	*first = -1;
	HEC_TRY(chat_deeper(p));
	p->tag[0] = '\0';
	while (!stop) {
		HEC_TRY(parse_text(p, &one));
		if (one < 0) {
			if (p->at == p->end)
				break;
			HEC_TRY(parse_tag(p, &one, &stop));
		}
		if (one < 0)
			continue;
		if (last < 0)
			*first = one;
		else
			chat_at(p, last)->next = one;
		last = one;
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
	char *copy = mem_alloc(bytes + 1);
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
	chat_parser p = {.t = t, .text = copy, .end = n, .line = 1, .line_starts = true};
	hec_status status = parse_statements(&p, &t->first);
	if (status == HEC_OK && (p.tag[0] || p.at < p.end))
		status = chat_refuse_named(&p, "what would end nothing,", p.tag, strlen(p.tag));
	if (p.word.kind == WORD_CONST)
		json_decref(p.word.value);
	mem_free(copy);
	return status;
}
