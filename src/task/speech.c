/* speech.c — the files of a Whisper directory, for whoever learns from sounds. */
#include <hecate/speech.h>

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "model/model.h"
#include "task/whisper.h"
#include "tensor/check.h"
#include "train/speech.h"

_Static_assert(SPEECH_CODE == WHISPER_CODE, "a code fits");

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
		out->translates = choice.translates;
		out->prompt[out->prompt_length++] = choice.language;
		if (choice.task >= 0)
			out->prompt[out->prompt_length++] = choice.task;
	}
	out->prompt[out->prompt_length++] = c->no_timestamps;
	return HEC_OK;
}

static hec_status read_folder(const char *dir, const hec_tokenizer *tokenizer, whisper_config *out)
{
	hec_model_config model;
	HEC_TRY(hec_model_config_read(dir, NULL, &model));
	if (model.front.features == 0 || model.decoder.layers == 0)
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s: the model reads no sound or writes no words; a Whisper model does",
		            dir);
	return whisper_config_read(dir, &model, tokenizer, out);
}

hec_status hec_speech_load(const char *dir, const hec_tokenizer *tokenizer, const char *language,
                           const char *task, hec_speech **out)
{
	HEC_TRY(CHECK_GIVEN("speech", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("speech", dir));
	HEC_TRY(CHECK_GIVEN("speech", tokenizer));
	whisper_config c;
	HEC_TRY(read_folder(dir, tokenizer, &c));
	hec_speech *s = mem_zeros(1, sizeof *s);
	hec_status status = s ? HEC_OK : fail(HEC_ERR_MEMORY, "speech: no memory");
	if (status == HEC_OK) {
		s->mel = c.mel;
		s->mel.length = c.window * c.mel.hop;
		s->end = c.end;
		status = make_prompt(&c, language, task, s);
	}
	whisper_config_free(&c);
	if (status == HEC_OK)
		*out = s;
	else
		hec_speech_destroy(s);
	return status;
}

void hec_speech_destroy(hec_speech *speech)
{
	mem_free(speech);
}

const char *hec_speech_language(const hec_speech *speech)
{
	return speech->language;
}

bool hec_speech_translates(const hec_speech *speech)
{
	return speech->translates;
}

int64_t hec_speech_rate(const hec_speech *speech)
{
	return speech->mel.rate;
}

double hec_speech_window(const hec_speech *speech)
{
	return (double)speech->mel.length / (double)speech->mel.rate;
}
