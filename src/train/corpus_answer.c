/* corpus_answer.c — a question and its context become windows of ids, each with the tokens between which
 * the answer stands.
 *
 * Windows of a long context overlap by the stride. One that holds the answer only in part, or not at
 * all, points at its first token, and so do all of a question that has none: the common recipe. */
#include <hecate/squad.h>

#include "base/size.h"
#include "train/corpus_build.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The last token that begins no later, and the first that ends no earlier, than the answer. */
static void find_tokens(const hec_encoding *e, const hec_squad_answer *a, int32_t place[2])
{
	size_t first = 0, last = e->n;
	while (first < e->n && e->sequence[first] != 1)
		first++;
	while (last > first && e->sequence[last - 1] != 1)
		last--;
	place[0] = place[1] = 0;
	if (first == last || e->offsets[first].begin > a->begin ||
	    e->offsets[last - 1].end < a->end)
		return;
	size_t begin = last - 1, end = first;
	while (e->offsets[begin].begin > a->begin) /* that of `first` is not */
		begin--;
	while (e->offsets[end].end < a->end)
		end++;
	place[0] = (int32_t)begin;
	place[1] = (int32_t)end;
}

/* Where the types turn from 0 to 1; they never turn back. */
static hec_status find_turn(const hec_encoding *e, int32_t *turn)
{
	size_t i = 0;
	while (i < e->n && e->type_ids[i] == 0)
		i++;
	*turn = (int32_t)i;
	while (i < e->n && e->type_ids[i] == 1)
		i++;
	return i == e->n ? HEC_OK
	                 : fail(HEC_ERR_UNSUPPORTED,
	                        "answer: the tokenizer gives token %zu of a question and its "
	                        "context the type %d",
	                        i, (int)e->type_ids[i]);
}

static hec_status put_window(builder *b, const hec_squad_question *q)
{
	const hec_encoding *e = &b->side[0];
	int32_t target[ANSWER_TARGETS] = {0};
	if (q->n > 0)
		find_tokens(e, &q->answers[0], target);
	HEC_TRY(find_turn(e, &target[2]));
	return builder_put(b, e->ids, e->n, target, ANSWER_TARGETS);
}

static hec_status put_question(builder *b, const hec_squad_question *q)
{
	hec_encode_options options = HEC_ENCODE_OPTIONS_INIT;
	const char *text = q->question;
	size_t bytes = q->question_bytes;
	for (; bytes > 0 && is_blank(*text); bytes--)
		text++;
	options.pair = "";
	HEC_TRY(hec_tokenizer_encode(b->o->tokenizer, text, bytes, &options, &b->side[0]));
	if (bytes == 0 || (int64_t)b->side[0].n + b->o->stride >= b->o->max_source) {
		builder_leave_out(b, bytes == 0 ? 0 : b->side[0].n);
		return HEC_OK;
	}
	options.pair = q->context;
	options.pair_bytes = q->context_bytes;
	options.max_length = b->o->max_source;
	options.stride = b->o->stride;
	options.truncate = HEC_TRUNCATE_SECOND;
	HEC_TRY(hec_tokenizer_encode(b->o->tokenizer, text, bytes, &options, &b->side[0]));
	for (bool more = true; more;) {
		HEC_TRY(put_window(b, q));
		HEC_TRY(hec_tokenizer_next_window(b->o->tokenizer, &b->side[0], &more));
	}
	return HEC_OK;
}

static hec_status put_all(builder *b, const hec_squad *squad)
{
	const size_t n = hec_squad_count(squad);
	for (size_t i = 0; i < n; i++) {
		HEC_TRY(put_question(b, hec_squad_at(squad, i)));
		if ((i + 1) % 100 == 0)
			HEC_TRY(call_progress(b->o->progress, b->o->user, "reading", (int64_t)i + 1,
			                      (int64_t)n));
	}
	b->header.lines = (int64_t)n;
	return HEC_OK;
}

hec_status builder_put_answers(builder *b)
{
	hec_squad *squad;
	HEC_TRY(hec_squad_load(b->o->files, b->o->n, &squad));
	hec_status status = put_all(b, squad);
	hec_squad_destroy(squad);
	return status;
}
