/* pass.c — ids ─► one forward pass ─► the weights of every head.
 *
 * A row of cross-attention is labelled by the token that is being written there: the decoder reads
 * the start and the tokens before it, and looks at the source to choose the next. Rows and columns
 * of self-attention are what the stack reads. Keys of a model that hears are times: its positions, a
 * fiftieth of a second each in Whisper, are put together by their sum until there are few enough to see. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attend/model.h"
#include "cli/model/reserve.h"

#define WEIGHTS_MOST ((size_t)1 << 30) /* numbers */
#define TIMES_MOST 64                  /* columns */
#define POSITIONS_LEAST 5              /* in one: a tenth of a second in Whisper */

typedef struct look {
	const attend_pass *p;
	const hec_model_config *config;
	int32_t *reads, *writes; /* [rows] of the decoder behind an encoder */
	int64_t rows;
	attend_error error;
} look;

hec_status attend_say(const attend_error *e, hec_status status, const char *message)
{
	snprintf(e->text, e->size, "%s", message);
	return status;
}

hec_status attend_library(const attend_error *e, hec_status status)
{
	return status == HEC_OK ? status : attend_say(e, status, hec_error_message());
}

hec_status attend_no_memory(const attend_error *e)
{
	return attend_say(e, HEC_ERR_MEMORY, "out of memory");
}

static bool has_both(const look *w)
{
	return w->config->encoder.layers > 0 && w->config->decoder.layers > 0;
}

/* ---- what the decoder reads and writes ---- */

static hec_status prepare_inputs(look *w)
{
	const attend_pass *p = w->p;
	const int32_t *begin = p->begin ? p->begin : &w->config->start_id;
	int64_t begins = p->begin ? p->begins : 1;
	if (!has_both(w))
		return HEC_OK;
	if (!p->begin && p->given && p->T > 0 && hec_model_config_starts_with_last(w->config))
		begin = &p->written[p->T - 1];
	if (begins + p->T < 2) /* what is written does not matter to the encoder */
		w->rows = 1;
	else
		w->rows = begins + p->T - 1;
	w->reads = calloc((size_t)w->rows + 1, sizeof *w->reads);
	w->writes = calloc((size_t)w->rows + 1, sizeof *w->writes);
	if (!w->reads || !w->writes)
		return attend_no_memory(&w->error);
	for (int64_t i = 0; i < begins + p->T && i <= w->rows; i++)
		w->reads[i] = i < begins ? begin[i] : p->written[i - begins];
	for (int64_t i = 0; i < w->rows; i++)
		w->writes[i] = w->reads[i + 1];
	return HEC_OK;
}

/* ---- forward ---- */

static hec_status make_weights(look *w, int64_t queries, int64_t keys, attended *out)
{
	size_t count = (size_t)out->choice.layers;
	const size_t parts[] = {(size_t)out->choice.heads, (size_t)queries, (size_t)keys};
	for (int i = 0; i < 3; i++) {
		if (count > WEIGHTS_MOST / parts[i]) {
			snprintf(w->error.text, w->error.size,
			         "%" PRId64 " by %" PRId64 " tokens in %" PRId64
			         " layers of %" PRId64
			         " heads are more weights than can be shown: give less text",
			         queries, keys, out->choice.layers, out->choice.heads);
			return HEC_ERR_MEMORY;
		}
		count *= parts[i];
	}
	out->weights = malloc(count * sizeof(float));
	return out->weights ? HEC_OK : attend_no_memory(&w->error);
}

static hec_status run_forward(look *w, int64_t queries, int64_t keys, attended *out)
{
	const attend_pass *p = w->p;
	hec_status status = make_weights(w, queries, keys, out);
	hec_arena *arena = NULL;
	if (status == HEC_OK)
		status = attend_library(&w->error, reserve_arena(&arena));
	if (status != HEC_OK)
		return status;
	hec_model_input input = {.size = sizeof input};
	hec_model_output output = {.size = sizeof output};
	hec_tensor ids = hec_tensor_2d((void *)(uintptr_t)p->ids, HEC_I32, 1, p->n);
	bool encoder = w->config->encoder.layers > 0;
	if (p->features)
		input.features = *p->features;
	else if (encoder)
		input.ids = ids;
	else
		input.decoder_ids = ids;
	if (w->config->types > 0 && p->types)
		input.types = hec_tensor_2d((void *)(uintptr_t)p->types, HEC_I32, 1, p->n);
	if (has_both(w))
		input.decoder_ids = hec_tensor_2d(w->reads, HEC_I32, 1, w->rows);
	hec_tensor weights = hec_tensor_4d(out->weights, HEC_F32, out->choice.layers,
	                                   out->choice.heads, queries, keys);
	if (out->choice.kind == HEC_VIEW_CROSS)
		output.cross_weights = weights;
	else if (out->choice.kind == HEC_VIEW_SELF && encoder)
		output.encoder_weights = weights;
	else
		output.decoder_weights = weights;
	status = attend_library(
		&w->error, hec_model_fwd(p->ctx, arena, p->model, &input, NULL, &output, NULL));
	hec_arena_destroy(arena);
	return status;
}

/* ---- axes ---- */

static hec_status axis_open(look *w, int64_t count, axis *a)
{
	size_t n = (size_t)count;
	a->tokens = calloc(n + 1, sizeof *a->tokens);
	a->labels = calloc(n + 1, sizeof *a->labels);
	a->sink = calloc(n + 1, sizeof *a->sink);
	if (!a->tokens || !a->labels || !a->sink)
		return attend_no_memory(&w->error);
	a->count = count;
	return HEC_OK;
}

static char *number_label(int32_t id)
{
	char *label = malloc(16);
	if (label)
		snprintf(label, 16, "%" PRId32, id);
	return label;
}

static hec_status make_axis(look *w, const int32_t *ids, int64_t count, bool causal, axis *a)
{
	const hec_tokenizer *tokenizer = w->p->tokenizer;
	bool byte_level = tokenizer && tokenizer_is_byte_level(tokenizer);
	hec_status status = axis_open(w, count, a);
	for (int64_t i = 0; status == HEC_OK && i < count; i++) {
		const char *token = tokenizer ? hec_tokenizer_token(tokenizer, ids[i]) : NULL;
		a->labels[i] = token ? token_label(token, byte_level) : number_label(ids[i]);
		a->tokens[i] = token ? token : a->labels[i];
		a->sink[i] = (tokenizer && hec_tokenizer_is_special(tokenizer, ids[i])) ||
		             (causal && i == 0);
		if (!a->labels[i])
			status = attend_no_memory(&w->error);
	}
	return status;
}

/* ---- times ---- */

/* Keys that are moments become keys that are spans of time, each with the sum of its moments. */
static hec_status pool_times(look *w, int64_t queries, int64_t keys, attended *out)
{
	const double begin = w->p->sound.begin, position = w->p->sound.position,
		     seconds = w->p->sound.end - begin;
	int64_t used = keys;
	if (seconds < position * (double)keys)
		used = (int64_t)ceil(seconds / position);
	if (used < 1)
		used = 1;
	int64_t each = (used + TIMES_MOST - 1) / TIMES_MOST;
	if (each < POSITIONS_LEAST)
		each = POSITIONS_LEAST;
	const int64_t n = (used + each - 1) / each;
	const int64_t rows = out->choice.layers * out->choice.heads * queries;
	for (int64_t r = 0; r < rows; r++) { /* in place: what is written was read */
		for (int64_t k = 0; k < n; k++) {
			double sum = 0;
			for (int64_t s = k * each; s < (k + 1) * each && s < used; s++)
				sum += (double)out->weights[r * keys + s];
			out->weights[r * n + k] = (float)fmin(sum, 1);
		}
	}
	hec_status status = axis_open(w, n, &out->key);
	for (int64_t k = 0; status == HEC_OK && k < n; k++) {
		char *label = malloc(24);
		if (!label)
			return attend_no_memory(&w->error);
		snprintf(label, 24, "%.1f", begin + position * (double)(k * each));
		out->key.labels[k] = label;
		out->key.tokens[k] = label;
	}
	return status;
}

/* ---- all of it ---- */

static hec_status keep_spans(look *w, attended *out)
{
	const attend_pass *p = w->p;
	if (!p->spans || out->choice.kind != HEC_VIEW_SELF)
		return HEC_OK;
	out->spans = malloc((size_t)p->n * sizeof *out->spans);
	if (!out->spans)
		return attend_no_memory(&w->error);
	memcpy(out->spans, p->spans, (size_t)p->n * sizeof *out->spans);
	return HEC_OK;
}

static hec_status run_pass(look *w, attended *out)
{
	const attend_pass *p = w->p;
	const hec_view_kind kind = out->choice.kind;
	const bool cross = kind == HEC_VIEW_CROSS, decoder = kind == HEC_VIEW_DECODER;
	const bool causal = decoder || w->config->encoder.layers == 0;
	if (p->features && kind == HEC_VIEW_SELF)
		return attend_say(&w->error, HEC_ERR_UNSUPPORTED,
		                  "self-attention over every moment of sound is too much to show");
	hec_status status = prepare_inputs(w);
	if (status != HEC_OK)
		return status;
	const int64_t heard = w->config->encoder.position.max;
	const int64_t keys = decoder ? w->rows : p->features ? heard : p->n;
	const int64_t queries = cross || decoder ? w->rows : p->n;
	status = run_forward(w, queries, keys, out);
	if (status == HEC_OK)
		status = make_axis(w,
		                   cross     ? w->writes
		                   : decoder ? w->reads
		                             : p->ids,
		                   queries, causal, &out->query);
	if (status == HEC_OK && p->features && cross)
		status = pool_times(w, queries, keys, out);
	else if (status == HEC_OK)
		status = make_axis(w, decoder ? w->reads : p->ids, keys, causal, &out->key);
	return status == HEC_OK ? keep_spans(w, out) : status;
}

hec_status attend_pass_run(const attend_pass *p, const attend_choice *choice, attended *out,
                           char *error, size_t error_size)
{
	look w = {.p = p, .config = hec_model_config_of(p->model), .error = {error, error_size}};
	*out = (attended){.choice = *choice};
	hec_status status = run_pass(&w, out);
	free(w.reads);
	free(w.writes);
	if (status != HEC_OK)
		attended_free(out);
	return status;
}

static void axis_free(axis *a)
{
	for (int64_t i = 0; i < a->count; i++)
		free(a->labels[i]);
	free(a->tokens);
	free(a->labels);
	free(a->sink);
	*a = (axis){0};
}

void attended_free(attended *a)
{
	axis_free(&a->query);
	axis_free(&a->key);
	free(a->weights);
	free(a->spans);
	*a = (attended){0};
}

/* ---- one token ---- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "it" is no part of "with"; other scripts have no spaces to go by. */
static bool stands_alone(const char *text, const char *at, size_t length)
{
	return !(at > text && is_letter(at[-1]) && is_letter(at[0])) &&
	       !(is_letter(at[length]) && is_letter(at[length - 1]));
}

/* Bytes of the k-th (from 1) time that the word stands in the text. */
static bool find_word(const char *text, const char *word, size_t length, int64_t k, hec_span *out)
{
	for (const char *at = text; *at; at++) {
		if (strncmp(at, word, length) == 0 && stands_alone(text, at, length) && --k == 0) {
			*out = (hec_span){(size_t)(at - text), (size_t)(at - text) + length};
			return true;
		}
	}
	return false;
}

/* Tokens first … last of the choice. */
static bool find_tokens(const attended *a, const char *text, const char *which, int64_t *first,
                        int64_t *last, char *error, size_t size)
{
	char *end;
	if (which[0] == '#') {
		long long i = strtoll(which + 1, &end, 10);
		*first = *last = i;
		snprintf(error, size, "--token %.40s: the text has tokens #0 to #%" PRId64, which,
		         a->key.count - 1);
		return which[1] && !*end && i >= 0 && i < a->key.count;
	}
	const char *colon = strrchr(which, ':');
	int64_t k = colon && colon != which ? strtoll(colon + 1, &end, 10) : 0;
	bool numbered = k > 0 && !*end;
	size_t length = numbered ? (size_t)(colon - which) : strlen(which);
	hec_span span;
	snprintf(error, size, "--token %.40s: the text has no such word%s", which,
	         numbered ? " so many times" : "");
	if (!length || !find_word(text, which, length, numbered ? k : 1, &span))
		return false;
	*first = -1;
	for (int64_t i = 0; i < a->key.count; i++) {
		const hec_span *s = &a->spans[i];
		if (s->begin < span.end && s->end > span.begin) {
			*first = *first < 0 ? i : *first;
			*last = i;
		}
	}
	return *first >= 0;
}

bool attend_pick(attended *a, const char *text, const char *which, char *error, size_t error_size)
{
	if (a->choice.kind != HEC_VIEW_SELF || !a->spans) {
		snprintf(error, error_size, "--token is of the text: give --kind self");
		return false;
	}
	int64_t first = 0, last = 0;
	if (!find_tokens(a, text, which, &first, &last, error, error_size))
		return false;
	const int64_t keys = a->key.count, H = a->choice.heads, rows = a->choice.layers * H;
	look w = {.error = {error, error_size}};
	axis heads = {0};
	if (axis_open(&w, rows, &heads) != HEC_OK)
		return false;
	for (int64_t r = 0; r < rows; r++) {
		char *label = malloc(64);
		heads.labels[r] = label;
		heads.tokens[r] = label;
		if (!label) {
			axis_free(&heads);
			attend_no_memory(&w.error);
			return false;
		}
		snprintf(label, 64, "L%" PRId64 " head %" PRId64, r / H, r % H);
		/* Head r's rows lie behind row r: in place. */
		const float *from = a->weights + (r * keys + first) * keys;
		for (int64_t k = 0; k < keys; k++) {
			double sum = 0;
			for (int64_t t = 0; t <= last - first; t++)
				sum += (double)from[t * keys + k];
			a->weights[r * keys + k] = (float)(sum / (double)(last - first + 1));
		}
	}
	axis_free(&a->query);
	a->query = heads;
	a->choice = (attend_choice){HEC_VIEW_HEADS, 1, 1};
	return true;
}
