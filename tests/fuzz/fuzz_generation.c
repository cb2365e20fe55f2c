/* fuzz_generation.c — any bytes as generation_config.json and config.json: either a reason, or options
 * whose ids are of the vocabulary and by which a model writes a few of them. */
#include <math.h>

#include <hecate/decode.h>

#include "task/generation_config.h"

#include "parts.h"

#define VOCAB 100

static void check_ids(const int32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] < 0 || ids[i] >= VOCAB)
			stop("an id beyond the vocabulary");
}

static void check(const generation_config *g)
{
	const hec_decode_options *o = &g->options;
	check_ids(o->suppress, o->suppressed);
	check_ids(o->ends, o->end_count);
	if (o->forced_bos < -1 || o->forced_bos >= VOCAB || o->forced_eos < -1 ||
	    o->forced_eos >= VOCAB)
		stop("a forced id beyond the vocabulary");
	if (o->beams < 1 || o->nbest > o->beams || o->min_tokens < 0 || o->max_tokens < -1 ||
	    o->no_repeat_ngram < 0 || o->top_k < -1 || g->max_length < 0 || g->min_length < 0)
		stop("a number below its least");
	if (!isfinite(o->length_penalty) || !isfinite(o->repetition_penalty) ||
	    !isfinite(o->temperature) || !isfinite(o->top_p) || !isfinite(o->min_p))
		stop("a number that is not finite");
}

#define BEAMS 4
#define TOKENS 3

/* Of a small model, for so many beams. */
static hec_session *session(int64_t beams)
{
	static hec_session *made[BEAMS + 1];
	static hec_model *m;
	static hec_ctx *ctx;
	hec_ctx_options one = HEC_CTX_OPTIONS_INIT;
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	hec_model_config c = {.size = sizeof c,
	                      .vocab = VOCAB,
	                      .width = 4,
	                      .head = HEC_HEAD_LM,
	                      .decoder = {.layers = 1,
	                                  .attention = {.heads = 1},
	                                  .feed_forward = {.hidden = 4},
	                                  .position = {.max = 2 + TOKENS}}};
	one.threads = 1;
	o.beams = beams;
	if (!m && (hec_ctx_create(&one, &ctx) != HEC_OK ||
	           hec_model_create(ctx, &c, HEC_F32, 1, &m) != HEC_OK ||
	           hec_model_pack(ctx, m, false) != HEC_OK))
		stop("no model");
	if (!made[beams] && hec_session_create(ctx, m, &o, &made[beams]) != HEC_OK)
		stop("no session");
	return made[beams];
}

/* Rules that forbid every word are the only reason not to. */
static void write_some(const generation_config *g)
{
	static const int32_t prompt[] = {1, 2};
	const int32_t *const prompts[] = {prompt};
	const int64_t length = 2;
	hec_decode_options o = g->options;
	hec_decoded *out;
	if (o.beams > BEAMS)
		return;
	o.sample = g->sample && o.beams == 1;
	o.max_tokens = TOKENS;
	if (hec_decode(session(o.beams), 1, prompts, &length, &o, &out) != HEC_OK) {
		expect_reason();
		if (out)
			stop("a result of a failure");
		return;
	}
	const hec_hypothesis *best = hec_decoded_at(out, 0, 0);
	check_ids(best->ids, (size_t)best->n);
	if (best->n > TOKENS || isnan(best->score))
		stop("more than was asked for, or by no score");
	hec_decoded_free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"generation_config.json", "config.json", NULL};
	static const char *const tasks[] = {NULL, "summarization", "translation_en_to_de"};
	parts_make(names);
	parts_fill(data, size);
	for (int i = 0; i < 3; i++) {
		generation_config g;
		if (generation_config_read(parts_folder, VOCAB, i, tasks[i], &g) != HEC_OK) {
			expect_reason();
			continue;
		}
		check(&g);
		write_some(&g);
		generation_config_free(&g);
	}
	return 0;
}
