/* session_run.c — the work of a session: sources through the encoder, tokens through the decoder.
 *
 * Sources and rows do not know each other, so a call takes as many of them at a time as the work
 * space was made for: groups of whole sources, and of a long prompt PIECE tokens a row. How large
 * the groups are changes nothing in the results. PIECE is the same for every session, since how many
 * queries go together does. */
#include <hecate/ops.h>

#include "base/size.h"
#include "base/status.h"
#include "model/head.h"
#include "model/session.h"
#include "model/stack.h"
#include "nn/decoder_layer.h"
#include "tensor/check.h"

/* ---- sources: the encoder ---- */

hec_status session_encode(hec_session *s, int64_t first, int64_t n, int64_t S,
                          const hec_tensor *features)
{
	const hec_model *m = s->model;
	session_cache *c = &s->cache;
	stack_call call = {.ctx = s->ctx, .arena = s->arena};
	if (features) {
		call.features = *features;
	} else {
		call.ids = hec_tensor_2d(s->ids, HEC_I32, n, S);
		call.length = c->source_length + first;
	}
	hec_tensor memory;
	HEC_TRY(stack_fwd(&call, &m->encoder, &memory, NULL));
	for (int64_t l = 0; l < c->layers; l++) {
		hec_tensor k = cache_layer(c, &c->cross_k, l, first, n),
			   v = cache_layer(c, &c->cross_v, l, first, n);
		HEC_TRY(multi_head_cache_memory(s->ctx, s->arena, &m->decoder.decoder[l].cross,
		                                &memory, &k, &v));
	}
	return HEC_OK;
}

/* How many sources with `tokens` each go together. */
static int64_t group_of(int64_t budget, int64_t tokens, int64_t sources)
{
	return min_i64(sources, max_i64(1, budget / max_i64(tokens, 1)));
}

/* Sources as a call gives them. */
typedef struct sources {
	int64_t n;
	const hec_tensor *ids;
	const int32_t *length;
	const hec_tensor *features;
} sources;

static hec_status check_frames(const hec_session *s, int64_t n, const hec_tensor *features)
{
	const hec_model_config *c = &s->model->config;
	if (!features)
		return fail(HEC_ERR_ARGUMENT, "session: features are not given");
	return CHECK_3D("session: features", features, s->model->dtype, n, c->front.features,
	                2 * c->encoder.position.max);
}

static hec_status check_sources(const hec_session *s, int64_t live, const sources *given,
                                int64_t *longest)
{
	const bool encoder = model_has_encoder(s->model);
	const int64_t n = given->n;
	const hec_tensor *ids = given->ids;
	const int32_t *length = given->length;
	if (n < 0 || n > s->options.sources - live)
		return fail(HEC_ERR_ARGUMENT, "session: %lld sources beside %lld, it holds %lld",
		            (long long)n, (long long)live, (long long)s->options.sources);
	*longest = s->options.max_source;
	if (model_has_front(s->model) && !is_present(ids))
		return check_frames(s, n, given->features);
	if (model_has_front(s->model) || given->features)
		return fail(HEC_ERR_ARGUMENT, "session: %s are given, the model reads %s",
		            given->features ? "features" : "ids",
		            given->features ? "words" : "frames");
	*longest = 0;
	if (encoder != is_present(ids))
		return fail(HEC_ERR_ARGUMENT, "session: ids are %s, the model has %s encoder",
		            encoder ? "not given" : "given", encoder ? "an" : "no");
	if (!encoder)
		return HEC_OK;
	HEC_TRY(CHECK_2D("session: ids", ids, HEC_I32, n, ANY));
	for (int64_t i = 0; i < n; i++) {
		const int64_t given = length ? length[i] : ids->shape[1];
		if (given < 0 || given > ids->shape[1] || given > s->options.max_source)
			return fail(HEC_ERR_ARGUMENT,
			            "session: source %lld has %lld tokens of %lld, at most %lld "
			            "are held",
			            (long long)i, (long long)given, (long long)ids->shape[1],
			            (long long)s->options.max_source);
		*longest = max_i64(*longest, given);
	}
	return HEC_OK;
}

static int32_t id_at(const hec_tensor *ids, int64_t row, int64_t t)
{
	return ((const int32_t *)ids->data)[row * ids->stride[0] + t * ids->stride[1]];
}

/* Frames of a whole window, each source. */
static hec_status fill_frames(hec_session *s, const hec_tensor *frames, int64_t first)
{
	session_cache *c = &s->cache;
	const int64_t n = frames->shape[0];
	for (int64_t i = 0; i < n; i++) {
		c->source_length[first + i] = (int32_t)c->max_source;
		for (int64_t j = 0; j < c->beams; j++)
			c->row_source[(first + i) * c->beams + j] = (int32_t)c->max_source;
	}
	if (!is_present(&c->source_features))
		return HEC_OK;
	hec_tensor kept;
	HEC_TRY(hec_tensor_slice(&c->source_features, 0, first, n, &kept));
	return hec_tensor_copy(s->ctx, frames, &kept);
}

/* The sources from `first` of the call, which become those behind the live ones. */
static void fill_sources(hec_session *s, const hec_tensor *ids, const int32_t *length,
                         int64_t first, int64_t n, int64_t S)
{
	session_cache *c = &s->cache;
	for (int64_t i = 0; i < n; i++) {
		const int64_t source = s->live + first + i,
			      own = length ? length[first + i] : ids->shape[1];
		c->source_length[source] = (int32_t)own;
		for (int64_t j = 0; j < c->beams; j++)
			c->row_source[source * c->beams + j] = (int32_t)own;
		for (int64_t t = 0; t < S; t++) {
			const int32_t id = t < own ? id_at(ids, first + i, t) : 0;
			s->ids[i * S + t] = id;
			if (c->source_ids)
				c->source_ids[source * c->max_source + t] = id;
		}
	}
}

/* Some of them: filled in and read by the encoder. */
static hec_status add_some(hec_session *s, const sources *given, int64_t first, int64_t n,
                           int64_t S)
{
	hec_tensor frames;
	if (!given->features) {
		fill_sources(s, given->ids, given->length, first, n, S);
		return S > 0 ? session_encode(s, s->live + first, n, S, NULL) : HEC_OK;
	}
	HEC_TRY(hec_tensor_slice(given->features, 0, first, n, &frames));
	HEC_TRY(fill_frames(s, &frames, s->live + first));
	return session_encode(s, s->live + first, n, S, &frames);
}

static hec_status add_sources(hec_session *s, const sources *given, int64_t S)
{
	const int64_t n = given->n, group = group_of(ENCODER_TOKENS, S, n);
	for (int64_t first = 0; model_has_encoder(s->model) && first < n; first += group) {
		const int64_t some = min_i64(group, n - first);
		size_t mark = hec_arena_used(s->arena);
		hec_status status = add_some(s, given, first, some, S);
		hec_arena_rewind(s->arena, mark);
		HEC_TRY(status);
	}
	for (int64_t r = s->live * s->cache.beams; r < (s->live + n) * s->cache.beams; r++)
		s->cache.length[r] = 0;
	s->live += n;
	return HEC_OK;
}

static hec_status check_and_add(hec_session *s, const sources *given)
{
	HEC_TRY(CHECK_GIVEN("session", s));
	int64_t longest;
	HEC_TRY(check_sources(s, s->live, given, &longest));
	return add_sources(s, given, longest);
}

static hec_status check_and_start(hec_session *s, const sources *given)
{
	HEC_TRY(CHECK_GIVEN("session", s));
	int64_t longest;
	HEC_TRY(check_sources(s, 0, given, &longest));
	s->live = 0;
	return add_sources(s, given, longest);
}

hec_status hec_session_add(hec_session *s, int64_t n, const hec_tensor *ids, const int32_t *length)
{
	return check_and_add(s, &(sources){.n = n, .ids = ids, .length = length});
}

hec_status hec_session_add_features(hec_session *s, int64_t n, const hec_tensor *features)
{
	return check_and_add(s, &(sources){.n = n, .features = features});
}

hec_status hec_session_start(hec_session *s, int64_t n, const hec_tensor *ids,
                             const int32_t *length)
{
	return check_and_start(s, &(sources){.n = n, .ids = ids, .length = length});
}

hec_status hec_session_start_features(hec_session *s, int64_t n, const hec_tensor *features)
{
	return check_and_start(s, &(sources){.n = n, .features = features});
}

/* ---- rows: the decoder ---- */

/* The bias of rows first … with T new positions over S keys. Distance 0 of row r is at its own
 * number of keys: where all have the same, one view of the line serves; else each gets a copy of its
 * part of it. */
static hec_status make_bias(hec_session *s, int64_t first, int64_t n, int64_t T, int64_t S,
                            hec_tensor *bias)
{
	*bias = (hec_tensor)HEC_TENSOR_NONE;
	if (!is_present(&s->line))
		return HEC_OK;
	const int32_t *before = s->cache.length + first;
	const int64_t H = s->line.shape[1], L = T + S - 1,
		      bytes = (int64_t)hec_dtype_size(s->line.dtype);
	bool same = true;
	for (int64_t i = 1; i < n; i++)
		same = same && before[i] == before[0];
	hec_tensor part = s->line, copies;
	part.rank = 2;
	part.shape[0] = H;
	part.stride[0] = s->line.stride[1];
	part.shape[1] = L;
	part.stride[1] = 1;
	HEC_TRY(hec_arena_tensor(s->arena, part.dtype, 3, (int64_t[]){same ? 1 : n, H, L},
	                         &copies));
	for (int64_t i = 0; i < copies.shape[0]; i++) {
		hec_tensor to;
		part.data = (char *)s->line.data - (before[i] + T - 1) * bytes;
		HEC_TRY(hec_tensor_slice(&copies, 0, i, 1, &to));
		HEC_TRY(hec_tensor_reshape(&to, 2, part.shape, &to));
		HEC_TRY(hec_tensor_copy(s->ctx, &part, &to));
	}
	*bias = hec_tensor_4d((char *)copies.data + (T - 1) * bytes, part.dtype, copies.shape[0], H,
	                      T, S);
	bias->stride[0] = H * L;
	bias->stride[1] = L;
	bias->stride[2] = -1;
	bias->stride[3] = 1;
	return HEC_OK;
}

static hec_status run_layers(hec_session *s, int64_t first, int64_t n, int64_t T,
                             const int32_t *count, hec_tensor *x)
{
	const model_stack *stack = &s->model->decoder;
	session_cache *c = &s->cache;
	const bool cross = is_present(&c->cross_k);
	const int64_t source = first / c->beams, sources = n / c->beams;
	int64_t S = 0, M = 0;
	for (int64_t r = first; r < first + n; r++)
		S = max_i64(S, s->keys[r]);
	for (int64_t i = source; cross && i < source + sources; i++)
		M = max_i64(M, c->source_length[i]);
	hec_tensor y, swap, bias;
	HEC_TRY(make_bias(s, first, n, T, S, &bias));
	HEC_TRY(hec_arena_tensor(s->arena, x->dtype, 3, x->shape, &y));
	for (int64_t l = 0; l < c->layers; l++) {
		multi_head_cache self = {.k = cache_layer(c, &c->k, l, first, n),
		                         .v = cache_layer(c, &c->v, l, first, n),
		                         .count = count,
		                         .keys = s->keys + first,
		                         .first = c->length + first,
		                         .window = stack_window(stack, l),
		                         .bias = bias},
				 other = {.count = count,
		                          .first = c->length + first,
		                          .beams = c->beams};
		if (is_present(&c->q))
			self.q = cache_layer(c, &c->q, l, first, n);
		if (cross) {
			other.k = cache_layer(c, &c->cross_k, l, source, sources);
			other.v = cache_layer(c, &c->cross_v, l, source, sources);
			other.k.shape[1] = other.v.shape[1] = M;
			other.keys = c->row_source + first;
			other.source_keys = c->source_length + source;
		}
		if (is_present(&c->cross_q))
			other.q = cache_layer(c, &c->cross_q, l, first, n);
		HEC_TRY(decoder_layer_step(s->ctx, s->arena, &stack->decoder[l], x, &self,
		                           cross ? &other : NULL, &y));
		swap = *x;
		*x = y;
		y = swap;
	}
	return HEC_OK;
}

/* x [n, T, C]: the state after the last real token of each row goes to s->last. */
static hec_status take_last(hec_session *s, int64_t first, int64_t n, int64_t T,
                            const hec_tensor *x)
{
	hec_tensor rows, from, to;
	HEC_TRY(hec_tensor_reshape(x, 2, (int64_t[]){n * T, x->shape[2]}, &rows));
	for (int64_t i = 0; i < n; i++) {
		const int64_t count = s->take[first + i];
		if (count == 0)
			continue;
		HEC_TRY(hec_tensor_slice(&s->last, 0, first + i, 1, &to));
		HEC_TRY(hec_tensor_slice(&rows, 0, i * T + count - 1, 1, &from));
		HEC_TRY(hec_tensor_copy(s->ctx, &from, &to));
	}
	return HEC_OK;
}

hec_status session_feed(hec_session *s, int64_t first, int64_t n, int64_t T)
{
	const model_stack *stack = &s->model->decoder;
	bool ragged = false;
	for (int64_t i = 0; i < n; i++) {
		const int32_t before = s->cache.length[first + i], count = s->take[first + i];
		ragged = ragged || count != T;
		s->keys[first + i] = before + count;
		for (int64_t t = 0; t < T; t++)
			s->at[i * T + t] = t < count ? before + (int32_t)t : 0;
	}
	const stack_call call = {
		.ctx = s->ctx, .arena = s->arena, .ids = hec_tensor_2d(s->ids, HEC_I32, n, T)};
	const hec_tensor at = hec_tensor_1d(s->at, HEC_I32, n * T);
	hec_tensor x;
	HEC_TRY(hec_arena_tensor(s->arena, s->model->dtype, 3,
	                         (int64_t[]){n, T, s->model->config.width}, &x));
	HEC_TRY(embed_at(&call, stack, &at, &x));
	if (stack->config->embedding_norm)
		HEC_TRY(norm_rows_fwd(s->ctx, &stack->embedding_norm, &x, &x, NULL));
	HEC_TRY(run_layers(s, first, n, T, ragged ? s->take + first : NULL, &x));
	return take_last(s, first, n, T, &x);
}

/* One piece of every row: at most PIECE tokens of what is left of its count. */
static hec_status feed_piece(hec_session *s, const hec_tensor *ids, const int32_t *count,
                             bool *more)
{
	const int64_t beams = s->cache.beams, rows = s->live * beams;
	int64_t T = 0;
	*more = false;
	for (int64_t r = 0; r < rows; r++) {
		const int64_t left = (count ? count[r] : ids->shape[1]) - s->done[r];
		s->take[r] = (int32_t)min_i64(left, PIECE);
		*more = *more || left > PIECE;
		T = max_i64(T, s->take[r]);
	}
	const int64_t group = group_of(STEP_TOKENS, beams * T, s->live) * beams;
	for (int64_t first = 0; first < rows; first += group) {
		const int64_t n = min_i64(group, rows - first);
		for (int64_t i = 0; i < n * T; i++) {
			const int64_t r = first + i / T, t = i % T;
			s->ids[i] = t < s->take[r] ? id_at(ids, r, s->done[r] + t) : 0;
		}
		size_t mark = hec_arena_used(s->arena);
		hec_status status = session_feed(s, first, n, T);
		hec_arena_rewind(s->arena, mark);
		HEC_TRY(status);
	}
	for (int64_t r = 0; r < rows; r++) {
		s->done[r] += s->take[r];
		s->cache.length[r] += s->take[r];
	}
	return HEC_OK;
}

static hec_status check_step(const hec_session *s, const hec_tensor *ids, const int32_t *count,
                             const hec_tensor *logits)
{
	const hec_model_config *c = &s->model->config;
	const int64_t rows = s->live * s->cache.beams;
	HEC_TRY(CHECK_2D("session: ids", ids, HEC_I32, rows, ANY));
	HEC_TRY(CHECK_2D("session: logits", logits, s->model->dtype, rows, c->vocab));
	int64_t most = 0;
	for (int64_t r = 0; r < rows; r++) {
		const int64_t own = count ? count[r] : ids->shape[1];
		most = max_i64(most, own);
		if (own < 0 || own > ids->shape[1])
			return fail(HEC_ERR_ARGUMENT, "session: row %lld takes %lld tokens of %lld",
			            (long long)r, (long long)own, (long long)ids->shape[1]);
		if (s->cache.length[r] + own > s->options.max_target)
			return fail(HEC_ERR_SHAPE,
			            "session: row %lld has %d tokens and takes %lld more, it holds "
			            "%lld",
			            (long long)r, (int)s->cache.length[r], (long long)own,
			            (long long)s->options.max_target);
		for (int64_t t = 0; t < own; t++) {
			const int32_t id = id_at(ids, r, t);
			if (id < 0 || id >= c->vocab)
				return fail(HEC_ERR_ARGUMENT,
				            "session: id %d at token %lld of row %lld is not one "
				            "of %lld words",
				            (int)id, (long long)t, (long long)r,
				            (long long)c->vocab);
		}
	}
	if (rows > 0 && most == 0)
		return fail(HEC_ERR_ARGUMENT, "session: none of %lld rows takes a token",
		            (long long)rows);
	return HEC_OK;
}

static hec_status make_logits(hec_session *s, hec_tensor *logits)
{
	const model_stack *stack = &s->model->decoder;
	size_t mark = hec_arena_used(s->arena);
	hec_tensor rows;
	head_kept kept;
	HEC_TRY(hec_tensor_slice(&s->last, 0, 0, logits->shape[0], &rows));
	if (stack->config->final_norm)
		HEC_TRY(hec_norm_fwd(s->ctx, &stack->final_norm, &rows, &rows, NULL));
	hec_status status = head_fwd(s->ctx, s->arena, s->model, NULL, &rows, logits, &kept);
	hec_arena_rewind(s->arena, mark);
	return status;
}

hec_status hec_session_step(hec_session *s, const hec_tensor *ids, const int32_t *count,
                            hec_tensor *logits)
{
	HEC_TRY(CHECK_GIVEN("session", s));
	HEC_TRY(check_step(s, ids, count, logits));
	const int64_t rows = s->live * s->cache.beams;
	if (rows == 0)
		return HEC_OK;
	for (int64_t r = 0; r < rows; r++)
		s->done[r] = 0;
	bool more = true;
	hec_status status = HEC_OK;
	while (more && status == HEC_OK)
		status = feed_piece(s, ids, count, &more);
	if (status == HEC_OK)
		status = make_logits(s, logits);
	for (int64_t r = 0; status != HEC_OK && r < rows; r++)
		s->cache.length[r] -= s->done[r]; /* as if nothing had been fed */
	return status;
}
