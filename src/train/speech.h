/* speech.h — the inside of hec_speech: the features of a window, and the tokens around its text. */
#ifndef TRAIN_SPEECH_H
#define TRAIN_SPEECH_H

#include <hecate/audio.h>
#include <hecate/speech.h>

#define SPEECH_PROMPT 4
#define SPEECH_CODE 16 /* bytes of a language's code */

struct hec_speech {
	hec_mel_options mel; /* `length`: the samples of a window; a text is of one window */
	int32_t prompt[SPEECH_PROMPT];
	int64_t prompt_length;
	int32_t end; /* behind a text */
	char language[SPEECH_CODE];
	bool translates; /* into English */
};

#endif
