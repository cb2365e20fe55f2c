/* answer_span.c — every pair of tokens that can be an answer is looked at once, and kept in a short list
 * of distinct answers, best first. */
#include "task/answer_span.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"
#include "text/unicode/characters.h"
#include "text/unicode/classes.h"

/* ---- words ---- */

/* Scripts that put no space between words: there, tokens are all there is. */
static bool runs_on(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{0x0e00, 0x0eff},   /* Thai, Lao */
		{0x0f00, 0x109f},   /* Tibetan, Myanmar */
		{0x1780, 0x17ff},   /* Khmer */
		{0x2e80, 0x312f},   /* radicals, kana, bopomofo */
		{0x3190, 0x9fff},   /* ideographs */
		{0xf900, 0xfaff},   /* more of them */
		{0xff66, 0xff9f},   /* narrow kana */
		{0x1b000, 0x1b16f}, /* old kana */
		{0x20000, 0x3ffff},
	};
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

static uint32_t character_at(const answer_search *s, size_t at, size_t *length)
{
	return character_read((const unsigned char *)s->text + at, s->bytes - at, length);
}

/* Whether the character at `at` is of a word, as BERT cuts them: at white space and around each
 * punctuation mark. */
static bool in_word(const answer_search *s, size_t at, size_t *length)
{
	uint32_t c = character_at(s, at, length);
	return c <= 0x10ffff && !(class_of(c) & (CLASS_SPACE | CLASS_PUNCTUATION)) && !runs_on(c);
}

static size_t character_before(const answer_search *s, size_t at)
{
	size_t to = at - 1;
	while (to > 0 && at - to < 4 && (s->text[to] & 0xc0) == 0x80)
		to--;
	return to;
}

/* From left to right: where a token begins within a word, the answer begins with the word. No word
 * reaches out of the window but by the marks of its last letter, so that a long one costs each window no more
 * than its own bytes. */
static void begin_with_words(const answer_search *s, size_t from, size_t to, hec_span *words)
{
	size_t at = words[from].begin, word = at, length;
	bool within = false;
	for (size_t i = from; i < to; i++) {
		size_t begin = words[i].begin;
		for (; at < begin && at < s->bytes; at += length) {
			bool more = in_word(s, at, &length);
			word = within && more ? word : at;
			within = more;
		}
		if (within && word < begin && begin < s->bytes && in_word(s, begin, &length))
			words[i].begin = word;
	}
}

/* What follows a letter and belongs to it: BERT leaves accents out, and then the letter's token ends before
 * them. 30 are as many as text normally has (Unicode's stream-safe format); more would let windows that end
 * one after the other in a long row of them each read it to its end. */
static size_t after_marks(const answer_search *s, size_t at)
{
	size_t length;
	for (int i = 0; i < 30 && at < s->bytes; i++, at += length) {
		uint32_t c = character_at(s, at, &length);
		if (c > 0x10ffff || !(class_of(c) & CLASS_MARK))
			break;
	}
	return at;
}

/* From right to left: where a token ends within a word, the answer ends with the word. */
static void end_with_words(const answer_search *s, size_t from, size_t to, hec_span *words)
{
	size_t at = after_marks(s, words[to - 1].end), word = at, length;
	bool within = false;
	for (size_t i = to; i-- > from;) {
		size_t end = words[i].end;
		while (at > end) {
			size_t before = character_before(s, at);
			bool more = in_word(s, before, &length);
			word = within && more ? word : at;
			within = more;
			at = before;
		}
		if (within && word > end && end > 0 &&
		    in_word(s, character_before(s, end), &length))
			words[i].end = word;
	}
}

static bool is_space(const answer_search *s, size_t at, size_t *length)
{
	return character_is_space(character_at(s, at, length));
}

/* White space that a token has with its word ("▁the") is not of the answer. Where a token is nothing else,
 * an answer begins with the token after it and ends with the one before it. */
static void trim(const answer_search *s, size_t from, size_t to, hec_span *words)
{
	size_t length;
	for (size_t i = from; i < to; i++) {
		hec_span token = words[i], *w = &words[i];
		while (w->begin < w->end && is_space(s, w->begin, &length))
			w->begin += length;
		while (w->end > w->begin && is_space(s, character_before(s, w->end), &length))
			w->end = character_before(s, w->end);
		if (w->begin >= w->end)
			*w = (hec_span){SIZE_MAX, i > from ? words[i - 1].end : token.begin};
	}
	for (size_t i = to; i-- > from;)
		if (words[i].begin == SIZE_MAX)
			words[i].begin = i + 1 < to ? words[i + 1].begin : s->bytes;
}

static void find_words(const answer_search *s, const answer_window *w, hec_span *words)
{
	size_t from = 0, to = w->n;
	while (from < to && w->sequence[from] != w->context)
		from++;
	while (to > from && w->sequence[to - 1] != w->context)
		to--;
	for (size_t i = from; i < to; i++) {
		words[i].begin = w->offsets[i].begin < s->bytes ? w->offsets[i].begin : s->bytes;
		words[i].end = w->offsets[i].end < s->bytes ? w->offsets[i].end : s->bytes;
	}
	if (from == to || s->part_words)
		return;
	trim(s, from, to, words);
	begin_with_words(s, from, to, words);
	end_with_words(s, from, to, words);
}

/* ---- probabilities ---- */

static bool may_answer(const answer_window *w, size_t i)
{
	return (i == 0 && !w->without_none) || w->sequence[i] == w->context;
}

/* side 0: begin, 1: end. p of what cannot be either is 0. */
static hec_status softmax(const answer_window *w, int side, double *p)
{
	double most = -INFINITY, sum = 0;
	for (size_t i = 0; i < w->n; i++) {
		double x = w->logits[2 * i + (size_t)side];
		if (may_answer(w, i) && !isfinite(x))
			return fail(HEC_ERR_FORMAT,
			            "answer: the model's logit of token %zu as the %s is %g", i,
			            side ? "end" : "begin", x);
		if (may_answer(w, i) && x > most)
			most = x;
	}
	for (size_t i = 0; i < w->n; i++) {
		p[i] = may_answer(w, i) ? exp((double)w->logits[2 * i + (size_t)side] - most) : 0;
		sum += p[i];
	}
	for (size_t i = 0; sum > 0 && i < w->n; i++)
		p[i] /= sum;
	return HEC_OK;
}

/* ---- the list ---- */

static bool better(const answer_span *a, const answer_span *b)
{
	if (a->score != b->score)
		return a->score > b->score;
	return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
}

static void keep(answer_search *s, answer_span found)
{
	if (s->count == s->top && !better(&found, &s->best[s->count - 1]))
		return;
	int64_t gap = 0; /* where something is to go: the same words, else the last, else the end */
	while (gap < s->count &&
	       (s->best[gap].begin != found.begin || s->best[gap].end != found.end))
		gap++;
	if (gap < s->count && !better(&found, &s->best[gap]))
		return;
	if (gap == s->count && s->count < s->top)
		s->count++;
	else if (gap == s->count)
		gap--;
	for (; gap > 0 && better(&found, &s->best[gap - 1]); gap--)
		s->best[gap] = s->best[gap - 1];
	s->best[gap] = found;
}

static hec_status make_room(answer_search *s, size_t n)
{
	size_t bytes;
	if (!s->best) {
		s->none = 1;
		if (!size_mul((size_t)s->top, sizeof *s->best, &bytes) ||
		    !(s->best = mem_alloc(bytes)))
			return fail(HEC_ERR_MEMORY, "answer: no memory for %lld answers",
			            (long long)s->top);
	}
	if (n <= s->room)
		return HEC_OK;
	double *p = size_mul(n, 2 * sizeof *p, &bytes) ? mem_alloc(bytes) : NULL;
	hec_span *words = size_mul(n, sizeof *words, &bytes) ? mem_alloc(bytes) : NULL;
	if (!p || !words) {
		mem_free(p);
		mem_free(words);
		return fail(HEC_ERR_MEMORY, "answer: no memory for a window of %zu tokens", n);
	}
	mem_free(s->p);
	mem_free(s->words);
	s->p = p;
	s->words = words;
	s->room = n;
	return HEC_OK;
}

hec_status answer_search_add(answer_search *s, const answer_window *w)
{
	if (s->top < 1 || s->longest < 1 || w->n < 1)
		return fail(HEC_ERR_ARGUMENT,
		            "answer: %lld answers of %lld tokens, a window of %zu",
		            (long long)s->top, (long long)s->longest, w->n);
	classes_prepare();
	HEC_TRY(make_room(s, w->n));
	double *begin = s->p, *end = s->p + w->n;
	HEC_TRY(softmax(w, 0, begin));
	HEC_TRY(softmax(w, 1, end));
	s->none = w->without_none ? 0 : fmin(s->none, begin[0] * end[0]);
	s->windows++;
	find_words(s, w, s->words);
	for (size_t i = 0; i < w->n; i++) {
		if (w->sequence[i] != w->context)
			continue;
		size_t stop = (size_t)min_i64(s->longest, (int64_t)(w->n - i));
		for (size_t k = i; k < i + stop; k++)
			if (w->sequence[k] == w->context && s->words[i].begin < s->words[k].end)
				keep(s, (answer_span){begin[i] * end[k], s->words[i].begin,
				                      s->words[k].end});
	}
	return HEC_OK;
}

void answer_search_free(answer_search *s)
{
	mem_free(s->best);
	mem_free(s->p);
	mem_free(s->words);
	*s = (answer_search){0};
}
