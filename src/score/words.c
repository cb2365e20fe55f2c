/* words.c — a word's number is its place among the different ones. */
#include "score/words.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/memory.h"

void score_words_clear(score_words *w)
{
	word_counts_clear(&w->known);
	w->count = 0;
}

hec_status score_words_add(score_words *w, const char *text, size_t bytes)
{
	size_t number;
	HEC_TRY(GROW(&w->symbols, &w->capacity, w->count + 1));
	HEC_TRY(word_counts_add(&w->known, text, bytes, 1, &number));
	w->symbols[w->count++] = (uint32_t)number;
	return HEC_OK;
}

void score_words_free(score_words *w)
{
	mem_free(w->symbols);
	word_counts_free(&w->known);
	*w = (score_words){0};
}
