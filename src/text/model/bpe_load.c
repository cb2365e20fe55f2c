/* bpe_load.c — the model BPE of tokenizer.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "text/split/byte_level.h"
#include "text/model/model.h"
#include "text/unicode/utf8.h"

typedef struct half {
	const char *text;
	size_t bytes;
} half;

/* "a b", or ["a", "b"] in newer files. */
static bool halves_of(const json_t *merge, half *left, half *right)
{
	if (json_is_array(merge)) {
		const json_t *l = json_array_get(merge, 0), *r = json_array_get(merge, 1);
		if (json_array_size(merge) != 2 || !json_is_string(l) || !json_is_string(r))
			return false;
		*left = (half){json_string_value(l), json_string_length(l)};
		*right = (half){json_string_value(r), json_string_length(r)};
		return true;
	}
	if (!json_is_string(merge))
		return false;
	const char *text = json_string_value(merge), *space = strchr(text, ' ');
	if (!space || strchr(space + 1, ' '))
		return false;
	*left = (half){text, (size_t)(space - text)};
	*right = (half){space + 1, strlen(space + 1)};
	return true;
}

static hec_status fail_merge(const json_scope *s, size_t rank, const char *what, half h)
{
	char name[QUOTE_TEXT];
	return fail(HEC_ERR_FORMAT, "%s: '%smerges[%zu]': %s \"%s\" is not in the vocabulary",
	            s->file, s->path, rank, what, quote_bytes(h.text, h.bytes, name));
}

/* joined: memory for the token that the two make. */
static hec_status load_merge(const json_scope *s, bpe *b, size_t rank, half left, half right,
                             char *joined)
{
	size_t skip = b->prefix ? strlen(b->prefix) : 0;
	if (skip > right.bytes)
		return fail_merge(s, rank, "what follows the prefix of", right);
	half both = {joined, left.bytes + right.bytes - skip};
	memcpy(joined, left.text, left.bytes);
	memcpy(joined + left.bytes, right.text + skip, right.bytes - skip);
	int32_t l = vocab_find(b->words, left.text, left.bytes);
	int32_t r = vocab_find(b->words, right.text, right.bytes);
	int32_t id = vocab_find(b->words, both.text, both.bytes);
	if (l == VOCAB_NONE || r == VOCAB_NONE)
		return fail_merge(s, rank, "the part", l == VOCAB_NONE ? left : right);
	if (id == VOCAB_NONE)
		return fail_merge(s, rank, "what it makes,", both);
	pairs_set(&b->merges, l, r, (pair_value){(uint32_t)rank, id});
	return HEC_OK;
}

static hec_status load_merges(const json_scope *s, bpe *b)
{
	json_t *list, *merge;
	size_t i, most = 0;
	half left, right;
	HEC_TRY(json_need_array(s, "merges", &list));
	b->merge_count = json_array_size(list);
	if (b->merge_count >= UINT32_MAX)
		return fail(HEC_ERR_FORMAT, "%s: %zu merges", s->file, b->merge_count);
	HEC_TRY(pairs_init(&b->merges, b->merge_count));
	json_array_foreach(list, i, merge)
	{
		if (!halves_of(merge, &left, &right)) {
			char key[64];
			snprintf(key, sizeof key, "merges[%zu]", i);
			return json_wrong(s, key, merge, "\"left right\" or [\"left\", \"right\"]");
		}
		if (left.bytes + right.bytes > most)
			most = left.bytes + right.bytes;
	}
	char *joined = mem_alloc(most + 1);
	if (!joined)
		return fail(HEC_ERR_MEMORY, "%s: no memory for a token of %zu bytes", s->file,
		            most);
	hec_status status = HEC_OK;
	json_array_foreach(list, i, merge)
	{
		halves_of(merge, &left, &right);
		if ((status = load_merge(s, b, i, left, right, joined)) != HEC_OK)
			break;
	}
	mem_free(joined);
	return status;
}

/* Whether each merge comes after all those that make one of its parts: see bpe_long.c. */
static hec_status check_rank_order(bpe *b)
{
	size_t ids = b->words->ids;
	uint32_t *after =
		mem_zeros(ids + 1, sizeof *after); /* 1 + the last rank that makes an id */
	if (!after)
		return fail(HEC_ERR_MEMORY, "no memory for the ranks of %zu tokens", ids);
	for (size_t i = 0; i < b->merges.count; i++) {
		const struct pair_slot *p = &b->merges.slots[i];
		if (p->key != PAIR_FREE && after[p->value.id] <= p->value.rank)
			after[p->value.id] = p->value.rank + 1;
	}
	b->ascending = true;
	for (size_t i = 0; i < b->merges.count; i++) {
		const struct pair_slot *p = &b->merges.slots[i];
		if (p->key != PAIR_FREE && (after[p->key >> 32] > p->value.rank ||
		                            after[(uint32_t)p->key] > p->value.rank))
			b->ascending = false;
	}
	mem_free(after);
	return HEC_OK;
}

static void find_bytes(bpe *b)
{
	for (int i = 0; i < 256; i++) {
		char name[8];
		size_t n = utf8_put(byte_level_char((unsigned char)i), name);
		b->byte_id[i] = vocab_find(b->words, name, n);
		snprintf(name, sizeof name, "<0x%02X>", (unsigned)i & 0xff);
		b->fallback[i] = vocab_find(b->words, name, 6);
	}
}

hec_status bpe_finish(bpe *b)
{
	find_bytes(b);
	return check_rank_order(b);
}

static hec_status load_affix(const json_scope *s, const char *key, char **out)
{
	const char *text = NULL;
	HEC_TRY(json_want_string(s, key, &text));
	if (!text || !*text)
		return HEC_OK;
	*out = mem_alloc(strlen(text) + 1);
	if (!*out)
		return fail(HEC_ERR_MEMORY, "%s: no memory for '%s%s'", s->file, s->path, key);
	strcpy(*out, text);
	return HEC_OK;
}

static hec_status load_bpe(const json_scope *s, model *m)
{
	bpe *b = &m->bpe;
	double dropout = 0;
	b->words = m->vocab;
	HEC_TRY(model_load_vocab(s, m->vocab));
	HEC_TRY(json_want_double(s, "dropout", 0, 1, &dropout));
	if (dropout != 0)
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s: '%sdropout' is %g; only a tokenizer without it gives the same ids "
		            "twice",
		            s->file, s->path, dropout);
	HEC_TRY(model_load_token(s, "unk_token", m->vocab, &b->unk));
	HEC_TRY(json_want_bool(s, "fuse_unk", &b->fuse_unk));
	HEC_TRY(json_want_bool(s, "byte_fallback", &b->byte_fallback));
	HEC_TRY(json_want_bool(s, "ignore_merges", &b->ignore_merges));
	HEC_TRY(load_affix(s, "continuing_subword_prefix", &b->prefix));
	HEC_TRY(load_affix(s, "end_of_word_suffix", &b->suffix));
	HEC_TRY(load_merges(s, b));
	return bpe_finish(b);
}

static hec_status encode_text(const model *m, const char *text, size_t begin, size_t end,
                              model_work *work, tokens *out)
{
	return bpe_encode(&m->bpe, m->serial, text, begin, end, &work->bpe, out);
}

static void free_bpe(model *m)
{
	bpe_free(&m->bpe);
}

const model_kind model_bpe = {"BPE", load_bpe, encode_text, free_bpe};

/* ---- words as plain bytes ---- */

/* The bytes that the token stands for; false: it is no text of ByteLevel. */
static bool read_plain_bytes(const char *token, size_t n, char *bytes, size_t *count)
{
	*count = 0;
	for (size_t i = 0, length; i < n; i += length) {
		int byte = byte_level_byte(utf8_get(token + i, &length));
		if (byte < 0)
			return false;
		bytes[(*count)++] = (char)byte;
	}
	return true;
}

bool bpe_can_take_bytes(const bpe *b)
{
	return !b->byte_fallback && !b->prefix && !b->suffix;
}

hec_status bpe_take_bytes(bpe *b)
{
	if (b->ignore_merges) {
		size_t most = 1;
		for (size_t i = 0; i < b->words->n; i++)
			if (b->words->entries[i].size > most)
				most = b->words->entries[i].size;
		char *bytes = mem_alloc(most);
		if (!bytes)
			return fail(HEC_ERR_MEMORY, "no memory for a token of %zu bytes", most);
		hec_status status = vocab_init(&b->whole, b->words->ids);
		for (size_t i = 0, n; i < b->words->n && status == HEC_OK; i++) {
			const struct vocab_entry *e = &b->words->entries[i];
			if (read_plain_bytes(b->words->text + e->at, e->size, bytes, &n))
				status = vocab_add(&b->whole, bytes, n, e->id);
		}
		mem_free(bytes);
		HEC_TRY(status);
	}
	b->bytes = true;
	return HEC_OK;
}
