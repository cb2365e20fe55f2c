/* pieces.h — the models BPE and Unigram out of SentencePiece's pieces. */
#ifndef TEXT_MODEL_PIECES_H
#define TEXT_MODEL_PIECES_H

#include "format/sentencepiece.h"
#include "text/model/model.h"

typedef struct pieces_options {
	/* true: the ids of SentencePiece itself. false: those of `tokenizers` with the same pieces, as
	 * Transformers makes it: every piece can be found in text, BPE joins in the order of the ids. */
	bool exact;
	int32_t *
		ids; /* [n] mem_alloc: ids of v, which is filled already; NULL: piece i has the id i */
	bool unknown; /* BPE: a character without an id becomes the unknown piece, not nothing */
} pieces_options;

/* Takes o->ids over, also on failure. */
hec_status model_from_pieces(const char *file, const sp_model *sp, const pieces_options *o,
                             uint64_t serial, vocab *v, model *m);

#endif
