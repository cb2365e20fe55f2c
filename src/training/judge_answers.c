/* judge_answers.c — exact match and F1, by the answers that the model gives to questions. */
#include <hecate/answer.h>
#include <hecate/squad.h>

#include "base/memory.h"
#include "training/judge.h"

#define ANSWER_TOKENS 30 /* of the longest answer, as SQuAD's recipes have it */

typedef struct answer_judge {
	judge base;
	hec_training *t;
	hec_squad *squad;
	hec_question *questions; /* [n] those that fit into a window */
	size_t *of;              /* [n] which of the squad */
	size_t n;
	bool some_have_none;
} answer_judge;

static void destroy(judge *base)
{
	answer_judge *j = (answer_judge *)base;
	hec_squad_destroy(j->squad);
	mem_free(j->questions);
	mem_free(j->of);
	mem_free(j);
}

/* As a corpus leaves out questions that leave no room for the context. */
static hec_status fits(const hec_training *t, const hec_squad_question *q, bool *fit)
{
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	hec_encoding e = HEC_ENCODING_INIT;
	o.pair = "";
	hec_status status =
		hec_tokenizer_encode(t->tokenizer, q->question, q->question_bytes, &o, &e);
	bool words = false;
	for (size_t i = 0; i < e.n; i++)
		words = words || e.sequence[i] == 0;
	*fit = words && (int64_t)e.n + t->o.stride < t->o.max_length;
	hec_encoding_free(&e);
	return status;
}

static hec_status take_questions(answer_judge *j)
{
	const size_t all = hec_squad_count(j->squad), most = (size_t)j->t->o.valid_sentences;
	j->questions = mem_zeros(all + 1, sizeof *j->questions);
	j->of = mem_zeros(all + 1, sizeof *j->of);
	if (!j->questions || !j->of)
		return judge_no_memory();
	for (size_t i = 0; i < all && j->n < most; i++) {
		const hec_squad_question *q = hec_squad_at(j->squad, i);
		bool fit;
		HEC_TRY(fits(j->t, q, &fit));
		if (!fit)
			continue;
		j->questions[j->n] = (hec_question){q->question, q->context, q->question_bytes,
		                                    q->context_bytes};
		j->of[j->n++] = i;
		j->some_have_none = j->some_have_none || q->n == 0;
	}
	return HEC_OK;
}

static hec_status compare(const hec_squad_question *q, const hec_answer_item *given, double sum[2])
{
	double exact, f1;
	const char **right = mem_alloc((q->n + 1) * sizeof *right);
	if (!right)
		return judge_no_memory();
	for (size_t i = 0; i < q->n; i++)
		right[i] = q->answers[i].text;
	hec_status status = hec_score_answer(given->text, right, q->n, &exact, &f1);
	mem_free(right);
	HEC_TRY(status);
	sum[0] += exact;
	sum[1] += f1;
	return HEC_OK;
}

static hec_status answer_all(const answer_judge *j, hec_answerer *answerer, double sum[2])
{
	hec_answer_options o = HEC_ANSWER_OPTIONS_INIT;
	hec_answers *answers;
	o.max_tokens = ANSWER_TOKENS;
	o.window = j->t->o.max_length;
	if (j->t->o.stride > 0) /* windows to learn from may share nothing; these do */
		o.stride = j->t->o.stride;
	o.may_be_none = j->some_have_none;
	o.progress = training_progress;
	o.user = j->t;
	HEC_TRY(hec_answer(answerer, (int64_t)j->n, j->questions, &o, &answers));
	hec_status status = HEC_OK;
	for (size_t i = 0; status == HEC_OK && i < j->n; i++)
		status = compare(hec_squad_at(j->squad, j->of[i]),
		                 hec_answers_at(answers, (int64_t)i, 0), sum);
	hec_answers_free(answers);
	return status;
}

static hec_status score(judge *base, hec_ctx *ctx, const hec_model *model, hec_train_scores *scores)
{
	const answer_judge *j = (const answer_judge *)base;
	double sum[2] = {0, 0};
	hec_answerer *answerer;
	HEC_TRY(hec_answerer_create(ctx, model, j->t->tokenizer, &answerer));
	hec_status status = answer_all(j, answerer, sum);
	hec_answerer_destroy(answerer);
	HEC_TRY(status);
	hec_train_scores_set(scores, HEC_METRIC_EXACT, 100 * sum[0] / (double)j->n);
	hec_train_scores_set(scores, HEC_METRIC_F1, 100 * sum[1] / (double)j->n);
	return HEC_OK;
}

hec_status judge_answers_create(hec_training *t, judge **out)
{
	answer_judge *j = mem_zeros(1, sizeof *j);
	if (!j)
		return judge_no_memory();
	*j = (answer_judge){.base = {score, destroy}, .t = t};
	hec_status status = hec_squad_load(t->o.valid, t->o.valid_count, &j->squad);
	if (status == HEC_OK)
		status = take_questions(j);
	if (status == HEC_OK && j->n > 0)
		*out = &j->base;
	else
		destroy(&j->base);
	return status;
}
