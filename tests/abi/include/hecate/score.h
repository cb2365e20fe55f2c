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

/* ---- a whole corpus ---- */

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

/* ---- pair by pair ---- */

typedef enum hec_score { HEC_SCORE_BLEU = 0, HEC_SCORE_CHRF, HEC_SCORE_ROUGE } hec_score;

/* One score of pairs that come one after the other; of a pair nothing is kept but what it adds. */
typedef struct hec_scorer hec_scorer;
HEC_API HEC_MUST_USE hec_status hec_scorer_create(hec_score kind, hec_scorer **out);
HEC_API void hec_scorer_destroy(hec_scorer *scorer); /* takes NULL */

/* Memory grows with the longest pair: of chrF 8 bytes a character. BLEU and chrF take time in proportion to the
 * texts; ROUGE-L by words × words / 64, of those that both texts have and but for the same words at both ends: more
 * than 2^33, as of two texts of 740,000 words, is HEC_ERR_UNSUPPORTED. A pair that is refused adds nothing. */
HEC_API HEC_MUST_USE hec_status hec_scorer_add(hec_scorer *scorer, const char *hypothesis,
                                               size_t hypothesis_bytes, const char *reference,
                                               size_t reference_bytes);
HEC_API double hec_scorer_score(const hec_scorer *scorer); /* of the pairs so far; of none 0 */

HEC_END

#endif
