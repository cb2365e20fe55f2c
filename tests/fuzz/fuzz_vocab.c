/* fuzz_vocab.c — vocabularies without tokenizer.json. The first byte says what the rest is: a
 * SentencePiece model alone, the same with the class of a family, vocab.txt, or vocab.json and
 * merges.txt with a zero byte between them. What loads encodes a text; ids and offsets are in range. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hecate/tokenizer.h>

#include "stop.h"

static char folder[64];

static void remove_folder(void)
{
	static const char *const names[] = {"x.model",    "spiece.model", "vocab.txt",
	                                    "vocab.json", "merges.txt",   "tokenizer_config.json"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[128];
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
}

static void last(void)
{
	remove_folder();
	rmdir(folder);
}

static void put(const char *name, const void *data, size_t bytes)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0)
		stop("the temporary folder cannot be written");
}

static void put_class(const char *name)
{
	char config[96];
	snprintf(config, sizeof config, "{\"tokenizer_class\": \"%s\"}", name);
	put("tokenizer_config.json", config, strlen(config));
}

static void use(const hec_tokenizer *t)
{
	static const char text[] =
		"The größte\u0301 ▁x  </s> 12 你好 \xff ﬁ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	hec_encoding e = HEC_ENCODING_INIT;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = true;
	if (hec_tokenizer_encode(t, text, sizeof text - 1, &o, &e) == HEC_OK) {
		for (size_t i = 0; i < e.n; i++) {
			if (e.ids[i] < 0 || e.ids[i] >= hec_tokenizer_vocab(t))
				stop("an id beyond the vocabulary");
			if (e.offsets[i].begin > e.offsets[i].end ||
			    e.offsets[i].end > sizeof text - 1)
				stop("an offset beyond the text");
		}
		char *back = NULL;
		if (hec_tokenizer_decode(t, e.ids, e.n, false, &back, NULL) != HEC_OK && back)
			stop("a text after a failure");
		free(back);
	} else if (e.n != 0 || !*hec_error_message()) {
		stop("a failure that says nothing");
	}
	hec_encoding_free(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const classes[] = {"T5Tokenizer", "XLMRobertaTokenizer",
	                                      "LlamaTokenizer", "WhisperTokenizer"};
	if (!*folder) {
		strcpy(folder, "/tmp/hecate-fuzz-XXXXXX");
		if (!mkdtemp(folder))
			stop("no temporary folder");
		atexit(last);
	}
	if (size == 0)
		return 0;
	remove_folder();
	int kind = data[0] % 7;
	const uint8_t *rest = data + 1, *zero = memchr(rest, 0, size - 1);
	size_t n = size - 1, first = zero ? (size_t)(zero - rest) : n;
	char path[128];
	snprintf(path, sizeof path, kind == 0 ? "%s/x.model" : "%s", folder);
	if (kind == 0) {
		put("x.model", rest, n);
	} else if (kind <= 3) {
		put("spiece.model", rest, n);
		put_class(classes[kind - 1]);
	} else if (kind == 4) {
		put("vocab.txt", rest, n);
	} else {
		put("vocab.json", rest, first);
		put("merges.txt", rest + first, n - first);
		if (zero)
			put("merges.txt", zero + 1, n - first - 1);
		if (kind == 6)
			put_class("RobertaTokenizer");
	}
	hec_tokenizer *t = NULL;
	if (hec_tokenizer_load(path, &t) != HEC_OK) {
		if (t || !*hec_error_message())
			stop("a failure that says nothing");
		return 0;
	}
	use(t);
	hec_tokenizer_destroy(t);
	return 0;
}
