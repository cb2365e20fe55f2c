/* test_whisper.c — models whose encoder reads frames: with a prompt of several tokens and four beams they
 * write what Transformers writes; rules of the caller's reach every choice; the encoder runs once however
 * often a source is written for; what is looked at is what a whole pass gives. */
#include "support/models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <hecate/decode.h>

#include "format/safetensors.h"

#define SOURCES 2

typedef struct speech {
	hec_model *model;
	const hec_model_config *config;
	hec_tensor features; /* [SOURCES, bands, frames] */
	hec_tensor each[SOURCES];
	hec_tensor prompt, beam, score; /* [SOURCES, …] */
	const int32_t *prompts[SOURCES];
	int64_t prompt_lengths[SOURCES];
} speech;

static hec_tensor stored(kit *k, const safetensors *s, const char *name)
{
	CHECK(k, safetensors_find(s, name), "%s is not there", name);
	return stored_tensor(k, s, name);
}

static void speech_open(kit *k, speech *s)
{
	char path[512], file[600];
	safetensors *f;
	OK(k, hec_model_load(k->ctx, golden_model("whisper", path), NULL, &s->model));
	s->config = hec_model_config_of(s->model);
	snprintf(file, sizeof file, "%s/expected.safetensors", path);
	OK(k, safetensors_open(file, &f));
	s->features = stored(k, f, "features");
	s->prompt = stored(k, f, "prompt");
	s->beam = stored(k, f, "beam");
	s->score = stored(k, f, "beam_score");
	safetensors_close(f);
	const int64_t bands = s->features.shape[1], frames = s->features.shape[2];
	for (int i = 0; i < SOURCES; i++) {
		s->each[i] = hec_tensor_2d((float *)s->features.data + i * bands * frames, HEC_F32,
		                           bands, frames);
		s->prompts[i] = (const int32_t *)s->prompt.data + i * s->prompt.shape[1];
		s->prompt_lengths[i] = s->prompt.shape[1];
	}
}

static hec_session *session_open(kit *k, const speech *s, int64_t sources, int64_t beams,
                                 bool attention)
{
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	hec_session *session = NULL;
	o.sources = sources;
	o.beams = beams;
	o.keep_attention = attention;
	OK(k, hec_session_create(k->ctx, s->model, &o, &session));
	return session;
}

static hec_decode_options options_of(const speech *s, int64_t beams)
{
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	o.beams = beams;
	o.max_tokens = s->beam.shape[1];
	o.prompts = s->prompts;
	o.prompt_lengths = s->prompt_lengths;
	return o;
}

static void beams_behind_a_prompt_are_those_of_transformers(void **state)
{
	(void)state;
	for (int64_t places = 1; places <= SOURCES; places++) {
		kit k = kit_open(7400);
		speech s;
		speech_open(&k, &s);
		hec_session *session = session_open(&k, &s, places, 4, false);
		hec_decode_options o = options_of(&s, 4);
		hec_decoded *out;
		OK(&k, hec_decode_features(session, SOURCES, s.each, &o, &out));
		for (int i = 0; i < SOURCES; i++) {
			const hec_hypothesis *h = hec_decoded_at(out, i, 0);
			const int32_t *want = (const int32_t *)s.beam.data + i * s.beam.shape[1];
			int64_t n = 0; /* theirs is padded behind its end */
			while (n < s.beam.shape[1] && (n == 0 || want[n - 1] != s.config->eos_id))
				n++;
			CHECK(&k, h->n == n, "source %d has %lld tokens, not %lld", i,
			      (long long)h->n, (long long)n);
			for (int64_t j = 0; j < n; j++)
				CHECK(&k, h->ids[j] == want[j],
				      "source %d token %lld is %d, not %d", i, (long long)j,
				      (int)h->ids[j], (int)want[j]);
			CHECK(&k, fabs(h->score - get(&s.score, i)) < 1e-4,
			      "source %d has score %g, not %g", i, h->score, get(&s.score, i));
		}
		assert_null(hec_decoded_at(out, SOURCES, 0));
		assert_null(hec_decoded_at(out, 0, 1));
		hec_decoded_free(out);
		hec_session_destroy(session);
		hec_model_destroy(s.model);
		kit_close(&k);
	}
}

/* Each place of a text has one id that may be written there: 5 + source + how many were. */
static void only_one(void *user, int64_t source, const int32_t *written, int64_t n, float *logits,
                     int64_t vocab)
{
	const int32_t only = (int32_t)(5 + source + n);
	for (int64_t i = 0; i < n; i++)
		if (written[i] != 5 + source + i)
			*(int *)user = 1;
	for (int64_t v = 0; v < vocab; v++)
		if (v != only)
			logits[v] = -INFINITY;
}

static void rules_of_the_caller_reach_every_choice(void **state)
{
	(void)state;
	for (int64_t beams = 1; beams <= 4; beams += 3) {
		kit k = kit_open(7410);
		speech s;
		speech_open(&k, &s);
		hec_session *session = session_open(&k, &s, SOURCES, beams, false);
		hec_decode_options o = options_of(&s, beams);
		int wrong = 0;
		o.process = only_one;
		o.user = &wrong;
		o.suppress = (const int32_t[]){6}; /* rules before it: nothing is then left */
		hec_decoded *out;
		OK(&k, hec_decode_features(session, SOURCES, s.each, &o, &out));
		for (int i = 0; i < SOURCES; i++) {
			const hec_hypothesis *h = hec_decoded_at(out, i, 0);
			CHECK(&k, h->n == o.max_tokens, "%lld tokens", (long long)h->n);
			for (int64_t j = 0; j < o.max_tokens; j++)
				CHECK(&k, h->ids[j] == 5 + i + j, "source %d writes %d at %lld", i,
				      (int)h->ids[j], (long long)j);
		}
		hec_decoded_free(out);
		CHECK(&k, beams > 1 || !wrong, "it was shown something else than was written");
		o.suppressed = 1;
		if (beams == 1)
			FAILS(&k, HEC_ERR_ARGUMENT,
			      hec_decode_features(session, SOURCES, s.each, &o, &out), "no token");
		hec_session_destroy(session);
		hec_model_destroy(s.model);
		kit_close(&k);
	}
}

static void a_source_is_written_for_again_without_its_encoder(void **state)
{
	(void)state;
	kit k = kit_open(7420);
	speech s;
	speech_open(&k, &s);
	hec_session *session = session_open(&k, &s, SOURCES, 1, false);
	OK(&k, hec_session_start_features(session, SOURCES, &s.features));
	hec_tensor first = make(&k, HEC_F32, SHAPE(SOURCES, s.config->vocab)),
		   again = make(&k, HEC_F32, SHAPE(SOURCES, s.config->vocab));
	OK(&k, hec_session_step(session, &s.prompt, NULL, &first));
	CHECK(&k, hec_session_length(session, 1) == s.prompt.shape[1], "the prompt was fed");
	OK(&k, hec_session_rewind(session));
	CHECK(&k, hec_session_length(session, 1) == 0 && hec_session_sources(session) == SOURCES,
	      "rows are empty, sources stay");
	OK(&k, hec_session_step(session, &s.prompt, NULL, &again));
	check_same_bits(&k, "written again", &first, &again);
	/* Alone, and behind another that leaves. */
	hec_tensor one, two, row, alone = make(&k, HEC_F32, SHAPE(1, s.config->vocab));
	OK(&k, hec_tensor_slice(&s.features, 0, 1, 1, &one));
	OK(&k, hec_tensor_slice(&s.prompt, 0, 1, 1, &two));
	OK(&k, hec_tensor_slice(&first, 0, 1, 1, &row));
	OK(&k, hec_session_start_features(session, 1, &one));
	OK(&k, hec_session_step(session, &two, NULL, &alone));
	check_same_bits(&k, "alone", &alone, &row);
	OK(&k, hec_session_add_features(session, 1, &one));
	OK(&k, hec_session_keep(session, (const int64_t[]){1}, 1));
	OK(&k, hec_session_step(session, &two, NULL, &alone));
	check_same_bits(&k, "behind another", &alone, &row);
	hec_session_destroy(session);
	hec_model_destroy(s.model);
	kit_close(&k);
}

/* One that ends early waits for the others; then both are written for again by other rules. */
static void what_is_live_is_decoded_as_if_it_were_new(void **state)
{
	(void)state;
	for (int64_t beams = 1; beams <= 4; beams += 3) {
		kit k = kit_open(7425);
		speech s;
		speech_open(&k, &s);
		hec_session *fresh = session_open(&k, &s, SOURCES, beams, false),
			    *session = session_open(&k, &s, SOURCES, beams, false);
		OK(&k, hec_session_start_features(session, SOURCES, &s.features));
		for (int round = 0; round < 4; round++) {
			hec_decode_options o = options_of(&s, beams);
			hec_decoded *want, *got;
			s.prompt_lengths[0] = 1 + round % 2; /* prompts of different lengths */
			o.max_tokens_each =
				(const int64_t[]){round % 3 == 1 ? 1 : 7, round == 2 ? 2 : 7};
			o.min_tokens = round;
			OK(&k, hec_decode_features(fresh, SOURCES, s.each, &o, &want));
			OK(&k, hec_decode_live(session, &o, &got));
			for (int i = 0; i < SOURCES; i++) {
				const hec_hypothesis *a = hec_decoded_at(want, i, 0),
						     *b = hec_decoded_at(got, i, 0);
				CHECK(&k, a->n == b->n && a->score == b->score,
				      "round %d source %d: %lld tokens and %lld, %g and %g", round,
				      i, (long long)a->n, (long long)b->n, a->score, b->score);
				assert_memory_equal(a->ids, b->ids, (size_t)a->n * sizeof *a->ids);
			}
			CHECK(&k, hec_session_sources(session) == SOURCES, "they stay");
			hec_decoded_free(want);
			hec_decoded_free(got);
		}
		hec_session_destroy(fresh);
		hec_session_destroy(session);
		hec_model_destroy(s.model);
		kit_close(&k);
	}
}

static void check_weights(kit *k, const speech *s, hec_session *session, hec_attention_kind kind,
                          const hec_tensor *whole, int64_t layers)
{
	const int64_t H = whole->shape[1], T = whole->shape[2], S = whole->shape[3];
	(void)s;
	for (int64_t l = 0; l < layers; l++) {
		hec_tensor got = make(k, HEC_F32, SHAPE(H, T, S)), want;
		OK(k, hec_session_weights(session, kind, l, 0, &got));
		/* Source 1 of the pass is the one that stayed. */
		OK(k, hec_tensor_slice(whole, 0, l * SOURCES + 1, 1, &want));
		for (int64_t i = 0; i < H * T * S; i++)
			CHECK(k, fabs(get(&got, i) - get(&want, i)) < 1e-6,
			      "kind %d layer %lld weight %lld is %g, not %g", (int)kind,
			      (long long)l, (long long)i, get(&got, i), get(&want, i));
	}
}

static void weights_of_a_session_are_those_of_a_pass(void **state)
{
	(void)state;
	kit k = kit_open(7430);
	speech s;
	speech_open(&k, &s);
	const hec_model_config *c = s.config;
	const int64_t S = c->encoder.position.max, T = s.prompt.shape[1], H = 3;
	hec_model_input in = {.size = sizeof in, .features = s.features, .decoder_ids = s.prompt};
	hec_model_output out = {
		.size = sizeof out,
		.encoder_weights = make(&k, HEC_F32, SHAPE(c->encoder.layers * SOURCES, H, S, S)),
		.decoder_weights = make(&k, HEC_F32, SHAPE(c->decoder.layers * SOURCES, H, T, T)),
		.cross_weights = make(&k, HEC_F32, SHAPE(c->decoder.layers * SOURCES, H, T, S))};
	OK(&k, hec_model_fwd(k.ctx, k.arena, s.model, &in, NULL, &out, NULL));
	hec_session *session = session_open(&k, &s, SOURCES, 1, true);
	hec_tensor logits = make(&k, HEC_F32, SHAPE(SOURCES, c->vocab));
	OK(&k, hec_session_start_features(session, SOURCES, &s.features));
	OK(&k, hec_session_step(session, &s.prompt, NULL, &logits));
	OK(&k, hec_session_keep(session, (const int64_t[]){1}, 1));
	check_weights(&k, &s, session, HEC_ATTENTION_ENCODER, &out.encoder_weights,
	              c->encoder.layers);
	check_weights(&k, &s, session, HEC_ATTENTION_DECODER, &out.decoder_weights,
	              c->decoder.layers);
	check_weights(&k, &s, session, HEC_ATTENTION_CROSS, &out.cross_weights, c->decoder.layers);
	hec_session_destroy(session);
	hec_model_destroy(s.model);
	kit_close(&k);
}

static void what_does_not_fit_is_said_with_its_numbers(void **state)
{
	(void)state;
	kit k = kit_open(7440);
	speech s;
	speech_open(&k, &s);
	hec_model_input in = {.size = sizeof in, .decoder_ids = s.prompt};
	hec_model_output out = {.size = sizeof out};
#define FWD hec_model_fwd(k.ctx, k.arena, s.model, &in, NULL, &out, NULL)
	FAILS(&k, HEC_ERR_ARGUMENT, FWD, "features must be given");
	in.features = make_random(&k, HEC_F32, SHAPE(SOURCES, 7, 28));
	FAILS(&k, HEC_ERR_SHAPE, FWD, "28 frames", "30");
	in.features = make_random(&k, HEC_F32, SHAPE(SOURCES, 8, 30));
	FAILS(&k, HEC_ERR_SHAPE, FWD, "features", "8", "7");
	in.features = make_random(&k, HEC_F64, SHAPE(SOURCES, 7, 30));
	FAILS(&k, HEC_ERR_ARGUMENT, FWD, "features");
	in.features = s.features;
	in.ids = s.prompt;
	FAILS(&k, HEC_ERR_ARGUMENT, FWD, "ids is given");
	in.ids = (hec_tensor)HEC_TENSOR_NONE;
	in.length = (const int32_t[]){1, 1};
	FAILS(&k, HEC_ERR_ARGUMENT, FWD, "length", "all frames");
	in.length = NULL;
	OK(&k, FWD);

	hec_session *session = session_open(&k, &s, SOURCES, 1, false);
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_start(session, SOURCES, &s.prompt, NULL), "ids",
	      "frames");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_start_features(session, SOURCES, NULL), "features");
	hec_tensor wrong = make_random(&k, HEC_F32, SHAPE(1, 7, 29));
	FAILS(&k, HEC_ERR_SHAPE, hec_session_start_features(session, 1, &wrong), "29", "30");
	hec_decode_options o = options_of(&s, 1);
	hec_decoded *d;
	FAILS(&k, HEC_ERR_ARGUMENT,
	      hec_decode(session, SOURCES, s.prompts, s.prompt_lengths, &o, &d), "ids", "frames");
	s.prompt_lengths[1] = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_decode_features(session, SOURCES, s.each, &o, &d),
	      "prompt 1 has no tokens");
	assert_int_equal(hec_error_item(), 1);
	assert_null(d);
	s.prompt_lengths[1] = 3;
	const int32_t outside[] = {1, 101, 1};
	s.prompts[1] = outside;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_decode_features(session, SOURCES, s.each, &o, &d),
	      "token 1 of prompt 1 is 101");
	assert_int_equal(hec_error_item(), 1);
	s.prompts[1] = s.prompts[0];
	s.each[1].shape[1] = 29;
	FAILS(&k, HEC_ERR_SHAPE, hec_decode_features(session, SOURCES, s.each, &o, &d), "source 1",
	      "29", "30");
	hec_session_destroy(session);
	hec_model_destroy(s.model);

	hec_model_config c = model_variant(FORM_DECODER, 0, HEC_HEAD_LM, 0);
	hec_model *m = model_open(&k, &c, HEC_F32);
	OK(&k, hec_session_create(k.ctx, m, NULL, &session));
	o.max_tokens = 1;
	const int32_t ids[] = {1}, *source = ids;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_decode(session, 1, &source, (const int64_t[]){1}, &o, &d),
	      "prompts");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_decode_live(session, &o, &d), "encoder");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_decode_features(session, 1, s.each, &o, &d), "features",
	      "words");
	hec_session_destroy(session);
	hec_model_destroy(m);
	c.front.features = 3;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_model_create(k.ctx, &c, HEC_F32, 1, &m), "front.features");
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beams_behind_a_prompt_are_those_of_transformers),
		cmocka_unit_test(rules_of_the_caller_reach_every_choice),
		cmocka_unit_test(a_source_is_written_for_again_without_its_encoder),
		cmocka_unit_test(what_is_live_is_decoded_as_if_it_were_new),
		cmocka_unit_test(weights_of_a_session_are_those_of_a_pass),
		cmocka_unit_test(what_does_not_fit_is_said_with_its_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
