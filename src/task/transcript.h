/* transcript.h — a transcript that grows segment by segment. */
#ifndef TASK_TRANSCRIPT_H
#define TASK_TRANSCRIPT_H

#include <hecate/transcribe.h>

#include "task/whisper.h"

#define TRANSCRIPT_PROMPT 4

typedef struct transcript {
	hec_transcript seen;   /* by the caller; comes first, so that its address is this one's */
	hec_segment *segments; /* [seen.segments] */
	hec_word **words;      /* [seen.segments] those of each */
	int32_t prompt[TRANSCRIPT_PROMPT];
	char language[WHISPER_CODE];
} transcript;

/* Adds a segment of what was written, with a copy of it and its text, and of segment->words words; one without a
 * word is left out. Ids from `first_time` on are times. */
hec_status transcript_add(transcript *t, const hec_tokenizer *tokenizer, const hec_segment *segment,
                          const hec_word *words, int32_t first_time);
/* The text of all segments. */
hec_status transcript_finish(transcript *t);
void transcript_free(transcript *t); /* takes a zeroed one */

#endif
