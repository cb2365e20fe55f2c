/* test_allocation.c — promise 7: a repeated call asks the system for no memory; and the memory of
 * attention grows with T + S, not with T · S. Built with --wrap for every way to ask for memory. */
#include "support/calls.h"
#include "support/models.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_long asked; /* how often */
static atomic_size_t bytes;

static void note(size_t size)
{
	atomic_fetch_add(&asked, 1);
	atomic_fetch_add(&bytes, size);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
	note(size);
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	note(n * size);
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	note(size);
	return __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	note(size);
	return __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
	note(size);
	return __real_posix_memalign(out, alignment, size);
}

static void the_counter_counts(void **state)
{
	(void)state;
	long before = atomic_load(&asked);
	hec_arena *arena;
	assert_int_equal(hec_arena_create(1000, &arena), HEC_OK);
	hec_arena_destroy(arena);
	assert_true(atomic_load(&asked) > before);
}

static void no_call_allocates_when_repeated(void **state)
{
	(void)state;
	for (int threads = 1; threads <= 3; threads++) {
		kit k = kit_open_at(5000, NULL, threads);
		static call list[CALLS_MOST];
		int n = calls_open(&k, HEC_F32, list);
		for (int i = 0; i < n; i++) {
			OK(&k, call_make(&list[i]));
			long before = atomic_load(&asked);
			for (int again = 0; again < 3; again++)
				OK(&k, call_make(&list[i]));
			CHECK(&k, atomic_load(&asked) == before, "%s asked for memory %ld times",
			      list[i].name, atomic_load(&asked) - before);
		}
		kit_close(&k);
	}
}

/* A whole step: forward with what backward needs, backward, and the arena rewound. */
static void a_training_step_of_a_layer_allocates_nothing(void **state)
{
	(void)state;
	for (int kind = 0; kind < LAYER_KINDS; kind++) {
		kit k = kit_open_at(5100, NULL, 2);
		layer l;
		layer_open(&l, &k, (layer_kind)kind, HEC_F32, 32, 2, 48, 0.1);
		layer_io io = layer_io_open(&l, 2, 19, 23);
		const hec_dropout_key key = {1, 2, 3};
		io.key = &key;
		long before = 0;
		for (int step = 0; step < 4; step++) {
			void *kept;
			if (step == 1)
				before = atomic_load(&asked);
			layer_pack(&l, k.ctx, k.arena); /* each step: the weights have changed */
			size_t mark = hec_arena_used(k.arena);
			OK(&k, layer_fwd(&l, k.ctx, k.arena, &io, &kept));
			OK(&k, layer_bwd(&l, k.ctx, k.arena, &io, kept));
			hec_arena_rewind(k.arena, mark);
		}
		CHECK(&k, atomic_load(&asked) == before, "%s: %ld allocations in three steps",
		      layer_name(l.kind), atomic_load(&asked) - before);
		kit_close(&k);
	}
}

/* Everything that is repeated: learning, packing, sources, tokens, beams that move. */
static void use_model(kit *k, hec_model *m, hec_model *grad, hec_session *s, model_batch *batch,
                      const hec_model_loss *loss, hec_tensor *logits)
{
	const int32_t from[] = {1, 0, 3, 3};
	double sum;
	int64_t count;
	hec_tensor ids, one;
	OK(k, hec_model_pack(k->ctx, m, true));
	OK(k, hec_model_learn(k->ctx, k->arena, m, &batch->input, loss, NULL, grad, &sum, &count));
	OK(k, hec_session_start(s, 2, &batch->input.ids, batch->length));
	OK(k, hec_tensor_reshape(&batch->input.decoder_ids, 2, (int64_t[]){4, 3}, &ids));
	OK(k, hec_session_step(s, &ids, NULL, logits));
	OK(k, hec_session_reorder(s, from));
	OK(k, hec_session_keep(s, (int64_t[]){1}, 1));
	OK(k, hec_tensor_slice(&batch->input.ids, 0, 0, 1, &one));
	OK(k, hec_session_add(s, 1, &one, batch->length));
	OK(k, hec_tensor_slice(&ids, 1, 0, 1, &ids));
	OK(k, hec_session_step(s, &ids, NULL, logits));
}

static void a_model_learns_and_writes_without_allocating(void **state)
{
	(void)state;
	kit k = kit_open(5150);
	for (int n = 0; n < MODEL_VARIANTS; n++) {
		hec_model_config config = model_variant(FORM_BOTH, n, HEC_HEAD_LM, 0.1);
		hec_model *m = model_open(&k, &config, HEC_F32), *grad = NULL;
		hec_session *s = NULL;
		hec_session_options o = HEC_SESSION_OPTIONS_INIT;
		o.sources = o.beams = 2;
		model_batch batch;
		hec_model_loss loss = HEC_MODEL_LOSS_INIT;
		batch_open(&batch, &k, m, 2, 5, 6, true);
		loss.targets = batch.input.decoder_ids;
		OK(&k, hec_model_create_like(m, &grad));
		OK(&k, hec_model_pack(k.ctx, m, true));
		OK(&k, hec_session_create(k.ctx, m, &o, &s));
		hec_tensor logits = make(&k, HEC_F32, SHAPE(4, 7));
		use_model(&k, m, grad, s, &batch, &loss, &logits);
		long before = atomic_load(&asked);
		use_model(&k, m, grad, s, &batch, &loss, &logits);
		CHECK(&k, atomic_load(&asked) == before, "variant %d: %ld allocations", n,
		      atomic_load(&asked) - before);
		hec_session_destroy(s);
		hec_model_destroy(m);
		hec_model_destroy(grad);
	}
	kit_close(&k);
}

static void packing_again_takes_no_more_of_the_arena(void **state)
{
	(void)state;
	kit k = kit_open(5200);
	layer l;
	layer_open(&l, &k, LAYER_ENCODER, HEC_F32, 48, 2, 96, 0);
	layer_pack(&l, k.ctx, k.arena);
	size_t used = hec_arena_used(k.arena);
	layer_pack(&l, k.ctx, k.arena);
	CHECK(&k, hec_arena_used(k.arena) == used, "a second pack took %zu bytes more",
	      hec_arena_used(k.arena) - used);
	kit_close(&k);
}

/* What a fresh context asks for while it runs attention forward and backward. The window keeps the
 * work small; scratch is sized by T and S. */
static size_t attention_bytes(int64_t T, int64_t S, int64_t H, int64_t D, bool backward)
{
	kit k = kit_open_at(5300, NULL, 2);
	hec_mask mask = HEC_MASK_INIT;
	mask.window = 16;
	hec_tensor q = make_zero(&k, HEC_F32, SHAPE(1, T, H, D)),
		   key = make_zero(&k, HEC_F32, SHAPE(1, S, H, D)),
		   v = make_zero(&k, HEC_F32, SHAPE(1, S, H, D)),
		   out = make(&k, HEC_F32, SHAPE(1, T, H, D)),
		   lse = make(&k, HEC_F32, SHAPE(1, H, T)),
		   dq = make(&k, HEC_F32, SHAPE(1, T, H, D)),
		   dk = make(&k, HEC_F32, SHAPE(1, S, H, D)),
		   dv = make(&k, HEC_F32, SHAPE(1, S, H, D));
	size_t before = atomic_load(&bytes);
	OK(&k, hec_attention_fwd(k.ctx, NULL, &q, &key, &v, &mask, &out, &lse));
	if (backward)
		OK(&k, hec_attention_bwd(k.ctx, NULL, &q, &key, &v, &mask, &out, &lse, &out, &dq,
		                         &dk, &dv, NULL));
	size_t took = atomic_load(&bytes) - before;
	kit_close(&k);
	return took;
}

static void the_memory_of_attention_grows_with_T_plus_S(void **state)
{
	(void)state;
	size_t small = attention_bytes(1024, 1024, 2, 16, true),
	       large = attention_bytes(4096, 4096, 2, 16, true);
	print_message("  (%zu bytes at T = S = 1024, %zu at 4096)\n", small, large);
	/* Four times the length: at most four times the memory, where T·S would be sixteen times. */
	assert_true(large <= 4 * small + 65536);
}

static void attention_over_16384_tokens_needs_less_than_64_MB(void **state)
{
	(void)state;
	/* Backward by its two parts, since it grows with T + S (the test above): the whole would take
	 * the reference minutes. One stored T×S matrix a thread would already break this. */
	size_t took = attention_bytes(16384, 16384, 8, 64, false) +
	              attention_bytes(16384, 512, 8, 64, true) +
	              attention_bytes(512, 16384, 8, 64, true);
	print_message("  (%.1f MB)\n", (double)took / 1e6);
	assert_true(took < 64000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_counter_counts),
		cmocka_unit_test(no_call_allocates_when_repeated),
		cmocka_unit_test(a_training_step_of_a_layer_allocates_nothing),
		cmocka_unit_test(a_model_learns_and_writes_without_allocating),
		cmocka_unit_test(packing_again_takes_no_more_of_the_arena),
		cmocka_unit_test(the_memory_of_attention_grows_with_T_plus_S),
		cmocka_unit_test(attention_over_16384_tokens_needs_less_than_64_MB),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
