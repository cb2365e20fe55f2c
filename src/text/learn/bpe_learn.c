/* bpe_learn.c — byte-pair encoding learned from counted words.
 *
 * For each pair of neighbours: its count, and the words it occurs in. A heap holds pairs by count, the
 * smaller ids first among equals. Joining a pair touches only the words that hold it and changes the
 * counts of its neighbours there. A count that has fallen since its entry went into the heap is found
 * when the entry comes up, and goes back with the new count: so what comes up with the right count is
 * the most frequent pair. The result does not depend on the order of the words. */
#include "text/learn/bpe_learn.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/grow.h"
#include "text/model/pairs.h"
#include "text/unicode/utf8.h"

#define REPORT_EVERY 256 /* merges */

typedef struct pair_info {
	uint64_t key;
	int64_t count;
	uint32_t *words; /* where it may occur; the last ones may be repeated */
	size_t n, capacity;
	bool changed; /* in the list of pairs that gained by this merge */
} pair_info;

typedef struct queued {
	int64_t count;
	uint64_t key;
	uint32_t info;
} queued;

typedef struct learner {
	bpe_words *words;
	pair_info *infos;
	size_t n, capacity;
	uint32_t *slots; /* info + 1 by key; 0: free */
	size_t slot_count;
	queued *heap;
	size_t heap_n, heap_capacity;
	uint32_t *gained;
	size_t gained_n, gained_capacity;
	char *joined;
	size_t joined_capacity;
} learner;

void bpe_words_free(bpe_words *w)
{
	mem_free(w->symbols);
	mem_free(w->words);
	memset(w, 0, sizeof *w);
}

static void learner_free(learner *l)
{
	for (size_t i = 0; i < l->n; i++)
		mem_free(l->infos[i].words);
	mem_free(l->infos);
	mem_free(l->slots);
	mem_free(l->heap);
	mem_free(l->gained);
	mem_free(l->joined);
}

/* ---- pairs ---- */

static size_t slot_of(const learner *l, uint64_t key)
{
	size_t mask = l->slot_count - 1, at = hash_word(hash_seed(), key) & mask;
	while (l->slots[at] && l->infos[l->slots[at] - 1].key != key)
		at = (at + 1) & mask;
	return at;
}

static hec_status grow_slots(learner *l)
{
	size_t count = l->slot_count ? 2 * l->slot_count : 4096;
	uint32_t *slots = mem_zeros(count, sizeof *slots);
	if (!slots || l->n >= UINT32_MAX / 2) {
		mem_free(slots);
		return fail(HEC_ERR_MEMORY, "no memory to count %zu different pairs", l->n + 1);
	}
	mem_free(l->slots);
	l->slots = slots;
	l->slot_count = count;
	for (size_t i = 0; i < l->n; i++)
		l->slots[slot_of(l, l->infos[i].key)] = (uint32_t)i + 1;
	return HEC_OK;
}

static hec_status info_of(learner *l, uint64_t key, uint32_t *info)
{
	if (2 * (l->n + 1) > l->slot_count)
		HEC_TRY(grow_slots(l));
	size_t at = slot_of(l, key);
	if (!l->slots[at]) {
		HEC_TRY(GROW(&l->infos, &l->capacity, l->n + 1));
		l->infos[l->n] = (pair_info){.key = key};
		l->slots[at] = (uint32_t)++l->n;
	}
	*info = l->slots[at] - 1;
	return HEC_OK;
}

/* One more place of a pair, in this word. */
static hec_status gain_pair(learner *l, int32_t left, int32_t right, uint32_t word)
{
	uint32_t i;
	HEC_TRY(info_of(l, pair_key(left, right), &i));
	pair_info *p = &l->infos[i];
	p->count += l->words->words[word].count;
	if (p->n == 0 || p->words[p->n - 1] != word) {
		HEC_TRY(GROW(&p->words, &p->capacity, p->n + 1));
		p->words[p->n++] = word;
	}
	if (!p->changed) {
		HEC_TRY(GROW(&l->gained, &l->gained_capacity, l->gained_n + 1));
		l->gained[l->gained_n++] = i;
		p->changed = true;
	}
	return HEC_OK;
}

static void lose_pair(learner *l, int32_t left, int32_t right, uint32_t word)
{
	uint32_t slot = l->slots[slot_of(l, pair_key(left, right))];
	if (slot)
		l->infos[slot - 1].count -= l->words->words[word].count;
}

/* ---- the heap ---- */

static bool comes_before(const queued *a, const queued *b)
{
	return a->count != b->count ? a->count > b->count : a->key < b->key;
}

static hec_status queue_push(learner *l, queued q)
{
	HEC_TRY(GROW(&l->heap, &l->heap_capacity, l->heap_n + 1));
	size_t i = l->heap_n++;
	for (; i > 0 && comes_before(&q, &l->heap[(i - 1) / 2]); i = (i - 1) / 2)
		l->heap[i] = l->heap[(i - 1) / 2];
	l->heap[i] = q;
	return HEC_OK;
}

static queued queue_pop(learner *l)
{
	queued top = l->heap[0], last = l->heap[--l->heap_n];
	size_t i = 0;
	for (size_t child; (child = 2 * i + 1) < l->heap_n; i = child) {
		if (child + 1 < l->heap_n && comes_before(&l->heap[child + 1], &l->heap[child]))
			child++;
		if (!comes_before(&l->heap[child], &last))
			break;
		l->heap[i] = l->heap[child];
	}
	l->heap[i] = last;
	return top;
}

static hec_status push_gained(learner *l)
{
	for (size_t i = 0; i < l->gained_n; i++) {
		pair_info *p = &l->infos[l->gained[i]];
		p->changed = false;
		if (p->count > 0)
			HEC_TRY(queue_push(l, (queued){p->count, p->key, l->gained[i]}));
	}
	l->gained_n = 0;
	return HEC_OK;
}

static hec_status count_pairs(learner *l)
{
	for (size_t w = 0; w < l->words->n; w++) {
		const struct bpe_word *word = &l->words->words[w];
		const int32_t *s = l->words->symbols + word->at;
		for (uint32_t i = 0; i + 1 < word->n; i++)
			HEC_TRY(gain_pair(l, s[i], s[i + 1], (uint32_t)w));
	}
	return push_gained(l);
}

/* ---- joining ---- */

static hec_status join_in_word(learner *l, uint32_t w, int32_t left, int32_t right, int32_t id)
{
	struct bpe_word *word = &l->words->words[w];
	int32_t *s = l->words->symbols + word->at;
	uint32_t to = 0;
	for (uint32_t i = 0; i < word->n; i++) {
		if (s[i] != left || i + 1 == word->n || s[i + 1] != right) {
			s[to++] = s[i];
			continue;
		}
		if (to > 0) {
			lose_pair(l, s[to - 1], left, w);
			HEC_TRY(gain_pair(l, s[to - 1], id, w));
		}
		if (i + 2 < word->n) {
			lose_pair(l, right, s[i + 2], w);
			HEC_TRY(gain_pair(l, id, s[i + 2], w));
		}
		s[to++] = id;
		i++;
	}
	word->n = to;
	return HEC_OK;
}

static hec_status join_everywhere(learner *l, uint32_t info, int32_t id)
{
	uint64_t key = l->infos[info].key;
	uint32_t *list = l->infos[info].words;
	size_t n = l->infos[info].n;
	/* Neighbours may make the same pair again (where two tokens have one text): start anew. */
	l->infos[info].words = NULL;
	l->infos[info].n = l->infos[info].capacity = 0;
	hec_status status = HEC_OK;
	for (size_t i = 0; i < n && status == HEC_OK; i++)
		status = join_in_word(l, list[i], (int32_t)(key >> 32), (int32_t)(uint32_t)key, id);
	mem_free(list);
	HEC_TRY(status);
	l->infos[info].count = 0;
	return push_gained(l);
}

/* The token that the pair makes: a new id, or that of a token with the same text. *id −1: this pair
 * shall not be joined. */
static hec_status name_pair(learner *l, const bpe_learn_options *o, uint64_t key, vocab *v,
                            int32_t *id)
{
	size_t a, b;
	const char *left = vocab_token(v, (int32_t)(key >> 32), &a);
	const char *right = vocab_token(v, (int32_t)(uint32_t)key, &b);
	*id = -1;
	HEC_TRY(GROW(&l->joined, &l->joined_capacity, a + b));
	memcpy(l->joined, left, a);
	memcpy(l->joined + a, right, b);
	if (o->max_characters && utf8_count(l->joined, a + b) > o->max_characters)
		return HEC_OK;
	if (vocab_find(o->later, l->joined, a + b) != VOCAB_NONE)
		return HEC_OK;
	int32_t known = vocab_find(v, l->joined, a + b);
	if (known != VOCAB_NONE) {
		*id = known >= o->specials ? known : -1;
		return HEC_OK;
	}
	*id = (int32_t)v->ids;
	return vocab_add(v, l->joined, a + b, *id);
}

static hec_status learn_merges(learner *l, const bpe_learn_options *o, vocab *v, bpe_merges *out)
{
	int64_t first = (int64_t)v->ids, total = max_i64((int64_t)o->vocab - first, 0);
	HEC_TRY(count_pairs(l));
	while (v->ids < o->vocab && l->heap_n > 0) {
		queued top = queue_pop(l);
		int64_t count = l->infos[top.info].count;
		if (count != top.count) {
			if (count > 0)
				HEC_TRY(queue_push(l, (queued){count, top.key, top.info}));
			continue;
		}
		if (count < o->min_frequency || count < 1)
			break;
		int32_t id;
		HEC_TRY(name_pair(l, o, top.key, v, &id));
		if (id < 0)
			continue;
		HEC_TRY(GROW(&out->at, &out->capacity, out->n + 1));
		out->at[out->n++] =
			(bpe_merge){(int32_t)(top.key >> 32), (int32_t)(uint32_t)top.key};
		HEC_TRY(join_everywhere(l, top.info, id));
		if (o->progress && out->n % REPORT_EVERY == 0)
			HEC_TRY(o->progress(o->user, (int64_t)v->ids - first, total));
	}
	return HEC_OK;
}

hec_status bpe_learn(bpe_words *words, const bpe_learn_options *o, vocab *v, bpe_merges *out)
{
	learner l = {.words = words};
	hec_status status = learn_merges(&l, o, v, out);
	learner_free(&l);
	return status;
}
