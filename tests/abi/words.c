/* words.c — texts without a model: encoding, padding, learning a vocabulary, chat templates, SQuAD's questions. */
#include "world.h"

/* ---- tokenizer.h ---- */

static void run_encode(const hec_tokenizer *tokenizer)
{
	static const int32_t first[] = {CLS, 13, 6, SEP, 16, SEP},
			     second[] = {CLS, 6, 17, SEP, 16, SEP},
			     padded[] = {PAD, PAD, CLS, 7, SEP, 9};
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	hec_encoding windows = HEC_ENCODING_INIT, two[2] = {HEC_ENCODING_INIT, HEC_ENCODING_INIT};
	bool more;
	o.pair = "home";
	o.pair_bytes = 4;
	o.max_length = 6;
	o.stride = 1;
	o.truncate = HEC_TRUNCATE_FIRST;
	EXPECT_OK(hec_tokenizer_encode(tokenizer, "big cats", 8, &o, &windows));
	EXPECT(windows.n == 6 && memcmp(windows.ids, first, sizeof first) == 0);
	EXPECT(windows.type_ids[2] == 0 && windows.type_ids[4] == 1);
	EXPECT(windows.offsets[2].begin == 4 && windows.offsets[2].end == 7);
	EXPECT_OK(hec_tokenizer_next_window(tokenizer, &windows, &more));
	EXPECT(more && windows.n == 6 && memcmp(windows.ids, second, sizeof second) == 0);
	EXPECT_OK(hec_tokenizer_next_window(tokenizer, &windows, &more));
	EXPECT(!more);
	o.truncate_left = true; /* the last field: the end of the text goes first into a window */
	EXPECT_OK(hec_tokenizer_encode(tokenizer, "big cats", 8, &o, &windows));
	EXPECT(windows.n == 6 && memcmp(windows.ids, second, sizeof second) == 0);
	hec_encode_options plain = HEC_ENCODE_OPTIONS_INIT;
	hec_pad_options pad = HEC_PAD_OPTIONS_INIT;
	EXPECT_OK(hec_tokenizer_encode(tokenizer, "the big red dog", 15, &plain, &two[0]));
	EXPECT_OK(hec_tokenizer_encode(tokenizer, "dog", 3, &plain, &two[1]));
	pad.multiple = 4;
	pad.left = true;
	pad.id = 9;
	pad.type_id = 1;
	EXPECT_OK(hec_encoding_pad(two, 2, &pad));
	EXPECT(two[0].n == 8 && two[1].n == 8 && two[0].ids[0] == 9 && two[0].ids[2] == CLS);
	EXPECT(two[1].ids[4] == 9 && two[1].type_ids[4] == 1 && two[1].sequence[4] == HEC_PADDING);
	EXPECT(memcmp(two[1].ids + 5, padded + 2, 3 * sizeof *padded) == 0);
	hec_encoding_free(&windows);
	hec_encoding_free(&two[0]);
	hec_encoding_free(&two[1]);
}

/* A file that says how to cut and to fill up: the library writes into options of the program's. */
static void run_file_says(void)
{
	static const char json[] =
		"{\"version\": \"1.0\", \"truncation\": {\"direction\": \"Left\", \"max_length\": "
		"7, "
		"\"strategy\": \"OnlySecond\", \"stride\": 2}, \"padding\": {\"strategy\": "
		"{\"Fixed\": 9}, "
		"\"direction\": \"Left\", \"pad_to_multiple_of\": 4, \"pad_id\": 1, "
		"\"pad_type_id\": 1, "
		"\"pad_token\": \"b\"}, \"added_tokens\": [], \"normalizer\": null, "
		"\"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"post_processor\": null, "
		"\"decoder\": null, \"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0, "
		"\"b\": 1}, "
		"\"unk_token\": \"a\"}}";
	struct {
		hec_encode_options o;
		uint64_t after;
	} cut = {.o = HEC_ENCODE_OPTIONS_INIT, .after = 77};
	struct {
		hec_pad_options o;
		uint64_t after;
	} pad = {.o = HEC_PAD_OPTIONS_INIT, .after = 78};
	hec_tokenizer *t;
	EXPECT_OK(hec_tokenizer_parse(json, sizeof json - 1, NULL, 0, &t));
	cut.o.pair = "b";
	EXPECT(hec_tokenizer_truncation(t, &cut.o) && cut.after == 77);
	EXPECT(cut.o.size == sizeof cut.o && cut.o.max_length == 7 && cut.o.stride == 2);
	EXPECT(cut.o.truncate == HEC_TRUNCATE_SECOND && cut.o.truncate_left && *cut.o.pair == 'b');
	EXPECT(hec_tokenizer_padding(t, &pad.o) && pad.after == 78);
	EXPECT(pad.o.size == sizeof pad.o && pad.o.length == 9 && pad.o.multiple == 4);
	EXPECT(pad.o.left && pad.o.id == 1 && pad.o.type_id == 1);
	hec_tokenizer_destroy(t);
}

typedef struct story {
	uint32_t state; /* of a generator of letters */
	int lines;
	char line[80];
} story;

/* Eighty lines of ten words of seven letters: enough for the few hundred merges that are a step of progress. */
static hec_status next_line(void *user, const char **line, size_t *bytes)
{
	story *s = user;
	for (int i = 0; i < 80; i++) {
		s->state = s->state * 1664525 + 1013904223;
		s->line[i] = (char)(i % 8 == 7 ? ' ' : 'a' + s->state / 65536 % 12);
	}
	*line = s->lines < 80 ? s->line : NULL;
	*bytes = sizeof s->line;
	s->lines++;
	return HEC_OK;
}

static hec_status count_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)done, (void)total;
	EXPECT(*phase != 0);
	++*(int *)user;
	return HEC_OK;
}

static void run_bpe(void)
{
	static const hec_special special[] = {{"<s>", "bos", false}, {"<end>", "eos", true}};
	story s = {.state = 1};
	int calls = 0;
	char *text;
	size_t bytes;
	hec_encoding e = HEC_ENCODING_INIT;
	hec_tokenizer *t;
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	o.vocab = 600;
	o.unicode = true;
	o.limit_alphabet = 11; /* the twelfth letter becomes a byte */
	o.max_token_length = 4;
	o.special = special;
	o.specials = 2;
	o.begin = "<s>";
	o.threads = 1;
	o.progress = count_progress;
	o.user = &calls;
	EXPECT_OK(hec_bpe_train(&o, next_line, &s, &t));
	EXPECT(s.lines == 81 && calls > 0);
	EXPECT(hec_tokenizer_role(t, "bos") == 0);
	EXPECT(hec_tokenizer_role(t, "eos") == hec_tokenizer_vocab(t) - 1);
	EXPECT_OK(hec_tokenizer_encode(t, "abcd fade", 9, NULL, &e));
	EXPECT(e.n > 2 && e.ids[0] == 0 && e.sequence[0] == -1);
	show_ids("learned", e.ids, (int64_t)e.n);
	for (int32_t i = 0; i < hec_tokenizer_vocab(t); i++)
		EXPECT(hec_tokenizer_is_special(t, i) || strlen(hec_tokenizer_token(t, i)) <= 6);
	EXPECT_OK(hec_tokenizer_decode(t, e.ids, e.n, true, &text, &bytes));
	EXPECT_TEXT(text, "abcd fade");
	hec_free(text);
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

/* ---- chat.h ---- */

static void run_chat(void)
{
	static const char template[] =
		"{% for m in messages %}{{ m.role }}: {{ m.content }}{{ sign }} "
		"{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";
	static const hec_chat_message messages[] = {{"system", "Be brief"}, {"user", "Hello"}};
	static const char variables[] = "{\"sign\": \"!\"}";
	char *text;
	size_t bytes;
	hec_chat_template *chat;
	hec_chat_options o = HEC_CHAT_OPTIONS_INIT;
	o.generation_prompt = true;
	o.variables = variables;
	o.variables_bytes = sizeof variables - 1;
	EXPECT_OK(hec_chat_template_parse(template, sizeof template - 1, &chat));
	EXPECT_OK(hec_chat_apply(chat, messages, 2, &o, &text, &bytes));
	EXPECT_TEXT(text, "system: Be brief! user: Hello! assistant:");
	EXPECT(bytes == strlen(text));
	hec_free(text);
	o.work = 1; /* the last field */
	EXPECT(hec_chat_apply(chat, messages, 2, &o, &text, &bytes) == HEC_ERR_ARGUMENT);
	hec_chat_template_destroy(chat);
}

int main(int argc, char **argv)
{
	EXPECT(argc == 2);
	hec_tokenizer *tokenizer = world_tokenizer(argv[1]);
	run_encode(tokenizer);
	run_file_says();
	run_bpe();
	run_chat();
	hec_tokenizer_destroy(tokenizer);
	return 0;
}
