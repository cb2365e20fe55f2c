/* strings.h — a list of byte strings, which decoders turn into another. */
#ifndef TEXT_TOKENIZER_STRINGS_H
#define TEXT_TOKENIZER_STRINGS_H

#include "base/status.h"

typedef struct string_list {
	char *bytes;
	size_t used, bytes_capacity;
	size_t most; /* bytes that it may have */
	size_t *end; /* [n] where each string ends; it begins where the one before ends */
	size_t n, end_capacity;
} string_list;

/* Two lists: decoders read `now` and write `next`, then the two change places. */
typedef struct strings {
	string_list now, next;
} strings;

void strings_free(strings *s);

static inline size_t string_begin(const string_list *l, size_t i)
{
	return i ? l->end[i - 1] : 0;
}

hec_status string_put(string_list *l, const char *bytes, size_t n); /* to the string being made */
hec_status string_close(string_list *l);                            /* which ends here */

void strings_start(strings *s); /* empties next */
void strings_swap(strings *s);  /* next is now */

/* Replaces what is no UTF-8 in any of the strings by U+FFFD. */
hec_status strings_mend(strings *s);

#endif
