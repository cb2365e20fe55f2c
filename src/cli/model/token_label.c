/* token_label.c — what people read for a token. A byte-level vocabulary writes every byte as a
 * character of its own: those that can be seen as themselves, the others from U+0100 on. */
#include <stdlib.h>
#include <string.h>

#include "cli/attend/model.h"

static bool is_seen(int byte)
{
	return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) ||
	       (byte >= 174 && byte <= 255);
}

/* The byte that a character stands for; −1 where it stands for none. */
static int byte_of(unsigned rune)
{
	if (rune < 256)
		return is_seen((int)rune) ? (int)rune : -1;
	int left = (int)rune - 256;
	for (int byte = 0; byte < 256; byte++)
		if (!is_seen(byte) && left-- == 0)
			return byte;
	return -1;
}

bool tokenizer_is_byte_level(const hec_tokenizer *tokenizer)
{
	return hec_tokenizer_id(tokenizer, "Ġ") >= 0 && hec_tokenizer_id(tokenizer, "▁") < 0;
}

char *token_label(const char *token, bool byte_level)
{
	size_t length = strlen(token), used = 0;
	char *label = malloc(length + 1); /* no byte is written shorter than it is */
	if (!label)
		return NULL;
	for (size_t i = 0; byte_level && i < length;) {
		/* Such characters have one byte or two. */
		const unsigned char *at = (const unsigned char *)token + i;
		unsigned rune = at[0];
		size_t n = 1;
		if ((at[0] & 0xE0) == 0xC0 && (at[1] & 0xC0) == 0x80) {
			rune = (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu);
			n = 2;
		}
		int byte = at[0] >= 0x80 && n == 1 ? -1 : byte_of(rune);
		if (byte < 0)
			byte_level = false; /* a special token, written as it is */
		else
			label[used++] = (char)byte;
		i += n;
	}
	if (!byte_level)
		memcpy(label, token, used = length);
	label[used] = '\0';
	/* A zero byte would hide what follows. */
	for (size_t i = 0; i < used; i++)
		if (label[i] == '\0')
			label[i] = '\x01';
	return label;
}
