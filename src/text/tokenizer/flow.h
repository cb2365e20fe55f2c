/* flow.h — a text on its way from what was given to tokens.
 *
 *   text → pieces (added tokens cut out) → normalizers → pieces → pre-tokenizers → model → tokens
 *
 * The text as it now stands lies in one buffer; each of its bytes knows which bytes of the given text
 * it came from (or, while nothing has changed, is itself that byte). Pieces are ranges of the buffer,
 * in order, that cover it; an added token is a piece with an id, which no later stage touches, and which may
 * lie over white space of the next. A stage either cuts pieces further, or writes new text for each piece and the buffers change places. */
#ifndef TEXT_TOKENIZER_FLOW_H
#define TEXT_TOKENIZER_FLOW_H

#include "base/status.h"

#define FLOW_MOST ((size_t)1 << 30) /* bytes of one text: positions fit 32 bits in any stage */
/* Normalizers may make it longer, by so much: compatibility forms have up to 11 times the bytes, and
 * ByteLevel twice those. A file of many that each double the text would fill any memory. */
#define FLOW_TIMES 64
#define FLOW_PLUS ((size_t)128 << 10)

typedef struct origin {
	uint32_t begin, end; /* bytes of the given text */
} origin;

typedef struct piece {
	uint32_t begin, end; /* bytes of the buffer */
	int32_t id;          /* an added token; −1: text */
} piece;

typedef struct pieces {
	piece *at;
	size_t n, capacity;
} pieces;

typedef struct buffer {
	char *bytes;
	origin *from; /* [n] */
	size_t n, bytes_capacity, from_capacity;
} buffer;

typedef struct flow {
	const char *given; /* valid UTF-8 */
	size_t given_bytes;
	const char *text;   /* the given text, or the newest buffer's */
	const origin *from; /* [bytes]; NULL while text is what was given */
	size_t bytes;
	size_t most; /* bytes that it may have on its way */
	pieces now, next;
	buffer newest, older;
	pieces found;                 /* while pieces are cut: what was found in one of them */
	struct pattern_work *pattern; /* what matching needs */
} flow;

hec_status flow_begin(flow *f, const char *given, size_t bytes); /* one piece: all of it */
void flow_free(flow *f);

/* The bytes of the given text that these of the buffer came from; begin < end. */
static inline origin flow_origin(const flow *f, size_t begin, size_t end)
{
	if (!f->from)
		return (origin){(uint32_t)begin, (uint32_t)end};
	return (origin){f->from[begin].begin, f->from[end - 1].end};
}

/* ---- cutting: for each piece without an id, cut says where ---- */

typedef hec_status flow_cut_fn(const void *state, flow *f, piece p);
/* Calls cut for each piece of text; it adds pieces in order with flow_add, which drops empty ones. */
hec_status flow_cut(flow *f, flow_cut_fn *cut, const void *state);
hec_status flow_add(flow *f, size_t begin, size_t end, int32_t id);

/* ---- writing: for each piece without an id, write gives new text ---- */

typedef hec_status flow_write_fn(const void *state, flow *f, piece p);
/* Calls write for each piece of text; it puts characters with flow_put. Empty pieces vanish. */
hec_status flow_write(flow *f, flow_write_fn *write, const void *state);
/* Bytes of the new text that all came from the same bytes of the given one. */
hec_status flow_put(flow *f, const char *bytes, size_t n, origin from);
/* Bytes begin … end − 1 of the text as they are. */
hec_status flow_keep(flow *f, size_t begin, size_t end);
/* A rewriting as `tokenizers` describes it: each character that comes out stands for one that went in
 * (change 0), was put in besides (+1), or stands for n more (−n). The cursor is at what has not been
 * consumed yet; from it follows where the character came from. */
typedef struct flow_cursor {
	size_t at, end;
} flow_cursor;
hec_status flow_change(flow *f, flow_cursor *from, uint32_t c, int64_t change);
/* The origin of a piece's first character: `tokenizers` gives it to what it puts before. */
origin flow_first(const flow *f, piece p);

#endif
