/* fuzz_generation.c — any bytes as generation_config.json and config.json: either a reason, or options
 * whose ids are of the vocabulary. */
#include <math.h>

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
	if (o->beams < 0 || o->nbest > o->beams || o->min_tokens < 0 || o->max_tokens < 0 ||
	    o->no_repeat_ngram < 0 || o->top_k < 0 || g->max_length < 0 || g->min_length < 0)
		stop("a number below zero");
	if (!isfinite(o->length_penalty) || !isfinite(o->repetition_penalty) ||
	    !isfinite(o->temperature) || !isfinite(o->top_p) || !isfinite(o->min_p))
		stop("a number that is not finite");
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
		generation_config_free(&g);
	}
	return 0;
}
