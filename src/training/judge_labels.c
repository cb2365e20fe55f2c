/* judge_labels.c — texts to validate on, given a label by the model. */
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "tensor/arena.h"
#include "training/judge.h"
#include "training/sentences.h"

#define SENTENCES_AT_ONCE 32

typedef struct label_judge {
	judge base;
	hec_training *t;
	sentences s;
} label_judge;

static void destroy(judge *base)
{
	label_judge *j = (label_judge *)base;
	sentences_free(&j->s);
	mem_free(j);
}

static int64_t best_of(const float *logits, int64_t n)
{
	int64_t best = 0;
	for (int64_t i = 1; i < n; i++)
		if (logits[i] > logits[best])
			best = i;
	return best;
}

/* What is judged goes through the decoder as well, one place on. */
static hec_status read_again(hec_arena *arena, const hec_model_config *c, hec_model_input *input)
{
	const hec_tensor *ids = &input->ids;
	const int64_t n = ids->shape[0], longest = ids->shape[1];
	HEC_TRY(hec_arena_tensor(arena, HEC_I32, 2, ids->shape, &input->decoder_ids));
	for (int64_t i = 0; i < n; i++)
		hec_model_config_shift(c, (const int32_t *)ids->data + i * longest,
		                       input->length[i], longest,
		                       (int32_t *)input->decoder_ids.data + i * longest);
	input->decoder_length = input->length;
	return HEC_OK;
}

/* Sentences first … first + n − 1, padded to the longest. */
static hec_status take_rows(const sentences *s, hec_arena *arena, int64_t first, int64_t n,
                            int32_t *length, hec_tensor *ids)
{
	int64_t longest = 1;
	for (int64_t i = 0; i < n; i++) {
		length[i] = (int32_t)s->lengths[first + i];
		longest = max_i64(longest, length[i]);
	}
	HEC_TRY(hec_arena_tensor(arena, HEC_I32, 2, (int64_t[]){n, longest}, ids));
	memset(ids->data, 0, (size_t)(n * longest) * sizeof(int32_t));
	for (int64_t i = 0; i < n; i++)
		memcpy((int32_t *)ids->data + i * longest, s->ids[first + i],
		       (size_t)length[i] * sizeof(int32_t));
	return HEC_OK;
}

static hec_status label_some(const label_judge *j, hec_ctx *ctx, hec_arena *arena,
                             const hec_model *model, int64_t first, int64_t n, int64_t *right)
{
	const hec_model_config *c = hec_model_config_of(model);
	int32_t length[SENTENCES_AT_ONCE];
	hec_tensor ids;
	hec_model_input input = HEC_MODEL_INPUT_INIT;
	hec_model_output output = HEC_MODEL_OUTPUT_INIT;
	HEC_TRY(take_rows(&j->s, arena, first, n, length, &ids));
	HEC_TRY(hec_arena_tensor(arena, HEC_F32, 2, (int64_t[]){n, c->labels}, &output.logits));
	if (c->encoder.layers > 0) {
		input.ids = ids;
		input.length = length;
	} else {
		input.decoder_ids = ids;
		input.decoder_length = length;
	}
	if (c->encoder.layers > 0 && c->decoder.layers > 0)
		HEC_TRY(read_again(arena, c, &input));
	HEC_TRY(hec_model_fwd(ctx, arena, model, &input, NULL, &output, NULL));
	for (int64_t i = 0; i < n; i++) {
		const int64_t best =
			best_of((const float *)output.logits.data + i * c->labels, c->labels);
		const char *label = hec_model_label(model, best);
		*right += label && strcmp(label, j->s.wanted[first + i]) == 0;
	}
	return HEC_OK;
}

static hec_status score(judge *base, hec_ctx *ctx, const hec_model *model, hec_train_scores *scores)
{
	const label_judge *j = (const label_judge *)base;
	const int64_t all = j->s.n;
	hec_arena *arena;
	int64_t right = 0;
	HEC_TRY(arena_reserve(&arena));
	hec_status status = HEC_OK;
	for (int64_t i = 0; i < all && status == HEC_OK; i += SENTENCES_AT_ONCE) {
		hec_arena_rewind(arena, 0);
		status = training_progress(j->t, "classifying", i, all);
		if (status == HEC_OK)
			status = label_some(j, ctx, arena, model, i,
			                    min_i64(all - i, SENTENCES_AT_ONCE), &right);
	}
	hec_arena_destroy(arena);
	if (status == HEC_OK)
		hec_train_scores_set(scores, HEC_METRIC_ACCURACY,
		                     100 * (double)right / (double)all);
	return status;
}

hec_status judge_labels_create(hec_training *t, judge **out)
{
	label_judge *j = mem_zeros(1, sizeof *j);
	if (!j)
		return judge_no_memory();
	*j = (label_judge){.base = {score, destroy}, .t = t};
	hec_status status = sentences_read(t, &j->s);
	if (status == HEC_OK && j->s.n > 0)
		*out = &j->base;
	else
		destroy(&j->base);
	return status;
}
