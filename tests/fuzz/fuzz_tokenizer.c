/* fuzz_tokenizer.c — any bytes as a tokenizer.json, and behind a zero byte a text for it. What loads
 * encodes the text or says why not, whole and in windows; ids and offsets are in range; the ids decode. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokens.h"

static void use(const hec_tokenizer *t, const char *text, size_t bytes)
{
	hec_encoding e = HEC_ENCODING_INIT;
	for (int round = 0; round < 4; round++) {
		hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
		o.lossy = round & 1;
		o.no_special = round == 2;
		o.pair = round & 2 ? text : NULL;
		o.pair_bytes = bytes / 2;
		if (hec_tokenizer_encode(t, text, bytes, &o, &e) != HEC_OK) {
			expect_reason();
			if (e.n != 0)
				stop("tokens after a failure");
			continue;
		}
		tokens_check(t, &e, bytes, bytes / 2);
		char *back = NULL;
		size_t n;
		if (hec_tokenizer_decode(t, e.ids, e.n, round == 1, &back, &n) == HEC_OK) {
			if (back[n] != '\0')
				stop("no zero byte behind the text");
		} else {
			expect_reason();
		}
		hec_free(back);
	}
	hec_encoding_free(&e);
}

/* In windows, as the file says, else of a few tokens; each filled up as the file says. */
static void use_windows(const hec_tokenizer *t, const char *text, size_t bytes)
{
	hec_encoding e = HEC_ENCODING_INIT;
	for (int round = 0; round < 4; round++) {
		hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
		hec_pad_options pad = HEC_PAD_OPTIONS_INIT;
		if (round == 0 && !hec_tokenizer_truncation(t, &o))
			continue;
		if (round > 0) {
			o.max_length = 3 * round;
			o.stride = round;
			o.truncate_left = round == 2;
			o.truncate = round == 3 ? HEC_TRUNCATE_SECOND : HEC_TRUNCATE_LONGEST;
		}
		o.lossy = true;
		o.pair = round != 1 ? text : NULL;
		o.pair_bytes = bytes / 2;
		bool more = true;
		if (hec_tokenizer_encode(t, text, bytes, &o, &e) != HEC_OK) {
			expect_reason();
			continue;
		}
		for (int windows = 0; more && windows < 20; windows++) {
			tokens_check(t, &e, bytes, bytes / 2);
			if (hec_tokenizer_next_window(t, &e, &more) != HEC_OK)
				stop("a window fails after the first");
		}
		if (hec_tokenizer_padding(t, &pad) && pad.length < 1000 && pad.multiple < 1000 &&
		    hec_encoding_pad(&e, 1, &pad) != HEC_OK)
			expect_reason();
	}
	hec_encoding_free(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *json = (const char *)data, *zero = size ? memchr(json, 0, size) : NULL;
	size_t n = zero ? (size_t)(zero - json) : size;
	static const char usual[] =
		"The [CLS] cat's </s> größte\u0301 ▁x 12 你好 \xff I'LL 1234\r\n\n  !?\taaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	hec_tokenizer *t = NULL;
	if (hec_tokenizer_parse(json, n, NULL, 0, &t) != HEC_OK) {
		expect_reason();
		if (t)
			stop("a tokenizer after a failure");
		return 0;
	}
	const char *text = zero ? zero + 1 : usual;
	const size_t bytes = zero ? size - n - 1 : sizeof usual - 1;
	use(t, text, bytes);
	use_windows(t, text, bytes);
	hec_tokenizer_destroy(t);
	return 0;
}
