/* wordpiece.c — the models WordPiece (the longest piece that fits, from left to right) and WordLevel
 * (whole words); and the decoders WordPiece and BPEDecoder. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/model/model.h"
#include "text/tokenizer/stage.h"
#include "text/unicode/utf8.h"

/* ---- WordPiece ---- */

/* Looking pieces up from the longest down costs the square of the longest at each place: beyond so
 * many bytes a tree is walked instead. Words (and tokens) of a language stay far below. */
#define LONG 256

static hec_status copy_text(const json_scope *s, const char *key, const char *usual, char **out)
{
	const char *text = usual;
	HEC_TRY(json_want_string(s, key, &text));
	*out = mem_alloc(strlen(text) + 1);
	if (!*out)
		return fail(HEC_ERR_MEMORY, "%s: no memory for '%s%s'", s->file, s->path, key);
	strcpy(*out, text);
	return HEC_OK;
}

/* The id of the unknown token; words that are not known need it. */
static hec_status load_unk(const json_scope *s, const vocab *v, const char *usual, int32_t *id)
{
	const char *text = usual;
	HEC_TRY(json_want_string(s, "unk_token", &text));
	*id = vocab_find(v, text, strlen(text));
	return HEC_OK;
}

static hec_status fill_tree(const vocab *v, size_t most, size_t bytes, byte_tree *tree)
{
	HEC_TRY(byte_tree_init(tree, bytes));
	for (size_t i = 0; i < v->n; i++) {
		const struct vocab_entry *e = &v->entries[i];
		if (e->size > 0 && e->size <= most)
			byte_tree_add(tree, v->text + e->at, e->size, e->id);
	}
	return HEC_OK;
}

static hec_status load_wordpiece(const json_scope *s, model *m)
{
	wordpiece *w = &m->wordpiece;
	w->most_chars = 100;
	HEC_TRY(model_load_vocab(s, m->vocab));
	HEC_TRY(load_unk(s, m->vocab, "[UNK]", &w->unk));
	HEC_TRY(json_want_int(s, "max_input_chars_per_word", 0, 4096, &w->most_chars));
	HEC_TRY(copy_text(s, "continuing_subword_prefix", "##", &w->prefix));
	w->prefix_bytes = strlen(w->prefix);
	/* Longer ones than a word can be are never found. */
	size_t most = w->prefix_bytes + UTF8_MOST * (size_t)w->most_chars, bytes = 0;
	for (size_t i = 0; i < m->vocab->n; i++) {
		size_t n = m->vocab->entries[i].size;
		bytes += n <= most ? n : 0;
		if (n <= most && n > w->longest)
			w->longest = n;
	}
	return w->longest > LONG ? fill_tree(m->vocab, most, bytes, &w->tree) : HEC_OK;
}

static hec_status add_unknown(const wordpiece *w, size_t begin, size_t end, tokens *out)
{
	if (w->unk == VOCAB_NONE)
		return fail(HEC_ERR_FORMAT, "tokenizer.json: a word is not in the vocabulary, nor "
		                            "is the unknown token");
	return tokens_add(out, w->unk, begin, end);
}

/* The same as longest_piece, by the tree. */
static size_t longest_in_tree(const wordpiece *w, const char *text, size_t at, size_t lead,
                              size_t end, int32_t *id)
{
	uint32_t node = BYTE_TREE_ROOT;
	size_t stop = 0;
	for (size_t i = 0; i < lead; i++)
		if (!(node = byte_tree_step(&w->tree, node, (unsigned char)w->prefix[i])))
			return 0;
	while (at < end && (node = byte_tree_step(&w->tree, node, (unsigned char)text[at]))) {
		at++;
		if (w->tree.value[node] >= 0) {
			*id = w->tree.value[node];
			stop = at;
		}
	}
	return stop;
}

/* The longest piece at `at`; its end, or 0. name: memory for the prefix and a word. */
static size_t longest_piece(const model *m, const char *text, size_t begin, size_t at, size_t end,
                            char *name, int32_t *id)
{
	const wordpiece *w = &m->wordpiece;
	size_t lead = at > begin ? w->prefix_bytes : 0;
	if (w->tree.nodes > 0)
		return longest_in_tree(w, text, at, lead, end, id);
	if (end - at + lead > w->longest) {
		end = at + (w->longest > lead ? w->longest - lead : 0);
		while (end > at && utf8_continues(text[end]))
			end--;
	}
	memcpy(name, w->prefix, lead);
	memcpy(name + lead, text + at, end - at);
	for (; end > at; end = utf8_before(text, end)) {
		*id = vocab_find(m->vocab, name, lead + end - at);
		if (*id != VOCAB_NONE)
			return end;
	}
	return 0;
}

static hec_status encode_wordpiece(const model *m, const char *text, size_t begin, size_t end,
                                   model_work *work, tokens *out)
{
	const wordpiece *w = &m->wordpiece;
	if (utf8_count(text + begin, end - begin) > (size_t)w->most_chars)
		return add_unknown(w, begin, end, out);
	HEC_TRY(GROW(&work->name, &work->name_capacity, w->prefix_bytes + end - begin));
	size_t first = out->n;
	for (size_t at = begin, stop; at < end; at = stop) {
		int32_t id;
		stop = longest_piece(m, text, begin, at, end, work->name, &id);
		if (stop == 0) {
			out->n = first;
			return add_unknown(w, begin, end, out);
		}
		HEC_TRY(tokens_add(out, id, at, stop));
	}
	return HEC_OK;
}

static void free_wordpiece(model *m)
{
	mem_free(m->wordpiece.prefix);
	byte_tree_free(&m->wordpiece.tree);
}

const model_kind model_wordpiece = {"WordPiece", load_wordpiece, encode_wordpiece, free_wordpiece};

/* ---- WordLevel ---- */

static hec_status load_word_level(const json_scope *s, model *m)
{
	HEC_TRY(model_load_vocab(s, m->vocab));
	return load_unk(s, m->vocab, "<unk>", &m->wordpiece.unk);
}

static hec_status encode_word_level(const model *m, const char *text, size_t begin, size_t end,
                                    model_work *work, tokens *out)
{
	(void)work;
	int32_t id = vocab_find(m->vocab, text + begin, end - begin);
	return id != VOCAB_NONE ? tokens_add(out, id, begin, end)
	                        : add_unknown(&m->wordpiece, begin, end, out);
}

const model_kind model_word_level = {"WordLevel", load_word_level, encode_word_level,
                                     free_wordpiece};

/* ---- decoders ---- */

typedef struct affix {
	char *text;
	size_t bytes;
	bool cleanup;
} affix;

static void free_affix(void *state)
{
	if (state)
		mem_free(((affix *)state)->text);
	mem_free(state);
}

static hec_status load_affix(const json_scope *s, const char *key, const char *usual, void **state)
{
	HEC_TRY(stage_state(sizeof(affix), state));
	affix *a = *state;
	a->cleanup = true;
	HEC_TRY(copy_text(s, key, usual, &a->text));
	a->bytes = strlen(a->text);
	return json_want_bool(s, "cleanup", &a->cleanup);
}

static hec_status load_prefix(const json_scope *s, void **state)
{
	return load_affix(s, "prefix", "##", state);
}

static hec_status load_suffix(const json_scope *s, void **state)
{
	return load_affix(s, "suffix", "</w>", state);
}

/* Spaces before marks that English writes without: one rule after the other, in each token. */
static size_t clean_up(char *text, size_t n)
{
	static const char *const rules[][2] = {
		{" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
		{" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
		{" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
	};
	for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
		size_t from = strlen(rules[r][0]), to = strlen(rules[r][1]), out = 0;
		for (size_t i = 0; i < n;) {
			if (n - i >= from && memcmp(text + i, rules[r][0], from) == 0) {
				memcpy(text + out, rules[r][1], to);
				out += to;
				i += from;
			} else {
				text[out++] = text[i++];
			}
		}
		n = out;
	}
	return n;
}

static hec_status join_pieces(const void *state, strings *s)
{
	const affix *a = state;
	strings_start(s);
	for (size_t i = 0; i < s->now.n; i++) {
		size_t begin = string_begin(&s->now, i), n = s->now.end[i] - begin;
		size_t first = s->next.used;
		const char *token = s->now.bytes + begin;
		bool continues = i > 0 && n >= a->bytes && memcmp(token, a->text, a->bytes) == 0;
		if (i > 0 && !continues)
			HEC_TRY(string_put(&s->next, " ", 1));
		HEC_TRY(string_put(&s->next, token + (continues ? a->bytes : 0),
		                   n - (continues ? a->bytes : 0)));
		if (a->cleanup)
			s->next.used =
				first + clean_up(s->next.bytes + first, s->next.used - first);
		HEC_TRY(string_close(&s->next));
	}
	strings_swap(s);
	return HEC_OK;
}

const stage_kind wordpiece_decoder = {"WordPiece", load_prefix, NULL, join_pieces, free_affix};

/* The suffix is a space, but not at the end. An empty one is between all characters, and around them. */
static hec_status end_words(const void *state, strings *s)
{
	const affix *a = state;
	strings_start(s);
	for (size_t i = 0; i < s->now.n; i++) {
		size_t at = string_begin(&s->now, i), end = s->now.end[i];
		bool apart = a->bytes == 0 && i + 1 < s->now.n;
		while (at < end) {
			if (apart && !utf8_continues(s->now.bytes[at]))
				HEC_TRY(string_put(&s->next, " ", 1));
			bool ends = a->bytes && end - at >= a->bytes &&
			            memcmp(s->now.bytes + at, a->text, a->bytes) == 0;
			if (!ends)
				HEC_TRY(string_put(&s->next, s->now.bytes + at, 1));
			else if (i + 1 < s->now.n)
				HEC_TRY(string_put(&s->next, " ", 1));
			at += ends ? a->bytes : 1;
		}
		HEC_TRY(string_put(&s->next, " ", apart));
		HEC_TRY(string_close(&s->next));
	}
	strings_swap(s);
	return HEC_OK;
}

const stage_kind bpe_decoder = {"BPEDecoder", load_suffix, NULL, end_words, free_affix};
