/* texts.c — what a model wrote beside what was wanted. */
#include "cli/train/texts.h"

#include <stdlib.h>
#include <string.h>

#include <hecate/score.h>

#include "cli/command/try.h"

void train_texts_free(char **texts, int64_t n)
{
	for (int64_t i = 0; texts && i < n; i++) {
		free(texts[i]);
		texts[i] = NULL;
	}
}

hec_status train_texts_compare(char *const *written, char *const *wanted, int64_t n,
                               hec_train_scores *scores)
{
	const char *const *a = (const char *const *)written, *const *b =
								     (const char *const *)wanted;
	int64_t right = 0;
	for (int64_t i = 0; i < n; i++)
		right += strcmp(a[i], b[i]) == 0;
	double bleu, chrf;
	TRY(hec_score_bleu(a, b, (size_t)n, &bleu));
	TRY(hec_score_chrf(a, b, (size_t)n, &chrf));
	hec_train_scores_set(scores, HEC_METRIC_ACCURACY, 100 * (double)right / (double)n);
	hec_train_scores_set(scores, HEC_METRIC_BLEU, bleu);
	hec_train_scores_set(scores, HEC_METRIC_CHRF, chrf);
	return HEC_OK;
}
