/* spm_normalizer.c — SentencePiece's own normalizer. It differs from what tokenizer.json can say: its
 * table is searched for the longest match, not by whole groups of characters; symbols that the user
 * defined are found before the table is asked, and are kept as they are; spaces at the ends go and
 * those between become one.
 *
 * Where text came from is SentencePiece's too: what is dropped counts to what stands before it. So each
 * thing that comes out waits until it is known where the next one began. */
#include "text/normalize/spm_normalizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/pattern/byte_tree.h"
#include "text/normalize/charsmap.h"
#include "text/unicode/utf8.h"

#define MARK "\xe2\x96\x81" /* ▁ */
#define MARK_BYTES 3
#define SYMBOL_MOST 1024 /* bytes: each is looked for at every place */

typedef struct spm_state {
	charsmap map; /* without bytes: none */
	byte_tree symbols;
	bool cut; /* symbols become tokens here: BPE never joins them with anything */
	bool prefix, suffix, squeeze, escape;
} spm_state;

static void free_spm(void *state)
{
	spm_state *s = state;
	if (s) {
		charsmap_free(&s->map);
		byte_tree_free(&s->symbols);
	}
	mem_free(s);
}

static hec_status add_symbols(const sp_model *m, const int32_t *ids, spm_state *s)
{
	size_t bytes = 0;
	for (size_t i = 0; i < m->n; i++) {
		if (m->pieces[i].kind != SP_USER)
			continue;
		bytes += m->pieces[i].bytes;
		if (m->pieces[i].bytes > SYMBOL_MOST)
			return fail(HEC_ERR_FORMAT,
			            "piece %zu is a symbol of %u bytes; at most %d are taken", i,
			            m->pieces[i].bytes, SYMBOL_MOST);
	}
	HEC_TRY(byte_tree_init(&s->symbols, bytes));
	for (size_t i = 0; i < m->n; i++)
		if (m->pieces[i].kind == SP_USER)
			byte_tree_add(&s->symbols, m->pieces[i].text, m->pieces[i].bytes,
			              ids ? ids[i] : (int32_t)i);
	return HEC_OK;
}

hec_status spm_normalizer_make(const char *file, const sp_model *m, const int32_t *ids,
                               void **state)
{
	HEC_TRY(stage_state(sizeof(spm_state), state));
	spm_state *s = *state;
	s->prefix = m->dummy_prefix && !m->space_is_suffix;
	s->suffix = m->dummy_prefix && m->space_is_suffix;
	s->squeeze = m->remove_extra_spaces;
	s->escape = m->escape_spaces;
	s->cut = m->type == SP_BPE;
	if (m->charsmap) {
		hec_status status = charsmap_copy("its table of replacements", m->charsmap,
		                                  m->charsmap_bytes, &s->map);
		if (status != HEC_OK)
			return fail_in(status, "%s", file);
	}
	return add_symbols(m, ids, s);
}

/* ---- one step ---- */

/* The longest symbol at a place; 0: none. */
static size_t symbol_at(const spm_state *s, const char *text, size_t at, size_t end, int32_t *id)
{
	size_t found = 0;
	uint32_t node = BYTE_TREE_ROOT;
	if (!s->symbols.begins[(unsigned char)text[at]])
		return 0;
	for (size_t i = at; i < end; i++) {
		node = byte_tree_step(&s->symbols, node, (unsigned char)text[i]);
		if (!node)
			break;
		if (s->symbols.value[node] >= 0) {
			found = i + 1 - at;
			*id = s->symbols.value[node];
		}
	}
	return found;
}

typedef struct step {
	const char *text; /* what comes out, */
	size_t bytes;
	size_t taken; /* of so many bytes */
} step;

static step next_step(const spm_state *s, const char *text, size_t at, size_t end)
{
	int32_t id;
	size_t n = symbol_at(s, text, at, end, &id);
	if (n > 0)
		return (step){text + at, n, n};
	step found;
	if (s->map.bytes && (found.text = charsmap_find(&s->map, CHARSMAP_LONGEST, text + at,
	                                                end - at, &found.bytes, &found.taken)))
		return found;
	n = utf8_length(text[at]);
	return (step){text + at, n, n};
}

/* ---- all of it ---- */

/* What comes out, and where it came from: written once the next thing is known. */
typedef struct writer {
	flow *f;
	size_t limit; /* bytes to write; what comes behind is dropped */
	size_t made;  /* bytes so far */
	size_t solid; /* up to the last that is no space */
	bool dry;     /* only counts */
	bool begun;   /* there was more than spaces */
	uint32_t cut; /* where what was dropped at the end began */
	const char *text;
	size_t bytes, begin;
	bool waiting;
} writer;

static uint32_t origin_of(const flow *f, size_t at)
{
	if (!f->from)
		return (uint32_t)at;
	return at < f->bytes ? f->from[at].begin : f->from[f->bytes - 1].end;
}

static hec_status put_bytes(writer *w, const char *bytes, size_t n, origin o)
{
	bool space = (n == MARK_BYTES && memcmp(bytes, MARK, n) == 0) || (n == 1 && *bytes == ' ');
	w->made += n;
	if (!space)
		w->solid = w->made;
	if (w->dry)
		return HEC_OK;
	if (w->made > w->limit) {
		w->cut = o.begin < w->cut ? o.begin : w->cut;
		return HEC_OK;
	}
	return flow_put(w->f, bytes, n, o);
}

/* next: where what follows began. */
static hec_status put_held_spaces(writer *w, size_t next, bool escape)
{
	if (!w->waiting)
		return HEC_OK;
	w->waiting = false;
	origin o = {origin_of(w->f, w->begin), origin_of(w->f, next)};
	for (size_t i = 0, n; i < w->bytes; i += n) {
		n = utf8_length(w->text[i]);
		HEC_TRY(escape && w->text[i] == ' ' ? put_bytes(w, MARK, MARK_BYTES, o)
		                                    : put_bytes(w, w->text + i, n, o));
	}
	return HEC_OK;
}

static hec_status put_normalized(writer *w, const char *text, size_t bytes, size_t begin,
                                 bool escape)
{
	HEC_TRY(put_held_spaces(w, begin, escape));
	w->text = text;
	w->bytes = bytes;
	w->begin = begin;
	w->waiting = true;
	return HEC_OK;
}

/* Everything but what the limit cuts off. */
static hec_status normalize_piece(const spm_state *s, writer *w, piece p)
{
	const char *text = w->f->text;
	size_t at = p.begin;
	bool after_space = s->squeeze;
	while (s->squeeze && at < p.end) {
		step first = next_step(s, text, at, p.end);
		if (first.bytes != 1 || *first.text != ' ')
			break;
		at += first.taken;
	}
	if (at == p.end)
		return HEC_OK;
	w->begun = true;
	if (s->prefix)
		HEC_TRY(put_normalized(w, " ", 1, at, s->escape));
	while (at < p.end) {
		step one = next_step(s, text, at, p.end);
		while (after_space && one.bytes > 0 && *one.text == ' ') {
			one.text++;
			one.bytes--;
		}
		if (one.bytes > 0) {
			HEC_TRY(put_normalized(w, one.text, one.bytes, at, s->escape));
			after_space = one.text[one.bytes - 1] == ' ';
		}
		at += one.taken;
		after_space = after_space && s->squeeze;
	}
	return put_held_spaces(w, p.end, s->escape);
}

/* How much is left without the spaces at the end is known only there: so it goes through twice. */
static hec_status write_normal(const void *state, flow *f, piece p)
{
	const spm_state *s = state;
	writer w = {.f = f, .limit = SIZE_MAX, .cut = origin_of(f, p.end)};
	if (s->squeeze) {
		writer counter = {.f = f, .limit = SIZE_MAX, .dry = true};
		HEC_TRY(normalize_piece(s, &counter, p));
		w.limit = counter.solid;
	}
	HEC_TRY(normalize_piece(s, &w, p));
	if (!s->suffix || !w.begun)
		return HEC_OK;
	origin o = {w.cut, w.cut};
	return s->escape ? flow_put(f, MARK, MARK_BYTES, o) : flow_put(f, " ", 1, o);
}

static hec_status cut_symbols(const void *state, flow *f, piece p)
{
	const spm_state *s = state;
	size_t done = p.begin;
	for (size_t at = p.begin; at < p.end;) {
		int32_t id;
		size_t n = symbol_at(s, f->text, at, p.end, &id);
		if (n == 0) {
			at += utf8_length(f->text[at]);
			continue;
		}
		HEC_TRY(flow_add(f, done, at, -1));
		HEC_TRY(flow_add(f, at, at + n, id));
		at += n;
		done = at;
	}
	return flow_add(f, done, p.end, -1);
}

static hec_status run_spm(const void *state, flow *f)
{
	const spm_state *s = state;
	HEC_TRY(flow_write(f, write_normal, s));
	return s->cut && s->symbols.nodes > 1 ? flow_cut(f, cut_symbols, s) : HEC_OK;
}

const stage_kind spm_normalizer = {"SentencePiece", NULL, run_spm, NULL, free_spm};
