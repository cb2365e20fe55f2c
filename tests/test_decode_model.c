/* test_decode_model.c — decoding with real models: tests/golden/decode_models.txt holds what
 * Transformers writes with the same directories. */
#include <stdlib.h>
#include <string.h>

#include "support/searches.h"

#define MOST_SOURCES 16

/* The longest that any case has: so that one session serves several. */
static hec_session *open_session(const kit *k, const hec_model *model, int64_t sources,
                                 int64_t beams)
{
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	o.sources = sources;
	o.beams = beams;
	hec_session *session;
	OK(k, hec_session_create(k->ctx, model, &o, &session));
	return session;
}

static void models_write_what_they_write_with_transformers(void **state)
{
	(void)state;
	kit k = kit_open(1);
	FILE *f = searches_open(&k, "decode_models.txt");
	char word[64];
	hec_model *model = NULL;
	int searches = 0, models = 0;
	while (fscanf(f, "%63s", word) == 1) {
		if (strcmp(word, "model") == 0) {
			char name[32], folder[64], path[512];
			CHECK(&k, fscanf(f, "%31s", name) == 1, "a model without a name");
			snprintf(folder, sizeof folder, "decode_%s", name);
			searches_path(folder, path);
			hec_model_destroy(model);
			OK(&k, hec_model_load(k.ctx, path, NULL, &model));
			models++;
			continue;
		}
		search_case c;
		search_read(&k, f, &c);
		hec_session *session = open_session(&k, model, 1, c.o.beams);
		const int32_t *ids = c.ids;
		hec_decoded *out;
		OK(&k, hec_decode(session, 1, &ids, &c.n, &c.o, &out));
		for (int64_t i = 0; i < c.o.nbest; i++)
			search_check(&k, f, searches, &c, 1e-4, hec_decoded_at(out, 0, i));
		hec_decoded_free(out);
		hec_session_destroy(session);
		searches++;
	}
	assert_true(searches >= 100 && models >= 2);
	hec_model_destroy(model);
	fclose(f);
	kit_close(&k);
}

/* The same sources alone and in sessions of several sizes, at several numbers of threads. */
static void check_batches(const char *name, int threads, const hec_decode_options *o)
{
	kit k = kit_open_at(2, NULL, threads);
	char path[512];
	searches_path(name, path);
	hec_model *model;
	OK(&k, hec_model_load(k.ctx, path, NULL, &model));
	int64_t vocab = hec_model_config_of(model)->vocab;
	int32_t ids[MOST_SOURCES][12];
	const int32_t *at[MOST_SOURCES];
	int64_t length[MOST_SOURCES];
	for (int i = 0; i < MOST_SOURCES; i++) {
		at[i] = ids[i];
		length[i] = draw_in(&k, 1, 12);
		for (int j = 0; j < 12; j++)
			ids[i][j] = (int32_t)draw_in(&k, 1, vocab - 2);
	}
	hec_decoded *alone[MOST_SOURCES];
	hec_session *one = open_session(&k, model, 1, o->beams);
	for (int i = 0; i < MOST_SOURCES; i++) {
		hec_decode_options own = *o;
		own.first_stream = (uint64_t)i;
		OK(&k, hec_decode(one, 1, &at[i], &length[i], &own, &alone[i]));
	}
	for (int64_t places = 2; places <= MOST_SOURCES; places += 3) {
		hec_session *many = open_session(&k, model, places, o->beams);
		hec_decoded *out;
		OK(&k, hec_decode(many, MOST_SOURCES, at, length, o, &out));
		for (int64_t i = 0; i < MOST_SOURCES * o->nbest; i++) {
			const int64_t source = i / o->nbest, rank = i % o->nbest;
			const hec_hypothesis *a = hec_decoded_at(alone[source], 0, rank);
			const hec_hypothesis *b = hec_decoded_at(out, source, rank);
			CHECK(&k,
			      a->n == b->n && memcmp(a->ids, b->ids, (size_t)a->n * 4) == 0 &&
			              memcmp(&a->score, &b->score, sizeof a->score) == 0,
			      "source %lld of %s: %lld tokens, score %.17g alone; %lld, %.17g "
			      "among "
			      "%lld",
			      (long long)source, name, (long long)a->n, a->score, (long long)b->n,
			      b->score, (long long)places);
		}
		hec_decoded_free(out);
		hec_session_destroy(many);
	}
	for (int i = 0; i < MOST_SOURCES; i++)
		hec_decoded_free(alone[i]);
	hec_session_destroy(one);
	hec_model_destroy(model);
	kit_close(&k);
}

static void a_sentence_gets_the_same_bits_alone_and_in_a_batch(void **state)
{
	(void)state;
	const char *names[] = {"decode_marian_0", "decode_gpt2_0"};
	for (int i = 0; i < 2; i++) {
		for (int threads = 1; threads <= 3; threads += 2) {
			hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
			o.max_tokens = 20;
			check_batches(names[i], threads, &o);
			o.sample = true;
			o.top_p = 0.9;
			check_batches(names[i], threads, &o);
			o.sample = false;
			o.beams = 4;
			o.nbest = 2;
			check_batches(names[i], threads, &o);
		}
	}
}

static hec_status stop_at_three(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)phase, (void)done, (void)total;
	return ++*(int *)user == 3 ? HEC_ERR_CANCELLED : HEC_OK;
}

static void a_session_can_be_used_after_a_cancelled_call(void **state)
{
	(void)state;
	kit k = kit_open(3);
	char path[512];
	searches_path("decode_marian_0", path);
	hec_model *model;
	OK(&k, hec_model_load(k.ctx, path, NULL, &model));
	hec_session *session = open_session(&k, model, 2, 3);
	int32_t ids[3] = {5, 9, 0};
	const int32_t *at[3] = {ids, ids, ids};
	int64_t length[3] = {3, 2, 3};
	int calls = 0;
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	o.beams = 3;
	o.min_tokens = 9;
	o.max_tokens = 20;
	hec_decoded *first, *second;
	OK(&k, hec_decode(session, 3, at, length, &o, &first));
	o.progress = stop_at_three;
	o.user = &calls;
	FAILS(&k, HEC_ERR_CANCELLED, hec_decode(session, 3, at, length, &o, &second), "0 of 3");
	assert_null(second);
	o.progress = NULL;
	OK(&k, hec_decode(session, 3, at, length, &o, &second));
	for (int i = 0; i < 3; i++) {
		const hec_hypothesis *a = hec_decoded_at(first, i, 0),
				     *b = hec_decoded_at(second, i, 0);
		assert_int_equal(a->n, b->n);
		assert_memory_equal(a->ids, b->ids, (size_t)a->n * sizeof(int32_t));
	}
	hec_decoded_free(first);
	hec_decoded_free(second);
	hec_session_destroy(session);
	hec_model_destroy(model);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_write_what_they_write_with_transformers),
		cmocka_unit_test(a_sentence_gets_the_same_bits_alone_and_in_a_batch),
		cmocka_unit_test(a_session_can_be_used_after_a_cancelled_call),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
