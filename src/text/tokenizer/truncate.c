/* truncate.c — which part of the tokens of a text, and of its pair, an encoding holds; and filling it up.
 *
 * A window is a range of the tokens that the model gave; what the post-processor puts around is put around
 * each. So a text is encoded once, and its windows are ranges of the same arrays. */
#include "text/tokenizer/truncate.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/size.h"
#include "base/grow.h"
#include "text/tokenizer/tokenizer.h"

/* ---- windows ---- */

/* How many tokens of each of the two stay where together they may be `most`: the longer one gives first,
 * as `tokenizers` computes it. */
static void share_tokens(size_t most, size_t n[2])
{
	size_t low = n[0] < n[1] ? n[0] : n[1], high = n[0] < n[1] ? n[1] : n[0];
	high = low > most ? low : low > most - low ? low : most - low;
	if (low + high > most) {
		low = most / 2;
		high = low + most % 2;
	}
	bool first_longer = n[0] > n[1];
	n[0] = first_longer ? high : low;
	n[1] = first_longer ? low : high;
}

static hec_status too_short(const char *which, size_t have, size_t give)
{
	return fail(HEC_ERR_ARGUMENT,
	            "the %s text has %zu tokens, and %zu would have to go to keep max_length",
	            which, have, give);
}

/* n: tokens of the texts in, tokens that stay out. */
static hec_status count_kept(const hec_encode_options *o, size_t most, bool pair, size_t n[2])
{
	size_t total = n[0] + n[1];
	if (total <= most)
		return HEC_OK;
	if (most == 0) {
		n[0] = n[1] = 0;
		return HEC_OK;
	}
	size_t give = total - most;
	switch (o->truncate) {
	case HEC_TRUNCATE_LONGEST:
		if (pair)
			share_tokens(most, n);
		else
			n[0] = most;
		return HEC_OK;
	case HEC_TRUNCATE_FIRST:
		if (n[0] <= give)
			return too_short("first", n[0], give);
		n[0] -= give;
		return HEC_OK;
	case HEC_TRUNCATE_SECOND:
		if (!pair || n[1] <= give)
			return too_short("second", n[1], give);
		n[1] -= give;
		return HEC_OK;
	}
	return fail(HEC_ERR_ARGUMENT, "hec_encode_options: truncate is %d", (int)o->truncate);
}

hec_status windows_begin(const hec_encode_options *o, size_t single, size_t added,
                         const encoded part[2], bool pair, windows *w)
{
	size_t n[2] = {part[0].n, pair ? part[1].n : 0};
	*w = (windows){
		.pair = pair, .special = !o->no_special, .left = o->truncate_left, .moving = -1};
	for (int i = 0; i < 2; i++)
		w->keep[i] = n[i];
	if (o->max_length == 0)
		return HEC_OK;
	if (o->max_length < 0 || o->stride < 0)
		return fail(HEC_ERR_ARGUMENT, "max_length is %lld and stride is %lld; from 0 up",
		            (long long)o->max_length, (long long)o->stride);
	size_t most = (size_t)o->max_length;
	added = o->no_special ? 0 : added;
	if (added > most)
		return fail(HEC_ERR_ARGUMENT,
		            "max_length is %zu, but %zu special tokens are put around a text", most,
		            added);
	/* A template may put more around one text than around two. */
	size_t around = o->no_special ? 0 : single, room = most > around ? most - around : 0;
	if ((size_t)o->stride > room)
		return fail(HEC_ERR_ARGUMENT,
		            "stride is %lld, but max_length leaves room for %zu tokens of a text",
		            (long long)o->stride, room);
	HEC_TRY(count_kept(o, most - added, pair, w->keep));
	bool cut[2] = {w->keep[0] < n[0], w->keep[1] < n[1]};
	for (int i = 0; i < 2; i++)
		if (cut[i] && w->keep[i] > 0 && (size_t)o->stride >= w->keep[i])
			return fail(
				HEC_ERR_ARGUMENT,
				"stride is %lld, but a window has room for %zu tokens of a text",
				(long long)o->stride, w->keep[i]);
	w->moving = cut[0] && cut[1] ? -1 : cut[0] ? 0 : cut[1] ? 1 : -1;
	if (w->moving >= 0)
		w->step = w->keep[w->moving] - (size_t)o->stride;
	return HEC_OK;
}

bool windows_more(const windows *w, const encoded part[2])
{
	if (w->moving < 0 || w->keep[w->moving] == 0)
		return false;
	return w->index * w->step + w->keep[w->moving] < part[w->moving].n;
}

encoded windows_view(const windows *w, const encoded part[2], int which)
{
	encoded e = part[which];
	size_t n = e.n, room = w->keep[which];
	size_t shift = which == w->moving ? w->index * w->step : 0;
	size_t begin = shift, end = shift + room < n ? shift + room : n;
	if (w->left) {
		end = n - shift;
		begin = end > room ? end - room : 0;
	}
	if (n > 0) {
		e.ids += begin;
		e.offsets += begin;
	}
	if (e.first)
		e.first += begin;
	e.n = end - begin;
	return e;
}

/* ---- filling up ---- */

static void fill_encoding(hec_encoding *e, const hec_pad_options *o, size_t length)
{
	size_t more = length - e->n, from = o->left ? 0 : e->n;
	if (o->left) {
		memmove(e->ids + more, e->ids, e->n * sizeof *e->ids);
		memmove(e->offsets + more, e->offsets, e->n * sizeof *e->offsets);
		memmove(e->type_ids + more, e->type_ids, e->n * sizeof *e->type_ids);
		memmove(e->sequence + more, e->sequence, e->n * sizeof *e->sequence);
	}
	for (size_t i = from; i < from + more; i++) {
		e->ids[i] = o->id;
		e->offsets[i] = (hec_span){0, 0};
		e->type_ids[i] = o->type_id;
		e->sequence[i] = HEC_PADDING;
	}
	e->n = length;
}

hec_status hec_encoding_pad(hec_encoding *encodings, size_t n, const hec_pad_options *options)
{
	hec_pad_options o = HEC_PAD_OPTIONS_INIT;
	if (!encodings && n)
		return fail(HEC_ERR_ARGUMENT, "hec_encoding_pad: encodings is NULL");
	HEC_TRY(options_take("hec_pad_options", &o, sizeof o, options));
	if (o.length < 0 || o.multiple < 0 || o.id < 0)
		return fail(HEC_ERR_ARGUMENT,
		            "hec_pad_options: length, multiple and id are from 0 up");
	size_t length = (size_t)o.length, odd;
	for (size_t i = 0; o.length == 0 && i < n; i++)
		length = encodings[i].n > length ? encodings[i].n : length;
	if (o.multiple > 0 && (odd = length % (size_t)o.multiple) > 0)
		if (!size_add(length, (size_t)o.multiple - odd, &length))
			return fail(HEC_ERR_ARGUMENT, "hec_pad_options: %lld tokens are too many",
			            (long long)o.length);
	/* All memory first: on failure none has changed. */
	for (size_t i = 0; i < n; i++)
		if (encodings[i].n < length)
			HEC_TRY(post_room(&encodings[i], length));
	for (size_t i = 0; i < n; i++)
		if (encodings[i].n < length)
			fill_encoding(&encodings[i], &o, length);
	return HEC_OK;
}

/* ---- what tokenizer.json says ---- */

static hec_status fail_unknown(const json_scope *s, const char *key, const char *there)
{
	return fail(HEC_ERR_UNSUPPORTED, "%s: '%s%s' is not one of: %s", s->file, s->path, key,
	            there);
}

static hec_status load_side(const json_scope *s, bool *left)
{
	const char *side = "Right";
	HEC_TRY(json_want_string(s, "direction", &side));
	*left = strcmp(side, "Left") == 0;
	return *left || strcmp(side, "Right") == 0 ? HEC_OK
	                                           : fail_unknown(s, "direction", "Left, Right");
}

static hec_status load_truncation(const json_scope *s, limits *l)
{
	static const char *const names[] = {"LongestFirst", "OnlyFirst", "OnlySecond"};
	const char *name = names[0];
	HEC_TRY(json_need_int(s, "max_length", 1, INT64_MAX, &l->max_length));
	HEC_TRY(json_want_int(s, "stride", 0, INT64_MAX, &l->stride));
	HEC_TRY(load_side(s, &l->truncate_left));
	HEC_TRY(json_want_string(s, "strategy", &name));
	for (int i = 0; i < 3; i++)
		if (strcmp(name, names[i]) == 0) {
			l->truncate = (hec_truncate)i;
			l->truncates = true;
			return HEC_OK;
		}
	return fail_unknown(s, "strategy", "LongestFirst, OnlyFirst, OnlySecond");
}

static hec_status load_padding(const json_scope *s, limits *l)
{
	hec_pad_options *o = &l->padding;
	int64_t id = 0, type = 0;
	json_scope fixed;
	const char *name = NULL;
	*o = (hec_pad_options)HEC_PAD_OPTIONS_INIT;
	HEC_TRY(json_want_int(s, "pad_id", 0, INT32_MAX, &id));
	HEC_TRY(json_want_int(s, "pad_type_id", 0, INT32_MAX, &type));
	HEC_TRY(json_want_int(s, "pad_to_multiple_of", 0, INT32_MAX, &o->multiple));
	HEC_TRY(load_side(s, &o->left));
	o->id = (int32_t)id;
	o->type_id = (int32_t)type;
	l->pads = true;
	if (json_is_object(json_object_get(s->object, "strategy"))) {
		HEC_TRY(json_need_object(s, "strategy", &fixed));
		return json_need_int(&fixed, "Fixed", 1, INT32_MAX, &o->length);
	}
	HEC_TRY(json_want_string(s, "strategy", &name));
	return !name || strcmp(name, "BatchLongest") == 0
	               ? HEC_OK
	               : fail_unknown(s, "strategy", "BatchLongest, {\"Fixed\": N}");
}

hec_status limits_load(const json_scope *root, limits *l)
{
	json_scope s;
	bool found = false;
	HEC_TRY(json_want_object(root, "truncation", &s, &found));
	if (found)
		HEC_TRY(load_truncation(&s, l));
	HEC_TRY(json_want_object(root, "padding", &s, &found));
	return found ? load_padding(&s, l) : HEC_OK;
}

/* What a caller's struct has of one that is known here: it may be of an older header, or a newer one. */
static size_t size_given(size_t size, size_t known)
{
	return size < known ? size : known;
}

bool hec_tokenizer_truncation(const hec_tokenizer *t, hec_encode_options *options)
{
	if (!t || !options || !t->limits.truncates)
		return false;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	const size_t bytes = size_given(options->size, sizeof o);
	memcpy(&o, options, bytes);
	o.max_length = t->limits.max_length;
	o.stride = t->limits.stride;
	o.truncate = t->limits.truncate;
	o.truncate_left = t->limits.truncate_left;
	memcpy(options, &o, bytes);
	return true;
}

bool hec_tokenizer_padding(const hec_tokenizer *t, hec_pad_options *options)
{
	if (!t || !options || !t->limits.pads)
		return false;
	hec_pad_options o = t->limits.padding;
	o.size = options->size;
	memcpy(options, &o, size_given(options->size, sizeof o));
	return true;
}
