/* views.c — one view by hand, and rooms of numbers. */
#include "support/views.h"

#include <stdlib.h>
#include <string.h>

hec_status drawn_add(void *user, const char *text, size_t length)
{
	drawn *d = user;
	d->text = realloc(d->text, d->length + length + 1);
	assert_non_null(d->text);
	memcpy(d->text + d->length, text, length);
	d->length += length;
	d->text[d->length] = '\0';
	return HEC_OK;
}

drawn draw_view(const hec_view *v, hec_view_format format, const hec_view_options *o)
{
	drawn d = {0};
	hec_status status = hec_view_draw(v, format, o, drawn_add, &d);
	if (status != HEC_OK)
		fail_msg("%s: %s", hec_status_name(status), hec_error_message());
	assert_non_null(d.text);
	assert_int_equal(strlen(d.text), d.length); /* no zero byte inside */
	return d;
}

static const char *const small_query[] = {"a", "bc", "猫"};
static const char *const small_key[] = {"<s>", "x", "猫", "ée"};
static const bool small_sink[] = {true, false, false, false};
/* clang-format off */
static const float small_weights[] = {
	/* head 0 */
	0.5f, 0.5f, 0, 0,
	0.1f, 0.15f, 0.3f, 0.45f,
	1, 0, 0, 0,
	/* head 1 */
	0, 0, 1, 0,
	0, 0.25f, 0.25f, 0.5f,
	0.25f, 0.75f, 0, 0,
};
/* clang-format on */
const hec_view small_view = {.size = sizeof(hec_view),
                             .kind = HEC_VIEW_CROSS,
                             .query = small_query,
                             .queries = 3,
                             .key = small_key,
                             .keys = 4,
                             .sink = small_sink,
                             .layers = 1,
                             .heads = 2,
                             .weights = small_weights};

room make_room(int64_t queries, int64_t keys, int64_t layers, int64_t heads)
{
	static const char *const words[] = {
		"▁the",           "cat", "猫",  "🙂", "e\xCC\x81\xCC\x82", "",
		"a longer token", "\n",  " of", "שלום"};
	room r = {.query = malloc((size_t)queries * sizeof *r.query),
	          .key = malloc((size_t)keys * sizeof *r.key),
	          .sink = malloc((size_t)keys * sizeof *r.sink),
	          .weights = malloc((size_t)(layers * heads * queries * keys) * sizeof(float))};
	for (int64_t i = 0; i < queries; i++)
		r.query[i] = words[i % 10];
	for (int64_t i = 0; i < keys; i++) {
		r.key[i] = words[(i * 3 + 1) % 10];
		r.sink[i] = i == 0;
	}
	for (int64_t i = 0; i < layers * heads * queries * keys; i++)
		r.weights[i] = (float)((i * 7919 + i / 13) % 101) / 101;
	r.view = (hec_view){.size = sizeof(hec_view),
	                    .kind = HEC_VIEW_SELF,
	                    .query = r.query,
	                    .queries = queries,
	                    .key = r.key,
	                    .keys = keys,
	                    .sink = r.sink,
	                    .layers = layers,
	                    .heads = heads,
	                    .weights = r.weights};
	return r;
}

void free_room(room *r)
{
	free(r->query);
	free(r->key);
	free(r->sink);
	free(r->weights);
}
