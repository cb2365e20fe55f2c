/* finetune.h — small pretrained directories with tokenizers, texts for every task, and `hecate train` on them. Needs
 * program_run.h before it. */
#ifndef TESTS_FINETUNE_H
#define TESTS_FINETUNE_H

#include <stdint.h>
#include <string.h>

#include <hecate/hecate.h>

#define TRAIN_ALWAYS "--threads 1 "
#include "train_call.h"

static const char *const words[] = {"red",  "green", "blue", "bird",
                                    "fish", "stone", "sees", "takes"};
#define WORD_COUNT (int)(sizeof words / sizeof *words)

static uint32_t drawn;

static inline int draw(int below)
{
	uint32_t out[4];
	hec_philox((const uint32_t[4]){drawn++, 0, 0, 0}, (const uint32_t[2]){7, 0}, out);
	return (int)(out[0] % (uint32_t)below);
}

static inline FILE *open_text(const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	return f;
}

/* kind 0: text, 1: label and text, 2: source and target. */
static inline void write_lines(const char *name, int kind, int n)
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

static inline void write_squad(const char *name, int n)
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
static inline void write_tokenizer(const char *dir, const char *const *specials,
                                   const char *const *roles, int n, const char *end)
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

static inline void copy_model(const char *model, const char *to)
{
	assert_int_equal(shell("cp -r '%s/golden/models/%s' '%s/%s' && chmod -R u+w '%s/%s'",
	                       TESTS_DIR, model, folder, to, folder, to),
	                 0);
}

static inline void make_bert(const char *model, const char *to)
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

static inline int make_all(void **state)
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
	make_bert("bert_base", "reranker");
	assert_int_equal(shell("sed -i '0,/{/s//{ \"id2label\": {\"0\": \"LABEL_0\"},/' "
	                       "'%s/reranker/config.json'",
	                       folder),
	                 0);
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

static inline const char *text_of(const json_t *root, const char *key)
{
	return json_string_value(json_object_get(root, key));
}

#endif
