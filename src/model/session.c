/* session.c — making a session, and moving its rows.
 *
 * All memory is one arena. Its size is found at creation: everything is laid out in a reserved arena
 * and the largest calls are made there in a dry context. */
#include "model/session.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "base/status.h"
#include "model/model.h"
#include "tensor/arena.h"
#include "tensor/check.h"

#define MAX_SIZE (INT32_MAX / 4) /* of sources, beams and lengths */
#define SPARSE_BYTES (64 << 10)  /* of a row in a layer: from here on most of it may stay empty */

/* ---- rows and sources exchanged ---- */

hec_status hec_session_reorder(hec_session *s, const int32_t *from)
{
	HEC_TRY(CHECK_GIVEN("session", s));
	HEC_TRY(CHECK_GIVEN("session", from));
	const int64_t beams = s->cache.beams, rows = s->live * beams;
	for (int64_t r = 0; r < rows; r++) {
		if (from[r] < 0 || from[r] >= rows || from[r] / beams != r / beams)
			return fail(HEC_ERR_ARGUMENT,
			            "session: row %lld from row %d, which is not one of its "
			            "source's %lld",
			            (long long)r, (int)from[r], (long long)beams);
	}
	return cache_reorder(s->ctx, &s->cache, from, rows);
}

hec_status hec_session_keep(hec_session *s, const int64_t *keep, int64_t n)
{
	HEC_TRY(CHECK_GIVEN("session", s));
	if (n < 0 || n > s->live || (n > 0 && !keep))
		return fail(HEC_ERR_ARGUMENT, "session: %lld of %lld sources are to stay",
		            (long long)n, (long long)s->live);
	for (int64_t i = 0; i < n; i++) {
		if (keep[i] < 0 || keep[i] >= s->live || (i > 0 && keep[i] <= keep[i - 1]))
			return fail(HEC_ERR_ARGUMENT,
			            "session: source %lld is to stay at place %lld: the numbers "
			            "must rise, below %lld",
			            (long long)keep[i], (long long)i, (long long)s->live);
	}
	HEC_TRY(cache_keep(s->ctx, &s->cache, keep, n));
	s->live = n;
	return HEC_OK;
}

hec_status hec_session_rewind(hec_session *s)
{
	HEC_TRY(CHECK_GIVEN("session", s));
	for (int64_t r = 0; r < s->live * s->cache.beams; r++)
		s->cache.length[r] = 0;
	return HEC_OK;
}

/* ---- making and unmaking ---- */

static hec_status check_size(const char *name, int64_t size, int64_t max)
{
	if (size < 1 || size > max)
		return fail(HEC_ERR_ARGUMENT, "session: %s is %lld, not 1 … %lld", name,
		            (long long)size, (long long)max);
	return HEC_OK;
}

/* Room for tokens of a stack; 0 becomes what the stack takes. */
static hec_status resolve_length(const char *name, const hec_stack_config *stack, int64_t *length)
{
	if (*length == 0)
		*length = stack->position.max;
	return check_size(name, *length, min_i64(hec_stack_config_max_positions(stack), MAX_SIZE));
}

static hec_status read_options(const hec_model *m, const hec_session_options *given,
                               hec_session_options *o)
{
	*o = (hec_session_options)HEC_SESSION_OPTIONS_INIT;
	HEC_TRY(options_take("hec_session_options", o, sizeof *o, given));
	const hec_model_config *c = &m->config;
	if (!model_has_decoder(m) || c->head != HEC_HEAD_LM)
		return fail(HEC_ERR_ARGUMENT, "session: the model has no %s to write with",
		            model_has_decoder(m) ? "head for words" : "decoder");
	HEC_TRY(check_size("sources", o->sources, MAX_SIZE));
	HEC_TRY(check_size("beams", o->beams, MAX_SIZE));
	if (!model_has_encoder(m))
		o->max_source = 0;
	else if (model_has_front(m)) /* frames fill their window */
		o->max_source = c->encoder.position.max;
	else
		HEC_TRY(resolve_length("max_source", &c->encoder, &o->max_source));
	HEC_TRY(resolve_length("max_target", &c->decoder, &o->max_target));
	if (o->sources > MAX_SIZE / o->beams)
		return fail(HEC_ERR_ARGUMENT, "session: %lld sources of %lld beams",
		            (long long)o->sources, (long long)o->beams);
	return HEC_OK;
}

/* The most tokens that any group has: as try_largest_calls() tries them. */
static int64_t group_tokens(const hec_session_options *o)
{
	const int64_t step = min_i64(o->max_target, PIECE) * o->beams,
		      rows = o->sources * min_i64(o->max_target, PIECE) * o->beams,
		      encoder = o->max_source;
	return max_i64(max_i64(step, min_i64(rows, STEP_TOKENS)),
	               max_i64(encoder, min_i64(encoder * o->sources, ENCODER_TOKENS)));
}

static hec_status make_numbers(hec_arena *arena, int64_t n, int32_t **out)
{
	void *memory;
	HEC_TRY(hec_arena_alloc(arena, (size_t)n * sizeof **out, &memory));
	*out = memory;
	return HEC_OK;
}

/* Everything that stays from call to call, in s->arena. */
static hec_status lay_out(hec_session *s)
{
	const hec_model *m = s->model;
	const hec_session_options *o = &s->options;
	const int64_t rows = o->sources * o->beams, tokens = group_tokens(o);
	const size_t mark = hec_arena_used(s->arena);
	HEC_TRY(cache_make(s->arena, m, o, &s->cache));
	/* Rows have room for the longest text, and hold short ones: the rest shall take no memory. */
	if (s->cache.k.stride[0] * (int64_t)hec_dtype_size(m->dtype) >= SPARSE_BYTES)
		arena_small_pages(s->arena, mark);
	HEC_TRY(hec_arena_tensor(s->arena, m->dtype, 2, (int64_t[]){rows, m->config.width},
	                         &s->last));
	HEC_TRY(make_numbers(s->arena, tokens, &s->ids));
	HEC_TRY(make_numbers(s->arena, tokens, &s->at));
	HEC_TRY(make_numbers(s->arena, rows, &s->take));
	HEC_TRY(make_numbers(s->arena, rows, &s->done));
	HEC_TRY(make_numbers(s->arena, rows, &s->keys));
	if (m->decoder.config->position.kind != HEC_POSITION_RELATIVE)
		return HEC_OK;
	/* Tokens that are not real look back past the first key: hence twice the length. */
	return hec_relative_bias_fwd(s->ctx, s->arena, &m->decoder.relative, 2 * o->max_target,
	                             o->max_target, 0, &s->line);
}

/* The most tokens that each of n sources can have where they go together: group_of turned round. */
static int64_t most_each(int64_t budget, int64_t n, int64_t most)
{
	return n == 1 ? most : min_i64(most, budget / n);
}

/* Whether one source more could go along with just as many tokens each: then this is not the
 * largest call. */
static bool has_larger(const hec_session *s, int64_t budget, int64_t n, int64_t most)
{
	return n < s->options.sources &&
	       most_each(budget, n + 1, most) == most_each(budget, n, most);
}

/* The encoder on n sources of S tokens, whose ids are zeros: addresses that nobody has written to. */
static hec_status try_encoder(hec_session *s, int64_t n, int64_t S)
{
	const size_t mark = hec_arena_used(s->arena);
	const hec_tensor frames =
		hec_tensor_3d(s->ids, s->model->dtype, n, s->model->config.front.features, 2 * S);
	for (int64_t i = 0; i < n; i++)
		s->cache.source_length[i] = (int32_t)S;
	HEC_TRY(session_encode(s, 0, n, S, model_has_front(s->model) ? &frames : NULL));
	hec_arena_rewind(s->arena, mark);
	return HEC_OK;
}

/* For each number of sources that may go together, the most tokens that each of them can then have. */
static hec_status try_encoder_calls(hec_session *s)
{
	const int64_t max = s->options.max_source;
	for (int64_t n = 1; n <= s->options.sources; n++) {
		const int64_t S = most_each(ENCODER_TOKENS, n, max);
		if (S < 1 || (model_has_front(s->model) && S < max)) /* frames are all there */
			break;
		if (!has_larger(s, ENCODER_TOKENS, n, max))
			HEC_TRY(try_encoder(s, n, S));
	}
	return HEC_OK;
}

/* The decoder on T tokens of each row of n sources, up to the end of the rows. */
static hec_status try_decoder(hec_session *s, int64_t n, int64_t T)
{
	const size_t mark = hec_arena_used(s->arena);
	const int64_t rows = n * s->options.beams, end = s->options.max_target;
	for (int64_t r = 0; r < rows; r++) {
		/* One row unlike the others: then each has a bias of its own. */
		const bool unlike = r == 0 && rows > 1;
		s->take[r] = (int32_t)(T - (unlike && T > 1));
		s->cache.length[r] = (int32_t)(end - s->take[r] - (unlike && T == 1 && end > 1));
	}
	HEC_TRY(session_feed(s, 0, rows, T));
	hec_arena_rewind(s->arena, mark);
	return HEC_OK;
}

static hec_status try_decoder_calls(hec_session *s)
{
	const int64_t budget = STEP_TOKENS / s->options.beams,
		      piece = min_i64(s->options.max_target, PIECE);
	for (int64_t n = 1; n <= s->options.sources; n++) {
		const int64_t T = most_each(budget, n, piece);
		if (T < 1)
			break;
		if (!has_larger(s, budget, n, piece))
			HEC_TRY(try_decoder(s, n, T));
	}
	return HEC_OK;
}

/* What the calls beside a step take: scaled states before the logits, logsumexps of one row's weights. */
static hec_status try_other_calls(hec_session *s)
{
	const size_t mark = hec_arena_used(s->arena);
	const hec_model *m = s->model;
	const int64_t lse_shape[2] = {m->config.decoder.attention.heads, s->options.max_target};
	hec_tensor lse, scaled;
	HEC_TRY(hec_arena_tensor(s->arena, m->dtype, 2, s->last.shape, &scaled));
	hec_arena_rewind(s->arena, mark);
	return hec_arena_tensor(s->arena, m->dtype, 2, lse_shape, &lse);
}

/* The largest calls of each form, made in a dry context: the arena's peak is then what they need. */
static hec_status try_largest_calls(hec_session *s)
{
	if (model_has_encoder(s->model))
		HEC_TRY(try_encoder_calls(s));
	HEC_TRY(try_decoder_calls(s));
	return try_other_calls(s);
}

/* Lays out and measures in addresses alone; *bytes is what the arena must hold. */
static hec_status measure_dry(hec_session *s, size_t *bytes)
{
	hec_ctx *working = s->ctx;
	hec_ctx_options options = HEC_CTX_OPTIONS_INIT;
	options.threads = 1; /* what a call takes of its arena does not depend on them */
	options.isa = hec_ctx_isa(working);
	HEC_TRY(hec_ctx_create_dry(&options, &s->ctx));
	hec_status status = arena_reserve(&s->arena);
	if (status == HEC_OK)
		status = lay_out(s);
	if (status == HEC_OK)
		status = try_largest_calls(s);
	if (status == HEC_OK)
		*bytes = hec_arena_peak(s->arena);
	hec_arena_destroy(s->arena);
	hec_ctx_destroy(s->ctx);
	s->arena = NULL;
	s->ctx = working;
	return status;
}

void hec_session_destroy(hec_session *s)
{
	if (!s)
		return;
	hec_arena_destroy(s->arena);
	mem_free(s);
}

static hec_status place_session(hec_session *s)
{
	size_t bytes = 0;
	HEC_TRY(measure_dry(s, &bytes));
	HEC_TRY(hec_arena_create(bytes, &s->arena));
	return lay_out(s);
}

hec_status hec_session_create(hec_ctx *ctx, const hec_model *model,
                              const hec_session_options *options, hec_session **out)
{
	HEC_TRY(CHECK_GIVEN("session", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("session", ctx));
	HEC_TRY(CHECK_GIVEN("session", model));
	hec_session_options o;
	HEC_TRY(read_options(model, options, &o));
	hec_session *s = mem_zeros(1, sizeof *s);
	if (!s)
		return fail(HEC_ERR_MEMORY, "session: no memory");
	s->ctx = ctx;
	s->model = model;
	s->options = o;
	hec_status status = place_session(s);
	if (status != HEC_OK) {
		hec_session_destroy(s);
		return status;
	}
	log_line(HEC_LOG_DEBUG,
	         "session: %lld source%s of %lld tokens, %lld beam%s of %lld: %.1f MB",
	         (long long)o.sources, o.sources == 1 ? "" : "s", (long long)o.max_source,
	         (long long)o.beams, o.beams == 1 ? "" : "s", (long long)o.max_target,
	         (double)hec_session_bytes(s) / 1e6);
	*out = s;
	return HEC_OK;
}

const hec_model *hec_session_model(const hec_session *s)
{
	return s->model;
}

hec_ctx *hec_session_ctx(const hec_session *s)
{
	return s->ctx;
}

const hec_session_options *session_options(const hec_session *s)
{
	return &s->options;
}

void hec_session_options_of(const hec_session *s, hec_session_options *out, size_t size)
{
	options_give(out, size, &s->options, sizeof s->options);
}

size_t hec_session_bytes(const hec_session *s)
{
	return hec_arena_peak(s->arena);
}

int64_t hec_session_sources(const hec_session *s)
{
	return s->live;
}

int64_t hec_session_length(const hec_session *s, int64_t row)
{
	return row >= 0 && row < s->live * s->cache.beams ? s->cache.length[row] : 0;
}
