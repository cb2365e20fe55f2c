/* test_finetunekept_program.c — what a pretrained directory says besides its weights comes along when it is
 * learned from: how vectors are made, how writing ends, languages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program_run.h"

#include "finetune.h"

/* ---- what a directory says besides ---- */

static void write_text(const char *name, const char *text)
{
	FILE *f = open_text(name);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void write_json(const char *name, json_t *root) /* taken */
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(json_dump_file(root, path, 0), 0);
	json_decref(root);
}

static void make_sentence_model(const char *to, const char *modules)
{
	char name[128];
	make_bert("bert_base", to);
	assert_int_equal(shell("mkdir '%s/%s/1_Pooling'", folder, to), 0);
	snprintf(name, sizeof name, "%s/modules.json", to);
	write_text(name, modules);
	snprintf(name, sizeof name, "%s/1_Pooling/config.json", to);
	write_text(name, "{\"word_embedding_dimension\": 30, \"pooling_mode_cls_token\": true}");
	snprintf(name, sizeof name, "%s/sentence_bert_config.json", to);
	write_text(name, "{\"max_seq_length\": 11, \"do_lower_case\": false}");
	snprintf(name, sizeof name, "%s/preprocessor_config.json", to);
	write_text(name, "{\"odd\": 1}");
}

#define MODULE(i, kind, path)                                                                      \
	"{\"idx\": " #i ", \"name\": \"" #i "\", \"path\": \"" path                                \
	"\", \"type\": \"sentence_transformers.models." kind "\"}"

static void vectors_of_texts_are_made_as_before(void **state)
{
	(void)state;
	static const char *const files[] = {"modules.json", "1_Pooling/config.json",
	                                    "sentence_bert_config.json",
	                                    "preprocessor_config.json"};
	static const char *const places[] = {"", "start/", "best/loss/"};
	make_sentence_model(
		"sentences",
		"[" MODULE(0, "Transformer", "") ", " MODULE(1, "Pooling", "1_Pooling") ", " MODULE(
			2, "Normalize", "2_Normalize") "]");
	result r = train_well("--from %1$s/sentences --task classify --train %1$s/labels --valid "
	                      "%1$s/labels --out %1$s/vectors --steps 4 --best accuracy --quiet");
	done(&r);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		for (size_t j = 0; j < sizeof files / sizeof *files; j++) {
			char from[128], to[128];
			snprintf(from, sizeof from, "sentences/%s", files[j]);
			snprintf(to, sizeof to, "vectors/%s%s", places[i], files[j]);
			check_same(from, to);
		}
	/* Another metric: what lies in best/ comes out whole, and what goes there is whole. */
	r = train_well("--resume --out %1$s/vectors --best loss --quiet");
	done(&r);
	check_same("sentences/1_Pooling/config.json", "vectors/1_Pooling/config.json");
	check_same("sentences/1_Pooling/config.json",
	           "vectors/best/accuracy/1_Pooling/config.json");
	check_same("sentences/modules.json", "vectors/best/accuracy/modules.json");
	assert_int_not_equal(shell("test -e '%s/vectors/best/loss'", folder), 0);
	char line[512];
	snprintf(line, sizeof line, "embed -m %s/vectors --json 'red red'", folder);
	r = run(line);
	assert_int_equal(r.code, 0);
	json_t *root = json_loads(r.out, 0, NULL), *numbers = json_object_get(root, "embedding");
	double square = 0;
	for (size_t i = 0; i < json_array_size(numbers); i++) {
		double x = json_number_value(json_array_get(numbers, i));
		square += x * x;
	}
	assert_true(json_array_size(numbers) == 30 && square > 0.999 && square < 1.001);
	json_decref(root);
	done(&r);
	/* One with weights of its own does not come along: a list without it would be another model. */
	make_sentence_model(
		"dense", "[" MODULE(0, "Transformer", "") ", " MODULE(
				 1, "Pooling", "1_Pooling") ", " MODULE(2, "Dense", "2_Dense") "]");
	r = train_well("--from %1$s/dense --task mlm --train %1$s/text --out %1$s/plain --steps 1 "
	               "--quiet");
	done(&r);
	assert_int_not_equal(
		shell("test -e '%s/plain/modules.json' -o -e '%s/plain/1_Pooling'", folder, folder),
		0);
}

static void a_model_that_writes_ends_as_before(void **state)
{
	(void)state;
	copy_model("llama", "chat");
	assert_int_equal(shell("cp '%s/llama/'token* '%s/chat'", folder, folder), 0);
	write_text("chat/generation_config.json",
	           "{\"eos_token_id\": [2, 7, 9], \"temperature\": 0.5, \"odd\": [1]}");
	write_text("chat/special_tokens_map.json", "{\"eos_token\": \"</s>\"}");
	write_text("chat/chat_template.jinja", "{{ messages[0].content }}");
	json_t *root = read_json("chat/config.json");
	json_object_set_new(root, "unheard_of", json_integer(5));
	json_object_set_new(root, "auto_map", json_object()); /* of code that does not come along */
	json_object_set_new(root, "eos_token_id", json_pack("[i, i]", 2, 7));
	write_json("chat/config.json", root);
	result r = train_well("--from %1$s/chat --task lm --train %1$s/text --out %1$s/chatted "
	                      "--steps 2 --max-length 24 --quiet");
	done(&r);
	json_t *one = read_json("chat/generation_config.json"),
	       *two = read_json("chatted/generation_config.json");
	assert_true(json_equal(one, two));
	json_decref(one);
	json_decref(two);
	check_same("chat/special_tokens_map.json", "chatted/special_tokens_map.json");
	check_same("chat/chat_template.jinja", "chatted/chat_template.jinja");
	root = read_json("chatted/config.json");
	assert_int_equal(json_array_size(json_object_get(root, "eos_token_id")), 2);
	assert_int_equal(json_integer_value(json_object_get(root, "unheard_of")), 5);
	assert_null(json_object_get(root, "auto_map"));
	json_decref(root);
	/* One that does not write needs none. */
	r = train_well("--from %1$s/chat --task classify --train %1$s/labels --out %1$s/silent "
	               "--steps 1 --quiet");
	done(&r);
	assert_int_not_equal(shell("test -e '%s/silent/generation_config.json'", folder), 0);
}

/* Before there was generation_config.json, config.json said it. */
static void an_older_model_writes_as_before(void **state)
{
	(void)state;
	copy_model("llama", "old");
	assert_int_equal(
		shell("cp '%s/llama/'token* '%s/old' && rm -f '%s/old/generation_config.json'",
	              folder, folder, folder),
		0);
	json_t *root = read_json("old/config.json");
	json_object_set_new(root, "num_beams", json_integer(3));
	json_object_set_new(root, "no_repeat_ngram_size", json_integer(2));
	json_object_set_new(root, "bad_words_ids", json_pack("[[i]]", 9));
	json_object_del(root, "eos_token_id"); /* Llama's own is 2 */
	write_json("old/config.json", root);
	result r = train_well("--from %1$s/old --task lm --train %1$s/text --out %1$s/newer "
	                      "--steps 1 --max-length 24 --quiet");
	done(&r);
	root = read_json("newer/generation_config.json");
	assert_int_equal(json_integer_value(json_object_get(root, "num_beams")), 3);
	assert_int_equal(json_integer_value(json_object_get(root, "no_repeat_ngram_size")), 2);
	json_t *bad = json_pack("[[i]]", 9);
	assert_true(json_equal(json_object_get(root, "bad_words_ids"), bad));
	assert_int_equal(json_integer_value(json_object_get(root, "eos_token_id")), 2);
	assert_null(json_object_get(root, "hidden_size"));
	json_decref(bad);
	json_decref(root);
}

/* ---- languages ---- */

/* mBART: behind the text; mBART-50: before it. */
static void make_mbart(const char *to, bool before)
{
	static const char *const names[] = {"<s>",   "<pad>", "</s>", "<unk>",
	                                    "en_XX", "de_DE", "fr_XX"},
				 *const roles[] = {"bos", "pad", "eos", "unk", "a", "b", "c"};
	static const char *const marks[] = {
		"{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}, "
		"{\"SpecialToken\": {\"id\": \"</s>\", \"type_id\": 0}}, "
		"{\"SpecialToken\": {\"id\": \"en_XX\", \"type_id\": 0}}",
		"{\"SpecialToken\": {\"id\": \"en_XX\", \"type_id\": 0}}, "
		"{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}, "
		"{\"SpecialToken\": {\"id\": \"</s>\", \"type_id\": 0}}"};
	char name[128];
	copy_model("mbart", to);
	write_tokenizer(to, names, roles, 7, NULL);
	snprintf(name, sizeof name, "%s/tokenizer.json", to);
	json_t *root = read_json(name);
	json_t *post =
		json_loads("{\"type\": \"TemplateProcessing\", \"single\": [], \"pair\": [], "
	                   "\"special_tokens\": {\"</s>\": {\"id\": \"</s>\", \"ids\": [2], "
	                   "\"tokens\": [\"</s>\"]}, \"en_XX\": {\"id\": \"en_XX\", "
	                   "\"ids\": [4], \"tokens\": [\"en_XX\"]}}}",
	                   0, NULL);
	char list[600];
	snprintf(list, sizeof list, "[%s]", marks[before]);
	json_object_set_new(post, "single", json_loads(list, 0, NULL));
	json_object_set_new(root, "post_processor", post);
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(json_dump_file(root, path, 0), 0);
	json_decref(root);
}

static int64_t cell(const json_t *line, const char *key, size_t row, int64_t i)
{
	const json_t *list = json_array_get(json_object_get(line, key), row);
	return json_integer_value(
		json_array_get(list, i < 0 ? json_array_size(list) + (size_t)i : (size_t)i));
}

/* What MBartTokenizer makes of a pair, and what its model reads: the last of the labels comes first. */
static void check_languages(const char *batches, bool before)
{
	char *text = read_all(batches);
	text[strcspn(text, "\n")] = '\0';
	json_t *line = json_loads(text, 0, NULL);
	size_t rows = json_array_size(json_object_get(line, "ids"));
	assert_true(rows > 0);
	for (size_t i = 0; i < rows; i++) {
		int64_t n = json_integer_value(json_array_get(json_object_get(line, "lengths"), i)),
			m = json_integer_value(
				json_array_get(json_object_get(line, "decoder_lengths"), i));
		assert_int_equal(cell(line, "ids", i, before ? 0 : n - 1), 6);
		assert_int_equal(cell(line, "ids", i, before ? n - 1 : n - 2), 2);
		assert_int_equal(cell(line, "targets", i, before ? 0 : m - 1), 5);
		assert_int_equal(cell(line, "targets", i, before ? m - 1 : m - 2), 2);
		for (int64_t t = 0; t < m; t++)
			assert_int_equal(cell(line, "decoder_ids", i, t),
			                 cell(line, "targets", i, t > 0 ? t - 1 : m - 1));
	}
	json_decref(line);
	free(text);
}

static void languages_are_those_that_are_said(void **state)
{
	(void)state;
	static const char *const keys[] = {"decoder_start_token_id", "forced_bos_token_id"};
	for (int before = 0; before < 2; before++) {
		char line[1024], name[16], file[64];
		snprintf(name, sizeof name, "mbart%d", before);
		make_mbart(name, before);
		snprintf(line, sizeof line,
		         "--from %%1$s/%s --task seq2seq --train %%1$s/pairs --valid %%1$s/pairs "
		         "--out %%1$s/%s-new --steps 2 --valid-sentences 4 --from-lang fr_XX "
		         "--to-lang de_DE --dump-batches %%1$s/%s.batches --best chrf --quiet",
		         name, name, name);
		result r = train_well(line);
		done(&r);
		snprintf(file, sizeof file, "%s.batches", name);
		check_languages(file, before);
		/* Who runs it need not say it again. */
		snprintf(file, sizeof file, "%s-new/generation_config.json", name);
		json_t *root = read_json(file);
		assert_int_equal(json_integer_value(json_object_get(root, keys[before])), 5);
		json_decref(root);
		snprintf(file, sizeof file, "%s-new/config.json", name);
		root = read_json(file);
		assert_int_equal(json_integer_value(json_object_get(root, keys[0])),
		                 before ? 2 : 5);
		json_decref(root);
	}
	static const struct {
		const char *arguments, *word;
		int code;
	} rows[] = {
		{"--from %1$s/mbart0 --task seq2seq --train %1$s/pairs --out %1$s/no8 --steps 1",
	         "(en_XX): say which one the targets are in", 1},
		{"--from %1$s/mbart0 --task seq2seq --train %1$s/pairs --out %1$s/no9 --steps 1 "
	         "--to-lang nl_NL",
	         "no language 'nl_NL'", 1},
		{"--from %1$s/t5 --task seq2seq --train %1$s/pairs --out %1$s/no10 --steps 1 "
	         "--to-lang de_DE",
	         "language", 1},
		{"--from %1$s/gpt2 --task lm --train %1$s/text --out %1$s/no11 --to-lang de_DE",
	         "--to-lang are of", 2},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		result r = train(rows[i].arguments);
		if (r.code != rows[i].code || !strstr(r.err, rows[i].word))
			print_message("%s: %d: %s\n", rows[i].arguments, r.code, r.err);
		assert_int_equal(r.code, rows[i].code);
		assert_non_null(strstr(r.err, rows[i].word));
		done(&r);
	}
}

/* Stands on "sentences" of a test before. A folder in DIR/start is the run's as well; what others put into DIR is
 * not. */
static void a_failed_run_takes_what_it_made_and_nothing_else(void **state)
{
	(void)state;
	result r = train("--from %1$s/sentences --task classify --train %1$s/labels --out "
	                 "%1$s/again --steps 1 --dump-batches %1$s/nowhere/x");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "nowhere"));
	done(&r);
	assert_int_not_equal(shell("test -e '%s/again'", folder), 0);
	/* It has much to read, and meanwhile somebody writes into DIR. */
	assert_int_equal(
		shell("cd '%s' && cp labels much && for i in 1 2 3 4 5 6; do cat much much "
	              ">more && cat more >>much || exit 1; done",
	              folder),
		0);
	assert_int_equal(shell("cd '%s' && { for i in $(seq 500); do test -e again/train.json && "
	                       "break; sleep 0.01; done; mkdir again/notes; echo x "
	                       ">again/notes/n.txt; echo x >again/mine.txt; } &",
	                       folder),
	                 0);
	r = train("--from %1$s/sentences --task classify --train %1$s/much --valid %1$s/pairs "
	          "--out %1$s/again --steps 1");
	assert_int_equal(r.code, 1);
	done(&r);
	assert_int_equal(shell("cd '%s/again' && test -s mine.txt && test -s notes/n.txt && "
	                       "test $(ls -A | wc -l) -eq 2 && rm -r ../again",
	                       folder),
	                 0);
}

/* What a killed run left half done is not mixed with what the next one begins from. */
static void what_was_half_begun_goes(void **state)
{
	(void)state;
#define HALF "--task classify --train %1$s/labels --out %1$s/half --steps 1 --quiet"
	result r = train_well("--from %1$s/sentences " HALF);
	done(&r);
	assert_int_equal(shell("cd '%s/half' && rm -r checkpoint start && mkdir -p .start/deep/er "
	                       "start/old && echo x >.start/deep/er/x && echo x >start/old/x",
	                       folder),
	                 0);
	r = train_well("--resume --from %1$s/sentences " HALF);
	done(&r);
	assert_int_equal(shell("cd '%s/half' && test -s start/config.json && test ! -e start/old "
	                       "&& test ! -e start/deep && test ! -e .start",
	                       folder),
	                 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_of_texts_are_made_as_before),
		cmocka_unit_test(a_model_that_writes_ends_as_before),
		cmocka_unit_test(an_older_model_writes_as_before),
		cmocka_unit_test(languages_are_those_that_are_said),
		cmocka_unit_test(a_failed_run_takes_what_it_made_and_nothing_else),
		cmocka_unit_test(what_was_half_begun_goes),
	};
	return cmocka_run_group_tests(tests, make_all, remove_folder);
}
