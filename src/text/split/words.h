/* words.h — the patterns that cut text into words, written by hand.
 *
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * is GPT-2's; others differ in what counts as a letter, how many digits stay together, and whether a
 * "▁" stands for the space; Llama 3's and Qwen 2's also in what goes with a word and with a line's end
 * (words_llama3), GPT-4o's also parts words where capitals follow small letters (words_o200k). Tests compare each with its pattern under PCRE2. */
#ifndef TEXT_SPLIT_WORDS_H
#define TEXT_SPLIT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct word_rule {
	const char *pattern;
	unsigned letters; /* classes that make a word: CLASS_LETTER, or with CLASS_MARK */
	unsigned digits;  /* so many numbers at most are one word; 0: any number */
	bool marked;      /* "▁" for the space; it never stays with another */
	bool lines;       /* as Llama 3 does it */
	bool cased;       /* as GPT-4o does it */
} word_rule;

extern const word_rule words_gpt2, words_llama3, words_qwen2, words_o200k;
/* What hec_bpe_train uses: marks belong to their letters (as in Hindi), each digit is for itself. */
extern const word_rule words_learned, words_marked;

/* The rule of this pattern; NULL: none is written by hand. */
const word_rule *word_rule_of(const char *pattern);

/* Where the word that begins at `at` ends; at < end of valid UTF-8. */
size_t word_end(const word_rule *rule, const char *text, size_t at, size_t end);

#endif
