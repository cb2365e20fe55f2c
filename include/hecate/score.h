/* score.h — how near translations and summaries come to references: BLEU, chrF and ROUGE-L of a whole
 * corpus, 0 … 100.
 *
 * The numbers are those of sacrebleu 2.6 with its default settings: BLEU with the 13a tokenizer, case
 * kept, exponential smoothing; chrF2 of character n-grams up to 6, white space left out. ROUGE-L is
 * the mean of F1 over the pairs, as rouge-score 0.1.2 computes it without stemming: it reads a … z and 0 … 9 and
 * nothing else, so that it measures English. */
#ifndef HECATE_SCORE_H
#define HECATE_SCORE_H

#include <hecate/status.h>

HEC_BEGIN

/* hypotheses[i] is measured against references[i], both UTF-8; bytes that are not count as one
 * character each. n of 0 gives 0. */
HEC_API HEC_MUST_USE hec_status hec_score_bleu(const char *const *hypotheses,
                                               const char *const *references, size_t n,
                                               double *score /* written */);
HEC_API HEC_MUST_USE hec_status hec_score_chrf(const char *const *hypotheses,
                                               const char *const *references, size_t n,
                                               double *score /* written */);
HEC_API HEC_MUST_USE hec_status hec_score_rouge(const char *const *hypotheses,
                                                const char *const *references, size_t n,
                                                double *score /* written */);

HEC_END

#endif
