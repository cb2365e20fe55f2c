/* embed.c — text → ids → hidden states → one vector. */
#include <hecate/embed.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "base/status.h"
#include "model/model.h"
#include "task/sentence_files.h"
#include "task/text_inputs.h"

#define POOLINGS 6
#define POOLING_ALL ((1 << POOLINGS) - 1)
#define LEAST_LENGTH 1e-12 /* of a vector that is divided by it, as in PyTorch */

struct hec_embedder {
	task_model m;
	batches batches;
	hec_pooling pooling[SENTENCE_POOLINGS]; /* [poolings] */
	size_t poolings;
	bool normalize, decodes;
	int64_t longest;
};

/* ---- making one ---- */

static hec_status finish(void *handle, const char *dir, const hec_model_load_options *options)
{
	hec_embedder *e = handle;
	(void)dir, (void)options;
	e->pooling[0] = HEC_POOL_MEAN;
	e->poolings = 1;
	e->longest = e->m.longest;
	if (hec_model_config_of(e->m.model)->front.features > 0)
		return fail(HEC_ERR_UNSUPPORTED, "embed: this model hears, and reads no text: "
		                                 "transcribe with it");
	return model_embeds_with_decoder(e->m.model, &e->decodes);
}

static void clear(void *handle)
{
	hec_embedder *e = handle;
	batches_free(&e->batches);
}

static const task_kind kind = {
	.name = "embed", .bytes = sizeof(hec_embedder), .finish = finish, .clear = clear};

static void take_files(hec_embedder *e, const sentence_files *files)
{
	memcpy(e->pooling, files->pooling, sizeof e->pooling);
	e->poolings = files->poolings;
	e->normalize = files->normalize;
	if (files->longest > 0)
		e->longest = min_i64(files->longest, e->m.longest);
}

hec_status hec_embedder_load(hec_ctx *ctx, const char *dir, const hec_model_load_options *options,
                             hec_embedder **out)
{
	sentence_files files;
	if (out)
		*out = NULL;
	if (!dir)
		return fail(HEC_ERR_ARGUMENT, "embed: dir is NULL");
	HEC_TRY(sentence_files_read(dir, &files));
	hec_status status = task_load(&kind, ctx, files.model, options, out);
	if (status == HEC_OK)
		take_files(*out, &files);
	sentence_files_free(&files);
	return status;
}

hec_status hec_embedder_create(hec_ctx *ctx, const hec_model *model, const hec_tokenizer *tokenizer,
                               hec_embedder **out)
{
	return task_create(&kind, ctx, model, tokenizer, NULL, out);
}

void hec_embedder_destroy(hec_embedder *embedder)
{
	task_destroy(&kind, embedder);
}

const hec_model *hec_embedder_model(const hec_embedder *embedder)
{
	return embedder->m.model;
}

const hec_tokenizer *hec_embedder_tokenizer(const hec_embedder *embedder)
{
	return embedder->m.tokenizer;
}

int64_t hec_embedder_max_tokens(const hec_embedder *embedder)
{
	return embedder->longest;
}

int hec_embedder_pooling(const hec_embedder *embedder)
{
	int sum = 0;
	for (size_t i = 0; i < embedder->poolings; i++)
		sum |= (int)embedder->pooling[i];
	return sum;
}

bool hec_embedder_normalizes(const hec_embedder *embedder)
{
	return embedder->normalize;
}

/* ---- pooling ---- */

typedef struct embed_call {
	hec_embedder *e;
	hec_embed_options o;
	hec_pooling pooling[SENTENCE_POOLINGS]; /* [poolings] */
	size_t poolings;
	int64_t width;
	float *rows; /* [texts, width] written */
} embed_call;

/* x: [N, C] of a text; y: [C] written. */
static hec_status pool_rows(hec_ctx *ctx, hec_pooling how, const hec_tensor *x, const hec_tensor *y)
{
	const int64_t N = x->shape[0];
	const double count = (double)N;
	hec_tensor rows = *x;
	pool_args args = {.kind = POOL_SUM, .scale = 1, .x = &rows, .y = y};
	switch (how) {
	case HEC_POOL_MODEL:
	case HEC_POOL_FIRST:
		HEC_TRY(hec_tensor_slice(x, 0, 0, 1, &rows));
		break;
	case HEC_POOL_MAX:
		args.kind = POOL_MAX;
		break;
	case HEC_POOL_MEAN:
		args.scale = 1 / count;
		break;
	case HEC_POOL_MEAN_SQRT:
		args.scale = 1 / sqrt(count);
		break;
	case HEC_POOL_WEIGHTED:
		args.kind = POOL_RISING_SUM;
		args.scale = 2 / (count * (count + 1));
		break;
	case HEC_POOL_LAST:
		HEC_TRY(hec_tensor_slice(x, 0, N - 1, 1, &rows));
		break;
	}
	return BACKEND(ctx, HEC_F32, pool, &args);
}

/* A maximum passes NaN over, and a cosine of it would be 0: nothing later sees it. */
static hec_status check_finite(const char *what, const float *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return fail(HEC_ERR_FORMAT, "embed: number %lld of %s is %g", (long long)i,
			            what, (double)x[i]);
	return HEC_OK;
}

static hec_status pool_text(void *user, int64_t text, const hec_tensor *rows)
{
	embed_call *call = user;
	const int64_t n = rows->shape[0], C = rows->shape[1], width = call->width;
	hec_ctx *ctx = call->e->m.ctx;
	float *row = call->rows + text * width;
	HEC_TRY(check_finite("the model's hidden states", rows->data, n * C));
	for (size_t i = 0; i < call->poolings; i++) {
		const hec_tensor to = hec_tensor_1d(row + (int64_t)i * C, HEC_F32, C);
		HEC_TRY(pool_rows(ctx, call->pooling[i], rows, &to));
	}
	HEC_TRY(check_finite("the text's vector", row, width));
	if (call->o.normalize) {
		const hec_tensor all = hec_tensor_2d(row, HEC_F32, 1, width);
		HEC_TRY(BACKEND(ctx, HEC_F32, normalize,
		                &((normalize_args){.least = LEAST_LENGTH, .x = &all, .y = &all})));
	}
	return HEC_OK;
}

/* ---- the call ---- */

/* As asked for, or as the folder says. */
static void choose_pooling(embed_call *call)
{
	if (call->o.pooling == HEC_POOL_MODEL) {
		memcpy(call->pooling, call->e->pooling, sizeof call->pooling);
		call->poolings = call->e->poolings;
	}
	for (int i = 0; i < POOLINGS; i++)
		if (call->o.pooling >> i & 1)
			call->pooling[call->poolings++] = (hec_pooling)(1 << i);
}

static hec_status embed(embed_call *call, const text_inputs *texts)
{
	hec_embedder *e = call->e;
	batch_input *inputs = NULL;
	HEC_TRY(text_inputs_encode(&e->m, texts, &inputs));
	batch_work work = {.model = &e->m,
	                   .want = e->decodes ? BATCH_LAST : BATCH_HIDDEN,
	                   .inputs = inputs,
	                   .n = texts->n,
	                   .take_rows = pool_text,
	                   .user = call,
	                   .progress = call->o.progress,
	                   .progress_user = call->o.user};
	hec_status status = batches_run(&e->batches, &work);
	batch_inputs_free(inputs, texts->n);
	return status;
}

static hec_status embeddings_create(int64_t texts, int64_t width, hec_embeddings **out)
{
	size_t count;
	hec_embeddings *e = mem_zeros(1, sizeof *e);
	if (e && size_mul((size_t)texts, (size_t)width, &count))
		e->rows = mem_zeros(count + 1, sizeof *e->rows);
	if (!e || !e->rows) {
		mem_free(e);
		return fail(HEC_ERR_MEMORY, "embed: no memory for %lld vectors of %lld",
		            (long long)texts, (long long)width);
	}
	e->texts = texts;
	e->width = width;
	*out = e;
	return HEC_OK;
}

hec_status hec_embed(hec_embedder *embedder, int64_t n, const char *const *texts,
                     const size_t *bytes, const hec_embed_options *options, hec_embeddings **out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "embed: out is NULL");
	*out = NULL;
	if (!embedder)
		return fail(HEC_ERR_ARGUMENT, "embed: the embedder is NULL");
	embed_call call = {.e = embedder, .o = HEC_EMBED_OPTIONS_INIT};
	hec_embeddings *made = NULL;
	HEC_TRY(options_take("hec_embed_options", &call.o, sizeof call.o, options));
	if (call.o.pooling < 0 || call.o.pooling > POOLING_ALL)
		return fail(HEC_ERR_ARGUMENT,
		            "embed: pooling is %d; a sum of %d ways is at most %d", call.o.pooling,
		            POOLINGS, POOLING_ALL);
	choose_pooling(&call);
	call.o.normalize = call.o.normalize || embedder->normalize;
	const text_inputs t = {.n = n,
	                       .texts = texts,
	                       .bytes = bytes,
	                       .longest = embedder->longest,
	                       .truncate = call.o.truncate,
	                       .lossy = call.o.lossy};
	HEC_TRY(text_inputs_check(&embedder->m, &t));
	call.width = hec_model_config_of(embedder->m.model)->width * (int64_t)call.poolings;
	HEC_TRY(embeddings_create(n, call.width, &made));
	call.rows = mem_own(made->rows);
	hec_status status = n > 0 ? embed(&call, &t) : HEC_OK;
	if (status == HEC_OK)
		*out = made;
	else
		hec_embeddings_free(made);
	return status;
}

void hec_embeddings_free(hec_embeddings *embeddings)
{
	if (!embeddings)
		return;
	mem_free(mem_own(embeddings->rows));
	mem_free(embeddings);
}

static double length_of(const float *x, int64_t n)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += (double)x[i] * x[i];
	return sqrt(sum);
}

double hec_cosine(const float *a, const float *b, int64_t width)
{
	const double lengths = length_of(a, width) * length_of(b, width);
	double dot = 0;
	for (int64_t i = 0; i < width; i++)
		dot += (double)a[i] * b[i];
	return lengths > 0 ? dot / lengths : 0;
}
