/* registry.c — the families there are. */
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "model/family.h"
#include "model/model.h"

/* In the order in which they are asked whether they can say a configuration. */
static const family *const families[] = {
	&family_marian, &family_bert,  &family_distilbert, &family_roberta, &family_xlm_roberta,
	&family_gpt2,   &family_llama, &family_mistral,    &family_qwen2,   &family_bart,
	&family_mbart,  &family_t5,    &family_whisper,    &family_hecate,
};
#define FAMILIES (sizeof families / sizeof *families)

static const family *by_type(const char *name)
{
	for (size_t i = 0; i < FAMILIES; i++)
		if (strcmp(families[i]->model_type, name) == 0)
			return families[i];
	return NULL;
}

static const family *by_architecture(const char *name)
{
	for (size_t i = 0; i < FAMILIES; i++)
		for (const family_architecture *a = families[i]->architectures; a->name; a++)
			if (strcmp(a->name, name) == 0)
				return families[i];
	return NULL;
}

hec_status family_find(const json_scope *config, const family **out)
{
	const char *type = NULL;
	json_t *list = NULL;
	HEC_TRY(json_want_string(config, "model_type", &type));
	HEC_TRY(json_want_array(config, "architectures", &list));
	const char *architecture = json_string_value(json_array_get(list, 0));
	*out = type ? by_type(type) : architecture ? by_architecture(architecture) : NULL;
	if (*out)
		return HEC_OK;
	char known[200] = "", file[QUOTE_TEXT], word[QUOTE_TEXT];
	for (size_t i = 0; i < FAMILIES; i++) {
		size_t n = strlen(known);
		snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "",
		         families[i]->model_type);
	}
	const char *said = type ? type : architecture;
	if (!said)
		return fail(HEC_ERR_FORMAT,
		            "%s: neither 'model_type' nor 'architectures' says what it is; known "
		            "are: %s",
		            quote(config->file, file), known);
	return fail(HEC_ERR_UNSUPPORTED, "%s: the family '%s' is not known; known are: %s",
	            quote(config->file, file), quote(said, word), known);
}

/* What a family's config.json cannot say, and its reader asks the files for. */
static void take_from_files(const hec_model_config *c, hec_model_config *back)
{
	back->output_bias = back->output_bias || c->output_bias;
	back->pooler = back->pooler || c->pooler;
	back->separate_output = back->separate_output || c->separate_output;
}

/* A configuration, written by a family and read again. What it cannot say, its reader refuses (*read is then
 * false), or it comes back as something else. */
static hec_status write_and_read(const family *f, const hec_model_config *c, hec_model_config *back,
                                 bool *read)
{
	json_t *written;
	json_scope s;
	HEC_TRY(family_write(f, c, &written));
	hec_status status = json_scope_root("config.json", written, &s);
	*read = status == HEC_OK && family_read(f, &s, back) == HEC_OK;
	json_decref(written);
	if (*read && f->look)
		take_from_files(c, back);
	*read = *read && hec_model_config_resolve(back) == HEC_OK;
	return status;
}

/* Whether a config.json of this family, read again, is the same configuration. */
static hec_status expresses(const family *f, const hec_model_config *c, bool *yes)
{
	hec_model_config back;
	HEC_TRY(write_and_read(f, c, &back, yes));
	return *yes ? family_same(c, &back, yes) : HEC_OK;
}

hec_status family_for(const hec_model_config *c, const family *first, const family **out)
{
	bool yes = false;
	*out = first;
	if (first)
		HEC_TRY(expresses(first, c, &yes));
	for (size_t i = 0; !yes && i < FAMILIES; i++) {
		*out = families[i];
		HEC_TRY(expresses(families[i], c, &yes));
	}
	if (yes)
		return HEC_OK;
	return fail(HEC_ERR_INTERNAL, "our own config.json cannot say this model");
}

hec_status model_embeds_with_decoder(const hec_model *model, bool *yes)
{
	const family *f = model->family;
	*yes = false;
	if (!model_has_encoder(model) || !model_has_decoder(model))
		return HEC_OK;
	if (!f)
		HEC_TRY(family_for(&model->config, NULL, &f));
	*yes = f->embeds_with_decoder;
	return HEC_OK;
}
