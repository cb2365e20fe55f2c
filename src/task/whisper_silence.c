/* whisper_silence.c — a model that hears nothing may make words up. They tell by how they lie in time: too long or
 * too short for a word, improbable, and with silence or more of their kind around them. */
#include <math.h>
#include <string.h>

#include "task/whisper_words.h"

#define LOOKED_AT 8     /* words of a segment */
#define IMPROBABLE 0.15 /* below it, a word counts 1 */
#define SHORT 0.133     /* seconds; below it, it counts by how much */
#define LONG 2.0        /* above it, by the seconds */
#define SHORT_COUNTS 15
#define STRANGE 3 /* in all */
#define EDGE 2.0  /* seconds from the end of a window that count as silence */

static double strangeness(const hec_word *word)
{
	const double took = word->end - word->begin;
	double sum = word->probability < IMPROBABLE;
	if (took < SHORT)
		sum += (SHORT - took) * SHORT_COUNTS;
	if (took > LONG)
		sum += took - LONG;
	return sum;
}

static bool is_strange(const whisper_words *w, const whisper_segment *s)
{
	static const char marks[] = "\"'“¿([{-\"'.。,，!！?？:：”)]}、";
	double sum = 0;
	int64_t n = 0;
	if (!s || s->words == 0)
		return false;
	for (int64_t i = s->first; i < s->first + s->words && n < LOOKED_AT; i++)
		if (!strstr(marks, w->items[i].text)) {
			sum += strangeness(&w->items[i]);
			n++;
		}
	return sum >= STRANGE || sum + 0.01 >= (double)n;
}

/* The first one from there on that has words; NULL: none. */
static const whisper_segment *with_words(const whisper_segment *segments, int64_t from,
                                         int64_t count)
{
	for (int64_t i = from; i < count; i++)
		if (segments[i].words > 0)
			return &segments[i];
	return NULL;
}

static bool is_amid_silence(const whisper_guard *g, const whisper_words *w,
                            const whisper_segment *s, const whisper_segment *behind, double before)
{
	const double after = behind ? w->items[behind->first].begin : g->end;
	return (s->begin - before > g->silence || s->begin < g->silence ||
	        s->begin - g->offset < EDGE) &&
	       (after - s->end > g->silence || is_strange(w, behind) || g->window - s->end < EDGE);
}

int64_t whisper_guard_silence(const whisper_guard *g, const whisper_words *w,
                              const whisper_segment *segments, int64_t count, double *next)
{
	const whisper_segment *first = with_words(segments, 0, count);
	double before = g->spoken;
	if (!g->single_end && g->ended > g->offset)
		*next = g->window - g->ended > g->silence ? g->ended : g->end;
	if (is_strange(w, first) && first->begin - g->offset > g->silence) {
		*next = first->begin;
		return 0;
	}
	for (int64_t i = 0; i < count; i++) {
		const whisper_segment *s = &segments[i];
		if (s->words == 0)
			continue;
		if (is_strange(w, s) &&
		    is_amid_silence(g, w, s, with_words(segments, i + 1, count), before)) {
			*next = g->all - s->end < g->silence ? g->all
			                                     : fmax(g->offset + 1, s->begin);
			return i;
		}
		before = s->end;
	}
	return count;
}
