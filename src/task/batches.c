/* batches.c — sorted by length, the longest first, so many tokens at a time. Before the first one runs,
 * those that may be larger than all that ran before are gone through in a dry context: then it is known
 * how much memory they take. The tensors of a pass grow with the rows and with their length, so what has
 * no more of either takes no more. */
#include "task/batches.h"

#include "task/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"
#include "tensor/arena.h"

#define TOKENS 2048

hec_status batch_input_copy(const hec_encoding *e, batch_input *out)
{
	size_t bytes = e->n * sizeof *e->ids;
	int32_t *block = mem_alloc(e->n > 0 ? 2 * bytes : 1);
	if (!block)
		return fail(HEC_ERR_MEMORY, "no memory for %zu tokens", e->n);
	*out = (batch_input){.ids = block, .types = block + e->n, .n = (int64_t)e->n};
	if (e->n > 0) {
		memcpy(out->ids, e->ids, bytes);
		memcpy(out->types, e->type_ids, bytes);
	}
	return HEC_OK;
}

void batch_inputs_free(batch_input *inputs, int64_t n)
{
	for (int64_t i = 0; inputs && i < n; i++)
		mem_free(inputs[i].ids);
	mem_free(inputs);
}

/* ---- one batch ---- */

typedef struct place {
	int64_t n, input;
} place;

typedef struct batch {
	const batch_work *work;
	hec_ctx *ctx;
	hec_arena *arena;
	const place *places; /* [B] the longest first */
	int64_t B, S;
} batch;

static hec_status matrix(const batch *b, int64_t width, int32_t fill, hec_tensor *out)
{
	HEC_TRY(hec_arena_tensor(b->arena, HEC_I32, 2, (int64_t[]){b->B, width}, out));
	for (int64_t i = 0; i < b->B * width; i++)
		((int32_t *)out->data)[i] = fill;
	return HEC_OK;
}

static hec_status put_rows(const batch *b, bool types, hec_tensor *out)
{
	HEC_TRY(matrix(b, b->S, 0, out));
	for (int64_t i = 0; i < b->B; i++) {
		const batch_input *in = &b->work->inputs[b->places[i].input];
		const int32_t *from = types ? in->types : in->ids;
		if (from)
			memcpy((int32_t *)out->data + i * b->S, from, (size_t)in->n * sizeof *from);
	}
	return HEC_OK;
}

static bool asks_decoder(const batch *b)
{
	return b->work->want == BATCH_LOGITS || b->work->want == BATCH_LAST;
}

/* A decoder behind an encoder reads what the encoder reads, one later, where its head is asked. */
static hec_status decoder_rows(const batch *b, const hec_tensor *ids, hec_tensor *out)
{
	const hec_model_config *c = hec_model_config_of(b->work->model->model);
	const int64_t T = asks_decoder(b) ? b->S : 1;
	HEC_TRY(matrix(b, T, c->start_id, out));
	for (int64_t i = 0; i < b->B; i++)
		hec_model_config_shift(c, (const int32_t *)ids->data + i * b->S, b->places[i].n, T,
		                       (int32_t *)out->data + i * T);
	return HEC_OK;
}

static hec_status put_input(const batch *b, hec_model_input *in)
{
	const hec_model_config *c = hec_model_config_of(b->work->model->model);
	const bool encoder = c->encoder.layers > 0, decoder = c->decoder.layers > 0;
	int32_t *length;
	HEC_TRY(hec_arena_alloc(b->arena, (size_t)b->B * sizeof *length, (void **)&length));
	for (int64_t i = 0; i < b->B; i++)
		length[i] = (int32_t)b->places[i].n;
	*in = (hec_model_input){.size = sizeof *in};
	HEC_TRY(put_rows(b, false, encoder ? &in->ids : &in->decoder_ids));
	*(encoder ? &in->length : &in->decoder_length) = length;
	if (encoder && c->types > 1)
		HEC_TRY(put_rows(b, true, &in->types));
	if (encoder && decoder) {
		HEC_TRY(decoder_rows(b, &in->ids, &in->decoder_ids));
		in->decoder_length = asks_decoder(b) ? length : NULL;
	}
	return HEC_OK;
}

static hec_status want_output(const batch *b, hec_model_output *out, hec_tensor **result)
{
	const hec_model_config *c = hec_model_config_of(b->work->model->model);
	const bool both = c->encoder.layers > 0 && c->decoder.layers > 0,
		   words = c->head == HEC_HEAD_LM || c->head == HEC_HEAD_MASKED;
	int64_t shape[3] = {b->B, b->S, c->width};
	int rank = 3;
	*out = (hec_model_output){.size = sizeof *out};
	*result = both && !asks_decoder(b) ? &out->memory : &out->hidden;
	if (b->work->want == BATCH_LOGITS || b->work->want == BATCH_POOLED) {
		*result = b->work->want == BATCH_LOGITS ? &out->logits : &out->pooled;
		if (b->work->want == BATCH_LOGITS)
			shape[2] = words ? c->vocab : c->labels;
		if (b->work->want == BATCH_POOLED || c->head == HEC_HEAD_CLASSIFY) {
			rank = 2;
			shape[1] = shape[2];
		}
	}
	return hec_arena_tensor(b->arena, HEC_F32, rank, shape, *result);
}

static hec_status give_rows(const batch *b, const hec_tensor *result)
{
	for (int64_t i = 0; i < b->B; i++) {
		hec_tensor rows;
		HEC_TRY(hec_tensor_slice(result, 0, i, 1, &rows));
		HEC_TRY(hec_tensor_reshape(&rows, result->rank - 1, result->shape + 1, &rows));
		if (rows.rank == 2)
			HEC_TRY(hec_tensor_slice(&rows, 0, 0, b->places[i].n, &rows));
		HEC_TRY(b->work->take_rows(b->work->user, b->places[i].input, &rows));
	}
	return HEC_OK;
}

static hec_status batch_run(const batch *b, bool dry)
{
	hec_model_input in;
	hec_model_output out;
	hec_tensor *result;
	hec_arena_rewind(b->arena, 0);
	HEC_TRY(put_input(b, &in));
	HEC_TRY(want_output(b, &out, &result));
	HEC_TRY(hec_model_fwd(b->ctx, b->arena, b->work->model->model, &in, NULL, &out, NULL));
	return dry ? HEC_OK : give_rows(b, result);
}

/* ---- all of them ---- */

static int longer_first(const void *a, const void *b)
{
	const place *x = a, *y = b;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->input < y->input ? -1 : 1;
}

static hec_status check_length(int64_t n, int64_t longest)
{
	if (n < 1)
		return fail(HEC_ERR_SHAPE, "the text has no tokens");
	return task_check_length(n, longest);
}

static hec_status sort_inputs(const batch_work *w, place *places)
{
	for (int64_t i = 0; i < w->n; i++) {
		const int64_t n = w->inputs[i].n;
		const hec_status status = check_length(n, w->model->longest);
		if (status != HEC_OK)
			return fail_item(status, i);
		places[i] = (place){n, i};
	}
	qsort(places, (size_t)w->n, sizeof *places, longer_first);
	return HEC_OK;
}

static hec_status report(const batch_work *w, int64_t done)
{
	const hec_status status = call_progress(w->progress, w->progress_user,
	                                        w->phase ? w->phase : "texts", done, w->n);
	return status == HEC_OK ? status : fail_in(status, "%s", w->model->task);
}

/* The one that begins with this place. */
static batch batch_at(const batch_work *w, const place *places, int64_t first)
{
	const int64_t tokens = w->tokens > 0 ? w->tokens : TOKENS;
	batch b = {.work = w, .places = places + first, .S = places[first].n};
	b.B = min_i64(w->n - first, max_i64(1, tokens / b.S));
	return b;
}

static hec_status run_all(const batch_work *w, const place *places, hec_arena *arena)
{
	for (int64_t i = 0; i < w->n;) {
		HEC_TRY(report(w, i));
		batch b = batch_at(w, places, i);
		b.ctx = w->model->ctx;
		b.arena = arena;
		HEC_TRY(batch_run(&b, false));
		i += b.B;
	}
	return report(w, w->n);
}

/* ---- the memory for them ---- */

typedef struct batch_shape batch_shape;

static bool is_within(const batch_shape *a, const batch_shape *b)
{
	return a->want == b->want && a->B <= b->B && a->S <= b->S;
}

static bool fits(const batches *all, const batch_shape *shape)
{
	for (size_t i = 0; i < all->shape_count; i++)
		if (is_within(shape, &all->shapes[i]))
			return true;
	return false;
}

/* Where there is no room the oldest is forgotten, to be measured again. */
static void add_shape(batches *all, const batch_shape *shape)
{
	size_t n = 0;
	for (size_t i = all->shape_count == BATCH_SHAPES; i < all->shape_count; i++)
		if (!is_within(&all->shapes[i], shape))
			all->shapes[n++] = all->shapes[i];
	all->shapes[n++] = *shape;
	all->shape_count = n;
}

static hec_status open_dry(const batch_work *w, batch *dry)
{
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	o.threads = 1; /* what a call takes of its arena does not depend on them */
	o.isa = hec_ctx_isa(w->model->ctx);
	HEC_TRY(hec_ctx_create_dry(&o, &dry->ctx));
	return arena_reserve(&dry->arena);
}

/* Adds what does not fit yet to the shapes and the bytes. */
static hec_status measure_new_shapes(batches *all, const batch_work *w, const place *places)
{
	batch dry = {0};
	hec_status status = HEC_OK;
	for (int64_t i = 0; status == HEC_OK && i < w->n;) {
		batch b = batch_at(w, places, i);
		const batch_shape shape = {w->want, b.B, b.S};
		i += b.B;
		if (fits(all, &shape))
			continue;
		if (!dry.ctx)
			status = open_dry(w, &dry);
		b.ctx = dry.ctx;
		b.arena = dry.arena;
		if (status == HEC_OK)
			status = batch_run(&b, true);
		if (status == HEC_OK)
			add_shape(all, &shape);
	}
	if (dry.arena && hec_arena_peak(dry.arena) > all->bytes)
		all->bytes = hec_arena_peak(dry.arena);
	hec_arena_destroy(dry.arena);
	hec_ctx_destroy(dry.ctx);
	return status;
}

static hec_status run_sorted(batches *all, const batch_work *w, place *places)
{
	batches next = *all;
	HEC_TRY(sort_inputs(w, places));
	HEC_TRY(measure_new_shapes(&next, w, places));
	if (next.bytes > all->bytes) {
		batches_free(all);
		HEC_TRY(hec_arena_create(next.bytes, &next.arena));
	}
	*all = next;
	return run_all(w, places, next.arena);
}

hec_status batches_run(batches *b, const batch_work *work)
{
	if (work->n == 0)
		return HEC_OK;
	place *places = mem_zeros((size_t)work->n, sizeof *places);
	if (!places)
		return fail(HEC_ERR_MEMORY, "%s: no memory for %lld texts", work->model->task,
		            (long long)work->n);
	hec_status status = run_sorted(b, work, places);
	mem_free(places);
	return status;
}

void batches_free(batches *b)
{
	hec_arena_destroy(b->arena);
	*b = (batches){0};
}
