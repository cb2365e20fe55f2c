/* test_finetune_program.c — `hecate train --from`: every task from a family of each kind, what is saved
 * and said, killed runs that need the pretrained directory no more, and what is wrong with it or with
 * the text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "explain_run.h"

#include <hecate/hecate.h>
#include <jansson.h>

#include "train_killed.h"

static const char *const words[] = {"red",  "green", "blue", "bird",
                                    "fish", "stone", "sees", "takes"};
#define WORD_COUNT (int)(sizeof words / sizeof *words)

static uint32_t drawn;

static int draw(int below)
{
	uint32_t out[4];
	hec_philox((const uint32_t[4]){drawn++, 0, 0, 0}, (const uint32_t[2]){7, 0}, out);
	return (int)(out[0] % (uint32_t)below);
}

static FILE *open_text(const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	return f;
}

/* kind 0: text, 1: label and text, 2: source and target. */
static void write_lines(const char *name, int kind, int n)
{
	FILE *f = open_text(name);
	for (int i = 0; i < n; i++) {
		int count = 2 + draw(5), first = draw(WORD_COUNT);
		if (kind == 1)
			fprintf(f, "%s\t", first < 3 ? "colour" : first < 6 ? "thing" : "deed");
		for (int j = 0; j < count; j++)
			fprintf(f, "%s%s", j ? " " : "", words[j ? draw(WORD_COUNT) : first]);
		if (kind == 2)
			fprintf(f, "\t%s %s", words[first], words[draw(WORD_COUNT)]);
		fputc('\n', f);
	}
	assert_int_equal(fclose(f), 0);
}

static void write_squad(const char *name, int n)
{
	FILE *f = open_text(name);
	fputs("{\"data\": [", f);
	for (int i = 0; i < n; i++) {
		char context[512] = "";
		int count = 8 + draw(20), at = 0, chosen = draw(count), start = 0;
		const char *answer = "";
		for (int j = 0; j < count; j++) {
			const char *word = words[draw(WORD_COUNT)];
			if (j == chosen) {
				start = at + (j > 0);
				answer = word;
			}
			at += snprintf(context + at, sizeof context - (size_t)at, "%s%s",
			               j ? " " : "", word);
		}
		fprintf(f,
		        "%s{\"paragraphs\": [{\"context\": \"%s\", \"qas\": [{\"id\": \"%d\", "
		        "\"question\": \"sees red\", \"is_impossible\": %s, \"answers\": [",
		        i ? ", " : "", context, i, i % 5 ? "false" : "true");
		if (i % 5)
			fprintf(f, "{\"text\": \"%s\", \"answer_start\": %d}", answer, start);
		fputs("]}]}]}", f);
	}
	fputs("]}", f);
	assert_int_equal(fclose(f), 0);
}

/* Words between spaces. specials: names in the order of their ids; end: put behind each text, or NULL. */
static void write_tokenizer(const char *dir, const char *const *specials, const char *const *roles,
                            int n, const char *end)
{
	char name[128];
	snprintf(name, sizeof name, "%s/tokenizer.json", dir);
	FILE *f = open_text(name);
	fputs("{\"added_tokens\": [", f);
	for (int i = 0; i < n; i++)
		fprintf(f,
		        "%s{\"id\": %d, \"content\": \"%s\", \"special\": true, \"single_word\": "
		        "false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false}",
		        i ? ", " : "", i, specials[i]);
	fputs("], \"normalizer\": null, \"pre_tokenizer\": {\"type\": \"Whitespace\"}, "
	      "\"decoder\": null, \"post_processor\": ",
	      f);
	if (end)
		fprintf(f,
		        "{\"type\": \"TemplateProcessing\", \"single\": [{\"Sequence\": {\"id\": "
		        "\"A\", \"type_id\": 0}}, {\"SpecialToken\": {\"id\": \"%1$s\", "
		        "\"type_id\": 0}}], \"pair\": [{\"Sequence\": {\"id\": \"A\", "
		        "\"type_id\": 0}}, {\"Sequence\": {\"id\": \"B\", \"type_id\": 0}}], "
		        "\"special_tokens\": {\"%1$s\": {\"id\": \"%1$s\", \"ids\": [1], "
		        "\"tokens\": [\"%1$s\"]}}}",
		        end);
	else
		fputs("null", f);
	fputs(", \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"<unk>\", \"vocab\": {", f);
	for (int i = 0; i < n; i++)
		fprintf(f, "\"%s\": %d, ", specials[i], i);
	for (int i = 0; i < WORD_COUNT; i++)
		fprintf(f, "%s\"%s\": %d", i ? ", " : "", words[i], n + i);
	fputs("}}}", f);
	assert_int_equal(fclose(f), 0);
	snprintf(name, sizeof name, "%s/tokenizer_config.json", dir);
	f = open_text(name);
	for (int i = 0; i < n; i++)
		fprintf(f, "%s\"%s_token\": \"%s\"", i ? ", " : "{", roles[i], specials[i]);
	fputs("}", f);
	assert_int_equal(fclose(f), 0);
}

static void copy_model(const char *model, const char *to)
{
	assert_int_equal(shell("cp -r '%s/golden/models/%s' '%s/%s' && chmod -R u+w '%s/%s'",
	                       TESTS_DIR, model, folder, to, folder, to),
	                 0);
}

static void make_bert(const char *model, const char *to)
{
	char name[128];
	copy_model(model, to);
	snprintf(name, sizeof name, "%s/vocab.txt", to);
	FILE *f = open_text(name);
	fputs("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", f);
	for (int i = 0; i < WORD_COUNT; i++)
		fprintf(f, "%s\n", words[i]);
	assert_int_equal(fclose(f), 0);
}

static int make_all(void **state)
{
	static const char *const t5[] = {"<pad>", "</s>", "<unk>"},
				 *const t5_roles[] = {"pad", "eos", "unk"},
				 *const gpt[] = {"<unk>", "<s>", "</s>"},
				 *const gpt_roles[] = {"unk", "bos", "eos"};
	if (make_folder(state) != 0)
		return -1;
	make_bert("bert_base", "bert");
	make_bert("distilbert", "distilbert");
	make_bert("bert_classify", "labelled");
	copy_model("t5", "t5");
	write_tokenizer("t5", t5, t5_roles, 3, "</s>");
	copy_model("gpt2", "gpt2");
	write_tokenizer("gpt2", gpt, gpt_roles, 3, NULL);
	copy_model("llama", "llama");
	write_tokenizer("llama", gpt, gpt_roles, 3, NULL);
	copy_model("llama_long", "long");
	write_tokenizer("long", gpt, gpt_roles, 3, NULL);
	drawn = 0;
	write_lines("text", 0, 200);
	write_lines("labels", 1, 200);
	write_lines("pairs", 2, 200);
	write_squad("squad.json", 60);
	return 0;
}

/* `hecate train` with the folder put in for %1$s. */
static result train(const char *format)
{
	char arguments[2048] = "train --threads 1 ";
	size_t n = strlen(arguments);
	snprintf(arguments + n, sizeof arguments - n, format, folder);
	return run(arguments);
}

static result train_well(const char *format)
{
	result r = train(format);
	if (r.code != 0) {
		print_message("hecate train %s\n%s\n", format, r.err);
		assert_true(false);
	}
	return r;
}

static json_t *read_json(const char *name)
{
	char *text = read_all(name);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	free(text);
	return root;
}

static const char *text_of(const json_t *root, const char *key)
{
	return json_string_value(json_object_get(root, key));
}

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
}

/* ---- what a directory says besides ---- */

static void write_text(const char *name, const char *text)
{
	FILE *f = open_text(name);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void check_same(const char *one, const char *two)
{
	if (shell("cmp '%s/%s' '%s/%s'", folder, one, folder, two) != 0) {
		print_message("%s and %s differ\n", one, two);
		assert_true(false);
	}
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
	char path[256];
	snprintf(path, sizeof path, "%s/chat/config.json", folder);
	assert_int_equal(json_dump_file(root, path, 0), 0);
	json_decref(root);
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
		{"--task answer --train %1$s/squad.json --out %1$s/no", "--from DIR", 2},
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
		cmocka_unit_test(vectors_of_texts_are_made_as_before),
		cmocka_unit_test(a_model_that_writes_ends_as_before),
		cmocka_unit_test(settings_are_those_of_fine_tuning),
		cmocka_unit_test(a_model_of_other_sizes_is_learned),
		cmocka_unit_test(languages_are_those_that_are_said),
		cmocka_unit_test(a_killed_run_ends_with_the_same_bits_and_without_the_directory),
		cmocka_unit_test(what_is_wrong_is_told),
	};
	return cmocka_run_group_tests(tests, make_all, remove_folder);
}
