/* test_decode.c — greedy, beams, sampling and the scheduler, over logits that are a formula.
 *
 * tests/golden/decode.txt holds what Transformers makes of the same formula. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/refuse.h"
#include "decode/plan.h"
#include "decode/scheduler.h"
#include "decode/topk.h"
#include "decode/warp.h"
#include "support/formula.h"
#include "support/searches.h"

static void searches_are_those_of_transformers(void **state)
{
	(void)state;
	kit k = kit_open(1);
	FILE *f = searches_open(&k, "decode.txt");
	char word[16];
	int searches = 0;
	while (fscanf(f, "%15s", word) == 1 && strcmp(word, "search") == 0) {
		search_case c;
		search_read(&k, f, &c);
		formula m;
		formula_open(&m, &k, c.vocab, 1, c.o.beams, c.n + c.o.max_tokens, c.ends[0]);
		const int32_t *ids = c.ids;
		hec_decoded *out;
		OK(&k, decode_run(&m.engine, 1, &ids, &c.n, &c.o, &out));
		assert_int_equal(m.live, 0);
		for (int64_t i = 0; i < c.o.nbest; i++)
			/* Sums of up to 24 floats of magnitude 10, each rounded twice. */
			search_check(&k, f, searches, &c, 1e-5, hec_decoded_at(out, 0, i));
		hec_decoded_free(out);
		formula_close(&m);
		searches++;
	}
	assert_true(searches >= 150);
	fclose(f);
	kit_close(&k);
}

static void what_is_left_to_draw_is_what_transformers_leaves(void **state)
{
	(void)state;
	kit k = kit_open(2);
	FILE *f = searches_open(&k, "decode.txt");
	char word[64];
	int warps = 0;
	while (fscanf(f, "%63s", word) == 1) {
		if (strcmp(word, "warp") != 0)
			continue;
		plan p = {.o = HEC_DECODE_OPTIONS_INIT};
		p.o.temperature = search_real(&k, f);
		p.o.top_k = search_number(&k, f);
		p.o.top_p = search_real(&k, f);
		p.o.min_p = search_real(&k, f);
		/* Transformers has no 0 that takes away: it says that there is no such rule. */
		if (p.o.top_p == 0)
			p.o.top_p = 1;
		int32_t ids[2] = {(int32_t)search_number(&k, f), (int32_t)search_number(&k, f)},
			want[512];
		p.vocab = search_number(&k, f);
		if (p.o.top_k == 0)
			p.o.top_k = p.vocab;
		int64_t n = (int64_t)search_list(&k, f, want);
		float x[512];
		scored best[512];
		chance left[512];
		formula_logits(ids, 2, p.vocab, 0, x);
		int64_t got = warp(&p, x, best, left);
		CHECK(&k, got == n, "warp %d leaves %lld, Transformers %lld", warps, (long long)got,
		      (long long)n);
		for (int64_t i = 0; i < n; i++)
			assert_int_equal(left[i].id, want[i]);
		warps++;
	}
	assert_true(warps >= 100);
	fclose(f);
	kit_close(&k);
}

/* ---- many sources ---- */

#define SOURCES 41
#define MOST 24

typedef struct crowd {
	int32_t ids[SOURCES][8];
	const int32_t *at[SOURCES];
	int64_t length[SOURCES];
} crowd;

static void crowd_draw(crowd *c, kit *k, int64_t vocab)
{
	for (int i = 0; i < SOURCES; i++) {
		c->at[i] = c->ids[i];
		c->length[i] = 1 + (int64_t)(draw_unit(k) * 7.99);
		for (int j = 0; j < 8; j++)
			c->ids[i][j] = (int32_t)(draw_unit(k) * (double)vocab);
	}
}

static void check_same(const kit *k, int64_t source, const hec_hypothesis *a,
                       const hec_hypothesis *b)
{
	CHECK(k, a->n == b->n && memcmp(a->ids, b->ids, (size_t)a->n * sizeof *a->ids) == 0,
	      "source %lld is written in another way among others", (long long)source);
	CHECK(k, memcmp(&a->score, &b->score, sizeof a->score) == 0,
	      "source %lld has score %.17g alone and %.17g among others", (long long)source,
	      a->score, b->score);
}

static void check_crowd(uint64_t seed, int threads, const hec_decode_options *o)
{
	kit k = kit_open_at(seed, NULL, threads);
	crowd c;
	crowd_draw(&c, &k, 83);
	formula all, one;
	int64_t places[] = {1, 2, 5, 8, 9};
	hec_decoded *alone[SOURCES];
	formula_open(&one, &k, 83, 1, o->beams, 40, 7);
	for (int i = 0; i < SOURCES; i++) {
		hec_decode_options own = *o;
		own.first_stream = (uint64_t)i;
		OK(&k, decode_run(&one.engine, 1, &c.at[i], &c.length[i], &own, &alone[i]));
	}
	for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
		formula_open(&all, &k, 83, places[p], o->beams, 40, 7);
		hec_decoded *out;
		OK(&k, decode_run(&all.engine, SOURCES, c.at, c.length, o, &out));
		assert_int_equal(all.live, 0);
		assert_int_equal(all.most_live, places[p]);
		assert_null(hec_decoded_at(out, SOURCES, 0));
		assert_null(hec_decoded_at(out, SOURCES - 1, o->nbest));
		for (int i = 0; i < SOURCES; i++)
			for (int64_t rank = 0; rank < o->nbest; rank++)
				check_same(&k, i, hec_decoded_at(out, i, rank),
				           hec_decoded_at(alone[i], 0, rank));
		/* Those that finish make room: fewer steps than one group after the other takes. */
		if (places[p] == 8)
			assert_true(all.steps < one.steps / 4);
		hec_decoded_free(out);
		formula_close(&all);
	}
	for (int i = 0; i < SOURCES; i++)
		hec_decoded_free(alone[i]);
	formula_close(&one);
	kit_close(&k);
}

static void a_source_is_written_the_same_alone_and_among_others(void **state)
{
	(void)state;
	for (int threads = 1; threads <= 3; threads++) {
		hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
		o.max_tokens = MOST;
		check_crowd(3, threads, &o); /* greedy */
		o.sample = true;
		o.top_k = 20;
		o.top_p = 0.9;
		o.seed = 5;
		check_crowd(4, threads, &o);
		o.sample = false;
		o.beams = 4;
		o.nbest = 3;
		check_crowd(5, threads, &o);
		o.early = HEC_EARLY_NEVER;
		o.no_repeat_ngram = 2;
		check_crowd(6, threads, &o);
	}
}

/* ---- sampling ---- */

static void draws_follow_the_probabilities(void **state)
{
	(void)state;
	const chance of[3] = {{1, 4}, {0.5, 7}, {0.25, 9}};
	int hits[10] = {0}, draws = 70000;
	for (int i = 0; i < draws; i++)
		hits[warp_draw(11, (uint64_t)(i % 7), (uint64_t)(i / 7), of, 3)]++;
	/* Five standard deviations of the largest count are 650. */
	assert_true(abs(hits[4] - 40000) < 650);
	assert_true(abs(hits[7] - 20000) < 650);
	assert_true(abs(hits[9] - 10000) < 650);
	assert_int_equal(hits[4] + hits[7] + hits[9], draws);
}

static void another_seed_draws_other_words(void **state)
{
	(void)state;
	kit k = kit_open(7);
	crowd c;
	crowd_draw(&c, &k, 83);
	formula m;
	formula_open(&m, &k, 83, 8, 1, 40, 7);
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	o.sample = true;
	o.max_tokens = MOST;
	hec_decoded *a, *b, *again;
	OK(&k, decode_run(&m.engine, SOURCES, c.at, c.length, &o, &a));
	OK(&k, decode_run(&m.engine, SOURCES, c.at, c.length, &o, &again));
	o.seed = 1;
	OK(&k, decode_run(&m.engine, SOURCES, c.at, c.length, &o, &b));
	int differ = 0;
	for (int i = 0; i < SOURCES; i++) {
		const hec_hypothesis *x = hec_decoded_at(a, i, 0), *y = hec_decoded_at(b, i, 0);
		check_same(&k, i, x, hec_decoded_at(again, i, 0));
		differ +=
			x->n != y->n || memcmp(x->ids, y->ids, (size_t)x->n * sizeof *x->ids) != 0;
	}
	assert_true(differ > SOURCES / 2);
	hec_decoded_free(a);
	hec_decoded_free(b);
	hec_decoded_free(again);
	formula_close(&m);
	kit_close(&k);
}

/* ---- callbacks, errors ---- */

typedef struct heard {
	int32_t ids[SOURCES][MOST];
	int64_t n[SOURCES];
	int64_t done, calls, stop_after;
} heard;

static hec_status hear_token(void *user, int64_t source, int32_t id)
{
	heard *h = user;
	h->ids[source][h->n[source]++] = id;
	return HEC_OK;
}

static hec_status hear_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	heard *h = user;
	assert_non_null(phase);
	assert_true(done >= h->done && total == SOURCES);
	h->done = done;
	return ++h->calls == h->stop_after ? HEC_ERR_CANCELLED : HEC_OK;
}

static void tokens_stream_and_progress_can_cancel(void **state)
{
	(void)state;
	kit k = kit_open(8);
	crowd c;
	crowd_draw(&c, &k, 83);
	formula m;
	formula_open(&m, &k, 83, 4, 1, 40, 7);
	heard h = {.stop_after = -1};
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	o.max_tokens = MOST;
	o.token = hear_token;
	o.progress = hear_progress;
	o.user = &h;
	hec_decoded *out;
	OK(&k, decode_run(&m.engine, SOURCES, c.at, c.length, &o, &out));
	assert_int_equal(h.done, SOURCES);
	for (int i = 0; i < SOURCES; i++) {
		const hec_hypothesis *written = hec_decoded_at(out, i, 0);
		assert_int_equal(h.n[i], written->n);
		assert_memory_equal(h.ids[i], written->ids, (size_t)h.n[i] * sizeof(int32_t));
	}
	hec_decoded_free(out);
	h = (heard){.stop_after = 9};
	FAILS(&k, HEC_ERR_CANCELLED, decode_run(&m.engine, SOURCES, c.at, c.length, &o, &out),
	      "cancelled", "41");
	assert_null(out);
	assert_int_equal(hec_error_item(), -1);
	formula_close(&m);
	kit_close(&k);
}

static void what_cannot_be_is_said_with_its_numbers(void **state)
{
	(void)state;
	kit k = kit_open(9);
	formula m;
	formula_open(&m, &k, 83, 4, 4, 40, 7);
	int32_t good[3] = {1, 2, 3}, bad[3] = {1, 83, 3};
	const int32_t *ids = good;
	int64_t n = 3;
	hec_decoded *out;
#define REFUSED(status, change, ...)                                                               \
	do {                                                                                       \
		hec_decode_options o = HEC_DECODE_OPTIONS_INIT;                                    \
		o.beams = 4;                                                                       \
		o.max_tokens = MOST;                                                               \
		change;                                                                            \
		FAILS(&k, status, decode_run(&m.engine, 1, &ids, &n, &o, &out), __VA_ARGS__);      \
		assert_null(out);                                                                  \
	} while (0)
	REFUSED(HEC_ERR_ARGUMENT, o.beams = 3, "beams is 3", "4");
	REFUSED(HEC_ERR_ARGUMENT, o.beams = 0, "beams is 0", "4"); /* a 0 is no default */
	REFUSED(HEC_ERR_ARGUMENT, o.nbest = 5, "nbest is 5", "4");
	REFUSED(HEC_ERR_ARGUMENT, o.nbest = 0, "nbest is 0", "4");
	REFUSED(HEC_ERR_ARGUMENT, o.max_tokens = 0, "max_tokens is 0");
	REFUSED(HEC_ERR_ARGUMENT, o.top_k = 0, "top_k is 0");
	REFUSED(HEC_ERR_ARGUMENT, o.temperature = 0, "temperature is 0");
	REFUSED(HEC_ERR_ARGUMENT, o.repetition_penalty = 0, "repetition_penalty is 0");
	REFUSED(HEC_ERR_UNSUPPORTED, o.sample = true, "sampling", "4");
	REFUSED(HEC_ERR_UNSUPPORTED, o.token = hear_token, "streamed");
	REFUSED(HEC_ERR_ARGUMENT, o.length_penalty = NAN, "length_penalty");
	REFUSED(HEC_ERR_ARGUMENT, o.top_p = 1.5, "top_p is 1.5");
	REFUSED(HEC_ERR_ARGUMENT, o.repetition_penalty = -1, "repetition_penalty is -1");
	REFUSED(HEC_ERR_ARGUMENT, o.early = (hec_early_stopping)3, "early is 3");
	REFUSED(HEC_ERR_ARGUMENT, o.forced_eos = 83, "forced_eos is 83");
	REFUSED(HEC_ERR_ARGUMENT, (o.suppress = bad, o.suppressed = 3), "suppress[1] is 83");
	REFUSED(HEC_ERR_ARGUMENT, (o.begin_suppress = bad, o.begin_suppressed = 3),
	        "begin_suppress[1] is 83");
	REFUSED(HEC_ERR_SHAPE, o.max_tokens = 39, "3 tokens", "39", "40");
	REFUSED(HEC_ERR_SHAPE, o.max_tokens = INT64_MAX, "40");
	assert_int_equal(hec_error_item(), 0);
	ids = bad;
	REFUSED(HEC_ERR_ARGUMENT, (void)o, "token 1 of source 0 is 83");
	ids = good;
	n = 0;
	REFUSED(HEC_ERR_ARGUMENT, (void)o, "source 0 has no tokens");
	n = 3;
	m.broken = true;
	REFUSED(HEC_ERR_FORMAT, (void)o, "not finite", "position 3");
	assert_int_equal(hec_error_item(), 0);
	m.broken = false;
	m.live = 0;
	/* And the largest that fits: the last token is not fed. */
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	o.beams = 4;
	o.max_tokens = 38;
	o.min_tokens = 38;
	OK(&k, decode_run(&m.engine, 1, &ids, &n, &o, &out));
	assert_int_equal(hec_decoded_at(out, 0, 0)->n, 38);
	hec_decoded_free(out);
	/* As many as there is room for: as many as could be asked for. */
	o.max_tokens = -1;
	OK(&k, decode_run(&m.engine, 1, &ids, &n, &o, &out));
	assert_int_equal(hec_decoded_at(out, 0, 0)->n, 38);
	hec_decoded_free(out);
	/* Each its own bound, within that of all. */
	const int32_t *both[2] = {ids, ids};
	const int64_t lengths[2] = {n, n}, most[2] = {7, 30}, none[2] = {7, 0};
	o.max_tokens = 20;
	o.min_tokens = 20;
	o.max_tokens_each = most;
	OK(&k, decode_run(&m.engine, 2, both, lengths, &o, &out));
	assert_int_equal(hec_decoded_at(out, 0, 0)->n, 7);
	assert_int_equal(hec_decoded_at(out, 1, 0)->n, 20);
	hec_decoded_free(out);
	o.max_tokens_each = none;
	FAILS(&k, HEC_ERR_ARGUMENT, decode_run(&m.engine, 2, both, lengths, &o, &out),
	      "max_tokens_each[1]");
	assert_int_equal(hec_error_item(), 1);
	o.max_tokens_each = NULL;
	OK(&k, decode_run(&m.engine, 0, NULL, NULL, &o, &out));
	assert_non_null(out);
	assert_null(hec_decoded_at(out, 0, 0));
	hec_decoded_free(out);
	formula_close(&m);
	kit_close(&k);
}

/* What is never to be written is not written where nothing else is left, either. */
static void where_nothing_may_be_written_nothing_is(void **state)
{
	(void)state;
	kit k = kit_open(10);
	int32_t all[83], some[3] = {1, 2, 3};
	for (int i = 0; i < 83; i++)
		all[i] = i;
	const int32_t *ids = some;
	int64_t n = 3;
	hec_decoded *out;
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	o.max_tokens = MOST;
	o.suppress = all;
	o.suppressed = 83;
	formula m;
	formula_open(&m, &k, 83, 4, 1, 40, 7);
	for (int sample = 0; sample < 2; sample++) {
		o.sample = sample;
		m.live = 0;
		FAILS(&k, HEC_ERR_ARGUMENT, decode_run(&m.engine, 1, &ids, &n, &o, &out),
		      "no token to write for source 0 at position 3");
		assert_null(out);
	}
	formula_close(&m);
	o.sample = false;
	o.beams = o.nbest = 4;
	formula_open(&m, &k, 83, 4, 4, 40, 7);
	OK(&k, decode_run(&m.engine, 1, &ids, &n, &o, &out));
	for (int i = 0; i < 4; i++)
		assert_int_equal(hec_decoded_at(out, 0, i)->n, 0);
	hec_decoded_free(out);
	/* One word for four beams. */
	m.live = 0;
	o.suppressed = 82;
	OK(&k, decode_run(&m.engine, 1, &ids, &n, &o, &out));
	const hec_hypothesis *best = hec_decoded_at(out, 0, 0);
	for (int64_t i = 0; i < best->n; i++)
		assert_int_equal(best->ids[i], 82);
	assert_int_equal(best->n, MOST);
	assert_int_equal(hec_decoded_at(out, 0, 1)->n, 0);
	hec_decoded_free(out);
	formula_close(&m);
	kit_close(&k);
}

static void leave_one(void *user, int64_t source, const int32_t *written, int64_t n, float *logits,
                      int64_t vocab)
{
	(void)source, (void)written, (void)n;
	for (int64_t i = 0; i < vocab - 1; i++)
		logits[i] = *(const float *)user;
}

/* A rule of the caller's that writes NaN means what −∞ means. */
static void what_is_no_number_is_no_choice(void **state)
{
	(void)state;
	kit k = kit_open(12);
	const int32_t some[3] = {1, 2, 3}, *ids = some;
	float none = NAN;
	int64_t n = 3;
	hec_decoded *out;
	for (int beams = 1; beams <= 4; beams += 3) {
		formula m;
		formula_open(&m, &k, 83, 4, beams, 40, 7);
		hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
		o.max_tokens = MOST;
		o.beams = o.nbest = beams;
		o.process = leave_one;
		o.user = &none;
		OK(&k, decode_run(&m.engine, 1, &ids, &n, &o, &out));
		const hec_hypothesis *best = hec_decoded_at(out, 0, 0);
		assert_int_equal(best->n, MOST);
		for (int64_t i = 0; i < MOST; i++)
			assert_int_equal(best->ids[i], 82);
		hec_decoded_free(out);
		formula_close(&m);
	}
	kit_close(&k);
}

/* Where a refused request is an error, nothing is left behind; and once the search has begun, only
 * its results are asked for: steps allocate nothing. */
static void refused_memory_is_an_error_and_steps_ask_for_none(void **state)
{
	(void)state;
	kit k = kit_open(11);
	crowd c;
	crowd_draw(&c, &k, 83);
	formula m;
	formula_open(&m, &k, 83, 4, 4, 40, 7);
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	o.beams = 4;
	o.nbest = 2;
	o.max_tokens = MOST;
	hec_decoded *out;
	OK(&k,
	   decode_run(&m.engine, SOURCES, c.at, c.length, &o, &out)); /* scratch of the context */
	hec_decoded_free(out);
	long live = refuse_live();
	refuse_request(0, false);
	OK(&k, decode_run(&m.engine, SOURCES, c.at, c.length, &o, &out));
	long requests = refuse_requests();
	hec_decoded_free(out);
	/* The work space, the order, the list of results and its items, and the ids of each; qsort may take
	 * one. */
	assert_in_range(requests, 4 + SOURCES * 2, 5 + SOURCES * 2);
	for (long n = 1; n <= requests; n++) {
		m.live = 0;
		refuse_request(n, false);
		hec_status status = decode_run(&m.engine, SOURCES, c.at, c.length, &o, &out);
		bool fired = refuse_fired();
		refuse_request(0, false);
		assert_true(fired);
		CHECK(&k, status == HEC_OK || status == HEC_ERR_MEMORY, "request %ld gave %s", n,
		      hec_status_name(status));
		assert_int_equal(!out, status != HEC_OK);
		hec_decoded_free(out);
		assert_int_equal(refuse_live(), live);
	}
	formula_close(&m);
	kit_close(&k);
}

/* ---- the largest k ---- */

static int better_first(const void *a, const void *b)
{
	const scored *x = a, *y = b;
	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

static void topk_is_the_head_of_a_sorted_list(void **state)
{
	(void)state;
	kit k = kit_open(10);
	const int64_t sizes[] = {1, 2, 7, 63, 64, 65, 200, 1000};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		int64_t n = sizes[s];
		float x[1000];
		scored want[1000], got[1000];
		int64_t numbers = 0;
		for (int64_t i = 0; i < n; i++) {
			/* Few values, so that there are ties; some that are no number. */
			x[i] = floorf((float)draw_unit(&k) * 50);
			if (x[i] == 3)
				x[i] = -INFINITY;
			if (x[i] == 4)
				x[i] = NAN;
			else
				want[numbers++] = (scored){x[i], (int32_t)i};
		}
		qsort(want, (size_t)numbers, sizeof *want, better_first);
		for (int64_t top = 1; top <= n; top += 1 + top / 3) {
			int64_t count = topk(x, n, top, got);
			assert_int_equal(count, top < numbers ? top : numbers);
			for (int64_t i = 0; i < count; i++)
				CHECK(&k, got[i].id == want[i].id, "n %lld, k %lld: place %lld",
				      (long long)n, (long long)top, (long long)i);
		}
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(searches_are_those_of_transformers),
		cmocka_unit_test(what_is_left_to_draw_is_what_transformers_leaves),
		cmocka_unit_test(a_source_is_written_the_same_alone_and_among_others),
		cmocka_unit_test(draws_follow_the_probabilities),
		cmocka_unit_test(another_seed_draws_other_words),
		cmocka_unit_test(tokens_stream_and_progress_can_cancel),
		cmocka_unit_test(what_cannot_be_is_said_with_its_numbers),
		cmocka_unit_test(where_nothing_may_be_written_nothing_is),
		cmocka_unit_test(what_is_no_number_is_no_choice),
		cmocka_unit_test(refused_memory_is_an_error_and_steps_ask_for_none),
		cmocka_unit_test(topk_is_the_head_of_a_sorted_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
