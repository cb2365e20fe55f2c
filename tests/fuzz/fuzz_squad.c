/* fuzz_squad.c — any bytes as a file of SQuAD: either a reason, or questions whose answers stand where
 * they are said to be; and its texts scored against each other. */
#include <hecate/squad.h>

#include "parts.h"

static void look(const hec_squad_question *q)
{
	if (strlen(q->context) != q->context_bytes || strlen(q->question) != q->question_bytes)
		stop("a text has another length");
	for (size_t i = 0; i < q->n; i++) {
		const hec_squad_answer *a = &q->answers[i];
		if (a->begin >= a->end || a->end > q->context_bytes ||
		    strlen(a->text) != a->end - a->begin ||
		    memcmp(q->context + a->begin, a->text, a->end - a->begin) != 0)
			stop("an answer stands elsewhere");
		double exact, f1;
		/* Alone: an answer of only "." or "the" does not count beside others. */
		const char *known[] = {a->text};
		if (hec_score_answer(a->text, known, 1, &exact, &f1) != HEC_OK || exact != 1 ||
		    f1 != 1)
			stop("an answer is not right as itself");
		if (hec_score_answer(q->context, known, 1, &exact, &f1) != HEC_OK || f1 < exact ||
		    f1 > 1)
			stop("a score is out of range");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"squad.json", NULL};
	hec_squad *s = NULL;
	parts_make(names);
	parts_write(names[0], data, size);
	const char *file = parts_path(names[0]);
	if (hec_squad_load(&file, 1, &s) != HEC_OK) {
		expect_reason();
		return 0;
	}
	for (size_t i = 0; i < hec_squad_count(s); i++)
		look(hec_squad_at(s, i));
	hec_squad_destroy(s);
	return 0;
}
