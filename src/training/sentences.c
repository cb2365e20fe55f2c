/* sentences.c — reading the examples that a validation scores. */
#include "training/sentences.h"

#include <string.h>

#include "base/memory.h"
#include "training/judge.h"

void sentences_free(sentences *s)
{
	for (int64_t i = 0; s->ids && i < s->n; i++)
		mem_free(s->ids[i]);
	judge_drop_texts(s->wanted, s->n);
	mem_free(s->ids);
	mem_free(s->lengths);
	mem_free(s->wanted);
	*s = (sentences){0};
}

/* What is read of an example, and whether the end is to be put behind it. */
typedef struct source {
	const char *prefix, *language;
	int32_t eos; /* −1: the tokenizer puts there what belongs there */
	hec_encoding encoding;
	bool add_end;
} source;

/* With its prefix, cut where that is wanted. */
static hec_status encode(const hec_training *t, source *s, const char *text, size_t bytes)
{
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	hec_encoding *e = &s->encoding;
	const size_t before = strlen(s->prefix);
	char *whole = mem_alloc(before + bytes + 1);
	if (!whole)
		return judge_no_memory();
	memcpy(whole, s->prefix, before);
	memcpy(whole + before, text, bytes);
	hec_status status = hec_tokenizer_encode(t->tokenizer, whole, before + bytes, &o, e);
	s->add_end = s->eos >= 0 &&
	             (e->n == 0 || (e->ids[e->n - 1] != s->eos && e->sequence[e->n - 1] >= 0));
	if (status == HEC_OK && t->o.truncate && (int64_t)e->n + s->add_end > t->o.max_length) {
		o.max_length = t->o.max_length - s->add_end;
		status = hec_tokenizer_encode(t->tokenizer, whole, before + bytes, &o, e);
	}
	mem_free(whole);
	return status == HEC_OK && s->language
	               ? hec_encoding_set_language(t->tokenizer, s->language, e, NULL)
	               : status;
}

static hec_status add(const hec_training *t, sentences *s, const source *from, const char *wanted,
                      size_t bytes)
{
	const size_t n = from->encoding.n;
	if ((int64_t)n + from->add_end > t->o.max_length)
		return HEC_OK;
	int32_t *ids = mem_alloc((n + 1) * sizeof *ids);
	char *text = mem_copy_bytes(wanted, bytes);
	if (!ids || !text) {
		mem_free(ids);
		mem_free(text);
		return judge_no_memory();
	}
	if (n > 0)
		memcpy(ids, from->encoding.ids, n * sizeof *ids);
	ids[n] = from->eos;
	s->ids[s->n] = ids;
	s->lengths[s->n] = (int64_t)n + from->add_end;
	s->wanted[s->n++] = text;
	return HEC_OK;
}

static hec_status read_lines(const hec_training *t, sentences *s, hec_lines *lines, source *from)
{
	const int side = t->o.task == HEC_TASK_CLASSIFY ? 1 : 0; /* label, tab, text */
	for (bool more = true; s->n < t->o.valid_sentences;) {
		const char *text[2];
		size_t bytes[2];
		HEC_TRY(hec_lines_next_pair(lines, text, bytes, &more));
		if (!more)
			return HEC_OK;
		HEC_TRY(encode(t, from, text[side], bytes[side]));
		HEC_TRY(add(t, s, from, text[1 - side], bytes[1 - side]));
	}
	return HEC_OK;
}

hec_status sentences_read(hec_training *t, sentences *s)
{
	const size_t most = (size_t)t->o.valid_sentences;
	const bool labels = t->o.task == HEC_TASK_CLASSIFY;
	source from = {.prefix = labels || !t->o.source_prefix ? "" : t->o.source_prefix,
	               .language = labels ? NULL : t->o.from_language,
	               .eos = labels ? -1 : hec_tokenizer_role(t->tokenizer, "eos"),
	               .encoding = HEC_ENCODING_INIT};
	*s = (sentences){.ids = mem_zeros(most, sizeof *s->ids),
	                 .lengths = mem_zeros(most, sizeof *s->lengths),
	                 .wanted = mem_zeros(most, sizeof *s->wanted)};
	if (!s->ids || !s->lengths || !s->wanted)
		return judge_no_memory();
	hec_lines *lines;
	HEC_TRY(hec_lines_create(t->o.task, t->o.valid, t->o.valid_count, &lines));
	hec_status status = read_lines(t, s, lines, &from);
	hec_lines_destroy(lines);
	hec_encoding_free(&from.encoding);
	return status;
}
