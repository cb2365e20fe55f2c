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
	hec_session_options made;
};

#endif
