/* tokenize_13a.h — words as mteval-v13a and sacrebleu's default cut them. */
#ifndef SCORE_TOKENIZE_13A_H
#define SCORE_TOKENIZE_13A_H

#include "base/status.h"

typedef struct text_buffer {
	char *data;
	size_t size, capacity;
} text_buffer;

/* Writes text to *out with white space between the words; *spare is room to work in. Both may hold
 * anything before and are the caller's to give back with text_buffer_free. */
hec_status tokenize_13a(const char *text, size_t bytes, text_buffer *out, text_buffer *spare);
void text_buffer_free(text_buffer *b);

#endif
