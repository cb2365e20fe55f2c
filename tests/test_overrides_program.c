/* test_overrides_program.c — `--override` of every command that loads a model, and models with more rows than
 * their tokenizers have words. */
#include "support/models.h"

#include "look_models.h"

#define GOLDEN TESTS_DIR "/golden/"

/* A tenth of a second of nothing, as a WAV of 16 bits at 4 kHz. */
static void write_silence(void)
{
	static const unsigned char head[44] = {
		'R', 'I', 'F', 'F', 0x44, 3, 0,   0,   'W', 'A',  'V',  'E', 'f', 'm',  't',
		' ', 16,  0,   0,   0,    1, 0,   1,   0,   0xA0, 0xF,  0,   0,   0x40, 0x1F,
		0,   0,   2,   0,   16,   0, 'd', 'a', 't', 'a',  0x20, 3,   0,   0};
	static const unsigned char silence[800];
	char path[256];
	snprintf(path, sizeof path, "%s/silence.wav", folder);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(head, 1, sizeof head, f), sizeof head);
	assert_int_equal(fwrite(silence, 1, sizeof silence, f), sizeof silence);
	assert_int_equal(fclose(f), 0);
}

static void every_command_loads_what_fits_and_tells(void **state)
{
	(void)state;
	static const struct {
		const char *words, *key;
	} commands[] = {
		{"generate -m " GOLDEN "models/llama --ids 5,7 --max-tokens 2",
	         "num_hidden_layers"},
		{"generate -m %s/decoder 'the cat' --max-tokens 2", "decoder.layers"},
		{"answer -m " GOLDEN "answer_fill/bert_answer --question who --context %s/text",
	         "num_hidden_layers"},
		{"fill -m " GOLDEN "answer_fill/bert_fill 'the [MASK]'", "num_hidden_layers"},
		{"transcribe -m " GOLDEN "transcribe_english %s/silence.wav", "decoder_layers"},
		{"attend -m %s/both 'the cat'", "encoder.layers"},
		{"attend -m %s/both 'the cat' 'die katze'", "encoder.layers"},
		{"attend -m %s/decoder 'the cat' --write 2", "decoder.layers"},
		{"translate -m %s/both 'the cat'", "encoder.layers"},
		{"summarize -m %s/both 'the cat'", "encoder.layers"},
	};
	write_file("text", "the water was called one of them\n");
	write_silence();
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		char words[512], line[1024];
		snprintf(words, sizeof words, commands[i].words, folder);
		snprintf(line, sizeof line, "%s --override %s=1", words, commands[i].key);
		result r = run(line);
		if (r.code != 0 || !strstr(r.err, "loaded: "))
			fail_msg("%s: %d: %s", line, r.code, r.err);
		done(&r);
		snprintf(line, sizeof line, "%s --override %s=many", words, commands[i].key);
		r = run(line);
		if (r.code != 1 || !strstr(r.err, commands[i].key))
			fail_msg("%s: %d: %s", line, r.code, r.err);
		done(&r);
		r = run(words);
		if (r.code != 0 || *r.err)
			fail_msg("%s: %d: %s", words, r.code, r.err);
		done(&r);
	}
}

/* T5 has 32,128 rows for 32,100 words. Here only the rows without a word can be written. */
static void what_no_word_stands_for_is_no_text(void **state)
{
	(void)state;
	static const struct {
		const char *words, *out; /* part of it; NULL: an empty line */
	} cases[] = {
		{"translate -m %s/both 'the cat'", NULL},
		{"translate -m %s/both 'the cat' --beam 3", NULL},
		{"translate -m %s/both 'the cat' --json", "{\"text\":\"\","},
		{"summarize -m %s/both 'the cat'", NULL},
		{"generate -m %s/both 'the cat'", NULL},
		{"generate -m %s/decoder 'the cat'", NULL},
		{"generate -m %s/decoder 'the cat' --stream", NULL},
		{"generate -m %s/decoder 'the cat' --json", "\"text\":\"\","},
		{"generate -m %s/decoder 'the cat' --echo", "the cat\n"},
		{"attend -m %s/both 'the cat'", "Cross-attention"},
		{"attend -m %s/decoder 'the cat' --write 2", "Self-attention"},
	};
	char config[8192] = "{\"max_new_tokens\": 4, \"suppress_tokens\": [0";
	kit k = kit_open(1);
	hec_tokenizer *tokenizer = make_tokenizer(&k);
	const int64_t words = hec_tokenizer_vocab(tokenizer);
	for (int64_t i = 1; i < words; i++)
		snprintf(config + strlen(config), 16, ", %d", (int)i);
	strcat(config, "]}");
	hec_tokenizer_destroy(tokenizer);
	kit_close(&k);
	write_file("both/generation_config.json", config);
	write_file("decoder/generation_config.json", config);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char line[1024];
		int n = snprintf(line, sizeof line, cases[i].words, folder);
		snprintf(line + n, sizeof line - (size_t)n, " --override vocab_size=%d",
		         (int)words + 28);
		result r = run(line);
		if (r.code != 0 ||
		    (cases[i].out ? !strstr(r.out, cases[i].out) : strcmp(r.out, "\n") != 0))
			fail_msg("%s: %d: %s%s", line, r.code, r.out, r.err);
		done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_command_loads_what_fits_and_tells),
		cmocka_unit_test(what_no_word_stands_for_is_no_text),
	};
	return cmocka_run_group_tests(tests, make_models, remove_folder);
}
