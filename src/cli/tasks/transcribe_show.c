/* transcribe_show.c — segments with their times in the ways that players read them. */
#include "cli/tasks/transcribe_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/io/put.h"

/* Hours are left out of a short one where they may be. */
static void put_time(double seconds, char point, bool hours, FILE *out)
{
	int64_t ms = llround(seconds * 1000);
	if (hours || ms >= 3600000)
		fprintf(out, "%02" PRId64 ":", ms / 3600000);
	fprintf(out, "%02" PRId64 ":%02" PRId64 "%c%03" PRId64, ms / 60000 % 60, ms / 1000 % 60,
	        point, ms % 1000);
}

static void put_times(double begin, double end, char point, bool hours, FILE *out)
{
	put_time(begin, point, hours, out);
	fputs(" --> ", out);
	put_time(end, point, hours, out);
}

static void put_name(const char *name, FILE *out)
{
	if (!name)
		return;
	put_field(name, strlen(name), out);
	fputc('\t', out);
}

static void show_times(const hec_transcript *t, const char *name, FILE *out)
{
	const hec_segment *s;
	for (int64_t i = 0; (s = hec_transcript_segment(t, i)); i++) {
		put_name(name, out);
		fputc('[', out);
		put_times(s->begin, s->end, '.', false, out);
		fputs("] ", out);
		put_line(s->text, out);
	}
}

static void put_cue(int64_t number, double begin, double end, const char *text, FILE *out)
{
	fprintf(out, "%s%" PRId64 "\n", number > 1 ? "\n" : "", number);
	put_times(begin, end, ',', true, out);
	fputc('\n', out);
	put_line(text, out);
}

static void show_srt(const hec_transcript *t, bool words, FILE *out)
{
	const hec_segment *s;
	const hec_word *w;
	int64_t number = 0;
	for (int64_t i = 0; (s = hec_transcript_segment(t, i)); i++) {
		if (!words || s->words == 0)
			put_cue(++number, s->begin, s->end, s->text, out);
		for (int64_t k = 0; words && (w = hec_transcript_word(t, i, k)); k++)
			put_cue(++number, w->begin, w->end, w->text + strspn(w->text, " "), out);
	}
}

/* What begins a tag, or a time, is spelled out. */
static void put_vtt(const char *text, FILE *out)
{
	while (*text) {
		size_t n = strcspn(text, "&<>");
		put_field(text, n, out);
		text += n;
		if (*text == '\0')
			break;
		const char mark = *text++;
		fputs(mark == '&' ? "&amp;" : mark == '<' ? "&lt;" : "&gt;", out);
	}
}

/* A player shows each word from its mark on. The first is there with its cue. */
static void put_vtt_words(const hec_transcript *t, int64_t segment, FILE *out)
{
	const hec_word *w;
	for (int64_t k = 0; (w = hec_transcript_word(t, segment, k)); k++) {
		if (k > 0) {
			fputc('<', out);
			put_time(w->begin, '.', true, out);
			fputc('>', out);
		}
		put_vtt(k > 0 ? w->text : w->text + strspn(w->text, " "), out);
	}
}

static void show_vtt(const hec_transcript *t, bool words, FILE *out)
{
	const hec_segment *s;
	fputs("WEBVTT\n", out);
	for (int64_t i = 0; (s = hec_transcript_segment(t, i)); i++) {
		fputc('\n', out);
		put_times(s->begin, s->end, '.', true, out);
		fputc('\n', out);
		if (words && s->words > 0)
			put_vtt_words(t, i, out);
		else
			put_vtt(s->text, out);
		fputc('\n', out);
	}
}

/* Times are steps of 20 ms: three digits say them. */
static json_t *time_json(double seconds)
{
	return json_real(round(seconds * 1000) / 1000);
}

static json_t *words_json(const hec_transcript *t, int64_t segment)
{
	json_t *words = json_array();
	const hec_word *w;
	for (int64_t k = 0; words && (w = hec_transcript_word(t, segment, k)); k++) {
		json_t *one = json_pack("{s:o, s:o, s:s, s:f}", "begin", time_json(w->begin), "end",
		                        time_json(w->end), "text", w->text, "probability",
		                        w->probability);
		if (json_array_append_new(words, one) != 0) {
			json_decref(words);
			return NULL;
		}
	}
	return words;
}

static json_t *segment_json(const hec_transcript *t, int64_t i, const transcript_look *look)
{
	const hec_segment *s = hec_transcript_segment(t, i);
	json_t *one = json_object();
	json_object_set_new(one, "begin", time_json(s->begin));
	json_object_set_new(one, "end", time_json(s->end));
	json_object_set_new(one, "text", json_string(s->text));
	json_object_set_new(one, "temperature", json_real(s->temperature));
	json_object_set_new(one, "log_prob", json_real(s->log_prob));
	json_object_set_new(one, "compression", json_real(s->compression));
	if (look->words)
		json_object_set_new(one, "words", words_json(t, i));
	if (look->tokens) {
		json_t *ids = json_array();
		for (int64_t k = 0; k < s->n; k++)
			json_array_append_new(ids, json_integer(s->ids[k]));
		json_object_set_new(one, "tokens", ids);
	}
	if (json_object_size(one) == (size_t)(6 + look->words + look->tokens))
		return one;
	json_decref(one);
	return NULL;
}

static bool show_json(const hec_transcript *t, const transcript_look *look, const input_name *name,
                      FILE *out)
{
	json_t *line = json_object(), *segments = json_array();
	bool fine = true;
	json_object_set_new(line, "text", json_string(t->text));
	json_object_set_new(line, "language", json_string(t->language));
	for (int64_t i = 0; fine && i < t->segments; i++)
		fine = json_array_append_new(segments, segment_json(t, i, look)) == 0;
	fine = json_object_set_new(line, "segments", segments) == 0 && fine;
	if (!fine || json_object_size(line) != 3) {
		json_decref(line);
		return false;
	}
	return result_put(name, line, out);
}

const char *transcript_ending(transcript_form form)
{
	static const char *const endings[] = {".txt", ".txt", ".srt", ".vtt", ".json"};
	return endings[form];
}

bool transcript_show(const hec_transcript *t, const transcript_look *look, const input_name *name,
                     FILE *out)
{
	const char *shown = look->named ? name->file : NULL;
	switch (look->form) {
	case TRANSCRIPT_TEXT:
		put_name(shown, out);
		put_line(t->text, out);
		return true;
	case TRANSCRIPT_TIMES:
		show_times(t, shown, out);
		return true;
	case TRANSCRIPT_SRT:
		show_srt(t, look->words, out);
		return true;
	case TRANSCRIPT_VTT:
		show_vtt(t, look->words, out);
		return true;
	case TRANSCRIPT_JSON:
		return show_json(t, look, name, out);
	}
	return false;
}
