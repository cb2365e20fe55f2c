/* score.c — the public calls: one corpus from first to last pair. */
#include <hecate/score.h>

#include <stdlib.h>

#include "text/score_kind.h"

static hec_status check(const char *what, const char *const *hypotheses,
                        const char *const *references, size_t n, const double *score)
{
	if (!score || (n > 0 && (!hypotheses || !references)))
		return fail(HEC_ERR_ARGUMENT, "%s: an argument is NULL", what);
	for (size_t i = 0; i < n; i++)
		if (!hypotheses[i] || !references[i])
			return fail(HEC_ERR_ARGUMENT, "%s: %s %zu is NULL", what,
			            hypotheses[i] ? "reference" : "hypothesis", i);
	return HEC_OK;
}

static hec_status score_all(const score_kind *k, const char *const *hypotheses,
                            const char *const *references, size_t n, double *score)
{
	HEC_TRY(check(k->call, hypotheses, references, n, score));
	void *sums = calloc(1, k->size);
	if (!sums)
		return fail(HEC_ERR_MEMORY, "%s: no memory for %zu bytes", k->call, k->size);
	hec_status status = HEC_OK;
	for (size_t i = 0; i < n && status == HEC_OK; i++)
		status = k->add(sums, hypotheses[i], references[i]);
	if (status == HEC_OK)
		*score = k->score(sums);
	k->end(sums);
	free(sums);
	return status;
}

hec_status hec_score_bleu(const char *const *hypotheses, const char *const *references, size_t n,
                          double *score)
{
	return score_all(&score_kind_bleu, hypotheses, references, n, score);
}

hec_status hec_score_chrf(const char *const *hypotheses, const char *const *references, size_t n,
                          double *score)
{
	return score_all(&score_kind_chrf, hypotheses, references, n, score);
}

hec_status hec_score_rouge(const char *const *hypotheses, const char *const *references, size_t n,
                           double *score)
{
	return score_all(&score_kind_rouge, hypotheses, references, n, score);
}
