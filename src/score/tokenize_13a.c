/* tokenize_13a.c — the rules of mteval-v13a, one pass each as in sacrebleu, since what one pass
 * inserts the next one sees:
 *   1. "<skipped>" and a hyphen at a line's end go, four entities become characters
 *   2. ASCII punctuation but . , - ' stands alone
 *   3. a period or comma stands alone unless a digit precedes it,
 *   4. and unless a digit follows it
 *   5. a dash stands alone after a digit
 * The rules speak of ASCII only, and bytes of longer characters are never ASCII: bytes will do. */
#include "score/tokenize_13a.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "text/unicode/characters.h"

static hec_status reserve_text(text_buffer *b, size_t capacity)
{
	if (capacity <= b->capacity)
		return HEC_OK;
	char *data = mem_resize(b->data, capacity);
	if (!data)
		return fail(HEC_ERR_MEMORY, "no memory for a text of %zu bytes", capacity);
	b->data = data;
	b->capacity = capacity;
	return HEC_OK;
}

void text_buffer_free(text_buffer *b)
{
	mem_free(b->data);
	*b = (text_buffer){0};
}

/* Replaces every `from` by the shorter or equal `to`, in place. */
static void replace_all(text_buffer *b, const char *from, const char *to)
{
	size_t n = strlen(from), m = strlen(to), write = 0;
	for (size_t read = 0; read < b->size;) {
		if (b->size - read >= n && memcmp(b->data + read, from, n) == 0) {
			memcpy(b->data + write, to, m);
			write += m;
			read += n;
		} else {
			b->data[write++] = b->data[read++];
		}
	}
	b->size = write;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_stop(char c)
{
	return c == '.' || c == ',';
}

static bool stands_alone(char c)
{
	return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
	       (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

/* A rule looks at the next two characters and says which of them it parts with blanks: those before
 * the first, between the two and after the second; or that it does not apply. */
typedef enum cut { CUT_NOT = 0, CUT_BEFORE = 1, CUT_BETWEEN = 2, CUT_AFTER = 4 } cut;

static int rule_before(char a, char b)
{
	return !is_digit(a) && is_stop(b) ? CUT_BETWEEN | CUT_AFTER : CUT_NOT;
}

static int rule_after(char a, char b)
{
	return is_stop(a) && !is_digit(b) ? CUT_BEFORE | CUT_BETWEEN : CUT_NOT;
}

static int rule_dash(char a, char b)
{
	return is_digit(a) && b == '-' ? CUT_BETWEEN | CUT_AFTER : CUT_NOT;
}

/* A match takes both characters: the next one begins after them. */
static hec_status apply_rule(int (*rule)(char, char), const text_buffer *in, text_buffer *out)
{
	size_t most;
	if (!size_mul(in->size, 2, &most))
		return fail(HEC_ERR_MEMORY, "a text of %zu bytes is too long", in->size);
	HEC_TRY(reserve_text(out, most));
	size_t n = 0;
	for (size_t i = 0; i < in->size;) {
		int cuts = i + 1 < in->size ? rule(in->data[i], in->data[i + 1]) : CUT_NOT;
		if (cuts & CUT_BEFORE)
			out->data[n++] = ' ';
		out->data[n++] = in->data[i++];
		if (cuts == CUT_NOT)
			continue;
		if (cuts & CUT_BETWEEN)
			out->data[n++] = ' ';
		out->data[n++] = in->data[i++];
		if (cuts & CUT_AFTER)
			out->data[n++] = ' ';
	}
	out->size = n;
	return HEC_OK;
}

static hec_status separate_punctuation(const text_buffer *in, text_buffer *out)
{
	size_t most;
	if (!size_mul(in->size, 3, &most))
		return fail(HEC_ERR_MEMORY, "a text of %zu bytes is too long", in->size);
	HEC_TRY(reserve_text(out, most));
	size_t n = 0;
	for (size_t i = 0; i < in->size; i++) {
		bool alone = stands_alone(in->data[i]);
		if (alone)
			out->data[n++] = ' ';
		out->data[n++] = in->data[i];
		if (alone)
			out->data[n++] = ' ';
	}
	out->size = n;
	return HEC_OK;
}

/* The text without white space at its end. */
static size_t trimmed_length(const char *text, size_t left)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t keep = 0, done = 0;
	for (size_t length; left > 0; at += length, left -= length) {
		uint32_t c = character_read(at, left, &length);
		done += length;
		if (!character_is_space(c))
			keep = done;
	}
	return keep;
}

hec_status tokenize_13a(const char *text, size_t bytes, text_buffer *out, text_buffer *spare)
{
	size_t size = trimmed_length(text, bytes), most;
	if (!size_add(size, 2, &most))
		return fail(HEC_ERR_MEMORY, "a text of %zu bytes is too long", size);
	HEC_TRY(reserve_text(out, most));
	memcpy(out->data, text, size);
	out->size = size;
	replace_all(out, "<skipped>", "");
	replace_all(out, "-\n", "");
	replace_all(out, "\n", " ");
	replace_all(out, "&quot;", "\"");
	replace_all(out, "&amp;", "&");
	replace_all(out, "&lt;", "<");
	replace_all(out, "&gt;", ">");
	memmove(out->data + 1, out->data, out->size);
	out->data[0] = ' ';
	out->data[out->size + 1] = ' ';
	out->size += 2;
	HEC_TRY(separate_punctuation(out, spare));
	HEC_TRY(apply_rule(rule_before, spare, out));
	HEC_TRY(apply_rule(rule_after, out, spare));
	return apply_rule(rule_dash, spare, out);
}
