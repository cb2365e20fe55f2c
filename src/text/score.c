/* score.c — the public calls: one corpus from first to last pair. */
#include <hecate/score.h>

#include "text/bleu.h"
#include "text/chrf.h"
#include "text/rouge.h"

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

hec_status hec_score_bleu(const char *const *hypotheses, const char *const *references, size_t n,
                          double *score)
{
	HEC_TRY(check("hec_score_bleu", hypotheses, references, n, score));
	bleu b = {0};
	hec_status status = HEC_OK;
	for (size_t i = 0; i < n && status == HEC_OK; i++)
		status = bleu_add(&b, hypotheses[i], references[i]);
	if (status == HEC_OK)
		*score = bleu_score(&b);
	bleu_free(&b);
	return status;
}

hec_status hec_score_chrf(const char *const *hypotheses, const char *const *references, size_t n,
                          double *score)
{
	HEC_TRY(check("hec_score_chrf", hypotheses, references, n, score));
	chrf c = {0};
	hec_status status = HEC_OK;
	for (size_t i = 0; i < n && status == HEC_OK; i++)
		status = chrf_add(&c, hypotheses[i], references[i]);
	if (status == HEC_OK)
		*score = chrf_score(&c);
	chrf_free(&c);
	return status;
}

hec_status hec_score_rouge(const char *const *hypotheses, const char *const *references, size_t n,
                           double *score)
{
	HEC_TRY(check("hec_score_rouge", hypotheses, references, n, score));
	rouge r = {0};
	hec_status status = HEC_OK;
	for (size_t i = 0; i < n && status == HEC_OK; i++)
		status = rouge_add(&r, hypotheses[i], references[i]);
	if (status == HEC_OK)
		*score = rouge_score(&r);
	rouge_free(&r);
	return status;
}
