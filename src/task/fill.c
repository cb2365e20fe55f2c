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

static hec_status check(hec_filler *f)
{
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

static hec_status filler_new(hec_filler **out)
{
	hec_filler *f = mem_zeros(1, sizeof *f);
	if (!f)
		return fail(HEC_ERR_MEMORY, "fill: no memory for a filler");
	f->encoding = (hec_encoding)HEC_ENCODING_INIT;
	*out = f;
	return HEC_OK;
}

static hec_status filler_finish(hec_status status, hec_filler *f, hec_filler **out)
{
	if (status == HEC_OK)
		status = check(f);
	if (status != HEC_OK)
		hec_filler_destroy(f);
	else
		*out = f;
	return status;
}

hec_status hec_filler_create(hec_ctx *ctx, const hec_model *model, const hec_tokenizer *tokenizer,
                             hec_filler **out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "fill: out is NULL");
	*out = NULL;
	hec_filler *f = NULL;
	HEC_TRY(filler_new(&f));
	return filler_finish(task_model_take("fill", ctx, model, tokenizer, &f->m), f, out);
}

hec_status hec_filler_load(hec_ctx *ctx, const char *dir, const hec_model_load_options *options,
                           hec_filler **out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "fill: out is NULL");
	*out = NULL;
	hec_filler *f = NULL;
	HEC_TRY(filler_new(&f));
	return filler_finish(task_model_load("fill", ctx, dir, options, &f->m), f, out);
}

void hec_filler_destroy(hec_filler *filler)
{
	if (!filler)
		return;
	task_model_free(&filler->m);
	batches_free(&filler->batches);
	hec_encoding_free(&filler->encoding);
	mem_free(filler);
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

typedef struct job {
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
} job;

/* The text with each [MASK] as the tokenizer writes it. */
static hec_status name_masks(job *j, const char **text, size_t *bytes)
{
	const char *mask = hec_filler_mask(j->f), *from = *text;
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
	HEC_TRY(GROW(&j->mended, &j->mended_room, room));
	for (size_t i = 0; i < *bytes;) {
		bool here = i + known <= *bytes && memcmp(from + i, MASK, known) == 0;
		memcpy(j->mended + n, here ? mask : from + i, here ? length : 1);
		n += here ? length : 1;
		i += here ? known : 1;
	}
	*text = j->mended;
	*bytes = n;
	return HEC_OK;
}

static hec_status encode(job *j, int64_t i)
{
	hec_encoding *e = &j->f->encoding;
	task_text text = {.text = j->texts[i], .lossy = j->o.lossy};
	if (!text.text)
		return fail(HEC_ERR_ARGUMENT, "fill: text %lld is NULL", (long long)i);
	text.bytes = j->bytes ? j->bytes[i] : strlen(text.text);
	HEC_TRY(name_masks(j, &text.text, &text.bytes));
	HEC_TRY(task_encode(&j->f->m, &text, e));
	int64_t masks = 0;
	for (size_t t = 0; t < e->n; t++)
		masks += e->ids[t] == j->f->mask;
	if (masks == 0)
		return fail(HEC_ERR_ARGUMENT, "the text has no %s to fill", hec_filler_mask(j->f));
	HEC_TRY(batch_input_copy(e, &j->inputs[i]));
	j->encoded++;
	j->out->first[i + 1] = j->out->first[i] + masks;
	return HEC_OK;
}

static hec_status encode_all(job *j)
{
	for (int64_t i = 0; i < j->n; i++) {
		hec_status status = encode(j, i);
		if (status != HEC_OK)
			return status == HEC_ERR_MEMORY ? status : fail_item(status, i);
	}
	return HEC_OK;
}

/* ---- the model ---- */

static hec_status keep_rows(void *user, int64_t input, const hec_tensor *rows)
{
	job *j = user;
	const batch_input *in = &j->inputs[input];
	const int64_t C = rows->shape[1];
	float *to = j->rows + j->out->first[input] * C;
	for (int64_t t = 0; t < in->n; t++)
		if (in->ids[t] == j->f->mask) {
			memcpy(to, (const float *)rows->data + t * C, (size_t)C * sizeof *to);
			to += C;
		}
	return HEC_OK;
}

static hec_status head_some(hec_ctx *ctx, hec_arena *arena, const job *j, float *from, int64_t n)
{
	const hec_model *model = j->f->m.model;
	const hec_model_config *c = hec_model_config_of(model);
	head_kept kept = {0};
	hec_tensor rows = hec_tensor_2d(from, HEC_F32, n, c->width);
	hec_tensor logits = hec_tensor_2d(j->logits, HEC_F32, n, c->vocab);
	hec_arena_rewind(arena, 0);
	return head_fwd(ctx, arena, model, NULL, &rows, &logits, &kept);
}

/* Bytes of the arena for n rows. */
static hec_status measure(const job *j, int64_t n, size_t *bytes)
{
	hec_ctx *dry = NULL;
	hec_arena *arena = NULL;
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	o.threads = 1;
	o.isa = hec_ctx_isa(j->f->m.ctx);
	hec_status status = hec_ctx_create_dry(&o, &dry);
	if (status == HEC_OK)
		status = arena_reserve(&arena);
	if (status == HEC_OK)
		status = head_some(dry, arena, j, j->rows, n);
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
static hec_status choose(const job *j, const float *logits, int64_t V, candidate *best, int64_t *n)
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
	const int64_t count = j->o.targets ? j->o.target_count : V;
	for (int64_t i = 0; i < count; i++) {
		int32_t id = j->o.targets ? j->o.targets[i] : (int32_t)i;
		keep(best, n, j->o.top, (candidate){logits[id], id});
	}
	for (int64_t i = 0; i < *n; i++)
		best[i].p = exp(best[i].p - most) / sum;
	return HEC_OK;
}

/* Ids beyond the tokenizer's are no text. */
static hec_status decode(const job *j, const int32_t *ids, size_t n, bool skip, int32_t *spare,
                         char **text, size_t *bytes)
{
	const hec_tokenizer *tokenizer = j->f->m.tokenizer;
	const int32_t pad = hec_tokenizer_role(tokenizer, "pad");
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		if (hec_tokenizer_token(tokenizer, ids[i]) && (n == 1 || ids[i] != pad))
			spare[count++] = ids[i];
	return hec_tokenizer_decode(tokenizer, spare, count, skip, text, bytes);
}

/* Mask number `mask` of text i, whose token is at `at`. */
static hec_status take_guesses(job *j, int64_t i, int64_t mask, int64_t at, const candidate *best,
                               int64_t n, int32_t *spare)
{
	const batch_input *in = &j->inputs[i];
	const bool alone = hec_filled_masks(j->out, i) == 1;
	hec_guess *guesses = &j->out->items[(j->out->first[i] + mask) * j->out->top];
	for (int64_t k = 0; k < n; k++) {
		hec_guess *guess = &guesses[k];
		char *text = NULL;
		guess->id = best[k].id;
		guess->score = best[k].p;
		HEC_TRY(decode(j, &guess->id, 1, false, spare, &text, &guess->token_bytes));
		guess->token = text;
		in->ids[at] = guess->id;
		hec_status status =
			decode(j, in->ids, (size_t)in->n, alone, spare, &text, &guess->text_bytes);
		in->ids[at] = j->f->mask;
		HEC_TRY(status);
		guess->text = text;
	}
	return HEC_OK;
}

typedef struct place {
	int64_t text, mask, at;
} place;

/* The mask after this one. */
static void step(const job *j, place *p)
{
	p->mask++;
	p->at++;
	if (p->mask == hec_filled_masks(j->out, p->text))
		*p = (place){.text = p->text + 1};
	while (p->text < j->n && j->inputs[p->text].ids[p->at] != j->f->mask)
		p->at++;
}

static hec_status guess_rows(job *j, int64_t n, candidate *best, int32_t *spare, place *p)
{
	const int64_t V = hec_model_config_of(j->f->m.model)->vocab;
	for (int64_t r = 0; r < n; r++, step(j, p)) {
		int64_t count = 0;
		HEC_TRY(choose(j, j->logits + r * V, V, best, &count));
		HEC_TRY(take_guesses(j, p->text, p->mask, p->at, best, count, spare));
	}
	return HEC_OK;
}

static hec_status make_items(job *j)
{
	const int64_t masks = j->out->first[j->n], top = j->out->top;
	size_t count;
	if (!size_mul((size_t)masks, (size_t)top, &count) ||
	    !(j->out->items = mem_zeros(count, sizeof *j->out->items)))
		return fail(HEC_ERR_MEMORY, "fill: no memory for %lld words for %lld masks",
		            (long long)top, (long long)masks);
	return HEC_OK;
}

static hec_status head_all(job *j, int64_t some, hec_arena *arena, candidate *best, int32_t *spare)
{
	const int64_t C = hec_model_config_of(j->f->m.model)->width, masks = j->out->first[j->n];
	place p = {.mask = -1, .at = -1};
	step(j, &p);
	for (int64_t r = 0; r < masks; r += some) {
		const int64_t n = min_i64(some, masks - r);
		HEC_TRY(head_some(j->f->m.ctx, arena, j, j->rows + r * C, n));
		HEC_TRY(guess_rows(j, n, best, spare, &p));
	}
	return HEC_OK;
}

static hec_status predict(job *j)
{
	const hec_model_config *c = hec_model_config_of(j->f->m.model);
	const int64_t some = min_i64(j->out->first[j->n], max_i64(1, LOGITS / c->vocab));
	size_t bytes = 0, count, longest = 1;
	for (int64_t i = 0; i < j->n; i++)
		longest = (size_t)max_i64((int64_t)longest, j->inputs[i].n);
	candidate *best = NULL;
	int32_t *spare = NULL;
	hec_arena *arena = NULL;
	hec_status status = HEC_ERR_MEMORY;
	if (size_mul((size_t)some, (size_t)c->vocab * sizeof *j->logits, &count) &&
	    (j->logits = mem_alloc(count)) && (best = mem_zeros((size_t)j->o.top, sizeof *best)) &&
	    (spare = mem_zeros(longest, sizeof *spare)))
		status = make_items(j);
	else
		(void)fail(status, "fill: no memory for %lld masks", (long long)some);
	if (status == HEC_OK)
		status = measure(j, some, &bytes);
	if (status == HEC_OK)
		status = hec_arena_create(bytes, &arena);
	if (status == HEC_OK)
		status = head_all(j, some, arena, best, spare);
	hec_arena_destroy(arena);
	mem_free(best);
	mem_free(spare);
	return status;
}

/* ---- all of it ---- */

static hec_status run(job *j)
{
	size_t count;
	const int64_t C = hec_model_config_of(j->f->m.model)->width, masks = j->out->first[j->n];
	if (!size_mul((size_t)masks, (size_t)C * sizeof *j->rows, &count) ||
	    !(j->rows = mem_alloc(count)))
		return fail(HEC_ERR_MEMORY, "fill: no memory for %lld masks", (long long)masks);
	batch_work work = {.model = &j->f->m,
	                   .want = BATCH_LAST,
	                   .inputs = j->inputs,
	                   .n = j->n,
	                   .tokens = j->o.batch,
	                   .give = keep_rows,
	                   .user = j,
	                   .progress = j->o.progress,
	                   .progress_user = j->o.user};
	return batches_run(&j->f->batches, &work);
}

static hec_status fill(job *j)
{
	j->inputs = mem_zeros((size_t)j->n, sizeof *j->inputs);
	if (!j->inputs)
		return fail(HEC_ERR_MEMORY, "fill: no memory for %lld texts", (long long)j->n);
	HEC_TRY(encode_all(j));
	HEC_TRY(run(j));
	return predict(j);
}

static void job_free(job *j)
{
	batch_inputs_free(j->inputs, j->encoded);
	mem_free(j->rows);
	mem_free(j->logits);
	mem_free(j->mended);
}

static hec_status take_options(job *j, const hec_fill_options *options)
{
	hec_fill_options *o = &j->o;
	const int64_t V = hec_model_config_of(j->f->m.model)->vocab;
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
	job j = {.f = filler, .o = HEC_FILL_OPTIONS_INIT, .n = n, .texts = texts, .bytes = bytes};
	HEC_TRY(take_options(&j, options));
	HEC_TRY(filled_create(n, j.o.top, &j.out));
	hec_status status = n > 0 ? fill(&j) : HEC_OK;
	job_free(&j);
	if (status == HEC_OK)
		*out = j.out;
	else
		hec_filled_free(j.out);
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
