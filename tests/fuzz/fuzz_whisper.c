/* fuzz_whisper.c — any bytes as generation_config.json and preprocessor_config.json of a Whisper model:
 * either a reason, or tokens and times with which a window can be written and cut, and a sound be heard. */
#include <math.h>

#include <hecate/transcribe.h>

#include "task/whisper.h"

#include "parts.h"

#define VOCAB 101

static hec_tokenizer *tokenizer(void)
{
	static const char json[] =
		"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": []}, "
		"\"added_tokens\": [{\"id\": 39, \"content\": \"<|endoftext|>\", \"special\": "
		"true}, "
		"{\"id\": 40, \"content\": \"<|startoftranscript|>\", \"special\": true}, "
		"{\"id\": 41, \"content\": \"<|en|>\", \"special\": true}, "
		"{\"id\": 44, \"content\": \"<|translate|>\", \"special\": true}, "
		"{\"id\": 45, \"content\": \"<|transcribe|>\", \"special\": true}, "
		"{\"id\": 49, \"content\": \"<|notimestamps|>\", \"special\": true}]}";
	static hec_tokenizer *t;
	if (!t && hec_tokenizer_parse(json, sizeof json - 1, "{}", 2, &t) != HEC_OK)
		stop("no tokenizer");
	return t;
}

static bool known(int32_t id)
{
	return id >= 0 && id < VOCAB;
}

static void use(const whisper_config *c)
{
	static const int32_t written[] = {50, 1, 0, 60, 60, 1, 70, 100, 39, 49, 1, 50};
	const int64_t n = sizeof written / sizeof *written;
	whisper_segment segments[sizeof written / sizeof *written + 1];
	float scores[VOCAB];
	if (!known(c->start) || !known(c->end))
		stop("it has no start or no end");
	for (size_t i = 0; i < c->language_count; i++)
		if (!known(c->languages[i].id) || !memchr(c->languages[i].code, 0, WHISPER_CODE))
			stop("a language without a token");
	for (size_t i = 0; i < c->begin_suppressed; i++)
		if (!known(c->begin_suppress[i]))
			stop("an id beyond the vocabulary");
	for (int64_t length = 0; length <= n; length++) {
		for (int i = 0; i < VOCAB; i++)
			scores[i] = (float)-i;
		whisper_rules(c, length % 3 != 0, written, length, scores, VOCAB);
		for (int i = 0; i < VOCAB; i++)
			if (isnan(scores[i]))
				stop("a score is not a number");
		const whisper_cut cut =
			whisper_segments(c, length % 2, written, length, 7, 100, segments);
		const int64_t moved = cut.move, count = cut.count;
		if (moved < 0 || moved > 100 || count < 0 || count > length + 1)
			stop("a window is cut outside itself");
		for (int64_t i = 0; i < count; i++)
			if (segments[i].from < 0 || segments[i].to > length ||
			    segments[i].from > segments[i].to)
				stop("a segment has tokens of no window");
	}
}

static hec_ctx *context(void)
{
	static hec_ctx *ctx;
	hec_ctx_options one = HEC_CTX_OPTIONS_INIT;
	one.threads = 1;
	if (!ctx && hec_ctx_create(&one, &ctx) != HEC_OK)
		stop("no context");
	return ctx;
}

static const hec_model *model(void)
{
	static hec_model *m;
	const hec_stack_config stack = {.layers = 1,
	                                .attention = {.heads = 1},
	                                .feed_forward = {.hidden = 4},
	                                .position = {.max = 50}};
	const hec_model_config c = {.size = sizeof c,
	                            .vocab = VOCAB,
	                            .width = 4,
	                            .head = HEC_HEAD_LM,
	                            .start_id = 40,
	                            .eos_id = 39,
	                            .front = {.features = 14},
	                            .encoder = stack,
	                            .decoder = stack};
	if (!m && (hec_model_create(context(), &c, HEC_F32, 1, &m) != HEC_OK ||
	           hec_model_pack(context(), m, false) != HEC_OK))
		stop("no model");
	return m;
}

/* A tenth of a second. */
static void hear(void)
{
	static float samples[192000 / 10];
	const float *sound = samples;
	hec_transcriber *t = NULL;
	hec_transcripts *out;
	if (hec_transcriber_create_like(context(), parts_folder, model(), tokenizer(), &t) !=
	    HEC_OK)
		stop("rules that can be read, but not used");
	const int64_t count = hec_transcriber_rate(t) / 10;
	for (int64_t i = 0; i < count; i++)
		samples[i] = (float)(i % 17) / 17;
	hec_transcribe_options o = HEC_TRANSCRIBE_OPTIONS_INIT;
	o.max_tokens = 3;
	if (hec_transcribe(t, 1, &sound, &count, &o, &out) != HEC_OK) {
		expect_reason();
	} else {
		const hec_segment *s;
		const hec_transcript *heard = hec_transcripts_at(out, 0);
		for (int64_t i = 0; (s = hec_transcript_segment(heard, i)); i++)
			if (!(s->begin <= s->end))
				stop("a segment that ends before it begins");
		hec_transcripts_free(out);
	}
	hec_transcriber_destroy(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"generation_config.json", "preprocessor_config.json",
	                                    NULL};
	whisper_config c;
	parts_make(names);
	parts_fill(data, size);
	if (whisper_config_read(parts_folder, hec_model_config_of(model()), tokenizer(), &c) !=
	    HEC_OK) {
		expect_reason();
		return 0;
	}
	use(&c);
	whisper_config_free(&c);
	hear();
	return 0;
}
