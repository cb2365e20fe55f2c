/* byte_level.c — the pre-tokenizer and decoder ByteLevel.
 *
 * Where it comes last before BPE, the bytes are not turned into characters at all: the model has a
 * table from byte to id (plain). */
#include "text/split/byte_level.h"

#include <string.h>

#include "text/unicode/utf8.h"
#include "text/split/words.h"

/* The 68 bytes that cannot be seen, in order: 0 … 32, 127 … 160, 173. */
#define LOW 33u
#define MIDDLE 34u
#define HIDDEN (LOW + MIDDLE + 1)

uint32_t byte_level_char(unsigned char byte)
{
	if (byte < LOW)
		return 0x100u + byte;
	if (byte >= 127 && byte < 127 + MIDDLE)
		return 0x100u + LOW + (byte - 127u);
	return byte == 173 ? 0x100u + HIDDEN - 1 : byte;
}

int byte_level_byte(uint32_t c)
{
	uint32_t n = c - 0x100u;
	if (c < 0x100)
		return byte_level_char((unsigned char)c) == c ? (int)c : -1;
	if (n >= HIDDEN)
		return -1;
	return n < LOW ? (int)n : n < LOW + MIDDLE ? (int)(127 + n - LOW) : 173;
}

hec_status byte_level_load(const json_scope *s, void **state)
{
	HEC_TRY(stage_state(sizeof(byte_level_state), state));
	byte_level_state *b = *state;
	b->add_prefix_space = b->trim_offsets = b->use_regex = true;
	HEC_TRY(json_want_bool(s, "add_prefix_space", &b->add_prefix_space));
	HEC_TRY(json_want_bool(s, "trim_offsets", &b->trim_offsets));
	return json_want_bool(s, "use_regex", &b->use_regex);
}

static bool begins_with_space(const flow *f, piece p)
{
	return f->text[p.begin] == ' ';
}

static hec_status prefix_space(const void *state, flow *f, piece p)
{
	(void)state;
	if (!begins_with_space(f, p))
		HEC_TRY(flow_put(f, " ", 1, flow_first(f, p)));
	return flow_keep(f, p.begin, p.end);
}

static bool needs_prefix(const flow *f)
{
	for (size_t i = 0; i < f->now.n; i++)
		if (f->now.at[i].id < 0 && !begins_with_space(f, f->now.at[i]))
			return true;
	return false;
}

static hec_status cut_words(const void *state, flow *f, piece p)
{
	(void)state;
	for (size_t at = p.begin, stop; at < p.end; at = stop) {
		stop = word_end(&words_gpt2, f->text, at, p.end);
		HEC_TRY(flow_add(f, at, stop, -1));
	}
	return HEC_OK;
}

static hec_status write_chars(const void *state, flow *f, piece p)
{
	(void)state;
	for (size_t i = p.begin; i < p.end;) {
		size_t stop = i + utf8_length(f->text[i]);
		origin from = flow_origin(f, i, stop);
		for (; i < stop; i++) {
			char c[UTF8_MOST];
			size_t n = utf8_put(byte_level_char((unsigned char)f->text[i]), c);
			HEC_TRY(flow_put(f, c, n, from));
		}
	}
	return HEC_OK;
}

static hec_status run_byte_level(const void *state, flow *f)
{
	const byte_level_state *b = state;
	if (b->add_prefix_space && needs_prefix(f))
		HEC_TRY(flow_write(f, prefix_space, NULL));
	if (b->use_regex)
		HEC_TRY(flow_cut(f, cut_words, NULL));
	return b->plain ? HEC_OK : flow_write(f, write_chars, NULL);
}

const stage_kind byte_level = {"ByteLevel", byte_level_load, run_byte_level, NULL, NULL};

static hec_status run_byte_level_normalizer(const void *state, flow *f)
{
	(void)state;
	return flow_write(f, write_chars, NULL);
}

const stage_kind byte_level_normalizer = {"ByteLevel", NULL, run_byte_level_normalizer, NULL, NULL};

/* ---- decoding ---- */

/* The bytes of a token; false where a character stands for none: the token is then plain text. */
static bool to_bytes(const char *token, size_t n, char *bytes, size_t *count)
{
	*count = 0;
	for (size_t i = 0, length; i < n; i += length) {
		int b = byte_level_byte(utf8_get(token + i, &length));
		if (b < 0)
			return false;
		bytes[(*count)++] = (char)b;
	}
	return true;
}

static hec_status put_token(string_list *to, const char *token, size_t n)
{
	size_t first = to->used, count;
	HEC_TRY(string_put(to, token, n)); /* bytes are never more than characters' bytes */
	if (to_bytes(token, n, to->bytes + first, &count))
		to->used = first + count;
	else
		memcpy(to->bytes + first, token, n);
	return HEC_OK;
}

/* Bytes of several tokens make a character only together: all become one text. */
static hec_status join_bytes(const void *state, strings *s)
{
	(void)state;
	strings_start(s);
	for (size_t i = 0; i < s->now.n; i++) {
		size_t begin = string_begin(&s->now, i);
		HEC_TRY(put_token(&s->next, s->now.bytes + begin, s->now.end[i] - begin));
	}
	HEC_TRY(string_close(&s->next));
	strings_swap(s);
	return strings_mend(s);
}

const stage_kind byte_level_decoder = {"ByteLevel", NULL, NULL, join_bytes, NULL};
