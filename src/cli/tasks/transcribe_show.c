/* transcribe_show.c — segments with their times in the ways that players read them. */
#include "cli/tasks/transcribe_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/io/put.h"
#include "cli/io/valid_text.h"

/* Hours are left out of a short one where they may be. */
static void put_time(double seconds, char point, bool hours, FILE *out)
{
	int64_t ms = llround(seconds * 1000);
	if (hours || ms >= 3600000)
		fprintf(out, "%02" PRId64 ":", ms / 3600000);
	fprintf(out, "%02" PRId64 ":%02" PRId64 "%c%03" PRId64, ms / 60000 % 60, ms / 1000 % 60,
	        point, ms % 1000);
}

static void put_times(const hec_segment *s, char point, bool hours, FILE *out)
{
	put_time(s->begin, point, hours, out);
	fputs(" --> ", out);
	put_time(s->end, point, hours, out);
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
		put_times(s, '.', false, out);
		fputs("] ", out);
		put_line(s->text, out);
	}
}

static void show_srt(const hec_transcript *t, FILE *out)
{
	const hec_segment *s;
	for (int64_t i = 0; (s = hec_transcript_segment(t, i)); i++) {
		fprintf(out, "%s%" PRId64 "\n", i ? "\n" : "", i + 1);
		put_times(s, ',', true, out);
		fputc('\n', out);
		put_line(s->text, out);
	}
}

/* What begins a tag, or a time, is spelled out. */
static void put_vtt_line(const char *text, FILE *out)
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
	fputc('\n', out);
}

static void show_vtt(const hec_transcript *t, FILE *out)
{
	const hec_segment *s;
	fputs("WEBVTT\n", out);
	for (int64_t i = 0; (s = hec_transcript_segment(t, i)); i++) {
		fputc('\n', out);
		put_times(s, '.', true, out);
		fputc('\n', out);
		put_vtt_line(s->text, out);
	}
}

/* Times are steps of 20 ms: three digits say them. */
static json_t *time_json(double seconds)
{
	return json_real(round(seconds * 1000) / 1000);
}

static json_t *segment_json(const hec_segment *s, bool tokens)
{
	json_t *one = json_object();
	json_object_set_new(one, "begin", time_json(s->begin));
	json_object_set_new(one, "end", time_json(s->end));
	json_object_set_new(one, "text", json_string(s->text));
	if (tokens) {
		json_t *ids = json_array();
		for (int64_t i = 0; i < s->n; i++)
			json_array_append_new(ids, json_integer(s->ids[i]));
		json_object_set_new(one, "tokens", ids);
	}
	if (json_object_size(one) == (tokens ? 4 : 3))
		return one;
	json_decref(one);
	return NULL;
}

/* A file may be called by any bytes. */
static json_t *name_json(const char *name)
{
	size_t length;
	char *valid = valid_text(name, strlen(name), &length);
	json_t *text = valid ? json_stringn(valid, length) : NULL;
	free(valid);
	return text;
}

static bool show_json(const hec_transcript *t, bool tokens, const char *name, FILE *out)
{
	json_t *line = json_object(), *segments = json_array();
	bool fine = true;
	json_object_set_new(line, "name", name_json(name));
	json_object_set_new(line, "text", json_string(t->text));
	json_object_set_new(line, "language", json_string(t->language));
	const hec_segment *s;
	for (int64_t i = 0; fine && (s = hec_transcript_segment(t, i)); i++)
		fine = json_array_append_new(segments, segment_json(s, tokens)) == 0;
	fine = json_object_set_new(line, "segments", segments) == 0 && fine;
	if (!fine || json_object_size(line) != 4) {
		json_decref(line);
		return false;
	}
	return put_json_line(line, out);
}

const char *transcript_ending(transcript_form form)
{
	static const char *const endings[] = {".txt", ".txt", ".srt", ".vtt", ".json"};
	return endings[form];
}

bool transcript_show(const hec_transcript *t, const transcript_look *look, const char *name,
                     FILE *out)
{
	const char *shown = look->named ? name : NULL;
	switch (look->form) {
	case TRANSCRIPT_TEXT:
		put_name(shown, out);
		put_line(t->text, out);
		return true;
	case TRANSCRIPT_TIMES:
		show_times(t, shown, out);
		return true;
	case TRANSCRIPT_SRT:
		show_srt(t, out);
		return true;
	case TRANSCRIPT_VTT:
		show_vtt(t, out);
		return true;
	case TRANSCRIPT_JSON:
		return show_json(t, look->tokens, name, out);
	}
	return false;
}
