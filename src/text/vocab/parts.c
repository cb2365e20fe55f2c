/* parts.c — reading the files of each family into the parts that its tokenizer.json would have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/unicode/classes.h"
#include "text/unicode/utf8.h"
#include "text/vocab/family.h"

#define TEXT_MOST ((size_t)64 << 20) /* bytes of vocab.txt, vocab.json, merges.txt */
#define EXTRA_MOST 10000
#define LINES_MOST ((size_t)1 << 22) /* of vocab.txt, merges.txt: as values they take more memory */
#define MARK "\xe2\x96\x81"          /* ▁ */

static json_scope config_of(const vocab_files *v)
{
	return (json_scope){.file = "tokenizer_config.json", .object = v->config};
}

static hec_status check_text(const vocab_file *f)
{
	size_t good = utf8_valid(f->data, f->bytes);
	if (good != f->bytes)
		return fail(HEC_ERR_FORMAT, "%s: byte %zu is not UTF-8", f->name, good);
	const char *zero = memchr(f->data, 0, f->bytes);
	if (zero)
		return fail(HEC_ERR_FORMAT, "%s: byte %zu is zero", f->name,
		            (size_t)(zero - f->data));
	size_t lines = 0;
	for (size_t i = 0; i < f->bytes; i++)
		lines += f->data[i] == '\n';
	return lines <= LINES_MOST
	               ? HEC_OK
	               : fail(HEC_ERR_FORMAT, "%s: has %zu lines; at most %zu are taken", f->name,
	                      lines, LINES_MOST);
}

/* The next line without its end; false: there is none. */
static bool next_line(const vocab_file *f, size_t *at, const char **line, size_t *bytes)
{
	if (*at >= f->bytes)
		return false;
	const char *end = memchr(f->data + *at, '\n', f->bytes - *at);
	size_t stop = end ? (size_t)(end - f->data) : f->bytes;
	*line = f->data + *at;
	*bytes = stop - *at;
	*at = stop + 1;
	return true;
}

/* ---- vocab.txt ---- */

static size_t without_spaces_behind(const char *text, size_t n)
{
	while (n > 0) {
		size_t length, before = utf8_before(text, n);
		if (!(class_of(utf8_get(text + before, &length)) & CLASS_SPACE))
			break;
		n = before;
	}
	return n;
}

/* A token a line; its id is the number of the line. */
static hec_status read_lines(const vocab_file *f, json_t *words)
{
	const char *line;
	size_t n, at = 0;
	HEC_TRY(check_text(f));
	for (json_int_t id = 0; next_line(f, &at, &line, &n); id++) {
		n = without_spaces_behind(line, n);
		if (json_object_setn_new(words, line, n, json_integer(id)) != 0)
			return fail(HEC_ERR_MEMORY, "%s: no memory for its words", f->name);
	}
	return HEC_OK;
}

hec_status vocab_load_bert(vocab_files *v, const char *chosen)
{
	const vocab_file *f;
	json_scope config = config_of(v);
	bool lower = true, chinese = true;
	const json_t *accents = json_object_get(v->config, "strip_accents");
	const json_t *unk = json_object_get(v->roles, "unk_token");
	HEC_TRY(json_want_bool(&config, "do_lower_case", &lower));
	HEC_TRY(json_want_bool(&config, "tokenize_chinese_chars", &chinese));
	HEC_TRY(vocab_file_need(v, chosen && strstr(chosen, ".txt") ? chosen : "vocab.txt",
	                        TEXT_MOST, &f));
	if (json_is_object(unk))
		unk = json_object_get(unk, "content");
	json_t *words = json_object();
	HEC_TRY(json_put(v->root, "model",
	                 json_pack("{s:s, s:O, s:s, s:i, s:o}", "type", "WordPiece", "unk_token",
	                           unk ? unk : json_null(), "continuing_subword_prefix", "##",
	                           "max_input_chars_per_word", 100, "vocab", words)));
	HEC_TRY(read_lines(f, words));
	HEC_TRY(json_put(
		v->root, "normalizer",
		json_pack("{s:s, s:b, s:b, s:O, s:b}", "type", "BertNormalizer", "clean_text", 1,
	                  "handle_chinese_chars", chinese, "strip_accents",
	                  json_is_boolean(accents) ? accents : json_null(), "lowercase", lower)));
	HEC_TRY(json_put(v->root, "pre_tokenizer", json_pack("{s:s}", "type", "BertPreTokenizer")));
	return json_put(
		v->root, "decoder",
		json_pack("{s:s, s:s, s:b}", "type", "WordPiece", "prefix", "##", "cleanup", 1));
}

/* ---- vocab.json and merges.txt ---- */

static hec_status read_merges(vocab_files *v, json_t *merges)
{
	const vocab_file *f;
	const char *line;
	size_t n, at = 0;
	HEC_TRY(vocab_file_need(v, "merges.txt", TEXT_MOST, &f));
	HEC_TRY(check_text(f));
	while (next_line(f, &at, &line, &n)) {
		if (n > 0 && line[n - 1] == '\r')
			n--;
		if (n == 0 || (n >= 8 && memcmp(line, "#version", 8) == 0))
			continue;
		if (json_array_append_new(merges, json_stringn(line, n)) != 0)
			return fail(HEC_ERR_MEMORY, "merges.txt: no memory for its lines");
	}
	return HEC_OK;
}

static hec_status read_words(vocab_files *v, json_t **out)
{
	const vocab_file *f;
	HEC_TRY(vocab_file_need(v, "vocab.json", TEXT_MOST, &f));
	return json_object_read("vocab.json", f->data, f->bytes, TEXT_MOST, out);
}

static hec_status load_bytes(vocab_files *v, bool with_pattern)
{
	json_scope config = config_of(v);
	bool space = false;
	json_t *words = NULL, *model;
	HEC_TRY(json_want_bool(&config, "add_prefix_space", &space));
	HEC_TRY(read_words(v, &words));
	model = json_pack("{s:s, s:o, s:[]}", "type", "BPE", "vocab", words, "merges");
	HEC_TRY(json_put(v->root, "model", model));
	HEC_TRY(read_merges(v, json_object_get(model, "merges")));
	HEC_TRY(json_put(v->root, "pre_tokenizer",
	                 json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space",
	                           space, "trim_offsets", 1, "use_regex", with_pattern)));
	return json_put(v->root, "decoder", json_pack("{s:s}", "type", "ByteLevel"));
}

hec_status vocab_load_gpt2(vocab_files *v, const char *chosen)
{
	(void)chosen;
	return load_bytes(v, true);
}

hec_status vocab_load_roberta(vocab_files *v, const char *chosen)
{
	(void)chosen;
	json_scope config = config_of(v);
	bool trim = true, space = false;
	HEC_TRY(json_want_bool(&config, "trim_offsets", &trim));
	HEC_TRY(json_want_bool(&config, "add_prefix_space", &space));
	HEC_TRY(json_put(v->root, "post_processor",
	                 json_pack("{s:s, s:b, s:b}", "type", "RobertaProcessing", "trim_offsets",
	                           trim, "add_prefix_space", space)));
	return load_bytes(v, true);
}

hec_status vocab_load_qwen2(vocab_files *v, const char *chosen)
{
	static const char pattern[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
				      "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
				      "\\s+(?!\\S)|\\s+";
	(void)chosen;
	HEC_TRY(load_bytes(v, false));
	json_t *bytes = json_incref(json_object_get(v->root, "pre_tokenizer"));
	HEC_TRY(json_put(v->root, "pre_tokenizer",
	                 json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, o]}", "type", "Sequence",
	                           "pretokenizers", "type", "Split", "pattern", "Regex", pattern,
	                           "behavior", "Isolated", "invert", 0, bytes)));
	return json_put(v->root, "normalizer", json_pack("{s:s}", "type", "NFC"));
}

/* ---- SentencePiece ---- */

static hec_status read_pieces(vocab_files *v, const char *chosen)
{
	static const char *const names[] = {"spiece.model", "sentencepiece.bpe.model",
	                                    "tokenizer.model", "sentencepiece.model", "spm.model"};
	const vocab_file *f;
	const char *name = chosen;
	for (size_t i = 0; !name && i < sizeof names / sizeof *names; i++)
		if (vocab_file_is_there(v, names[i]))
			name = names[i];
	HEC_TRY(vocab_file_need(v, name ? name : "tokenizer.model", SENTENCEPIECE_MOST, &f));
	v->piece_file = f->name;
	return sentencepiece_read(f->name, f->data, f->bytes, &v->pieces);
}

/* ▁ to spaces, bytes to text, and at the start so many spaces at most. */
static hec_status put_spaces_decoder(vocab_files *v, int strip)
{
	json_t *list =
		json_pack("[{s:s, s:{s:s}, s:s}, {s:s}, {s:s}]", "type", "Replace", "pattern",
	                  "String", MARK, "content", " ", "type", "ByteFallback", "type", "Fuse");
	if (strip && list &&
	    json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip",
	                                          "content", " ", "start", strip, "stop", 0)) !=
	            0) {
		json_decref(list);
		list = NULL;
	}
	return json_put(v->root, "decoder",
	                json_pack("{s:s, s:o}", "type", "Sequence", "decoders", list));
}

static json_t *replace_one(const char *from, size_t from_bytes, const char *to, size_t to_bytes)
{
	return json_pack("{s:s, s:{s:s%}, s:s%}", "type", "Replace", "pattern", "String", from,
	                 from_bytes, "content", to, to_bytes);
}

/* The unknown reads as the model says. Its spaces are no text's, so they come behind all else: until then
 * it is what no text has. */
static hec_status put_unknown_decoder(vocab_files *v)
{
	static const char place[] = "\xef\xb7\x90unk\xef\xb7\x91"; /* U+FDD0, U+FDD1 */
	const sp_piece *unk = &v->pieces.pieces[v->pieces.unk];
	const char *surface = v->pieces.unk_surface;
	const size_t bytes = v->pieces.unk_surface_bytes;
	if (utf8_valid(surface, bytes) != bytes || memchr(surface, 0, bytes))
		return fail(HEC_ERR_FORMAT, "%s: the text of the unknown is no UTF-8",
		            v->piece_file);
	if (unk->bytes == 0 || utf8_valid(unk->text, unk->bytes) != unk->bytes)
		return HEC_OK;
	json_t *list = json_object_get(json_object_get(v->root, "decoder"), "decoders");
	if (json_array_insert_new(list, 0,
	                          replace_one(unk->text, unk->bytes, place, strlen(place))) != 0 ||
	    json_array_append_new(list, replace_one(place, strlen(place), surface, bytes)) != 0)
		return fail(HEC_ERR_MEMORY, "%s: no memory for a decoder", v->piece_file);
	return HEC_OK;
}

hec_status vocab_load_plain(vocab_files *v, const char *chosen)
{
	HEC_TRY(read_pieces(v, chosen));
	HEC_TRY(put_spaces_decoder(v, v->pieces.remove_extra_spaces ? INT32_MAX
	                              : v->pieces.dummy_prefix      ? 1
	                                                            : 0));
	return put_unknown_decoder(v);
}

/* A word for each space, "▁" before it. */
static hec_status put_metaspace(vocab_files *v, const char *scheme)
{
	json_t *mark = json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", MARK,
	                         "prepend_scheme", scheme, "split", 1);
	HEC_TRY(json_put(v->root, "decoder", mark));
	return json_put(v->root, "pre_tokenizer",
	                json_pack("{s:s, s:[{s:s}, O]}", "type", "Sequence", "pretokenizers",
	                          "type", "WhitespaceSplit", mark));
}

/* More pieces in front and behind. */
static hec_status add_pieces_around(sp_model *m, size_t drop, const char *const *before,
                                    size_t n_before, const char *(*name)(const void *, size_t),
                                    const void *names, size_t n_behind)
{
	size_t kept = m->n > drop ? m->n - drop : 0, n = n_before + kept + n_behind;
	sp_piece *pieces = mem_zeros(n, sizeof *pieces);
	if (!pieces)
		return fail(HEC_ERR_MEMORY, "no memory for %zu pieces", n);
	for (size_t i = 0; i < n_before; i++)
		pieces[i] = (sp_piece){before[i], (uint32_t)strlen(before[i]), 0, SP_NORMAL};
	if (kept)
		memcpy(pieces + n_before, m->pieces + drop, kept * sizeof *pieces);
	for (size_t i = 0; i < n_behind; i++) {
		const char *text = name(names, i);
		pieces[n_before + kept + i] =
			(sp_piece){text, (uint32_t)strlen(text), 0, SP_NORMAL};
	}
	mem_free(m->pieces);
	m->pieces = pieces;
	m->n = n;
	return HEC_OK;
}

static const char *extra_name(const void *names, size_t i)
{
	return ((const char(*)[24])names)[i];
}

static hec_status need_unigram(const vocab_files *v)
{
	return v->pieces.type == SP_UNIGRAM
	               ? HEC_OK
	               : fail(HEC_ERR_UNSUPPORTED, "%s: a BPE; a %s has a unigram model",
	                      v->piece_file, v->family->name);
}

hec_status vocab_load_t5(vocab_files *v, const char *chosen)
{
	json_scope config = config_of(v);
	int64_t n = 100;
	HEC_TRY(read_pieces(v, chosen));
	HEC_TRY(need_unigram(v));
	HEC_TRY(json_want_int(&config, "extra_ids", 0, EXTRA_MOST, &n));
	v->extra = mem_zeros((size_t)n + 1, sizeof *v->extra);
	if (!v->extra)
		return fail(HEC_ERR_MEMORY, "no memory for %lld extra ids", (long long)n);
	for (int64_t i = 0; i < n; i++)
		snprintf(v->extra[i], sizeof *v->extra, "<extra_id_%d>", (int)(n - 1 - i));
	HEC_TRY(add_pieces_around(&v->pieces, 0, NULL, 0, extra_name, v->extra, (size_t)n));
	if (v->pieces.n < 3)
		return fail(HEC_ERR_FORMAT, "%s: of its %zu pieces none is number 2, the unknown",
		            v->piece_file, v->pieces.n);
	v->pieces.byte_fallback = false;
	v->pieces.unk = 2;
	return put_metaspace(v, "always");
}

static const char *mask_name(const void *names, size_t i)
{
	(void)i;
	return names;
}

hec_status vocab_load_xlm_roberta(vocab_files *v, const char *chosen)
{
	static const char *const keys[] = {"bos_token", "pad_token", "eos_token", "unk_token",
	                                   "mask_token"};
	const char *names[5];
	json_scope config = config_of(v);
	bool space = true;
	HEC_TRY(json_want_bool(&config, "add_prefix_space", &space));
	HEC_TRY(read_pieces(v, chosen));
	HEC_TRY(need_unigram(v));
	for (int i = 0; i < 5; i++) {
		const json_t *token = json_object_get(v->roles, keys[i]);
		if (json_is_object(token))
			token = json_object_get(token, "content");
		names[i] = json_string_value(token);
		if (!names[i] || !*names[i])
			return fail(HEC_ERR_FORMAT, "tokenizer_config.json: '%s' is no token",
			            keys[i]);
	}
	HEC_TRY(add_pieces_around(&v->pieces, 3, names, 4, mask_name, names[4], 1));
	v->pieces.byte_fallback = false;
	v->pieces.unk = 3;
	return put_metaspace(v, space ? "always" : "never");
}

hec_status vocab_load_llama(vocab_files *v, const char *chosen)
{
	json_scope config = config_of(v);
	bool legacy = false, space = true;
	HEC_TRY(json_want_bool(&config, "legacy", &legacy));
	HEC_TRY(json_want_bool(&config, "add_prefix_space", &space));
	HEC_TRY(read_pieces(v, chosen));
	if (v->pieces.type != SP_BPE)
		return fail(HEC_ERR_UNSUPPORTED, "%s: a unigram model; a %s has a BPE",
		            v->piece_file, v->family->name);
	v->pieces.byte_fallback = true;
	v->pieces.charsmap = NULL;
	HEC_TRY(json_put(v->root, "pre_tokenizer",
	                 json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", MARK,
	                           "prepend_scheme",
	                           !space   ? "never"
	                           : legacy ? "always"
	                                    : "first",
	                           "split", 0)));
	return put_spaces_decoder(v, space);
}

hec_status vocab_load_marian(vocab_files *v, const char *chosen)
{
	json_scope config = config_of(v);
	bool separate = false;
	const vocab_file *other;
	HEC_TRY(json_want_bool(&config, "separate_vocabs", &separate));
	if (separate)
		return fail(HEC_ERR_UNSUPPORTED,
		            "tokenizer_config.json: 'separate_vocabs': one vocabulary for both "
		            "languages is needed");
	HEC_TRY(read_pieces(v, chosen && strstr(chosen, ".spm") ? chosen : "source.spm"));
	HEC_TRY(read_words(v, &v->ids));
	HEC_TRY(vocab_file_want(v, "source.spm", SENTENCEPIECE_MOST, &other));
	HEC_TRY(vocab_file_want(v, "target.spm", SENTENCEPIECE_MOST, &other));
	return put_spaces_decoder(v, INT32_MAX);
}
