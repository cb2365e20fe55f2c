/* pieces.c — SentencePiece's pieces as the models that tokenizers have.
 *
 * A BPE of SentencePiece has no list of merges: two neighbours join where together they are a piece,
 * the best score first, of equal ones the leftmost. So every way to cut a piece into two pieces is a
 * merge, and its rank is the place of the score. The ways are found by walking a tree of all pieces
 * forwards from each piece's start and one of all pieces backwards from its end: linear. */
#include "text/model/pieces.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "text/unicode/utf8.h"

#define UNK_PENALTY 10.0f
#define SYMBOL_BONUS 0.1

static hec_status check_pieces(const char *file, const sp_model *sp)
{
	char name[QUOTE_TEXT];
	for (size_t i = 0; i < sp->n; i++) {
		const sp_piece *p = &sp->pieces[i];
		if (utf8_valid(p->text, p->bytes) != p->bytes)
			return fail(HEC_ERR_FORMAT, "%s: piece %zu, \"%s\", is not UTF-8", file, i,
			            quote_bytes(p->text, p->bytes, name));
	}
	return HEC_OK;
}

static hec_status fill_vocab(const char *file, const sp_model *sp, vocab *v)
{
	char name[QUOTE_TEXT];
	HEC_TRY(vocab_init(v, sp->n));
	for (size_t i = 0; i < sp->n; i++) {
		const sp_piece *p = &sp->pieces[i];
		if (vocab_find(v, p->text, p->bytes) != VOCAB_NONE)
			return fail(HEC_ERR_FORMAT, "%s: piece %zu, \"%s\", is there twice", file,
			            i, quote_bytes(p->text, p->bytes, name));
		HEC_TRY(vocab_add(v, p->text, p->bytes, (int64_t)i));
	}
	return HEC_OK;
}

/* Whether all bytes are there to fall back on. */
static hec_status check_fallback(const char *file, const sp_model *sp, const int32_t fallback[256])
{
	for (int i = 0; i < 256 && sp->byte_fallback; i++)
		if (fallback[i] == VOCAB_NONE)
			return fail(HEC_ERR_FORMAT,
			            "%s: falls back on bytes, but has no piece <0x%02X>", file,
			            (unsigned)i);
	return HEC_OK;
}

/* ---- Unigram ---- */

static bool is_findable(const sp_piece *p)
{
	return p->kind == SP_NORMAL || p->kind == SP_USER;
}

/* SentencePiece: a symbol that the user defined has a score of its own, better the longer it is. */
static void score_pieces(const sp_model *sp, unigram *u)
{
	float least = FLT_MAX, least_of_all = FLT_MAX;
	for (size_t i = 0; i < sp->n; i++) {
		const sp_piece *p = &sp->pieces[i];
		if (p->kind == SP_NORMAL && p->score < least)
			least = p->score;
		if (p->score < least_of_all)
			least_of_all = p->score;
		u->score[i] = u->exact && p->kind == SP_USER
		                      ? (float)(SYMBOL_BONUS * (double)(p->bytes - 1))
		                      : (double)p->score;
	}
	u->unk_score = u->exact ? least - UNK_PENALTY : (double)least_of_all - (double)UNK_PENALTY;
}

static hec_status make_unigram(const char *file, const sp_model *sp, model *m)
{
	unigram *u = &m->unigram;
	size_t bytes = 0;
	u->ids = sp->n;
	u->unk = sp->unk;
	u->byte_fallback = sp->byte_fallback;
	u->score = mem_zeros(sp->n, sizeof *u->score);
	if (!u->score)
		return fail(HEC_ERR_MEMORY, "%s: no memory for %zu scores", file, sp->n);
	score_pieces(sp, u);
	unigram_find_bytes(m);
	if (u->exact)
		HEC_TRY(check_fallback(file, sp, u->fallback));
	for (size_t i = 0; i < sp->n; i++)
		bytes += sp->pieces[i].bytes;
	HEC_TRY(byte_tree_init(&u->tree, bytes));
	for (size_t i = 0; i < sp->n; i++)
		if (!u->exact || is_findable(&sp->pieces[i]))
			byte_tree_add(&u->tree, sp->pieces[i].text, sp->pieces[i].bytes,
			              (int32_t)i);
	return HEC_OK;
}

/* ---- BPE ---- */

typedef struct merge {
	int32_t left, right, made;
	uint32_t rank;
} merge;

typedef struct merger {
	const sp_model *sp;
	bool exact;
	byte_tree forward, backward;
	int32_t *prefix; /* of the piece at hand: the piece that ends at each place, or −1 */
	char *reversed;
	struct placed {
		float score;
		uint32_t id;
	} * order; /* of the pieces: the best first */
	merge *merges;
	size_t n, capacity;
} merger;

static void merger_free(merger *g)
{
	byte_tree_free(&g->forward);
	byte_tree_free(&g->backward);
	mem_free(g->prefix);
	mem_free(g->reversed);
	mem_free(g->order);
	mem_free(g->merges);
}

static hec_status build_trees(merger *g)
{
	size_t bytes = 0, most = 0;
	for (size_t i = 0; i < g->sp->n; i++) {
		size_t n = g->sp->pieces[i].bytes;
		bytes += n;
		most = n > most ? n : most;
	}
	HEC_TRY(byte_tree_init(&g->forward, bytes));
	HEC_TRY(byte_tree_init(&g->backward, bytes));
	g->prefix = mem_zeros(most + 1, sizeof *g->prefix);
	g->reversed = mem_alloc(most + 1);
	if (!g->prefix || !g->reversed)
		return fail(HEC_ERR_MEMORY, "no memory for a piece of %zu bytes", most);
	for (size_t i = 0; i < g->sp->n; i++) {
		const sp_piece *p = &g->sp->pieces[i];
		for (size_t k = 0; k < p->bytes; k++)
			g->reversed[k] = p->text[p->bytes - 1 - k];
		byte_tree_add(&g->forward, p->text, p->bytes, (int32_t)i);
		byte_tree_add(&g->backward, g->reversed, p->bytes, (int32_t)i);
	}
	return HEC_OK;
}

static int compare_scores(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static hec_status order_pieces(merger *g)
{
	g->order = mem_zeros(g->sp->n, sizeof *g->order);
	if (!g->order)
		return fail(HEC_ERR_MEMORY, "no memory for the order of %zu pieces", g->sp->n);
	for (size_t i = 0; i < g->sp->n; i++)
		g->order[i] = (struct placed){g->exact ? g->sp->pieces[i].score : 0, (uint32_t)i};
	qsort(g->order, g->sp->n, sizeof *g->order, compare_scores);
	return HEC_OK;
}

/* Adds the ways to cut the piece, a shorter left part first. */
static hec_status cut_piece(merger *g, int32_t id)
{
	const sp_piece *p = &g->sp->pieces[id];
	uint32_t node = BYTE_TREE_ROOT;
	size_t first = g->n;
	for (size_t k = 0; k < p->bytes; k++) {
		node = byte_tree_step(&g->forward, node, (unsigned char)p->text[k]);
		g->prefix[k + 1] = g->forward.value[node];
	}
	node = BYTE_TREE_ROOT;
	for (size_t k = p->bytes; k-- > 1;) {
		node = byte_tree_step(&g->backward, node, (unsigned char)p->text[k]);
		int32_t right = g->backward.value[node], left = g->prefix[k];
		if (right < 0 || left < 0)
			continue;
		HEC_TRY(GROW(&g->merges, &g->capacity, g->n + 1));
		g->merges[g->n++] = (merge){left, right, id, 0};
	}
	for (size_t i = first, k = g->n; i < k; i++) {
		merge m = g->merges[i];
		g->merges[i] = g->merges[--k];
		g->merges[k] = m;
	}
	return HEC_OK;
}

static hec_status find_merges(const char *file, merger *g)
{
	uint32_t rank = 0;
	float score = 0;
	for (size_t i = 0; i < g->sp->n; i++) {
		const sp_piece *p = &g->sp->pieces[g->order[i].id];
		size_t first = g->n;
		if (g->exact && p->kind == SP_UNUSED && utf8_count(p->text, p->bytes) > 1)
			return fail(HEC_ERR_UNSUPPORTED,
			            "%s: piece %u of a BPE is marked as unused; such models are "
			            "not known here",
			            file, g->order[i].id);
		if (g->exact && !is_findable(p))
			continue;
		HEC_TRY(cut_piece(g, (int32_t)g->order[i].id));
		/* The same score, the same rank. */
		if (g->exact && g->n > first && first > 0 && p->score != score)
			rank++;
		for (size_t k = first; k < g->n; k++)
			g->merges[k].rank = g->exact ? rank : (uint32_t)k;
		if (g->n > first)
			score = p->score;
	}
	return g->n < UINT32_MAX ? HEC_OK : fail(HEC_ERR_FORMAT, "%s: %zu merges", file, g->n);
}

static hec_status make_bpe(const char *file, const sp_model *sp, bool unknown, bool exact, model *m)
{
	bpe *b = &m->bpe;
	merger g = {.sp = sp, .exact = exact};
	b->words = m->vocab;
	b->fuse_unk = true;
	b->byte_fallback = sp->byte_fallback;
	b->unk = unknown ? sp->unk : VOCAB_NONE;
	hec_status status = build_trees(&g);
	if (status == HEC_OK)
		status = order_pieces(&g);
	if (status == HEC_OK)
		status = find_merges(file, &g);
	if (status == HEC_OK)
		status = pairs_init(&b->merges, g.n);
	b->merge_count = g.n;
	for (size_t i = 0; i < g.n && status == HEC_OK; i++)
		pairs_set(&b->merges, g.merges[i].left, g.merges[i].right,
		          (pair_value){g.merges[i].rank, g.merges[i].made});
	merger_free(&g);
	HEC_TRY(status);
	HEC_TRY(bpe_finish(b));
	return exact ? check_fallback(file, sp, b->fallback) : HEC_OK;
}

hec_status model_from_pieces(const char *file, const sp_model *sp, const pieces_options *o,
                             uint64_t serial, vocab *v, model *m)
{
	m->vocab = v;
	m->serial = serial;
	m->kind = sp->type == SP_BPE ? &model_bpe : &model_unigram;
	m->unigram.map = o->ids;
	m->unigram.exact = o->exact;
	HEC_TRY(check_pieces(file, sp));
	if (!o->ids)
		HEC_TRY(fill_vocab(file, sp, v));
	if (sp->type == SP_UNIGRAM)
		return make_unigram(file, sp, m);
	if (o->ids) {
		mem_free(o->ids);
		m->unigram.map = NULL;
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s: a BPE whose ids are those of another vocabulary is not supported",
		            file);
	}
	return make_bpe(file, sp, o->unknown, o->exact, m);
}
