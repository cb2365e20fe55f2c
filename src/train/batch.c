/* batch.c — examples of like length together: permutation, pools, batches. */
#include "train/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/size.h"
#include "tensor/check.h"
#include "train/sound.h"

#define POOL ((int64_t)1 << 18) /* examples; a key of sorting holds 20 bits of place */
#define IGNORE (-100)

/* Streams of random numbers under one seed. */
enum { STREAM_ORDER = 1, STREAM_POOL = 2, STREAM_MASK = 3 };

struct batcher {
	const hec_corpus *corpus;
	batcher_options o;
	int64_t count;
	uint32_t *order; /* [count] of this epoch; NULL where in order */
	uint64_t *keys;  /* [pool] length << 20 | place in the pool, sorted */
	uint32_t *cuts;  /* [batches + 1] where the batches of the pool begin among the keys */
	uint32_t *turn;  /* [batches] their order */
	int64_t pool, pool_begin, pool_count, batches;
	int64_t first; /* index in the epoch of the pool's first batch */
	batch_place at;
	int32_t *source, *types, *input, *target, *source_length, *target_length, *example;
	float *features;      /* of sounds: [rows, mels, frames] */
	hec_model_input read; /* what a batch that was given out points at */
};

/* ---- numbers ---- */

/* Uniform in 0 … below − 1; of 64 bits, so that the bias is beyond noticing. */
static uint64_t draw_below(const batcher *b, int stream, int64_t epoch, uint64_t i, uint64_t below)
{
	const uint32_t key[2] = {(uint32_t)b->o.seed, (uint32_t)(b->o.seed >> 32)};
	const uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), (uint32_t)epoch,
	                             (uint32_t)stream};
	uint32_t out[4];
	philox(counter, key, out);
	uint64_t word = (uint64_t)out[0] << 32 | out[1];
	return (uint64_t)(((unsigned __int128)word * below) >> 64);
}

/* Fisher and Yates, backwards. */
static void shuffle(const batcher *b, int stream, uint64_t base, uint32_t *items, int64_t n)
{
	for (int64_t i = n - 1; i > 0; i--) {
		uint64_t j =
			draw_below(b, stream, b->at.epoch, base + (uint64_t)i, (uint64_t)i + 1);
		uint32_t t = items[i];
		items[i] = items[j];
		items[j] = t;
	}
}

/* ---- the order of an epoch ---- */

static uint32_t example_at(const batcher *b, int64_t i)
{
	return b->order ? b->order[i] : (uint32_t)i;
}

static int by_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void sort_pool(batcher *b)
{
	for (int64_t i = 0; i < b->pool_count; i++) {
		const uint16_t *n = b->corpus->lengths[example_at(b, b->pool_begin + i)];
		uint64_t length = (uint64_t)n[1] << 16 | n[0];
		b->keys[i] = length << 20 | (uint64_t)i;
	}
	qsort(b->keys, (size_t)b->pool_count, sizeof *b->keys, by_key);
}

static uint32_t pool_example(const batcher *b, int64_t i)
{
	return example_at(b, b->pool_begin + (int64_t)(b->keys[i] & 0xFFFFF));
}

/* The tokens that a side of an example takes in a batch: running text is read one shorter. */
static int64_t longest_side(const batcher *b, uint32_t example)
{
	const uint16_t *n = b->corpus->lengths[example];
	int64_t target = b->corpus->task == HEC_TASK_LM ? n[1] - 1 : n[1];
	int64_t source = b->corpus->sounds ? sound_places(&b->corpus->speech) : n[0];
	return max_i64(max_i64(source, target), 1);
}

static void cut_pool(batcher *b)
{
	int64_t begin = 0, longest = 0;
	b->batches = 0;
	for (int64_t i = 0; i < b->pool_count; i++) {
		int64_t with = max_i64(longest, longest_side(b, pool_example(b, i)));
		int64_t rows = i - begin + 1;
		bool full = rows > 1 && (rows * with > b->o.max_tokens ||
		                         (b->o.max_rows > 0 && rows > b->o.max_rows));
		if (i == begin || full) {
			b->cuts[b->batches++] = (uint32_t)i;
			begin = i;
			with = longest_side(b, pool_example(b, i));
		}
		longest = with;
	}
	b->cuts[b->batches] = (uint32_t)b->pool_count;
	for (int64_t i = 0; i < b->batches; i++)
		b->turn[i] = (uint32_t)i;
	if (!b->o.in_order)
		shuffle(b, STREAM_POOL, (uint64_t)b->pool_begin, b->turn, b->batches);
}

static void make_pool(batcher *b, int64_t pool)
{
	b->pool = pool;
	b->pool_begin = pool * POOL;
	b->pool_count = min_i64(POOL, b->count - b->pool_begin);
	sort_pool(b);
	cut_pool(b);
}

static void begin_epoch(batcher *b, int64_t epoch)
{
	b->at = (batch_place){epoch, 0};
	b->first = 0;
	if (b->order) {
		for (int64_t i = 0; i < b->count; i++)
			b->order[i] = (uint32_t)i;
		shuffle(b, STREAM_ORDER, 0, b->order, b->count);
	}
	make_pool(b, 0);
}

static bool pools_left(const batcher *b)
{
	return b->pool_begin + b->pool_count < b->count;
}

static void next_pool(batcher *b)
{
	b->first += b->batches;
	make_pool(b, b->pool + 1);
}

hec_status batcher_seek(batcher *b, batch_place place)
{
	if (place.epoch < 0 || place.epoch > UINT32_MAX || place.index < 0)
		return fail(HEC_ERR_FORMAT, "batches: there is no batch %lld of epoch %lld",
		            (long long)place.index, (long long)place.epoch);
	begin_epoch(b, place.epoch);
	while (place.index >= b->first + b->batches && pools_left(b))
		next_pool(b);
	const int64_t all = b->first + b->batches;
	if (place.index >= all)
		return fail(HEC_ERR_FORMAT,
		            "batches: there is no batch %lld of epoch %lld: it has %lld",
		            (long long)place.index, (long long)place.epoch, (long long)all);
	b->at.index = place.index;
	return HEC_OK;
}

batch_place batcher_at(const batcher *b)
{
	return b->at;
}

/* ---- making ---- */

/* As many sounds as a batch may have: none is shorter than a window. */
static bool allocate_features(batcher *b)
{
	const hec_speech *s = &b->corpus->speech;
	if (!b->corpus->sounds || !b->o.ctx)
		return true;
	int64_t rows = max_i64(b->o.max_tokens / sound_places(s), 1);
	if (b->o.max_rows > 0)
		rows = min_i64(rows, b->o.max_rows);
	size_t frame, all;
	if (!size_mul((size_t)s->mel.mels * sizeof(float), (size_t)sound_frames(s), &frame) ||
	    !size_mul(frame, (size_t)min_i64(rows, b->count), &all))
		return false;
	b->features = mem_alloc(all);
	return b->features != NULL;
}

static bool allocate(batcher *b)
{
	size_t n = (size_t)b->o.max_tokens, pool = (size_t)min_i64(POOL, max_i64(b->count, 1));
	bool shuffled = !b->o.in_order;
	b->order = shuffled ? mem_alloc((size_t)max_i64(b->count, 1) * sizeof *b->order) : NULL;
	b->keys = mem_alloc(pool * sizeof *b->keys);
	b->cuts = mem_alloc((pool + 1) * sizeof *b->cuts);
	b->turn = mem_alloc(pool * sizeof *b->turn);
	/* A side of one example may be read with its target one place on: one more than counted. */
	b->example = mem_alloc(2 * (CORPUS_LONGEST + 1) * sizeof *b->example);
	b->source = mem_alloc(n * sizeof *b->source);
	b->types = mem_alloc(n * sizeof *b->types);
	b->input = mem_alloc(n * sizeof *b->input);
	b->target =
		mem_alloc(2 * n * sizeof *b->target); /* an answer has two of a row of one token */
	b->source_length = mem_alloc(n * sizeof *b->source_length);
	b->target_length = mem_alloc(n * sizeof *b->target_length);
	return (b->order || !shuffled) && b->keys && b->cuts && b->turn && b->example &&
	       b->source && b->types && b->input && b->target && b->source_length &&
	       b->target_length && allocate_features(b);
}

static hec_status check_sizes(const batcher *b)
{
	const hec_corpus *c = b->corpus;
	if (b->count == 0)
		return fail(
			HEC_ERR_FORMAT,
			"%s: no example is left (%lld lines: %lld empty, %lld not UTF-8, %lld too "
			"long, %lld without a tab, %lld without a readable sound, %lld with too "
			"long a one)",
			c->name, (long long)c->counts.lines, (long long)c->counts.empty,
			(long long)c->counts.bad_utf8, (long long)c->counts.too_long,
			(long long)c->counts.no_tab, (long long)c->counts.no_sound,
			(long long)c->counts.long_sound);
	int64_t longest = 0;
	for (int64_t i = 0; i < b->count; i++)
		longest = max_i64(longest, longest_side(b, (uint32_t)i));
	if (longest > b->o.max_tokens)
		return fail(HEC_ERR_ARGUMENT,
		            "batches: the longest example, of %lld tokens, does not fit into a "
		            "batch of "
		            "%lld",
		            (long long)longest, (long long)b->o.max_tokens);
	return HEC_OK;
}

hec_status batcher_create(const hec_corpus *corpus, const batcher_options *options, batcher **out)
{
	batcher *b = mem_zeros(1, sizeof *b);
	if (!b)
		return fail(HEC_ERR_MEMORY, "batches: no memory");
	*b = (batcher){.corpus = corpus, .o = *options, .count = corpus->counts.examples};
	hec_status status = HEC_OK;
	if (options->max_tokens < 1 || options->max_tokens > ((int64_t)1 << 31))
		status = fail(HEC_ERR_ARGUMENT, "batches: max_tokens is %lld",
		              (long long)options->max_tokens);
	else
		status = check_sizes(b);
	if (status == HEC_OK && !allocate(b))
		status = fail(HEC_ERR_MEMORY, "batches: no memory for the order of %lld examples",
		              (long long)b->count);
	if (status != HEC_OK) {
		batcher_destroy(b);
		return status;
	}
	begin_epoch(b, 0);
	*out = b;
	return HEC_OK;
}

void batcher_destroy(batcher *b)
{
	if (!b)
		return;
	mem_free(b->order);
	mem_free(b->keys);
	mem_free(b->cuts);
	mem_free(b->turn);
	mem_free(b->example);
	mem_free(b->source);
	mem_free(b->types);
	mem_free(b->input);
	mem_free(b->target);
	mem_free(b->source_length);
	mem_free(b->target_length);
	mem_free(b->features);
	mem_free(b);
}

/* ---- filling ---- */

typedef struct shape {
	int64_t rows, source, target; /* longest of each side, as they lie in the cache */
} shape;

static shape shape_of(const batcher *b, int64_t begin, int64_t end)
{
	shape s = {.rows = end - begin};
	for (int64_t i = begin; i < end; i++) {
		const uint16_t *n = b->corpus->lengths[pool_example(b, i)];
		s.source = max_i64(s.source, n[0]);
		s.target = max_i64(s.target, n[1]);
	}
	return s;
}

static void put_row(int32_t *to, const int32_t *from, int64_t n, int64_t width, int32_t rest)
{
	memcpy(to, from, (size_t)n * sizeof *to);
	for (int64_t i = n; i < width; i++)
		to[i] = rest;
}

/* The decoder reads the start and all but the last; it is to write all. */
static void put_written(batcher *b, int64_t row, int64_t T, const int32_t *ids, int64_t n)
{
	int32_t *input = b->input + row * T;
	input[0] = b->o.start_id >= 0 ? b->o.start_id : ids[n - 1];
	put_row(input + 1, ids, n - 1, T - 1, b->o.pad_id);
	put_row(b->target + row * T, ids, n, T, IGNORE);
	b->target_length[row] = (int32_t)n;
}

static void put_running(batcher *b, int64_t row, int64_t T, const int32_t *ids, int64_t n)
{
	put_row(b->input + row * T, ids, n - 1, T, b->o.pad_id);
	put_row(b->target + row * T, ids + 1, n - 1, T, IGNORE);
	b->target_length[row] = (int32_t)(n - 1);
}

/* BERT: of the tokens that are asked for, 8 in 10 are hidden, 1 in 10 is another word, 1 stays. The
 * special ones at both ends are never asked for. */
static void put_masked(batcher *b, int64_t row, int64_t S, uint32_t example, int64_t n)
{
	int32_t *ids = b->source + row * S, *target = b->target + row * S;
	const uint32_t key[2] = {(uint32_t)b->o.seed, (uint32_t)(b->o.seed >> 32)};
	uint32_t limit = (uint32_t)(b->o.mask_rate * 4294967295.0);
	for (int64_t i = 0; i < S; i++)
		target[i] = IGNORE;
	for (int64_t i = 1; i + 1 < n; i++) {
		const uint32_t counter[4] = {(uint32_t)i, example, (uint32_t)b->at.epoch,
		                             STREAM_MASK};
		uint32_t out[4];
		philox(counter, key, out);
		if (out[0] > limit)
			continue;
		target[i] = ids[i];
		if (out[1] % 10 < 8)
			ids[i] = b->corpus->mask_id;
		else if (out[1] % 10 == 8)
			ids[i] = (int32_t)(out[2] % (uint64_t)b->corpus->vocab);
	}
}

/* Begin and end; the second text is of type 1. */
static void put_answer(batcher *b, int64_t row, int64_t S, const int32_t target[ANSWER_TARGETS])
{
	int32_t *types = b->types + row * S;
	b->target[2 * row] = target[0];
	b->target[2 * row + 1] = target[1];
	for (int64_t i = 0; i < S; i++)
		types[i] = i >= target[2] && i < b->source_length[row];
}

/* A text that is judged, not continued: also what the decoder of such a model reads, one place on. */
static bool reads_itself(const batcher *b)
{
	hec_task task = b->corpus->task;
	return b->o.encoder && b->o.decoder &&
	       (task == HEC_TASK_CLASSIFY || task == HEC_TASK_ANSWER);
}

static void put_read(batcher *b, int64_t row, int64_t S, const int32_t *ids, int64_t n)
{
	int32_t *input = b->input + row * S;
	input[0] = b->o.start_id >= 0 ? b->o.start_id : ids[n - 1];
	put_row(input + 1, ids, n - 1, S - 1, b->o.pad_id);
	b->target_length[row] = (int32_t)n;
}

static void put_example(batcher *b, int64_t row, const shape *s, uint32_t example)
{
	const uint16_t *n = b->corpus->lengths[example];
	const int32_t *ids = b->example;
	hec_task task = b->corpus->task;
	if (n[0] > 0 && !b->corpus->sounds) {
		put_row(b->source + row * s->source, ids, n[0], s->source, b->o.pad_id);
		b->source_length[row] = n[0];
	}
	if (task == HEC_TASK_LM)
		put_running(b, row, s->target - 1, ids, n[1]);
	else if (task == HEC_TASK_MLM)
		put_masked(b, row, s->source, example, n[0]);
	else if (task == HEC_TASK_CLASSIFY)
		b->target[row] = ids[n[0]];
	else if (task == HEC_TASK_ANSWER)
		put_answer(b, row, s->source, ids + n[0]);
	else
		put_written(b, row, s->target, ids + n[0], n[1]);
	if (reads_itself(b))
		put_read(b, row, s->source, ids, n[0]);
}

static hec_tensor features_of(const batcher *b, int64_t row, int64_t rows)
{
	const int64_t mels = b->corpus->speech.mel.mels, frames = sound_frames(&b->corpus->speech);
	return hec_tensor_3d(b->features + row * mels * frames, HEC_F32, rows, mels, frames);
}

static hec_status put_sound(batcher *b, int64_t row)
{
	const hec_corpus *c = b->corpus;
	const hec_tensor one = features_of(b, row, 1);
	hec_tensor out = hec_tensor_2d(one.data, HEC_F32, one.shape[1], one.shape[2]);
	return sound_features(b->o.ctx, &c->speech, (const char *const *)c->lists, b->example,
	                      &out);
}

static void describe_batch(batcher *b, const shape *s, hec_batch *out)
{
	hec_task task = b->corpus->task;
	hec_model_input *in = &b->read;
	*in = (hec_model_input)HEC_MODEL_INPUT_INIT;
	*out = (hec_batch){.size = sizeof *out, .input = in};
	bool alone = !b->o.encoder && s->source > 0; /* a decoder reads what is judged */
	if (b->corpus->sounds) {
		in->features = features_of(b, 0, s->rows);
	} else if (task != HEC_TASK_LM && !alone) {
		in->ids = hec_tensor_2d(b->source, HEC_I32, s->rows, s->source);
		in->length = b->source_length;
	}
	if (alone || reads_itself(b)) {
		in->decoder_ids =
			hec_tensor_2d(alone ? b->source : b->input, HEC_I32, s->rows, s->source);
		in->decoder_length = alone ? b->source_length : b->target_length;
	}
	if (task == HEC_TASK_CLASSIFY) {
		out->targets = hec_tensor_1d(b->target, HEC_I32, s->rows);
	} else if (task == HEC_TASK_ANSWER) {
		out->targets = hec_tensor_2d(b->target, HEC_I32, s->rows, 2);
		if (b->o.types && !alone)
			in->types = hec_tensor_2d(b->types, HEC_I32, s->rows, s->source);
	} else if (task == HEC_TASK_MLM) {
		out->targets = hec_tensor_2d(b->target, HEC_I32, s->rows, s->source);
	} else {
		int64_t T = task == HEC_TASK_LM ? s->target - 1 : s->target;
		in->decoder_ids = hec_tensor_2d(b->input, HEC_I32, s->rows, T);
		in->decoder_length = b->target_length;
		out->targets = hec_tensor_2d(b->target, HEC_I32, s->rows, T);
	}
}

static void move_on(batcher *b, bool *ended)
{
	*ended = false;
	if (++b->at.index < b->first + b->batches)
		return;
	if (pools_left(b)) {
		next_pool(b);
		return;
	}
	*ended = true;
	begin_epoch(b, b->at.epoch + 1);
}

hec_status batcher_next(batcher *b, hec_batch *out, bool *ended)
{
	uint32_t turn = b->turn[b->at.index - b->first];
	int64_t begin = b->cuts[turn], end = b->cuts[turn + 1];
	shape s = shape_of(b, begin, end);
	for (int64_t i = begin; i < end; i++) {
		uint32_t example = pool_example(b, i);
		HEC_TRY(corpus_read(b->corpus, example, b->example));
		put_example(b, i - begin, &s, example);
		if (b->corpus->sounds)
			HEC_TRY(put_sound(b, i - begin));
	}
	describe_batch(b, &s, out);
	move_on(b, ended);
	return HEC_OK;
}

hec_status hec_corpus_batches(const hec_corpus *corpus, int64_t max_tokens, int64_t max_rows,
                              uint64_t seed, int64_t epochs, int64_t *batches)
{
	HEC_TRY(CHECK_GIVEN("corpus", corpus));
	HEC_TRY(CHECK_GIVEN("corpus", batches));
	if (epochs < 0 || epochs > HEC_MAX_EPOCHS)
		return fail(HEC_ERR_ARGUMENT, "corpus: %lld epochs; up to %d can be counted",
		            (long long)epochs, HEC_MAX_EPOCHS);
	batcher *b;
	batcher_options o = {.max_tokens = max_tokens, .max_rows = max_rows, .seed = seed};
	HEC_TRY(batcher_create(corpus, &o, &b));
	int64_t pools = div_up(b->count, POOL), sum = 0;
	/* All of one pool are sorted whatever their order was: each epoch has as many. */
	for (int64_t epoch = 0; epoch < (pools > 1 ? epochs : 1); epoch++) {
		begin_epoch(b, epoch);
		while (pools_left(b))
			next_pool(b);
		sum += b->first + b->batches;
	}
	batcher_destroy(b);
	*batches = pools > 1 ? sum : sum * epochs;
	return HEC_OK;
}
