/* speech.h — what a speech model (Whisper) takes for a sound and for its text, without the model itself:
 * all that a corpus of sounds needs to know. */
#ifndef HECATE_SPEECH_H
#define HECATE_SPEECH_H

#include <hecate/audio.h>
#include <hecate/tokenizer.h>

HEC_BEGIN

/* The features of a window; the tokens around a text: what it begins with (the start; of a model that knows
 * several languages that of the text and the task; <|notimestamps|>) and its end. Immutable. */
typedef struct hec_speech hec_speech;

/* Reads config.json, and generation_config.json and preprocessor_config.json where they are. language: "en",
 * …; task: "transcribe", or "translate" for texts that are English whatever is spoken. NULL: as
 * generation_config.json says, which must name a language then, where the model knows several; an
 * English-only model takes none but "en" and "transcribe". */
HEC_API HEC_MUST_USE hec_status hec_speech_load(const char *dir, const hec_tokenizer *tokenizer,
                                                const char *language, const char *task,
                                                hec_speech **out);
HEC_API void hec_speech_destroy(hec_speech *speech); /* takes NULL */
/* As hec_transcribe takes them: "en"; "" where the model knows one alone. */
HEC_API const char *hec_speech_language(const hec_speech *speech);
HEC_API bool hec_speech_translates(const hec_speech *speech);
/* Samples a second, for hec_audio_options; seconds of a window, which a text belongs to. */
HEC_API int64_t hec_speech_rate(const hec_speech *speech);
HEC_API double hec_speech_window(const hec_speech *speech);

HEC_END

#endif
