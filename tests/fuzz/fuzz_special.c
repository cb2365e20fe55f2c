/* fuzz_special.c — what lies beside a vocabulary: the parts of an input are tokenizer_config.json,
 * special_tokens_map.json, added_tokens.json, config.json and vocab.json (where no vocabulary of its own
 * lies there). The first byte says whose: vocab.txt, vocab.json with merges.txt, or a SentencePiece
 * model, alone or as Marian has it. What loads encodes a text; ids and offsets are in range. */
#include "parts.h"
#include "tokens.h"

#define KINDS 4
#define PARTS 5
#define FILES(kind)                                                                                \
	kind "/", kind "/tokenizer_config.json", kind "/special_tokens_map.json",                  \
		kind "/added_tokens.json", kind "/config.json", kind "/vocab.json",                \
		kind "/vocab.txt", kind "/merges.txt", kind "/spiece.model", kind "/source.spm",   \
		kind "/target.spm"
#define FILES_EACH 11

/* Folders of their own, whose vocabularies are written once. */
static const char *const names[] = {FILES("0"), FILES("1"), FILES("2"), FILES("3"), NULL};

/* A piece of a SentencePiece model: its text, a score, and its kind. */
static size_t piece(uint8_t *out, const char *text, uint8_t score, uint8_t kind)
{
	const size_t n = strlen(text);
	const uint8_t head[] = {0x0a, (uint8_t)(n + 9), 0x0a, (uint8_t)n},
		      tail[] = {0x15, 0, 0, score, 0xc0, 0x18, kind};
	memcpy(out, head, sizeof head);
	memcpy(out + sizeof head, text, n);
	memcpy(out + sizeof head + n, tail, sizeof tail);
	return sizeof head + n + sizeof tail;
}

static void write_vocabularies(void)
{
	static const char txt[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##s\nx\na\n##a\n1\n2\n";
	static const char words[] = "{\"<unk>\": 0, \"<s>\": 1, \"</s>\": 2, \"<pad>\": 3, "
				    "\"<mask>\": 4, \"a\": 5, \"aa\": 6, \"x\": 7, \"T\": 8, "
				    "\"<|endoftext|>\": 9, \"\xc4\xa0\": 10}";
	static const struct {
		const char *text;
		uint8_t kind;
	} pieces[] = {{"<unk>", 2}, {"<s>", 3},    {"</s>", 3},         {"<pad>", 3},
	              {"a", 1},     {"aa", 1},     {"\xe2\x96\x81", 1}, {"\xe2\x96\x81x", 1},
	              {"user", 4},  {"<0x41>", 6}, {"\xe4\xbd\xa0", 1}};
	uint8_t model[512];
	size_t n = 0;
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
		n += piece(model + n, pieces[i].text, (uint8_t)(i * 16), pieces[i].kind);
	parts_write("0/vocab.txt", txt, sizeof txt - 1);
	parts_write("1/vocab.json", words, sizeof words - 1);
	parts_write("1/merges.txt", "#version: 0.2\na a\n", 18);
	parts_write("2/spiece.model", model, n);
	parts_write("3/source.spm", model, n);
	parts_write("3/target.spm", model, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] =
		"The <s> x </s>aaa <extra_id_0> [MASK] >>de<< \u00e9 12 <mask> 你";
	if (!*parts_folder) {
		parts_make(names);
		write_vocabularies();
	}
	if (size == 0)
		return 0;
	const int kind = data[0] % KINDS;
	parts_put(&names[kind * FILES_EACH + 1], kind == 3 ? PARTS : PARTS - 1, data + 1, size - 1,
	          false);
	tokens_load_and_use(parts_path(names[kind * FILES_EACH]), text, sizeof text - 1);
	return 0;
}
