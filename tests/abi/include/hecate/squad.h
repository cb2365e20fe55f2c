/* squad.h — questions on texts, from the JSON of SQuAD 1.1 and 2.0; and the score of answers.
 *
 * A file is read whole (at most HEC_SQUAD_MAX_BYTES bytes; about four times its size is held). Every answer
 * must stand where it is said to be: "answer_start" counts characters there, bytes here. */
#ifndef HECATE_SQUAD_H
#define HECATE_SQUAD_H

#include <hecate/status.h>

HEC_BEGIN

#define HEC_SQUAD_MAX_BYTES ((size_t)256 << 20)

typedef struct hec_squad_answer { /* value */
	const char *text;
	size_t begin, end; /* bytes begin … end − 1 of the context */
} hec_squad_answer;

typedef struct hec_squad_question { /* result */
	const char *id, *question, *context;
	size_t question_bytes, context_bytes;
	const hec_squad_answer *answers;
	size_t n; /* 0: the context has no answer ("is_impossible") */
} hec_squad_question;

typedef struct hec_squad hec_squad;

/* What is wrong is said with the file and the place: "data[3].paragraphs[0].qas[2]: …". */
HEC_API HEC_MUST_USE hec_status hec_squad_load(const char *const *files, size_t n, hec_squad **out);
HEC_API void hec_squad_destroy(hec_squad *squad); /* takes NULL */
HEC_API size_t hec_squad_count(const hec_squad *squad);
/* NULL past the end. */
HEC_API const hec_squad_question *hec_squad_at(const hec_squad *squad, size_t i);

/* How good a prediction is, 0 or 1 and 0 … 1, by the best of the answers, as SQuAD 2.0's script counts:
 * lower case, without ASCII punctuation and the words a, an and the. Without answers, "" is right. */
HEC_API HEC_MUST_USE hec_status hec_score_answer(const char *prediction, const char *const *answers,
                                                 size_t n, double *exact, double *f1);

HEC_END

#endif
