/* test_tokenizer.c — learning, encoding, decoding, saving: the promises of hecate/tokenizer.h. */
#include <hecate/random.h>
#include <hecate/tokenizer.h>

#include "base/file.h"
#include "text/unicode/classes.h"
#include "text/pattern/pattern.h"
#include "text/unicode/utf8.h"
#include "text/split/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/clock.h"
#include "support/scratch.h"

/* ---- a small corpus ---- */

static const char *const corpus[] = {
	"The quick brown fox jumps over the lazy dog. The dog didn't mind, it's lazy.",
	"Der schnelle braune Fuchs springt über den faulen Hund; größer wird er nicht.",
	"Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich, 1234 Mal.",
	"the other fox thinks that there is nothing there, and then it is over",
	"привет мир, наш мир, весь мир   и  пробелы",
	"नमस्ते दुनिया, हिन्दी में लिखा है",
	"你好世界 世界你好 🏳️‍🌈 👍🏽",
	"if (x <= 0) { return x + 1; } /* code */\tTabs\tand \u00a0 spaces",
	"",
};
#define LINES (sizeof corpus / sizeof corpus[0])

typedef struct source {
	size_t next, rounds;
} source;

static hec_status next_line(void *user, const char **line, size_t *bytes)
{
	source *s = user;
	if (s->next == s->rounds * LINES) {
		*line = NULL;
		return HEC_OK;
	}
	*line = corpus[s->next++ % LINES];
	*bytes = strlen(*line);
	return HEC_OK;
}

static hec_tokenizer *learn(bool unicode, int threads)
{
	source s = {0, 20};
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	o.vocab = 500;
	o.unicode = unicode;
	o.threads = threads;
	hec_tokenizer *t = NULL;
	if (hec_bpe_train(&o, next_line, &s, &t) != HEC_OK)
		fail_msg("%s", hec_error_message());
	return t;
}

static void expect_message(const char *part)
{
	if (!strstr(hec_error_message(), part))
		fail_msg("\"%s\" does not say \"%s\"", hec_error_message(), part);
}

static void encode(const hec_tokenizer *t, const char *text, size_t bytes, hec_encoding *e)
{
	if (hec_tokenizer_encode(t, text, bytes, NULL, e) != HEC_OK)
		fail_msg("%s", hec_error_message());
}

/* Four random numbers for a round of a test. */
static void draw(uint32_t seed, uint64_t round, uint32_t i, uint32_t out[4])
{
	uint32_t counter[4] = {(uint32_t)round, i, 0, 0}, key[2] = {seed, 0};
	hec_philox(counter, key, out);
}

/* ---- learning ---- */

static void the_usual_special_tokens_are_where_marian_wants_them(void **state)
{
	(void)state;
	hec_tokenizer *t = learn(false, 1);
	int64_t v = hec_tokenizer_vocab(t);
	assert_int_equal(v, 500);
	assert_int_equal(hec_tokenizer_id(t, "</s>"), 0);
	assert_int_equal(hec_tokenizer_id(t, "<unk>"), 1);
	assert_int_equal(hec_tokenizer_id(t, "<pad>"), v - 1);
	assert_int_equal(hec_tokenizer_role(t, "eos"), 0);
	assert_int_equal(hec_tokenizer_role(t, "unk"), 1);
	assert_int_equal(hec_tokenizer_role(t, "pad"), v - 1);
	assert_int_equal(hec_tokenizer_role(t, "mask"), -1);
	assert_true(hec_tokenizer_is_special(t, 0));
	assert_false(hec_tokenizer_is_special(t, 10));
	assert_null(hec_tokenizer_token(t, (int32_t)v));
	assert_null(hec_tokenizer_token(t, -1));
	hec_encoding e = HEC_ENCODING_INIT;
	encode(t, "The fox", 7, &e);
	assert_int_equal(e.ids[e.n - 1], 0);
	assert_int_equal(e.sequence[e.n - 1], -1);
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

static char *file_of(const char *folder, const char *name, size_t *bytes)
{
	char path[256], *data;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(file_read(path, 1 << 24, &data, bytes), HEC_OK);
	return data;
}

static char *new_folder(char path[64])
{
	assert_int_equal(scratch_folder(path, 64), 0);
	return path;
}

static void the_same_text_teaches_the_same_at_any_number_of_threads(void **state)
{
	(void)state;
	for (int unicode = 0; unicode < 2; unicode++) {
		char *first = NULL;
		size_t first_bytes = 0;
		for (int threads = 1; threads <= 4; threads++) {
			hec_tokenizer *t = learn(unicode, threads);
			char folder[64];
			assert_int_equal(hec_tokenizer_save(t, new_folder(folder)), HEC_OK);
			size_t bytes;
			char *json = file_of(folder, "tokenizer.json", &bytes);
			if (first) {
				assert_int_equal(bytes, first_bytes);
				assert_memory_equal(json, first, bytes);
				free(json);
			} else {
				first = json;
				first_bytes = bytes;
			}
			hec_tokenizer_destroy(t);
			assert_int_equal(scratch_folder_remove(folder), 0);
		}
		free(first);
	}
}

static hec_status cancel(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)user, (void)phase, (void)done, (void)total;
	return HEC_ERR_CANCELLED;
}

static hec_status bad_line(void *user, const char **line, size_t *bytes)
{
	*line = *(int *)user == 0 ? "good" : "b\xff";
	*bytes = *(int *)user == 0 ? 4 : 2;
	++*(int *)user;
	return HEC_OK;
}

/* A special token that comes last is not learned before: each id has one token. */
static void what_is_special_is_not_learned(void **state)
{
	(void)state;
	static const hec_special special[] = {
		{"<unk>", "unk", false}, {"Ġthe", NULL, true}, {"ox", NULL, true}};
	source s = {0, 20};
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	o.vocab = 500;
	o.special = special;
	o.specials = 3;
	hec_tokenizer *t = NULL;
	if (hec_bpe_train(&o, next_line, &s, &t) != HEC_OK)
		fail_msg("%s", hec_error_message());
	int64_t ids = hec_tokenizer_vocab(t);
	for (int32_t i = 0; i < ids; i++)
		if (!hec_tokenizer_token(t, i))
			fail_msg("id %d of %lld has no token", (int)i, (long long)ids);
	assert_int_equal(hec_tokenizer_id(t, "Ġthe"), ids - 2);
	assert_int_equal(hec_tokenizer_id(t, "ox"), ids - 1);
	hec_tokenizer_destroy(t);
}

static void wrong_options_and_lines_are_named(void **state)
{
	(void)state;
	source s = {0, 1000};
	hec_tokenizer *t = NULL;
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	o.vocab = 200;
	assert_int_equal(hec_bpe_train(&o, next_line, &s, &t), HEC_ERR_ARGUMENT);
	expect_message("200");
	o.vocab = 1000;
	o.end = "[SEP]";
	assert_int_equal(hec_bpe_train(&o, next_line, &s, &t), HEC_ERR_ARGUMENT);
	expect_message("[SEP]");
	o.end = NULL;
	hec_special twice[2] = {{"<a>", NULL, false}, {"<a>", NULL, true}};
	o.special = twice;
	o.specials = 2;
	assert_int_equal(hec_bpe_train(&o, next_line, &s, &t), HEC_ERR_ARGUMENT);
	expect_message("<a>");
	o.specials = 1;
	twice[0].role = "end";
	assert_int_equal(hec_bpe_train(&o, next_line, &s, &t), HEC_ERR_ARGUMENT);
	expect_message("end");
	o.special = NULL;
	o.progress = cancel;
	o.min_frequency = 1;
	assert_int_equal(hec_bpe_train(&o, next_line, &s, &t), HEC_ERR_CANCELLED);
	int count = 0;
	assert_int_equal(hec_bpe_train(NULL, bad_line, &count, &t), HEC_ERR_FORMAT);
	expect_message("line 2");
	assert_null(t);
}

/* ---- there and back ---- */

static void every_text_comes_back_from_bytes_as_it_was(void **state)
{
	(void)state;
	hec_tokenizer *t = learn(false, 2);
	hec_encoding e = HEC_ENCODING_INIT;
	for (uint64_t round = 0; round < 3000; round++) {
		char text[64];
		size_t n = 0;
		uint32_t words[16];
		for (uint32_t i = 0; i < 4; i++)
			draw(7, round, i, words + 4 * i);
		for (int i = 0; i < (int)(round % 14); i++) {
			static const uint32_t most[] = {0x7f, 0x7ff, 0xffff, 0x10ffff};
			uint32_t c = words[i] % (most[words[15] % 4] + 1);
			if (c < 0xd800 || c > 0xdfff)
				n += utf8_put(words[i] % 5 ? c : ' ', text + n);
		}
		encode(t, text, n, &e);
		char *back;
		size_t bytes;
		assert_int_equal(hec_tokenizer_decode(t, e.ids, e.n, true, &back, &bytes), HEC_OK);
		if (bytes != n || memcmp(back, text, n) != 0)
			fail_msg("round %llu: \"%.*s\" came back as \"%s\"",
			         (unsigned long long)round, (int)n, text, back);
		hec_free(back);
		/* Offsets are whole characters, in order, and leave nothing out. */
		size_t covered = 0;
		for (size_t i = 0; i + 1 < e.n; i++) {
			assert_true(e.offsets[i].begin <= covered);
			assert_true(e.offsets[i].end >= covered && e.offsets[i].end <= n);
			assert_false(e.offsets[i].end < n &&
			             utf8_continues(text[e.offsets[i].end]));
			covered = e.offsets[i].end;
		}
		assert_int_equal(covered, n);
	}
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

static void what_is_saved_loads_and_does_the_same(void **state)
{
	(void)state;
	for (int unicode = 0; unicode < 2; unicode++) {
		hec_tokenizer *t = learn(unicode, 1), *again = NULL;
		char folder[64];
		assert_int_equal(hec_tokenizer_save(t, new_folder(folder)), HEC_OK);
		assert_int_equal(hec_tokenizer_load(folder, &again), HEC_OK);
		assert_int_equal(hec_tokenizer_vocab(again), hec_tokenizer_vocab(t));
		assert_int_equal(hec_tokenizer_role(again, "pad"), hec_tokenizer_role(t, "pad"));
		hec_encoding a = HEC_ENCODING_INIT, b = HEC_ENCODING_INIT;
		for (size_t i = 0; i < LINES; i++) {
			encode(t, corpus[i], strlen(corpus[i]), &a);
			encode(again, corpus[i], strlen(corpus[i]), &b);
			assert_int_equal(a.n, b.n);
			assert_memory_equal(a.ids, b.ids, a.n * sizeof *a.ids);
		}
		hec_encoding_free(&a);
		hec_encoding_free(&b);
		hec_tokenizer_destroy(t);
		hec_tokenizer_destroy(again);
		assert_int_equal(scratch_folder_remove(folder), 0);
	}
}

/* As if it had been killed between its two files: there is no tokenizer that has lost its roles. */
static void a_tokenizer_that_was_not_saved_whole_is_not_there(void **state)
{
	(void)state;
	hec_tokenizer *t = learn(0, 1);
	char folder[64], config[128], json[128];
	new_folder(folder);
	snprintf(config, sizeof config, "%s/tokenizer_config.json", folder);
	snprintf(json, sizeof json, "%s/tokenizer.json", folder);
	assert_int_equal(mkdir(config, 0777), 0); /* nothing can be put in its place */
	assert_int_not_equal(hec_tokenizer_save(t, folder), HEC_OK);
	assert_int_not_equal(access(json, F_OK), 0);
	assert_int_equal(rmdir(config), 0);
	hec_tokenizer_destroy(t);
	assert_int_equal(scratch_folder_remove(folder), 0);
}

/* ---- what is not UTF-8 ---- */

static void invalid_bytes_are_an_error_with_their_place_or_replaced(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t bytes, place, replaced; /* characters that replace */
	} cases[] = {
		{"ab\xff", 3, 2, 1},
		{"\x80", 1, 0, 1},
		{"\xc3", 1, 0, 1},
		{"x\xe2\x82y", 4, 1, 1},
		{"\xed\xa0\x80", 3, 0, 3},
		{"\xf4\x90\x80\x80", 4, 0, 4},
		{"\xc0\xaf", 2, 0, 2},
		{"0123456789\xf0\x9f\x98", 13, 10, 1},
		{"\xf0\x9f\x98\xff\xff", 5, 0, 3},
	};
	hec_tokenizer *t = learn(false, 1);
	hec_encoding e = HEC_ENCODING_INIT;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char want[32];
		snprintf(want, sizeof want, "byte %zu of %zu", cases[i].place, cases[i].bytes);
		assert_int_equal(hec_tokenizer_encode(t, cases[i].text, cases[i].bytes, NULL, &e),
		                 HEC_ERR_FORMAT);
		expect_message(want);
		assert_int_equal(e.n, 0);
		hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
		o.lossy = o.no_special = true;
		assert_int_equal(hec_tokenizer_encode(t, cases[i].text, cases[i].bytes, &o, &e),
		                 HEC_OK);
		char *back;
		assert_int_equal(hec_tokenizer_decode(t, e.ids, e.n, true, &back, NULL), HEC_OK);
		size_t found = 0;
		for (const char *p = back; (p = strstr(p, "\xef\xbf\xbd")); p += 3)
			found++;
		assert_int_equal(found, cases[i].replaced);
		assert_int_equal(e.offsets[e.n - 1].end, cases[i].bytes);
		hec_free(back);
	}
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

/* ---- the hand-written patterns ---- */

static void hand_written_words_are_those_of_the_pattern(void **state)
{
	(void)state;
	static const word_rule *const rules[] = {&words_gpt2,   &words_learned, &words_marked,
	                                         &words_llama3, &words_qwen2,   &words_o200k};
	static const char *const parts[] = {
		" ",       "  ",     "\t", "\n",  "'s", "'",      "'re", "a",
		"Zz",      "1",      "23", "!",   "?!", "é",      "ß",   "व",
		"ि",       "\u0301", "½",  "٣",   "▁",  "\u00a0", "你",  "_",
		"🏳️", "\u200b", "'S", "'lL", "'ſ", "\r\n",   " \n", "\u2028",
		"\u1c89",  "456",    "A",  "BC",  "ǅ",  "ʰ",      "/",   "\u1c8a"};
	classes_prepare();
	for (int r = 0; r < 6; r++) {
		pattern p;
		pattern_work *work = NULL;
		assert_int_equal(pattern_compile(rules[r]->pattern, false, &p), HEC_OK);
		assert_non_null(p.code);
		assert_ptr_equal(word_rule_of(rules[r]->pattern), rules[r]);
		for (uint64_t round = 0; round < 20000; round++) {
			char text[128] = "";
			uint32_t words[8];
			draw(3, round, 0, words);
			draw(3, round, 1, words + 4);
			for (int i = 0; i < 8; i++)
				strcat(text, parts[words[i] % (sizeof parts / sizeof parts[0])]);
			size_t n = strlen(text);
			pattern_walk w = {0};
			for (size_t at = 0; at < n; at = w.stop) {
				assert_int_equal(pattern_next(&p, &work, text, 0, n, &w), HEC_OK);
				size_t ours = word_end(rules[r], text, at, n);
				if (!w.found || w.start != at || w.stop != ours)
					fail_msg("rule %d, round %llu: \"%s\" at %zu: %zu … %zu, "
					         "by hand … %zu",
					         r, (unsigned long long)round, text, at, w.start,
					         w.stop, ours);
			}
		}
		pattern_work_free(work);
		pattern_free(&p);
	}
}

/* ---- time: that of this thread, whatever else the machine does ---- */

static double seconds_of(const hec_tokenizer *t, const char *text, size_t n, hec_encoding *e)
{
	double best = 1e9;
	for (int i = 0; i < 3; i++) {
		const double begin = seconds_of_processor();
		encode(t, text, n, e);
		const double s = seconds_of_processor() - begin;
		best = s < best ? s : best;
	}
	return best;
}

/* 16 × the text must not take 8 × the time for each byte: quadratic work would take 16 ×. */
static void a_word_of_any_length_takes_time_in_proportion(void **state)
{
	(void)state;
	enum { SMALL = 1 << 16, LARGE = 1 << 20 };
	char *text = malloc(LARGE);
	for (int unicode = 0; unicode < 2; unicode++) {
		hec_tokenizer *t = learn(unicode, 1);
		hec_encoding e = HEC_ENCODING_INIT;
		for (int kind = 0; kind < 3; kind++) {
			for (size_t i = 0; i < LARGE; i++)
				text[i] = kind == 0 ? 't' : kind == 1 ? "there"[i % 5] : ' ';
			double small = seconds_of(t, text, SMALL, &e) / SMALL;
			double large = seconds_of(t, text, LARGE, &e) / LARGE;
			if (large > 8 * small)
				fail_msg("kind %d: %.1f ns a byte, %.1f at 16 × the length", kind,
				         1e9 * small, 1e9 * large);
		}
		hec_encoding_free(&e);
		hec_tokenizer_destroy(t);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_usual_special_tokens_are_where_marian_wants_them),
		cmocka_unit_test(the_same_text_teaches_the_same_at_any_number_of_threads),
		cmocka_unit_test(what_is_special_is_not_learned),
		cmocka_unit_test(wrong_options_and_lines_are_named),
		cmocka_unit_test(every_text_comes_back_from_bytes_as_it_was),
		cmocka_unit_test(what_is_saved_loads_and_does_the_same),
		cmocka_unit_test(a_tokenizer_that_was_not_saved_whole_is_not_there),
		cmocka_unit_test(invalid_bytes_are_an_error_with_their_place_or_replaced),
		cmocka_unit_test(hand_written_words_are_those_of_the_pattern),
		cmocka_unit_test(a_word_of_any_length_takes_time_in_proportion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
