/* world.c — making what scenarios need, and judging their failures. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

void saw_failure(world *w, hec_status status, const char *call)
{
	w->failures++;
	if (!refuse_fired())
		fail_msg("%s failed by itself: %s", call, hec_error_message());
	if (status != HEC_ERR_MEMORY)
		fail_msg("%s gives %s (%s) when memory is refused", call, hec_status_name(status),
		         hec_error_message());
	if (hec_error_message()[0] == '\0')
		fail_msg("%s fails without a message", call);
}

void call_again_failed(const char *call)
{
	fail_msg("%s fails also when made again: %s", call, hec_error_message());
}

void add_bits(world *w, const hec_tensor *t)
{
	assert_true(hec_tensor_is_contiguous(t));
	const unsigned char *bytes = t->data;
	size_t n = (size_t)hec_tensor_count(t) * hec_dtype_size(t->dtype);
	for (size_t i = 0; i < n; i++)
		w->bits = (w->bits ^ bytes[i]) * 0x100000001b3u;
}

hec_status create_ctx(world *w, int threads)
{
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	o.threads = threads;
	hec_status status = hec_ctx_create(&o, &w->ctx);
	if (status != HEC_OK)
		assert_null(w->ctx);
	return status;
}

hec_status create_arena(world *w)
{
	hec_status status = hec_arena_create((size_t)8 << 20, &w->arena);
	if (status != HEC_OK)
		assert_null(w->arena);
	return status;
}

hec_status make(world *w, hec_tensor *t, int rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
	const int64_t shape[] = {a, b, c, d};
	hec_status status = hec_arena_tensor(w->arena, HEC_F32, rank, shape, t);
	if (status == HEC_OK)
		status = hec_random_uniform(w->ctx, 7, w->stream, -1, 1, t);
	w->stream += status == HEC_OK;
	return status;
}

hec_status zero(world *w, hec_tensor *t)
{
	return hec_tensor_fill(w->ctx, 0, t);
}
