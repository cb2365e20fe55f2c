/* transcriber.h — what a transcriber holds. */
#ifndef TASK_TRANSCRIBER_H
#define TASK_TRANSCRIBER_H

#include <hecate/transcribe.h>

#include "task/task_model.h"
#include "task/whisper.h"

struct hec_transcriber {
	task_model m;
	whisper_config config;
	hec_session *session; /* of the last call, used again where it fits */
	hec_session *drawing; /* the same with one row for each window, where the first has more */
};

/* Whether times are written of a sound with so many samples, and whether its features are those of Transformers. */
bool transcriber_writes_times(const hec_transcriber *t, const hec_transcribe_options *o,
                              int64_t count);
bool transcriber_plain_features(const hec_transcriber *t, const hec_transcribe_options *o,
                                int64_t count);

#endif
