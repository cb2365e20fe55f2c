/* transcript.h — a transcript that grows segment by segment. */
#ifndef TASK_TRANSCRIPT_H
#define TASK_TRANSCRIPT_H

#include <hecate/transcribe.h>

/* Adds a segment of what was written, with a copy of it and its text; one without a word is left out. Ids
 * from `first_time` on are times. */
hec_status transcript_add(hec_transcript *t, const hec_tokenizer *tokenizer,
                          const hec_segment *segment, int32_t first_time);
/* The text of all segments. */
hec_status transcript_finish(hec_transcript *t);
void transcript_free(hec_transcript *t);

#endif
