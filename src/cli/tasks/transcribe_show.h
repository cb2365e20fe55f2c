/* transcribe_show.h — a transcript as text, as subtitles, as JSON. */
#ifndef CLI_TASKS_TRANSCRIBE_SHOW_H
#define CLI_TASKS_TRANSCRIBE_SHOW_H

#include <stdio.h>

#include <hecate/transcribe.h>

typedef enum transcript_form {
	TRANSCRIPT_TEXT = 0, /* one line */
	TRANSCRIPT_TIMES,    /* a line for each segment, with its times */
	TRANSCRIPT_SRT,
	TRANSCRIPT_VTT,
	TRANSCRIPT_JSON
} transcript_form;

/* tokens: JSON's segments have their ids, too. False: no memory. */
bool transcript_show(const hec_transcript *t, transcript_form form, bool tokens, FILE *out);

#endif
