/* count.c — how much text there is, and its labels. */
#include <hecate/squad.h>

#include "training/data.h"

static hec_status count_lines(hec_training *t, hec_lines *lines)
{
	for (bool more = true;;) {
		const char *text[2];
		size_t bytes[2];
		HEC_TRY(hec_lines_next_pair(lines, text, bytes, &more));
		t->lines = hec_lines_counts(lines)->lines;
		t->examples = hec_lines_counts(lines)->examples;
		if (!more)
			return HEC_OK;
		t->bytes += (int64_t)(bytes[0] + bytes[1]);
		if (t->o.task == HEC_TASK_CLASSIFY)
			HEC_TRY(label_list_add(&t->labels, text[0], bytes[0]));
		if (t->lines % 4096 == 0)
			HEC_TRY(training_progress(t, "counting lines", t->lines, 0));
	}
}

/* A question is a line; its context is read with it. */
static hec_status count_questions(hec_training *t)
{
	hec_squad *squad;
	HEC_TRY(hec_squad_load(t->o.train, t->o.train_count, &squad));
	const size_t n = hec_squad_count(squad);
	t->lines = t->examples = (int64_t)n;
	for (size_t i = 0; i < n; i++) {
		const hec_squad_question *q = hec_squad_at(squad, i);
		t->bytes += (int64_t)(q->question_bytes + q->context_bytes);
	}
	hec_squad_destroy(squad);
	return HEC_OK;
}

hec_status data_count(hec_training *t)
{
	hec_lines *lines;
	t->lines = t->examples = t->bytes = 0;
	label_list_free(&t->labels); /* of an estimate */
	if (t->o.task == HEC_TASK_ANSWER)
		return count_questions(t);
	HEC_TRY(hec_lines_create(t->o.task, t->o.train, t->o.train_count, &lines));
	hec_status status = count_lines(t, lines);
	hec_lines_destroy(lines);
	HEC_TRY(status);
	if (t->o.task == HEC_TASK_CLASSIFY && t->labels.n == 0)
		return fail(HEC_ERR_FORMAT,
		            "none of the %lld lines has what classify wants: no label, tab and "
		            "text",
		            (long long)t->lines);
	return HEC_OK;
}
