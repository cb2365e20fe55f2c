/* scheduler.c — sources come in, take steps together, and leave when they are done.
 *
 * Long sources go first: what runs together has about the same length, and the last ones are short.
 * When a part of the places is free, the next sources take them in the middle of the others' work:
 * a step costs nearly the same for few rows as for many. No source ever sees another, so the order
 * changes no result. */
#include "decode/scheduler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/context.h"
#include "base/memory.h"
#include "base/size.h"
#include "decode/decoded.h"
#include "decode/workspace.h"

/* Sources come in when places / REFILL_DIVISOR are free: the encoder, too, is cheaper for many. */
#define REFILL_DIVISOR 4

typedef struct schedule {
	const engine *e;
	plan p;
	workspace w;
	int64_t n;
	const int32_t *const *ids;
	const int64_t *lengths;
	struct waiting *order; /* [n] */
	int64_t begun, done, live_count;
	float *logits; /* [live · beams, vocab] of this step */
	hec_decoded *out;
} schedule;

typedef struct waiting {
	int64_t length, source;
} waiting;

static int longer_first(const void *a, const void *b)
{
	const waiting *x = a, *y = b;
	if (x->length != y->length)
		return x->length > y->length ? -1 : 1;
	return x->source < y->source ? -1 : 1;
}

static bool sources_are_prompts(const engine *e)
{
	return e->start_id < 0;
}

static int64_t prompt_length(const schedule *now, int64_t source)
{
	if (sources_are_prompts(now->e))
		return now->lengths[source];
	return now->p.o.prompts ? now->p.o.prompt_lengths[source] : 1;
}

/* What its rows begin with. */
static const int32_t *prompt_ids(const schedule *now, int64_t source)
{
	if (sources_are_prompts(now->e))
		return now->ids[source];
	return now->p.o.prompts ? now->p.o.prompts[source] : &now->e->start_id;
}

/* Tokens that are added as a source. */
static int64_t source_length(const schedule *now, int64_t source)
{
	return now->e->add_other ? 0 : now->lengths[source];
}

/* prompt + what may be written. The last token is written, but never fed. */
static int64_t max_length(const schedule *now, int64_t source)
{
	int64_t prompt = prompt_length(now, source);
	const hec_decode_options *o = &now->p.o;
	int64_t length = o->max_tokens == -1 ? now->e->max_target + 1 : prompt + o->max_tokens;
	return o->max_tokens_each ? min_i64(length, prompt + o->max_tokens_each[source]) : length;
}

static hec_status check_tokens(const schedule *now, const char *what, int64_t i, const int32_t *ids,
                               int64_t n)
{
	if (!ids || n < 1)
		return fail(HEC_ERR_ARGUMENT, "decode: %s %lld has no tokens", what, (long long)i);
	for (int64_t k = 0; k < n; k++) {
		if (ids[k] < 0 || ids[k] >= now->e->vocab)
			return fail(HEC_ERR_ARGUMENT,
			            "decode: token %lld of %s %lld is %d; the vocabulary has %lld",
			            (long long)k, what, (long long)i, ids[k],
			            (long long)now->e->vocab);
	}
	return HEC_OK;
}

/* Whether a row of the session holds what the source begins with and what it may write. */
static hec_status check_room(const schedule *now, int64_t i)
{
	const int64_t prompt = prompt_length(now, i), room = now->e->max_target;
	const int64_t tokens = now->p.o.max_tokens; /* −1: as many as there is room for */
	const int64_t *each = now->p.o.max_tokens_each;
	if (each && (each[i] < 1 || each[i] > INT32_MAX))
		return fail(HEC_ERR_ARGUMENT,
		            "decode: max_tokens_each[%lld] is %lld; it is 1 or more", (long long)i,
		            (long long)each[i]);
	if (tokens > room || prompt + tokens - 1 > room)
		return fail(HEC_ERR_SHAPE,
		            "decode: source %lld begins with %lld tokens and may write %lld; a row "
		            "of the session holds %lld",
		            (long long)i, (long long)prompt, (long long)tokens, (long long)room);
	if (prompt > room)
		return fail(HEC_ERR_SHAPE,
		            "decode: source %lld begins with %lld tokens, which leaves no room to "
		            "write in rows of %lld",
		            (long long)i, (long long)prompt, (long long)room);
	return HEC_OK;
}

static hec_status check_source(const schedule *now, int64_t i)
{
	const engine *e = now->e;
	int64_t length = source_length(now, i);
	if (!e->add_other)
		HEC_TRY(check_tokens(now, "source", i, now->ids[i], length));
	if (now->p.o.prompts)
		HEC_TRY(check_tokens(now, "prompt", i, now->p.o.prompts[i],
		                     now->p.o.prompt_lengths[i]));
	if (!sources_are_prompts(e) && length > e->max_source)
		return fail(HEC_ERR_SHAPE,
		            "decode: source %lld has %lld tokens; the session takes %lld",
		            (long long)i, (long long)length, (long long)e->max_source);
	return check_room(now, i);
}

static hec_status check_prompts(const schedule *now)
{
	const hec_decode_options *o = &now->p.o;
	if (o->prompts && sources_are_prompts(now->e))
		return fail(HEC_ERR_ARGUMENT,
		            "decode: prompts are given, but without an encoder the "
		            "sources are what is begun with");
	if (o->prompts && !o->prompt_lengths)
		return fail(HEC_ERR_ARGUMENT, "decode: prompts are given, prompt_lengths are NULL");
	return HEC_OK;
}

static hec_status prepare(schedule *now)
{
	workspace *w = &now->w;
	w->places = min_i64(now->e->sources, now->n);
	w->feed = 1;
	for (int64_t i = 0; i < now->n; i++) {
		hec_status status = check_source(now, i);
		if (status != HEC_OK)
			return fail_item(status, i);
		w->capacity = max_i64(w->capacity, max_length(now, i));
		w->feed = max_i64(w->feed, prompt_length(now, i));
		w->width = max_i64(w->width, source_length(now, i));
	}
	HEC_TRY(workspace_open(w, &now->p, hec_ctx_threads(now->e->ctx)));
	now->order = mem_zeros((size_t)now->n, sizeof *now->order);
	if (!now->order)
		return fail(HEC_ERR_MEMORY, "decode: no memory for %lld sources",
		            (long long)now->n);
	for (int64_t i = 0; i < now->n; i++)
		now->order[i] = (waiting){source_length(now, i), i};
	qsort(now->order, (size_t)now->n, sizeof *now->order, longer_first);
	return HEC_OK;
}

/* Sources that wait take the free places, once enough places are free or nothing runs. */
static hec_status admit(schedule *now)
{
	workspace *w = &now->w;
	int64_t n = min_i64(w->places - now->live_count, now->n - now->begun);
	if (n == 0 || (now->live_count > 0 &&
	               w->places - now->live_count < div_up(w->places, REFILL_DIVISOR)))
		return HEC_OK;
	const waiting *next = now->order + now->begun;
	int64_t width = next[0].length; /* the longest: they are sorted */
	for (int64_t i = 0; i < n; i++) {
		int64_t source = next[i].source, length = next[i].length;
		int32_t *row = w->source_ids + i * width;
		if (length > 0)
			memcpy(row, now->ids[source], (size_t)length * sizeof *row);
		memset(row + length, 0, (size_t)(width - length) * sizeof *row);
		w->source_length[i] = (int32_t)length;
		search_begin(&now->p, w->live[now->live_count + i], source, prompt_ids(now, source),
		             prompt_length(now, source), max_length(now, source));
		if (now->e->add_other)
			HEC_TRY(now->e->add_other(now->e->user, source));
	}
	if (!now->e->add_other)
		HEC_TRY(now->e->add(now->e->user, n, w->source_ids, width, w->source_length));
	now->live_count += n;
	now->begun += n;
	return HEC_OK;
}

/* A new row is fed what it begins with, the others their last token. */
static int64_t lay_out_feed(schedule *now)
{
	workspace *w = &now->w;
	int64_t beams = now->p.o.beams, T = 1;
	for (int64_t i = 0; i < now->live_count; i++) {
		const search *s = w->live[i];
		if (s->length == s->prompt && !s->delivered)
			T = max_i64(T, s->prompt);
	}
	for (int64_t row = 0; row < now->live_count * beams; row++) {
		const search *s = w->live[row / beams];
		int32_t *ids = w->ids + row * T;
		int64_t n = s->delivered ? 0 : s->length == s->prompt ? s->prompt : 1;
		memcpy(ids, search_ids(s, row % beams) + s->length - n, (size_t)n * sizeof *ids);
		memset(ids + n, 0, (size_t)(T - n) * sizeof *ids);
		w->count[row] = (int32_t)n;
	}
	return T;
}

static void row_task(void *arg, int64_t row, int worker)
{
	schedule *now = arg;
	workspace *w = &now->w;
	const search *s = w->live[row / now->p.o.beams];
	if (s->delivered)
		return;
	w->can[row] = search_row(&now->p, s, row % now->p.o.beams, now->logits + row * now->p.vocab,
	                         w->lse[row], &w->row_scratches[worker],
	                         w->lists + row * now->p.candidates);
}

/* The model's step, and the best continuations of every row. */
static hec_status step_and_rank(schedule *now)
{
	workspace *w = &now->w;
	int64_t rows = now->live_count * now->p.o.beams;
	int64_t T = lay_out_feed(now);
	HEC_TRY(now->e->step(now->e->user, rows, T, w->ids, w->count, &now->logits));
	hec_tensor logits = hec_tensor_2d(now->logits, HEC_F32, rows, now->p.vocab);
	hec_tensor lse = hec_tensor_1d(w->lse, HEC_F32, rows);
	HEC_TRY(BACKEND(now->e->ctx, HEC_F32, logsumexp,
	                &((logsumexp_args){.x = &logits, .lse = &lse})));
	pool_run(ctx_pool(now->e->ctx), rows, row_task, now);
	for (int64_t row = 0; row < rows; row++) {
		const search *s = w->live[row / now->p.o.beams];
		if (s->delivered)
			continue;
		hec_status status = HEC_OK;
		if (!isfinite(w->lse[row]))
			status = fail(HEC_ERR_FORMAT,
			              "decode: the model's logits for source %lld at position "
			              "%lld are not finite",
			              (long long)s->source, (long long)s->length);
		else if (!w->can[row])
			status = fail(HEC_ERR_ARGUMENT,
			              "decode: the options leave no token to write for source "
			              "%lld at position %lld",
			              (long long)s->source, (long long)s->length);
		if (status != HEC_OK)
			return fail_item(status, s->source);
	}
	return HEC_OK;
}

static hec_status copy_results(schedule *now, const search *s)
{
	for (int64_t k = 0; k < now->p.o.nbest; k++) {
		hec_hypothesis *h = &now->out->hypotheses[s->source * now->p.o.nbest + k];
		const result *from = &s->results[k];
		size_t bytes = (size_t)from->n * sizeof *from->ids;
		h->score = (double)from->score;
		if (from->n == 0 || from->log_p <= NO_SCORE / 2)
			continue;
		int32_t *ids = mem_alloc(bytes);
		if (!ids)
			return fail(HEC_ERR_MEMORY, "decode: no memory for %lld tokens",
			            (long long)from->n);
		memcpy(ids, from->ids, bytes);
		h->ids = ids;
		h->n = from->n;
	}
	return HEC_OK;
}

static hec_status choose(schedule *now)
{
	workspace *w = &now->w;
	int64_t beams = now->p.o.beams;
	bool moved = false;
	for (int64_t i = 0; i < now->live_count; i++) {
		search *s = w->live[i];
		if (!s->delivered)
			search_advance(&now->p, s, w->lists + i * beams * now->p.candidates);
		for (int64_t b = 0; b < beams; b++) {
			/* Nobody reads the rows of one that is done. */
			int64_t from = s->done ? b : s->from[b];
			w->from[i * beams + b] = (int32_t)(i * beams + from);
			moved = moved || from != b;
		}
		if (now->p.o.token && !s->delivered)
			TRY_CALLBACK("decode",
			             now->p.o.token(now->p.o.user, s->source, s->next[0]));
	}
	return moved ? now->e->reorder(now->e->user, w->from) : HEC_OK;
}

/* Sources that are live in the session keep their places. */
static hec_status finish_in_place(schedule *now)
{
	for (int64_t i = 0; i < now->live_count; i++) {
		search *s = now->w.live[i];
		if (!s->done || s->delivered)
			continue;
		HEC_TRY(copy_results(now, s));
		s->delivered = true;
		now->done++;
	}
	return HEC_OK;
}

/* Finished sources leave the session, and the others close ranks. */
static hec_status finish_and_leave(schedule *now)
{
	workspace *w = &now->w;
	int64_t kept = 0;
	for (int64_t i = 0; i < now->live_count; i++) {
		search *s = w->live[i];
		if (s->done) {
			HEC_TRY(copy_results(now, s));
			continue;
		}
		w->keep[kept] = i;
		w->live[i] = w->live[kept]; /* a free one goes back */
		w->live[kept++] = s;
	}
	if (kept == now->live_count)
		return HEC_OK;
	now->done += now->live_count - kept;
	now->live_count = kept;
	return now->e->keep(now->e->user, w->keep, kept);
}

static hec_status decode_all(schedule *now)
{
	while (now->done < now->n) {
		HEC_TRY(admit(now));
		HEC_TRY(step_and_rank(now));
		HEC_TRY(choose(now));
		HEC_TRY(now->e->keep ? finish_and_leave(now) : finish_in_place(now));
		HEC_TRY(call_progress(now->p.o.progress, now->p.o.user, "decoding", now->done,
		                      now->n));
	}
	return HEC_OK;
}

hec_status decode_run(const engine *e, int64_t n, const int32_t *const *ids, const int64_t *lengths,
                      const hec_decode_options *options, hec_decoded **out)
{
	schedule now = {.e = e, .n = n, .ids = ids, .lengths = lengths};
	*out = NULL;
	HEC_TRY(plan_make(&now.p, e, options));
	HEC_TRY(check_prompts(&now));
	if (n < 0 || (n > 0 && !e->add_other && (!ids || !lengths)))
		return fail(HEC_ERR_ARGUMENT, "decode: %lld sources with ids %s and lengths %s",
		            (long long)n, ids ? "given" : "NULL", lengths ? "given" : "NULL");
	HEC_TRY(decoded_create(n, now.p.o.nbest, &now.out));
	hec_status status = n > 0 ? prepare(&now) : HEC_OK;
	if (status == HEC_OK)
		status = decode_all(&now);
	workspace_close(&now.w);
	mem_free(now.order);
	if (status == HEC_OK)
		*out = now.out;
	else
		hec_decoded_free(now.out);
	return status;
}
