/* loss.c — hec_model_learn: the loss of a batch, and its gradient.
 *
 * A logit for each word of the vocabulary at each position is by far the largest tensor of a step.
 * Here the rows that have a target are gathered, and a piece of them at a time goes through the head,
 * the loss, and both backward; only the gradient of the hidden states remains. */
#include <hecate/loss.h>
#include <hecate/ops.h>

#include "base/options.h"
#include "base/size.h"
#include "base/status.h"
#include "model/run.h"
#include "tensor/check.h"
#include "tensor/view.h"

#define PIECE_ELEMENTS ((int64_t)1 << 23) /* logits at a time: enough rows to fill the kernels */
#define PIECE_ROWS 64                     /* at least, however large the vocabulary */
#define UNSEEN (-1e30)                    /* a score of what is no part of a sequence */

typedef struct loss_run {
	hec_ctx *ctx;
	hec_arena *arena;
	const hec_model *model;
	const hec_dropout_key *key;
	hec_model_loss loss;
	hec_model *grad; /* NULL: only the loss */
	double sum;
	int64_t count;
} loss_run;

static hec_status tensor_like(loss_run *r, const hec_tensor *x, hec_tensor *out)
{
	return hec_arena_tensor(r->arena, x->dtype, x->rank, x->shape, out);
}

/* logits [N, W] against targets [N]; with a gradient, logits become it. */
static hec_status add_rows_loss(loss_run *r, hec_tensor *logits, const hec_tensor *targets)
{
	hec_cross_entropy options = HEC_CROSS_ENTROPY_INIT;
	options.smoothing = r->loss.plain ? 0 : r->loss.smoothing;
	options.ignore = r->loss.ignore;
	hec_tensor losses, lse;
	double sum;
	int64_t count;
	HEC_TRY(hec_arena_tensor(r->arena, logits->dtype, 1, logits->shape, &losses));
	HEC_TRY(hec_arena_tensor(r->arena, logits->dtype, 1, logits->shape, &lse));
	HEC_TRY(hec_cross_entropy_fwd(r->ctx, &options, logits, targets, &losses, &lse));
	HEC_TRY(hec_cross_entropy_sum(r->ctx, &options, &losses, targets, &sum, &count));
	r->sum += sum;
	r->count += count;
	if (!r->grad)
		return HEC_OK;
	options.smoothing = r->loss.smoothing;
	return hec_cross_entropy_bwd(r->ctx, &options, logits, targets, &lse, r->loss.scale,
	                             logits);
}

/* rows [N, C] through the head and back to drows. */
static hec_status learn_piece(loss_run *r, const hec_tensor *rows, const hec_tensor *targets,
                              hec_tensor *drows)
{
	size_t mark = hec_arena_used(r->arena);
	hec_tensor logits;
	head_kept kept = {0};
	HEC_TRY(hec_arena_tensor(r->arena, rows->dtype, 2,
	                         (int64_t[]){rows->shape[0], head_width(r->model)}, &logits));
	HEC_TRY(head_fwd(r->ctx, r->arena, r->model, r->key, rows, &logits, &kept));
	HEC_TRY(add_rows_loss(r, &logits, targets));
	if (r->grad)
		HEC_TRY(head_bwd(r->ctx, r->arena, r->model, r->key, &kept, rows, &logits, drows,
		                 r->grad));
	hec_arena_rewind(r->arena, mark);
	return HEC_OK;
}

static hec_status learn_in_pieces(loss_run *r, const hec_tensor *rows, const hec_tensor *targets,
                                  hec_tensor *drows)
{
	const int64_t N = rows->shape[0],
		      most = max_i64(PIECE_ROWS, PIECE_ELEMENTS / head_width(r->model)),
		      pieces = div_up(N, most), each = pieces > 0 ? div_up(N, pieces) : 0;
	for (int64_t at = 0; at < N; at += each) {
		const int64_t n = min_i64(each, N - at);
		hec_tensor part, wanted, dpart = HEC_TENSOR_NONE;
		HEC_TRY(hec_tensor_slice(rows, 0, at, n, &part));
		HEC_TRY(hec_tensor_slice(targets, 0, at, n, &wanted));
		if (r->grad)
			HEC_TRY(hec_tensor_slice(drows, 0, at, n, &dpart));
		HEC_TRY(learn_piece(r, &part, &wanted, &dpart));
	}
	return HEC_OK;
}

/* The numbers of the rows whose target counts, and those targets. */
static hec_status list_rows(loss_run *r, const hec_tensor *targets, hec_tensor *index,
                            hec_tensor *wanted)
{
	const int64_t N = targets->shape[0];
	int64_t M = 0;
	if (N > INT32_MAX)
		return fail(HEC_ERR_SHAPE, "model: %lld positions at once", (long long)N);
	HEC_TRY(hec_arena_tensor(r->arena, HEC_I32, 1, &N, index));
	HEC_TRY(hec_arena_tensor(r->arena, HEC_I32, 1, &N, wanted));
	for (int64_t n = 0; n < N; n++) {
		const int32_t target = ((const int32_t *)targets->data)[n * targets->stride[0]];
		((int32_t *)index->data)[M] = (int32_t)n;
		((int32_t *)wanted->data)[M] = target;
		M += target != r->loss.ignore;
	}
	HEC_TRY(hec_tensor_slice(index, 0, 0, M, index));
	return hec_tensor_slice(wanted, 0, 0, M, wanted);
}

/* Only rows that count go through the head; the others get a gradient of zero. */
static hec_status learn_counted_rows(loss_run *r, const hec_tensor *rows, const hec_tensor *targets,
                                     hec_tensor *drows)
{
	hec_tensor index, wanted, some, dsome = HEC_TENSOR_NONE;
	HEC_TRY(list_rows(r, targets, &index, &wanted));
	const int64_t shape[2] = {index.shape[0], rows->shape[1]};
	const hec_embedding table = {.table = *rows, .scale = 1, .padding_id = -1};
	if (shape[0] == rows->shape[0])
		return learn_in_pieces(r, rows, targets, drows);
	HEC_TRY(hec_arena_tensor(r->arena, rows->dtype, 2, shape, &some));
	HEC_TRY(hec_embedding_fwd(r->ctx, &table, &index, &some));
	if (r->grad)
		HEC_TRY(hec_arena_tensor(r->arena, rows->dtype, 2, shape, &dsome));
	HEC_TRY(learn_in_pieces(r, &some, &wanted, &dsome));
	if (!r->grad)
		return HEC_OK;
	HEC_TRY(hec_tensor_fill(r->ctx, 0, drows));
	return hec_embedding_bwd(r->ctx, &table, &dsome, &index, drows);
}

/* Of the sequences that the head reads; NULL: all are whole. */
static const int32_t *length_of(const hec_model *m, const hec_model_input *input)
{
	return model_has_decoder(m) ? input->decoder_length : input->length;
}

/* ANSWER: the positions of a sequence compete, once to be its begin and once to be its end. */
static hec_status learn_answers(loss_run *r, const hec_model_input *input, const hec_tensor *hidden,
                                hec_tensor *dhidden)
{
	const int32_t *length = length_of(r->model, input);
	const int64_t B = hidden->shape[0], T = hidden->shape[1];
	hec_tensor rows, drows = HEC_TENSOR_NONE, logits, dlogits, scores, line, targets;
	head_kept kept = {0};
	HEC_TRY(head_rows(r->ctx, r->arena, r->model, input, hidden, &rows));
	HEC_TRY(hec_arena_tensor(r->arena, hidden->dtype, 2, (int64_t[]){B * T, 2}, &logits));
	HEC_TRY(hec_arena_tensor(r->arena, hidden->dtype, 3, (int64_t[]){B, 2, T}, &scores));
	HEC_TRY(head_fwd(r->ctx, r->arena, r->model, r->key, &rows, &logits, &kept));
	hec_tensor turned; /* logits seen as [B, 2, T] */
	HEC_TRY(hec_tensor_reshape(&logits, 3, (int64_t[]){B, T, 2}, &turned));
	HEC_TRY(hec_tensor_transpose(&turned, 1, 2, &turned));
	HEC_TRY(hec_tensor_copy(r->ctx, &turned, &scores));
	for (int64_t b = 0; length && b < B; b++) {
		hec_tensor rest;
		HEC_TRY(hec_tensor_slice(&scores, 0, b, 1, &rest));
		HEC_TRY(hec_tensor_slice(&rest, 2, length[b], T - length[b], &rest));
		HEC_TRY(hec_tensor_fill(r->ctx, UNSEEN, &rest));
	}
	HEC_TRY(hec_tensor_reshape(&r->loss.targets, 1, (int64_t[]){2 * B}, &targets));
	HEC_TRY(hec_tensor_reshape(&scores, 2, (int64_t[]){2 * B, T}, &line));
	HEC_TRY(add_rows_loss(r, &line, &targets));
	if (!r->grad)
		return HEC_OK;
	HEC_TRY(hec_tensor_copy(r->ctx, &scores, &turned));
	dlogits = logits;
	HEC_TRY(head_drows(r->ctx, r->arena, r->model, dhidden, &drows));
	return head_bwd(r->ctx, r->arena, r->model, r->key, &kept, &rows, &dlogits, &drows,
	                r->grad);
}

static hec_status head_loss(loss_run *r, const hec_model_input *input, const hec_tensor *hidden,
                            hec_tensor *dhidden)
{
	const hec_head head = r->model->config.head;
	hec_tensor rows, drows = HEC_TENSOR_NONE, targets;
	if (head == HEC_HEAD_ANSWER)
		return learn_answers(r, input, hidden, dhidden);
	HEC_TRY(head_rows(r->ctx, r->arena, r->model, input, hidden, &rows));
	if (r->grad)
		HEC_TRY(head_drows(r->ctx, r->arena, r->model, dhidden, &drows));
	HEC_TRY(hec_tensor_reshape(&r->loss.targets, 1, (int64_t[]){rows.shape[0]}, &targets));
	/* The labels' dropout goes by row, as in hec_model_fwd: these are not gathered. */
	HEC_TRY(head_is_vocabulary(head) ? learn_counted_rows(r, &rows, &targets, &drows)
	                                 : learn_piece(r, &rows, &targets, &drows));
	return r->grad ? head_put_drows(r->ctx, r->arena, r->model, input, &drows, dhidden)
	               : HEC_OK;
}

static hec_status check_shape(const hec_model *m, const hec_model_input *input,
                              const hec_tensor *targets)
{
	const hec_tensor *ids = model_has_decoder(m) ? &input->decoder_ids : &input->ids;
	switch (m->config.head) {
	case HEC_HEAD_NONE:
		return fail(HEC_ERR_ARGUMENT, "model: without a head there is nothing to learn");
	case HEC_HEAD_CLASSIFY:
		return CHECK_1D("model: targets", targets, HEC_I32, ids->shape[0]);
	case HEC_HEAD_ANSWER:
		return CHECK_2D("model: targets", targets, HEC_I32, ids->shape[0], 2);
	case HEC_HEAD_LM:
	case HEC_HEAD_MASKED:
	case HEC_HEAD_TOKENS:
		break;
	}
	return check_tensor("model: targets", targets, HEC_I32, 2, ids->shape);
}

/* All before the first product, and by their place in the whole. */
static hec_status check_targets(const loss_run *r, const hec_model_input *input)
{
	const hec_tensor *targets = &r->loss.targets;
	HEC_TRY(check_shape(r->model, input, targets));
	if (!hec_tensor_is_contiguous(targets))
		return fail(HEC_ERR_ARGUMENT, "model: targets must be contiguous");
	const bool answer = r->model->config.head == HEC_HEAD_ANSWER;
	const hec_tensor *ids = model_has_decoder(r->model) ? &input->decoder_ids : &input->ids;
	const int32_t *length = answer ? length_of(r->model, input) : NULL;
	for (int64_t n = 0; n < hec_tensor_count(targets); n++) {
		const int32_t t = ((const int32_t *)targets->data)[n];
		const int64_t classes = length   ? length[n / 2] /* a begin and an end */
		                        : answer ? ids->shape[1]
		                                 : head_width(r->model);
		if (t != r->loss.ignore && (t < 0 || t >= classes))
			return fail(HEC_ERR_ARGUMENT,
			            "model: target %d at position %lld is not one of %lld", (int)t,
			            (long long)n, (long long)classes);
	}
	return HEC_OK;
}

static hec_status learn_batch(loss_run *r, const hec_model_input *input)
{
	const hec_model *m = r->model;
	hec_model_kept k = {0};
	HEC_TRY(hidden_fwd(r->ctx, r->arena, m, input, r->key, NULL, r->grad != NULL, &k));
	hec_tensor dhidden = HEC_TENSOR_NONE;
	if (r->grad)
		HEC_TRY(tensor_like(r, &k.hidden, &dhidden));
	size_t mark = hec_arena_used(r->arena);
	HEC_TRY(head_loss(r, input, &k.hidden, &dhidden));
	hec_arena_rewind(r->arena, mark);
	return r->grad ? hidden_bwd(r->ctx, r->arena, m, input, r->key, &k, &dhidden, r->grad)
	               : HEC_OK;
}

hec_status hec_model_learn(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                           const hec_model_input *input, const hec_model_loss *loss,
                           const hec_dropout_key *key, hec_model *grad, double *sum, int64_t *count)
{
	HEC_TRY(CHECK_GIVEN("model", ctx));
	HEC_TRY(CHECK_GIVEN("model", arena));
	HEC_TRY(CHECK_GIVEN("model", m));
	HEC_TRY(CHECK_GIVEN("model", loss));
	HEC_TRY(CHECK_GIVEN("model", sum));
	HEC_TRY(CHECK_GIVEN("model", count));
	if (grad)
		HEC_TRY(gradient_fits(m, grad));
	loss_run r = {.ctx = ctx,
	              .arena = arena,
	              .model = m,
	              .key = key,
	              .grad = grad,
	              .loss = HEC_MODEL_LOSS_INIT};
	HEC_TRY(options_take("hec_model_loss", &r.loss, sizeof r.loss, loss));
	hec_model_input in;
	HEC_TRY(input_take(m, input, &in));
	HEC_TRY(check_targets(&r, &in));
	if (m->config.head == HEC_HEAD_ANSWER && r.loss.smoothing != 0)
		return fail(HEC_ERR_ARGUMENT, "model: answers with label smoothing of %g",
		            r.loss.smoothing);
	size_t mark = hec_arena_used(arena);
	hec_status status = learn_batch(&r, &in);
	hec_arena_rewind(arena, mark);
	if (status != HEC_OK)
		return status;
	*sum = r.sum;
	*count = r.count;
	return HEC_OK;
}
