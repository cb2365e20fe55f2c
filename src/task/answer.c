/* answer.c — question and context → windows → two logits for each token → the best spans.
 *
 * Windows are gathered from one question after the other and run together once there are many: what is
 * held at a time does not grow with the length of a context or the number of questions. */
#include <hecate/answer.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "base/status.h"
#include "task/answer_span.h"
#include "task/batches.h"
#include "text/unicode/utf8.h"

#define TOP_MOST 10000
#define WAVE 65536 /* tokens that are gathered before they run */

struct hec_answerer {
	task_model m;
	batches batches;
	hec_encoding encoding;
};

typedef struct answered {
	hec_answer_item *items; /* [n] */
	int64_t n, windows;
	double none;
} answered;

struct hec_answers {
	answered *questions; /* [count] */
	int64_t count;
};

/* ---- making one ---- */

static hec_status check_head(void *handle, const char *dir, const hec_model_load_options *options)
{
	const hec_answerer *a = handle;
	const hec_model_config *c = hec_model_config_of(a->m.model);
	(void)dir, (void)options;
	if (c->head == HEC_HEAD_ANSWER)
		return HEC_OK;
	if (c->head == HEC_HEAD_LM)
		return fail(HEC_ERR_UNSUPPORTED,
		            "answer: the model writes text and has no head that marks answers "
		            "(…ForQuestionAnswering); ask it by a prompt: hecate generate");
	return fail(HEC_ERR_UNSUPPORTED,
	            "answer: the model has no head that marks where an answer begins and ends "
	            "(…ForQuestionAnswering); hecate train --from DIR --task answer makes one");
}

static void clear(void *handle)
{
	hec_answerer *a = handle;
	batches_free(&a->batches);
	hec_encoding_free(&a->encoding);
}

static const task_kind kind = {
	.name = "answer", .bytes = sizeof(hec_answerer), .finish = check_head, .clear = clear};

hec_status hec_answerer_load(hec_ctx *ctx, const char *dir, const hec_model_load_options *options,
                             hec_answerer **out)
{
	return task_load(&kind, ctx, dir, options, out);
}

hec_status hec_answerer_create(hec_ctx *ctx, const hec_model *model, const hec_tokenizer *tokenizer,
                               hec_answerer **out)
{
	return task_create(&kind, ctx, model, tokenizer, NULL, out);
}

void hec_answerer_destroy(hec_answerer *answerer)
{
	task_destroy(&kind, answerer);
}

const hec_model *hec_answerer_model(const hec_answerer *answerer)
{
	return answerer->m.model;
}

const hec_tokenizer *hec_answerer_tokenizer(const hec_answerer *answerer)
{
	return answerer->m.tokenizer;
}

/* ---- windows ---- */

typedef struct kept_window {
	int64_t question;
	hec_span *offsets; /* [n], one block with … */
	int8_t *sequence;  /* [n] … these */
} kept_window;

typedef struct answer_call {
	hec_answerer *a;
	hec_answer_options o;
	int64_t n;
	const hec_question *questions;
	answer_search *searches; /* [n]; freed when the question is answered */
	kept_window *windows;    /* [count] */
	batch_input *inputs;     /* [count] */
	size_t count, windows_room, inputs_room;
	int64_t tokens; /* of these windows */
	int64_t before; /* windows that ran before these */
	int64_t done;   /* questions that are answered */
	hec_answers *out;
} answer_call;

static hec_status keep_window(answer_call *call, int64_t question)
{
	const hec_encoding *e = &call->a->encoding;
	HEC_TRY(GROW(&call->windows, &call->windows_room, call->count + 1));
	HEC_TRY(GROW(&call->inputs, &call->inputs_room, call->count + 1));
	kept_window *w = &call->windows[call->count];
	w->question = question;
	w->offsets = mem_alloc(e->n * (sizeof *e->offsets + sizeof *e->sequence));
	if (!w->offsets)
		return fail(HEC_ERR_MEMORY, "answer: no memory for a window of %zu tokens", e->n);
	w->sequence = (int8_t *)(w->offsets + e->n);
	memcpy(w->offsets, e->offsets, e->n * sizeof *e->offsets);
	memcpy(w->sequence, e->sequence, e->n * sizeof *e->sequence);
	hec_status status = batch_input_copy(e, &call->inputs[call->count]);
	if (status != HEC_OK) {
		mem_free(w->offsets);
		return status;
	}
	call->count++;
	call->tokens += (int64_t)e->n;
	return HEC_OK;
}

static void drop_windows(answer_call *call)
{
	for (size_t i = 0; i < call->count; i++) {
		mem_free(call->windows[i].offsets);
		mem_free(call->inputs[i].ids);
	}
	call->before += (int64_t)call->count;
	call->count = 0;
	call->tokens = 0;
}

static hec_status search_window(void *user, int64_t input, const hec_tensor *rows)
{
	answer_call *call = user;
	const kept_window *w = &call->windows[input];
	const answer_window seen = {
		.n = (size_t)call->inputs[input].n,
		.offsets = w->offsets,
		.sequence = w->sequence,
		.context = 1,
		.logits = rows->data,
		/* What is put before a text by those with an encoder is a token of its own. */
		.without_none = w->sequence[0] >= 0 ||
	                        hec_model_config_of(call->a->m.model)->encoder.layers == 0,
	};
	return answer_search_add(&call->searches[w->question], &seen);
}

static hec_status report(void *user, const char *phase, int64_t done, int64_t total)
{
	answer_call *call = user;
	return call->o.progress(call->o.user, phase, call->before + done, call->before + total);
}

static hec_status run_windows(answer_call *call)
{
	batch_work work = {.model = &call->a->m,
	                   .want = BATCH_LOGITS,
	                   .inputs = call->inputs,
	                   .n = (int64_t)call->count,
	                   .tokens = call->o.batch,
	                   .take_rows = search_window,
	                   .user = call,
	                   .progress = call->o.progress ? report : NULL,
	                   .progress_user = call,
	                   .phase = "windows"};
	hec_status status = batches_run(&call->a->batches, &work);
	if (status != HEC_OK && hec_error_item() >= 0)
		return fail_item(status, call->windows[hec_error_item()].question);
	if (status == HEC_OK)
		drop_windows(call);
	return status;
}

/* ---- answers ---- */

/* The words of the context; what is no UTF-8 in them as U+FFFD. */
static hec_status copy_text(const char *text, size_t bytes, hec_answer_item *to)
{
	static const char replacement[] = "\xef\xbf\xbd";
	size_t room, n = 0;
	char *copy = NULL;
	if (size_mul(bytes, 3, &room) && size_add(room, 1, &room))
		copy = mem_alloc(room);
	if (!copy)
		return fail(HEC_ERR_MEMORY, "answer: no memory for %zu bytes of an answer", bytes);
	while (bytes > 0) {
		size_t valid = utf8_valid(text, bytes);
		memcpy(copy + n, text, valid);
		n += valid;
		text += valid;
		bytes -= valid;
		if (bytes > 0) {
			size_t ill = utf8_ill(text, bytes);
			memcpy(copy + n, replacement, 3);
			n += 3;
			text += ill;
			bytes -= ill;
		}
	}
	copy[n] = '\0';
	to->text = copy;
	to->bytes = n;
	return HEC_OK;
}

static hec_status add_answer(answered *to, const char *context, answer_span span)
{
	hec_answer_item *answer = &to->items[to->n];
	HEC_TRY(copy_text(context + span.begin, span.end - span.begin, answer));
	answer->score = span.score;
	answer->begin = span.begin;
	answer->end = span.end;
	to->n++;
	return HEC_OK;
}

static hec_status take_answers(answer_call *call, int64_t question)
{
	answer_search *s = &call->searches[question];
	const char *context = call->questions[question].context;
	answered *to = &call->out->questions[question];
	to->windows = s->windows;
	to->none = s->windows > 0 ? s->none : 1;
	const answer_span none = {to->none, 0, 0};
	size_t most = (size_t)(s->count + (s->count < call->o.top));
	if (!(to->items = mem_zeros(most, sizeof *to->items)))
		return fail(HEC_ERR_MEMORY, "answer: no memory for %zu answers", most);
	bool still = call->o.may_be_none || s->count == 0;
	for (int64_t i = 0; i < s->count && to->n < call->o.top; i++) {
		if (still && s->best[i].score < to->none - call->o.none_margin) {
			HEC_TRY(add_answer(to, context, none));
			still = false;
		}
		if (to->n < call->o.top)
			HEC_TRY(add_answer(to, context, s->best[i]));
	}
	if (still && to->n < call->o.top)
		HEC_TRY(add_answer(to, context, none));
	answer_search_free(s);
	return HEC_OK;
}

/* ---- questions ---- */

/* Tokens that the question and what is added take in every window. */
static hec_status measure_question(answer_call *call, const hec_question *q, int64_t window,
                                   int64_t *taken)
{
	hec_encoding *e = &call->a->encoding;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = call->o.lossy;
	o.pair = "";
	HEC_TRY(hec_tokenizer_encode(call->a->m.tokenizer, q->question, q->question_bytes, &o, e));
	size_t words = 0;
	for (size_t i = 0; i < e->n; i++)
		words += e->sequence[i] >= 0;
	if (words == 0)
		return fail(HEC_ERR_ARGUMENT, "the question has no word");
	*taken = (int64_t)e->n;
	if (*taken >= window)
		return fail(HEC_ERR_SHAPE,
		            "the question has %zu tokens, %zu are added, and a window of %lld "
		            "leaves none for the context",
		            words, e->n - words, (long long)window);
	return HEC_OK;
}

static hec_status choose_windows(const answer_call *call, const hec_question *q, int64_t window,
                                 int64_t taken, hec_encode_options *o)
{
	const int64_t room = window - taken;
	o->lossy = call->o.lossy;
	o->pair = q->context;
	o->pair_bytes = q->context_bytes;
	o->max_length = window;
	o->truncate = HEC_TRUNCATE_SECOND;
	o->stride = call->o.stride >= 0 ? call->o.stride
	                                : min_i64(HEC_ANSWER_STRIDE, min_i64(window / 2, room / 2));
	if (o->stride >= room)
		return fail(HEC_ERR_ARGUMENT,
		            "windows are to share %lld tokens, but one of %lld has room for %lld "
		            "of the context beside the question",
		            (long long)o->stride, (long long)window, (long long)room);
	return HEC_OK;
}

static hec_status ask(answer_call *call, int64_t question)
{
	const hec_question *q = &call->questions[question];
	hec_encoding *e = &call->a->encoding;
	const int64_t window = call->o.window;
	int64_t taken = 0;
	if (!q->question || !q->context)
		return fail(HEC_ERR_ARGUMENT, "the question or the context is NULL");
	HEC_TRY(measure_question(call, q, window, &taken));
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	HEC_TRY(choose_windows(call, q, window, taken, &o));
	HEC_TRY(hec_tokenizer_encode(call->a->m.tokenizer, q->question, q->question_bytes, &o, e));
	call->searches[question] = (answer_search){.text = q->context,
	                                           .bytes = q->context_bytes,
	                                           .top = call->o.top,
	                                           .longest = call->o.max_tokens,
	                                           .part_words = call->o.part_words};
	bool more = (int64_t)e->n > taken; /* else the context has no words */
	while (more) {
		HEC_TRY(keep_window(call, question));
		if (call->tokens >= WAVE)
			HEC_TRY(run_windows(call));
		HEC_TRY(hec_tokenizer_next_window(call->a->m.tokenizer, e, &more));
	}
	return HEC_OK;
}

/* Runs what is gathered; all questions before `end` are then answered. */
static hec_status finish(answer_call *call, int64_t end)
{
	HEC_TRY(run_windows(call));
	for (; call->done < end; call->done++)
		HEC_TRY(take_answers(call, call->done));
	return HEC_OK;
}

static hec_status answer(answer_call *call)
{
	call->searches = mem_zeros((size_t)call->n, sizeof *call->searches);
	if (!call->searches)
		return fail(HEC_ERR_MEMORY, "answer: no memory for %lld questions",
		            (long long)call->n);
	for (int64_t i = 0; i < call->n; i++) {
		hec_status status = ask(call, i);
		if (status != HEC_OK) {
			const bool blames = status != HEC_ERR_MEMORY &&
			                    status != HEC_ERR_CANCELLED && hec_error_item() < 0;
			return blames ? fail_item(status, i) : status;
		}
		if (call->tokens >= WAVE / 2)
			HEC_TRY(finish(call, i + 1));
	}
	return finish(call, call->n);
}

static hec_status take_options(answer_call *call, const hec_answer_options *options)
{
	hec_answer_options *o = &call->o;
	HEC_TRY(options_take("hec_answer_options", o, sizeof *o, options));
	const int64_t longest = call->a->m.longest;
	if (o->window == -1)
		o->window = min_i64(HEC_ANSWER_WINDOW, longest);
	if (o->top < 1 || o->top > TOP_MOST || o->max_tokens < 1 || o->window < 1 ||
	    o->stride < -1 || o->batch < 1)
		return fail(HEC_ERR_ARGUMENT,
		            "answer: top %lld (1 to %d), max_tokens %lld, window %lld, batch %lld "
		            "(1 or more), stride %lld (0 or more)",
		            (long long)o->top, TOP_MOST, (long long)o->max_tokens,
		            (long long)o->window, (long long)o->batch, (long long)o->stride);
	if (!(o->none_margin >= -1 && o->none_margin <= 1))
		return fail(HEC_ERR_ARGUMENT, "answer: none_margin is %g; it is from -1 to 1",
		            o->none_margin);
	if (o->window > longest)
		return fail(HEC_ERR_ARGUMENT,
		            "answer: windows of %lld tokens; the model takes %lld",
		            (long long)o->window, (long long)longest);
	return HEC_OK;
}

static hec_status answers_create(int64_t count, hec_answers **out)
{
	hec_answers *a = mem_zeros(1, sizeof *a);
	if (a)
		a->questions = mem_zeros((size_t)count + 1, sizeof *a->questions);
	if (!a || !a->questions) {
		mem_free(a);
		return fail(HEC_ERR_MEMORY, "answer: no memory for %lld questions",
		            (long long)count);
	}
	a->count = count;
	*out = a;
	return HEC_OK;
}

static void answer_call_free(answer_call *call)
{
	drop_windows(call);
	for (int64_t i = 0; call->searches && i < call->n; i++)
		answer_search_free(&call->searches[i]);
	mem_free(call->searches);
	mem_free(call->windows);
	mem_free(call->inputs);
}

hec_status hec_answer(hec_answerer *answerer, int64_t n, const hec_question *questions,
                      const hec_answer_options *options, hec_answers **out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "answer: out is NULL");
	*out = NULL;
	if (!answerer || n < 0 || (n > 0 && !questions))
		return fail(HEC_ERR_ARGUMENT, "answer: %lld questions, answerer %s, questions %s",
		            (long long)n, answerer ? "given" : "NULL",
		            questions ? "given" : "NULL");
	answer_call call = {
		.a = answerer, .o = HEC_ANSWER_OPTIONS_INIT, .n = n, .questions = questions};
	HEC_TRY(take_options(&call, options));
	HEC_TRY(answers_create(n, &call.out));
	hec_status status = n > 0 ? answer(&call) : HEC_OK;
	answer_call_free(&call);
	if (status == HEC_OK)
		*out = call.out;
	else
		hec_answers_free(call.out);
	return status;
}

static const answered *answers_to(const hec_answers *answers, int64_t question)
{
	if (!answers || question < 0 || question >= answers->count)
		return NULL;
	return &answers->questions[question];
}

const hec_answer_item *hec_answers_at(const hec_answers *answers, int64_t question, int64_t rank)
{
	const answered *a = answers_to(answers, question);
	return a && rank >= 0 && rank < a->n ? &a->items[rank] : NULL;
}

double hec_answers_none(const hec_answers *answers, int64_t question)
{
	const answered *a = answers_to(answers, question);
	return a ? a->none : NAN;
}

int64_t hec_answers_windows(const hec_answers *answers, int64_t question)
{
	const answered *a = answers_to(answers, question);
	return a ? a->windows : 0;
}

void hec_answers_free(hec_answers *answers)
{
	if (!answers)
		return;
	for (int64_t i = 0; i < answers->count; i++) {
		const answered *a = &answers->questions[i];
		for (int64_t k = 0; k < a->n; k++)
			mem_free(mem_own(a->items[k].text));
		mem_free(a->items);
	}
	mem_free(answers->questions);
	mem_free(answers);
}
