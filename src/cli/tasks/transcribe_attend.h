/* transcribe_attend.h — `hecate transcribe --attend`: when in the sound each word was heard. */
#ifndef CLI_TASKS_TRANSCRIBE_ATTEND_H
#define CLI_TASKS_TRANSCRIBE_ATTEND_H

#include <hecate/audio.h>
#include <hecate/transcribe.h>

#include "cli/attend/flag.h"

/* Cross-attention of what was written of the first window that has words, over its time. */
int transcribe_attend(attend_flag *f, const command *self, const hec_transcriber *transcriber,
                      const hec_audio *audio, const hec_transcribe_options *options,
                      const hec_transcript *transcript);

#endif
