/* test_transcribe.c — what is written down of a sound is what Transformers writes, to the token, short and
 * long, greedy and with beams; alone or among others; and refusals, silence, memory and stopping. */
#include "support/golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/refuse.h"
#include "support/golden_lines.h"
#include "transcribe_stage.h"

/* ---- against Transformers ---- */

typedef struct expected {
	const char *model, *language, *task, *heard;
	int sound, times, beams;
	json_t *segments;
} expected;

static hec_transcribe_options options_of(const expected *e)
{
	hec_transcribe_options o = HEC_TRANSCRIBE_OPTIONS_INIT;
	o.language = e->language;
	o.task = e->task;
	o.timestamps = e->times;
	o.beams = e->beams;
	o.no_speech = 2;
	o.plain = true;
	return o;
}

/* Ids of the segments that begin within the sound: of what fills up the window Transformers also writes
 * something down. Segments without a word are not ours. */
static json_t *ids_of(const expected *e, double seconds)
{
	json_t *all = json_array(), *segment;
	size_t i, j;
	json_array_foreach(e->segments, i, segment)
	{
		json_t *ids = json_array_get(segment, 2), *id;
		bool words = false;
		json_array_foreach(ids, j, id) words = words || json_integer_value(id) < 38;
		if (words && json_real_value(json_array_get(segment, 0)) < seconds - 1e-9)
			json_array_append(all, segment);
	}
	return all;
}

static void compare(stage *s, const expected *e, const hec_transcript *t)
{
	double seconds = (double)s->counts[e->sound] / RATE;
	json_t *want = ids_of(e, seconds);
	size_t k = 0;
	CHECK(&s->k, strcmp(t->language, e->heard) == 0, "%s, not %s", t->language, e->heard);
	for (int64_t i = 0; i < t->segments; i++) {
		const hec_segment *got = hec_transcript_segment(t, i);
		if (got->begin >= seconds - 1e-9)
			continue;
		json_t *w = json_array_get(want, k++);
		json_t *ids = json_array_get(w, 2);
		CHECK(&s->k, w, "%s, sound %d: more than %zu segments", e->model, e->sound, k - 1);
		/* Without times, a segment may begin with a word; Transformers takes its id for one. */
		double begin = fmax(0, json_real_value(json_array_get(w, 0)));
		double end = fmin(seconds, json_real_value(json_array_get(w, 1)));
		CHECK(&s->k, fabs(got->begin - begin) < 1e-6 && fabs(got->end - end) < 1e-6,
		      "%s, sound %d, times %d, beams %d: %g to %g, not %g to %g", e->model,
		      e->sound, e->times, e->beams, got->begin, got->end, begin, end);
		CHECK(&s->k, got->n == (int64_t)json_array_size(ids), "%lld tokens, not %zu",
		      (long long)got->n, json_array_size(ids));
		for (int64_t j = 0; j < got->n; j++)
			CHECK(&s->k,
			      got->ids[j] == json_integer_value(json_array_get(ids, (size_t)j)),
			      "%s, sound %d, times %d, beams %d: token %lld of segment %zu is %d",
			      e->model, e->sound, e->times, e->beams, (long long)j, k, got->ids[j]);
	}
	CHECK(&s->k, k == json_array_size(want),
	      "%s, sound %d, times %d, beams %d: %zu segments, not %zu", e->model, e->sound,
	      e->times, e->beams, k, json_array_size(want));
	json_decref(want);
}

static void tokens_and_times_are_those_of_transformers(void **state)
{
	(void)state;
	stage s;
	stage_open_in(&s, folder(true));
	char path[600];
	snprintf(path, sizeof path, "%s/transcribe.jsonl", folder(true));
	json_t *goldens = golden_lines(&s.k, path, 30), *j;
	size_t at;
	json_array_foreach(goldens, at, j)
	{
		expected e = {.model = golden_words(j, "model"),
		              .language = golden_words(j, "language"),
		              .task = golden_words(j, "task"),
		              .heard = golden_words(j, "heard"),
		              .sound = (int)golden_whole(j, "sound"),
		              .times = json_is_true(json_object_get(j, "times")),
		              .beams = (int)golden_whole(j, "beams"),
		              .segments = json_object_get(j, "segments")};
		hec_transcribe_options o = options_of(&e);
		hec_transcripts *out;
		OK(&s.k, hec_transcribe(strcmp(e.model, "many") == 0 ? s.many : s.english, 1,
		                        &s.samples[e.sound], &s.counts[e.sound], &o, &out));
		compare(&s, &e, hec_transcripts_at(out, 0));
		hec_transcripts_free(out);
	}
	json_decref(goldens);
	stage_close(&s);
}

/* ---- promises ---- */

static void check_same(const kit *k, const hec_transcript *a, const hec_transcript *b)
{
	CHECK(k, strcmp(a->text, b->text) == 0 && a->segments == b->segments, "'%s', not '%s'",
	      a->text, b->text);
	for (int64_t i = 0; i < a->segments; i++) {
		const hec_segment *x = hec_transcript_segment(a, i),
				  *y = hec_transcript_segment(b, i);
		CHECK(k,
		      x->n == y->n && memcmp(x->ids, y->ids, (size_t)x->n * sizeof *x->ids) == 0 &&
		              x->begin == y->begin && x->end == y->end,
		      "segment %lld differs", (long long)i);
	}
}

static void a_sound_gives_the_same_alone_or_among_others(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	hec_transcripts *all, *one;
	for (int64_t batch = 1; batch <= 5; batch += 2) {
		hec_transcribe_options o = HEC_TRANSCRIBE_OPTIONS_INIT;
		o.batch = batch;
		o.timestamps = true;
		OK(&s.k, hec_transcribe(s.many, SOUNDS, s.samples, s.counts, &o, &all));
		for (int i = 0; i < SOUNDS; i++) {
			o.first = (uint64_t)i;
			OK(&s.k, hec_transcribe(s.many, 1, &s.samples[i], &s.counts[i], &o, &one));
			o.first = 0;
			check_same(&s.k, hec_transcripts_at(all, i), hec_transcripts_at(one, 0));
			hec_transcripts_free(one);
		}
		assert_null(hec_transcripts_at(all, SOUNDS));
		assert_null(hec_transcripts_at(all, -1));
		hec_transcripts_free(all);
	}
	stage_close(&s);
}

/* What the encoder read of a window can be had again, and a segment says which window. */
static void a_segment_knows_its_window(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	const hec_model_config *c = hec_model_config_of(hec_transcriber_model(s.many));
	const int64_t bands = c->front.features, frames = 2 * c->encoder.position.max;
	hec_transcribe_options o = HEC_TRANSCRIBE_OPTIONS_INIT;
	o.no_speech = 2;
	o.plain = true;
	int64_t later = 0;
	float *part = malloc((size_t)(bands * frames) * sizeof *part);
	for (int i = 0; i < SOUNDS; i++) {
		const bool times = s.counts[i] / 40 > frames, filled = s.counts[i] <= 40 * frames;
		hec_transcripts *out;
		OK(&s.k, hec_transcribe(s.many, 1, &s.samples[i], &s.counts[i], &o, &out));
		const hec_transcript *t = hec_transcripts_at(out, 0);
		CHECK(&s.k, t->prompt_length == (times ? 2 : 3) && t->prompt[0] == 40,
		      "%lld before, beginning with %d", (long long)t->prompt_length, t->prompt[0]);
		/* Of the whole sound, so that the loudest moment of it is the same. */
		hec_mel_options mel = {.size = sizeof mel,
		                       .rate = 4000,
		                       .fft = 100,
		                       .hop = 40,
		                       .mels = bands,
		                       .length = filled ? 4000 : 0};
		int64_t all = 0;
		OK(&s.k, hec_log_mel_frames(&mel, s.counts[i], &all));
		float *whole = malloc((size_t)(bands * all) * sizeof *whole);
		hec_tensor made = hec_tensor_2d(whole, HEC_F32, bands, all);
		OK(&s.k, hec_log_mel(s.k.ctx, &mel, s.samples[i], s.counts[i], &made));
		assert_null(hec_transcript_segment(t, t->segments));
		for (int64_t j = 0; j < t->segments; j++) {
			const hec_segment *g = hec_transcript_segment(t, j),
					  *before = hec_transcript_segment(t, j - 1);
			assert_int_equal(before != NULL, j > 0);
			CHECK(&s.k,
			      g->begin >= g->window - 1e-9 && g->begin <= g->window + 1 &&
			              g->window >= (before ? before->window : 0),
			      "heard at %g, in the window at %g", g->begin, g->window);
			later += g->window > 0;
			CHECK(&s.k, g->ids == g->written + g->place && g->place >= 0,
			      "written from %lld on", (long long)g->place);
			if (before && before->window == g->window)
				CHECK(&s.k,
				      g->place >= before->place + before->n &&
				              memcmp(g->written, before->written,
				                     (size_t)(before->place + before->n) *
				                             sizeof *g->written) == 0,
				      "segment %lld was written behind another", (long long)j);
			hec_tensor to = hec_tensor_2d(part, HEC_F32, bands, frames);
			OK(&s.k, hec_transcriber_features(s.many, s.samples[i], s.counts[i],
			                                  g->window, &o, &to));
			const int64_t from = llround(g->window * 100);
			for (int64_t b = 0; b < bands; b++)
				for (int64_t f = 0; f < frames; f++) {
					const float want =
						from + f < all ? whole[b * all + from + f] : 0;
					CHECK(&s.k, part[b * frames + f] == want,
					      "band %lld of frame %lld is %g, not %g", (long long)b,
					      (long long)f, (double)part[b * frames + f],
					      (double)want);
				}
		}
		free(whole);
		hec_transcripts_free(out);
	}
	CHECK(&s.k, later > 0, "no segment of a later window");
	hec_tensor to = hec_tensor_2d(part, HEC_F32, bands, frames), flat = to;
	flat.shape[1]--;
#define FEATURES(samples, count, begin, out)                                                       \
	hec_transcriber_features(s.many, samples, count, begin, &o, out)
	FAILS(&s.k, HEC_ERR_ARGUMENT, FEATURES(s.samples[0], -1, 0, &to), "-1");
	FAILS(&s.k, HEC_ERR_ARGUMENT, FEATURES(NULL, 4, 0, &to), "NULL");
	FAILS(&s.k, HEC_ERR_ARGUMENT, FEATURES(s.samples[0], 4000, 1.5, &to), "1.5");
	FAILS(&s.k, HEC_ERR_ARGUMENT, FEATURES(s.samples[0], 4000, NAN, &to), "nan");
	FAILS(&s.k, HEC_ERR_SHAPE, FEATURES(s.samples[0], 4000, 0, &flat), "out");
	/* Into every other number of another. */
	float *wide = malloc((size_t)(2 * bands * frames) * sizeof *wide);
	for (int64_t i = 0; i < 2 * bands * frames; i++)
		wide[i] = -7;
	hec_tensor apart = to;
	apart.data = wide;
	apart.stride[0] = 2 * frames;
	apart.stride[1] = 2;
	OK(&s.k, FEATURES(s.samples[0], s.counts[0], 0, &to));
	OK(&s.k, FEATURES(s.samples[0], s.counts[0], 0, &apart));
	for (int64_t i = 0; i < 2 * bands * frames; i++)
		CHECK(&s.k, wide[i] == (i % 2 ? -7 : part[i / 2]), "number %lld", (long long)i);
	free(wide);
	free(part);
	stage_close(&s);
}

static void silence_has_no_words(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	static const float nothing[10000];
	const float *samples[] = {nothing, nothing, nothing};
	int64_t counts[] = {0, 1700, 10000};
	hec_transcripts *out;
	OK(&s.k, hec_transcribe(s.english, 3, samples, counts, NULL, &out));
	for (int i = 0; i < 3; i++) {
		const hec_transcript *t = hec_transcripts_at(out, i);
		CHECK(&s.k, *t->text == '\0' && t->segments == 0, "'%s'", t->text);
	}
	hec_transcripts_free(out);
	OK(&s.k, hec_transcribe(s.english, 0, NULL, NULL, NULL, &out));
	CHECK(&s.k, out && !hec_transcripts_at(out, 0), "a transcript of no sound");
	hec_transcripts_free(out);
	stage_close(&s);
}

/* With a threshold that any probability is above, unlikely words are no words. */
static void unlikely_words_where_nobody_speaks_are_passed_over(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	hec_transcribe_options o = HEC_TRANSCRIBE_OPTIONS_INIT;
	hec_transcripts *out;
	o.no_speech = 1e-30;
	o.least_log_prob = -1e-12;
	OK(&s.k, hec_transcribe(s.english, SOUNDS, s.samples, s.counts, &o, &out));
	for (int i = 0; i < SOUNDS; i++) {
		const char *text = hec_transcripts_at(out, i)->text;
		CHECK(&s.k, *text == '\0', "'%s'", text);
	}
	hec_transcripts_free(out);
	o.least_log_prob = -1e6; /* never that unlikely */
	OK(&s.k, hec_transcribe(s.english, 1, &s.samples[3], &s.counts[3], &o, &out));
	CHECK(&s.k, *hec_transcripts_at(out, 0)->text, "no words");
	hec_transcripts_free(out);
	stage_close(&s);
}

static void wrong_calls_are_refused(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	hec_transcribe_options o = HEC_TRANSCRIBE_OPTIONS_INIT;
	hec_transcripts *out;
#define CALL(t) hec_transcribe(t, 1, s.samples, s.counts, &o, &out)
	FAILS(&s.k, HEC_ERR_ARGUMENT, CALL(NULL), "transcriber");
	assert_null(out);
	o.language = "xx";
	FAILS(&s.k, HEC_ERR_ARGUMENT, CALL(s.many), "'xx'", "de, en, fr");
	o.language = "de";
	FAILS(&s.k, HEC_ERR_ARGUMENT, CALL(s.english), "English only");
	o.language = NULL;
	o.task = "translate";
	FAILS(&s.k, HEC_ERR_ARGUMENT, CALL(s.english), "English only");
	o.task = "sing";
	FAILS(&s.k, HEC_ERR_ARGUMENT, CALL(s.many), "'sing'");
	o.task = NULL;
	o.batch = 1000;
	FAILS(&s.k, HEC_ERR_ARGUMENT, CALL(s.many), "1000");
	o.batch = 0;
	FAILS(&s.k, HEC_ERR_ARGUMENT, CALL(s.many), "batch of 0");
	assert_int_equal(hec_error_item(), -1);
	o.batch = 4;
	o.beams = -1;
	FAILS(&s.k, HEC_ERR_ARGUMENT, CALL(s.many), "-1 beams");
	o.beams = 0;
	float bad[] = {0, 0, NAN, 0};
	const float *samples[] = {s.samples[0], bad};
	int64_t counts[] = {s.counts[0], 4};
	FAILS(&s.k, HEC_ERR_ARGUMENT, hec_transcribe(s.many, 2, samples, counts, &o, &out),
	      "sample 2");
	CHECK(&s.k, hec_error_item() == 1 && !out, "failed %lld", (long long)hec_error_item());
	counts[1] = -1;
	FAILS(&s.k, HEC_ERR_ARGUMENT, hec_transcribe(s.many, 2, samples, counts, &o, &out),
	      "-1 samples");
	assert_int_equal(hec_error_item(), 1);
	hec_transcriber *t = NULL;
	FAILS(&s.k, HEC_ERR_UNSUPPORTED,
	      hec_transcriber_load(s.k.ctx, TESTS_DIR "/golden/decode_text", NULL, &t), "Whisper");
	CHECK(&s.k,
	      hec_transcriber_rate(s.many) == 4000 && hec_transcriber_window(s.many) == 1.0 &&
	              hec_transcriber_multilingual(s.many) &&
	              !hec_transcriber_multilingual(s.english),
	      "what it says of itself");
	stage_close(&s);
}

typedef struct counter {
	int calls, most;
	int64_t total; /* milliseconds of all sounds */
} counter;

static hec_status stop_at(void *user, const char *phase, int64_t done, int64_t total)
{
	counter *c = user;
	assert_true(*phase && done >= 0 && done <= total);
	assert_true(llabs(total - c->total) <= SOUNDS); /* each may be rounded by itself */
	return ++c->calls >= c->most ? HEC_ERR_CANCELLED : HEC_OK;
}

static void it_can_be_cancelled_at_any_report(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	double samples = 0;
	for (int i = 0; i < SOUNDS; i++)
		samples += (double)s.counts[i];
	for (int most = 1; most < 60; most += 7) {
		counter c = {.most = most, .total = llround(1000 * samples / RATE)};
		hec_transcribe_options o = HEC_TRANSCRIBE_OPTIONS_INIT;
		o.progress = stop_at;
		o.user = &c;
		hec_transcripts *out;
		hec_status got = hec_transcribe(s.many, SOUNDS, s.samples, s.counts, &o, &out);
		if (c.calls >= most)
			CHECK(&s.k, got == HEC_ERR_CANCELLED && !out, "%s", hec_status_name(got));
		hec_transcripts_free(out);
	}
	stage_close(&s);
}

static void every_refused_allocation_is_an_error(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	hec_transcripts *out;
	int64_t refused = 0;
	for (long n = 1;; n++) {
		long before = refuse_live();
		refuse_request(n, false);
		hec_status got = hec_transcribe(s.many, 1, &s.samples[2], &s.counts[2], NULL, &out);
		bool fired = refuse_fired();
		refuse_request(0, false);
		if (got != HEC_OK) {
			CHECK(&s.k, got == HEC_ERR_MEMORY && !out, "%s: %s", hec_status_name(got),
			      hec_error_message());
			refused++;
		}
		hec_transcripts_free(out);
		if (!fired)
			break;
		/* The session stays with the transcriber; nothing else does. */
		CHECK(&s.k, n < 5 || refuse_live() <= before + 64,
		      "blocks are left after request %ld", n);
	}
	CHECK(&s.k, refused > 5, "%lld requests", (long long)refused);
	stage_close(&s);
}

static void a_refused_load_leaves_nothing(void **state)
{
	(void)state;
	kit k = kit_open(9);
	char path[600];
	snprintf(path, sizeof path, "%s/transcribe_many", folder(false));
	for (long n = 1;; n += 3) {
		hec_transcriber *t = NULL;
		long before = refuse_live();
		refuse_request(n, false);
		hec_status got = hec_transcriber_load(k.ctx, path, NULL, &t);
		bool fired = refuse_fired();
		refuse_request(0, false);
		CHECK(&k, (got == HEC_OK) == (t != NULL), "%s", hec_status_name(got));
		hec_transcriber_destroy(t);
		CHECK(&k, refuse_live() == before, "request %ld: %ld blocks are left", n,
		      refuse_live() - before);
		if (!fired)
			break;
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_and_times_are_those_of_transformers),
		cmocka_unit_test(a_sound_gives_the_same_alone_or_among_others),
		cmocka_unit_test(a_segment_knows_its_window),
		cmocka_unit_test(silence_has_no_words),
		cmocka_unit_test(unlikely_words_where_nobody_speaks_are_passed_over),
		cmocka_unit_test(wrong_calls_are_refused),
		cmocka_unit_test(it_can_be_cancelled_at_any_report),
		cmocka_unit_test(every_refused_allocation_is_an_error),
		cmocka_unit_test(a_refused_load_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
