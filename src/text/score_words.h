/* score_words.h — the words of a pair of texts, numbered so that equal ones have equal numbers. */
#ifndef TEXT_SCORE_WORDS_H
#define TEXT_SCORE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct score_word {
	const char *text;
	size_t size, place; /* place: in the pair, hypothesis first */
} score_word;

/* Starts as {0}; kept from one pair to the next. */
typedef struct score_words {
	score_word *items;
	uint32_t *symbols; /* by place */
	size_t capacity;   /* of both */
} score_words;

hec_status score_words_room(score_words *w, size_t count, const char *what);
/* Sorts items by their text, equal ones by their place, and fills symbols with 0, 1, … in that order; how
 * many different ones there are. */
uint32_t score_words_number(score_words *w, size_t count);
void score_words_free(score_words *w);

#endif
