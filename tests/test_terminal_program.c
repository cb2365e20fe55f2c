/* test_terminal_program.c — nothing that comes from outside steers the terminal: whatever stands in the command
 * line, the environment, a file, a model or a text. Every command and every option of `hecate help` is tried;
 * a command that `what_foreign_words_say_is_shown` does not know fails it. */
#define _XOPEN_SOURCE 700 /* pseudo-terminals */
#include "support/models.h"

#include <sys/stat.h>

#include "base/file.h"
#include "look_models.h"
#include "support/contrast.h"
#include "terminal_run.h"
#include "wav.h"

/* ---- models and files that hold it ---- */

static const char *path_of(const char *pattern)
{
	static char paths[4][1024];
	static int next;
	char *path = paths[next++ % 4];
	filled(pattern, path, sizeof paths[0]);
	return path;
}

static json_t *load(const char *pattern)
{
	json_error_t why;
	json_t *root = json_load_file(path_of(pattern), 0, &why);
	if (!root)
		fail_msg("%s: line %d: %s", pattern, why.line, why.text);
	return root;
}

static void save(const char *pattern, json_t *root)
{
	assert_int_equal(json_dump_file(root, path_of(pattern), 0), 0);
	json_decref(root);
}

static void set(const char *pattern, const char *key, json_t *value)
{
	json_t *root = load(pattern);
	assert_int_equal(json_object_set_new(root, key, value), 0);
	save(pattern, root);
}

static void write_text(const char *pattern, const char *text)
{
	FILE *f = fopen(path_of(pattern), "wb");
	char whole[4096];
	assert_non_null(f);
	filled(text, whole, sizeof whole);
	assert_true(fputs(whole, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void copy_file(const char *from, const char *to)
{
	char line[4096];
	snprintf(line, sizeof line, "cp '%s' '%s'", path_of(from), path_of(to));
	assert_int_equal(system(line), 0);
}

/* As a byte-level vocabulary writes bytes: what can be seen stands for itself, the rest begins at U+0100. */
static void add_byte_level(char *to, const char *text)
{
	to += strlen(to);
	for (; *text; text++) {
		const unsigned b = (unsigned char)*text;
		unsigned rune = b;
		if (b <= 0x20)
			rune = 0x100 + b;
		else if (b >= 0x7F && b <= 0xA0)
			rune = 0x100 + 33 + b - 0x7F;
		else if (b == 0xAD)
			rune = 0x143;
		if (rune < 0x80)
			*to++ = (char)rune;
		else
			*to++ = (char)(0xC0 | rune >> 6), *to++ = (char)(0x80 | (rune & 63));
	}
	*to = '\0';
}

/* Every token of at least so many bytes says it: texts are cut into shorter ones. */
static void spoil_vocabulary(const char *tokenizer, size_t least)
{
	json_t *root = load(tokenizer), *model = json_object_get(root, "model"), *id,
	       *vocab = json_object();
	char *decoder = json_dumps(json_object_get(root, "decoder"), JSON_ENCODE_ANY);
	const bool bytes = decoder && strstr(decoder, "\"ByteLevel\"");
	const char *token;
	free(decoder);
	json_object_foreach(json_object_get(model, "vocab"), token, id)
	{
		char name[512];
		snprintf(name, sizeof name, "%.128s", token);
		const bool special = token[0] == '<' || token[0] == '[';
		if (bytes && !special && strlen(token) >= least)
			add_byte_level(name, EVIL "\x9b");
		else if (!special && strlen(token) >= least)
			strcat(name, EVIL);
		assert_int_equal(json_object_set(vocab, name, id), 0);
	}
	json_object_set_new(model, "vocab", vocab);
	if (json_object_get(model, "merges"))
		json_object_set_new(model, "merges", json_array());
	save(tokenizer, root);
}

/* A special token that says it, wherever the file names it. */
static void spoil_special(const char *file, const char *token)
{
	json_t *value = json_string(EVIL);
	char *word = json_dumps(value, JSON_ENCODE_ANY), quoted[64], *text = NULL, *at;
	size_t size;
	assert_int_equal(file_read(path_of(file), 1 << 20, &text, &size), HEC_OK);
	FILE *f = fopen(path_of(file), "wb");
	assert_true(f && word);
	snprintf(quoted, sizeof quoted, "\"%s\"", token);
	char *rest = text;
	for (; (at = strstr(rest, quoted)); rest = at + strlen(quoted))
		fprintf(f, "%.*s%s", (int)(at - rest), rest, word);
	fputs(rest, f);
	assert_int_equal(fclose(f), 0);
	free(text);
	free(word);
	json_decref(value);
}

static void make_text_model(void)
{
	scratch_copy(TESTS_DIR "/golden/decode_text", path_of("%F/%N/text"));
	spoil_vocabulary("%F/%N/text/tokenizer.json", 2);
	spoil_special("%F/%N/text/tokenizer.json", "</s>");
	spoil_special("%F/%N/text/tokenizer_config.json", "</s>");
	scratch_copy(path_of("%F/%N/text"), path_of("%F/%N/unknown"));
	scratch_copy(path_of("%F/%N/text"), path_of("%F/%N/other"));
	set("%F/%N/other/config.json", "architectures", json_pack("[s]", EVIL));
	set("%F/%N/unknown/config.json", "model_type", json_string(EVIL));
}

static void make_writer(void)
{
	assert_int_equal(rename(path_of("%F/decoder"), path_of("%F/%N/writer")), 0);
	assert_int_equal(rename(path_of("%F/both"), path_of("%F/%N/looker")), 0);
	spoil_vocabulary("%F/%N/looker/tokenizer.json", 3);
	spoil_vocabulary("%F/%N/writer/tokenizer.json", 1);
	scratch_copy(path_of("%F/%N/writer"), path_of("%F/%N/talker"));
	write_text("%F/%N/talker/chat_template.jinja",
	           "{%% for m in messages %%}{{ m.content }}{%% endfor %%}");
	scratch_copy(path_of("%F/%N/writer"), path_of("%F/%N/refuser"));
	write_text("%F/%N/refuser/chat_template.jinja", "{{ raise_exception('%U') }}");
}

static void make_readers(void)
{
	static const char *const none[] = {NULL}, *const more[] = {"encoder.layer.9." EVIL, NULL};
	kit k = kit_open(1);
	golden_edited(&k, "bert_base", none, more, path_of("%F/%N/base"));
	kit_close(&k);
	scratch_copy(TESTS_DIR "/golden/models/bert_classify", path_of("%F/%N/labels"));
	scratch_copy(TESTS_DIR "/golden/models/bert_tokens", path_of("%F/%N/names"));
	scratch_copy(TESTS_DIR "/golden/answer_fill/bert_fill", path_of("%F/%N/fill"));
	scratch_copy(TESTS_DIR "/golden/answer_fill/bert_answer", path_of("%F/%N/answer"));
	copy_file("%T/golden/classify_embed/tokenizer.json", "%F/%N/base/tokenizer.json");
	spoil_special("%F/%N/base/tokenizer.json", "[CLS]");
	copy_file("%F/%N/base/tokenizer.json", "%F/%N/labels/tokenizer.json");
	copy_file("%F/%N/base/tokenizer.json", "%F/%N/names/tokenizer.json");
	spoil_vocabulary("%F/%N/fill/tokenizer.json", 2);
	set("%F/%N/labels/config.json", "id2label",
	    json_pack("{s:s, s:s, s:s}", "0", "a" EVIL, "1", "b" EVIL, "2", "c" EVIL));
	set("%F/%N/names/config.json", "id2label",
	    json_pack("{s:s, s:s, s:s, s:s, s:s}", "0", "a" EVIL, "1", "b" EVIL, "2", "c" EVIL, "3",
	              "d" EVIL, "4", "e" EVIL));
	scratch_copy(path_of("%F/%N/labels"), path_of("%F/%U/labels"));
	scratch_copy(path_of("%F/%N/answer"), path_of("%F/%U/answer"));
}

static void make_sounds(void)
{
	scratch_copy(TESTS_DIR "/golden/transcribe_english", path_of("%F/%N/listener"));
	spoil_vocabulary("%F/%N/listener/tokenizer.json", 1);
	scratch_copy(TESTS_DIR "/golden/transcribe_many", path_of("%F/%U/listener"));
	assert_true(wav_write(path_of("%F/%N.wav"), 4000, 3900, 300, 9000));
	copy_file("%F/%N.wav", "%F/%Ncut.wav");
	assert_int_equal(truncate(path_of("%F/%Ncut.wav"), 6000), 0);
	copy_file("%F/%N.wav", "%F/good.wav");
	write_text("%F/%Usounds.tsv", "good.wav\tab\n%L.wav\tab\n");
}

static void make_texts(void)
{
	write_text("%F/%N.txt", "%L\nthe cat %L\n");
	write_text("%F/%U.txt", "the cat sat\na dog %L\nthe dog\n");
	write_text("%F/%Ulabels.tsv", "%L\tthe cat\nother%L\tthe dog\n");
	write_text("%F/chat.json", "[{\"role\": \"user\", \"content\": \"the cat\"}]");
}

/* A file of explain, one of questions and one of a run that are right but for a word. */
static void make_json(void)
{
	json_t *tokens = json_pack("[s, s]", EVIL, "b" EVIL),
	       *square = json_pack("[[i, i], [i, i]]", 1, 2, 3, 4),
	       *right = json_pack("{s:O, s:i, s:O, s:O, s:O, s:o}", "X", square, "heads", 1, "W_Q",
	                          square, "W_K", square, "W_V", square, "tokens", tokens);
	assert_non_null(right);
	assert_int_equal(json_dump_file(right, path_of("%F/%U.json"), 0), 0);
	save("%F/%N.json", right);
	json_decref(square);
	save("%F/key.json", json_pack("{s:i}", EVIL, 1));
	write_text("%F/broken.json", "{\"a\": %L}");
	save("%F/squad.json",
	     json_pack("{s:[{s:s, s:[{s:s, s:[{s:s, s:s, s:[{s:s, s:i}]}]}]}]}", "data", "title",
	               EVIL, "paragraphs", "context", "the cat " EVIL, "qas", "id", EVIL,
	               "question", EVIL, "answers", "text", EVIL "?", "answer_start", 1));
	assert_int_equal(mkdir(path_of("%F/%Urun"), 0777), 0);
	save("%F/%Urun/train.json", json_pack("{s:s, s:s}", "task", EVIL, EVIL, EVIL));
}

static int make_all(void **state)
{
	if (make_models(state) != 0)
		return -1;
	assert_int_equal(mkdir(path_of("%F/%N"), 0777), 0);
	assert_int_equal(mkdir(path_of("%F/%U"), 0777), 0);
	make_text_model();
	make_writer();
	make_readers();
	make_sounds();
	make_texts();
	make_json();
	return 0;
}

/* ---- every command and option there is ---- */

typedef struct listing {
	char *text, *at;
} listing;

/* The next line of a help text, between a heading and an empty line, that begins with two spaces and a word;
 * *word: what stands behind the name. False: no more. */
static bool next_row(listing *l, const char *heading, char name[64], char word[64])
{
	if (!l->at) {
		l->at = strstr(l->text, heading);
		assert_non_null(l->at);
	}
	while ((l->at = strchr(l->at, '\n'))) {
		l->at++;
		if (*l->at == '\n')
			return false;
		*word = '\0';
		if (strncmp(l->at, "  ", 2) == 0 && l->at[2] != ' ' &&
		    sscanf(l->at, "  %63s", name) == 1) {
			const char *rest = l->at + 2 + strlen(name);
			/* An option is followed by one space and its word, or by at least two. */
			if (rest[0] == ' ' && rest[1] != ' ')
				(void)sscanf(rest, " %63s", word);
			return true;
		}
	}
	return false;
}

static listing help_of(const char *line)
{
	const run_call call = {.line = line};
	size_t length;
	int code;
	listing l = {run_program(&call, &length, &code), NULL};
	assert_int_equal(code, 0);
	return l;
}

/* On the terminal, and with errors alone in a pipe. */
static void try_both(const char *line, const char *name, const char *value)
{
	run_call call = {line, NULL, name, value, ON_TERMINAL};
	assert_true(run_is_clean(&call, -1, ""));
	call.on = ERRORS_TO_PIPE;
	assert_true(run_is_clean(&call, -1, ""));
}

static void try_options(const char *command)
{
	char line[512], name[64], word[64];
	snprintf(line, sizeof line, "%s --help", command);
	listing l = help_of(line);
	int count = 0;
	while (next_row(&l, "Options:", name, word)) {
		if (strcmp(name, "--help") == 0)
			continue;
		snprintf(line, sizeof line, "%s %s %%U", command, name);
		try_both(line, "HECATE_MODEL", EVIL_NAME);
		snprintf(line, sizeof line, "%s %s=%%N", command, name);
		try_both(line, "HECATE_MODEL", EVIL_NAME);
		count++;
	}
	assert_true(count > 0);
	free(l.text);
}

static void no_word_of_the_command_line_steers_the_terminal(void **state)
{
	(void)state;
	steered = 0;
	static const char *const odd[] = {"%N",          "%s --%N", "%s %N",      "%s --%N=%N",
	                                  "%s -m %N %N", "help %N", "help %s %N", "--version %N"};
	char name[64], word[64];
	listing l = help_of("help");
	int commands = 0;
	for (; next_row(&l, "Commands:", name, word); commands++) {
		for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
			char line[256] = "";
			const char *at = strstr(odd[i], "%s");
			snprintf(line, sizeof line, "%.*s%s%s",
			         (int)(at ? at - odd[i] : (long)strlen(odd[i])), odd[i],
			         at ? name : "", at ? at + 2 : "");
			try_both(line, "HECATE_MODEL", EVIL_NAME);
		}
		try_options(name);
	}
	assert_true(commands > 0);
	assert_int_equal(steered, 0);
	free(l.text);
}

static void no_variable_steers_the_terminal(void **state)
{
	(void)state;
	steered = 0;
	static const char *const more[] = {"HECATE_MODEL", "COLUMNS", "TERM", "COLORTERM", "LANG"};
	char name[64], word[64];
	listing l = help_of("help");
	int variables = 0;
	for (; next_row(&l, "Environment:", name, word); variables++)
		try_both("explain two-by-two", name, EVIL_NAME);
	try_both("--version", "HECATE_ISA", EVIL_NAME);
	assert_true(variables > 0);
	for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
		try_both("explain two-by-two", more[i], EVIL_NAME);
		try_both("translate text", more[i], EVIL_NAME);
	}
	assert_int_equal(steered, 0);
	free(l.text);
}

/* ---- what files, models and texts say ---- */

#define LEARN "--threads 1 --batch-rows 2 --steps 1 "
#define SMALL                                                                                      \
	"--task lm --width 16 --decoder-layers 1 --hidden 32 --vocab 280 --batch-tokens 64 " LEARN

/* Its first word is the command; `word` is in what it prints, so that what is looked at is what was meant: a
 * text says Evil, and a name begins with Name. */
static const struct shown {
	const char *line, *input;
	int code;
	const char *word;
	bool talks; /* standard input is the terminal */
} shown[] = {
	{"explain --file %F/%N.json", NULL, 0, "Evil", false},
	{"explain --file %F/%U.json --json", NULL, 0, "Name", false},
	{"explain --file %F/key.json", NULL, 1, "Evil", false},
	{"explain --file %F/broken.json", NULL, 1, "Evil", false},
	{"translate -m %F/%N/text", "%L\nthe cat %L\n", 0, "Evil", false},
	{"translate -m %F/%N/text %L --json", NULL, 0, "Evil", false},
	{"translate -m %F/%N/text %L --attend", NULL, 0, "Evil", false},
	{"translate -m %F/%N/text --attend %F/%N/no/a.svg text", NULL, 1, "Name", false},
	{"translate -m %F/%N/unknown text", NULL, 1, "Evil", false},
	{"translate -m %F/%N/text text --override %L=1", NULL, 1, "Evil", false},
	{"translate -m %F/%N/text text --override model_type=\"%L\"", NULL, 1, "Evil", false},
	{"summarize -m %F/%N/text --file %F/%N.txt", NULL, 0, "Evil", false},
	{"summarize -m %F/%N/text --file %F/%N.txt --json", NULL, 0, "Evil", false},
	{"generate -m %F/%N/writer the --max-tokens 8", NULL, 0, "Evil", false},
	{"generate -m %F/%N/writer the --max-tokens 8 --json", NULL, 0, "Evil", false},
	{"generate -m %F/%N/writer %L --max-tokens 8 --echo", NULL, 0, "Evil", false},
	{"generate -m %F/%N/writer the --max-tokens 8 --stream", NULL, 0, "Evil", false},
	{"generate -m %F/%N/writer --max-tokens 8 --attend", "%L\n", 0, "Evil", false},
	{"generate -m %F/%N/writer --chat the", NULL, 1, "Name", false},
	{"generate -m %F/%N/talker --chat --max-tokens 4", "the\n\004", 0, "Evil", true},
	{"generate -m %F/%N/refuser --chat the", NULL, 1, "Name", false},
	{"answer -m %F/%N/answer --question %L --context %F/%N.txt --top 40", NULL, 0, "Evil",
         false},
	{"answer -m %F/%N/answer --question %L --context %F/%N.txt --top 40 --json", NULL, 0,
         "Evil", false},
	{"answer -m %F/%N/answer --question %L --context %F/%N.txt --attend", NULL, 0, "Evil",
         false},
	{"transcribe -m %F/%N/listener --no-speech 2 %F/%N.wav", NULL, 0, "Evil", false},
	{"transcribe -m %F/%N/listener --no-speech 2 %F/%N.wav --json", NULL, 0, "Evil", false},
	{"transcribe -m %F/%N/listener --no-speech 2 %F/%N.wav --timestamps", NULL, 0, "Evil",
         false},
	{"transcribe -m %F/%N/listener --no-speech 2 %F/%N.wav --srt", NULL, 0, "Evil", false},
	{"transcribe -m %F/%N/listener --no-speech 2 %F/%N.wav --vtt", NULL, 0, "Evil", false},
	{"transcribe -m %F/%N/listener --no-speech 2 %F/%N.wav --attend", NULL, 0, "Evil", false},
	{"transcribe -m %F/%N/listener --no-speech 2 %F/%Ncut.wav", NULL, 0, "Evil", false},
	{"transcribe -m %F/%N/listener %F/%N.txt", NULL, 1, "Name", false},
	{"fill -m %F/%N/fill --top 9", "the [MASK] %L\n", 0, "Evil", false},
	{"fill -m %F/%N/fill --top 9 --json", "the [MASK] %L\n", 0, "Evil", false},
	{"fill -m %F/%N/fill --targets %L,the", "the [MASK]\n", 0, "Evil", false},
	{"classify -m %F/%N/labels", "the film %L\n", 0, "Evil", false},
	{"classify -m %F/%N/labels --json", "the film %L\n", 0, "Evil", false},
	{"classify -m %F/%N/labels --attend", "the film %L\n", 0, "Evil", false},
	{"classify -m %F/%N/names --tokens", "the film %L\n", 0, "Evil", false},
	{"classify -m %F/%N/names --tokens --json", "the film %L\n", 0, "Evil", false},
	{"embed -m %F/%N/base --similar %L", "the film %L\nthe\n", 0, "Evil", false},
	{"embed -m %F/%N/base --similar %L --json", "the film %L\nthe\n", 0, "Evil", false},
	{"attend -m %F/%N/looker %L", NULL, 0, "Evil", false},
	{"attend -m %F/%N/looker %L --layer 0 --head 0", NULL, 0, "Evil", false},
	{"attend -m %F/%N/base the", NULL, 0, "Evil", false},
	{"attend -m %F/%N/base the --json", NULL, 0, "Evil", false},
	{"attend -m %F/%N/looker the --token %L", NULL, 2, "Evil", false},
	{"attend -m %F/%N/base the --token #0", NULL, 0, "Evil", false},
	{"train " SMALL "--train %F/%U.txt --out %F/%Ua", NULL, 0, "Name", false},
	{"train " SMALL "--train %F/%U.txt --out %F/%Ub --json --dump-batches %F/%U/no/f", NULL, 1,
         "Name", false},
	{"train " SMALL "--train %F/%U.txt --out %F/%Uc --dump-config", NULL, 0, "Name", false},
	{"train " SMALL "--train %F/%U.txt --out %F/%Uh --time 1 --steps 1000000", NULL, 0,
         "go on with", false},
	{"train --resume --out %F/%Urun", NULL, 2, "Evil", false},
	{"train --from %F/%U/listener --task seq2seq --train %F/%Usounds.tsv --out %F/%Ud "
         "--language de " LEARN,
         NULL, 0, "Evil", false},
	{"train --from %F/%U/labels --task classify --train %F/%Ulabels.tsv --out %F/%Ue " LEARN,
         NULL, 0, "Name", false},
	{"train --from %F/%U/answer --task answer --train %F/squad.json --out %F/f " LEARN, NULL, 1,
         "Evil", false},
	{"tokenize -m %F/%N/base", "the %L\n", 0, "Evil", false},
	{"tokenize -m %F/%N/base --json", "the %L\n", 0, "Evil", false},
	{"tokenize -m %F/%N/base --json --input jsonl",
         "{\"text\":\"a\",\"id\":\"Evil\\u001b\x7f\xc2\x9b"
         "31m\xe2\x80\xae\"}\n",
         0, "Evil", false},
	{"tokenize -m %F/%N/base --json --input jsonl --id-field %L", "{\"text\":\"a\"}\n", 1,
         "Evil", false},
	{"tokenize -m %F/%N/base --json --file %F/%N.txt", NULL, -1, "Name", false},
	{"tokenize -m %F/%N/base --json --keep-going --file %F/none/%N", NULL, 1, "Name", false},
	{"tokenize -m %F/%N/fill --decode", "290 291 292 293\n", 0, "Evil", false},
	{"tokenize -m %F/%N/fill --decode --json", "290 291 292 293\n", 0, "Evil", false},
	{"tokenize -m %F/%N/fill --decode", "%L\n", 1, "Evil", false},
	{"tokenize -m %F/%N/refuser --chat %F/chat.json", NULL, 1, "Name", false},
	{"tokenize -m %F/%N/refuser --chat %F/%N.txt", NULL, 1, "Evil", false},
	{"tokenize --train %F/%N.txt --out %F/%Ng --vocab 280", NULL, 0, "Name", false},
	{"info %F/%N/text", NULL, 0, "Evil", false},
	{"info %F/%N/base", NULL, 0, "Evil", false},
	{"info %F/%N/base --json", NULL, 0, "Evil", false},
	{"info %F/%N/base --override type_vocab_size=3", NULL, 0, "Evil", false},
	{"info %F/%N/other", NULL, 1, "Evil", false},
	{"info %F/%N/unknown", NULL, 1, "Evil", false},
	{"embed -m %F/%N/base the", NULL, 0, "Evil", false},
	{"forward -m %F/%N/base --ids 1,2 --out %F/%N/no/f.npz", NULL, 1, "Name", false},
	{"forward -m %F/%N/base --ids 1,%L --out %F/a.npz", NULL, 2, "Evil", false},
	{"forward -m %F/%N/listener --features %F/%N.txt --decoder-ids 1 --out %F/a.npz", NULL, 1,
         "Name", false},
	{"score %F/%N.txt %F/%U.txt", NULL, 1, "Name", false},
	{"score %F/%N.txt %F/%N/none.txt", NULL, 1, "Name", false},
	{"bench --op %N", NULL, 2, "Name", false},
	{"bench --op gemm --shape %N", NULL, 2, "Name", false},
	{"bench --model %N", NULL, 2, "Name", false},
};
#define SHOWN (sizeof shown / sizeof *shown)

static void what_foreign_words_say_is_shown(void **state)
{
	(void)state;
	char name[64], word[64];
	int wrong = 0;
	steered = 0;
	for (size_t i = 0; i < SHOWN; i++) {
		run_call call = {shown[i].line, shown[i].input, NULL, NULL,
		                 shown[i].talks ? TALKING : ON_TERMINAL};
		wrong += !run_is_clean(&call, shown[i].code, shown[i].word);
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(steered, 0);
	listing l = help_of("help");
	while (next_row(&l, "Commands:", name, word)) {
		const size_t length = strlen(name);
		bool known = false;
		for (size_t i = 0; i < SHOWN && !known; i++)
			known = strncmp(shown[i].line, name, length) == 0 &&
			        shown[i].line[length] == ' ';
		if (!known)
			fail_msg("hecate %s: nothing here shows what it prints", name);
	}
	free(l.text);
}

/* What a terminal gets of JSON is another spelling of the same value. */
static void json_on_a_terminal_is_the_same_value(void **state)
{
	(void)state;
	const run_call call = {.line = "classify -m %F/%N/labels --json", .input = "the film\n"};
	size_t length;
	int code;
	char *text = run_program(&call, &length, &code);
	assert_int_equal(code, 0);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "label")) + 1, EVIL);
	json_decref(root);
	free(text);
}

/* Whatever colour the terminal's own background has. */
static void colours_read_well_on_light_and_dark(void **state)
{
	(void)state;
	static const char *const coloured[] = {
		"explain two-by-two",
		"explain positions",
		"tokenize -m %T/golden/decode_text the",
		"attend -m %T/golden/decode_text the",
		"attend -m %T/golden/decode_text the --layer 0 --head 0 --top 2",
		"attend -m %T/golden/decode_text the --token the",
	};
	static const char *const depths[] = {"", "truecolor"};
	setenv("TERM", "xterm-256color", 1);
	for (size_t i = 0; i < 2 * sizeof coloured / sizeof *coloured; i++) {
		const run_call call = {.line = coloured[i / 2], .name = "NO_COLOR", .value = ""};
		size_t length;
		int code, inks;
		setenv("COLORTERM", depths[i % 2], 1);
		char *text = run_program(&call, &length, &code);
		const double least = least_contrast(text, &inks);
		if (code != 0 || inks == 0 || least < CONTRAST_LEAST)
			fail_msg("hecate %s (%s): %d, %d coloured, %.2f : 1", call.line,
			         depths[i % 2], code, inks, least);
		free(text);
	}
	unsetenv("COLORTERM");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_word_of_the_command_line_steers_the_terminal),
		cmocka_unit_test(no_variable_steers_the_terminal),
		cmocka_unit_test(what_foreign_words_say_is_shown),
		cmocka_unit_test(json_on_a_terminal_is_the_same_value),
		cmocka_unit_test(colours_read_well_on_light_and_dark),
	};
	return cmocka_run_group_tests(tests, make_all, remove_folder);
}
