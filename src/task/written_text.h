/* written_text.h — the text of what a model wrote: whole, or token by token. */
#ifndef TASK_WRITTEN_TEXT_H
#define TASK_WRITTEN_TEXT_H

#include <hecate/tokenizer.h>

/* For mem_free(); a zero byte that is not counted follows it. Special tokens are left out, and ids beyond the tokenizer's, which a model may have to fill up
 * its vocabulary. */
hec_status written_text(const hec_tokenizer *tokenizer, const int32_t *ids, int64_t n, char **text,
                        size_t *bytes);

/* Text as it comes: pieces that put together are the text of all tokens. What ends within a character is
 * held back until it is whole. Where bytes come that are no text, a decoder may take back what a piece has
 * already said (byte fallback turns the whole run into U+FFFD): the pieces keep it. */
typedef struct text_stream {
	const hec_tokenizer *tokenizer;
	int32_t *ids;
	int64_t n, capacity;
	int64_t from; /* tokens before this one have no say in what is given next: a space before a word
	                 may be, or not, by the token before it */
	int64_t given; /* the text of those before this one was given */
} text_stream;

/* *text for mem_free(), of 0 bytes where nothing is ready. last: no more come, so give what is held back. id −1:
 * none. */
hec_status text_stream_add(text_stream *s, int32_t id, bool last, char **text, size_t *bytes);
void text_stream_free(text_stream *s); /* takes a zeroed one */

#endif
