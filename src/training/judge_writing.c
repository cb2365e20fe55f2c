/* judge_writing.c — sentences of the text to validate on, written by the model beside their targets. */
#include <hecate/decode.h>

#include "base/memory.h"
#include "base/size.h"
#include "training/judge.h"
#include "training/sentences.h"

#define SENTENCES_AT_ONCE 32

typedef struct writing_judge {
	judge base;
	hec_training *t;
	sentences s;
	char **written; /* [s.n] */
} writing_judge;

static void destroy(judge *base)
{
	writing_judge *j = (writing_judge *)base;
	judge_drop_texts(j->written, j->s.n);
	mem_free(j->written);
	sentences_free(&j->s);
	mem_free(j);
}

/* A model may have more rows than there are words (T5: 32,128 for 32,100): these say nothing. */
static hec_status text_of(const hec_tokenizer *of, const hec_hypothesis *h, char **text)
{
	char *own;
	int32_t *words = mem_alloc((size_t)h->n * sizeof *words + 1);
	size_t n = 0;
	if (!words)
		return judge_no_memory();
	for (int64_t i = 0; i < h->n; i++)
		if (hec_tokenizer_token(of, h->ids[i]))
			words[n++] = h->ids[i];
	hec_status status = hec_tokenizer_decode(of, words, n, true, &own, NULL);
	mem_free(words);
	if (status == HEC_OK)
		*text = own;
	return status;
}

static hec_status write_all(writing_judge *j, hec_session *session)
{
	const hec_training *t = j->t;
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	hec_decoded *decoded;
	const int32_t pad = hec_tokenizer_role(t->tokenizer, "pad");
	o.beams = t->o.valid_beam;
	o.progress = training_progress;
	o.user = j->t;
	o.forced_bos = t->language_starts_decoder ? -1 : t->target_language;
	/* The padding is what a decoder starts with; it is no word. */
	o.suppress = &pad;
	o.suppressed = pad >= 0 ? 1 : 0;
	HEC_TRY(hec_decode(session, j->s.n, (const int32_t *const *)j->s.ids, j->s.lengths, &o,
	                   &decoded));
	hec_status status = HEC_OK;
	judge_drop_texts(j->written, j->s.n);
	for (int64_t i = 0; i < j->s.n && status == HEC_OK; i++)
		status = text_of(t->target ? t->target : t->tokenizer,
		                 hec_decoded_at(decoded, i, 0), &j->written[i]);
	hec_decoded_free(decoded);
	return status;
}

/* One more than is learned, for the end; but a decoder has only so many places. */
static int64_t longest_target(const hec_training *t, const hec_model *model)
{
	const int64_t most = hec_stack_config_max_positions(&hec_model_config_of(model)->decoder);
	return min_i64(most, t->o.max_length + 1);
}

static hec_status score(judge *base, hec_ctx *ctx, const hec_model *model, hec_train_scores *scores)
{
	writing_judge *j = (writing_judge *)base;
	hec_session *session = NULL;
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	o.sources = min_i64(j->s.n, SENTENCES_AT_ONCE);
	o.beams = j->t->o.valid_beam;
	o.max_source = j->t->o.max_length;
	o.max_target = longest_target(j->t, model);
	HEC_TRY(hec_session_create(ctx, model, &o, &session));
	hec_status status = write_all(j, session);
	hec_session_destroy(session);
	return status == HEC_OK ? judge_compare(j->written, j->s.wanted, j->s.n, scores) : status;
}

hec_status judge_writing_create(hec_training *t, judge **out)
{
	writing_judge *j = mem_zeros(1, sizeof *j);
	if (!j)
		return judge_no_memory();
	*j = (writing_judge){.base = {score, destroy}, .t = t};
	hec_status status = sentences_read(t, &j->s);
	if (status == HEC_OK && j->s.n > 0 &&
	    !(j->written = mem_zeros((size_t)j->s.n, sizeof *j->written)))
		status = judge_no_memory();
	if (status == HEC_OK && j->s.n > 0)
		*out = &j->base;
	else
		destroy(&j->base);
	return status;
}
