/* test_transcribe_again.c — a window whose text repeats itself or is unlikely is written again by chance; windows are
 * shown what was written before; what is drawn depends on nothing else. Words have times. */
#include "support/golden.h"

#include <math.h>
#include <string.h>

#include "alloc/refuse.h"
#include "support/scratch.h"
#include "task/whisper_words.h"
#include "transcribe_stage.h"

#define LONG 3 /* the sound of several windows */
#define OFTEN 1e6

static hec_transcripts *write_down(stage *s, hec_transcriber *t, int sound,
                                   const hec_transcribe_options *o)
{
	hec_transcripts *out;
	OK(&s->k, hec_transcribe(t, 1, &s->samples[sound], &s->counts[sound], o, &out));
	return out;
}

/* All but what no rule changes. */
static hec_transcribe_options once(void)
{
	hec_transcribe_options o = HEC_TRANSCRIBE_OPTIONS_INIT;
	o.timestamps = true;
	o.no_speech = 2;
	o.max_compression = OFTEN;
	o.least_log_prob = -OFTEN;
	return o;
}

static bool same(const hec_transcripts *a, const hec_transcripts *b)
{
	const hec_transcript *x = hec_transcripts_at(a, 0), *y = hec_transcripts_at(b, 0);
	if (x->segments != y->segments)
		return false;
	for (int64_t i = 0; i < x->segments; i++) {
		const hec_segment *p = hec_transcript_segment(x, i),
				  *q = hec_transcript_segment(y, i);
		if (p->n != q->n || p->begin != q->begin || p->end != q->end ||
		    p->log_prob != q->log_prob ||
		    memcmp(p->ids, q->ids, (size_t)p->n * sizeof *p->ids) != 0)
			return false;
	}
	return true;
}

/* ---- judging ---- */

static void text_that_repeats_itself_packs_well(void **state)
{
	(void)state;
	char loop[400] = "";
	for (int i = 0; i < 60; i++)
		strcat(loop, "0108");
	static const char speech[] =
		"And so my fellow Americans ask not what your country can do for you, "
		"ask what you can do for your country.";
	double ratio;
	assert_int_equal(whisper_compression(loop, strlen(loop), &ratio), HEC_OK);
	assert_true(ratio > 10);
	assert_int_equal(whisper_compression(speech, strlen(speech), &ratio), HEC_OK);
	/* By Python: len(x) / len(zlib.compress(x)). */
	assert_true(fabs(ratio - 106.0 / 79.0) < 0.02);
	assert_int_equal(whisper_compression("", 0, &ratio), HEC_OK);
	assert_true(ratio == 0);
}

static void a_window_that_repeats_itself_is_written_again(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	static const double temperatures[] = {0, 0.7};
	hec_transcribe_options o = once();
	o.temperatures = temperatures;
	o.temperature_count = 2;
	hec_transcripts *calm = write_down(&s, s.many, LONG, &o);
	const hec_segment *first = hec_transcript_segment(hec_transcripts_at(calm, 0), 0);
	CHECK(&s.k, first->temperature == 0 && first->compression > 0, "%g", first->compression);
	/* Just below what its text has, and just above. */
	o.max_compression = first->compression * 0.999;
	hec_transcripts *again = write_down(&s, s.many, LONG, &o);
	CHECK(&s.k, hec_transcript_segment(hec_transcripts_at(again, 0), 0)->temperature == 0.7,
	      "not written again");
	o.max_compression = first->compression * 1.001;
	hec_transcripts *not = write_down(&s, s.many, LONG, &o);
	CHECK(&s.k, hec_transcript_segment(hec_transcripts_at(not, 0), 0)->temperature == 0,
	      "written again");
	hec_transcripts_free(again), hec_transcripts_free(not );
	/* Where no temperature is left, the last one counts; plain has but one. */
	o.max_compression = 1e-6;
	o.temperature_count = 1;
	hec_transcripts *last = write_down(&s, s.many, LONG, &o);
	CHECK(&s.k, same(calm, last), "the only try does not count");
	o.plain = true;
	hec_transcripts *plain = write_down(&s, s.many, LONG, &o);
	for (int64_t i = 0; i < hec_transcripts_at(plain, 0)->segments; i++)
		assert_true(hec_transcript_segment(hec_transcripts_at(plain, 0), i)->temperature ==
		            0);
	hec_transcripts_free(calm), hec_transcripts_free(last), hec_transcripts_free(plain);
	stage_close(&s);
}

static void an_unlikely_window_is_written_again(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	hec_transcribe_options o = once();
	hec_transcripts *calm = write_down(&s, s.english, LONG, &o);
	const hec_segment *first = hec_transcript_segment(hec_transcripts_at(calm, 0), 0);
	CHECK(&s.k, first->log_prob < 0 && first->temperature == 0, "%g", first->log_prob);
	o.least_log_prob = first->log_prob + 1e-6;
	hec_transcripts *again = write_down(&s, s.english, LONG, &o);
	first = hec_transcript_segment(hec_transcripts_at(again, 0), 0);
	CHECK(&s.k, first->temperature > 0, "not written again");
	hec_transcripts_free(again);
	/* But not where nobody speaks: then it has no words at all. */
	o.no_speech = 1e-30;
	o.least_log_prob = -1e-12;
	hec_transcripts *nobody = write_down(&s, s.english, LONG, &o);
	CHECK(&s.k, hec_transcripts_at(nobody, 0)->segments == 0, "'%s'",
	      hec_transcripts_at(nobody, 0)->text);
	hec_transcripts_free(nobody), hec_transcripts_free(calm);
	stage_close(&s);
}

/* ---- the text before ---- */

static int64_t first_of_later_window(const hec_transcripts *t)
{
	const hec_segment *s;
	int64_t i = 0;
	while ((s = hec_transcript_segment(hec_transcripts_at(t, 0), i)) && s->window == 0)
		i++;
	return i;
}

/* It changes later windows alone; and not where they were written by much chance. */
static void windows_are_shown_the_text_before_them(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	static const double warm[] = {0.5}, hot[] = {0.51};
	hec_transcribe_options o = once(), alone = o;
	alone.previous = false;
	hec_transcripts *with = write_down(&s, s.many, LONG, &o),
			*without = write_down(&s, s.many, LONG, &alone);
	const int64_t n = first_of_later_window(with);
	CHECK(&s.k, n > 0 && n == first_of_later_window(without), "%lld segments", (long long)n);
	for (int64_t i = 0; i < n; i++) {
		const hec_segment *p = hec_transcript_segment(hec_transcripts_at(with, 0), i),
				  *q = hec_transcript_segment(hec_transcripts_at(without, 0), i);
		CHECK(&s.k, p->n == q->n && memcmp(p->ids, q->ids, (size_t)p->n * 4) == 0,
		      "segment %lld of the first window", (long long)i);
	}
	CHECK(&s.k, !same(with, without), "what was written before changes nothing");
	hec_transcripts_free(with), hec_transcripts_free(without);
	for (int i = 0; i < 2; i++) {
		o.temperatures = alone.temperatures = i ? hot : warm;
		o.temperature_count = alone.temperature_count = 1;
		with = write_down(&s, s.many, LONG, &o);
		without = write_down(&s, s.many, LONG, &alone);
		CHECK(&s.k, same(with, without) == (i == 1), "at temperature %g",
		      o.temperatures[0]);
		hec_transcripts_free(with), hec_transcripts_free(without);
	}
	stage_close(&s);
}

/* ---- chance ---- */

static void draws_depend_on_seed_and_number_alone(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	static const double temperatures[] = {1};
	hec_transcribe_options o = once();
	o.temperatures = temperatures;
	o.temperature_count = 1;
	o.seed = 7;
	o.first = 3;
	hec_transcripts *a = write_down(&s, s.many, LONG, &o), *all, *b;
	/* Among others, with other batches, on other threads. */
	hec_ctx_options threads = HEC_CTX_OPTIONS_INIT;
	for (int i = 1; i <= 3; i++) {
		hec_ctx *ctx;
		hec_transcriber *t;
		threads.threads = i;
		OK(&s.k, hec_ctx_create(&threads, &ctx));
		OK(&s.k, hec_transcriber_load(ctx, TESTS_DIR "/golden/transcribe_many", NULL, &t));
		hec_transcribe_options p = o;
		p.batch = i;
		p.first = 0;
		const float *samples[] = {s.samples[0], s.samples[1], s.samples[2],
		                          s.samples[LONG]};
		const int64_t counts[] = {s.counts[0], s.counts[1], s.counts[2], s.counts[LONG]};
		OK(&s.k, hec_transcribe(t, 4, samples, counts, &p, &all));
		const hec_transcript *x = hec_transcripts_at(a, 0), *y = hec_transcripts_at(all, 3);
		CHECK(&s.k, strcmp(x->text, y->text) == 0, "batch %d: '%s', not '%s'", i, y->text,
		      x->text);
		hec_transcripts_free(all);
		hec_transcriber_destroy(t);
		hec_ctx_destroy(ctx);
	}
	o.seed = 8;
	b = write_down(&s, s.many, LONG, &o);
	CHECK(&s.k, !same(a, b), "another seed draws alike");
	hec_transcripts_free(b);
	o.seed = 7;
	o.first = 4;
	b = write_down(&s, s.many, LONG, &o);
	CHECK(&s.k, !same(a, b), "another number draws alike");
	hec_transcripts_free(a), hec_transcripts_free(b);
	stage_close(&s);
}

static void of_several_draws_the_likeliest_counts(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	static const double temperatures[] = {1};
	hec_transcribe_options o = once();
	o.temperatures = temperatures;
	o.temperature_count = 1;
	double before = -INFINITY;
	int better = 0;
	for (int64_t best_of = 1; best_of <= 16; best_of *= 2) {
		o.best_of = best_of;
		hec_transcripts *t = write_down(&s, s.many, 1, &o);
		/* By the mean of the tokens without the end, which is nearly that of all. */
		const double now = hec_transcript_segment(hec_transcripts_at(t, 0), 0)->log_prob;
		better += now > before;
		CHECK(&s.k, now > before - 0.2, "best of %lld: %g after %g", (long long)best_of,
		      now, before);
		before = now;
		hec_transcripts_free(t);
	}
	CHECK(&s.k, better >= 2, "more draws are no better");
	stage_close(&s);
}

/* Beams search, and a session of its own draws. */
static void beams_and_draws_go_together(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	hec_transcribe_options o = once();
	o.max_compression = 1e-6;
	hec_transcripts *drawn = write_down(&s, s.many, LONG, &o);
	o.beams = 3;
	hec_transcripts *beams = write_down(&s, s.many, LONG, &o);
	CHECK(&s.k, same(drawn, beams), "the last temperature draws otherwise with beams");
	CHECK(&s.k, hec_transcript_segment(hec_transcripts_at(beams, 0), 0)->temperature == 1,
	      "not the last temperature");
	hec_transcripts_free(drawn), hec_transcripts_free(beams);
	stage_close(&s);
}

/* ---- words ---- */

static void check_words(stage *s, const hec_transcript *t, double seconds)
{
	double ended = 0;
	for (int64_t i = 0; i < t->segments; i++) {
		const hec_segment *g = hec_transcript_segment(t, i);
		const hec_word *w;
		char text[2048] = "";
		for (int64_t k = 0; (w = hec_transcript_word(t, i, k)); k++) {
			strcat(text, w->text);
			CHECK(&s->k,
			      w->begin >= ended && w->end >= w->begin && w->end <= seconds &&
			              w->begin >= g->begin - 1e-9 && w->end <= g->end + 1e-9,
			      "word %lld at %g to %g, of a segment at %g to %g, after %g",
			      (long long)k, w->begin, w->end, g->begin, g->end, ended);
			CHECK(&s->k, w->probability > 0 && w->probability <= 1, "probability %g",
			      w->probability);
			ended = w->end;
		}
		const char *from = text + strspn(text, " ");
		CHECK(&s->k, strncmp(from, g->text, strlen(g->text)) == 0 && g->words > 0,
		      "'%s' of '%s'", text, g->text);
		CHECK(&s->k, strspn(from + strlen(g->text), " ") == strlen(from) - strlen(g->text),
		      "'%s' of '%s'", text, g->text);
	}
}

static void words_are_all_there_in_order_within_their_segments(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	for (int way = 0; way < 5; way++) {
		hec_transcribe_options o = once();
		o.words = true;
		o.beams = way == 1 ? 3 : 0;
		o.plain = way == 2;
		o.max_compression = way == 3 ? 1e-6 : OFTEN;
		o.batch = way == 4 ? 1 : 4;
		for (int m = 0; m < 2; m++) {
			hec_transcripts *out;
			OK(&s.k, hec_transcribe(m ? s.many : s.english, SOUNDS, s.samples, s.counts,
			                        &o, &out));
			for (int i = 0; i < SOUNDS; i++)
				check_words(&s, hec_transcripts_at(out, i),
				            (double)s.counts[i] / RATE);
			assert_null(hec_transcript_word(hec_transcripts_at(out, 0), -1, 0));
			assert_null(hec_transcript_word(hec_transcripts_at(out, 0), 0, -1));
			assert_null(hec_transcript_word(hec_transcripts_at(out, 0), 1000, 0));
			hec_transcripts_free(out);
		}
	}
	stage_close(&s);
}

/* A way that is plain to see: token r looks at frames 10 r to 10 r + 9. */
static void a_token_begins_where_its_heads_look(void **state)
{
	(void)state;
	enum { ROWS = 6, FRAMES = 60, S = 70 };
	float weights[ROWS * S], matrix[ROWS * FRAMES] = {0}, work[ALIGN_WORK(FRAMES)],
					       cost[2 * (ROWS + 1)];
	int8_t trace[(ROWS + 1) * (FRAMES + 1)];
	int32_t begins[ROWS];
	for (int r = 0; r < ROWS; r++)
		for (int f = 0; f < S; f++)
			weights[r * S + f] = f / 10 == r ? 0.09f : 0.001f;
	whisper_align_add(weights, ROWS, S, FRAMES, matrix, work);
	whisper_align_path(matrix, ROWS, FRAMES, trace, cost, begins);
	for (int r = 0; r < ROWS; r++)
		assert_int_equal(begins[r], 10 * r);
	/* More tokens than frames, one frame, and heads that look nowhere. */
	for (int frames = 1; frames <= 4; frames += 3) {
		memset(weights, 0, sizeof weights);
		memset(matrix, 0, sizeof matrix);
		whisper_align_add(weights, ROWS, S, frames, matrix, work);
		whisper_align_path(matrix, ROWS, frames, trace, cost, begins);
		assert_int_equal(begins[0], 0);
		for (int r = 1; r < ROWS; r++)
			assert_true(begins[r] >= begins[r - 1] && begins[r] < frames);
	}
}

static void punctuation_goes_with_its_word(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	const hec_tokenizer *t = hec_transcriber_tokenizer(s.many);
	/* " a" "b" "." " c" " " "," */
	const int32_t ids[] = {26, 1, 36, 28, 38, 37};
	const double p[] = {1, 0.5, 0.1, 1, 1, 1}, begins[] = {0, 0.2, 0.4, 0.5, 0.9, 1, 1.1};
	const int64_t tokens = 6;
	const whisper_spoken spoken = {ids, p, begins, 6, &tokens, 1};
	whisper_words w;
	OK(&s.k, whisper_words_make(t, &spoken, "en", &w));
	CHECK(&s.k, w.n >= 2, "%lld words", (long long)w.n);
	assert_string_equal(w.items[0].text, " ab.");
	assert_int_equal(w.tokens[0], 3);
	assert_true(w.items[0].begin == 0 && fabs(w.items[0].probability - 0.75) < 1e-9);
	assert_memory_equal(w.items[1].text, " c", 2);
	whisper_words_free(&w);
	/* Each character is a word where nobody writes spaces. */
	OK(&s.k, whisper_words_make(t, &spoken, "ja", &w));
	assert_memory_equal(w.items[1].text, "b", 1);
	whisper_words_free(&w);
	stage_close(&s);
}

static void made_up_words_amid_silence_are_left_out(void **state)
{
	(void)state;
	hec_word items[] = {{10, 10.3, " good", 0.9},
	                    {10.3, 10.6, " words", 0.9},
	                    {20, 20.01, " made", 0.01},
	                    {20.01, 20.02, " up", 0.01},
	                    {29, 29.3, " then", 0.9}};
	int64_t tokens[] = {1, 1, 1, 1, 1};
	const whisper_words w = {.items = items, .tokens = tokens, .n = 5};
	const whisper_segment segments[] = {{.begin = 10, .end = 10.6, .first = 0, .words = 2},
	                                    {.begin = 20, .end = 20.02, .first = 2, .words = 2},
	                                    {.begin = 29, .end = 29.3, .first = 4, .words = 1}};
	whisper_guard g = {.silence = 2,
	                   .offset = 0,
	                   .end = 30,
	                   .window = 30,
	                   .ended = 29.3,
	                   .spoken = 0,
	                   .all = 60};
	double next = 30;
	assert_int_equal(whisper_guard_silence(&g, &w, segments, 3, &next), 1);
	assert_true(next == 20);
	/* Close to others they may be right; and a window that begins with them is heard again from there. */
	items[4].begin = 20.1;
	next = 30;
	g.silence = 12;
	assert_int_equal(whisper_guard_silence(&g, &w, segments, 3, &next), 3);
	g.silence = 2;
	items[0].probability = items[1].probability = 0.01;
	items[0].end = items[1].begin = items[1].end = 10;
	assert_int_equal(whisper_guard_silence(&g, &w, segments, 3, &next), 0);
	assert_true(next == 10);
}

/* ---- refusals ---- */

static void heads_that_are_not_there_are_refused(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	static const struct {
		const char *heads, *why;
		bool loads;
	} cases[] = {
		{"[[0, 0], [1, 2]]", NULL, true},
		{"[]", NULL, true},
		{"null", NULL, true},
		{"[[1, 1], [2, 0]]",
	         "alignment_heads[1] of generation_config.json is layer 2, head 0; "
	         "the decoder has 2 layers of 3 heads",
	         true},
		{"[[0, 3]]", "head 3", true},
		{"[[-1, 0]]", "layer -1", true},
		{"[[0, 9223372036854775807]]", "head 9223372036854775807", true},
		{"[[0]]", "a layer and a head", false},
		{"[0, 1]", "a layer and a head", false},
		{"[[0, 0.5]]", "a layer and a head", false},
		{"7", "alignment_heads", false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[SCRATCH_PATH], file[SCRATCH_PATH + 32], line[2 * SCRATCH_PATH];
		scratch_copy(TESTS_DIR "/golden/transcribe_many", scratch_fresh(path));
		snprintf(file, sizeof file, "%s/generation_config.json", path);
		snprintf(line, sizeof line, "sed -i 's/^{/{\"alignment_heads\": %s,/' '%s'",
		         cases[i].heads, file);
		assert_int_equal(system(line), 0);
		hec_transcriber *t = NULL;
		const hec_status loaded = hec_transcriber_load(s.k.ctx, path, NULL, &t);
		CHECK(&s.k, (loaded == HEC_OK) == cases[i].loads, "%s", cases[i].heads);
		hec_transcribe_options o = once();
		hec_transcripts *out = NULL;
		hec_status status = loaded;
		for (int words = 0; t && words < 2; words++) {
			CHECK(&s.k, status == HEC_OK, "without words: %s", hec_error_message());
			o.words = words;
			status = hec_transcribe(t, 1, &s.samples[0], &s.counts[0], &o, &out);
			hec_transcripts_free(out);
		}
		CHECK(&s.k, (status == HEC_OK) == !cases[i].why, "%s", cases[i].heads);
		if (cases[i].why)
			CHECK(&s.k, strstr(hec_error_message(), cases[i].why), "%s",
			      hec_error_message());
		hec_transcriber_destroy(t);
	}
	stage_close(&s);
}

/* So few positions that the prompt alone nearly fills them: there is no room to find words in. */
static void a_decoder_of_a_few_positions_gets_no_times_of_words(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	for (int64_t positions = 3; positions < 8; positions++) {
		char path[SCRATCH_PATH], line[3 * SCRATCH_PATH];
		hec_model_config c = *hec_model_config_of(hec_transcriber_model(s.many));
		hec_model *model;
		hec_transcriber *t = NULL;
		c.decoder.position.max = positions;
		OK(&s.k, hec_model_create(s.k.ctx, &c, HEC_F32, 7, &model));
		OK(&s.k, hec_model_save(s.k.ctx, model, HEC_F32, scratch_fresh(path)));
		hec_model_destroy(model);
		snprintf(line, sizeof line,
		         "cd '%s/golden/transcribe_many' && cp generation_config.json "
		         "preprocessor_config.json tokenizer*.json '%s'",
		         TESTS_DIR, path);
		assert_int_equal(system(line), 0);
		if (hec_transcriber_load(s.k.ctx, path, NULL, &t) != HEC_OK) {
			CHECK(&s.k, hec_error_message()[0], "no reason");
			continue;
		}
		hec_transcribe_options o = once();
		hec_transcripts *out = NULL;
		o.words = true;
		o.batch = 2;
		if (hec_transcribe(t, 3, s.samples, s.counts, &o, &out) != HEC_OK)
			CHECK(&s.k, hec_error_message()[0], "no reason");
		hec_transcripts_free(out);
		hec_transcriber_destroy(t);
	}
	stage_close(&s);
}

static void values_that_mean_nothing_are_refused(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	static const double many[33] = {0}, negative[] = {0, -0.2}, none[] = {NAN}, high[] = {101},
			    least[] = {1e-9};
	hec_transcribe_options o;
	hec_transcripts *out;
#define WRONG(what, word)                                                                          \
	do {                                                                                       \
		o = once();                                                                        \
		what;                                                                              \
		FAILS(&s.k, HEC_ERR_ARGUMENT,                                                      \
		      hec_transcribe(s.many, 1, s.samples, s.counts, &o, &out), word);             \
		assert_null(out);                                                                  \
	} while (0)
	WRONG((o.temperatures = many, o.temperature_count = 33), "33 temperatures");
	WRONG((o.temperatures = many, o.temperature_count = 0), "0 temperatures");
	WRONG((o.temperatures = negative, o.temperature_count = 2), "temperature 2 is -0.2");
	WRONG((o.temperatures = none, o.temperature_count = 1), "nan");
	WRONG((o.temperatures = high, o.temperature_count = 1), "101");
	WRONG((o.temperatures = least, o.temperature_count = 1), "1e-09");
	WRONG(o.best_of = 0, "best of 0");
	WRONG(o.best_of = 65, "best of 65");
	WRONG(o.max_compression = 0, "max_compression is 0");
	WRONG(o.max_compression = NAN, "nan");
	WRONG(o.least_log_prob = 1, "least_log_prob 1");
	WRONG(o.least_log_prob = NAN, "nan");
	WRONG(o.silence = -1, "-1");
	WRONG((o.silence = NAN, o.words = true), "nan");
	WRONG(o.silence = 2, "needs the times of words");
	stage_close(&s);
}

static void every_refused_allocation_is_an_error(void **state)
{
	(void)state;
	stage s;
	stage_open(&s);
	static const double temperatures[] = {0, 1};
	hec_transcribe_options o = once();
	o.words = true;
	o.beams = 2;
	o.best_of = 2;
	o.max_compression = 1e-6;
	o.temperatures = temperatures;
	o.temperature_count = 2;
	int64_t refused = 0;
	for (long n = 1;; n += n < 60 ? 1 : 7) {
		hec_transcripts *out;
		const long before = refuse_live();
		refuse_request(n, false);
		hec_status got = hec_transcribe(s.many, 1, &s.samples[2], &s.counts[2], &o, &out);
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
		/* The sessions stay with the transcriber; nothing else does. */
		CHECK(&s.k, n < 100 || refuse_live() <= before + 64,
		      "blocks are left after request %ld", n);
	}
	CHECK(&s.k, refused > 40, "%lld requests", (long long)refused);
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_that_repeats_itself_packs_well),
		cmocka_unit_test(a_window_that_repeats_itself_is_written_again),
		cmocka_unit_test(an_unlikely_window_is_written_again),
		cmocka_unit_test(windows_are_shown_the_text_before_them),
		cmocka_unit_test(draws_depend_on_seed_and_number_alone),
		cmocka_unit_test(of_several_draws_the_likeliest_counts),
		cmocka_unit_test(beams_and_draws_go_together),
		cmocka_unit_test(words_are_all_there_in_order_within_their_segments),
		cmocka_unit_test(a_token_begins_where_its_heads_look),
		cmocka_unit_test(punctuation_goes_with_its_word),
		cmocka_unit_test(made_up_words_amid_silence_are_left_out),
		cmocka_unit_test(heads_that_are_not_there_are_refused),
		cmocka_unit_test(a_decoder_of_a_few_positions_gets_no_times_of_words),
		cmocka_unit_test(values_that_mean_nothing_are_refused),
		cmocka_unit_test(every_refused_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
