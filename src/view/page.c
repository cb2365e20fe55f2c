/* page.c — a buffer before the caller's write, and escapes.
 *
 * A page may be shown by a terminal: both escapes say by number what steers one (base/width.h). Bytes that
 * are no UTF-8 become U+FFFD, in markup also the controls, which XML 1.0 cannot hold at all. Inside a script
 * element <, > and & are said by number as well, so that the end of the element cannot be forged. */
#include "view/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json_escape.h"
#include "base/status.h"
#include "base/width.h"

#define UNKNOWN "\xEF\xBF\xBD"

static void flush_page(page *p)
{
	if (p->status == HEC_OK && p->used > 0) {
		p->status = p->write(p->user, p->data, p->used);
		if (p->status != HEC_OK)
			(void)fail(p->status,
			           "view: stopped by the caller's function after %zu bytes",
			           p->written);
		p->written += p->used;
	}
	p->used = 0;
}

static void put_bytes(page *p, const char *text, size_t length)
{
	while (length > 0 && p->status == HEC_OK) {
		size_t room = PAGE_BUFFER - p->used, n = length < room ? length : room;
		memcpy(p->data + p->used, text, n);
		p->used += n;
		text += n;
		length -= n;
		if (p->used == PAGE_BUFFER)
			flush_page(p);
	}
}

void page_put(page *p, const char *text, size_t length)
{
	if (length == 0)
		return;
	for (; p->spaces > 0; p->spaces--)
		if (text[0] != '\n')
			put_bytes(p, " ", 1);
	put_bytes(p, text, length);
}

void page_text(page *p, const char *text)
{
	page_put(p, text, strlen(text));
}

void page_add(page *p, const char *format, ...)
{
	char text[PAGE_ADD];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (n > 0)
		page_put(p, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void page_spaces(page *p, int64_t count)
{
	p->spaces += count > 0 ? count : 0;
}

void number_text(double value, int digits, char out[NUMBER_BYTES])
{
	char text[NUMBER_BYTES];
	snprintf(text, sizeof text, "%.*g", digits, value);
	/* The program's locale may have another point, of any length. */
	size_t before = strspn(text, "-0123456789e");
	size_t after = before + strcspn(text + before, "0123456789");
	snprintf(out, NUMBER_BYTES, "%.*s%s%s", (int)before, text, text[before] ? "." : "",
	         text + after);
}

void page_number(page *p, double value, int digits)
{
	char text[NUMBER_BYTES];
	number_text(value, digits, text);
	page_text(p, text);
}

static bool is_control(uint32_t rune)
{
	return rune < 0x20 || (rune >= 0x7F && rune < 0xA0);
}

void page_markup(page *p, const char *text)
{
	size_t length = strlen(text);
	for (size_t i = 0, bytes; i < length; i += bytes) {
		uint32_t rune = rune_decode(text + i, length - i, &bytes);
		if (rune == NOT_A_RUNE || is_control(rune) || rune == 0xFFFE || rune == 0xFFFF)
			page_text(p, UNKNOWN);
		else if (rune == '&')
			page_text(p, "&amp;");
		else if (rune == '<')
			page_text(p, "&lt;");
		else if (rune == '>')
			page_text(p, "&gt;");
		else if (rune == '"')
			page_text(p, "&quot;");
		else if (rune == '\'')
			page_text(p, "&#39;");
		else if (rune_steers_terminal(rune))
			page_add(p, "&#x%x;", (unsigned)rune);
		else
			page_put(p, text + i, bytes);
	}
}

static bool ends_script(uint32_t rune)
{
	return rune == '<' || rune == '>' || rune == '&';
}

void page_json(page *p, const char *text, bool in_script)
{
	size_t length = strlen(text);
	char escaped[JSON_ESCAPE];
	page_put(p, "\"", 1);
	for (size_t i = 0, bytes; i < length; i += bytes) {
		uint32_t rune = rune_decode(text + i, length - i, &bytes);
		if (rune == NOT_A_RUNE)
			page_text(p, UNKNOWN);
		else if (rune == '"' || rune == '\\' || rune_steers_terminal(rune) ||
		         (in_script && ends_script(rune)))
			page_put(p, escaped, json_escape(rune, escaped));
		else
			page_put(p, text + i, bytes);
	}
	page_put(p, "\"", 1);
}

hec_status page_end(page *p)
{
	flush_page(p);
	return p->status;
}
