/* fuzz_vocab.c — vocabularies without tokenizer.json. The first byte says what the rest is: a
 * SentencePiece model alone, the same with the class of a family, vocab.txt, or vocab.json and
 * merges.txt with a zero byte between them. What loads encodes a text; ids and offsets are in range. */
#include "parts.h"
#include "tokens.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] =
		"The größte\u0301 ▁x  </s> 12 你好 \xff ﬁ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
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
	tokens_load_and_use(parts_path(kind == 0 ? names[KINDS] : names[kind]), text,
	                    sizeof text - 1);
	return 0;
}
