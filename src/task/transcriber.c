/* transcriber.c — a Whisper model, its tokenizer and its rules together, and what they are asked for. */
#include "task/transcriber.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "base/status.h"
#include "tensor/check.h"

static hec_status check_model(const task_model *m)
{
	const hec_model_config *c = hec_model_config_of(m->model);
	if (c->front.features == 0 || c->decoder.layers == 0 || c->head != HEC_HEAD_LM)
		return fail(
			HEC_ERR_UNSUPPORTED,
			"transcribe: the model reads no sound or writes no words; a Whisper model "
			"does");
	return HEC_OK;
}

static hec_status finish(void *handle, const char *dir, const hec_model_load_options *options)
{
	hec_transcriber *t = handle;
	(void)options;
	HEC_TRY(check_model(&t->m));
	return whisper_config_read(dir, hec_model_config_of(t->m.model), t->m.tokenizer,
	                           &t->config);
}

static void clear(void *handle)
{
	hec_transcriber *t = handle;
	hec_session_destroy(t->session);
	hec_session_destroy(t->drawing);
	whisper_config_free(&t->config);
}

static const task_kind kind = {
	.name = "transcribe", .bytes = sizeof(hec_transcriber), .finish = finish, .clear = clear};

hec_status hec_transcriber_load(hec_ctx *ctx, const char *dir,
                                const hec_model_load_options *options, hec_transcriber **out)
{
	return task_load(&kind, ctx, dir, options, out);
}

hec_status hec_transcriber_create(hec_ctx *ctx, const hec_model *model,
                                  const hec_tokenizer *tokenizer, hec_transcriber **out)
{
	return task_create(&kind, ctx, model, tokenizer, NULL, out);
}

hec_status hec_transcriber_create_like(hec_ctx *ctx, const char *dir, const hec_model *model,
                                       const hec_tokenizer *tokenizer, hec_transcriber **out)
{
	return task_create(&kind, ctx, model, tokenizer, dir, out);
}

void hec_transcriber_destroy(hec_transcriber *transcriber)
{
	task_destroy(&kind, transcriber);
}

const hec_model *hec_transcriber_model(const hec_transcriber *transcriber)
{
	return transcriber->m.model;
}

const hec_tokenizer *hec_transcriber_tokenizer(const hec_transcriber *transcriber)
{
	return transcriber->m.tokenizer;
}

int64_t hec_transcriber_rate(const hec_transcriber *transcriber)
{
	return transcriber->config.mel.rate;
}

double hec_transcriber_window(const hec_transcriber *transcriber)
{
	return whisper_seconds(&transcriber->config, transcriber->config.window);
}

bool hec_transcriber_multilingual(const hec_transcriber *transcriber)
{
	return transcriber->config.multilingual;
}

bool transcriber_writes_times(const hec_transcriber *t, const hec_transcribe_options *o,
                              int64_t count)
{
	return o->timestamps || o->words || count / t->config.mel.hop > t->config.window;
}

bool transcriber_plain_features(const hec_transcriber *t, const hec_transcribe_options *o,
                                int64_t count)
{
	return o->plain || !transcriber_writes_times(t, o, count);
}

hec_status hec_transcriber_features(const hec_transcriber *transcriber, const float *samples,
                                    int64_t count, double begin,
                                    const hec_transcribe_options *options, hec_tensor *out)
{
	HEC_TRY(CHECK_GIVEN("transcriber features", transcriber));
	const whisper_config *c = &transcriber->config;
	HEC_TRY(CHECK_GIVEN("transcriber features", out));
	HEC_TRY(CHECK_2D("transcriber features: out", out, HEC_F32, c->mel.mels, c->window));
	if (count < 0 || (count > 0 && !samples))
		return fail(HEC_ERR_ARGUMENT, "transcriber features: a sound of %lld samples%s",
		            (long long)count, samples ? "" : " that is NULL");
	if (!(begin >= 0 && begin <= (double)count / (double)c->mel.rate))
		return fail(HEC_ERR_ARGUMENT,
		            "transcriber features: a window at %g seconds of a sound of %g", begin,
		            (double)count / (double)c->mel.rate);
	hec_transcribe_options o = HEC_TRANSCRIBE_OPTIONS_INIT;
	HEC_TRY(options_take("hec_transcribe_options", &o, sizeof o, options));
	whisper_features all;
	const bool plain = transcriber_plain_features(transcriber, &o, count);
	HEC_TRY(whisper_features_make(c, transcriber->m.ctx, plain, samples, count, &all));
	const int64_t first = llround(begin / whisper_seconds(c, 1));
	whisper_window(&all, min_i64(first, all.frames), out);
	whisper_features_free(&all);
	return HEC_OK;
}
