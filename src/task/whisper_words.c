/* whisper_words.c — tokens to words with the punctuation beside them, and words to segments.
 *
 * What the heads see is rough at the ends of sentences and around pauses: a word there may seem to take as long
 * as the pause. openai-whisper's rules shorten such words; these are the same. */
#include "task/whisper_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"
#include "task/written_text.h"

#define LONGEST_MEDIAN 0.7 /* seconds */

static const char opening[] = "\"'“¿([{-", closing[] = "\"'.。,，!！?？:：”)]}、",
		  sentence_ends[] = ".。!！?？",
		  ascii_marks[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

static hec_status no_memory(void)
{
	return fail(HEC_ERR_MEMORY, "transcribe: no memory for words");
}

/* Whether the text is one of these marks, or several of them side by side as they stand here. */
static bool is_among(const char *text, const char *marks)
{
	return strstr(marks, text) != NULL;
}

/* The same without the space around it. */
static bool is_among_trimmed(const char *text, const char *marks)
{
	char inner[16];
	const size_t begin = strspn(text, " \t\n\r\v\f");
	size_t n = strlen(text + begin);
	while (n > 0 && strchr(" \t\n\r\v\f", text[begin + n - 1]))
		n--;
	if (n >= sizeof inner)
		return false;
	memcpy(inner, text + begin, n);
	inner[n] = '\0';
	return is_among(inner, marks);
}

static hec_status append(hec_word *w, const char *text)
{
	const size_t have = w->text ? strlen(w->text) : 0, more = strlen(text);
	char *grown = mem_resize(mem_own(w->text), have + more + 1);
	if (!grown)
		return no_memory();
	memcpy(grown + have, text, more + 1);
	w->text = grown;
	return HEC_OK;
}

/* ---- tokens to words ---- */

/* Those that are written without spaces between words: each character is a word. */
static bool has_no_spaces(const char *language)
{
	static const char *const codes[] = {"zh", "ja", "th", "lo", "my", "yue"};
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (strcmp(language, codes[i]) == 0)
			return true;
	return false;
}

/* A piece of text begins a word, or goes on with the last one. */
static hec_status add_piece(whisper_words *w, const char *text, int64_t tokens, int64_t segment,
                            bool alone)
{
	const bool begins = w->n == 0 || w->segment[w->n - 1] != segment || alone || *text == ' ' ||
	                    is_among_trimmed(text, ascii_marks);
	w->n += begins;
	w->segment[w->n - 1] = segment;
	w->tokens[w->n - 1] += tokens;
	return append(&w->items[w->n - 1], text);
}

static hec_status split_segment(const hec_tokenizer *tokenizer, const int32_t *ids, int64_t n,
                                int64_t segment, bool alone, whisper_words *w)
{
	text_stream stream = {.tokenizer = tokenizer};
	hec_status status = HEC_OK;
	int64_t pending = 0; /* tokens whose text is not whole yet */
	for (int64_t i = 0; status == HEC_OK && i < n; i++) {
		char *text = NULL;
		size_t bytes = 0;
		const bool last = i + 1 == n;
		status = text_stream_add(&stream, ids[i], last, &text, &bytes);
		pending++;
		for (size_t k = 0; status == HEC_OK && k < bytes; k++) /* nobody speaks NUL bytes */
			text[k] = text[k] ? text[k] : ' ';
		if (status == HEC_OK && (bytes > 0 || last)) {
			status = add_piece(w, text, pending, segment, alone && bytes > 0);
			pending = 0;
		}
		mem_free(text);
	}
	text_stream_free(&stream);
	return status;
}

static hec_status split(const hec_tokenizer *tokenizer, const whisper_spoken *spoken, bool alone,
                        whisper_words *w)
{
	int64_t from = 0;
	for (int64_t i = 0; i < spoken->segments; i++) {
		const int64_t n = min_i64(spoken->tokens[i], spoken->n - from);
		HEC_TRY(split_segment(tokenizer, spoken->ids + from, n, i, alone, w));
		from += n;
	}
	return HEC_OK;
}

static void take_times(const whisper_spoken *spoken, whisper_words *w)
{
	for (int64_t i = 0, from = 0; i < w->n; from += w->tokens[i++]) {
		hec_word *word = &w->items[i];
		double sum = 0;
		for (int64_t k = from; k < from + w->tokens[i]; k++)
			sum += spoken->probabilities[k];
		word->probability = sum / (double)w->tokens[i];
		word->begin = spoken->begins[from];
		word->end = spoken->begins[from + w->tokens[i]];
	}
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static hec_status take_median(whisper_words *w)
{
	int64_t n = 0;
	double *took = mem_alloc(((size_t)w->n + 1) * sizeof *took);
	if (!took)
		return no_memory();
	for (int64_t i = 0; i < w->n; i++)
		if (w->items[i].end > w->items[i].begin)
			took[n++] = w->items[i].end - w->items[i].begin;
	qsort(took, (size_t)n, sizeof *took, by_size);
	w->median = n ? fmin(LONGEST_MEDIAN, (took[(n - 1) / 2] + took[n / 2]) / 2) : 0;
	mem_free(took);
	return HEC_OK;
}

/* Marks that end sentences, and words behind them, take no pauses in. */
static void shorten_at_ends(whisper_words *w)
{
	const double most = 2 * w->median;
	for (int64_t i = 1; most > 0 && i < w->n; i++) {
		hec_word *word = &w->items[i];
		if (word->end - word->begin <= most)
			continue;
		if (is_among(word->text, sentence_ends))
			word->end = word->begin + most;
		else if (is_among(w->items[i - 1].text, sentence_ends))
			word->begin = word->end - most;
	}
}

/* ---- punctuation ---- */

static hec_status join(whisper_words *w, int64_t to, int64_t with)
{
	hec_word *a = &w->items[to < with ? to : with], *b = &w->items[to < with ? with : to];
	HEC_TRY(append(a, b->text)); /* what is spoken first stands first */
	if (to > with) {
		const char *swap = a->text;
		a->text = b->text;
		b->text = swap;
	}
	*(char *)mem_own(w->items[with].text) = '\0';
	w->tokens[to] += w->tokens[with];
	w->tokens[with] = 0;
	return HEC_OK;
}

static void drop_joined(whisper_words *w)
{
	int64_t kept = 0;
	for (int64_t i = 0; i < w->n; i++) {
		if (*w->items[i].text == '\0' && w->tokens[i] == 0) {
			mem_free(mem_own(w->items[i].text));
			continue;
		}
		w->items[kept] = w->items[i];
		w->segment[kept] = w->segment[i];
		w->tokens[kept++] = w->tokens[i];
	}
	w->n = kept;
}

static hec_status join_punctuation(whisper_words *w)
{
	for (int64_t i = w->n - 2, behind = w->n - 1; i >= 0; i--) {
		const char *text = w->items[i].text;
		if (w->segment[i] == w->segment[behind] && *text == ' ' &&
		    is_among_trimmed(text, opening))
			HEC_TRY(join(w, behind, i));
		else
			behind = i;
	}
	for (int64_t i = 1, before = 0; i < w->n; i++) {
		const char *text = w->items[before].text;
		if (w->segment[i] == w->segment[before] &&
		    !(*text && text[strlen(text) - 1] == ' ') &&
		    is_among(w->items[i].text, closing))
			HEC_TRY(join(w, before, i));
		else
			before = i;
	}
	drop_joined(w);
	return HEC_OK;
}

hec_status whisper_words_make(const hec_tokenizer *tokenizer, const whisper_spoken *spoken,
                              const char *language, whisper_words *out)
{
	whisper_words w = {.items = mem_zeros((size_t)spoken->n + 1, sizeof *w.items),
	                   .tokens = mem_zeros((size_t)spoken->n + 1, sizeof *w.tokens),
	                   .segment = mem_zeros((size_t)spoken->n + 1, sizeof *w.segment)};
	*out = (whisper_words){0};
	hec_status status = w.items && w.tokens && w.segment ? HEC_OK : no_memory();
	if (status == HEC_OK)
		status = split(tokenizer, spoken, has_no_spaces(language), &w);
	if (status == HEC_OK) {
		take_times(spoken, &w);
		status = take_median(&w);
	}
	if (status == HEC_OK) {
		shorten_at_ends(&w);
		status = join_punctuation(&w);
	}
	if (status != HEC_OK)
		whisper_words_free(&w);
	else
		*out = w;
	return status;
}

/* ---- words to segments ---- */

/* The first words behind a pause do not take it in. */
static void shorten_behind_pause(const whisper_words *w, hec_word *words, int64_t n, double spoken)
{
	const double most = 2 * w->median;
	if (words[0].end - spoken <= 4 * w->median ||
	    (words[0].end - words[0].begin <= most &&
	     (n < 2 || words[1].end - words[0].begin <= 2 * most)))
		return;
	if (n > 1 && words[1].end - words[1].begin > most)
		words[0].end = words[1].begin = fmax(words[1].end / 2, words[1].end - most);
	words[0].begin = fmax(0, words[0].end - most);
}

/* Where words and segment disagree by much, the segment is right; by little, the words are. */
static void settle_ends(const whisper_words *w, hec_word *words, int64_t n, whisper_segment *s)
{
	hec_word *last = &words[n - 1];
	if (s->begin < words[0].end && s->begin - 0.5 > words[0].begin)
		words[0].begin = fmax(0, fmin(words[0].end - w->median, s->begin));
	else
		s->begin = words[0].begin;
	if (s->end > last->begin && s->end + 0.5 < last->end)
		last->end = fmax(last->begin + w->median, s->end);
	else
		s->end = last->end;
}

static double to_hundredths(double seconds)
{
	return rint(100 * seconds) / 100;
}

/* What the rules above leave: no word ends before it begins, or begins before another one ended. */
static double put_in_order(hec_word *words, int64_t n, whisper_segment *s, double earliest,
                           double longest)
{
	earliest = fmin(earliest, longest);
	for (int64_t i = 0; i < n; i++) {
		words[i].begin = fmin(fmax(words[i].begin, earliest), longest);
		words[i].end = fmin(fmax(words[i].end, words[i].begin), longest);
		earliest = words[i].end;
	}
	s->begin = fmin(fmin(fmax(s->begin, 0), longest), words[0].begin);
	s->end = fmax(fmin(s->end, longest), earliest);
	return earliest;
}

void whisper_words_place(whisper_words *w, whisper_segment *segments, int64_t count, double offset,
                         double spoken, double longest)
{
	int64_t next = 0;
	double earliest = spoken;
	for (int64_t i = 0; i < w->n; i++) {
		w->items[i].begin = to_hundredths(offset + w->items[i].begin);
		w->items[i].end = to_hundredths(offset + w->items[i].end);
	}
	for (int64_t i = 0; i < count; i++) {
		whisper_segment *s = &segments[i];
		s->first = next;
		while (next < w->n && w->segment[next] == i)
			next++;
		s->words = next - s->first;
		if (s->words == 0)
			continue;
		hec_word *words = w->items + s->first;
		shorten_behind_pause(w, words, s->words, spoken);
		settle_ends(w, words, s->words, s);
		spoken = s->end;
		earliest = put_in_order(words, s->words, s, earliest, longest);
	}
}

void whisper_words_free(whisper_words *w)
{
	for (int64_t i = 0; i < w->n; i++)
		mem_free(mem_own(w->items[i].text));
	mem_free(w->items);
	mem_free(w->tokens);
	mem_free(w->segment);
	*w = (whisper_words){0};
}
