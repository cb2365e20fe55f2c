/* transcriber.c — a Whisper model, its tokenizer and its rules together, and what they are asked for. */
#include "task/transcriber.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
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

static hec_status begin(hec_transcriber **out, hec_transcriber **t)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "transcribe: out is NULL");
	*out = NULL;
	*t = mem_zeros(1, sizeof **t);
	return *t ? HEC_OK : fail(HEC_ERR_MEMORY, "transcribe: no memory for a transcriber");
}

static hec_status read_rules(hec_transcriber *t, const char *dir)
{
	HEC_TRY(check_model(&t->base));
	return whisper_config_read(dir, hec_model_config_of(t->base.model), t->base.tokenizer,
	                           &t->config);
}

/* status: of its model and tokenizer. */
static hec_status finish(hec_status status, const char *dir, hec_transcriber *t,
                         hec_transcriber **out)
{
	if (status == HEC_OK)
		status = read_rules(t, dir);
	if (status != HEC_OK)
		hec_transcriber_destroy(t);
	else
		*out = t;
	return status;
}

hec_status hec_transcriber_load(hec_ctx *ctx, const char *dir,
                                const hec_model_load_options *options, hec_transcriber **out)
{
	hec_transcriber *t;
	HEC_TRY(begin(out, &t));
	return finish(task_model_load("transcribe", ctx, dir, options, &t->base), dir, t, out);
}

hec_status hec_transcriber_create(hec_ctx *ctx, const hec_model *model,
                                  const hec_tokenizer *tokenizer, hec_transcriber **out)
{
	return hec_transcriber_create_like(ctx, NULL, model, tokenizer, out);
}

hec_status hec_transcriber_create_like(hec_ctx *ctx, const char *dir, const hec_model *model,
                                       const hec_tokenizer *tokenizer, hec_transcriber **out)
{
	hec_transcriber *t;
	HEC_TRY(begin(out, &t));
	return finish(task_model_take("transcribe", ctx, model, tokenizer, &t->base), dir, t, out);
}

void hec_transcriber_destroy(hec_transcriber *transcriber)
{
	if (!transcriber)
		return;
	hec_session_destroy(transcriber->session);
	whisper_config_free(&transcriber->config);
	task_model_free(&transcriber->base);
	mem_free(transcriber);
}

const hec_model *hec_transcriber_model(const hec_transcriber *transcriber)
{
	return transcriber->base.model;
}

const hec_tokenizer *hec_transcriber_tokenizer(const hec_transcriber *transcriber)
{
	return transcriber->base.tokenizer;
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

hec_status hec_transcriber_features(const hec_transcriber *transcriber, const float *samples,
                                    int64_t count, double begin, hec_tensor *out)
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
	whisper_features all;
	HEC_TRY(whisper_features_make(c, transcriber->base.ctx, samples, count, &all));
	const int64_t first = llround(begin / whisper_seconds(c, 1));
	whisper_window(&all, min_i64(first, all.frames), out);
	whisper_features_free(&all);
	return HEC_OK;
}
