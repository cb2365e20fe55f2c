/* fuzz_vocab.c — vocabularies without tokenizer.json. The first byte says what the rest is: a
 * SentencePiece model alone, the same with the class of a family, vocab.txt, or vocab.json and
 * merges.txt with a zero byte between them. What loads encodes a text; ids and offsets are in range. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hecate/tokenizer.h>

#include "stop.h"

#define KINDS 7

/* A folder for each kind, whose files are only written over: what a run costs is reading them. */
static char folders[64];

static const char *const classes[KINDS] = {
	NULL, "T5Tokenizer", "XLMRobertaTokenizer", "LlamaTokenizer",
	NULL, NULL,          "RobertaTokenizer"};

static void path_of(int kind, const char *name, char out[128])
{
	snprintf(out, 128, "%s/%d/%s", folders, kind, name);
}

static void last(void)
{
	static const char *const names[] = {
		"x.model",    "spiece.model",          "vocab.txt", "vocab.json",
		"merges.txt", "tokenizer_config.json", ""};
	char path[128];
	for (int kind = 0; kind < KINDS; kind++)
		for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
			path_of(kind, names[i], path);
			*names[i] ? unlink(path) : rmdir(path);
		}
	rmdir(folders);
}

static void put(int kind, const char *name, const void *data, size_t bytes)
{
	char path[128];
	path_of(kind, name, path);
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0)
		stop("the temporary folder cannot be written");
}

static void first(void)
{
	bool memory = access("/dev/shm", W_OK) == 0;
	snprintf(folders, sizeof folders, "%s/hecate-fuzz-XXXXXX", memory ? "/dev/shm" : "/tmp");
	if (!mkdtemp(folders))
		stop("no temporary folder");
	atexit(last);
	for (int kind = 0; kind < KINDS; kind++) {
		char path[128], config[96];
		path_of(kind, "", path);
		if (mkdir(path, 0700) != 0)
			stop("no temporary folder");
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
	if (!*folders)
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
	char path[128];
	path_of(kind, kind == 0 ? "x.model" : "", path);
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
