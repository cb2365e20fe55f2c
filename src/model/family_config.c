/* family_config.c — config.json by the keys of a family, in and out, and whether two configurations
 * mean the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "model/family.h"
#include "model/model.h"

const family_word family_activations[] = {
	{"relu", HEC_ACT_RELU},
	{"gelu", HEC_ACT_GELU},
	{"gelu_python", HEC_ACT_GELU},
	{"gelu_new", HEC_ACT_GELU_TANH},
	{"gelu_pytorch_tanh", HEC_ACT_GELU_TANH},
	{"gelu_fast", HEC_ACT_GELU_TANH},
	{"swish", HEC_ACT_SILU},
	{"silu", HEC_ACT_SILU},
	{"tanh", HEC_ACT_TANH},
	{NULL, 0},
};

static void *field_of(hec_model_config *c, const family_key *k)
{
	return (char *)c + k->offset;
}

static const void *const_field_of(const hec_model_config *c, const family_key *k)
{
	return (const char *)c + k->offset;
}

/* ---- reading ---- */

static hec_status read_id(const json_scope *s, const char *key, int32_t *out)
{
	const json_t *value = json_object_get(s->object, key);
	int64_t id = *out;
	if (json_is_null(value)) {
		*out = -1;
		return HEC_OK;
	}
	if (json_is_array(value)) {
		if (!json_whole(json_array_get(value, 0), &id) || id < 0 || id > INT32_MAX)
			return json_wrong(s, key, value, "an id or a list of ids");
	} else {
		HEC_TRY(json_want_int(s, key, -1, INT32_MAX, &id));
	}
	*out = (int32_t)id;
	return HEC_OK;
}

static hec_status read_word(const json_scope *s, const family_key *k, const char *key, int *out)
{
	const char *word = NULL;
	if (k->fallback == NEEDED)
		HEC_TRY(json_need_string(s, key, &word));
	else
		HEC_TRY(json_want_string(s, key, &word));
	if (!word)
		return HEC_OK;
	char known[200] = "", quoted[QUOTE_TEXT], name[QUOTE_TEXT];
	for (const family_word *w = k->words; w->word; w++) {
		if (strcmp(w->word, word) == 0) {
			*out = w->value;
			return HEC_OK;
		}
		size_t n = strlen(known);
		snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", w->word);
	}
	return fail(HEC_ERR_UNSUPPORTED, "%s: '%s%s' is '%s'; known are: %s", quote(s->file, name),
	            s->path, key, quote(word, quoted), known);
}

static hec_status read_flag(const json_scope *s, const char *key, bool other_way, bool *out)
{
	bool value = *out != other_way;
	HEC_TRY(json_want_bool(s, key, &value));
	*out = value != other_way;
	return HEC_OK;
}

static hec_status read_number(const json_scope *s, const family_key *k, const char *key, void *to)
{
	bool need = k->fallback == NEEDED;
	double least = k->kind == KEY_RATE ? 0 : -INFINITY,
	       most = k->kind == KEY_RATE ? 1 : INFINITY;
	switch (k->kind) {
	case KEY_SIZE:
	case KEY_COUNT:
		return (need ? json_need_int : json_want_int)(s, key, k->kind == KEY_SIZE,
		                                              INT32_MAX, to);
	case KEY_ID:
		return read_id(s, key, to);
	case KEY_RATE:
	case KEY_REAL:
		return (need ? json_need_double : json_want_double)(s, key, least, most, to);
	case KEY_FLAG:
	case KEY_NOT:
		return read_flag(s, key, k->kind == KEY_NOT, to);
	case KEY_WORD:
		return read_word(s, k, key, to);
	}
	return HEC_OK;
}

static void set_fallback(const family_key *k, void *to)
{
	double value = k->fallback == NEEDED ? 0 : k->fallback;
	switch (k->kind) {
	case KEY_SIZE:
	case KEY_COUNT:
		*(int64_t *)to = (int64_t)value;
		break;
	case KEY_ID:
		*(int32_t *)to = (int32_t)value;
		break;
	case KEY_RATE:
	case KEY_REAL:
		*(double *)to = value;
		break;
	case KEY_FLAG:
		*(bool *)to = value != 0;
		break;
	case KEY_NOT:
		*(bool *)to = value == 0;
		break;
	case KEY_WORD:
		*(int *)to = (int)value;
		break;
	}
}

static hec_status read_key(const json_scope *s, const family_key *k, hec_model_config *c)
{
	json_scope at = *s;
	const char *key = k->key;
	set_fallback(k, field_of(c, k));
	for (const char *dot; (dot = strchr(key, '.')); key = dot + 1) {
		char outer[48];
		bool found;
		snprintf(outer, sizeof outer, "%.*s", (int)(dot - key), key);
		json_scope inner;
		HEC_TRY(json_want_object(&at, outer, &inner, &found));
		if (!found && k->fallback == NEEDED)
			return json_wrong(&at, outer, NULL, "an object {…}");
		if (!found)
			return HEC_OK;
		at = inner;
	}
	return read_number(&at, k, key, field_of(c, k));
}

static hec_status read_head(const family *f, const json_scope *s, hec_model_config *c)
{
	json_t *list = NULL;
	c->head = f->architectures->head;
	HEC_TRY(json_want_array(s, "architectures", &list));
	const char *name = json_string_value(json_array_get(list, 0));
	if (!name)
		return HEC_OK;
	char known[300] = "", file[QUOTE_TEXT], word[QUOTE_TEXT];
	for (const family_architecture *a = f->architectures; a->name; a++) {
		if (strcmp(a->name, name) == 0) {
			c->head = a->head;
			return HEC_OK;
		}
		size_t n = strlen(known);
		snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", a->name);
	}
	return fail(HEC_ERR_UNSUPPORTED,
	            "%s: the architecture '%s' is not known; of %s there are: %s",
	            quote(s->file, file), quote(name, word), f->model_type, known);
}

hec_status family_read(const family *f, const json_scope *s, hec_model_config *out)
{
	hec_model_config c = {.size = sizeof c};
	c.pad_id = c.bos_id = c.eos_id = c.start_id = -1;
	HEC_TRY(read_head(f, s, &c));
	f->begin(&c);
	for (const family_key *k = f->keys; k->key; k++)
		HEC_TRY(read_key(s, k, &c));
	if (f->read)
		HEC_TRY(f->read(s, &c));
	/* Ids that the family has from its largest model stay in the files of small ones: no word is meant. */
	int32_t *const ids[] = {&c.pad_id, &c.bos_id, &c.eos_id, &c.start_id};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		if (*ids[i] >= c.vocab)
			*ids[i] = -1;
	*out = c;
	return HEC_OK;
}

/* ---- writing ---- */

static json_t *value_of(const family_key *k, const void *from)
{
	switch (k->kind) {
	case KEY_SIZE:
	case KEY_COUNT:
		return json_integer(*(const int64_t *)from);
	case KEY_ID:
		return *(const int32_t *)from < 0 ? json_null()
		                                  : json_integer(*(const int32_t *)from);
	case KEY_RATE:
	case KEY_REAL:
		return json_real(*(const double *)from);
	case KEY_FLAG:
		return json_boolean(*(const bool *)from);
	case KEY_NOT:
		return json_boolean(!*(const bool *)from);
	case KEY_WORD:
		for (const family_word *w = k->words; w->word; w++)
			if (w->value == *(const int *)from)
				return json_string(w->word);
		return json_null(); /* not sayable: reading it again shows that */
	}
	return NULL;
}

static hec_status write_key(json_t *config, const family_key *k, const hec_model_config *c)
{
	const char *key = k->key;
	json_t *at = config;
	for (const char *dot; (dot = strchr(key, '.')); key = dot + 1) {
		char outer[48];
		snprintf(outer, sizeof outer, "%.*s", (int)(dot - key), key);
		if (!json_object_get(at, outer))
			HEC_TRY(json_put(at, outer, json_object()));
		at = json_object_get(at, outer);
	}
	/* Of several fields under one key the first is written; that the others are the same is what
	 * reading it again shows. */
	return json_object_get(at, key) ? HEC_OK
	                                : json_put(at, key, value_of(k, const_field_of(c, k)));
}

static hec_status write_all(const family *f, const hec_model_config *c, json_t *config)
{
	const family_architecture *a = f->architectures;
	while (a->name && a->head != c->head)
		a++;
	if (a->name)
		HEC_TRY(json_put(config, "architectures", json_pack("[s]", a->name)));
	HEC_TRY(json_put(config, "model_type", json_string(f->model_type)));
	for (const family_key *k = f->keys; k->key; k++)
		HEC_TRY(write_key(config, k, c));
	return f->write ? f->write(c, config) : HEC_OK;
}

hec_status family_write(const family *f, const hec_model_config *c, json_t **out)
{
	json_t *config = json_object();
	if (!config)
		return fail(HEC_ERR_MEMORY, "no memory for config.json");
	hec_status status = write_all(f, c, config);
	if (status != HEC_OK)
		json_decref(config);
	else
		*out = config;
	return status;
}

/* ---- comparing ---- */

static void clear_what_does_nothing_in(hec_stack_config *s)
{
	if (s->layers == 0) {
		*s = (hec_stack_config){0};
		return;
	}
	hec_position_config *p = &s->position, plain = {.kind = p->kind, .max = p->max};
	if (p->kind == HEC_POSITION_SINUSOIDAL) {
		plain.base = p->base;
		plain.sinusoid = p->sinusoid;
	}
	if (p->kind == HEC_POSITION_LEARNED) {
		plain.offset = p->offset;
		plain.skip_padding = p->skip_padding;
	}
	if (p->kind == HEC_POSITION_ROTARY) {
		plain.base = p->base;
		plain.pairs = p->pairs;
		plain.rotary_width = p->rotary_width;
		plain.scaling = p->scaling;
	}
	if (p->kind == HEC_POSITION_RELATIVE) {
		plain.buckets = p->buckets;
		plain.max_distance = p->max_distance;
	}
	*p = plain;
	if (s->window == 0 || s->window_from >= s->layers)
		s->window = s->window_from = 0;
	s->attention.fused = false;
	s->dropout = 0;
	s->attention.dropout_qkv = s->attention.dropout_weights = s->attention.dropout_out = 0;
	s->feed_forward.dropout_hidden = s->feed_forward.dropout_out = 0;
}

static void clear_what_does_nothing(hec_model_config *c)
{
	bool both = c->encoder.layers > 0 && c->decoder.layers > 0;
	bool words = head_is_vocabulary(c->head);
	clear_what_does_nothing_in(&c->encoder);
	clear_what_does_nothing_in(&c->decoder);
	c->init_std = 0;
	c->head_dropout = 0;
	if (!both) {
		c->separate_embeddings = false;
		c->start_id = -1;
		c->start_last = false;
	}
	if (!words)
		c->separate_output = c->output_bias = false;
	if (c->head != HEC_HEAD_LM)
		c->output_scale = 1;
	if (c->head != HEC_HEAD_MASKED)
		c->head_act = HEC_ACT_NONE;
	if (c->head != HEC_HEAD_CLASSIFY) {
		c->head_row = HEC_ROW_FIRST;
		c->head_plain = false;
	}
	if (c->head != HEC_HEAD_CLASSIFY || c->head_plain)
		c->pool_act = HEC_ACT_NONE;
	if (words || c->head == HEC_HEAD_NONE)
		c->labels = 0;
}

/* Two configurations as our own config.json has them, which says everything. */
typedef struct config_pair {
	json_t *a, *b;
} config_pair;

static void close_pair(config_pair *pair)
{
	json_decref(pair->a);
	json_decref(pair->b);
}

static hec_status write_pair(const hec_model_config *a, const hec_model_config *b,
                             config_pair *pair)
{
	*pair = (config_pair){NULL, NULL};
	hec_status status = family_write(&family_hecate, a, &pair->a);
	if (status == HEC_OK)
		status = family_write(&family_hecate, b, &pair->b);
	if (status != HEC_OK)
		close_pair(pair);
	return status;
}

hec_status family_same(const hec_model_config *a, const hec_model_config *b, bool *same)
{
	hec_model_config x = *a, y = *b;
	config_pair pair;
	clear_what_does_nothing(&x);
	clear_what_does_nothing(&y);
	HEC_TRY(write_pair(&x, &y, &pair));
	*same = json_equal(pair.a, pair.b);
	close_pair(&pair);
	return HEC_OK;
}

static void value_text(const json_t *value, char text[64])
{
	size_t n =
		value ? json_dumpb(value, text, 63, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : 0;
	text[n < 63 ? n : 63] = '\0';
	if (n == 0)
		snprintf(text, 64, "missing");
}

/* Depth first, in the order of the keys. */
static bool first_difference(const char *path, const json_t *there, const json_t *here,
                             char text[FAMILY_DIFFERENCE])
{
	char left[64], right[64], inner[100];
	if (!json_is_object(there) || !json_is_object(here)) {
		if (json_equal(there, here))
			return false;
		value_text(there, left);
		value_text(here, right);
		snprintf(text, FAMILY_DIFFERENCE, "'%s' is %s there and %s here", path, left,
		         right);
		return true;
	}
	const char *key;
	const json_t *value;
	json_object_foreach((json_t *)(uintptr_t)here, key, value)
	{
		snprintf(inner, sizeof inner, "%s%s%s", path, path[0] ? "." : "", key);
		if (first_difference(inner, json_object_get(there, key), value, text))
			return true;
	}
	return false;
}

static void without_made_tables(hec_stack_config *s)
{
	if (s->position.kind != HEC_POSITION_LEARNED)
		s->position.max = 0;
}

hec_status family_difference(const hec_model_config *there, const hec_model_config *here,
                             char text[FAMILY_DIFFERENCE])
{
	hec_model_config x = *there, y = *here;
	config_pair pair;
	clear_what_does_nothing(&x);
	clear_what_does_nothing(&y);
	without_made_tables(&x.encoder);
	without_made_tables(&x.decoder);
	without_made_tables(&y.encoder);
	without_made_tables(&y.decoder);
	text[0] = '\0';
	HEC_TRY(write_pair(&x, &y, &pair));
	(void)first_difference("", pair.a, pair.b, text);
	close_pair(&pair);
	return HEC_OK;
}
