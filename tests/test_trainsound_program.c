/* test_trainsound_program.c — `hecate train --from` a Whisper model: what is learned from sounds, saved and
 * said; killed runs; sounds that changed or moved; lines that are left out; what is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program_run.h"

#include <hecate/hecate.h>
#include <jansson.h>

#include "train_call.h"
#include "train_killed.h"
#include "wav.h"

static void write_sound(const char *name, uint32_t n, double pitch)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_true(wav_write(path, 4000, n, pitch, 12000));
}

static FILE *open_text(const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	return f;
}

/* Four words, each a note, in several lengths. */
static int make_all(void **state)
{
	static const char *const words[] = {"ab", "no", "ai ai", "e"};
	if (make_folder(state) != 0)
		return -1;
	assert_int_equal(
		shell("mkdir '%s/sounds' && cp -r '%s/golden/transcribe_many' '%s/many' && "
	              "cp -r '%s/golden/transcribe_english' '%s/english' && "
	              "chmod -R u+w '%s'",
	              folder, TESTS_DIR, folder, TESTS_DIR, folder, folder),
		0);
	FILE *f = open_text("sounds/list.tsv");
	for (int i = 0; i < 16; i++) {
		char name[32];
		snprintf(name, sizeof name, "sounds/%d.wav", i);
		write_sound(name, 2000 + 100 * (uint32_t)i, 150 + 350 * (i % 4));
		fprintf(f, "%d.wav\t%s\n", i, words[i % 4]);
	}
	return fclose(f);
}

static bool says(const result *r, const char *word)
{
	if (!strstr(r->err, word))
		print_message("'%s' is not in:\n%s\n", word, r->err);
	return strstr(r->err, word) != NULL;
}

#define LIST "--task seq2seq --train %1$s/sounds/list.tsv "
#define VALID "--valid %1$s/sounds/list.tsv "

/* ---- learning ---- */

static void what_is_spoken_is_learned(void **state)
{
	(void)state;
	result r =
		train_well("--from %1$s/many " LIST VALID "--out %1$s/a --language de --threads 2 "
	                   "--lr 5e-3 --steps 120 --valid-every 40 --batch-rows 8 --best accuracy");
	assert_true(says(&r, "train: 16 lines, 16 examples, 11.0 s of sound"));
	assert_true(says(&r, "for features of sounds"));
	assert_true(says(&r, "loaded"));
	done(&r);
	json_t *root = read_json("a/config.json"),
	       *generation = read_json("many/generation_config.json"),
	       *saved = read_json("a/generation_config.json");
	assert_string_equal(json_string_value(json_object_get(root, "model_type")), "whisper");
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(root, "architectures"), 0)),
		"WhisperForConditionalGeneration");
	assert_true(json_equal(generation, saved));
	json_decref(root), json_decref(generation), json_decref(saved);
	check_same("many/preprocessor_config.json", "a/preprocessor_config.json");
	check_same("many/preprocessor_config.json", "a/start/preprocessor_config.json");
	check_same("many/tokenizer.json", "a/tokenizer.json");
	/* Validation has written down what is right, and so does the program with what was saved. */
	char *log = read_all("a/log.jsonl");
	assert_non_null(strstr(log, "\"bleu\":"));
	assert_non_null(strstr(log, "\"chrf\":"));
	if (!strstr(log, "\"accuracy\":100"))
		print_message("%s\n", log);
	assert_non_null(strstr(log, "\"accuracy\":100"));
	free(log);
	char line[512];
	snprintf(line, sizeof line,
	         "transcribe -m %1$s/a --language de --no-speech 2 %1$s/sounds/4.wav "
	         "%1$s/sounds/5.wav %1$s/sounds/6.wav %1$s/sounds/7.wav",
	         folder);
	r = run(line);
	assert_int_equal(r.code, 0);
	static const char *const wrote[] = {"ab", "no", "ai ai", "e"};
	const char *at = r.out;
	for (int i = 0; i < 4; i++) {
		snprintf(line, sizeof line, "%s/sounds/%d.wav\t%s\n", folder, 4 + i, wrote[i]);
		assert_memory_equal(at, line, strlen(line));
		at += strlen(line);
	}
	done(&r);
}

static int64_t cell(const json_t *line, const char *key, size_t row, size_t i)
{
	return json_integer_value(
		json_array_get(json_array_get(json_object_get(line, key), row), i));
}

/* The prompt of each target; its length. */
static void check_prompt(const char *batches, const int64_t *prompt, size_t n)
{
	char *text = read_all(batches);
	text[strcspn(text, "\n")] = '\0';
	json_t *line = json_loads(text, 0, NULL), *features = json_object_get(line, "features");
	size_t rows = json_array_size(json_object_get(line, "targets"));
	assert_int_equal(rows, 8);
	assert_int_equal(json_array_size(features), rows);
	assert_int_equal(json_array_size(json_array_get(features, 0)), 14);
	assert_int_equal(json_array_size(json_array_get(json_array_get(features, 0), 13)), 100);
	for (size_t row = 0; row < rows; row++) {
		size_t m = (size_t)json_integer_value(
			json_array_get(json_object_get(line, "decoder_lengths"), row));
		assert_int_equal(cell(line, "decoder_ids", row, 0), 40);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(cell(line, "targets", row, i), prompt[i]);
		assert_int_equal(cell(line, "targets", row, m - 1), 39);
		for (size_t i = 1; i < m; i++)
			assert_int_equal(cell(line, "decoder_ids", row, i),
			                 cell(line, "targets", row, i - 1));
	}
	json_decref(line);
	free(text);
}

static void a_text_begins_as_the_model_writes_it(void **state)
{
	(void)state;
	result r = train_well("--from %1$s/many " LIST "--out %1$s/b --language fr --speech-task "
	                      "translate --steps 1 --batch-rows 8 --dump-batches %1$s/b.batches "
	                      "--quiet");
	done(&r);
	check_prompt("b.batches", (const int64_t[]){43, 44, 49}, 3);
	r = train_well("--from %1$s/english " LIST "--out %1$s/c --steps 1 --batch-rows 8 "
	               "--dump-batches %1$s/c.batches --quiet");
	done(&r);
	check_prompt("c.batches", (const int64_t[]){49}, 1);
	/* As generation_config.json says, where nobody else does. */
	json_t *root = read_json("many/generation_config.json");
	json_object_set_new(root, "language", json_string("<|de|>"));
	json_object_set_new(root, "task", json_string("transcribe"));
	char path[256];
	assert_int_equal(shell("cp -r '%s/many' '%s/said'", folder, folder), 0);
	snprintf(path, sizeof path, "%s/said/generation_config.json", folder);
	assert_int_equal(json_dump_file(root, path, 0), 0);
	json_decref(root);
	r = train_well("--from %1$s/said " LIST "--out %1$s/d --steps 1 --batch-rows 8 "
	               "--dump-batches %1$s/d.batches --quiet");
	done(&r);
	check_prompt("d.batches", (const int64_t[]){42, 45, 49}, 3);
	root = read_json("said/generation_config.json");
	json_object_set_new(root, "language", json_string("elvish"));
	assert_int_equal(json_dump_file(root, path, 0), 0);
	json_decref(root);
	r = train("--from %1$s/said " LIST "--out %1$s/e --steps 1 --quiet");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "generation_config.json: the model knows no language 'elv"));
	done(&r);
}

static void settings_are_those_of_sounds(void **state)
{
	(void)state;
	result r = train_well("--from %1$s/english " LIST "--dump-config");
	json_t *root = json_loads(r.out, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_true(json_real_value(json_object_get(root, "lr")) == 1e-5);
	/* The decoder's places, not those of the frames. */
	assert_int_equal(json_integer_value(json_object_get(root, "max_length")), 26);
	json_decref(root);
	done(&r);
}

/* ---- stopped, killed, elsewhere ---- */

#define RUN                                                                                        \
	"--from %1$s/gone " LIST VALID "--language de --valid-sentences 4 --steps 16 "             \
	"--save-every 3 --valid-every 8 --batch-rows 4 --dropout 0.1 --lr 1e-3 --quiet "

static void a_killed_run_ends_with_the_same_bits(void **state)
{
	(void)state;
	assert_int_equal(shell("cp -r '%s/many' '%s/gone'", folder, folder), 0);
	result r = train_well(RUN "--threads 1 --out %1$s/whole");
	done(&r);
	kill_until_done("%1$s/killed --threads 2 " RUN);
	check_same("whole/model.safetensors", "killed/model.safetensors");
	check_same("whole/preprocessor_config.json", "killed/preprocessor_config.json");
}

/* Stands on the run before. */
static void a_run_goes_on_only_with_the_sounds_that_it_had(void **state)
{
	(void)state;
	assert_int_equal(shell("cp -r '%s/sounds' '%s/moved'", folder, folder), 0);
	write_sound("moved/3.wav", 2300, 1205);
	result r =
		train("--resume --out %1$s/killed --steps 18 --train %1$s/moved/list.tsv --quiet");
	assert_int_equal(r.code, 1);
	assert_true(says(&r, "other ids than the run had"));
	done(&r);
	/* Moved and written again, they are what they were. */
	write_sound("moved/3.wav", 2300, 1200);
	r = train_well("--resume --out %1$s/killed --steps 18 --train %1$s/moved/list.tsv --quiet");
	done(&r);
	r = train_well("--resume --out %1$s/whole --steps 18 --quiet");
	done(&r);
	check_same("whole/model.safetensors", "killed/model.safetensors");
	/* One that is gone is not just left out. */
	assert_int_equal(shell("rm '%s/moved/5.wav'", folder), 0);
	r = train("--resume --out %1$s/killed --steps 20 --quiet");
	assert_int_equal(r.code, 1);
	assert_true(says(&r, "other ids than the run had"));
	assert_true(says(&r, "warning: left out: ") && says(&r, "/moved/5.wav: "));
	done(&r);
}

/* ---- what is wrong ---- */

static void lines_left_out_are_told_by_reason(void **state)
{
	(void)state;
	FILE *f = open_text("sounds/odd.tsv");
	write_sound("sounds/long.wav", 4100, 300);
	fputs("0.wav\tab\n1.wav\tno\nlong.wav\tab\nmissing.wav\tab\nlist.tsv\tab\n/\tab\n", f);
	fputs("0.wav\t\n0.wav ab\n0.wav\t\xff\xfe\n0.wav\tabcdefghijklmnopqrstuvwxyz\n", f);
	assert_int_equal(fclose(f), 0);
	result r =
		train_well("--from %1$s/english --task seq2seq --train %1$s/sounds/odd.tsv --out "
	                   "%1$s/odd --steps 1");
	assert_true(says(&r, "train: 10 lines, 2 examples"));
	assert_true(says(&r, "left out: 1 empty, 1 not UTF-8, 1 too long, 1 without a tab, 3 whose "
	                     "sound cannot be read, 1 with a sound longer than the window"));
	/* The first three by name. */
	assert_true(says(&r, "left out: ") && says(&r, "/sounds/long.wav: is longer than 1 s"));
	assert_true(says(&r, "/sounds/missing.wav: ") &&
	            says(&r, "/sounds/list.tsv: begins as no"));
	assert_true(says(&r, "; no more of them are named"));
	done(&r);
	f = open_text("sounds/none.tsv");
	fputs("missing.wav\tab\nlong.wav\tab\nother.wav\tab\n", f);
	assert_int_equal(fclose(f), 0);
	r = train("--from %1$s/english --task seq2seq --train %1$s/sounds/none.tsv --out %1$s/no");
	assert_int_equal(r.code, 1);
	assert_true(says(&r, "no example is left (3 lines"));
	assert_true(
		says(&r, "2 whose sound cannot be read, 1 with a sound longer than the window"));
	done(&r);
	assert_int_not_equal(shell("test -e '%s/no'", folder), 0);
}

typedef struct mistake {
	const char *arguments, *word;
	int code;
} mistake;

static void check_mistakes(const mistake *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		result r = train(rows[i].arguments);
		if (r.code != rows[i].code || !strstr(r.err, rows[i].word)) {
			print_message("hecate train %s\ngave %d: %s\n", rows[i].arguments, r.code,
			              r.err);
			assert_true(false);
		}
		done(&r);
		assert_int_not_equal(shell("test -e '%s/no'", folder), 0);
	}
}

static void what_is_wrong_is_told(void **state)
{
	(void)state;
	static const mistake rows[] = {
		{"--from %1$s/many " LIST "--out %1$s/no", "knows 3 languages", 1},
		{"--from %1$s/many " LIST "--out %1$s/no --language xx",
	         "hecate train: the model knows no language 'xx'", 1},
		{"--from %1$s/many " LIST "--out %1$s/no --language de --speech-task sing",
	         "'sing'", 1},
		{"--from %1$s/english " LIST "--out %1$s/no --language de", "English only", 1},
		{"--from %1$s/english --task classify --train %1$s/sounds/list.tsv --out %1$s/no",
	         "reads sound (14 mel bands); seq2seq", 1},
		{"--from %1$s/english " LIST "--out %1$s/no --source-prefix x",
	         "--source-prefix is for text", 1},
		{"--from %1$s/english " LIST "--out %1$s/no --to-lang x", "--to-lang is for text",
	         1},
		{"--from " TESTS_DIR "/golden/models/t5 " LIST "--out %1$s/no --language de",
	         "--language is for sounds", 1},
		{"--task translate --train %1$s/a %1$s/b --out %1$s/no --language de",
	         "are of --from", 2},
		{"--from %1$s/english " LIST "--out %1$s/no --max-length 27", "reads 26 tokens", 1},
		{"--from %1$s/english " LIST "--out %1$s/no --batch-tokens 49",
	         "does not fit into a batch", 1},
	};
	check_mistakes(rows, sizeof rows / sizeof *rows);
}

static void without_the_libraries_it_is_refused(void **state)
{
	(void)state;
	static const mistake rows[] = {{"--from %1$s/english " LIST "--out %1$s/no",
	                                "reads sound, and this build does not", 1}};
	check_mistakes(rows, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_spoken_is_learned),
		cmocka_unit_test(a_text_begins_as_the_model_writes_it),
		cmocka_unit_test(settings_are_those_of_sounds),
		cmocka_unit_test(a_killed_run_ends_with_the_same_bits),
		cmocka_unit_test(a_run_goes_on_only_with_the_sounds_that_it_had),
		cmocka_unit_test(lines_left_out_are_told_by_reason),
		cmocka_unit_test(what_is_wrong_is_told),
	};
	if (!hec_audio_available()) {
		const struct CMUnitTest alone[] = {
			cmocka_unit_test(without_the_libraries_it_is_refused)};
		return cmocka_run_group_tests(alone, make_all, remove_folder);
	}
	return cmocka_run_group_tests(tests, make_all, remove_folder);
}
