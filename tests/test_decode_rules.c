/* test_decode_rules.c — what must, may and may not be written, over logits that are a formula. */
#include "decode/scheduler.h"
#include "decode/warp.h"
#include "support/formula.h"

/* Models have words that may only stand where they must: the language that a translation begins with. */
static void what_must_be_written_is_written_though_forbidden(void **state)
{
	(void)state;
	kit k = kit_open(10);
	const int32_t start[1] = {1}, forbidden[2] = {61, 62}, *ids = start;
	const int64_t n = 1;
	for (int64_t beams = 1; beams <= 4; beams += 3) {
		formula m;
		formula_open(&m, &k, 83, 4, beams, 40, 7);
		hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
		o.beams = beams;
		o.max_tokens = 5;
		o.min_tokens = 4;
		o.forced_bos = 61;
		o.forced_eos = 62;
		o.suppress = forbidden;
		o.suppressed = 2;
		hec_decoded *out;
		OK(&k, decode_run(&m.engine, 1, &ids, &n, &o, &out));
		const hec_hypothesis *h = hec_decoded_at(out, 0, 0);
		assert_int_equal(h->n, 5);
		assert_int_equal(h->ids[0], 61);
		assert_int_equal(h->ids[4], 62);
		for (int i = 1; i < 4; i++)
			assert_true(h->ids[i] != 61 && h->ids[i] != 62);
		hec_decoded_free(out);
		formula_close(&m);
	}
	kit_close(&k);
}

/* What is not to stand first may stand later; behind a forced token the next is the first that is chosen. */
static void what_may_not_come_first_does_not(void **state)
{
	(void)state;
	kit k = kit_open(11);
	const int32_t start[2] = {1, 2}, *ids = start;
	for (int64_t beams = 1; beams <= 4; beams += 3)
		for (int forced = 0; forced < 2; forced++)
			for (int64_t n = 1; n <= 2; n++) {
				formula m;
				formula_open(&m, &k, 83, 4, beams, 40, 7);
				hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
				o.beams = beams;
				o.max_tokens = o.min_tokens = 4;
				o.forced_bos = forced ? 61 : -1;
				hec_decoded *free_one, *out;
				OK(&k, decode_run(&m.engine, 1, &ids, &n, &o, &free_one));
				const int at = forced && n == 1;
				const int32_t first[1] = {hec_decoded_at(free_one, 0, 0)->ids[at]};
				o.begin_suppress = first;
				o.begin_suppressed = 1;
				OK(&k, decode_run(&m.engine, 1, &ids, &n, &o, &out));
				const hec_hypothesis *h = hec_decoded_at(out, 0, 0);
				CHECK(&k, h->n == 4 && h->ids[at] != first[0], "%d is first",
				      first[0]);
				CHECK(&k, !at || h->ids[0] == 61, "%d is forced", h->ids[0]);
				hec_decoded_free(free_one);
				hec_decoded_free(out);
				formula_close(&m);
			}
	kit_close(&k);
}

static void what_may_not_come_first_may_come_later(void **state)
{
	(void)state;
	kit k = kit_open(12);
	int later = 0;
	for (int32_t start = 0; start < 10; start++) {
		const int32_t *ids = &start;
		const int64_t n = 1;
		formula m;
		formula_open(&m, &k, 83, 1, 1, 40, 7);
		hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
		o.max_tokens = o.min_tokens = 6;
		hec_decoded *free_one, *out;
		OK(&k, decode_run(&m.engine, 1, &ids, &n, &o, &free_one));
		const hec_hypothesis *h = hec_decoded_at(free_one, 0, 0);
		o.begin_suppress = &h->ids[2];
		o.begin_suppressed = 1;
		OK(&k, decode_run(&m.engine, 1, &ids, &n, &o, &out));
		if (h->ids[2] != h->ids[0]) {
			const hec_hypothesis *same = hec_decoded_at(out, 0, 0);
			assert_int_equal(same->n, h->n);
			assert_memory_equal(same->ids, h->ids, (size_t)h->n * sizeof *h->ids);
			later++;
		}
		hec_decoded_free(free_one);
		hec_decoded_free(out);
		formula_close(&m);
	}
	CHECK(&k, later >= 5, "%d of 10 texts repeat their first token", 10 - later);
	kit_close(&k);
}

static void all_tokens_alike(void *user, int64_t source, const int32_t *written, int64_t n,
                             float *logits, int64_t vocab)
{
	(void)user, (void)source, (void)written, (void)n;
	for (int64_t v = 0; v < vocab; v++)
		logits[v] = 0;
}

static void of_equal_scores_the_lower_beam_and_the_lower_token_go_first(void **state)
{
	(void)state;
	kit k = kit_open(13);
	const int32_t start = 1, *ids = &start;
	const int64_t n = 1;
	formula m;
	formula_open(&m, &k, 83, 1, 3, 40, 7);
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	o.beams = o.nbest = 3;
	o.max_tokens = 4;
	o.process = all_tokens_alike;
	o.renormalize = true; /* else a row's score keeps what the model gave it */
	hec_decoded *out;
	OK(&k, decode_run(&m.engine, 1, &ids, &n, &o, &out));
	for (int32_t i = 0; i < 3; i++) {
		const int32_t want[4] = {0, 0, 0, i};
		const hec_hypothesis *h = hec_decoded_at(out, 0, i);
		assert_int_equal(h->n, 4);
		assert_memory_equal(h->ids, want, sizeof want);
	}
	hec_decoded_free(out);
	formula_close(&m);
	kit_close(&k);
}

/* Also where top_p is 0, and where rounding says that none is more than the rest may weigh. */
static void the_likeliest_is_left_to_draw_whatever_goes(void **state)
{
	(void)state;
	static const double least[] = {0, 1e-300};
	float x[100] = {0};
	scored best[1];
	chance left[100];
	for (int64_t vocab = 1; vocab <= 100; vocab++)
		for (int i = 0; i < 2; i++) {
			plan p = {.o = HEC_DECODE_OPTIONS_INIT, .vocab = vocab};
			p.o.top_k = vocab; /* as plan_make has it */
			p.o.top_p = least[i];
			assert_int_equal(warp(&p, x, best, left), 1);
			assert_int_equal(left[0].id, vocab - 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_must_be_written_is_written_though_forbidden),
		cmocka_unit_test(what_may_not_come_first_does_not),
		cmocka_unit_test(what_may_not_come_first_may_come_later),
		cmocka_unit_test(of_equal_scores_the_lower_beam_and_the_lower_token_go_first),
		cmocka_unit_test(the_likeliest_is_left_to_draw_whatever_goes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
