/* stage.c — the kinds that there are, and reading them. */
#include "text/tokenizer/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "base/grow.h"

#define NESTED_MOST 8
#define STAGES_MOST 256 /* each goes over every text, and over what others made of it */

static const stage_kind *const normalizers[] = {&nfc,
                                                &nfd,
                                                &nfkc,
                                                &nfkd,
                                                &lowercase,
                                                &strip_accents,
                                                &strip,
                                                &replace,
                                                &prepend,
                                                &bert_normalizer,
                                                &precompiled,
                                                &nmt,
                                                &byte_level_normalizer,
                                                NULL};
static const stage_kind *const pre_tokenizers[] = {
	&byte_level, &metaspace,        &split_pattern, &digits,         &punctuation,
	&whitespace, &whitespace_split, &bert_split,    &char_delimiter, NULL};
static const stage_kind *const decoders[] = {&byte_level_decoder,
                                             &metaspace_decoder,
                                             &wordpiece_decoder,
                                             &byte_fallback,
                                             &fuse,
                                             &strip_decoder,
                                             &replace_decoder,
                                             &bpe_decoder,
                                             NULL};

static const struct {
	const char *key;      /* in tokenizer.json */
	const char *sequence; /* what its Sequence calls the list of parts */
	const stage_kind *const *kinds;
} sorts[] = {
	[STAGE_NORMALIZER] = {"normalizer", "normalizers", normalizers},
	[STAGE_PRE_TOKENIZER] = {"pre_tokenizer", "pretokenizers", pre_tokenizers},
	[STAGE_DECODER] = {"decoder", "decoders", decoders},
};

hec_status stage_state(size_t bytes, void **out)
{
	*out = mem_zeros(1, bytes);
	return *out ? HEC_OK : fail(HEC_ERR_MEMORY, "tokenizer.json: no memory for a part of it");
}

static hec_status unknown_type(const json_scope *s, stage_sort sort, const char *type)
{
	char known[512] = "Sequence", name[QUOTE_TEXT];
	for (const stage_kind *const *k = sorts[sort].kinds; *k; k++) {
		size_t n = strlen(known);
		snprintf(known + n, sizeof known - n, ", %s", (*k)->type);
	}
	return fail(HEC_ERR_UNSUPPORTED, "%s: '%stype': no %s \"%s\" is known; there are: %s",
	            s->file, s->path, sorts[sort].key, quote(type, name), known);
}

static hec_status load_one(const json_scope *s, stage_sort sort, const char *type, stages *out)
{
	for (const stage_kind *const *k = sorts[sort].kinds; *k; k++) {
		if (strcmp((*k)->type, type) != 0)
			continue;
		if (out->n == STAGES_MOST)
			return fail(HEC_ERR_FORMAT, "%s: '%s' has more than %d parts", s->file,
			            sorts[sort].key, STAGES_MOST);
		HEC_TRY(GROW(&out->at, &out->capacity, out->n + 1));
		stage *made = &out->at[out->n++];
		*made = (stage){*k, NULL};
		return (*k)->load ? (*k)->load(s, &made->state) : HEC_OK;
	}
	return unknown_type(s, sort, type);
}

static hec_status load_object(const json_scope *s, stage_sort sort, int depth, stages *out)
{
	const char *type;
	HEC_TRY(json_need_string(s, "type", &type));
	if (strcmp(type, "Sequence") != 0)
		return load_one(s, sort, type, out);
	if (depth >= NESTED_MOST)
		return fail(HEC_ERR_FORMAT, "%s: '%stype': more than %d sequences in one another",
		            s->file, s->path, NESTED_MOST);
	json_t *list, *item;
	size_t i;
	HEC_TRY(json_need_array(s, sorts[sort].sequence, &list));
	json_array_foreach(list, i, item)
	{
		json_scope part = {.file = s->file, .object = item};
		snprintf(part.path, sizeof part.path, "%.60s%s[%zu].", s->path,
		         sorts[sort].sequence, i);
		if (!json_is_object(item))
			return json_wrong(s, sorts[sort].sequence, item, "objects");
		HEC_TRY(load_object(&part, sort, depth + 1, out));
	}
	return HEC_OK;
}

hec_status stages_load(const json_scope *root, stage_sort sort, stages *out)
{
	json_scope s;
	HEC_TRY(json_want_object(root, sorts[sort].key, &s, &out->given));
	return out->given ? load_object(&s, sort, 0, out) : HEC_OK;
}

hec_status stages_put(stages *s, const stage_kind *kind, void *state)
{
	stage one = {kind, state};
	hec_status status = GROW(&s->at, &s->capacity, s->n + 1);
	if (status == HEC_OK) {
		s->at[s->n++] = one;
		return HEC_OK;
	}
	if (kind->free)
		kind->free(state);
	else
		mem_free(state);
	return status;
}

void stages_free(stages *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->at[i].kind->free)
			s->at[i].kind->free(s->at[i].state);
		else
			mem_free(s->at[i].state);
	}
	mem_free(s->at);
	memset(s, 0, sizeof *s);
}

hec_status stages_run(const stages *s, flow *f)
{
	for (size_t i = 0; i < s->n; i++)
		HEC_TRY(s->at[i].kind->run(s->at[i].state, f));
	return HEC_OK;
}

hec_status stages_decode(const stages *s, strings *t)
{
	for (size_t i = 0; i < s->n; i++)
		HEC_TRY(s->at[i].kind->decode(s->at[i].state, t));
	return HEC_OK;
}
