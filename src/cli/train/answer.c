/* answer.c — exact match and F1, by the answers that `hecate answer` would give. */
#include "cli/train/answer.h"

#include <stdlib.h>
#include <string.h>

#include <hecate/answer.h>
#include <hecate/squad.h>

#include "cli/command/interrupt.h"
#include "cli/command/try.h"

#define ANSWER_TOKENS 30 /* of the longest answer, as SQuAD's recipes have it */

struct train_answers {
	const hec_tokenizer *tokenizer;
	int64_t window, stride;
	hec_squad *squad;
	hec_question *questions; /* [n] those that fit into a window */
	size_t *of;              /* [n] which of the squad */
	size_t n;
	bool some_have_none;
};

void train_answers_close(train_answers *a)
{
	if (!a)
		return;
	hec_squad_destroy(a->squad);
	free(a->questions);
	free(a->of);
	free(a);
}

/* As a corpus leaves out questions that leave no room for the context. */
static hec_status fits(const train_answers *a, const hec_squad_question *q, bool *fit)
{
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	hec_encoding e = HEC_ENCODING_INIT;
	o.pair = "";
	hec_status status =
		hec_tokenizer_encode(a->tokenizer, q->question, q->question_bytes, &o, &e);
	bool words = false;
	for (size_t i = 0; i < e.n; i++)
		words = words || e.sequence[i] == 0;
	*fit = words && (int64_t)e.n + a->stride < a->window;
	hec_encoding_free(&e);
	return status;
}

static hec_status take_questions(train_answers *a, size_t most)
{
	size_t all = hec_squad_count(a->squad);
	a->questions = calloc(all + 1, sizeof *a->questions);
	a->of = calloc(all + 1, sizeof *a->of);
	if (!a->questions || !a->of)
		return train_no_memory("the questions of --valid");
	for (size_t i = 0; i < all && a->n < most; i++) {
		const hec_squad_question *q = hec_squad_at(a->squad, i);
		bool fit;
		TRY(fits(a, q, &fit));
		if (!fit)
			continue;
		a->questions[a->n] = (hec_question){q->question, q->context, q->question_bytes,
		                                    q->context_bytes};
		a->of[a->n++] = i;
		a->some_have_none = a->some_have_none || q->n == 0;
	}
	return HEC_OK;
}

hec_status train_answers_open(const train_settings *s, const train_data *data, train_answers **out)
{
	*out = NULL;
	if (s->task_id != HEC_TASK_ANSWER || s->valid.count == 0 || s->valid_sentences == 0)
		return HEC_OK;
	train_answers *a = calloc(1, sizeof *a);
	if (!a)
		return train_no_memory("the questions of --valid");
	a->tokenizer = data->tokenizer;
	a->window = s->max_length;
	a->stride = s->stride;
	hec_status status = hec_squad_load(s->valid.items, s->valid.count, &a->squad);
	if (status == HEC_OK)
		status = take_questions(a, (size_t)s->valid_sentences);
	if (status != HEC_OK || a->n == 0) {
		train_answers_close(a);
		return status;
	}
	*out = a;
	return HEC_OK;
}

static hec_status score(const hec_squad_question *q, const hec_answer_item *given, double sum[2])
{
	double exact, f1;
	const char **right = malloc((q->n + 1) * sizeof *right);
	if (!right)
		return train_no_memory("the questions of --valid");
	for (size_t i = 0; i < q->n; i++)
		right[i] = q->answers[i].text;
	hec_status status = hec_score_answer(given->text, right, q->n, &exact, &f1);
	free(right);
	TRY(status);
	sum[0] += exact;
	sum[1] += f1;
	return HEC_OK;
}

static hec_status answer_and_score(const train_answers *a, hec_answerer *answerer,
                                   hec_train_scores *scores)
{
	hec_answer_options o = HEC_ANSWER_OPTIONS_INIT;
	hec_answers *answers;
	double sum[2] = {0, 0};
	o.max_tokens = ANSWER_TOKENS;
	o.window = a->window;
	if (a->stride > 0) /* windows to learn from may share nothing; those that are answered do */
		o.stride = a->stride;
	o.may_be_none = a->some_have_none;
	o.progress = interrupt_stops;
	TRY(hec_answer(answerer, (int64_t)a->n, a->questions, &o, &answers));
	hec_status status = HEC_OK;
	for (size_t i = 0; status == HEC_OK && i < a->n; i++)
		status = score(hec_squad_at(a->squad, a->of[i]),
		               hec_answers_at(answers, (int64_t)i, 0), sum);
	hec_answers_free(answers);
	TRY(status);
	hec_train_scores_set(scores, HEC_METRIC_EXACT, 100 * sum[0] / (double)a->n);
	hec_train_scores_set(scores, HEC_METRIC_F1, 100 * sum[1] / (double)a->n);
	return HEC_OK;
}

hec_status train_answers_score(const train_answers *a, hec_ctx *ctx, const hec_model *model,
                               hec_train_scores *scores)
{
	hec_answerer *answerer;
	TRY(hec_answerer_create(ctx, model, a->tokenizer, &answerer));
	hec_status status = answer_and_score(a, answerer, scores);
	hec_answerer_destroy(answerer);
	return status;
}
