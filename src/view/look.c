/* look.c — checks what is given once, so that the drawings need not; then only reads. */
#include "view/look.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/size.h"
#include "base/width.h"

#define WEIGHT_MOST 1.001 /* a sum of rounded parts may pass 1 by a little */

static hec_status check_tokens(const char *what, const char *const *tokens, int64_t count)
{
	if (count < 1 || !tokens)
		return fail(HEC_ERR_ARGUMENT, "view: %" PRId64 " %s tokens: there must be some",
		            count, what);
	for (int64_t i = 0; i < count; i++)
		if (!tokens[i])
			return fail(HEC_ERR_ARGUMENT, "view: %s token %" PRId64 " is NULL", what,
			            i);
	return HEC_OK;
}

static hec_status check_weights(const hec_view *v)
{
	size_t count = (size_t)v->layers;
	if (!size_mul(count, (size_t)v->heads, &count) ||
	    !size_mul(count, (size_t)v->queries, &count) ||
	    !size_mul(count, (size_t)v->keys, &count) || count > SIZE_MAX / sizeof(float))
		return fail(HEC_ERR_ARGUMENT,
		            "view: %" PRId64 " layers of %" PRId64 " heads of %" PRId64 "×%" PRId64
		            " weights are more than can be addressed",
		            v->layers, v->heads, v->queries, v->keys);
	for (size_t i = 0; i < count; i++)
		if (!(v->weights[i] >= 0 && v->weights[i] <= WEIGHT_MOST))
			return fail(HEC_ERR_ARGUMENT, "view: weight %zu is %g, not in 0 … 1", i,
			            (double)v->weights[i]);
	return HEC_OK;
}

static hec_status check_view(const hec_view *v)
{
	if ((unsigned)v->kind >= HEC_VIEW_KINDS)
		return fail(HEC_ERR_ARGUMENT, "view: there is no kind %d", (int)v->kind);
	HEC_TRY(check_tokens("query", v->query, v->queries));
	HEC_TRY(check_tokens("key", v->key, v->keys));
	if (v->layers < 1 || v->heads < 1 || !v->weights)
		return fail(HEC_ERR_ARGUMENT,
		            "view: %" PRId64 " layers of %" PRId64 " heads: there must be some",
		            v->layers, v->heads);
	return check_weights(v);
}

static hec_status choose_range(const char *what, int64_t chosen, int64_t count, int64_t *first,
                               int64_t *shown)
{
	if (chosen < -1 || chosen >= count)
		return fail(HEC_ERR_ARGUMENT,
		            "view: there is no %s %" PRId64 ": they are 0 to %" PRId64, what,
		            chosen, count - 1);
	*first = chosen < 0 ? 0 : chosen;
	*shown = chosen < 0 ? count : 1;
	return HEC_OK;
}

static void find_scale(look *l)
{
	const hec_view *v = &l->view;
	bool others = false;
	for (int64_t s = 0; v->sink && s < v->keys; s++) {
		l->sinks = l->sinks || v->sink[s];
		others = others || !v->sink[s];
	}
	l->sinks = l->sinks && others;
	for (int64_t i = l->layer; i < l->layer + l->layers; i++)
		for (int64_t j = l->head; j < l->head + l->heads; j++)
			for (int64_t t = 0; t < v->queries; t++)
				for (int64_t s = 0; s < v->keys; s++)
					if (!look_is_sink(l, s))
						l->scale =
							fmax(l->scale, look_weight(l, i, j, t, s));
	l->scale = l->scale > 0 ? fmin(l->scale, 1) : 1;
}

hec_status look_take(const hec_view *view, const hec_view_options *options, look *l)
{
	if (!view)
		return fail(HEC_ERR_ARGUMENT, "view: no view is given");
	*l = (look){.view = HEC_VIEW_INIT, .options = HEC_VIEW_OPTIONS_INIT};
	HEC_TRY(options_take("hec_view", &l->view, sizeof l->view, view));
	HEC_TRY(options_take("hec_view_options", &l->options, sizeof l->options, options));
	HEC_TRY(check_view(&l->view));
	hec_view_options *o = &l->options;
	HEC_TRY(choose_range("layer", o->layer, l->view.layers, &l->layer, &l->layers));
	HEC_TRY(choose_range("head", o->head, l->view.heads, &l->head, &l->heads));
	if (o->top < 0 || o->top > HEC_VIEW_MAX_TOP)
		return fail(HEC_ERR_ARGUMENT, "view: top %" PRId64 " is not in 0 … %d", o->top,
		            HEC_VIEW_MAX_TOP);
	if ((unsigned)o->colour > HEC_VIEW_24BIT)
		return fail(HEC_ERR_ARGUMENT, "view: there is no colour mode %d", (int)o->colour);
	if (o->columns < 1)
		return fail(HEC_ERR_ARGUMENT, "view: %" PRId64 " columns", o->columns);
	find_scale(l);
	return HEC_OK;
}

bool look_is_large(const look *l)
{
	return l->layers == 1 && l->heads == 1;
}

bool look_is_sink(const look *l, int64_t key)
{
	return l->sinks && l->view.sink[key];
}

double look_weight(const look *l, int64_t layer, int64_t head, int64_t query, int64_t key)
{
	const hec_view *v = &l->view;
	int64_t row = (layer * v->heads + head) * v->queries + query;
	return (double)v->weights[row * v->keys + key];
}

double look_heat(const look *l, int64_t layer, int64_t head, int64_t query, int64_t key)
{
	double weight = look_weight(l, layer, head, query, key);
	return fmin(look_is_sink(l, key) ? weight : weight / l->scale, 1);
}

static double mean_weight(const look *l, int64_t query, int64_t key)
{
	double sum = 0;
	for (int64_t i = l->layer; i < l->layer + l->layers; i++)
		for (int64_t j = l->head; j < l->head + l->heads; j++)
			sum += look_weight(l, i, j, query, key);
	return sum / (double)(l->layers * l->heads);
}

int look_top(const look *l, int64_t query, top_key *out, int k)
{
	int count = 0;
	for (int64_t s = 0; s < l->view.keys; s++) {
		double weight = mean_weight(l, query, s);
		if (weight <= 0 || (count == k && weight <= out[k - 1].weight))
			continue;
		int at = count < k ? count++ : k - 1;
		for (; at > 0 && out[at - 1].weight < weight; at--)
			out[at] = out[at - 1];
		out[at] = (top_key){s, weight};
	}
	return count;
}

/* ---- words ---- */

const char *hec_view_kind_name(hec_view_kind kind)
{
	static const char *const names[HEC_VIEW_KINDS] = {"self", "cross", "decoder", "heads"};
	return (unsigned)kind < HEC_VIEW_KINDS ? names[kind] : "?";
}

const char *look_title(const look *l)
{
	static const char *const titles[HEC_VIEW_KINDS] = {"Self-attention", "Cross-attention",
	                                                   "Self-attention of the decoder",
	                                                   "What every head looks at"};
	return l->options.title && *l->options.title ? l->options.title : titles[l->view.kind];
}

const char *look_down(const look *l)
{
	static const char *const words[HEC_VIEW_KINDS] = {"each token",
	                                                  "each token as it is written",
	                                                  "each token of the target", "each head"};
	return words[l->view.kind];
}

const char *look_across(const look *l)
{
	static const char *const words[HEC_VIEW_KINDS] = {
		"what it looks at", "what it looks at in the source",
		"what it looks at in the target", "what it looks at"};
	return words[l->view.kind];
}

void look_selection(const look *l, char *out, size_t size)
{
	char layers[64], heads[64];
	if (l->view.kind == HEC_VIEW_HEADS) {
		snprintf(out, size, "%" PRId64 " head%s", l->view.queries,
		         l->view.queries == 1 ? "" : "s");
		return;
	}
	int64_t last = l->layer + l->layers - 1;
	if (l->layers == 1)
		snprintf(layers, sizeof layers, "layer %" PRId64 " of %" PRId64, l->layer,
		         l->view.layers);
	else
		snprintf(layers, sizeof layers, "layers 0 to %" PRId64, last);
	last = l->head + l->heads - 1;
	if (l->heads == 1)
		snprintf(heads, sizeof heads, "head %" PRId64 " of %" PRId64, l->head,
		         l->view.heads);
	else
		snprintf(heads, sizeof heads, "heads 0 to %" PRId64, last);
	snprintf(out, size, "%s, %s", layers, heads);
}

/* ---- labels ---- */

/* What stands for a character that is seen badly or not at all, of *bytes bytes; NULL: itself. */
static const char *sign_of(const char *at, bool at_an_end, size_t *bytes)
{
	static const char space[] = "\xE2\x96\x81"; /* as SentencePiece writes one: a heavy bar */
	*bytes = 1;
	if (strncmp(at, space, sizeof space - 1) == 0) {
		*bytes = sizeof space - 1;
		return "␣";
	}
	switch (*at) {
	case '\n':
		return "↵";
	case '\r':
		return "␍";
	case '\t':
		return "⇥";
	case ' ':
		return at_an_end ? "␣" : NULL;
	default:
		return NULL;
	}
}

int label_of(const char *token, int columns, char out[LABEL_BYTES])
{
	char signs[LABEL_BYTES];
	size_t used = 0;
	for (size_t i = 0, bytes; token[i] && used + 4 < sizeof signs; i += bytes) {
		const char *sign = sign_of(token + i, i == 0 || token[i + 1] == '\0', &bytes);
		size_t n = sign ? strlen(sign) : 1;
		memcpy(signs + used, sign ? sign : token + i, n);
		used += n;
	}
	signs[used] = '\0';
	return hec_text_clean(signs, columns, out, LABEL_BYTES);
}
