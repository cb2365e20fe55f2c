/* json_line.c — one pass over the line, which remembers where the fields stand; then their texts are decoded. */
#include "cli/io/json_line.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/io/valid_text.h"

typedef struct scan {
	char *line, *at, *end;
	int depth;
	json_field *fields;
	size_t count;
	char *error;
} scan;

/* Says what is wrong at a place; false. */
static bool wrong_at(const scan *s, const char *at, const char *what)
{
	size_t column = 1;
	for (const char *c = s->line; c < at; c++)
		column += (*c & 0xC0) != 0x80;
	snprintf(s->error, JSON_LINE_ERROR, "column %zu: %s", column, what);
	return false;
}

static bool wrong_field(const scan *s, const char *at, const char *name, const char *what)
{
	char words[JSON_LINE_ERROR - 32];
	snprintf(words, sizeof words, "'%.100s' %s", name, what);
	return wrong_at(s, at, words);
}

static void pass_spaces(scan *s)
{
	while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at)
		s->at++;
}

static bool is_next(const scan *s, char c)
{
	return s->at < s->end && *s->at == c;
}

static bool pass(scan *s, char c)
{
	const bool there = is_next(s, c);
	s->at += there;
	return there;
}

/* ---- texts ---- */

/* Four hexadecimal digits; −1: none. */
static int32_t code_at(const char *at, const char *end)
{
	int32_t code = 0;
	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *digit = at + i < end && at[i] ? strchr(digits, at[i]) : NULL;
		if (!digit)
			return -1;
		code = code << 4 | (int32_t)((digit - digits) % 16);
	}
	return code;
}

static bool is_high(int32_t code)
{
	return code >> 10 == 0xD800 >> 10;
}

static bool is_low(int32_t code)
{
	return code >> 10 == 0xDC00 >> 10;
}

static bool scan_code(scan *s)
{
	const char *at = s->at - 1; /* its "\u" */
	const int32_t code = code_at(s->at + 1, s->end);
	if (code < 0)
		return wrong_at(s, at, "\\u wants four hexadecimal digits");
	s->at += 5;
	if (is_low(code))
		return wrong_at(s, at, "the second half of a surrogate pair stands alone");
	if (!is_high(code))
		return true;
	if (!is_next(s, '\\') || s->end - s->at < 6 || s->at[1] != 'u' ||
	    !is_low(code_at(s->at + 2, s->end)))
		return wrong_at(s, at, "the first half of a surrogate pair stands alone");
	s->at += 6;
	return true;
}

static bool scan_escape(scan *s)
{
	s->at++;
	if (s->at == s->end)
		return wrong_at(s, s->at, "the line ends within a text");
	if (*s->at == 'u')
		return scan_code(s);
	if (!*s->at || !strchr("\"\\/bfnrt", *s->at))
		return wrong_at(s, s->at - 1, "JSON has no such escape");
	s->at++;
	return true;
}

/* From the quote on; what lies between the two quotes. */
static bool scan_text(scan *s, char **text, size_t *bytes)
{
	*text = ++s->at;
	while (s->at < s->end && *s->at != '"') {
		bool good = true;
		if (*s->at == '\\') {
			if (!scan_escape(s))
				return false;
			continue;
		}
		if ((unsigned char)*s->at < ' ')
			return wrong_at(s, s->at,
			                "a control character in a text: it is written \\u…");
		const size_t n = text_sequence(s->at, (size_t)(s->end - s->at), &good);
		if (!good)
			return wrong_at(s, s->at, "this is not UTF-8; --lossy takes it as U+FFFD");
		s->at += n;
	}
	*bytes = (size_t)(s->at - *text);
	return pass(s, '"') || wrong_at(s, s->at, "the line ends within a text");
}

static char *put_rune(char *to, uint32_t rune)
{
	const int more = rune < 0x80 ? 0 : rune < 0x800 ? 1 : rune < 0x10000 ? 2 : 3;
	static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
	*to++ = (char)(first[more] | rune >> 6 * more);
	for (int i = more - 1; i >= 0; i--)
		*to++ = (char)(0x80 | (rune >> 6 * i & 0x3F));
	return to;
}

/* In place: no escape is shorter than what it stands for. The text was scanned. Returns its bytes. */
static size_t decode_text(char *text, size_t bytes)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	char *to = text;
	for (const char *at = text, *end = text + bytes; at < end;) {
		if (*at != '\\') {
			*to++ = *at++;
		} else if (at[1] != 'u') {
			*to++ = into[strchr(from, at[1]) - from];
			at += 2;
		} else {
			int32_t code = code_at(at + 2, end);
			at += 6;
			if (is_high(code)) {
				code = 0x10000 + ((code & 0x3FF) << 10) +
				       (code_at(at + 2, end) & 0x3FF);
				at += 6;
			}
			to = put_rune(to, (uint32_t)code);
		}
	}
	return (size_t)(to - text);
}

/* ---- values ---- */

static size_t pass_digits(scan *s)
{
	const char *begin = s->at;
	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return (size_t)(s->at - begin);
}

static bool scan_number(scan *s)
{
	const char *begin = s->at;
	pass(s, '-');
	bool good = pass(s, '0') || pass_digits(s) > 0;
	if (good && pass(s, '.'))
		good = pass_digits(s) > 0;
	if (good && (pass(s, 'e') || pass(s, 'E'))) {
		if (!pass(s, '+'))
			pass(s, '-');
		good = pass_digits(s) > 0;
	}
	return good || wrong_at(s, begin, "this is no number");
}

static bool scan_value(scan *s);

static bool scan_word(scan *s)
{
	static const char *const words[] = {"true", "false", "null"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const size_t n = strlen(words[i]);
		if ((size_t)(s->end - s->at) >= n && memcmp(s->at, words[i], n) == 0) {
			s->at += n;
			return true;
		}
	}
	return wrong_at(s, s->at,
	                s->at == s->end ? "the line ends where a value is needed"
	                                : "this is no value of JSON");
}

static bool scan_list(scan *s)
{
	s->at++;
	pass_spaces(s);
	if (pass(s, ']'))
		return true;
	do {
		if (!scan_value(s))
			return false;
		pass_spaces(s);
	} while (pass(s, ','));
	return pass(s, ']') || wrong_at(s, s->at, "',' or ']' is needed");
}

static bool scan_object(scan *s, bool member(scan *s, char *name, size_t bytes))
{
	char *name;
	size_t bytes;
	s->at++;
	pass_spaces(s);
	if (pass(s, '}'))
		return true;
	do {
		pass_spaces(s);
		if (!is_next(s, '"'))
			return wrong_at(s, s->at, "a name in double quotes is needed");
		if (!scan_text(s, &name, &bytes))
			return false;
		pass_spaces(s);
		if (!pass(s, ':'))
			return wrong_at(s, s->at, "':' is needed");
		if (!member(s, name, bytes))
			return false;
		pass_spaces(s);
	} while (pass(s, ','));
	return pass(s, '}') || wrong_at(s, s->at, "',' or '}' is needed");
}

static bool any_member(scan *s, char *name, size_t bytes)
{
	(void)name, (void)bytes;
	return scan_value(s);
}

static bool scan_value(scan *s)
{
	char *text;
	size_t bytes;
	bool good;
	pass_spaces(s);
	const char c = s->at < s->end ? *s->at : '\0';
	if (c == '"')
		return scan_text(s, &text, &bytes);
	if (c == '-' || (c >= '0' && c <= '9'))
		return scan_number(s);
	if (c != '[' && c != '{')
		return scan_word(s);
	if (s->depth == JSON_LINE_DEPTH)
		return wrong_at(s, s->at, "this is nested too deeply");
	s->depth++;
	good = c == '[' ? scan_list(s) : scan_object(s, any_member);
	s->depth--;
	return good;
}

/* ---- the object of the line ---- */

/* Whether a name, as it is written, is this one: with what its escapes stand for. */
static bool is_called(const char *written, size_t bytes, const char *name)
{
	const char *at = written, *end = written + bytes;
	while (at < end && *name) {
		char piece[12];
		const size_t n = *at != '\\'                     ? 1
		                 : at[1] != 'u'                  ? 2
		                 : is_high(code_at(at + 2, end)) ? sizeof piece
		                                                 : 6;
		memcpy(piece, at, n);
		const size_t decoded = decode_text(piece, n);
		if (strncmp(name, piece, decoded) != 0)
			return false;
		name += decoded;
		at += n;
	}
	return at == end && !*name;
}

static bool take_value(scan *s, json_field *f)
{
	static const struct {
		const char *begins, *kind;
	} kinds[] = {{"\"", "a text"},   {"-0123456789", "a number"}, {"[", "a list"},
	             {"{", "an object"}, {"tf", "true or false"},     {"n", "null"}};
	char *begin = s->at;
	size_t kind = 0;
	while (kind < 5 && (begin == s->end || !*begin || !strchr(kinds[kind].begins, *begin)))
		kind++;
	if (!scan_value(s))
		return false;
	if (kind > 1 || (kind == 1 && f->kind != JSON_FIELD_ID)) {
		char what[80];
		snprintf(what, sizeof what, "is %s; a text%s is needed", kinds[kind].kind,
		         f->kind == JSON_FIELD_ID ? " or a number" : "");
		return wrong_field(s, begin, f->name, what);
	}
	const bool inside = f->kind == JSON_FIELD_TEXT; /* without its quotes */
	f->text = begin + inside;
	f->bytes = (size_t)(s->at - begin) - 2 * inside;
	return true;
}

static bool take_member(scan *s, char *name, size_t bytes)
{
	for (size_t i = 0; i < s->count; i++) {
		json_field *f = &s->fields[i];
		if (!is_called(name, bytes, f->name))
			continue;
		if (f->text)
			return wrong_field(s, name - 1, f->name, "stands twice");
		pass_spaces(s);
		return take_value(s, f);
	}
	return scan_value(s);
}

static bool scan_line(scan *s)
{
	pass_spaces(s);
	const char *begin = s->at;
	if (!is_next(s, '{'))
		return wrong_at(s, s->at,
		                s->at == s->end ? "the line is empty; an object is needed"
		                                : "an object is needed: {…}");
	if (!scan_object(s, take_member))
		return false;
	pass_spaces(s);
	if (s->at < s->end)
		return wrong_at(s, s->at, "something stands behind the object");
	for (size_t i = 0; i < s->count; i++)
		if (s->fields[i].needed && !s->fields[i].text)
			return wrong_field(s, begin, s->fields[i].name, "is missing");
	return true;
}

bool json_line_read(char *line, size_t bytes, json_field *fields, size_t count,
                    char error[JSON_LINE_ERROR])
{
	scan s = {line, line, line + bytes, 0, fields, count, error};
	for (size_t i = 0; i < count; i++)
		fields[i].text = NULL;
	if (!scan_line(&s))
		return false;
	for (size_t i = 0; i < count; i++)
		if (fields[i].text && fields[i].kind == JSON_FIELD_TEXT)
			fields[i].bytes =
				decode_text(line + (fields[i].text - line), fields[i].bytes);
	return true;
}
