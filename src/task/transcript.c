/* transcript.c — tokens of a segment to its text, and segments to a transcript. */
#include "task/transcript.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"
#include "task/written_text.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool has_words(const char *text)
{
	while (is_space(*text))
		text++;
	return *text != '\0';
}

static void trim(char *text)
{
	size_t n = strlen(text), begin = 0;
	while (n > 0 && is_space(text[n - 1]))
		n--;
	while (begin < n && is_space(text[begin]))
		begin++;
	memmove(text, text + begin, n - begin);
	text[n - begin] = '\0';
}

static hec_status no_memory(void)
{
	return fail(HEC_ERR_MEMORY, "transcribe: no memory for a transcript");
}

/* The words among the ids. */
static hec_status make_text(const hec_tokenizer *tokenizer, const int32_t *ids, int64_t n,
                            int32_t first_time, char **text)
{
	int64_t count = 0;
	int32_t *spoken = mem_zeros((size_t)n + 1, sizeof *spoken);
	if (!spoken)
		return no_memory();
	for (int64_t i = 0; i < n; i++)
		if (ids[i] < first_time)
			spoken[count++] = ids[i];
	size_t bytes = 0;
	hec_status status = written_text(tokenizer, spoken, count, text, &bytes);
	mem_free(spoken);
	for (size_t i = 0; status == HEC_OK && i < bytes; i++) /* nobody speaks NUL bytes */
		if ((*text)[i] == '\0')
			(*text)[i] = ' ';
	return status;
}

static hec_status grow(transcript *t)
{
	/* By powers of two: at such a count there is no room left. */
	if (t->seen.segments & (t->seen.segments - 1))
		return HEC_OK;
	const size_t room = t->seen.segments ? 2 * (size_t)t->seen.segments : 1;
	size_t bytes;
	hec_segment *grown = NULL;
	if (size_mul(room, sizeof *grown, &bytes))
		grown = mem_resize(t->segments, bytes);
	if (!grown)
		return no_memory();
	t->segments = grown;
	hec_word **words = mem_resize(t->words, room * sizeof *words);
	if (!words)
		return no_memory();
	t->words = words;
	return HEC_OK;
}

static void words_free(hec_word *words, int64_t n)
{
	for (int64_t i = 0; words && i < n; i++)
		mem_free(mem_own(words[i].text));
	mem_free(words);
}

static hec_status words_copy(const hec_word *words, int64_t n, hec_word **out)
{
	*out = mem_zeros((size_t)n + 1, sizeof **out);
	bool good = *out != NULL;
	for (int64_t i = 0; good && i < n; i++) {
		(*out)[i] = words[i];
		good = ((*out)[i].text = mem_copy_text(words[i].text)) != NULL;
	}
	if (good)
		return HEC_OK;
	words_free(*out, n);
	return no_memory();
}

hec_status transcript_add(transcript *t, const hec_tokenizer *tokenizer, const hec_segment *segment,
                          const hec_word *words, int32_t first_time)
{
	hec_segment s = *segment;
	const size_t n = (size_t)(s.place + s.n);
	char *text = NULL;
	int32_t *written = mem_zeros(n + 1, sizeof *written);
	if (!written)
		return no_memory();
	if (n > 0)
		memcpy(written, segment->written, n * sizeof *written);
	hec_status status = make_text(tokenizer, written + s.place, s.n, first_time, &text);
	const bool kept = status == HEC_OK && has_words(text);
	if (kept)
		status = grow(t);
	if (kept && status == HEC_OK)
		status = words_copy(words, s.words, &t->words[t->seen.segments]);
	if (!kept || status != HEC_OK) {
		mem_free(written);
		mem_free(text);
		return status;
	}
	s.text = text;
	s.written = written;
	s.ids = written + s.place;
	t->segments[t->seen.segments++] = s;
	return HEC_OK;
}

/* Space is part of the tokens: languages that write none between words get none between segments. */
hec_status transcript_finish(transcript *t)
{
	size_t bytes = 1;
	for (int64_t i = 0; i < t->seen.segments; i++)
		if (!size_add(bytes, strlen(t->segments[i].text), &bytes))
			return no_memory();
	char *text = mem_alloc(bytes), *to = text;
	if (!text)
		return no_memory();
	for (int64_t i = 0; i < t->seen.segments; i++) {
		size_t n = strlen(t->segments[i].text);
		memcpy(to, t->segments[i].text, n);
		to += n;
		trim(mem_own(t->segments[i].text));
	}
	*to = '\0';
	trim(text);
	t->seen.text = text;
	return HEC_OK;
}

void transcript_free(transcript *t)
{
	for (int64_t i = 0; i < t->seen.segments; i++) {
		mem_free(mem_own(t->segments[i].text));
		mem_free(mem_own(t->segments[i].written));
		words_free(t->words[i], t->segments[i].words);
	}
	mem_free(t->segments);
	mem_free(t->words);
	mem_free(mem_own(t->seen.text));
	*t = (transcript){0};
}

const hec_segment *hec_transcript_segment(const hec_transcript *given, int64_t i)
{
	const transcript *t = (const transcript *)given;
	return t && i >= 0 && i < t->seen.segments ? &t->segments[i] : NULL;
}

const hec_word *hec_transcript_word(const hec_transcript *given, int64_t segment, int64_t i)
{
	const hec_segment *s = hec_transcript_segment(given, segment);
	return s && i >= 0 && i < s->words ? &((const transcript *)given)->words[segment][i] : NULL;
}
