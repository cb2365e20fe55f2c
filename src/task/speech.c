/* speech.c — the files of a Whisper directory, for whoever learns from sounds. */
#include <hecate/speech.h>

#include <string.h>

#include "base/status.h"
#include "model/model.h"
#include "task/whisper.h"
#include "tensor/check.h"

_Static_assert(sizeof(((hec_speech *)0)->language) == WHISPER_CODE, "a code fits");

static hec_status make_prompt(const whisper_config *c, const char *language, const char *task,
                              hec_speech *out)
{
	whisper_choice choice;
	HEC_TRY(whisper_choose(c, language, task, &choice));
	out->prompt[out->prompt_length++] = c->start;
	if (c->multilingual) {
		if (choice.language < 0)
			return fail(
				HEC_ERR_ARGUMENT,
				"speech: the model knows %zu languages: say which one is spoken",
				c->language_count);
		memcpy(out->language, whisper_language_code(c, choice.language), WHISPER_CODE);
		out->translate = choice.translates;
		out->prompt[out->prompt_length++] = choice.language;
		if (choice.task >= 0)
			out->prompt[out->prompt_length++] = choice.task;
	}
	out->prompt[out->prompt_length++] = c->no_timestamps;
	return HEC_OK;
}

hec_status hec_speech_read(const char *dir, const hec_tokenizer *tokenizer, const char *language,
                           const char *task, hec_speech *out)
{
	hec_model_config model;
	whisper_config c;
	HEC_TRY(CHECK_GIVEN("speech", dir));
	HEC_TRY(CHECK_GIVEN("speech", tokenizer));
	HEC_TRY(CHECK_GIVEN("speech", out));
	HEC_TRY(hec_model_config_read(dir, NULL, &model));
	if (model.front.features == 0 || model.decoder.layers == 0)
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s: the model reads no sound or writes no words; a Whisper model does",
		            dir);
	HEC_TRY(whisper_config_read(dir, &model, tokenizer, &c));
	hec_speech s = {.size = sizeof s, .mel = c.mel, .end = c.end};
	s.mel.length = c.window * c.mel.hop;
	hec_status status = make_prompt(&c, language, task, &s);
	if (status == HEC_OK)
		*out = s;
	whisper_config_free(&c);
	return status;
}
