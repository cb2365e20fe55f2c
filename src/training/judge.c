/* judge.c — which kind of judge a task has, and how texts are compared. */
#include "training/judge.h"

#include <string.h>

#include <hecate/score.h>

#include "base/memory.h"

hec_status judge_create(hec_training *t, judge **out)
{
	*out = NULL;
	if (t->o.valid_count == 0 || t->o.valid_sentences == 0)
		return HEC_OK;
	switch (t->o.task) {
	case HEC_TASK_TRANSLATE:
	case HEC_TASK_SEQ2SEQ:
		return t->sounds ? judge_sounds_create(t, out) : judge_writing_create(t, out);
	case HEC_TASK_CLASSIFY:
		return judge_labels_create(t, out);
	case HEC_TASK_ANSWER:
		return judge_answers_create(t, out);
	case HEC_TASK_LM:
	case HEC_TASK_MLM:
		break; /* the loss says it all */
	}
	return HEC_OK;
}

void judge_destroy(judge *j)
{
	if (j)
		j->destroy(j);
}

void judge_drop_texts(char **texts, int64_t n)
{
	for (int64_t i = 0; texts && i < n; i++) {
		mem_free(texts[i]);
		texts[i] = NULL;
	}
}

hec_status judge_compare(char *const *written, char *const *wanted, int64_t n,
                         hec_train_scores *scores)
{
	const char *const *is = (const char *const *)written;
	const char *const *must = (const char *const *)wanted;
	int64_t right = 0;
	double bleu, chrf;
	for (int64_t i = 0; i < n; i++)
		right += strcmp(is[i], must[i]) == 0;
	HEC_TRY(hec_score_bleu(is, must, (size_t)n, &bleu));
	HEC_TRY(hec_score_chrf(is, must, (size_t)n, &chrf));
	hec_train_scores_set(scores, HEC_METRIC_ACCURACY, 100 * (double)right / (double)n);
	hec_train_scores_set(scores, HEC_METRIC_BLEU, bleu);
	hec_train_scores_set(scores, HEC_METRIC_CHRF, chrf);
	return HEC_OK;
}

hec_status judge_no_memory(void)
{
	return fail(HEC_ERR_MEMORY, "no memory for the examples that a validation scores");
}
