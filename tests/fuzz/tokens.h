/* tokens.h — for targets that make tokenizers: what loads is used, and keeps its bounds. */
#ifndef FUZZ_TOKENS_H
#define FUZZ_TOKENS_H

#include <stdlib.h>

#include <hecate/tokenizer.h>

#include "stop.h"

/* Ids of the vocabulary, and offsets in their text. */
static inline void tokens_check(const hec_tokenizer *t, const hec_encoding *e, size_t text,
                                size_t pair)
{
	for (size_t i = 0; i < e->n; i++) {
		if (e->ids[i] < 0 || e->ids[i] >= hec_tokenizer_vocab(t))
			stop("an id beyond the vocabulary");
		size_t bytes = e->sequence[i] == 1 ? pair : text;
		if (e->offsets[i].begin > e->offsets[i].end || e->offsets[i].end > bytes)
			stop("an offset beyond the text");
	}
}

/* What lies at a path, where it loads, encodes a text and decodes its ids. */
static inline void tokens_load_and_use(const char *path, const char *text, size_t bytes)
{
	hec_tokenizer *t = NULL;
	if (hec_tokenizer_load(path, &t) != HEC_OK) {
		if (t)
			stop("a tokenizer after a failure");
		expect_reason();
		return;
	}
	hec_encoding e = HEC_ENCODING_INIT;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = true;
	if (hec_tokenizer_encode(t, text, bytes, &o, &e) == HEC_OK) {
		tokens_check(t, &e, bytes, 0);
		for (int skip = 0; skip < 2; skip++) {
			char *back = NULL;
			if (hec_tokenizer_decode(t, e.ids, e.n, skip, &back, NULL) != HEC_OK &&
			    back)
				stop("a text after a failure");
			free(back);
		}
	} else {
		expect_reason();
		if (e.n != 0)
			stop("tokens after a failure");
	}
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

#endif
