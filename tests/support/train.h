/* train.h — a folder, files of text in it, a tokenizer and corpora of them, for tests of learning. */
#ifndef TESTS_SUPPORT_TRAIN_H
#define TESTS_SUPPORT_TRAIN_H

#include "support/test.h"

#include <hecate/train.h>

typedef struct lab {
	kit k;
	char dir[64]; /* a new folder, removed with all in it */
	hec_tokenizer *tokenizer;
} lab;

lab lab_open(uint64_t seed);
void lab_close(lab *l);

/* dir/name, valid until four more are asked for. */
const char *lab_path(const lab *l, const char *name);
void lab_write(const lab *l, const char *name, const void *data, size_t size);
/* n lines of small numbers, and the same in words, as two files. */
void lab_write_pairs(lab *l, const char *source, const char *target, int n);
/* BERT's tokenizer of the words w0 … w<n − 1>; word i is id i + FIRST_WORD. */
enum { WORD_CLS = 2, WORD_SEP = 3, WORD_MASK = 4, FIRST_WORD = 5 };
void lab_know_words(lab *l, int n);
/* A tokenizer of the texts of these two files. */
void lab_learn_tokenizer(lab *l, const char *source, const char *target);
/* The corpus of two files; cache is the name of what is made. */
hec_corpus *lab_corpus(const lab *l, const char *source, const char *target, const char *cache);

#endif
