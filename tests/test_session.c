/* test_session.c — token by token on a cache is the same as all at once; rows may be exchanged,
 * sources may leave and come, and none of it changes what the others get. */
#include "support/models.h"
#include "support/sanitized.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "model/model.h"

#define MOST 512

/* A source and the tokens that are written for it. */
typedef struct story {
	int64_t source_length, length;
	int32_t source[MOST], ids[MOST];
} story;

static void draw_story(kit *k, const hec_model *m, int64_t source, int64_t length, story *s)
{
	const hec_model_config *c = hec_model_config_of(m);
	s->source_length = c->encoder.layers > 0 ? source : 0;
	s->length = length;
	for (int64_t i = 0; i < source; i++)
		s->source[i] = (int32_t)draw_in(k, 0, c->vocab - 1);
	for (int64_t i = 0; i < length; i++)
		s->ids[i] = (int32_t)draw_in(k, 0, c->vocab - 1);
}

static hec_session *open_session(kit *k, const hec_model *m, int64_t sources, int64_t beams,
                                 int64_t max_source, int64_t max_target, bool keep)
{
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	o.sources = sources;
	o.beams = beams;
	o.max_source = max_source;
	o.max_target = max_target;
	o.keep_attention = keep;
	hec_session *s = NULL;
	OK(k, hec_session_create(k->ctx, m, &o, &s));
	return s;
}

static void add_stories(kit *k, hec_session *s, const story *const *list, int64_t n)
{
	if (hec_model_config_of(hec_session_model(s))->encoder.layers == 0) {
		OK(k, hec_session_add(s, n, NULL, NULL));
		return;
	}
	int64_t S = 1;
	int32_t length[8];
	for (int64_t i = 0; i < n; i++)
		S = list[i]->source_length > S ? list[i]->source_length : S;
	hec_tensor ids = make_zero(k, HEC_I32, SHAPE(n, S));
	for (int64_t i = 0; i < n; i++) {
		length[i] = (int32_t)list[i]->source_length;
		for (int64_t t = 0; t < length[i]; t++)
			put(&ids, i * S + t, list[i]->source[t]);
	}
	OK(k, hec_session_add(s, n, &ids, length));
}

/* Feeds each row count[r] tokens of its story, from where it is. */
static hec_tensor feed(kit *k, hec_session *s, const story *const *rows, int64_t n,
                       const int32_t *count)
{
	const hec_model *m = hec_session_model(s);
	int64_t T = 0;
	for (int64_t r = 0; r < n; r++)
		T = count[r] > T ? count[r] : T;
	hec_tensor ids = make_zero(k, HEC_I32, SHAPE(n, T)),
		   logits = make(k, hec_model_block(m).dtype,
	                         SHAPE(n, hec_model_config_of(m)->vocab));
	for (int64_t r = 0; r < n; r++) {
		for (int64_t t = 0; t < count[r]; t++)
			put(&ids, r * T + t, rows[r]->ids[hec_session_length(s, r) + t]);
	}
	OK(k, hec_session_step(s, &ids, count, &logits));
	check_all_finite(k, "logits", &logits);
	return logits;
}

/* Logits [1, T, V] of a story, all at once. */
static hec_tensor at_once(kit *k, const hec_model *m, const story *s)
{
	hec_model_input input = {.size = sizeof input};
	if (s->source_length > 0) {
		input.ids = make(k, HEC_I32, SHAPE(1, s->source_length));
		for (int64_t i = 0; i < s->source_length; i++)
			put(&input.ids, i, s->source[i]);
	}
	input.decoder_ids = make(k, HEC_I32, SHAPE(1, s->length));
	for (int64_t i = 0; i < s->length; i++)
		put(&input.decoder_ids, i, s->ids[i]);
	hec_model_output out = {.size = sizeof out, .logits = logits_open(k, m, &input)};
	OK(k, hec_model_fwd(k->ctx, k->arena, m, &input, NULL, &out, NULL));
	return out.logits;
}

static hec_tensor position(kit *k, const hec_tensor *logits, int64_t t)
{
	hec_tensor one;
	OK(k, hec_tensor_slice(logits, 1, t, 1, &one));
	OK(k, hec_tensor_reshape(&one, 2, (int64_t[]){1, logits->shape[2]}, &one));
	return one;
}

static hec_tensor row_of(kit *k, const hec_tensor *logits, int64_t r)
{
	hec_tensor one;
	OK(k, hec_tensor_slice(logits, 0, r, 1, &one));
	return one;
}

static hec_model *open_model(kit *k, model_form form, int n, hec_dtype dtype)
{
	hec_model_config config = model_variant(form, n, HEC_HEAD_LM, 0);
	hec_model *m = model_open(k, &config, dtype);
	if (n % 2)
		OK(k, hec_model_pack(k->ctx, m, false));
	return m;
}

/* ---- against all at once ---- */

static void check_against_forward(model_form form, int n, hec_dtype dtype, double relative)
{
	kit k = kit_open(6500 + (uint64_t)n);
	hec_model *m = open_model(&k, form, n, dtype);
	story stories[3];
	const story *rows[3] = {&stories[0], &stories[1], &stories[2]};
	hec_tensor want[3];
	for (int i = 0; i < 3; i++) {
		draw_story(&k, m, draw_in(&k, 1, 7), 8, &stories[i]);
		want[i] = at_once(&k, m, &stories[i]);
	}
	hec_session *s = open_session(&k, m, 3, 1, 7, 9, false);
	add_stories(&k, s, rows, 3);
	int32_t counts[][3] = {{1, 3, 2}, {1, 1, 1}, {4, 1, 3}, {1, 1, 1}};
	for (size_t step = 0; step < sizeof counts / sizeof *counts; step++) {
		hec_tensor got = feed(&k, s, rows, 3, counts[step]);
		for (int i = 0; i < 3; i++) {
			hec_tensor a = row_of(&k, &got, i),
				   b = position(&k, &want[i], hec_session_length(s, i) - 1);
			check_close(&k, "token by token", &a, &b, relative);
		}
	}
	hec_session_destroy(s);
	hec_model_destroy(m);
	kit_close(&k);
}

static void token_by_token_is_all_at_once(void **state)
{
	(void)state;
	for (int form = FORM_DECODER; form < MODEL_FORMS; form++) {
		for (int n = 0; n < MODEL_VARIANTS; n++) {
			check_against_forward((model_form)form, n, HEC_F64, 1e-12);
			check_against_forward((model_form)form, n, HEC_F32, 1e-5);
		}
	}
}

static void a_long_prompt_goes_in_pieces(void **state)
{
	(void)state;
	for (int n = 0; n < 5; n++) {
		kit k = kit_open(6520 + (uint64_t)n);
		hec_model_config config = model_variant(FORM_DECODER, n, HEC_HEAD_LM, 0);
		config.decoder.position.max = 320;
		hec_model *m = model_open(&k, &config, HEC_F64);
		story stories[3];
		const story *rows[3] = {&stories[0], &stories[1], &stories[2]};
		for (int i = 0; i < 3; i++)
			draw_story(&k, m, 0, 320, &stories[i]);
		hec_session *s = open_session(&k, m, 3, 1, 0, 320, false);
		add_stories(&k, s, rows, 3);
		hec_tensor got = feed(&k, s, rows, 3, (int32_t[]){300, 5, 257});
		for (int i = 0; i < 3; i++) {
			hec_tensor all = at_once(&k, m, &stories[i]), a = row_of(&k, &got, i),
				   b = position(&k, &all, hec_session_length(s, i) - 1);
			check_close(&k, "a long prompt", &a, &b, 1e-11);
		}
		hec_session_destroy(s);
		hec_model_destroy(m);
		kit_close(&k);
	}
}

/* ---- the same bits ---- */

/* The logits after each of `steps` single tokens behind a prompt, of one story with its beams. */
static void run_alone(kit *k, const hec_model *m, const story *beams, int64_t n, int32_t prompt,
                      int steps, hec_tensor *out)
{
	hec_session *s = open_session(k, m, 1, n, 7, 9, false);
	const story *rows[4];
	int32_t count[4];
	for (int64_t i = 0; i < n; i++) {
		rows[i] = &beams[i];
		count[i] = prompt;
	}
	add_stories(k, s, rows, 1);
	for (int step = 0; step < steps; step++) {
		out[step] = feed(k, s, rows, n, count);
		for (int64_t i = 0; i < n; i++)
			count[i] = 1;
	}
	hec_session_destroy(s);
}

static void a_source_gives_the_same_bits_alone_and_in_a_batch(void **state)
{
	(void)state;
	enum { N = 4, STEPS = 3 };
	for (int form = FORM_DECODER; form < MODEL_FORMS; form++) {
		for (int n = 0; n < MODEL_VARIANTS; n++) {
			kit k = kit_open(6540 + (uint64_t)n);
			const int64_t beams = 1 + n % 3;
			hec_model *m = open_model(&k, (model_form)form, n, HEC_F32);
			story stories[N][3];
			const story *rows[N * 3], *sources[N];
			hec_tensor want[N][STEPS];
			int32_t count[N * 3];
			for (int i = 0; i < N; i++) {
				for (int64_t j = 0; j < beams; j++) {
					draw_story(&k, m, 1 + i, 8, &stories[i][j]);
					rows[i * beams + j] = &stories[i][j];
					count[i * beams + j] = (i + n) % 4 + 1;
				}
				sources[i] = &stories[i][0];
				run_alone(&k, m, stories[i], beams, (i + n) % 4 + 1, STEPS,
				          want[i]);
			}
			hec_session *s = open_session(&k, m, N + 1, beams, 8, 9, false);
			add_stories(&k, s, sources, N);
			for (int step = 0; step < STEPS; step++) {
				hec_tensor got = feed(&k, s, rows, N * beams, count), part;
				for (int i = 0; i < N; i++) {
					OK(&k, hec_tensor_slice(&got, 0, i * beams, beams, &part));
					check_same_bits(&k, "alone and in a batch", &part,
					                &want[i][step]);
				}
				for (int64_t r = 0; r < N * beams; r++)
					count[r] = 1;
			}
			hec_session_destroy(s);
			hec_model_destroy(m);
			kit_close(&k);
		}
	}
}

/* ---- rows and sources move ---- */

/* Random reorderings, sources that leave and come; then every row must be what its story says. */
static void check_moves(kit *k, model_form form, int n)
{
	enum { N = 3, BEAMS = 4, STEPS = 6 };
	hec_model *m = open_model(k, form, n, HEC_F32);
	hec_session *s = open_session(k, m, N, BEAMS, 7, 9, true);
	story stories[N][BEAMS], moved[BEAMS];
	const story *rows[N * BEAMS], *sources[N];
	int32_t ones[N * BEAMS];
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < BEAMS; j++) {
			draw_story(k, m, 2 + i, 9, &stories[i][j]);
			memcpy(stories[i][j].source, stories[i][0].source,
			       sizeof stories[i][j].source);
			rows[i * BEAMS + j] = &stories[i][j];
			ones[i * BEAMS + j] = 1;
		}
		sources[i] = &stories[i][0];
	}
	add_stories(k, s, sources, N);
	for (int step = 0; step < STEPS; step++) {
		int64_t live = hec_session_sources(s);
		(void)feed(k, s, rows, live * BEAMS, ones);
		int32_t from[N * BEAMS];
		for (int i = 0; i < live; i++) {
			memcpy(moved, stories[i], sizeof moved);
			for (int j = 0; j < BEAMS; j++) {
				/* A circle now and then, else any row. */
				int64_t at =
					step % 2 ? (j + 1 + i) % BEAMS : draw_in(k, 0, BEAMS - 1);
				from[i * BEAMS + j] = (int32_t)(i * BEAMS + at);
				stories[i][j] = moved[at];
			}
		}
		OK(k, hec_session_reorder(s, from));
		if (step == 2) { /* the middle one leaves, and another comes */
			OK(k, hec_session_keep(s, (int64_t[]){0, 2}, 2));
			memcpy(stories[1], stories[2], sizeof stories[1]);
			for (int j = 0; j < BEAMS; j++) {
				draw_story(k, m, 7, 9, &stories[2][j]);
				memcpy(stories[2][j].source, stories[2][0].source,
				       sizeof stories[2][j].source);
			}
			add_stories(k, s, &sources[2], 1);
			assert_int_equal(hec_session_sources(s), 3);
			assert_int_equal(hec_session_length(s, 2 * BEAMS), 0);
		}
	}
	/* Each row from nothing, without any move; last, some rows take one token and some two. */
	int32_t last[N * BEAMS];
	for (int r = 0; r < N * BEAMS; r++)
		last[r] = 1 + r % 2;
	hec_tensor got = feed(k, s, rows, N * BEAMS, last);
	for (int i = 0; i < N; i++) {
		hec_session *fresh = open_session(k, m, 1, BEAMS, 7, 9, false);
		add_stories(k, fresh, &sources[i], 1);
		hec_tensor want, part;
		for (int64_t t = 1; t < hec_session_length(s, i * BEAMS); t++)
			(void)feed(k, fresh, &rows[i * BEAMS], BEAMS, ones);
		want = feed(k, fresh, &rows[i * BEAMS], BEAMS, last);
		OK(k, hec_tensor_slice(&got, 0, i * BEAMS, BEAMS, &part));
		check_same_bits(k, "after all the moves", &part, &want);
		hec_session_destroy(fresh);
	}
	hec_session_destroy(s);
	hec_model_destroy(m);
}

static void rows_and_sources_move_without_a_trace(void **state)
{
	(void)state;
	for (int form = FORM_DECODER; form < MODEL_FORMS; form++) {
		for (int n = 0; n < MODEL_VARIANTS; n++) {
			kit k = kit_open(6560 + (uint64_t)n);
			check_moves(&k, (model_form)form, n);
			kit_close(&k);
		}
	}
}

/* ---- room ---- */

/* Rows that begun apart come to their end in one call: the largest there is. */
static void the_largest_call_finds_room(void **state)
{
	(void)state;
	enum { SOURCES = 5, BEAMS = 2, ROWS = SOURCES * BEAMS, LONG = 9 };
	for (int form = FORM_DECODER; form < MODEL_FORMS; form++) {
		for (int n = 0; n < MODEL_VARIANTS; n++) {
			kit k = kit_open(6570 + (uint64_t)n);
			hec_model *m = open_model(&k, (model_form)form, n, HEC_F64);
			story stories[SOURCES];
			const story *list[SOURCES], *rows[ROWS];
			int32_t count[ROWS];
			for (int i = 0; i < SOURCES; i++) {
				draw_story(&k, m, 7, LONG, &stories[i]);
				list[i] = rows[BEAMS * i] = rows[BEAMS * i + 1] = &stories[i];
			}
			for (int r = 0; r < ROWS; r++)
				count[r] = r < BEAMS ? LONG - 1 : LONG;
			hec_session *s = open_session(&k, m, SOURCES, BEAMS, 7, LONG, true);
			add_stories(&k, s, list, 1);
			(void)feed(&k, s, rows, BEAMS, (int32_t[]){1, 1});
			add_stories(&k, s, list + 1, SOURCES - 1);
			(void)feed(&k, s, rows, ROWS, count);
			assert_int_equal(hec_session_length(s, ROWS - 1), LONG);
			hec_session_destroy(s);
			hec_model_destroy(m);
			kit_close(&k);
		}
	}
}

static long most_resident(void)
{
	struct rusage usage;
	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss;
}

/* A config.json may say any length: to be measured, a session takes no memory by it. */
static void to_be_measured_takes_no_memory(void **state)
{
	(void)state;
	kit k = kit_open(6590);
	const hec_stack_config stack = {.layers = 1,
	                                .attention = {.heads = 1},
	                                .feed_forward = {.hidden = 1},
	                                .position = {.max = 1 << 26}};
	hec_model_config c = {.size = sizeof c,
	                      .vocab = 1,
	                      .width = 1,
	                      .head = HEC_HEAD_LM,
	                      .encoder = stack,
	                      .decoder = stack};
	hec_model *m = NULL;
	hec_session *s = NULL;
	OK(&k, hec_model_create(k.ctx, &c, HEC_F32, 1, &m));
	long before = most_resident();
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	o.max_target = 4;
	hec_status status = hec_session_create(k.ctx, m, &o, &s);
	CHECK(&k, status == HEC_OK || status == HEC_ERR_MEMORY, "%s", hec_error_message());
	long took = most_resident() - before;
	CHECK(&k, took < 64 << 10 || SANITIZED, "resident memory grew by %ld KB", took);
	hec_session_destroy(s);
	hec_model_destroy(m);
	kit_close(&k);
}

/* ---- weights ---- */

static void check_weights(kit *k, hec_session *s, hec_attention_kind kind, int64_t row,
                          const hec_tensor *all)
{
	const int64_t B = 1, H = all->shape[1], T = all->shape[2], S = all->shape[3];
	for (int64_t l = 0; l < all->shape[0] / B; l++) {
		hec_tensor got = make(k, all->dtype, SHAPE(H, T, S)), want;
		OK(k, hec_session_weights(s, kind, l, row, &got));
		OK(k, hec_tensor_slice(all, 0, l, 1, &want));
		OK(k, hec_tensor_reshape(&want, 3, (int64_t[]){H, T, S}, &want));
		check_close(k, "weights", &got, &want, 1e-12);
	}
}

static void weights_are_those_of_the_whole_model(void **state)
{
	(void)state;
	for (int form = FORM_DECODER; form < MODEL_FORMS; form++) {
		for (int n = 0; n < MODEL_VARIANTS; n++) {
			kit k = kit_open(6580 + (uint64_t)n);
			hec_model *m = open_model(&k, (model_form)form, n, HEC_F64);
			const hec_model_config *c = hec_model_config_of(m);
			story stories[2];
			const story *rows[2] = {&stories[0], &stories[1]};
			draw_story(&k, m, 3, 6, &stories[0]);
			draw_story(&k, m, 5, 6, &stories[1]);
			hec_session *s = open_session(&k, m, 2, 1, 7, 9, true);
			add_stories(&k, s, rows, 2);
			(void)feed(&k, s, rows, 2, (int32_t[]){4, 3});
			(void)feed(&k, s, rows, 2, (int32_t[]){1, 2});
			(void)feed(&k, s, rows, 2, (int32_t[]){1, 1});
			for (int r = 0; r < 2; r++) {
				const int64_t T = hec_session_length(s, r),
					      S = form == FORM_BOTH ? 3 + 2 * r : 0;
				hec_model_input in = {.size = sizeof in};
				hec_model_output out = {
					.size = sizeof out,
					.decoder_weights = make(&k, HEC_F64,
				                                SHAPE(c->decoder.layers, 2, T, T))};
				in.decoder_ids = hec_tensor_2d(stories[r].ids, HEC_I32, 1, T);
				if (form == FORM_BOTH) {
					in.ids = hec_tensor_2d(stories[r].source, HEC_I32, 1, S);
					out.encoder_weights = make(
						&k, HEC_F64, SHAPE(c->encoder.layers, 2, S, S));
					out.cross_weights = make(&k, HEC_F64,
					                         SHAPE(c->decoder.layers, 2, T, S));
				}
				OK(&k, hec_model_fwd(k.ctx, k.arena, m, &in, NULL, &out, NULL));
				check_weights(&k, s, HEC_ATTENTION_DECODER, r,
				              &out.decoder_weights);
				if (form != FORM_BOTH)
					continue;
				check_weights(&k, s, HEC_ATTENTION_ENCODER, r,
				              &out.encoder_weights);
				check_weights(&k, s, HEC_ATTENTION_CROSS, r, &out.cross_weights);
			}
			hec_session_destroy(s);
			hec_model_destroy(m);
			kit_close(&k);
		}
	}
}

/* ---- what is refused ---- */

static void what_a_session_cannot_do_is_said(void **state)
{
	(void)state;
	kit k = kit_open(6600);
	hec_model *m = open_model(&k, FORM_BOTH, 0, HEC_F32), *encoder = NULL;
	hec_model_config config = model_variant(FORM_ENCODER, 0, HEC_HEAD_LM, 0);
	OK(&k, hec_model_create(k.ctx, &config, HEC_F32, 1, &encoder));
	hec_session *s = NULL;
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_create(k.ctx, encoder, &o, &s), "decoder");
	o.max_target = 10;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_create(k.ctx, m, &o, &s), "max_target is 10", "9");
	o.max_target = 0;
	o.beams = -1;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_create(k.ctx, m, &o, &s), "beams is -1");
	assert_null(s);
	o.beams = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_create(k.ctx, m, &o, &s), "beams is 0");
	o.beams = 2;
	o.max_source = 4;
	OK(&k, hec_session_create(k.ctx, m, &o, &s));
	assert_int_equal(session_options(s)->max_target, 9);
	assert_true(hec_session_model(s) == m && hec_session_ctx(s) == k.ctx);
	hec_tensor ids = make_zero(&k, HEC_I32, SHAPE(1, 5)),
		   two = make_zero(&k, HEC_I32, SHAPE(2, 1)),
		   logits = make(&k, HEC_F32, SHAPE(2, 7));
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_start(s, 1, NULL, NULL), "ids are not given");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_start(s, 1, &ids, NULL), "5 tokens", "4");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_start(s, 2, &two, NULL), "2 sources", "1");
	OK(&k, hec_session_start(s, 1, &ids, (int32_t[]){4}));
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_add(s, 1, &ids, (int32_t[]){4}), "beside 1");
	put(&two, 1, 7);
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_step(s, &two, NULL, &logits), "id 7", "row 1");
	put(&two, 1, 0);
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_step(s, &two, (int32_t[]){1, 2}, &logits),
	      "row 1 takes 2");
	for (int i = 0; i < 9; i++)
		OK(&k, hec_session_step(s, &two, NULL, &logits));
	FAILS(&k, HEC_ERR_SHAPE, hec_session_step(s, &two, NULL, &logits), "row 0 has 9", "9");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_reorder(s, (int32_t[]){0, 2}), "row 1 from row 2");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_keep(s, (int64_t[]){1}, 1), "source 1");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_session_weights(s, HEC_ATTENTION_CROSS, 0, 0, &logits),
	      "keep_attention");
	OK(&k, hec_session_keep(s, NULL, 0));
	assert_int_equal(hec_session_sources(s), 0);
	hec_session_destroy(s);
	hec_session_destroy(NULL);
	hec_model_destroy(encoder);
	hec_model_destroy(m);
	kit_close(&k);
}

static double resident_bytes(void)
{
	long pages = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &pages, &resident), 2);
	fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* There is room for long texts in every row; short ones do not pay for it. */
static void a_cache_takes_memory_as_it_is_filled(void **state)
{
	(void)state;
	kit k = kit_open(6590);
	hec_model_config config = model_variant(FORM_DECODER, 1, HEC_HEAD_LM, 0);
	config.width *= 8;
	config.decoder.position.max = 4096;
	hec_model *m = model_open(&k, &config, HEC_F32);
	story one;
	draw_story(&k, m, 0, 8, &one);
	const story *rows[64];
	int32_t count[64];
	for (int i = 0; i < 64; i++) {
		rows[i] = &one;
		count[i] = 2;
	}
	hec_session *s = open_session(&k, m, 64, 1, 1, 4096, false);
	double bytes = (double)hec_session_bytes(s), before = resident_bytes();
	assert_true(bytes > 64e6);
	OK(&k, hec_session_start(s, 64, NULL, NULL));
	(void)feed(&k, s, rows, 64, count);
	(void)feed(&k, s, rows, 64, count);
	double taken = resident_bytes() - before;
	CHECK(&k, taken < bytes / 4 || SANITIZED, "%.0f of %.0f bytes for 4 of 4096 tokens", taken,
	      bytes);
	hec_session_destroy(s);
	hec_model_destroy(m);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(token_by_token_is_all_at_once),
		cmocka_unit_test(a_long_prompt_goes_in_pieces),
		cmocka_unit_test(a_source_gives_the_same_bits_alone_and_in_a_batch),
		cmocka_unit_test(rows_and_sources_move_without_a_trace),
		cmocka_unit_test(the_largest_call_finds_room),
		cmocka_unit_test(to_be_measured_takes_no_memory),
		cmocka_unit_test(a_cache_takes_memory_as_it_is_filled),
		cmocka_unit_test(weights_are_those_of_the_whole_model),
		cmocka_unit_test(what_a_session_cannot_do_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
