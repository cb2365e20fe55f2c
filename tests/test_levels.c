/* test_levels.c — one model and contexts of every level, made and destroyed in any order around it: what
 * it gives has always the bits of a fresh model at that level. */
#include <stdlib.h>
#include <string.h>

#include <hecate/decode.h>
#include <hecate/trainer.h>

#include "support/models.h"
#include "support/scratch.h"

enum { CONTEXTS = 3, STEPS = 60, LENGTH = 4, ROWS = 3 };

typedef struct walk {
	kit k;
	hec_ctx *ctx[CONTEXTS]; /* NULL: not there now */
	hec_model *model;       /* what is walked around */
	hec_model *fresh;       /* the same numbers in a block of its own, packed for nobody */
	model_batch batch;
} walk;

static const char *draw_level(kit *k)
{
	int n = 0;
	for (int i = 0; hec_isa_name(i); i++)
		n += hec_isa_available(i);
	int chosen = (int)draw_in(k, 0, n - 1), i = 0;
	while (!hec_isa_available(i) || chosen-- > 0)
		i++;
	return hec_isa_name(i);
}

static hec_ctx *open_ctx(const kit *k, const char *isa)
{
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	hec_ctx *ctx = NULL;
	o.isa = isa;
	o.threads = 2;
	OK(k, hec_ctx_create(&o, &ctx));
	return ctx;
}

/* One of the contexts, made where it is not there. */
static hec_ctx *draw_ctx(walk *w)
{
	hec_ctx **ctx = &w->ctx[draw_in(&w->k, 0, CONTEXTS - 1)];
	if (!*ctx)
		*ctx = open_ctx(&w->k, draw_level(&w->k));
	return *ctx;
}

static void copy_numbers(walk *w, const hec_model *from, hec_model **to)
{
	const hec_tensor x = hec_model_block(from);
	OK(&w->k, hec_model_create_like(from, to));
	hec_tensor y = hec_model_block(*to);
	memcpy(y.data, x.data, (size_t)x.shape[0] * sizeof(float));
}

/* ---- what is done with it ---- */

static void replace_a_context(walk *w)
{
	hec_ctx **ctx = &w->ctx[draw_in(&w->k, 0, CONTEXTS - 1)];
	hec_ctx_destroy(*ctx);
	*ctx = draw_in(&w->k, 0, 1) ? open_ctx(&w->k, draw_level(&w->k)) : NULL;
}

static void pack(walk *w)
{
	OK(&w->k, hec_model_pack(draw_ctx(w), w->model, draw_in(&w->k, 0, 1)));
}

static void unpack(walk *w)
{
	OK(&w->k, hec_model_unpack(draw_ctx(w), w->model));
	hec_tensor got = hec_model_block(w->model), want = hec_model_block(w->fresh);
	check_same_bits(&w->k, "unpacked", &got, &want);
}

/* A context in which the model can run. Where its weights exist only as another level packed them, that
 * is said, and packing mends it. */
static hec_ctx *ready(walk *w, hec_tensor *logits)
{
	kit *k = &w->k;
	hec_ctx *ctx = draw_ctx(w);
	*logits = logits_open(k, w->model, &w->batch.input);
	hec_model_output out = {.size = sizeof out, .logits = *logits};
	hec_status status =
		hec_model_fwd(ctx, k->arena, w->model, &w->batch.input, NULL, &out, NULL);
	if (status == HEC_OK)
		return ctx;
	expect_error(k, __FILE__, __LINE__, "forward", status, HEC_ERR_UNSUPPORTED,
	             "hec_model_pack", hec_ctx_isa(ctx), (char *)NULL);
	CHECK(k, !hec_model_block(w->model).data, "a model that has its block is refused");
	OK(k, hec_model_pack(ctx, w->model, false));
	OK(k, hec_model_fwd(ctx, k->arena, w->model, &w->batch.input, NULL, &out, NULL));
	return ctx;
}

static void run(walk *w)
{
	kit *k = &w->k;
	hec_tensor got;
	hec_ctx *ctx = ready(w, &got), *other = open_ctx(k, hec_ctx_isa(ctx));
	hec_model_output out = {.size = sizeof out,
	                        .logits = logits_open(k, w->fresh, &w->batch.input)};
	OK(k, hec_model_fwd(other, k->arena, w->fresh, &w->batch.input, NULL, &out, NULL));
	check_same_bits(k, "logits", &got, &out.logits);
	hec_ctx_destroy(other);
}

/* What a session of its own writes for the batch's sources. */
static hec_decoded *decode(walk *w, hec_ctx *ctx, const hec_model *model)
{
	const kit *k = &w->k;
	const int64_t S = w->batch.input.ids.shape[1];
	const int32_t *ids[ROWS], *first = w->batch.input.ids.data;
	int64_t lengths[ROWS];
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	hec_decode_options search = HEC_DECODE_OPTIONS_INIT;
	hec_session *session = NULL;
	hec_decoded *out;
	for (int i = 0; i < ROWS; i++) {
		ids[i] = first + i * S;
		lengths[i] = w->batch.length[i];
	}
	o.sources = search.beams = o.beams = 2;
	search.max_tokens = LENGTH;
	OK(k, hec_session_create(ctx, model, &o, &session));
	OK(k, hec_decode(session, ROWS, ids, lengths, &search, &out));
	hec_session_destroy(session);
	return out;
}

static void decode_both(walk *w)
{
	hec_tensor logits;
	hec_ctx *ctx = ready(w, &logits), *other = open_ctx(&w->k, hec_ctx_isa(ctx));
	hec_decoded *got = decode(w, ctx, w->model), *want = decode(w, other, w->fresh);
	for (int i = 0; i < ROWS; i++) {
		const hec_hypothesis *a = hec_decoded_at(got, i, 0),
				     *b = hec_decoded_at(want, i, 0);
		CHECK(&w->k,
		      a->n == b->n && memcmp(a->ids, b->ids, (size_t)a->n * sizeof *a->ids) == 0 &&
		              memcmp(&a->score, &b->score, sizeof a->score) == 0,
		      "source %d: %lld tokens, score %.17g; fresh %lld, %.17g", i, (long long)a->n,
		      a->score, (long long)b->n, b->score);
	}
	hec_decoded_free(got);
	hec_decoded_free(want);
	hec_ctx_destroy(other);
}

static void learn_a_step(walk *w, hec_ctx *ctx, hec_model *model)
{
	const kit *k = &w->k;
	hec_trainer_options o = HEC_TRAINER_OPTIONS_INIT;
	hec_trainer *trainer = NULL;
	o.lr = 1e-2;
	o.warmup = 0;
	o.max_rows = ROWS;
	o.max_tokens = 2 * ROWS * LENGTH;
	o.max_source = o.max_target = LENGTH;
	hec_batch batch = {.size = sizeof batch,
	                   .input = &w->batch.input,
	                   .targets = w->batch.input.decoder_ids};
	const hec_batch *batches[] = {&batch};
	OK(k, hec_trainer_create(ctx, model, &o, &trainer));
	OK(k, hec_trainer_step(trainer, batches, 1));
	hec_trainer_destroy(trainer);
}

static void learn_both(walk *w)
{
	hec_ctx *ctx = draw_ctx(w), *other = open_ctx(&w->k, hec_ctx_isa(ctx));
	hec_model *fresh;
	copy_numbers(w, w->fresh, &fresh);
	learn_a_step(w, ctx, w->model);
	learn_a_step(w, other, fresh);
	hec_ctx_destroy(other);
	hec_model_destroy(w->fresh);
	copy_numbers(w, fresh, &w->fresh);
	hec_model_destroy(fresh);
	unpack(w); /* the numbers are compared there */
}

static void save_and_load(walk *w)
{
	char path[SCRATCH_PATH];
	OK(&w->k, hec_model_save(draw_ctx(w), w->model, HEC_F32, scratch_fresh(path)));
	hec_model_destroy(w->model);
	OK(&w->k, hec_model_load(draw_ctx(w), path, NULL, &w->model));
}

static void (*const deeds[])(walk *) = {
	replace_a_context, replace_a_context, pack,          unpack,       run,
	decode_both,       learn_both,        save_and_load, save_and_load};

static void walk_around(uint64_t seed)
{
	walk w = {.k = kit_open(seed)};
	kit *k = &w.k;
	hec_model_config c = model_variant(FORM_BOTH, (int)(seed % 9), HEC_HEAD_LM, 0);
	c.width *= 8;
	c.vocab = 67;
	c.eos_id = 0;
	c.start_id = 1;
	w.model = model_open(k, &c, HEC_F32);
	copy_numbers(&w, w.model, &w.fresh);
	batch_open(&w.batch, k, w.model, ROWS, LENGTH, LENGTH, true);
	for (int i = 0; i < STEPS; i++)
		deeds[draw_in(k, 0, sizeof deeds / sizeof *deeds - 1)](&w);
	for (int i = 0; i < CONTEXTS; i++)
		hec_ctx_destroy(w.ctx[i]);
	hec_model_destroy(w.model);
	hec_model_destroy(w.fresh);
	kit_close(k);
}

static void one_model_among_contexts_that_come_and_go(void **state)
{
	(void)state;
	for (uint64_t seed = 9300; seed < 9312; seed++)
		walk_around(seed);
}

/* Contexts in turn get the place in memory of the one before: a model that took a context for another by
 * its address would take the packs of one level for those of the other. */
static void levels_in_turn_pack_one_model(void **state)
{
	(void)state;
	kit k = kit_open(9320);
	hec_model_config c = model_variant(FORM_DECODER, 0, HEC_HEAD_LM, 0);
	hec_model *model = model_open(&k, &c, HEC_F32);
	for (int i = 0; i < 3; i++) {
		for (int level = 0; hec_isa_name(level); level++) {
			if (!hec_isa_available(level))
				continue;
			hec_ctx *ctx = open_ctx(&k, hec_isa_name(level));
			OK(&k, hec_model_pack(ctx, model, true));
			OK(&k, hec_model_pack(ctx, model, false));
			hec_ctx_destroy(ctx);
		}
	}
	hec_model_destroy(model);
	kit_close(&k);
}

/* A dry context copies nothing: what exists only as a pack would be gone. */
static void a_dry_context_does_not_lose_what_is_only_packed(void **state)
{
	(void)state;
	kit k = kit_open(9340);
	char path[SCRATCH_PATH];
	hec_model_config c = model_variant(FORM_DECODER, 0, HEC_HEAD_LM, 0);
	hec_model *made = model_open(&k, &c, HEC_F32), *loaded;
	hec_ctx *dry;
	OK(&k, hec_model_save(k.ctx, made, HEC_F32, scratch_fresh(path)));
	OK(&k, hec_model_load(k.ctx, path, NULL, &loaded));
	OK(&k, hec_ctx_create_dry(NULL, &dry));
	hec_model *empty;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_model_load(dry, path, NULL, &empty), "dry");
	if (!hec_model_block(loaded).data) { /* a level that packs */
		FAILS(&k, HEC_ERR_ARGUMENT, hec_model_unpack(dry, loaded), "dry");
		FAILS(&k, HEC_ERR_ARGUMENT, hec_model_pack(dry, loaded, true), "dry");
	}
	OK(&k, hec_model_unpack(k.ctx, loaded));
	const hec_tensor x = hec_model_block(made), y = hec_model_block(loaded);
	assert_memory_equal(x.data, y.data, (size_t)x.shape[0] * sizeof(float));
	hec_ctx_destroy(dry);
	hec_model_destroy(loaded);
	hec_model_destroy(made);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_in_turn_pack_one_model),
		cmocka_unit_test(a_dry_context_does_not_lose_what_is_only_packed),
		cmocka_unit_test(one_model_among_contexts_that_come_and_go),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
