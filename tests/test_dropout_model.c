/* test_dropout_model.c — every dropout of a model has a mask of its own: each site, each layer, each stack.
 *
 * The masks are read off what a model gives. Its weights are set so that an element of the output tells
 * which of its dropouts kept it: what comes of each is a power of two of its own, or lies in columns of
 * its own. All masks are numbered by row and column, so that two that are one and the same are seen. */
#include "support/models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"

enum { T = 16, ENCODER_LAYERS = 2, DECODER_LAYERS = 3, MOST_MASKS = 40 };
/* A place for the word, and one for what each attention of the decoder adds. */
enum { WIDTH = T * (1 + 2 * DECODER_LAYERS) };

/* Which elements of a site were kept. */
typedef struct dropout_mask {
	char name[64];
	signed char kept[T][T]; /* −1: not known */
} dropout_mask;

typedef struct mask_list {
	int count;
	dropout_mask masks[MOST_MASKS];
} mask_list;

/* The number of a new one. */
static int mask_open(mask_list *list, const char *stack, int64_t layer, const char *site)
{
	assert_true(list->count < MOST_MASKS);
	dropout_mask *m = &list->masks[list->count];
	memset(m->kept, -1, sizeof m->kept);
	snprintf(m->name, sizeof m->name, "%s, layer %lld: %s", stack, (long long)layer, site);
	return list->count++;
}

/* Of two masks that have nothing to do with each other half of the elements differ; 5 standard deviations
 * either way. Each keeps half. */
static void check_masks(const kit *k, const mask_list *list)
{
	for (int i = 0; i < list->count; i++) {
		for (int j = 0; j <= i; j++) {
			const dropout_mask *a = &list->masks[i], *b = &list->masks[j];
			int both = 0, differ = 0;
			for (int n = 0; n < T * T; n++) {
				const signed char x = (&a->kept[0][0])[n], y = (&b->kept[0][0])[n];
				both += x >= 0 && y >= 0;
				differ += x >= 0 && y >= 0 && x != (i == j ? 0 : y);
			}
			CHECK(k, both > T * T / 3 && fabs(differ - both / 2.0) < 2.5 * sqrt(both),
			      "%s and %s: %d of %d elements differ", a->name,
			      i == j ? "nothing kept" : b->name, differ, both);
		}
	}
}

/* ---- a model whose numbers are set ---- */

/* Both stacks, their norms first: what a layer adds stays as it is added. No dropout yet. */
static hec_model_config bare_config(model_form form, hec_head head)
{
	const hec_stack_config stack = {
		.attention = {.size = sizeof stack.attention, .heads = 1, .d_k = 1, .d_v = T},
		.feed_forward = {.size = sizeof stack.feed_forward,
	                         .hidden = WIDTH,
	                         .act = HEC_ACT_RELU},
		.norm = HEC_NORM_RMS, /* zeros stay zeros */
		.norm_first = true,
	};
	hec_model_config c = {.size = sizeof c,
	                      .vocab = T,
	                      .width = WIDTH,
	                      .head = head,
	                      .labels = head == HEC_HEAD_NONE ? 0 : T,
	                      .pool_act = HEC_ACT_RELU,
	                      .pad_id = -1,
	                      .bos_id = -1,
	                      .eos_id = -1,
	                      .start_id = -1};
	if (form != FORM_DECODER) {
		c.encoder = stack;
		c.encoder.layers = ENCODER_LAYERS;
	}
	if (form != FORM_ENCODER) {
		c.decoder = stack;
		c.decoder.layers = DECODER_LAYERS;
	}
	return c;
}

/* The rates of a model: as it was made, or as they were set later. Less than 0: none. */
static hec_model *bare_model(const kit *k, hec_model_config c, double plain, double weights,
                             double hidden, bool later)
{
	hec_stack_config *stacks[2] = {&c.encoder, &c.decoder};
	for (int i = 0; i < 2 && !later; i++) {
		stacks[i]->dropout = stacks[i]->attention.dropout_out =
			stacks[i]->feed_forward.dropout_out = fmax(plain, 0);
		stacks[i]->attention.dropout_weights = fmax(weights, 0);
		stacks[i]->feed_forward.dropout_hidden = fmax(hidden, 0);
	}
	if (!later)
		c.head_dropout = fmax(plain, 0);
	hec_model *m = NULL;
	OK(k, hec_model_create(k->ctx, &c, HEC_F32, 1, &m));
	if (later)
		OK(k, hec_model_set_dropout(m, plain, weights, hidden));
	for (size_t i = 0; i < hec_model_param_count(m); i++) {
		hec_tensor t = hec_model_tensor(m, i);
		const char *name = hec_model_param_at(m, i)->name;
		fill_with(&t, strstr(name, "gamma") ? 1 : 0);
	}
	return m;
}

static hec_tensor param(const kit *k, const hec_model *m, const char *format, int64_t layer)
{
	char name[96];
	snprintf(name, sizeof name, format, (long long)layer);
	for (size_t i = 0; i < hec_model_param_count(m); i++)
		if (strcmp(hec_model_param_at(m, i)->name, name) == 0)
			return hec_model_tensor(m, i);
	CHECK(k, false, "there is no %s", name);
	return (hec_tensor)HEC_TENSOR_NONE;
}

/* t[i, column + i] = value. */
static void put_diagonal(const hec_tensor *t, int64_t row, int64_t column, int64_t n, double value)
{
	for (int64_t i = 0; i < n; i++)
		put(t, (row + i) * t->shape[1] + column + i, value);
}

/* Words 0 … T − 1, one after the other; each by itself where a text has one label. */
static hec_model_output run_model(kit *k, const hec_model *m)
{
	static const hec_dropout_key key = {0x123456789, 11, 3};
	const hec_model_config *c = hec_model_config_of(m);
	const bool row_each = c->head == HEC_HEAD_CLASSIFY;
	hec_tensor ids = make(k, HEC_I32, row_each ? SHAPE(T, 1) : SHAPE(1, T));
	for (int64_t i = 0; i < T; i++)
		put(&ids, i, (double)i);
	hec_model_input in = {.size = sizeof in};
	hec_model_output out = {.size = sizeof out};
	if (c->encoder.layers > 0)
		in.ids = ids;
	if (c->decoder.layers > 0)
		in.decoder_ids = ids;
	out.hidden = make(k, HEC_F32, row_each ? SHAPE(T, 1, WIDTH) : SHAPE(1, T, WIDTH));
	if (c->head != HEC_HEAD_NONE)
		out.logits = make(k, HEC_F32, row_each ? SHAPE(T, T) : SHAPE(1, T, T));
	if (c->encoder.layers > 0 && c->decoder.layers > 0)
		out.memory = make(k, HEC_F32, SHAPE(1, T, WIDTH));
	OK(k, hec_model_fwd(k->ctx, k->arena, m, &in, &key, &out, NULL));
	return out;
}

/* ---- reading masks ---- */

/* x: 2 · (kept₀ + 2 · kept₁ + 4 · kept₂ + …), at a rate of one half. */
static void read_bits(const kit *k, const hec_tensor *x, const int *sites, int n, mask_list *list)
{
	for (int64_t t = 0; t < T; t++)
		for (int64_t c = 0; c < T; c++) {
			const double value = get(x, t * WIDTH + c);
			const int64_t bits = (int64_t)value / 2;
			CHECK(k, value == (double)(2 * bits) && bits >= 0 && bits < (int64_t)1 << n,
			      "row %lld, column %lld is %g", (long long)t, (long long)c, value);
			for (int i = 0; i < n; i++)
				list->masks[sites[i]].kept[t][c] = (signed char)(bits >> i & 1);
		}
}

/* What ends a sublayer adds its power of two everywhere, whatever it reads. */
static const struct {
	bool encoder, cross;
	const char *site, *bias;
} ends[] = {
	{true, false, "attention", "encoder.layers.%lld.attention.out.b"},
	{true, false, "feed-forward", "encoder.layers.%lld.feed_forward.down.b"},
	{false, false, "attention", "decoder.layers.%lld.self.out.b"},
	{false, true, "cross-attention", "decoder.layers.%lld.cross.out.b"},
	{false, false, "feed-forward", "decoder.layers.%lld.feed_forward.down.b"},
};

static int add_ends(const kit *k, const hec_model *m, bool encoder, mask_list *list, int sites[])
{
	const bool both = hec_model_config_of(m)->encoder.layers > 0;
	int n = 0;
	sites[n++] = mask_open(list, encoder ? "encoder" : "decoder", 0, "embeddings");
	for (int64_t l = 0; l < (encoder ? ENCODER_LAYERS : DECODER_LAYERS); l++)
		for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
			if (ends[i].encoder != encoder || (ends[i].cross && !both))
				continue;
			hec_tensor b = param(k, m, ends[i].bias, l);
			fill_with(&b, (double)(1 << n));
			sites[n++] =
				mask_open(list, encoder ? "encoder" : "decoder", l, ends[i].site);
		}
	return n;
}

/* The same of what stands inside the feed-forward networks: 1, and a power of two on the way out. */
static int add_hidden(const kit *k, const hec_model *m, bool encoder, mask_list *list, int sites[])
{
	int n = 0;
	for (int64_t l = 0; l < (encoder ? ENCODER_LAYERS : DECODER_LAYERS); l++) {
		hec_tensor up = param(k, m,
		                      encoder ? "encoder.layers.%lld.feed_forward.up.b"
		                              : "decoder.layers.%lld.feed_forward.up.b",
		                      l),
			   down = param(k, m,
		                        encoder ? "encoder.layers.%lld.feed_forward.down.w"
		                                : "decoder.layers.%lld.feed_forward.down.w",
		                        l);
		fill_with(&up, 1);
		put_diagonal(&down, 0, 0, WIDTH, (double)(1 << n));
		sites[n++] = mask_open(list, encoder ? "encoder" : "decoder", l, "hidden");
	}
	return n;
}

static void read_rows(kit *k, bool hidden, bool later, mask_list *list)
{
	int sites[2][16], n[2];
	hec_model *m = bare_model(k, bare_config(FORM_BOTH, HEC_HEAD_NONE), hidden ? -1 : 0.5, -1,
	                          hidden ? 0.5 : -1, later);
	hec_tensor words = param(k, m, "embedding", 0);
	fill_with(&words, hidden ? 0 : 1);
	for (int encoder = 0; encoder < 2; encoder++)
		n[encoder] = (hidden ? add_hidden : add_ends)(k, m, encoder, list, sites[encoder]);
	hec_model_output out = run_model(k, m);
	read_bits(k, &out.hidden, sites[0], n[0], list);
	read_bits(k, &out.memory, sites[1], n[1], list);
	hec_model_destroy(m);
}

/* Each word is a column of its own, and so is what an attention copies of it: a row of the copies has a
 * zero where the weight was dropped. */
static void copy_words(const kit *k, const hec_model *m, const char *attention, int64_t layer,
                       int64_t place)
{
	char name[64];
	snprintf(name, sizeof name, "%s.v.w", attention);
	hec_tensor v = param(k, m, name, layer);
	snprintf(name, sizeof name, "%s.out.w", attention);
	hec_tensor out = param(k, m, name, layer);
	put_diagonal(&v, 0, 0, T, 1);
	put_diagonal(&out, place * T, 0, T, 1);
}

static void read_copies(const hec_tensor *x, int64_t place, bool causal, mask_list *list, int mask)
{
	for (int64_t t = 0; t < T; t++)
		for (int64_t s = 0; s < (causal ? t + 1 : T); s++)
			list->masks[mask].kept[t][s] = get(x, t * WIDTH + place * T + s) != 0;
}

static void read_weights(kit *k, bool later, mask_list *list)
{
	hec_model *m = bare_model(k, bare_config(FORM_BOTH, HEC_HEAD_NONE), -1, 0.5, -1, later);
	hec_tensor words = param(k, m, "embedding", 0);
	put_diagonal(&words, 0, 0, T, 1);
	for (int64_t l = 0; l < ENCODER_LAYERS; l++)
		copy_words(k, m, "encoder.layers.%lld.attention", l, 1 + l);
	for (int64_t l = 0; l < DECODER_LAYERS; l++) {
		copy_words(k, m, "decoder.layers.%lld.self", l, 1 + 2 * l);
		copy_words(k, m, "decoder.layers.%lld.cross", l, 2 + 2 * l);
	}
	hec_model_output out = run_model(k, m);
	for (int64_t l = 0; l < ENCODER_LAYERS; l++)
		read_copies(&out.memory, 1 + l, false, list,
		            mask_open(list, "encoder", l, "weights"));
	for (int64_t l = 0; l < DECODER_LAYERS; l++) {
		read_copies(&out.hidden, 1 + 2 * l, true, list,
		            mask_open(list, "decoder", l, "weights"));
		read_copies(&out.hidden, 2 + 2 * l, false, list,
		            mask_open(list, "decoder", l, "cross-attention's weights"));
	}
	hec_model_destroy(m);
}

static void check_all_sites(bool later)
{
	static mask_list list;
	kit k = kit_open(4600);
	list.count = 0;
	read_rows(&k, false, later, &list);
	read_rows(&k, true, later, &list);
	read_weights(&k, later, &list);
	assert_int_equal(list.count, 1 + 4 * ENCODER_LAYERS + 1 + 6 * DECODER_LAYERS);
	check_masks(&k, &list);
	kit_close(&k);
}

static void every_site_of_every_layer_has_a_mask_of_its_own(void **state)
{
	(void)state;
	check_all_sites(false);
}

static void rates_that_are_set_later_reach_every_site(void **state)
{
	(void)state;
	check_all_sites(true);
}

/* ---- before the head ---- */

static const struct {
	const char *name;
	model_form form;
	hec_head head;
	bool plain, tanh;
} heads[] = {
	{"tokens of an encoder", FORM_ENCODER, HEC_HEAD_TOKENS, false, false},
	{"tokens of a decoder", FORM_DECODER, HEC_HEAD_TOKENS, false, false},
	{"classes by a dense layer", FORM_ENCODER, HEC_HEAD_CLASSIFY, false, false},
	{"classes by a pooler", FORM_ENCODER, HEC_HEAD_CLASSIFY, false, true},
	{"classes by the row itself", FORM_DECODER, HEC_HEAD_CLASSIFY, true, false},
};

/* Each number of the hidden states tells what was dropped before; the first T of what the head reads are its
 * logits, once more dropped or doubled. A dense layer in between makes 1 of everything. */
static void read_head(kit *k, size_t h, bool later, mask_list *list)
{
	hec_model_config c = bare_config(heads[h].form, heads[h].head);
	c.head_plain = heads[h].plain;
	c.pool_act = heads[h].tanh ? HEC_ACT_TANH : HEC_ACT_RELU;
	c.head_row = heads[h].form == FORM_DECODER ? HEC_ROW_LAST : HEC_ROW_FIRST;
	hec_model *m = bare_model(k, c, 0.5, -1, -1, later);
	hec_tensor labels = param(k, m, "head.labels.w", 0), words = param(k, m, "embedding", 0);
	const bool dense = heads[h].head == HEC_HEAD_CLASSIFY && !heads[h].plain;
	put_diagonal(&labels, 0, 0, T, 1);
	fill_with(&words, 1);
	if (dense) {
		hec_tensor b = param(k, m, "head.dense.b", 0);
		fill_with(&b, 1);
	}
	int sites[16];
	const int head = mask_open(list, heads[h].name, 0, "head"),
		  n = add_ends(k, m, heads[h].form == FORM_ENCODER, list, sites);
	hec_model_output out = run_model(k, m);
	read_bits(k, &out.hidden, sites, n, list);
	for (int64_t t = 0; t < T; t++)
		for (int64_t i = 0; i < T; i++) {
			const double got = get(&out.logits, t * T + i),
				     read = heads[h].tanh ? tanh(1)
			                    : dense       ? 1
			                                  : get(&out.hidden, t * WIDTH + i);
			CHECK(k, got == 0 || fabs(got - 2 * read) < 1e-6 * read,
			      "%s: row %lld, label %lld is %g, of %g", heads[h].name, (long long)t,
			      (long long)i, got, read);
			if (read != 0)
				list->masks[head].kept[t][i] = got != 0;
		}
	hec_model_destroy(m);
}

static void what_a_head_reads_is_dropped_by_a_mask_of_its_own(void **state)
{
	(void)state;
	static mask_list list;
	for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
		for (int later = 0; later < 2; later++) {
			kit k = kit_open(4610 + h);
			list.count = 0;
			read_head(&k, h, later, &list);
			check_masks(&k, &list);
			kit_close(&k);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_site_of_every_layer_has_a_mask_of_its_own),
		cmocka_unit_test(rates_that_are_set_later_reach_every_site),
		cmocka_unit_test(what_a_head_reads_is_dropped_by_a_mask_of_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
