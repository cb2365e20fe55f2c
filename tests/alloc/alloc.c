/* alloc.c — every allocation that the public calls make is refused once, one after the other.
 *
 * Each scenario below makes everything from nothing, calls, and takes everything down. It runs with
 * request 1 refused, then 2, and so on until none is refused any more:
 *   - the call that met the refusal says HEC_ERR_MEMORY and why, and nothing else goes wrong;
 *   - the same call made again works (nothing was left half-built), and the results of the whole
 *     scenario have the same bits as without any refusal;
 *   - at the end every block has been given back.
 * Then the same with every later request refused too, where the scenario ends at the failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "addresses.h"
#include "world.h"

#include <cmocka.h>

static world run_once(scenario *fn, long refused, bool forever)
{
	long before = refuse_live();
	world w = {.forever = forever, .bits = 0xcbf29ce484222325u};
	refuse_request(refused, forever);
	fn(&w);
	hec_arena_destroy(w.arena);
	hec_ctx_destroy(w.ctx);
	if (refuse_live() != before)
		fail_msg("request %ld refused: %ld blocks were not given back", refused,
		         refuse_live() - before);
	return w;
}

static void refuse_each(scenario *fn)
{
	world clean = run_once(fn, 0, false);
	long count = refuse_requests();
	assert_int_equal(clean.failures, 0);
	assert_true(count > 0);
	for (int forever = 0; forever < 2; forever++) {
		for (long n = 1;; n++) {
			world w = run_once(fn, n, forever);
			if (!refuse_fired()) {
				assert_int_equal(n, count + 1);
				break;
			}
			if (w.failures != 1)
				fail_msg("request %ld refused: %d calls said so", n, w.failures);
			if (!forever && w.bits != clean.bits)
				fail_msg("request %ld refused, the call made again: other bits", n);
		}
	}
	refuse_request(0, false);
	print_message("             %ld allocations\n", count);
}

#define SCENARIO(name)                                                                             \
	static void name##_when_memory_is_refused(void **state)                                    \
	{                                                                                          \
		(void)state;                                                                       \
		refuse_each(name);                                                                 \
	}

SCENARIO(contexts)
SCENARIO(arenas)
SCENARIO(plain_operations)
SCENARIO(norms)
SCENARIO(linears)
SCENARIO(from_ids_to_a_step)
SCENARIO(positions)
SCENARIO(attention)
SCENARIO(encoder_layer)
SCENARIO(decoder_layer)
SCENARIO(models)
SCENARIO(sessions)
SCENARIO(views)
SCENARIO(tokenizers_of_bytes)
SCENARIO(tokenizers_of_characters)
SCENARIO(tokenizer_files)

/* A repeated call asks the system for nothing. */
static void a_second_step_allocates_nothing(void **state)
{
	(void)state;
	world w = {.forever = false};
	hec_encoder_layer layer, grad;
	hec_tensor x, y, dx;
	assert_int_equal(create_ctx(&w, 0), HEC_OK);
	assert_int_equal(create_arena(&w), HEC_OK);
	assert_int_equal(make(&w, &x, 3, B, T, C, 0), HEC_OK);
	assert_int_equal(make(&w, &y, 3, B, T, C, 0), HEC_OK);
	assert_int_equal(make(&w, &dx, 3, B, T, C, 0), HEC_OK);
	assert_int_equal(encoder_setup(&w, &layer), HEC_OK);
	assert_int_equal(hec_encoder_layer_setup(&layer.config, &grad), HEC_OK);
	size_t mark = hec_arena_used(w.arena);
	for (int i = 0; i < 3; i++) {
		hec_param_alloc zeros = {.size = sizeof zeros, .ctx = w.ctx, .arena = w.arena};
		hec_arena_rewind(w.arena, mark);
		refuse_request(0, false);
		assert_int_equal(encoder_step(&w, &layer, &grad, &zeros, &x, &y, &dx), HEC_OK);
		if (i > 0)
			assert_int_equal(refuse_requests(), 0);
	}
	hec_arena_destroy(w.arena);
	hec_ctx_destroy(w.ctx);
}

/* An arena that is too small is an error that says so, at whichever size it runs out. */
static void an_arena_of_any_size_is_enough_or_an_error(void **state)
{
	(void)state;
	int worked = 0, refused = 0;
	for (size_t kib = 1; worked == 0; kib += kib / 16 + 1) {
		world w = {.forever = false};
		hec_encoder_layer layer, grad;
		hec_tensor x, y, dx;
		assert_int_equal(create_ctx(&w, 1), HEC_OK);
		assert_int_equal(hec_arena_create(kib << 10, &w.arena), HEC_OK);
		hec_param_alloc zeros = {.size = sizeof zeros, .ctx = w.ctx, .arena = w.arena};
		hec_status status = make(&w, &x, 3, B, T, C, 0);
		if (status == HEC_OK)
			status = make(&w, &y, 3, B, T, C, 0);
		if (status == HEC_OK)
			status = make(&w, &dx, 3, B, T, C, 0);
		if (status == HEC_OK)
			status = encoder_setup(&w, &layer);
		if (status == HEC_OK)
			status = hec_encoder_layer_setup(&layer.config, &grad);
		if (status == HEC_OK)
			status = encoder_step(&w, &layer, &grad, &zeros, &x, &y, &dx);
		if (status == HEC_OK) {
			worked++;
		} else {
			refused++;
			assert_int_equal(status, HEC_ERR_MEMORY);
			assert_non_null(strstr(hec_error_message(), "arena"));
		}
		hec_arena_destroy(w.arena);
		hec_ctx_destroy(w.ctx);
	}
	assert_true(refused > 10);
}

/* Under `ulimit -v` a session still measures itself, in as many addresses as there are. */
static void a_session_needs_no_more_addresses_than_memory(void **state)
{
	(void)state;
	world w = {.forever = false};
	addresses_limit((size_t)32 << 20);
	sessions(&w);
	assert_int_equal(w.failures, 0);
	addresses_limit(1000);
	hec_model *model = NULL;
	hec_session *session = NULL;
	assert_int_equal(small_model(&w, &model), HEC_OK);
	assert_int_equal(hec_session_create(w.ctx, model, NULL, &session), HEC_ERR_MEMORY);
	assert_non_null(strstr(hec_error_message(), "addresses"));
	assert_null(session);
	addresses_limit(0);
	assert_int_equal(hec_session_create(w.ctx, model, NULL, &session), HEC_OK);
	hec_session_destroy(session);
	hec_model_destroy(model);
	hec_arena_destroy(w.arena);
	hec_ctx_destroy(w.ctx);
}

static long requests_of_a_session(int threads)
{
	world w = {.forever = false};
	hec_model *model = NULL;
	hec_session *session = NULL;
	assert_int_equal(create_ctx(&w, threads), HEC_OK);
	assert_int_equal(small_model(&w, &model), HEC_OK);
	refuse_request(0, false);
	assert_int_equal(hec_session_create(w.ctx, model, NULL, &session), HEC_OK);
	long count = refuse_requests();
	hec_session_destroy(session);
	hec_model_destroy(model);
	hec_ctx_destroy(w.ctx);
	return count;
}

/* To be measured it needs no threads of its own, however many it will work with. */
static void a_session_starts_no_threads(void **state)
{
	(void)state;
	assert_int_equal(requests_of_a_session(1), requests_of_a_session(4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts_when_memory_is_refused),
		cmocka_unit_test(arenas_when_memory_is_refused),
		cmocka_unit_test(plain_operations_when_memory_is_refused),
		cmocka_unit_test(norms_when_memory_is_refused),
		cmocka_unit_test(linears_when_memory_is_refused),
		cmocka_unit_test(from_ids_to_a_step_when_memory_is_refused),
		cmocka_unit_test(positions_when_memory_is_refused),
		cmocka_unit_test(attention_when_memory_is_refused),
		cmocka_unit_test(encoder_layer_when_memory_is_refused),
		cmocka_unit_test(decoder_layer_when_memory_is_refused),
		cmocka_unit_test(models_when_memory_is_refused),
		cmocka_unit_test(sessions_when_memory_is_refused),
		cmocka_unit_test(views_when_memory_is_refused),
		cmocka_unit_test(tokenizers_of_bytes_when_memory_is_refused),
		cmocka_unit_test(tokenizers_of_characters_when_memory_is_refused),
		cmocka_unit_test(tokenizer_files_when_memory_is_refused),
		cmocka_unit_test(a_second_step_allocates_nothing),
		cmocka_unit_test(an_arena_of_any_size_is_enough_or_an_error),
		cmocka_unit_test(a_session_needs_no_more_addresses_than_memory),
		cmocka_unit_test(a_session_starts_no_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
