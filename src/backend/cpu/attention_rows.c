/* attention_rows.c — the tiled passes on tensors whose rows are not contiguous.
 *
 * Those tensors, and no others, are copied in before the pass, or out after it. So every layout goes
 * the same way, forward and backward, and gives the same bits: were one of the two passes left to
 * the reference, backward would meet the logsumexp of scores that were summed in another order, and
 * large scores would turn that rounding into wrong weights. */
#include "backend/cpu/attention.h"

#include <string.h>

#include "base/size.h"
#include "base/status.h"

#define ALIGN 64

typedef struct row_copy {
	const hec_tensor **place; /* of the arguments that the pass sees */
	bool written;             /* by the pass */
	const hec_tensor *given;  /* what was there; NULL: stays as it is */
	hec_tensor copy;
	size_t offset; /* of its memory */
} row_copy;

/* Or there is nothing to copy. */
static bool rows_contiguous(const hec_tensor *x)
{
	return x->stride[3] == 1 || x->shape[3] <= 1 || hec_tensor_count(x) == 0;
}

/* Describes the copy, all but its memory, which begins at *end and moves it. */
static hec_status lay_out(row_copy *c, size_t *end)
{
	const hec_tensor *x = c->given = *c->place;
	size_t bytes = sizeof(float);
	int64_t stride = 1;
	c->copy = *x;
	c->offset = *end;
	for (int i = HEC_MAX_RANK - 1; i >= 0; i--) {
		c->copy.stride[i] = stride;
		if (!size_mul(bytes, (size_t)x->shape[i], &bytes) || bytes > PTRDIFF_MAX)
			return fail(HEC_ERR_MEMORY, "attention: a copy of a tensor whose rows are "
			                            "not contiguous cannot be addressed");
		stride *= x->shape[i];
	}
	if (!size_align(bytes, ALIGN, &bytes) || !size_add(*end, bytes, end))
		return fail(HEC_ERR_MEMORY, "attention: copies of more than can be addressed");
	return HEC_OK;
}

static hec_status copy_rows(hec_ctx *ctx, const hec_tensor *x, const hec_tensor *y)
{
	return BACKEND(ctx, HEC_F32, cast, &((cast_args){.x = x, .y = y}));
}

/* What a pass reads and writes; forward knows the first four alone. */
#define OPERANDS 8
#define OF_FORWARD 4

static void list_operands(attention_args *a, bool backward, row_copy list[OPERANDS])
{
	const row_copy all[OPERANDS] = {
		{.place = &a->q},
		{.place = &a->k},
		{.place = &a->v},
		{.place = &a->out, .written = !backward},
		{.place = &a->dout},
		{.place = &a->dq, .written = true},
		{.place = &a->dk, .written = true},
		{.place = &a->dv, .written = true},
	};
	memcpy(list, all, sizeof all);
}

static hec_status run_copied(hec_ctx *ctx, attention_args a, bool backward, attention_pass *pass,
                             const attention_kernels *ks)
{
	row_copy list[OPERANDS], *last = list + (backward ? OPERANDS : OF_FORWARD);
	list_operands(&a, backward, list);
	size_t end = 0;
	for (row_copy *c = list; c < last; c++) {
		if (!rows_contiguous(*c->place))
			HEC_TRY(lay_out(c, &end));
	}
	char *memory;
	HEC_TRY(ctx_copies(ctx, end, &memory));
	for (row_copy *c = list; c < last; c++) {
		if (!c->given)
			continue;
		c->copy.data = memory + c->offset;
		*c->place = &c->copy;
		if (!c->written)
			HEC_TRY(copy_rows(ctx, c->given, &c->copy));
	}
	HEC_TRY(pass(ctx, &a, ks));
	for (row_copy *c = list; c < last; c++) {
		if (c->given && c->written)
			HEC_TRY(copy_rows(ctx, &c->copy, c->given));
	}
	return HEC_OK;
}

hec_status attention_fwd_rows(hec_ctx *ctx, const attention_args *a, const attention_kernels *ks)
{
	if (rows_contiguous(a->q) && rows_contiguous(a->k) && rows_contiguous(a->v) &&
	    rows_contiguous(a->out))
		return attention_fwd_tiled(ctx, a, ks);
	return run_copied(ctx, *a, false, attention_fwd_tiled, ks);
}

hec_status attention_bwd_rows(hec_ctx *ctx, const attention_args *a, const attention_kernels *ks)
{
	if (rows_contiguous(a->q) && rows_contiguous(a->k) && rows_contiguous(a->v) &&
	    rows_contiguous(a->out) && rows_contiguous(a->dout) && rows_contiguous(a->dq) &&
	    rows_contiguous(a->dk) && rows_contiguous(a->dv))
		return attention_bwd_tiled(ctx, a, ks);
	return run_copied(ctx, *a, true, attention_bwd_tiled, ks);
}
