/* sentencepiece.h — a SentencePiece model (.model, .spm): a protocol buffer of pieces with scores, and
 * how text is normalized before it is cut into them.
 *
 * A reader of its own, strict: fields have the wire type that they are declared with, lengths lie in
 * what holds them, nothing is deeper than the messages that there are. Fields that have no part in
 * cutting text are passed over. */
#ifndef FORMAT_SENTENCEPIECE_H
#define FORMAT_SENTENCEPIECE_H

#include "base/status.h"

#define SENTENCEPIECE_MOST ((size_t)256 << 20)  /* bytes of a file */
#define SENTENCEPIECE_PIECE_MOST ((size_t)4096) /* bytes of a piece */

typedef enum sp_kind {
	SP_NORMAL = 1,
	SP_UNKNOWN,
	SP_CONTROL, /* has an id, is never found in text: <s> */
	SP_USER,    /* is always found whole */
	SP_UNUSED,
	SP_BYTE, /* <0x41> */
} sp_kind;

typedef struct sp_piece {
	const char *
		text; /* without zero bytes, in the file's memory; whether it is UTF-8 is not known */
	uint32_t bytes;
	float score;
	sp_kind kind;
} sp_piece;

typedef enum sp_type { SP_UNIGRAM = 1, SP_BPE = 2 } sp_type;

typedef struct sp_model {
	sp_piece *pieces; /* by id */
	size_t n;
	int32_t unk; /* the piece that is SP_UNKNOWN */
	const char
		*unk_surface; /* how it reads in text that is decoded: UTF-8, without zero bytes */
	size_t unk_surface_bytes;
	sp_type type;
	bool byte_fallback;
	/* normalizing */
	const char *charsmap; /* a table of replacements; NULL: none */
	size_t charsmap_bytes;
	bool dummy_prefix, remove_extra_spaces, escape_spaces, space_is_suffix;
} sp_model;

/* The model points into data, which stays the caller's. file is the name in messages. */
hec_status sentencepiece_read(const char *file, const char *data, size_t bytes, sp_model *out);
void sentencepiece_free(sp_model *m);

#endif
