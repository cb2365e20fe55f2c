/* transcribe_show.h — a transcript as text, as subtitles, as JSON. */
#ifndef CLI_TASKS_TRANSCRIBE_SHOW_H
#define CLI_TASKS_TRANSCRIBE_SHOW_H

#include <stdio.h>

#include <hecate/transcribe.h>

#include "cli/io/result.h"

typedef enum transcript_form {
	TRANSCRIPT_TEXT = 0, /* one line */
	TRANSCRIPT_TIMES,    /* a line for each segment, with its times */
	TRANSCRIPT_SRT,
	TRANSCRIPT_VTT,
	TRANSCRIPT_JSON
} transcript_form;

typedef struct transcript_look {
	transcript_form form;
	bool tokens; /* JSON's segments have their ids, too */
	bool words; /* each with its time: in JSON, as cues of SubRip, as marks in those of WebVTT */
	bool named; /* each line of text begins with the name of its sound, and a tab */
} transcript_look;

/* ".srt", … */
const char *transcript_ending(transcript_form form);
/* name: of the sound. False: no memory. */
bool transcript_show(const hec_transcript *t, const transcript_look *look, const input_name *name,
                     FILE *out);

#endif
