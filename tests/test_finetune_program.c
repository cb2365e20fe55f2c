/* test_finetune_program.c — `hecate train --from`: every task from a family of each kind, killed runs that
 * need the pretrained directory no more, and what is wrong with it or with the text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program_run.h"

#include "finetune.h"
#include "train_killed.h"

/* ---- tasks ---- */

static void every_task_goes_on_from_a_model_and_saves_its_kind(void **state)
{
	(void)state;
	static const struct {
		const char *name, *from, *task, *files, *more, *type, *architecture;
	} rows[] = {
		{"a", "bert", "classify", "labels", "--best accuracy ", "bert",
	         "BertForSequenceClassification"},
		{"b", "distilbert", "classify", "labels", "", "distilbert",
	         "DistilBertForSequenceClassification"},
		{"c", "bert", "answer", "squad.json", "--best f1 --stride 4 ", "bert",
	         "BertForQuestionAnswering"},
		{"d", "bert", "mlm", "text", "", "bert", "BertForMaskedLM"},
		{"e", "t5", "seq2seq", "pairs", "--source-prefix 'red ' --best chrf ", "t5",
	         "T5ForConditionalGeneration"},
		{"f", "gpt2", "lm", "text", "", "gpt2", "GPT2LMHeadModel"},
		{"g", "llama", "lm", "text", "", "llama", "LlamaForCausalLM"},
		{"h", "long", "lm", "text", "", "llama", "LlamaForCausalLM"},
		/* Tokenizers without types: the second text begins nowhere. */
		{"i", "t5", "answer", "squad.json", "--stride 4 ", "t5", "T5ForQuestionAnswering"},
		/* What classified with one label has names for no other head. */
		{"k", "reranker", "answer", "squad.json", "--stride 4 ", "bert",
	         "BertForQuestionAnswering"},
		{"j", "gpt2", "answer", "squad.json", "--stride 4 ", "gpt2",
	         "GPT2ForQuestionAnswering"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char line[1024], name[64];
		snprintf(line, sizeof line,
		         "--from %%1$s/%s --task %s --train %%1$s/%s --valid %%1$s/%s --out "
		         "%%1$s/%s "
		         "--steps 6 --max-length 24 --lr 1e-3 %s",
		         rows[i].from, rows[i].task, rows[i].files, rows[i].files, rows[i].name,
		         rows[i].more);
		result r = train_well(line);
		assert_non_null(strstr(r.err, "loaded"));
		done(&r);
		snprintf(name, sizeof name, "%s/config.json", rows[i].name);
		json_t *root = read_json(name);
		assert_string_equal(text_of(root, "model_type"), rows[i].type);
		assert_string_equal(json_string_value(json_array_get(
					    json_object_get(root, "architectures"), 0)),
		                    rows[i].architecture);
		json_decref(root);
		/* The tokenizer's files as they were. */
		const char *vocabulary =
			strstr(rows[i].type, "bert") ? "vocab.txt" : "tokenizer.json";
		assert_int_equal(shell("cmp '%s/%s/%s' '%s/%s/%s'", folder, rows[i].from,
		                       vocabulary, folder, rows[i].name, vocabulary),
		                 0);
		/* It has moved away from where it began. */
		assert_int_not_equal(shell("cmp -s '%s/%s/model.safetensors' "
		                           "'%s/%s/start/model.safetensors'",
		                           folder, rows[i].name, folder, rows[i].name),
		                     0);
	}
}

/* Stands on the runs before. */
static void measures_of_each_task_are_in_the_log(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{"a", "\"accuracy\":"}, {"c", "\"exact\":"}, {"c", "\"f1\":"}, {"e", "\"chrf\":"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char name[64];
		snprintf(name, sizeof name, "%s/log.jsonl", rows[i][0]);
		char *log = read_all(name);
		assert_non_null(strstr(log, rows[i][1]));
		free(log);
	}
}

static void a_model_that_knows_the_labels_keeps_its_head(void **state)
{
	(void)state;
	json_t *root = read_json("labelled/config.json"), *names = json_object();
	size_t n = json_object_size(json_object_get(root, "id2label"));
	assert_true(n >= 3);
	for (size_t i = 0; i < n; i++) {
		/* Not in the order of their names. */
		static const char *const own[] = {"thing", "deed", "colour"};
		char id[24], name[40];
		snprintf(id, sizeof id, "%zu", i);
		snprintf(name, sizeof name, "other %zu", i);
		json_object_set_new(names, id, json_string(i < 3 ? own[i] : name));
	}
	json_object_set_new(root, "id2label", names);
	json_object_del(root, "label2id");
	char path[256];
	snprintf(path, sizeof path, "%s/labelled/config.json", folder);
	assert_int_equal(json_dump_file(root, path, 0), 0);
	json_decref(root);
	result r = train_well("--from %1$s/labelled --task classify --train %1$s/labels --out "
	                      "%1$s/kept --steps 2");
	assert_null(strstr(r.err, "fresh"));
	done(&r);
	root = read_json("kept/config.json");
	names = json_object_get(root, "id2label");
	assert_string_equal(text_of(names, "0"), "thing");
	assert_string_equal(text_of(names, "2"), "colour");
	assert_int_equal(json_object_size(names), n);
	json_decref(root);
	r = train_well("--from %1$s/labelled --task classify --train %1$s/pairs --out %1$s/fresh "
	               "--steps 2 --truncate");
	assert_non_null(strstr(r.err, "fresh"));
	done(&r);
	/* As many labels as a head has, but others: it knows none of them. */
	r = train_well("--from %1$s/bert --task classify --train %1$s/labels --out %1$s/three "
	               "--steps 2");
	done(&r);
	assert_int_equal(shell("sed 's/^/x/' '%s/labels' >'%s/others'", folder, folder), 0);
	r = train_well("--from %1$s/three --task classify --train %1$s/others --out %1$s/renamed "
	               "--steps 2");
	assert_non_null(strstr(r.err, "fresh: classifier"));
	done(&r);
}

static void settings_are_those_of_fine_tuning(void **state)
{
	(void)state;
	result r = train_well("--from %1$s/bert --task classify --train %1$s/labels --dump-config");
	json_t *root = json_loads(r.out, JSON_REJECT_DUPLICATES, NULL),
	       *config = read_json("bert/config.json");
	assert_non_null(root);
	assert_string_equal(text_of(root, "schedule"), "linear");
	assert_int_equal(json_integer_value(json_object_get(root, "epochs")), 3);
	assert_int_equal(json_integer_value(json_object_get(root, "batch_rows")), 32);
	assert_int_equal(json_integer_value(json_object_get(root, "steps")), 3 * 7);
	assert_int_equal(json_integer_value(json_object_get(root, "max_length")), 24);
	assert_true(json_real_value(json_object_get(root, "lr")) == 5e-5);
	assert_true(json_number_value(json_object_get(root, "dropout")) ==
	            json_number_value(json_object_get(config, "hidden_dropout_prob")));
	json_decref(root);
	json_decref(config);
	done(&r);
	r = train_well("--from %1$s/bert --task classify --train %1$s/labels --dropout 0.3 "
	               "--out %1$s/dropped --steps 1 --quiet");
	done(&r);
	root = read_json("dropped/config.json");
	assert_true(json_number_value(json_object_get(root, "hidden_dropout_prob")) == 0.3);
	json_decref(root);
}

/* ---- other sizes ---- */

static int64_t whole_of(const char *name, const char *key)
{
	json_t *root = read_json(name);
	int64_t n = json_integer_value(json_object_get(root, key));
	json_decref(root);
	return n;
}

#define OTHER "--from %1$s/bert --task classify --train %1$s/labels --save-every 2 --max-length 30 "

static void a_model_of_other_sizes_is_learned(void **state)
{
	(void)state;
	result r = train_well(OTHER "--out %1$s/other --steps 6 --override num_hidden_layers=3 "
	                            "--override max_position_embeddings=40");
	assert_non_null(strstr(r.err, "extended: bert.embeddings.position_embeddings.weight: 40"));
	assert_non_null(strstr(r.err, "fresh: bert.encoder.layer.*"));
	assert_non_null(strstr(r.err, "3 + 0 layers"));
	done(&r);
	static const char *const places[] = {"other/config.json", "other/start/config.json"};
	for (int i = 0; i < 2; i++) {
		assert_int_equal(whole_of(places[i], "num_hidden_layers"), 3);
		assert_int_equal(whole_of(places[i], "max_position_embeddings"), 40);
	}
	/* The run knows it from then on. */
	r = train_well(OTHER "--out %1$s/again --steps 6 --time 0.001 --quiet "
	                     "--override num_hidden_layers=3 "
	                     "--override max_position_embeddings=40");
	done(&r);
	r = train_well("--resume --out %1$s/again --quiet");
	done(&r);
	check_same("other/model.safetensors", "again/model.safetensors");
	r = train("--resume --out %1$s/again --override num_hidden_layers=2");
	assert_int_equal(r.code, 2);
	assert_non_null(strstr(r.err, "--override cannot be changed"));
	done(&r);
	/* What is gone from the model does not come back from its old config.json. */
	copy_model("llama_longer", "longer");
	assert_int_equal(shell("cp '%s/long/'token* '%s/longer'", folder, folder), 0);
	r = train_well("--from %1$s/longer --task lm --train %1$s/text --out %1$s/short --steps 1 "
	               "--max-length 6 --quiet --override rope_long=false");
	done(&r);
	static const char *const kinds[] = {"longer/config.json", "short/start/config.json",
	                                    "short/config.json"};
	for (int i = 0; i < 3; i++) {
		json_t *root = read_json(kinds[i]);
		assert_int_equal(json_is_true(json_object_get(root, "rope_long")), i == 0);
		json_decref(root);
	}
}

/* ---- killed ---- */

#define RUN                                                                                        \
	"--from %1$s/gone --task answer --train %1$s/squad.json --valid %1$s/squad.json "          \
	"--valid-sentences 5 --steps 24 --save-every 4 --valid-every 8 --stride 4 --quiet "

static void a_killed_run_ends_with_the_same_bits_and_without_the_directory(void **state)
{
	(void)state;
	make_bert("bert_base", "gone");
	result r = train_well(RUN "--out %1$s/whole");
	done(&r);
	kill_until_done("%1$s/killed --threads 1 " RUN);
	assert_int_equal(shell("cmp '%s/whole/model.safetensors' '%s/killed/model.safetensors'",
	                       folder, folder),
	                 0);
	r = train(RUN "--resume --out %1$s/killed --from %1$s/bert");
	assert_int_equal(r.code, 2);
	assert_non_null(strstr(r.err, "--from cannot be changed"));
	done(&r);
}

#ifdef EXAMPLE_FINE_TUNE
/* The defaults are the library's, not the program's. */
static void the_example_learns_what_the_program_learns(void **state)
{
	(void)state;
	result r = train_well("--from %1$s/bert --task classify --train %1$s/labels --out "
	                      "%1$s/by-program --max-length 24");
	done(&r);
	int code = shell("'%1$s' %2$s/bert %2$s/labels %2$s/by-example >%2$s/out",
	                 EXAMPLE_FINE_TUNE, folder);
	assert_int_equal(code, 0);
	assert_int_equal(shell("cmp '%1$s/by-program/model.safetensors' "
	                       "'%1$s/by-example/model.safetensors'",
	                       folder),
	                 0);
	code = shell("'%1$s' %2$s/bert %2$s/nowhere %2$s/by-none 2>%2$s/err", EXAMPLE_FINE_TUNE,
	             folder);
	assert_int_not_equal(code, 0);
	assert_int_not_equal(shell("test -e '%s/by-none'", folder), 0);
}
#endif

/* ---- what is wrong ---- */

static void what_is_wrong_is_told(void **state)
{
	(void)state;
	static const struct {
		const char *arguments, *word;
		int code;
	} rows[] = {
		{"--from %1$s/nothing --task lm --train %1$s/text --out %1$s/no", "nothing", 1},
		{"--from %1$s/bert --task lm --train %1$s/text --out %1$s/no",
	         "wants a decoder alone", 1},
		{"--from %1$s/gpt2 --task mlm --train %1$s/text --out %1$s/no",
	         "wants an encoder alone", 1},
		{"--from %1$s/bert --task seq2seq --train %1$s/pairs --out %1$s/no",
	         "an encoder and a decoder", 1},
		{"--task answer --train %1$s/squad.json --out %1$s/no", "--from", 2},
		{"--from %1$s/bert --config x --task mlm --train %1$s/text --out %1$s/no",
	         "too much", 2},
		{"--from %1$s/bert --task classify --train %1$s/text --out %1$s/no1",
	         "no label, tab and text", 1},
		{"--from %1$s/bert --task classify --train %1$s/labels --valid %1$s/pairs "
	         "--out %1$s/no2",
	         "with a label that --train has not", 1},
		{"--from %1$s/bert --task classify --train %1$s/labels --max-length 25 "
	         "--out %1$s/no3",
	         "reads 24 tokens", 1},
		{"--from %1$s/bert --task answer --train %1$s/squad.json --stride 23 "
	         "--out %1$s/no4",
	         "leaves nothing", 1},
		{"--from %1$s/bert --task answer --train %1$s/labels --out %1$s/no5", "labels", 1},
		{"--from %1$s/empty --task mlm --train %1$s/text --out %1$s/no6", "safetensors", 1},
		{"--from %1$s/large --task mlm --train %1$s/text --out %1$s/no7",
	         "do not belong together", 1},
		{"--from %1$s/bert --task mlm --train %1$s/text --out %1$s/no7 --override layers=2",
	         "layers", 1},
		{"--task mlm --train %1$s/text --out %1$s/no7 --override num_hidden_layers=2",
	         "--override is of --from", 2},
	};
	make_bert("bert_base", "empty");
	make_bert("bert_base", "large");
	assert_int_equal(shell("rm '%s/empty/model.safetensors'; seq 200 >>'%s/large/vocab.txt'",
	                       folder, folder),
	                 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		result r = train(rows[i].arguments);
		if (r.code != rows[i].code || !strstr(r.err, rows[i].word)) {
			print_message("hecate train %s\ngave %d: %s\n", rows[i].arguments, r.code,
			              r.err);
			assert_true(false);
		}
		done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_task_goes_on_from_a_model_and_saves_its_kind),
		cmocka_unit_test(measures_of_each_task_are_in_the_log),
		cmocka_unit_test(a_model_that_knows_the_labels_keeps_its_head),
		cmocka_unit_test(settings_are_those_of_fine_tuning),
		cmocka_unit_test(a_model_of_other_sizes_is_learned),
		cmocka_unit_test(a_killed_run_ends_with_the_same_bits_and_without_the_directory),
#ifdef EXAMPLE_FINE_TUNE
		cmocka_unit_test(the_example_learns_what_the_program_learns),
#endif
		cmocka_unit_test(what_is_wrong_is_told),
	};
	return cmocka_run_group_tests(tests, make_all, remove_folder);
}
