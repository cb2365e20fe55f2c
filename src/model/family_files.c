/* family_files.c — what several families have in common: what their files say of a configuration that
 * config.json does not, and keys that they write alike. */
#include <string.h>

#include "base/quote.h"
#include "model/family.h"
#include "model/labels.h"

bool family_file_has(const safetensors *files, const char *prefix, const char *name)
{
	char whole[WEIGHT_NAME];
	snprintf(whole, sizeof whole, "%s%s", prefix, name);
	return safetensors_find(files, name) || safetensors_find(files, whole);
}

/* A bias of the output that is all zeros is none. */
hec_status family_look_bias(const safetensors *files, hec_model_config *c)
{
	const safetensors_entry *e = safetensors_find(files, "final_logits_bias");
	c->output_bias = false;
	if (c->head != HEC_HEAD_LM || !e)
		return HEC_OK;
	unsigned char piece[4096], zero[sizeof piece] = {0};
	uint64_t size = e->count ? e->bytes / e->count : 1, step = sizeof piece / 8;
	for (uint64_t i = 0; i < e->count && !c->output_bias; i += step) {
		uint64_t n = e->count - i < step ? e->count - i : step;
		HEC_TRY(safetensors_read(files, e, i, n, piece));
		c->output_bias = memcmp(piece, zero, (size_t)(n * size)) != 0;
	}
	return HEC_OK;
}

hec_status family_look_pooler(const safetensors *files, const char *prefix, hec_model_config *c)
{
	/* One of the two says that there is to be one; the other is then missed by its name. */
	c->pooler = c->head == HEC_HEAD_NONE &&
	            (family_file_has(files, prefix, "pooler.dense.weight") ||
	             family_file_has(files, prefix, "pooler.dense.bias"));
	return HEC_OK;
}

hec_status family_read_encoder(const json_scope *s, hec_model_config *c)
{
	bool decoder = false;
	HEC_TRY(json_want_bool(s, "is_decoder", &decoder));
	if (decoder) {
		char file[QUOTE_TEXT];
		return fail(HEC_ERR_UNSUPPORTED, "%s: 'is_decoder': true is not supported",
		            quote(s->file, file));
	}
	HEC_TRY(json_want_double(s, "classifier_dropout", 0, 1, &c->head_dropout));
	return labels_count(s, c);
}

hec_status family_read_labels(const json_scope *s, hec_model_config *c)
{
	if (c->head == HEC_HEAD_TOKENS) {
		c->head_dropout = 0.1;
		HEC_TRY(json_want_double(s, "hidden_dropout", 0, 1, &c->head_dropout));
		HEC_TRY(json_want_double(s, "classifier_dropout", 0, 1, &c->head_dropout));
	}
	return labels_count(s, c);
}

hec_status family_write_labels(const hec_model_config *c, json_t *config)
{
	if (c->head == HEC_HEAD_TOKENS)
		HEC_TRY(json_put(config, "classifier_dropout", json_real(c->head_dropout)));
	return labels_plain(c, config);
}

hec_status family_write_head_dropout(const hec_model_config *c, json_t *config)
{
	return c->head_dropout == c->encoder.dropout
	               ? HEC_OK
	               : json_put(config, "classifier_dropout", json_real(c->head_dropout));
}

hec_status family_generation(const hec_model_config *c, json_t *g)
{
	const struct {
		const char *key;
		int32_t id;
	} ids[] = {{"decoder_start_token_id", c->start_id},
	           {"pad_token_id", c->pad_id},
	           {"bos_token_id", c->bos_id},
	           {"eos_token_id", c->eos_id}};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		if (ids[i].id >= 0)
			HEC_TRY(json_put(g, ids[i].key, json_integer(ids[i].id)));
	return HEC_OK;
}

const char *family_architecture_of(const json_scope *s)
{
	const char *name =
		json_string_value(json_array_get(json_object_get(s->object, "architectures"), 0));
	return name ? name : "";
}
