/* score_words.c — sorting puts equal words side by side. */
#include "text/score_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

hec_status score_words_room(score_words *w, size_t count, const char *what)
{
	if (count <= w->capacity)
		return HEC_OK;
	size_t bytes;
	if (count > UINT32_MAX || !size_mul(count, sizeof(score_word), &bytes))
		return fail(HEC_ERR_MEMORY, "%s: %zu words are too many", what, count);
	score_word *items = realloc(w->items, bytes);
	if (items)
		w->items = items;
	uint32_t *symbols = realloc(w->symbols, count * sizeof(uint32_t));
	if (symbols)
		w->symbols = symbols;
	if (!items || !symbols)
		return fail(HEC_ERR_MEMORY, "%s: no memory for %zu words", what, count);
	w->capacity = count;
	return HEC_OK;
}

static int compare_texts(const score_word *a, const score_word *b)
{
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return memcmp(a->text, b->text, a->size);
}

static int compare_words(const void *x, const void *y)
{
	const score_word *a = x, *b = y;
	int order = compare_texts(a, b);
	return order != 0 ? order : a->place < b->place ? -1 : a->place > b->place;
}

uint32_t score_words_number(score_words *w, size_t count)
{
	if (count == 0)
		return 0;
	qsort(w->items, count, sizeof(score_word), compare_words);
	uint32_t number = 0;
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && compare_texts(&w->items[i - 1], &w->items[i]) != 0)
			number++;
		w->symbols[w->items[i].place] = number;
	}
	return number + 1;
}

void score_words_free(score_words *w)
{
	free(w->items);
	free(w->symbols);
	*w = (score_words){0};
}
