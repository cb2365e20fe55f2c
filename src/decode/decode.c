/* decode.c — hec_decode: the search over a session. */
#include <hecate/decode.h>

#include <stdlib.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "model/model.h"
#include "decode/scheduler.h"

typedef struct session_user {
	hec_session *session;
	bool prompts;               /* the model has no encoder: it is not shown the sources */
	bool live;                  /* the sources are in the session already */
	bool frames;                /* the model reads features */
	const hec_tensor *features; /* [sources] then */
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

/* Frames one source at a time: they lie where the caller has them. */
static hec_status session_add_frames(void *user, int64_t source)
{
	session_user *u = user;
	const hec_tensor *x = &u->features[source];
	if (x->rank != 2) {
		fail(HEC_ERR_SHAPE, "decode: features of source %lld have %d axes, not 2",
		     (long long)source, x->rank);
		return fail_item(HEC_ERR_SHAPE, source);
	}
	hec_tensor one = hec_tensor_3d(x->data, x->dtype, 1, x->shape[0], x->shape[1]);
	one.stride[1] = x->stride[0];
	one.stride[2] = x->stride[1];
	hec_status status = hec_session_add_features(u->session, 1, &one);
	if (status == HEC_OK)
		return HEC_OK;
	fail_in(status, "decode: source %lld", (long long)source);
	return status == HEC_ERR_MEMORY ? status : fail_item(status, source);
}

/* They are there already. */
static hec_status session_add_live(void *user, int64_t source)
{
	(void)user;
	(void)source;
	return HEC_OK;
}

static hec_status check_model(const hec_model_config *c, const session_user *u, bool prompts)
{
	if (c->decoder.layers == 0 || c->head != HEC_HEAD_LM)
		return fail(HEC_ERR_ARGUMENT,
		            "decode: the model writes no tokens: it has %lld decoder layers%s",
		            (long long)c->decoder.layers,
		            c->head == HEC_HEAD_LM ? "" : " and another head than HEC_HEAD_LM");
	if (u->live && c->encoder.layers == 0)
		return fail(HEC_ERR_ARGUMENT,
		            "decode: without an encoder there is nothing to go on "
		            "from that is live");
	if (!u->live && u->frames != (c->front.features > 0))
		return fail(HEC_ERR_ARGUMENT, "decode: the sources are %s, the model reads %s",
		            u->frames ? "features" : "ids",
		            u->frames ? "words" : "frames of features");
	if (c->encoder.layers > 0 && c->start_id < 0 && !prompts)
		return fail(HEC_ERR_ARGUMENT,
		            "decode: the model's configuration has no start_id to begin with");
	return HEC_OK;
}

static hec_status decode(session_user *user, int64_t n, const int32_t *const *ids,
                         const int64_t *lengths, const hec_decode_options *options,
                         hec_decoded **out)
{
	hec_session *session = user->session;
	const hec_model_config *c = hec_model_config_of(hec_session_model(session));
	const hec_session_options *o = session_options(session);
	hec_decode_options taken = HEC_DECODE_OPTIONS_INIT;
	HEC_TRY(options_take("hec_decode_options", &taken, sizeof taken, options));
	HEC_TRY(check_model(c, user, taken.prompts != NULL));
	user->prompts = c->encoder.layers == 0;
	user->vocab = c->vocab;
	engine e = {.ctx = hec_session_ctx(session),
	            .user = user,
	            .vocab = c->vocab,
	            .sources = o->sources,
	            .beams = o->beams,
	            .max_source = o->max_source,
	            .max_target = o->max_target,
	            .start_id = user->prompts     ? -1
	                        : c->start_id < 0 ? 0
	                                          : c->start_id,
	            .eos_id = c->eos_id,
	            .add = session_add,
	            .add_other = user->live     ? session_add_live
	                         : user->frames ? session_add_frames
	                                        : NULL,
	            .step = session_step,
	            .reorder = session_reorder,
	            .keep = user->live ? NULL : session_keep};
	size_t bytes;
	int64_t rows = min_i64(o->sources, max_i64(n, 1)) * o->beams;
	if (!size_mul((size_t)rows, (size_t)c->vocab * sizeof(float), &bytes) ||
	    !size_align(bytes, 64, &bytes) || !(user->logits = mem_aligned(64, bytes)))
		return fail(HEC_ERR_MEMORY, "decode: no memory for logits [%lld, %lld]",
		            (long long)rows, (long long)c->vocab);
	/* What an earlier call left, which may have been cancelled. */
	hec_status status =
		user->live ? hec_session_rewind(session) : hec_session_keep(session, NULL, 0);
	if (status == HEC_OK)
		status = decode_run(&e, n, ids, lengths, options, out);
	mem_free(user->logits);
	return status;
}

static hec_status begin(hec_session *session, hec_decoded **out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "decode: out is NULL");
	*out = NULL;
	return session ? HEC_OK : fail(HEC_ERR_ARGUMENT, "decode: session is NULL");
}

hec_status hec_decode(hec_session *session, int64_t n, const int32_t *const *ids,
                      const int64_t *lengths, const hec_decode_options *options, hec_decoded **out)
{
	HEC_TRY(begin(session, out));
	session_user user = {.session = session};
	return decode(&user, n, ids, lengths, options, out);
}

hec_status hec_decode_features(hec_session *session, int64_t n, const hec_tensor *features,
                               const hec_decode_options *options, hec_decoded **out)
{
	HEC_TRY(begin(session, out));
	if (n > 0 && !features)
		return fail(HEC_ERR_ARGUMENT, "decode: %lld sources with features NULL",
		            (long long)n);
	session_user user = {.session = session, .frames = true, .features = features};
	return decode(&user, n, NULL, NULL, options, out);
}

hec_status hec_decode_live(hec_session *session, const hec_decode_options *options,
                           hec_decoded **out)
{
	HEC_TRY(begin(session, out));
	session_user user = {.session = session, .live = true};
	return decode(&user, hec_session_sources(session), NULL, NULL, options, out);
}
