/* bpe_train.c — learning a tokenizer: count words, take an alphabet, learn merges, write the files,
 * and read them again: what is saved is what runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/quote.h"
#include "text/learn/bpe_count.h"
#include "text/learn/bpe_learn.h"
#include "text/learn/bpe_write.h"
#include "text/split/byte_level.h"
#include "base/grow.h"
#include "text/tokenizer/tokenizer.h"
#include "text/unicode/utf8.h"

#define VOCAB_MOST ((int64_t)1 << 24)
#define CHARACTERS 0x110000

static const hec_special usual[] = {
	{"</s>", "eos", false},
	{"<unk>", "unk", false},
	{"<pad>", "pad", true},
};

/* ---- options ---- */

static bool is_special(const hec_bpe_train_options *o, const char *text)
{
	for (size_t i = 0; i < o->specials; i++)
		if (strcmp(o->special[i].text, text) == 0)
			return true;
	return false;
}

static hec_status check_specials(const hec_bpe_train_options *o)
{
	char shown[QUOTE_TEXT], role[QUOTE_TEXT];
	for (size_t i = 0; i < o->specials; i++) {
		const hec_special *s = &o->special[i];
		if (!s->text || !*s->text ||
		    utf8_valid(s->text, strlen(s->text)) != strlen(s->text))
			return fail(HEC_ERR_ARGUMENT, "special token %zu is empty or not UTF-8", i);
		bool known = !s->role;
		for (int k = 0; k < TOKENIZER_ROLES && !known; k++)
			known = strcmp(s->role, tokenizer_roles[k]) == 0;
		if (!known)
			return fail(HEC_ERR_ARGUMENT,
			            "special token \"%s\": no role \"%s\" is known",
			            quote(s->text, shown), quote(s->role, role));
		for (size_t k = 0; k < i; k++)
			if (strcmp(o->special[k].text, s->text) == 0)
				return fail(HEC_ERR_ARGUMENT, "special token \"%s\" is given twice",
				            quote(s->text, shown));
	}
	if ((o->begin && !is_special(o, o->begin)) || (o->end && !is_special(o, o->end)))
		return fail(HEC_ERR_ARGUMENT,
		            "\"%s\" is to be put around texts, and is no special token",
		            quote(o->begin && !is_special(o, o->begin) ? o->begin : o->end, shown));
	return HEC_OK;
}

static hec_status read_options(const hec_bpe_train_options *given, hec_bpe_train_options *o)
{
	HEC_TRY(options_take("hec_bpe_train_options", o, sizeof *o, given));
	if (!o->special) {
		o->special = usual;
		o->specials = sizeof usual / sizeof usual[0];
		if (!o->end)
			o->end = "</s>";
	}
	HEC_TRY(check_specials(o));
	int64_t least = 256 + (int64_t)o->specials;
	if (o->vocab < least || o->vocab > VOCAB_MOST)
		return fail(HEC_ERR_ARGUMENT,
		            "a vocabulary of %lld: %lld (bytes and special tokens) … %lld",
		            (long long)o->vocab, (long long)least, (long long)VOCAB_MOST);
	if (o->min_frequency < 0 || o->limit_alphabet < 0 || o->max_token_length < 0)
		return fail(HEC_ERR_ARGUMENT, "hec_bpe_train_options: a negative number");
	return HEC_OK;
}

/* ---- the alphabet ---- */

typedef struct character {
	uint32_t c;
	int64_t count;
} character;

static int compare_frequencies(const void *a, const void *b)
{
	const character *x = a, *y = b;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->c > y->c) - (x->c < y->c);
}

static int compare_code_points(const void *a, const void *b)
{
	const character *x = a, *y = b;
	return (x->c > y->c) - (x->c < y->c);
}

static hec_status add_token(vocab *v, const char *token, size_t bytes)
{
	return vocab_find(v, token, bytes) != VOCAB_NONE
	               ? HEC_OK
	               : vocab_add(v, token, bytes, (int64_t)v->ids);
}

static hec_status add_characters(vocab *v, character *list, size_t n)
{
	qsort(list, n, sizeof *list, compare_code_points);
	for (size_t i = 0; i < n; i++) {
		char name[UTF8_MOST];
		HEC_TRY(add_token(v, name, utf8_put(list[i].c, name)));
	}
	return HEC_OK;
}

static hec_status add_bytes(vocab *v)
{
	character list[256];
	for (int i = 0; i < 256; i++)
		list[i] = (character){byte_level_char((unsigned char)i), 0};
	return add_characters(v, list, 256);
}

/* Each character with its count; *n of them, at *list for mem_free(). */
static hec_status count_characters(const word_counts *words, character **list, size_t *n)
{
	character *all = mem_zeros(CHARACTERS, sizeof *all);
	if (!all)
		return fail(HEC_ERR_MEMORY, "no memory to count characters");
	for (size_t i = 0; i < words->n; i++) {
		const struct word_count *w = &words->words[i];
		for (size_t at = w->at, length; at < w->at + w->bytes; at += length)
			all[utf8_get(words->text + at, &length)].count += w->count;
	}
	*n = 0;
	for (uint32_t c = 1; c < CHARACTERS; c++) /* U+0000 has no place in JSON: its byte has */
		if (all[c].count)
			all[(*n)++] = (character){c, all[c].count};
	*list = all;
	return HEC_OK;
}

static hec_status add_alphabet(const hec_bpe_train_options *o, const word_counts *words, vocab *v)
{
	if (!o->unicode)
		return add_bytes(v);
	for (int i = 0; i < 256; i++) {
		char name[8];
		snprintf(name, sizeof name, "<0x%02X>", (unsigned)i & 0xff);
		HEC_TRY(add_token(v, name, 6));
	}
	character *list = NULL;
	size_t n = 0, room = (size_t)o->vocab - v->ids;
	HEC_TRY(count_characters(words, &list, &n));
	qsort(list, n, sizeof *list, compare_frequencies);
	if (n > (size_t)o->limit_alphabet)
		n = (size_t)o->limit_alphabet;
	hec_status status = add_characters(v, list, n < room ? n : room);
	mem_free(list);
	return status;
}

/* ---- words as ids ---- */

static hec_status close_word(bpe_words *to, size_t at, int64_t count)
{
	if (to->used - at < 2) { /* nothing to join */
		to->used = at;
		return HEC_OK;
	}
	HEC_TRY(GROW(&to->words, &to->capacity, to->n + 1));
	to->words[to->n++] = (struct bpe_word){at, (uint32_t)(to->used - at), count};
	return HEC_OK;
}

static hec_status add_word(const vocab *v, bool unicode, const char *text, size_t bytes,
                           int64_t count, bpe_words *to)
{
	size_t first = to->used;
	HEC_TRY(GROW(&to->symbols, &to->symbol_capacity, to->used + bytes));
	for (size_t i = 0, n; i < bytes; i += n) {
		char name[UTF8_MOST];
		const char *c = unicode ? text + i : name;
		n = unicode ? utf8_length(text[i]) : 1;
		size_t length =
			unicode ? n : utf8_put(byte_level_char((unsigned char)text[i]), name);
		int32_t id = vocab_find(v, c, length);
		if (id != VOCAB_NONE) {
			to->symbols[to->used++] = id;
		} else { /* a rare character ends the word: nothing is joined over it */
			HEC_TRY(close_word(to, first, count));
			first = to->used;
		}
	}
	return close_word(to, first, count);
}

static hec_status add_words(const hec_bpe_train_options *o, const word_counts *words,
                            const vocab *v, bpe_words *to)
{
	if (words->n >= UINT32_MAX)
		return fail(HEC_ERR_MEMORY, "%zu different words are too many", words->n);
	for (size_t i = 0; i < words->n; i++) {
		const struct word_count *w = &words->words[i];
		HEC_TRY(add_word(v, o->unicode, words->text + w->at, w->bytes, w->count, to));
	}
	return HEC_OK;
}

/* ---- all together ---- */

typedef struct training {
	word_counts counts;
	vocab vocab, later; /* later: special tokens that come last, by name */
	bpe_words words;
	bpe_merges merges;
	char *json, *config;
	size_t json_bytes, config_bytes;
} training;

static hec_status add_specials(const hec_bpe_train_options *o, bool last, vocab *v)
{
	for (size_t i = 0; i < o->specials; i++) {
		const char *text = o->special[i].text;
		if (o->special[i].last == last)
			HEC_TRY(vocab_add(v, text, strlen(text), (int64_t)v->ids));
	}
	return HEC_OK;
}

static hec_status report_progress(void *user, int64_t done, int64_t total)
{
	const hec_bpe_train_options *o = user;
	return call_progress(o->progress, o->user, "learning merges", done, total);
}

static hec_status train_vocabulary(hec_bpe_train_options *o, hec_line_fn *next_line, void *user,
                                   training *t)
{
	bpe_count_options count = {o->unicode, o->threads, o->progress, o->user};
	HEC_TRY(bpe_count(&count, next_line, user, &t->counts));
	HEC_TRY(vocab_init(&t->vocab, (size_t)o->vocab));
	HEC_TRY(vocab_init(&t->later, o->specials));
	HEC_TRY(add_specials(o, false, &t->vocab));
	HEC_TRY(add_specials(o, true, &t->later));
	bpe_learn_options learn = {.min_frequency = o->min_frequency,
	                           .max_characters = (size_t)o->max_token_length,
	                           .specials = (int32_t)t->vocab.ids,
	                           .later = &t->later,
	                           .progress = report_progress,
	                           .user = o};
	learn.vocab = (size_t)o->vocab - (o->specials - t->vocab.ids);
	o->vocab = (int64_t)learn.vocab;
	HEC_TRY(add_alphabet(o, &t->counts, &t->vocab));
	HEC_TRY(add_words(o, &t->counts, &t->vocab, &t->words));
	word_counts_free(&t->counts);
	HEC_TRY(bpe_learn(&t->words, &learn, &t->vocab, &t->merges));
	HEC_TRY(add_specials(o, true, &t->vocab));
	HEC_TRY(bpe_write_json(o, &t->vocab, &t->merges, &t->json, &t->json_bytes));
	return bpe_write_config(o, &t->config, &t->config_bytes);
}

hec_status hec_bpe_train(const hec_bpe_train_options *options, hec_line_fn *next_line, void *user,
                         hec_tokenizer **out)
{
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	if (out)
		*out = NULL;
	if (!next_line || !out)
		return fail(HEC_ERR_ARGUMENT, "hec_bpe_train: %s is NULL",
		            next_line ? "out" : "next_line");
	HEC_TRY(read_options(options, &o));
	training t;
	memset(&t, 0, sizeof t);
	hec_status status = train_vocabulary(&o, next_line, user, &t);
	if (status == HEC_OK)
		status = hec_tokenizer_parse(t.json, t.json_bytes, t.config, t.config_bytes, out);
	word_counts_free(&t.counts);
	vocab_free(&t.vocab);
	vocab_free(&t.later);
	bpe_words_free(&t.words);
	mem_free(t.merges.at);
	mem_free(t.json);
	mem_free(t.config);
	return status;
}
