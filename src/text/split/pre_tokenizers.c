/* pre_tokenizers.c — those that cut where characters of a kind are, or where a pattern matches. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/unicode/classes.h"
#include "text/pattern/pattern.h"
#include "text/split/split.h"
#include "text/tokenizer/stage.h"
#include "text/unicode/utf8.h"

/* ---- Split ---- */

typedef struct split_state {
	pattern pattern;
	split_behavior behavior;
	bool invert;
} split_state;

static hec_status load_split(const json_scope *s, void **state)
{
	HEC_TRY(stage_state(sizeof(split_state), state));
	split_state *p = *state;
	HEC_TRY(pattern_load(s, "pattern", &p->pattern));
	HEC_TRY(split_load_behavior(s, &p->behavior));
	return json_need_bool(s, "invert", &p->invert);
}

static void free_split(void *state)
{
	split_state *p = state;
	if (p)
		pattern_free(&p->pattern);
	mem_free(p);
}

/* An empty match is found too: it parts what is before it from what is behind. */
static hec_status find_pattern(const void *state, flow *f, piece p)
{
	const split_state *s = state;
	for (pattern_walk w = {.from = p.begin};;) {
		HEC_TRY(pattern_next(&s->pattern, &f->pattern, f->text, p.begin, p.end, &w));
		if (!w.found)
			return HEC_OK;
		HEC_TRY(split_found(f, w.start, w.stop));
	}
}

/* A rule covers all of the text; each word is a piece. */
static hec_status cut_words(const void *state, flow *f, piece p)
{
	const split_state *s = state;
	for (size_t at = p.begin, stop; at < p.end; at = stop) {
		stop = word_end(s->pattern.rule, f->text, at, p.end);
		HEC_TRY(flow_add(f, at, stop, -1));
	}
	return HEC_OK;
}

static hec_status run_split(const void *state, flow *f)
{
	const split_state *s = state;
	if (s->pattern.rule && s->behavior == SPLIT_ISOLATED)
		return flow_cut(f, cut_words, s);
	splitter cutter = {find_pattern, s, s->behavior, s->invert};
	return split_run(&cutter, f);
}

const stage_kind split_pattern = {"Split", load_split, run_split, NULL, free_split};

/* ---- characters of a kind ---- */

typedef struct class_state {
	unsigned classes;
	uint32_t character; /* found too; 0: none */
	bool runs;          /* neighbours are found together */
	split_behavior behavior;
} class_state;

static hec_status find_class(const void *state, flow *f, piece p)
{
	const class_state *s = state;
	for (size_t at = p.begin, length, stop; at < p.end; at = stop) {
		uint32_t c = utf8_get(f->text + at, &length);
		stop = at + length;
		if (!(class_of(c) & s->classes) && (s->character == 0 || c != s->character))
			continue;
		while (s->runs && stop < p.end &&
		       (class_of(utf8_get(f->text + stop, &length)) & s->classes))
			stop += length;
		HEC_TRY(split_found(f, at, stop));
	}
	return HEC_OK;
}

static hec_status run_class(const void *state, flow *f)
{
	const class_state *s = state;
	splitter cutter = {find_class, s, s->behavior, false};
	return split_run(&cutter, f);
}

static hec_status make_class(void **state, class_state what)
{
	HEC_TRY(stage_state(sizeof what, state));
	memcpy(*state, &what, sizeof what);
	return HEC_OK;
}

static hec_status load_digits(const json_scope *s, void **state)
{
	bool each = false;
	HEC_TRY(json_need_bool(s, "individual_digits", &each));
	return make_class(state,
	                  (class_state){.classes = CLASS_DIGIT,
	                                .behavior = each ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS});
}

const stage_kind digits = {"Digits", load_digits, run_class, NULL, NULL};

static hec_status load_punctuation(const json_scope *s, void **state)
{
	split_behavior behavior = SPLIT_ISOLATED;
	if (json_object_get(s->object, "behavior"))
		HEC_TRY(split_load_behavior(s, &behavior));
	return make_class(state, (class_state){.classes = CLASS_PUNCTUATION, .behavior = behavior});
}

const stage_kind punctuation = {"Punctuation", load_punctuation, run_class, NULL, NULL};

static hec_status load_whitespace_split(const json_scope *s, void **state)
{
	(void)s;
	return make_class(state, (class_state){.classes = CLASS_SPACE, .behavior = SPLIT_REMOVED});
}

const stage_kind whitespace_split = {"WhitespaceSplit", load_whitespace_split, run_class, NULL,
                                     NULL};

static hec_status load_delimiter(const json_scope *s, void **state)
{
	const char *text;
	HEC_TRY(json_need_string(s, "delimiter", &text));
	size_t length = 0;
	uint32_t c = *text ? utf8_get(text, &length) : 0;
	if (length == 0 || strlen(text) != length)
		return fail(HEC_ERR_FORMAT, "%s: '%sdelimiter' is not one character", s->file,
		            s->path);
	return make_class(state, (class_state){.character = c, .behavior = SPLIT_REMOVED});
}

const stage_kind char_delimiter = {"CharDelimiterSplit", load_delimiter, run_class, NULL, NULL};

/* \w+|[^\w\s]+, what is between is dropped. */
static hec_status cut_whitespace(const void *state, flow *f, piece p)
{
	(void)state;
	for (size_t at = p.begin, length, stop; at < p.end; at = stop) {
		unsigned c = class_of(utf8_get(f->text + at, &length));
		unsigned kind = c & (CLASS_WORD | CLASS_SPACE);
		stop = at + length;
		while (stop < p.end && (class_of(utf8_get(f->text + stop, &length)) &
		                        (CLASS_WORD | CLASS_SPACE)) == kind)
			stop += length;
		if (!(c & CLASS_SPACE))
			HEC_TRY(flow_add(f, at, stop, -1));
	}
	return HEC_OK;
}

static hec_status run_whitespace(const void *state, flow *f)
{
	return flow_cut(f, cut_whitespace, state);
}

const stage_kind whitespace = {"Whitespace", NULL, run_whitespace, NULL, NULL};

/* BERT: at white space, which is dropped, and around each punctuation mark. */
static hec_status cut_bert(const void *state, flow *f, piece p)
{
	(void)state;
	size_t begin = p.begin;
	for (size_t at = p.begin, length; at < p.end; at += length) {
		unsigned c = class_of(utf8_get(f->text + at, &length));
		if (!(c & (CLASS_SPACE | CLASS_PUNCTUATION)))
			continue;
		HEC_TRY(flow_add(f, begin, at, -1));
		begin = at + length;
		if (!(c & CLASS_SPACE))
			HEC_TRY(flow_add(f, at, begin, -1));
	}
	return flow_add(f, begin, p.end, -1);
}

static hec_status run_bert(const void *state, flow *f)
{
	return flow_cut(f, cut_bert, state);
}

const stage_kind bert_split = {"BertPreTokenizer", NULL, run_bert, NULL, NULL};
