/* fill.c — text → ids → hidden states → the head at the masks alone → the most probable tokens.
 *
 * A vocabulary may have 250,000 words: only the rows of masks go through the head, some at a time, so that
 * logits of all positions never exist. */
#include <hecate/fill.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/quote.h"
#include "base/size.h"
#include "base/status.h"
#include "model/head.h"
#include "task/batches.h"
#include "task/encode.h"
#include "tensor/arena.h"

#define TOP_MOST 1000
#define MASK "[MASK]"
#define LOGITS ((int64_t)16 << 20) /* at a time */

struct hec_filler {
	task_model m;
	batches batches;
	hec_encoding encoding;
	int32_t mask;
};

struct hec_filled {
	hec_guess *items; /* of all masks, `top` for each */
	int64_t *first;   /* [texts + 1] masks before each text */
	int64_t texts, top;
};

/* ---- making one ---- */

static hec_status find_mask(void *handle, const char *dir, const hec_model_load_options *options)
{
	hec_filler *f = handle;
	(void)dir, (void)options;
	const hec_model_config *c = hec_model_config_of(f->m.model);
	const bool writes = c->head == HEC_HEAD_LM && c->encoder.layers > 0;
	if (c->head != HEC_HEAD_MASKED && !writes)
		return fail(HEC_ERR_UNSUPPORTED,
		            "fill: the model has no head that fills in masked words (…ForMaskedLM, "
		            "BART)");
	f->mask = hec_tokenizer_role(f->m.tokenizer, "mask");
	static const char *const names[] = {MASK, "<mask>"};
	for (int i = 0; f->mask < 0 && i < 2; i++)
		f->mask = hec_tokenizer_id(f->m.tokenizer, names[i]);
	if (f->mask < 0)
		return fail(HEC_ERR_UNSUPPORTED, "fill: the tokenizer has no mask token%s",
		            writes ? "; ask this model by a prompt: hecate generate" : "");
	return HEC_OK;
}

static void clear(void *handle)
{
	hec_filler *f = handle;
	batches_free(&f->batches);
	hec_encoding_free(&f->encoding);
}

static const task_kind kind = {
	.name = "fill", .bytes = sizeof(hec_filler), .finish = find_mask, .clear = clear};

hec_status hec_filler_load(hec_ctx *ctx, const char *dir, const hec_model_load_options *options,
                           hec_filler **out)
{
	return task_load(&kind, ctx, dir, options, out);
}

hec_status hec_filler_create(hec_ctx *ctx, const hec_model *model, const hec_tokenizer *tokenizer,
                             hec_filler **out)
{
	return task_create(&kind, ctx, model, tokenizer, NULL, out);
}

void hec_filler_destroy(hec_filler *filler)
{
	task_destroy(&kind, filler);
}

const hec_model *hec_filler_model(const hec_filler *filler)
{
	return filler->m.model;
}

const hec_tokenizer *hec_filler_tokenizer(const hec_filler *filler)
{
	return filler->m.tokenizer;
}

const char *hec_filler_mask(const hec_filler *filler)
{
	return hec_tokenizer_token(filler->m.tokenizer, filler->mask);
}

hec_status hec_filler_target(hec_filler *filler, const char *word, int32_t *id, bool *exact)
{
	if (!filler || !word || !id || !exact)
		return fail(HEC_ERR_ARGUMENT, "fill: filler, word, id or exact is NULL");
	*id = hec_tokenizer_id(filler->m.tokenizer, word);
	*exact = *id >= 0;
	if (*exact)
		return HEC_OK;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.no_special = true;
	hec_encoding *e = &filler->encoding;
	HEC_TRY(hec_tokenizer_encode(filler->m.tokenizer, word, strlen(word), &o, e));
	if (e->n == 0) {
		char shown[QUOTE_TEXT];
		return fail(HEC_ERR_ARGUMENT, "fill: the target '%s' has no token",
		            quote(word, shown));
	}
	*id = e->ids[0];
	return HEC_OK;
}

/* ---- texts to ids ---- */

typedef struct fill_call {
	hec_filler *f;
	hec_fill_options o;
	int64_t n;
	const char *const *texts;
	const size_t *bytes;
	batch_input *inputs; /* [n] */
	int64_t encoded;     /* of them */
	float *rows;         /* [masks, C] what the head is given */
	float *logits;       /* [some masks, V] */
	char *mended;        /* a text in which [MASK] has been replaced */
	size_t mended_room;
	hec_filled *out;
} fill_call;

/* The text with each [MASK] as the tokenizer writes it. */
static hec_status name_masks(fill_call *call, const char **text, size_t *bytes)
{
	const char *mask = hec_filler_mask(call->f), *from = *text;
	const size_t length = strlen(mask), known = strlen(MASK);
	size_t n = 0, count = 0, room;
	if (strcmp(mask, MASK) == 0)
		return HEC_OK;
	for (size_t i = 0; i + known <= *bytes; i++)
		count += memcmp(from + i, MASK, known) == 0;
	if (count == 0)
		return HEC_OK;
	if (!size_mul(count, length, &room) || !size_add(room, *bytes, &room))
		return fail(HEC_ERR_MEMORY, "fill: a text of %zu bytes is too long", *bytes);
	HEC_TRY(GROW(&call->mended, &call->mended_room, room));
	for (size_t i = 0; i < *bytes;) {
		bool here = i + known <= *bytes && memcmp(from + i, MASK, known) == 0;
		memcpy(call->mended + n, here ? mask : from + i, here ? length : 1);
		n += here ? length : 1;
		i += here ? known : 1;
	}
	*text = call->mended;
	*bytes = n;
	return HEC_OK;
}

static hec_status encode(fill_call *call, int64_t i)
{
	hec_encoding *e = &call->f->encoding;
	task_text text = {.text = call->texts[i], .lossy = call->o.lossy};
	if (!text.text)
		return fail(HEC_ERR_ARGUMENT, "fill: text %lld is NULL", (long long)i);
	text.bytes = call->bytes ? call->bytes[i] : strlen(text.text);
	HEC_TRY(name_masks(call, &text.text, &text.bytes));
	HEC_TRY(task_encode(&call->f->m, &text, e));
	int64_t masks = 0;
	for (size_t t = 0; t < e->n; t++)
		masks += e->ids[t] == call->f->mask;
	if (masks == 0)
		return fail(HEC_ERR_ARGUMENT, "the text has no %s to fill",
		            hec_filler_mask(call->f));
	HEC_TRY(batch_input_copy(e, &call->inputs[i]));
	call->encoded++;
	call->out->first[i + 1] = call->out->first[i] + masks;
	return HEC_OK;
}

static hec_status encode_all(fill_call *call)
{
	for (int64_t i = 0; i < call->n; i++) {
		hec_status status = encode(call, i);
		if (status != HEC_OK)
			return status == HEC_ERR_MEMORY ? status : fail_item(status, i);
	}
	return HEC_OK;
}

/* ---- the model ---- */

static hec_status keep_rows(void *user, int64_t input, const hec_tensor *rows)
{
	fill_call *call = user;
	const batch_input *in = &call->inputs[input];
	const int64_t C = rows->shape[1];
	float *to = call->rows + call->out->first[input] * C;
	for (int64_t t = 0; t < in->n; t++)
		if (in->ids[t] == call->f->mask) {
			memcpy(to, (const float *)rows->data + t * C, (size_t)C * sizeof *to);
			to += C;
		}
	return HEC_OK;
}

static hec_status head_some(hec_ctx *ctx, hec_arena *arena, const fill_call *call, float *from,
                            int64_t n)
{
	const hec_model *model = call->f->m.model;
	const hec_model_config *c = hec_model_config_of(model);
	head_kept kept = {0};
	hec_tensor rows = hec_tensor_2d(from, HEC_F32, n, c->width);
	hec_tensor logits = hec_tensor_2d(call->logits, HEC_F32, n, c->vocab);
	hec_arena_rewind(arena, 0);
	return head_fwd(ctx, arena, model, NULL, &rows, &logits, &kept);
}

/* Bytes of the arena for n rows. */
static hec_status measure_head(const fill_call *call, int64_t n, size_t *bytes)
{
	hec_ctx *dry = NULL;
	hec_arena *arena = NULL;
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	o.threads = 1;
	o.isa = hec_ctx_isa(call->f->m.ctx);
	hec_status status = hec_ctx_create_dry(&o, &dry);
	if (status == HEC_OK)
		status = arena_reserve(&arena);
	if (status == HEC_OK)
		status = head_some(dry, arena, call, call->rows, n);
	if (status == HEC_OK)
		*bytes = hec_arena_peak(arena);
	hec_arena_destroy(arena);
	hec_ctx_destroy(dry);
	return status;
}

/* ---- predictions ---- */

typedef struct candidate {
	double p;
	int32_t id;
} candidate;

static bool better(const candidate *a, const candidate *b)
{
	return a->p != b->p ? a->p > b->p : a->id < b->id;
}

static void keep(candidate *best, int64_t *n, int64_t top, candidate c)
{
	if (*n == top && !better(&c, &best[top - 1]))
		return;
	for (int64_t i = 0; i < *n; i++)
		if (best[i].id == c.id) /* a target that was named twice */
			return;
	int64_t at = *n < top ? (*n)++ : top - 1;
	for (; at > 0 && better(&c, &best[at - 1]); at--)
		best[at] = best[at - 1];
	best[at] = c;
}

/* The best of one row of logits; how many. */
static hec_status choose(const fill_call *call, const float *logits, int64_t V, candidate *best,
                         int64_t *n)
{
	double most = -INFINITY, sum = 0;
	for (int64_t i = 0; i < V; i++) {
		if (!isfinite(logits[i]))
			return fail(HEC_ERR_FORMAT, "fill: the model's logit of token %lld is %g",
			            (long long)i, (double)logits[i]);
		most = fmax(most, logits[i]);
	}
	for (int64_t i = 0; i < V; i++)
		sum += exp(logits[i] - most);
	*n = 0;
	const int64_t count = call->o.targets ? call->o.target_count : V;
	for (int64_t i = 0; i < count; i++) {
		int32_t id = call->o.targets ? call->o.targets[i] : (int32_t)i;
		keep(best, n, call->o.top, (candidate){logits[id], id});
	}
	for (int64_t i = 0; i < *n; i++)
		best[i].p = exp(best[i].p - most) / sum;
	return HEC_OK;
}

/* Ids beyond the tokenizer's are no text. */
static hec_status decode(const fill_call *call, const int32_t *ids, size_t n, bool skip,
                         int32_t *spare, char **text, size_t *bytes)
{
	const hec_tokenizer *tokenizer = call->f->m.tokenizer;
	const int32_t pad = hec_tokenizer_role(tokenizer, "pad");
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		if (hec_tokenizer_token(tokenizer, ids[i]) && (n == 1 || ids[i] != pad))
			spare[count++] = ids[i];
	return hec_tokenizer_decode(tokenizer, spare, count, skip, text, bytes);
}

/* Mask number `mask` of text i, whose token is at `at`. */
static hec_status take_guesses(fill_call *call, int64_t i, int64_t mask, int64_t at,
                               const candidate *best, int64_t n, int32_t *spare)
{
	const batch_input *in = &call->inputs[i];
	const bool alone = hec_filled_masks(call->out, i) == 1;
	hec_guess *guesses = &call->out->items[(call->out->first[i] + mask) * call->out->top];
	for (int64_t k = 0; k < n; k++) {
		hec_guess *guess = &guesses[k];
		char *text = NULL;
		guess->id = best[k].id;
		guess->score = best[k].p;
		HEC_TRY(decode(call, &guess->id, 1, false, spare, &text, &guess->token_bytes));
		guess->token = text;
		in->ids[at] = guess->id;
		hec_status status = decode(call, in->ids, (size_t)in->n, alone, spare, &text,
		                           &guess->text_bytes);
		in->ids[at] = call->f->mask;
		HEC_TRY(status);
		guess->text = text;
	}
	return HEC_OK;
}

typedef struct place {
	int64_t text, mask, at;
} place;

/* The mask after this one. */
static void step(const fill_call *call, place *p)
{
	p->mask++;
	p->at++;
	if (p->mask == hec_filled_masks(call->out, p->text))
		*p = (place){.text = p->text + 1};
	while (p->text < call->n && call->inputs[p->text].ids[p->at] != call->f->mask)
		p->at++;
}

static hec_status guess_rows(fill_call *call, int64_t n, candidate *best, int32_t *spare, place *p)
{
	const int64_t V = hec_model_config_of(call->f->m.model)->vocab;
	for (int64_t r = 0; r < n; r++, step(call, p)) {
		int64_t count = 0;
		HEC_TRY(choose(call, call->logits + r * V, V, best, &count));
		HEC_TRY(take_guesses(call, p->text, p->mask, p->at, best, count, spare));
	}
	return HEC_OK;
}

static hec_status make_items(fill_call *call)
{
	const int64_t masks = call->out->first[call->n], top = call->out->top;
	size_t count;
	if (!size_mul((size_t)masks, (size_t)top, &count) ||
	    !(call->out->items = mem_zeros(count, sizeof *call->out->items)))
		return fail(HEC_ERR_MEMORY, "fill: no memory for %lld words for %lld masks",
		            (long long)top, (long long)masks);
	return HEC_OK;
}

static hec_status head_all(fill_call *call, int64_t some, hec_arena *arena, candidate *best,
                           int32_t *spare)
{
	const int64_t C = hec_model_config_of(call->f->m.model)->width,
		      masks = call->out->first[call->n];
	place p = {.mask = -1, .at = -1};
	step(call, &p);
	for (int64_t r = 0; r < masks; r += some) {
		const int64_t n = min_i64(some, masks - r);
		HEC_TRY(head_some(call->f->m.ctx, arena, call, call->rows + r * C, n));
		HEC_TRY(guess_rows(call, n, best, spare, &p));
	}
	return HEC_OK;
}

static hec_status predict(fill_call *call)
{
	const hec_model_config *c = hec_model_config_of(call->f->m.model);
	const int64_t some = min_i64(call->out->first[call->n], max_i64(1, LOGITS / c->vocab));
	size_t bytes = 0, count, longest = 1;
	for (int64_t i = 0; i < call->n; i++)
		longest = (size_t)max_i64((int64_t)longest, call->inputs[i].n);
	candidate *best = NULL;
	int32_t *spare = NULL;
	hec_arena *arena = NULL;
	hec_status status = HEC_ERR_MEMORY;
	if (size_mul((size_t)some, (size_t)c->vocab * sizeof *call->logits, &count) &&
	    (call->logits = mem_alloc(count)) &&
	    (best = mem_zeros((size_t)call->o.top, sizeof *best)) &&
	    (spare = mem_zeros(longest, sizeof *spare)))
		status = make_items(call);
	else
		(void)fail(status, "fill: no memory for %lld masks", (long long)some);
	if (status == HEC_OK)
		status = measure_head(call, some, &bytes);
	if (status == HEC_OK)
		status = hec_arena_create(bytes, &arena);
	if (status == HEC_OK)
		status = head_all(call, some, arena, best, spare);
	hec_arena_destroy(arena);
	mem_free(best);
	mem_free(spare);
	return status;
}

/* ---- all of it ---- */

/* The hidden states of every mask. */
static hec_status read_masks(fill_call *call)
{
	size_t count;
	const int64_t C = hec_model_config_of(call->f->m.model)->width,
		      masks = call->out->first[call->n];
	if (!size_mul((size_t)masks, (size_t)C * sizeof *call->rows, &count) ||
	    !(call->rows = mem_alloc(count)))
		return fail(HEC_ERR_MEMORY, "fill: no memory for %lld masks", (long long)masks);
	batch_work work = {.model = &call->f->m,
	                   .want = BATCH_LAST,
	                   .inputs = call->inputs,
	                   .n = call->n,
	                   .tokens = call->o.batch,
	                   .take_rows = keep_rows,
	                   .user = call,
	                   .progress = call->o.progress,
	                   .progress_user = call->o.user};
	return batches_run(&call->f->batches, &work);
}

static hec_status fill_all(fill_call *call)
{
	call->inputs = mem_zeros((size_t)call->n, sizeof *call->inputs);
	if (!call->inputs)
		return fail(HEC_ERR_MEMORY, "fill: no memory for %lld texts", (long long)call->n);
	HEC_TRY(encode_all(call));
	HEC_TRY(read_masks(call));
	return predict(call);
}

static void fill_call_free(fill_call *call)
{
	batch_inputs_free(call->inputs, call->encoded);
	mem_free(call->rows);
	mem_free(call->logits);
	mem_free(call->mended);
}

static hec_status take_options(fill_call *call, const hec_fill_options *options)
{
	hec_fill_options *o = &call->o;
	const int64_t V = hec_model_config_of(call->f->m.model)->vocab;
	HEC_TRY(options_take("hec_fill_options", o, sizeof *o, options));
	if (o->top < 1 || o->top > TOP_MOST || o->batch < 1 || o->target_count < 0 ||
	    (o->targets && !o->target_count))
		return fail(HEC_ERR_ARGUMENT,
		            "fill: top %lld (1 to %d), batch %lld (1 or more), %lld targets",
		            (long long)o->top, TOP_MOST, (long long)o->batch,
		            (long long)o->target_count);
	o->top = min_i64(o->top, V);
	int64_t distinct = 0;
	for (int64_t i = 0; o->targets && i < o->target_count; i++) {
		if (o->targets[i] < 0 || o->targets[i] >= V)
			return fail(HEC_ERR_ARGUMENT, "fill: target %d; the model has %lld ids",
			            o->targets[i], (long long)V);
		bool again = false;
		for (int64_t k = 0; k < i; k++)
			again |= o->targets[k] == o->targets[i];
		distinct += !again;
	}
	if (o->targets)
		o->top = min_i64(o->top, distinct);
	return HEC_OK;
}

static hec_status filled_create(int64_t texts, int64_t top, hec_filled **out)
{
	hec_filled *f = mem_zeros(1, sizeof *f);
	if (f)
		f->first = mem_zeros((size_t)texts + 1, sizeof *f->first);
	if (!f || !f->first) {
		mem_free(f);
		return fail(HEC_ERR_MEMORY, "fill: no memory for %lld texts", (long long)texts);
	}
	f->texts = texts;
	f->top = top;
	*out = f;
	return HEC_OK;
}

hec_status hec_fill(hec_filler *filler, int64_t n, const char *const *texts, const size_t *bytes,
                    const hec_fill_options *options, hec_filled **out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "fill: out is NULL");
	*out = NULL;
	if (!filler || n < 0 || (n > 0 && !texts))
		return fail(HEC_ERR_ARGUMENT, "fill: %lld texts, filler %s, texts %s", (long long)n,
		            filler ? "given" : "NULL", texts ? "given" : "NULL");
	fill_call call = {
		.f = filler, .o = HEC_FILL_OPTIONS_INIT, .n = n, .texts = texts, .bytes = bytes};
	HEC_TRY(take_options(&call, options));
	HEC_TRY(filled_create(n, call.o.top, &call.out));
	hec_status status = n > 0 ? fill_all(&call) : HEC_OK;
	fill_call_free(&call);
	if (status == HEC_OK)
		*out = call.out;
	else
		hec_filled_free(call.out);
	return status;
}

int64_t hec_filled_masks(const hec_filled *filled, int64_t text)
{
	if (!filled || text < 0 || text >= filled->texts)
		return 0;
	return filled->first[text + 1] - filled->first[text];
}

const hec_guess *hec_filled_at(const hec_filled *filled, int64_t text, int64_t mask, int64_t rank)
{
	if (mask < 0 || mask >= hec_filled_masks(filled, text) || rank < 0 || rank >= filled->top)
		return NULL;
	return &filled->items[(filled->first[text] + mask) * filled->top + rank];
}

void hec_filled_free(hec_filled *filled)
{
	if (!filled)
		return;
	for (int64_t i = 0; filled->items && i < filled->first[filled->texts] * filled->top; i++) {
		mem_free(mem_own(filled->items[i].token));
		mem_free(mem_own(filled->items[i].text));
	}
	mem_free(filled->items);
	mem_free(filled->first);
	mem_free(filled);
}
