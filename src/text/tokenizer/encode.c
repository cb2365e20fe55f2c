/* encode.c — text through all stages of a tokenizer. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/grow.h"
#include "text/tokenizer/tokenizer.h"
#include "text/unicode/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

void hec_encoding_free(hec_encoding *e)
{
	if (!e)
		return;
	struct hec_encoding_work *w = e->work;
	if (w) {
		flow_free(&w->flow);
		model_work_free(&w->model);
		mem_free(w->tokens.at);
		for (int i = 0; i < 2; i++) {
			mem_free(w->part[i].ids);
			mem_free(w->part[i].offsets);
			mem_free(w->part[i].first);
		}
		mem_free(w->mended);
		mem_free(w->mended_from);
		mem_free(w);
	}
	mem_free(e->ids);
	mem_free(e->offsets);
	mem_free(e->type_ids);
	mem_free(e->sequence);
	memset(e, 0, sizeof *e);
}

/* ---- text that is no UTF-8 ---- */

/* Adds bytes of the text to the mended one; where they were is kept for each byte, and for the end. */
static hec_status add_mended(struct hec_encoding_work *w, size_t *n, const char *bytes,
                             size_t count, size_t at, bool whole)
{
	HEC_TRY(GROW(&w->mended, &w->mended_capacity, *n + count));
	HEC_TRY(GROW(&w->mended_from, &w->mended_from_capacity, *n + count + 1));
	for (size_t i = 0; i < count; i++) {
		w->mended[*n + i] = bytes[i];
		w->mended_from[*n + i] = (uint32_t)(whole ? at : at + i);
	}
	*n += count;
	return HEC_OK;
}

static hec_status mend_utf8(struct hec_encoding_work *w, const char *text, size_t bytes,
                            size_t *mended)
{
	size_t n = 0, at = 0;
	if (bytes > FLOW_MOST / 3)
		return fail(HEC_ERR_ARGUMENT,
		            "a text of %zu bytes that is not all UTF-8; at most "
		            "%zu go at once",
		            bytes, FLOW_MOST / 3);
	while (at < bytes) {
		size_t good = utf8_valid(text + at, bytes - at);
		HEC_TRY(add_mended(w, &n, text + at, good, at, false));
		at += good;
		if (at == bytes)
			break;
		HEC_TRY(add_mended(w, &n, REPLACEMENT, 3, at, true));
		at += utf8_ill(text + at, bytes - at);
	}
	w->mended_from[n] = (uint32_t)bytes;
	*mended = n;
	return HEC_OK;
}

/* ---- one text ---- */

static hec_status run_model(const hec_tokenizer *t, struct hec_encoding_work *w)
{
	const flow *f = &w->flow;
	w->tokens.n = 0;
	for (size_t i = 0; i < f->now.n; i++) {
		piece p = f->now.at[i];
		HEC_TRY(p.id >= 0 ? tokens_add(&w->tokens, ~p.id, p.begin, p.end)
		                  : t->model.kind->encode(&t->model, f->text, p.begin, p.end,
		                                          &w->model, &w->tokens));
	}
	return HEC_OK;
}

/* Where the tokens came from, in whole characters of the given text. */
static hec_status collect_tokens(const flow *f, const tokens *from, encoded *to)
{
	HEC_TRY(GROW(&to->ids, &to->ids_capacity, from->n));
	HEC_TRY(GROW(&to->offsets, &to->offsets_capacity, from->n));
	const char *text = f->given;
	for (size_t i = 0; i < from->n; i++) {
		origin o = flow_origin(f, from->at[i].begin, from->at[i].end);
		size_t begin = o.begin, end = o.end;
		while (begin > 0 && begin < f->given_bytes && utf8_continues(text[begin]))
			begin--;
		while (end < f->given_bytes && utf8_continues(text[end]))
			end++;
		int32_t id = from->at[i].id;
		to->ids[i] = id < 0 ? ~id : id;
		to->offsets[i] = (hec_span){begin, end};
	}
	to->n = from->n;
	return HEC_OK;
}

static hec_status encode_valid(const hec_tokenizer *t, const char *text, size_t bytes,
                               uint8_t first, struct hec_encoding_work *w, encoded *to)
{
	HEC_TRY(flow_begin(&w->flow, text, bytes));
	HEC_TRY(added_cut(&t->added, &t->added.given, &w->flow));
	HEC_TRY(stages_run(&t->normalizers, &w->flow));
	HEC_TRY(added_cut(&t->added, &t->added.normal, &w->flow));
	HEC_TRY(stages_run(&t->pre_tokenizers, &w->flow));
	HEC_TRY(run_model(t, w));
	HEC_TRY(collect_tokens(&w->flow, &w->tokens, to));
	return post_trim(&t->post, first, t, &w->flow, &w->tokens, to);
}

static void map_back(const uint32_t *from, size_t n, hec_span *spans)
{
	for (size_t i = 0; i < n; i++)
		spans[i] = (hec_span){from[spans[i].begin], from[spans[i].end]};
}

static hec_status encode_text(const hec_tokenizer *t, const char *text, size_t bytes, bool lossy,
                              uint8_t first, struct hec_encoding_work *w, encoded *to)
{
	size_t good = utf8_valid(text, bytes);
	if (good == bytes)
		return encode_valid(t, text, bytes, first, w, to);
	if (!lossy)
		return fail(HEC_ERR_FORMAT, "the text is not UTF-8: byte %zu of %zu is 0x%02x",
		            good, bytes, (unsigned char)text[good]);
	size_t mended = 0;
	HEC_TRY(mend_utf8(w, text, bytes, &mended));
	HEC_TRY(encode_valid(t, w->mended, mended, first, w, to));
	map_back(w->mended_from, to->n, to->offsets);
	if (t->post.trims > 0)
		map_back(w->mended_from, to->n, to->first);
	return HEC_OK;
}

static hec_status show_window(const hec_tokenizer *t, hec_encoding *out)
{
	const windows *w = &out->work->windows;
	encoded text = windows_view(w, out->work->part, 0), pair = {0};
	if (w->pair)
		pair = windows_view(w, out->work->part, 1);
	return post_run(&t->post, &text, w->pair ? &pair : NULL, w->special, out);
}

hec_status hec_tokenizer_encode(const hec_tokenizer *t, const char *text, size_t bytes,
                                const hec_encode_options *options, hec_encoding *out)
{
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	if (!t || !out || (!text && bytes))
		return fail(HEC_ERR_ARGUMENT, "hec_tokenizer_encode: %s is NULL",
		            !t    ? "tokenizer"
		            : out ? "text"
		                  : "out");
	out->n = 0;
	HEC_TRY(options_take("hec_encode_options", &o, sizeof o, options));
	if (o.truncate < HEC_TRUNCATE_LONGEST || o.truncate > HEC_TRUNCATE_SECOND)
		return fail(HEC_ERR_ARGUMENT, "hec_encode_options: truncate is %d",
		            (int)o.truncate);
	if (!o.pair && o.pair_bytes)
		return fail(HEC_ERR_ARGUMENT, "hec_encode_options: pair is NULL, of %zu bytes",
		            o.pair_bytes);
	if (!out->work) {
		out->work = mem_zeros(1, sizeof *out->work);
		if (!out->work)
			return fail(HEC_ERR_MEMORY, "no memory to encode with");
	}
	encoded *part = out->work->part;
	windows *w = &out->work->windows;
	*w = (windows){.moving = -1};
	HEC_TRY(encode_text(t, text ? text : "", bytes, o.lossy,
	                    post_first(&t->post, o.pair, !o.no_special, 0), out->work, &part[0]));
	if (o.pair)
		HEC_TRY(encode_text(t, o.pair, o.pair_bytes, o.lossy,
		                    post_first(&t->post, true, !o.no_special, 1), out->work,
		                    &part[1]));
	HEC_TRY(windows_begin(&o, post_added(&t->post, false), post_added(&t->post, o.pair), part,
	                      o.pair, w));
	return show_window(t, out);
}

hec_status hec_tokenizer_next_window(const hec_tokenizer *t, hec_encoding *out, bool *more)
{
	if (!t || !out || !more)
		return fail(HEC_ERR_ARGUMENT, "hec_tokenizer_next_window: %s is NULL",
		            !t    ? "tokenizer"
		            : out ? "more"
		                  : "out");
	*more = out->work && windows_more(&out->work->windows, out->work->part);
	if (!*more)
		return HEC_OK;
	out->work->windows.index++;
	out->n = 0;
	return show_window(t, out);
}
