/* train.c — small worlds to learn in. */
#include "support/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/scratch.h"

lab lab_open(uint64_t seed)
{
	lab l = {.k = kit_open(seed)};
	CHECK(&l.k, scratch_folder(l.dir, sizeof l.dir) == 0, "no folder could be made");
	return l;
}

void lab_close(lab *l)
{
	char command[192];
	hec_tokenizer_destroy(l->tokenizer);
	snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", l->dir, l->dir);
	CHECK(&l->k, system(command) == 0, "%s is left", l->dir);
	kit_close(&l->k);
}

const char *lab_path(const lab *l, const char *name)
{
	static char paths[4][256];
	static int next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof paths[0], "%s/%s", l->dir, name);
	return path;
}

void lab_write(const lab *l, const char *name, const void *data, size_t size)
{
	FILE *f = fopen(lab_path(l, name), "wb");
	CHECK(&l->k, f && fwrite(data, 1, size, f) == size && fclose(f) == 0,
	      "%s could not be written", name);
}

void lab_write_pairs(lab *l, const char *source, const char *target, int n)
{
	static const char *const digits[10] = {"null", "eins",  "zwei",   "drei", "vier",
	                                       "fünf", "sechs", "sieben", "acht", "neun"};
	FILE *a = fopen(lab_path(l, source), "w"), *b = fopen(lab_path(l, target), "w");
	CHECK(&l->k, a && b, "no files could be made");
	for (int i = 0; i < n; i++) {
		int length = (int)draw_in(&l->k, 1, 7);
		for (int j = 0; j < length; j++) {
			uint32_t digit = draw(&l->k) % 10;
			fprintf(a, "%s%u", j ? " " : "", digit);
			fprintf(b, "%s%s", j ? " " : "", digits[digit]);
		}
		fputc('\n', a);
		fputc('\n', b);
	}
	CHECK(&l->k, fclose(a) == 0 && fclose(b) == 0, "files could not be written");
}

void lab_know_words(lab *l, int n)
{
	static const char config[] = "{\"tokenizer_class\": \"BertTokenizer\"}";
	lab_write(l, "tokenizer_config.json", config, sizeof config - 1);
	FILE *f = fopen(lab_path(l, "vocab.txt"), "w");
	assert_true(f && fputs("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", f) >= 0);
	for (int i = 0; i < n; i++)
		fprintf(f, "w%d\n", i);
	assert_int_equal(fclose(f), 0);
	OK(&l->k, hec_tokenizer_load(l->dir, &l->tokenizer));
}

void lab_learn_tokenizer(lab *l, const char *source, const char *target)
{
	const char *files[2] = {lab_path(l, source), lab_path(l, target)};
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	hec_lines *lines;
	o.vocab = 290;
	o.threads = 1;
	OK(&l->k, hec_lines_create(HEC_TASK_TRANSLATE, files, 2, &lines));
	OK(&l->k, hec_bpe_train(&o, hec_lines_next, lines, &l->tokenizer));
	hec_lines_destroy(lines);
}

hec_corpus *lab_corpus(const lab *l, const char *source, const char *target, const char *cache)
{
	const char *files[2] = {lab_path(l, source), lab_path(l, target)};
	hec_corpus_options o = {.size = sizeof o,
	                        .task = HEC_TASK_TRANSLATE,
	                        .files = files,
	                        .n = 2,
	                        .tokenizer = l->tokenizer,
	                        .max_source = 24,
	                        .max_target = 24,
	                        .cache = lab_path(l, cache)};
	hec_corpus *corpus = NULL;
	OK(&l->k, hec_corpus_create(&o, &corpus));
	return corpus;
}
