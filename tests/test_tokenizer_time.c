/* test_tokenizer_time.c — every kind of model takes time in proportion to the text: for each byte of 8 MiB at
 * most 3 × that of 64 KiB, words of usual length or one character again and again. It prints what
 * docs/performance.md shows. Processor time of this thread, the best of several runs. */
#include <hecate/tokenizer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/clock.h"

#define SMALL ((size_t)1 << 16)
#define LARGE ((size_t)8 << 20)
#define SMALL_RUNS 9
#define LARGE_RUNS 2 /* the first finds memory for its tokens */
#define LARGE_MOST 9 /* before it is called too slow: a busy machine slows some of them down */
#define TIMES 3.0

static const char *const words[] = {"the",    "of",     "attention", "is",    "a",
                                    "weight", "token",  "every",     "looks", "at",
                                    "text",   "learn",  "layer",     "after", "before",
                                    "model",  "number", "sees",      "many",  "tensor"};
#define WORDS (sizeof words / sizeof *words)

static void write_words(char *text, size_t n)
{
	uint32_t state = 1;
	for (size_t at = 0; at < n;) {
		state = state * 1664525 + 1013904223;
		const char *word = words[(state >> 16) % WORDS];
		for (; *word && at < n; word++)
			text[at++] = *word;
		if (at < n)
			text[at++] = state >> 28 ? ' ' : '.';
	}
}

/* ---- tokenizers ---- */

static hec_tokenizer *parse(const char *json)
{
	hec_tokenizer *t = NULL;
	if (hec_tokenizer_parse(json, strlen(json), NULL, 0, &t) != HEC_OK)
		fail_msg("%s", hec_error_message());
	return t;
}

static hec_tokenizer *word_piece(void)
{
	char json[8192];
	int n = snprintf(json, sizeof json,
	                 "{\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, \"model\": "
	                 "{\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", "
	                 "\"continuing_subword_prefix\": \"##\", "
	                 "\"max_input_chars_per_word\": 4096, \"vocab\": {\"[UNK]\": 0, \".\": 1");
	int id = 2;
	for (char c = 'a'; c <= 'z'; c++, id += 2)
		n += snprintf(json + n, sizeof json - (size_t)n, ", \"%c\": %d, \"##%c\": %d", c,
		              id, c, id + 1);
	for (size_t i = 0; i < WORDS; i += 2)
		if (strlen(words[i]) > 1)
			n += snprintf(json + n, sizeof json - (size_t)n, ", \"%s\": %d", words[i],
			              id++);
	snprintf(json + n, sizeof json - (size_t)n, ", \"##aa\": %d}}}", id);
	return parse(json);
}

static hec_tokenizer *word_level(void)
{
	char json[4096];
	int n = snprintf(json, sizeof json,
	                 "{\"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"model\": {\"type\": "
	                 "\"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0");
	for (size_t i = 0; i < WORDS; i++)
		n += snprintf(json + n, sizeof json - (size_t)n, ", \"%s\": %zu", words[i], i + 1);
	snprintf(json + n, sizeof json - (size_t)n, "}}}");
	return parse(json);
}

static hec_tokenizer *unigram(void)
{
	char json[8192];
	int n = snprintf(json, sizeof json,
	                 "{\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"▁\", "
	                 "\"prepend_scheme\": \"always\", \"split\": true}, \"model\": {\"type\": "
	                 "\"Unigram\", "
	                 "\"unk_id\": 0, \"vocab\": [[\"<unk>\", 0], [\"▁\", -3], [\".\", -4], "
	                 "[\"aa\", -5], "
	                 "[\"aaaa\", -6.5], [\"aaaaaaaa\", -8]");
	for (char c = 'a'; c <= 'z'; c++)
		n += snprintf(json + n, sizeof json - (size_t)n, ", [\"%c\", -4]", c);
	for (size_t i = 0; i < WORDS; i++)
		if (strlen(words[i]) > 1)
			n += snprintf(json + n, sizeof json - (size_t)n, ", [\"▁%s\", -6]",
			              words[i]);
	snprintf(json + n, sizeof json - (size_t)n, "]}}");
	return parse(json);
}

/* Lines of words, and of runs, to learn merges from. */
static hec_status next_line(void *user, const char **line, size_t *bytes)
{
	static char text[4096];
	int *n = user;
	if (*n < 20) {
		write_words(text, sizeof text - 1);
		memset(text, 'a', (size_t)(*n * *n));
	}
	*line = (*n)++ < 20 ? text : NULL;
	*bytes = *line ? sizeof text - 1 : 0;
	return HEC_OK;
}

static hec_tokenizer *learn(bool unicode)
{
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	hec_tokenizer *t = NULL;
	int n = 0;
	o.vocab = 400;
	o.unicode = unicode;
	o.threads = 1;
	if (hec_bpe_train(&o, next_line, &n, &t) != HEC_OK)
		fail_msg("%s", hec_error_message());
	return t;
}

/* ---- time ---- */

static double seconds_of(const hec_tokenizer *t, const char *text, size_t n, hec_encoding *e)
{
	const double begin = seconds_of_processor();
	if (hec_tokenizer_encode(t, text, n, NULL, e) != HEC_OK)
		fail_msg("%s", hec_error_message());
	return seconds_of_processor() - begin;
}

static void compare(const char *name, hec_tokenizer *t, char *text)
{
	hec_encoding e = HEC_ENCODING_INIT;
	for (int run = 0; run < 2; run++) {
		double small = 1e9, large = 1e9;
		if (run)
			memset(text, 'a', LARGE);
		else
			write_words(text, LARGE);
		for (int i = 0; i < SMALL_RUNS; i++) {
			double s = seconds_of(t, text, SMALL, &e) / (double)SMALL;
			small = s < small ? s : small;
		}
		for (int i = 0; i < LARGE_RUNS || (large > TIMES * small && i < LARGE_MOST); i++) {
			double s = seconds_of(t, text, LARGE, &e) / (double)LARGE;
			large = s < large ? s : large;
		}
		print_message("| %-17s | %-13s | %5.1f | %5.1f | %4.2f |\n", name,
		              run ? "one character" : "words", 1e9 * small, 1e9 * large,
		              large / small);
		if (large > TIMES * small)
			fail_msg("%s: %.1f ns a byte at 64 KiB, %.1f at 8 MiB", name, 1e9 * small,
			         1e9 * large);
	}
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

static void every_kind_takes_time_in_proportion_to_the_text(void **state)
{
	(void)state;
	char *text = malloc(LARGE);
	assert_non_null(text);
	compare("WordPiece", word_piece(), text);
	compare("BPE of bytes", learn(false), text);
	compare("SentencePiece BPE", learn(true), text);
	compare("Unigram", unigram(), text);
	compare("WordLevel", word_level(), text);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_takes_time_in_proportion_to_the_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
