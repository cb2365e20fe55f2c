/* fuzz_vocab.c — vocabularies without tokenizer.json. The first byte says what the rest is: a
 * SentencePiece model alone, the same with the class of a family, vocab.txt, or vocab.json and
 * merges.txt with a zero byte between them. What loads encodes a text; ids and offsets are in range. */
#include <hecate/tokenizer.h>

#include "parts.h"

#define KINDS 7

static const char *const classes[KINDS] = {
	NULL, "T5Tokenizer", "XLMRobertaTokenizer", "LlamaTokenizer",
	NULL, NULL,          "RobertaTokenizer"};

/* A folder for each kind, whose files are only written over: what a run costs is reading them. */
static const char *const names[] = {"0/",
                                    "1/",
                                    "2/",
                                    "3/",
                                    "4/",
                                    "5/",
                                    "6/",
                                    "0/x.model",
                                    "1/spiece.model",
                                    "2/spiece.model",
                                    "3/spiece.model",
                                    "4/vocab.txt",
                                    "5/vocab.json",
                                    "5/merges.txt",
                                    "6/vocab.json",
                                    "6/merges.txt",
                                    "1/tokenizer_config.json",
                                    "2/tokenizer_config.json",
                                    "3/tokenizer_config.json",
                                    "6/tokenizer_config.json",
                                    NULL};

static void put(int kind, const char *name, const void *data, size_t bytes)
{
	char path[64];
	snprintf(path, sizeof path, "%d/%s", kind, name);
	parts_write(path, data, bytes);
}

static void first(void)
{
	parts_make(names);
	for (int kind = 0; kind < KINDS; kind++) {
		char config[96];
		snprintf(config, sizeof config, "{\"tokenizer_class\": \"%s\"}",
		         classes[kind] ? classes[kind] : "");
		if (classes[kind])
			put(kind, "tokenizer_config.json", config, strlen(config));
	}
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
	if (!*parts_folder)
		first();
	if (size == 0)
		return 0;
	int kind = data[0] % KINDS;
	const uint8_t *rest = data + 1, *zero = memchr(rest, 0, size - 1);
	size_t n = size - 1, before = zero ? (size_t)(zero - rest) : n;
	if (kind == 0) {
		put(kind, "x.model", rest, n);
	} else if (kind <= 3) {
		put(kind, "spiece.model", rest, n);
	} else if (kind == 4) {
		put(kind, "vocab.txt", rest, n);
	} else {
		put(kind, "vocab.json", rest, before);
		put(kind, "merges.txt", rest + before + (zero != NULL),
		    n - before - (zero != NULL));
	}
	hec_tokenizer *t = NULL;
	if (hec_tokenizer_load(parts_path(kind == 0 ? names[KINDS] : names[kind]), &t) != HEC_OK) {
		if (t)
			stop("a tokenizer after a failure");
		parts_refused();
		return 0;
	}
	use(t);
	hec_tokenizer_destroy(t);
	return 0;
}
