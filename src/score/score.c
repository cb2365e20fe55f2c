/* score.c — the public calls: a scorer, and one corpus from first to last pair. */
#include <hecate/score.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/check.h"
#include "score/measure.h"

static const score_kind *const kinds[] = {
	[HEC_SCORE_BLEU] = &score_kind_bleu,
	[HEC_SCORE_CHRF] = &score_kind_chrf,
	[HEC_SCORE_ROUGE] = &score_kind_rouge,
};

struct hec_scorer {
	const score_kind *kind;
	_Alignas(max_align_t) char sums[];
};

hec_status hec_scorer_create(hec_score kind, hec_scorer **out)
{
	HEC_TRY(CHECK_GIVEN("scorer", out));
	*out = NULL;
	if ((unsigned)kind >= sizeof kinds / sizeof *kinds)
		return fail(HEC_ERR_ARGUMENT, "scorer: there is no score %d", (int)kind);
	hec_scorer *s = mem_zeros(1, sizeof *s + kinds[kind]->size);
	if (!s)
		return fail(HEC_ERR_MEMORY, "scorer: no memory for %zu bytes", kinds[kind]->size);
	s->kind = kinds[kind];
	*out = s;
	return HEC_OK;
}

void hec_scorer_destroy(hec_scorer *s)
{
	if (s)
		s->kind->end(s->sums);
	mem_free(s);
}

hec_status hec_scorer_add(hec_scorer *s, const char *hypothesis, size_t hypothesis_bytes,
                          const char *reference, size_t reference_bytes)
{
	HEC_TRY(CHECK_GIVEN("scorer", s));
	HEC_TRY(CHECK_GIVEN("scorer", hypothesis));
	HEC_TRY(CHECK_GIVEN("scorer", reference));
	const hec_status status = s->kind->add(s->sums, (score_text){hypothesis, hypothesis_bytes},
	                                       (score_text){reference, reference_bytes});
	return status == HEC_OK ? HEC_OK : fail_in(status, "%s", s->kind->name);
}

double hec_scorer_score(const hec_scorer *s)
{
	return s->kind->score(s->sums);
}

static hec_status check_arguments(const char *what, const char *const *hypotheses,
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

static hec_status score_all(const char *call, hec_score kind, const char *const *hypotheses,
                            const char *const *references, size_t n, double *score)
{
	hec_scorer *s;
	HEC_TRY(check_arguments(call, hypotheses, references, n, score));
	HEC_TRY(hec_scorer_create(kind, &s));
	hec_status status = HEC_OK;
	for (size_t i = 0; i < n && status == HEC_OK; i++)
		status = hec_scorer_add(s, hypotheses[i], strlen(hypotheses[i]), references[i],
		                        strlen(references[i]));
	if (status == HEC_OK)
		*score = hec_scorer_score(s);
	hec_scorer_destroy(s);
	return status;
}

hec_status hec_score_bleu(const char *const *hypotheses, const char *const *references, size_t n,
                          double *score)
{
	return score_all("hec_score_bleu", HEC_SCORE_BLEU, hypotheses, references, n, score);
}

hec_status hec_score_chrf(const char *const *hypotheses, const char *const *references, size_t n,
                          double *score)
{
	return score_all("hec_score_chrf", HEC_SCORE_CHRF, hypotheses, references, n, score);
}

hec_status hec_score_rouge(const char *const *hypotheses, const char *const *references, size_t n,
                           double *score)
{
	return score_all("hec_score_rouge", HEC_SCORE_ROUGE, hypotheses, references, n, score);
}
