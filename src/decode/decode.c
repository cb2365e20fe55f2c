/* decode.c — hec_decode: the search over a session. */
#include <hecate/decode.h>

#include <stdlib.h>

#include "base/size.h"
#include "decode/scheduler.h"

typedef struct session_user {
	hec_session *session;
	bool prompts; /* the model has no encoder: it is not shown the sources */
	int64_t vocab;
	float *logits; /* [rows, vocab] */
} session_user;

static hec_status session_add(void *user, int64_t n, const int32_t *ids, int64_t width,
                              const int32_t *length)
{
	session_user *u = user;
	hec_tensor t = hec_tensor_2d((void *)(uintptr_t)ids, HEC_I32, n, width);
	return hec_session_add(u->session, n, u->prompts ? NULL : &t, u->prompts ? NULL : length);
}

static hec_status session_step(void *user, int64_t rows, int64_t T, const int32_t *ids,
                               const int32_t *count, float **logits)
{
	session_user *u = user;
	hec_tensor in = hec_tensor_2d((void *)(uintptr_t)ids, HEC_I32, rows, T);
	hec_tensor out = hec_tensor_2d(u->logits, HEC_F32, rows, u->vocab);
	*logits = u->logits;
	return hec_session_step(u->session, &in, count, &out);
}

static hec_status session_reorder(void *user, const int32_t *from)
{
	return hec_session_reorder(((session_user *)user)->session, from);
}

static hec_status session_keep(void *user, const int64_t *keep, int64_t n)
{
	return hec_session_keep(((session_user *)user)->session, keep, n);
}

static hec_status check_model(const hec_model_config *c)
{
	if (c->decoder.layers == 0 || c->head != HEC_HEAD_LM)
		return fail(HEC_ERR_ARGUMENT,
		            "decode: the model writes no tokens: it has %lld decoder layers%s",
		            (long long)c->decoder.layers,
		            c->head == HEC_HEAD_LM ? "" : " and another head than HEC_HEAD_LM");
	if (c->encoder.layers > 0 && c->start_id < 0)
		return fail(HEC_ERR_ARGUMENT,
		            "decode: the model's configuration has no start_id to begin with");
	return HEC_OK;
}

hec_status hec_decode(hec_session *session, int64_t n, const int32_t *const *ids,
                      const int64_t *lengths, const hec_decode_options *options, hec_decoded *out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "decode: out is NULL");
	*out = (hec_decoded){.size = sizeof *out};
	if (!session)
		return fail(HEC_ERR_ARGUMENT, "decode: session is NULL");
	const hec_model_config *c = hec_model_config_of(hec_session_model(session));
	const hec_session_options *o = hec_session_options_of(session);
	HEC_TRY(check_model(c));
	bool prompts = c->encoder.layers == 0;
	session_user user = {session, prompts, c->vocab, NULL};
	engine e = {.ctx = hec_session_ctx(session),
	            .user = &user,
	            .vocab = c->vocab,
	            .sources = o->sources,
	            .beams = o->beams,
	            .max_source = o->max_source,
	            .max_target = o->max_target,
	            .start_id = prompts ? -1 : c->start_id,
	            .eos_id = c->eos_id,
	            .add = session_add,
	            .step = session_step,
	            .reorder = session_reorder,
	            .keep = session_keep};
	size_t bytes;
	int64_t rows = min_i64(o->sources, max_i64(n, 1)) * o->beams;
	if (!size_mul((size_t)rows, (size_t)c->vocab * sizeof(float), &bytes) ||
	    !size_align(bytes, 64, &bytes) || !(user.logits = aligned_alloc(64, bytes)))
		return fail(HEC_ERR_MEMORY, "decode: no memory for logits [%lld, %lld]",
		            (long long)rows, (long long)c->vocab);
	/* What an earlier call left, which may have been cancelled. */
	hec_status status = hec_session_keep(session, NULL, 0);
	if (status == HEC_OK)
		status = decode_run(&e, n, ids, lengths, options, out);
	free(user.logits);
	return status;
}
