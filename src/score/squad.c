/* squad.c — exact match and F1 of an answer, as SQuAD's own script has them.
 *
 *   lower case → without punctuation → without articles → words between white space
 *
 * Articles are whole words as Python's \b sees them: between what is neither letter nor digit. */
#include <hecate/squad.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/memory.h"
#include "base/status.h"

/* A text made plain. */
typedef struct plain {
	char *text;   /* words with one space between them */
	char **words; /* [n] sorted; in a copy of text */
	size_t n;
} plain;

static bool is_punctuation(utf8proc_int32_t c)
{
	return c > 0 && c < 128 && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", (int)c) != NULL;
}

/* What Python's str.split() splits at. */
static bool is_space(utf8proc_int32_t c)
{
	return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
	       c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
	       c == 0x202F || c == 0x205F || c == 0x3000;
}

static bool is_word_character(utf8proc_int32_t c)
{
	const utf8proc_category_t category = utf8proc_category(c);
	return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
	       (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

static bool is_article(const int32_t *c, size_t n)
{
	return (n == 1 && c[0] == 'a') || (n == 2 && c[0] == 'a' && c[1] == 'n') ||
	       (n == 3 && c[0] == 't' && c[1] == 'h' && c[2] == 'e');
}

/* Characters in lower case without punctuation; as many as come out. */
static size_t read_characters(const char *text, int32_t *to)
{
	size_t n = 0, left = strlen(text);
	while (left > 0) {
		utf8proc_int32_t c;
		utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)text,
		                                         (utf8proc_ssize_t)left, &c);
		if (used < 1) { /* no UTF-8 */
			used = 1;
			c = 0xFFFD;
		}
		if (!is_punctuation(c))
			to[n++] = utf8proc_tolower(c);
		text += used;
		left -= (size_t)used;
	}
	return n;
}

static void drop_articles(int32_t *c, size_t n)
{
	for (size_t begin = 0, end; begin < n; begin = end) {
		for (end = begin; end < n && is_word_character(c[end]);)
			end++;
		const bool article = is_article(c + begin, end - begin);
		for (size_t i = begin; article && i < end; i++)
			c[i] = ' ';
		if (end == begin)
			end++;
	}
}

/* Words with one space between them, into text; how many. */
static size_t join_words(const int32_t *c, size_t n, char *text)
{
	size_t words = 0, out = 0;
	bool inside = false;
	for (size_t i = 0; i < n; i++) {
		if (is_space(c[i])) {
			inside = false;
			continue;
		}
		if (!inside && words++ > 0)
			text[out++] = ' ';
		inside = true;
		out += (size_t)utf8proc_encode_char(c[i], (utf8proc_uint8_t *)text + out);
	}
	text[out] = '\0';
	return words;
}

static void plain_free(plain *p)
{
	mem_free(p->text);
	mem_free(p->words);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static hec_status plain_make(const char *text, plain *out)
{
	size_t bytes = strlen(text);
	int32_t *characters = mem_alloc((bytes + 1) * sizeof *characters);
	/* Four bytes a character and a space, twice: the words have a copy of their own. */
	out->text = mem_alloc(2 * (5 * bytes + 1));
	out->words = NULL;
	if (characters && out->text) {
		size_t n = read_characters(text, characters);
		drop_articles(characters, n);
		out->n = join_words(characters, n, out->text);
		out->words = mem_alloc((out->n + 1) * sizeof *out->words);
	}
	mem_free(characters);
	if (!out->words)
		return fail(HEC_ERR_MEMORY, "answer: no memory to compare %zu bytes", bytes);
	char *copy = out->text + strlen(out->text) + 1;
	memcpy(copy, out->text, strlen(out->text) + 1);
	for (size_t i = 0; i < out->n; i++) {
		out->words[i] = copy;
		copy += strcspn(copy, " ");
		*copy++ = '\0';
	}
	qsort(out->words, out->n, sizeof *out->words, by_text);
	return HEC_OK;
}

/* Words that both have, as often as both have them. */
static size_t shared_words(const plain *a, const plain *b)
{
	size_t same = 0;
	for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
		int order = strcmp(a->words[i], b->words[j]);
		same += order == 0;
		i += order <= 0;
		j += order >= 0;
	}
	return same;
}

static double f1_of(const plain *a, const plain *b)
{
	if (a->n == 0 || b->n == 0)
		return a->n == b->n;
	double same = (double)shared_words(a, b);
	double precision = same / (double)a->n, recall = same / (double)b->n;
	return same > 0 ? 2 * precision * recall / (precision + recall) : 0;
}

/* An answer that is nothing once it is plain is none. */
static hec_status score_answer(const plain *prediction, const char *answer, bool *real,
                               double *exact, double *f1)
{
	plain p = {0};
	hec_status status = plain_make(answer, &p);
	if (status == HEC_OK && p.n > 0) {
		double f = f1_of(prediction, &p);
		*real = true;
		*exact = strcmp(prediction->text, p.text) == 0 ? 1 : *exact;
		*f1 = f > *f1 ? f : *f1;
	}
	plain_free(&p);
	return status;
}

hec_status hec_score_answer(const char *prediction, const char *const *answers, size_t n,
                            double *exact, double *f1)
{
	if (!prediction || (n > 0 && !answers) || !exact || !f1)
		return fail(HEC_ERR_ARGUMENT, "hec_score_answer: an argument is NULL");
	plain p = {0};
	bool real = false;
	double best[2] = {0, 0};
	hec_status status = plain_make(prediction, &p);
	for (size_t i = 0; status == HEC_OK && i < n; i++)
		status = answers[i] ? score_answer(&p, answers[i], &real, &best[0], &best[1])
		                    : fail(HEC_ERR_ARGUMENT, "hec_score_answer: answer %zu is NULL",
		                           i);
	if (status == HEC_OK) {
		*exact = real ? best[0] : p.n == 0;
		*f1 = real ? best[1] : p.n == 0;
	}
	plain_free(&p);
	return status;
}
