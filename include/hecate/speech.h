/* speech.h — what a speech model (Whisper) takes for a sound and for its text, without the model itself:
 * all that a corpus of sounds needs to know. */
#ifndef HECATE_SPEECH_H
#define HECATE_SPEECH_H

#include <hecate/audio.h>
#include <hecate/tokenizer.h>

HEC_BEGIN

#define HEC_SPEECH_PROMPT 4

typedef struct hec_speech {
	size_t size;         /* sizeof(hec_speech) */
	hec_mel_options mel; /* `length`: the samples of a window; a text is of one window */
	/* What a text without times begins with: the start; of a model that knows several languages that of
	 * the text and the task; <|notimestamps|>. */
	int32_t prompt[HEC_SPEECH_PROMPT];
	int64_t prompt_length;
	int32_t end;       /* behind a text */
	char language[16]; /* "en", as hec_transcribe takes it; "": the model knows one alone */
	bool translate;    /* so is this */
} hec_speech;

/* Reads config.json, and generation_config.json and preprocessor_config.json where they are. language: "en",
 * …; task: "transcribe", or "translate" for texts that are English whatever is spoken. NULL: as
 * generation_config.json says, which must name a language then, where the model knows several; an
 * English-only model takes none but "en" and "transcribe". */
HEC_API HEC_MUST_USE hec_status hec_speech_read(const char *dir, const hec_tokenizer *tokenizer,
                                                const char *language, const char *task,
                                                hec_speech *out);

HEC_END

#endif
