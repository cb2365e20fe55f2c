/* charsmap.h — SentencePiece's table of replacements: a double-array tree over the bytes of what is
 * replaced (four bytes a unit: a label, an offset, whether a value follows), then the replacements,
 * each with a zero byte behind it. The file is foreign: every position is checked. */
#ifndef TEXT_NORMALIZE_CHARSMAP_H
#define TEXT_NORMALIZE_CHARSMAP_H

#include "base/status.h"

typedef struct charsmap {
	unsigned char *bytes;
	size_t units, texts; /* of the tree; bytes of replacements behind it */
} charsmap;

/* Takes the bytes over (mem_alloc), also on failure. what is the name in messages. */
hec_status charsmap_take(const char *what, unsigned char *bytes, size_t n, charsmap *out);
hec_status charsmap_copy(const char *what, const char *bytes, size_t n, charsmap *out);
void charsmap_free(charsmap *m);

typedef enum charsmap_match { CHARSMAP_SHORTEST, CHARSMAP_LONGEST } charsmap_match;

/* The replacement of a beginning of the key that has one, valid UTF-8; NULL: none has. *length: its
 * bytes; *matched: those of the beginning. */
const char *charsmap_find(const charsmap *m, charsmap_match match, const char *key, size_t n,
                          size_t *length, size_t *matched);

#endif
