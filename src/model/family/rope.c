/* rope.c — how far rotary positions turn, as config.json says it: since Transformers 5 in
 * "rope_parameters", before in "rope_theta" and "rope_scaling". */
#include "model/family/rope.h"

#include <math.h>
#include <string.h>

#include "base/quote.h"

static const family_word stretches[] = {
	{"default", HEC_ROTARY_PLAIN},
	{"linear", HEC_ROTARY_LINEAR},
	{"dynamic", HEC_ROTARY_DYNAMIC},
	{"llama3", HEC_ROTARY_LLAMA3},
	{"yarn", HEC_ROTARY_YARN},
	{"longrope", HEC_ROTARY_LONG},
	{NULL, 0},
};

/* As a file of Transformers writes a factor that is not said. */
static double usual_attention(double factor, double mscale)
{
	return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

static hec_status read_kind(const json_scope *s, hec_rotary_scaling *r)
{
	const char *name = "default";
	char file[QUOTE_TEXT], word[QUOTE_TEXT];
	HEC_TRY(json_want_string(s, "type", &name));
	HEC_TRY(json_want_string(s, "rope_type", &name));
	for (const family_word *w = stretches; w->word; w++) {
		if (strcmp(w->word, name) == 0) {
			r->kind = (hec_rotary_stretch)w->value;
			return HEC_OK;
		}
	}
	return fail(HEC_ERR_UNSUPPORTED,
	            "%s: '%srope_type' is '%s'; known are: default, linear, dynamic, llama3, "
	            "yarn, longrope",
	            quote(s->file, file), s->path, quote(name, word));
}

static hec_status read_yarn(const json_scope *s, hec_rotary_scaling *r)
{
	bool truncate = true;
	double mscale = 0, all = 0;
	r->fast = 32;
	r->slow = 1;
	HEC_TRY(json_want_double(s, "beta_fast", -INFINITY, INFINITY, &r->fast));
	HEC_TRY(json_want_double(s, "beta_slow", -INFINITY, INFINITY, &r->slow));
	HEC_TRY(json_want_double(s, "mscale", -INFINITY, INFINITY, &mscale));
	HEC_TRY(json_want_double(s, "mscale_all_dim", -INFINITY, INFINITY, &all));
	HEC_TRY(json_want_bool(s, "truncate", &truncate));
	r->exact = !truncate;
	r->attention_factor = mscale != 0 && all != 0 ? usual_attention(r->factor, mscale) /
	                                                        usual_attention(r->factor, all)
	                                              : usual_attention(r->factor, 1);
	return json_want_double(s, "attention_factor", -INFINITY, INFINITY, &r->attention_factor);
}

hec_status rope_read_factors(const json_scope *s, const char *key, double *out, int64_t *count)
{
	json_t *list;
	char needed[64];
	HEC_TRY(json_need_array(s, key, &list));
	const size_t n = json_array_size(list);
	if (n == 0 || n > HEC_ROTARY_FACTORS || (*count > 0 && (int64_t)n != *count)) {
		snprintf(needed, sizeof needed, "a list of 1 … %d numbers, as long as the other",
		         HEC_ROTARY_FACTORS);
		return json_wrong(s, key, list, needed);
	}
	for (size_t i = 0; i < n; i++) {
		if (!json_is_number(json_array_get(list, i)))
			return json_wrong(s, key, json_array_get(list, i), "a list of numbers");
		out[i] = json_number_value(json_array_get(list, i));
	}
	*count = (int64_t)n;
	return HEC_OK;
}

hec_status rope_put_factors(json_t *to, const char *key, const double *list, int64_t count)
{
	HEC_TRY(json_put(to, key, json_array()));
	for (int64_t i = 0; i < count; i++)
		if (json_array_append_new(json_object_get(to, key), json_real(list[i])) != 0)
			return fail(HEC_ERR_MEMORY, "no memory for '%s'", key);
	return HEC_OK;
}

/* The list for long texts is taken where that is asked for ("rope_long", which is our own). */
static hec_status read_long(const json_scope *s, const json_scope *outer, hec_position_config *p)
{
	hec_rotary_scaling *r = &p->scaling;
	r->longest = p->max;
	r->factor = (double)r->longest / (double)r->original;
	HEC_TRY(json_want_double(s, "factor", -INFINITY, INFINITY, &r->factor));
	r->attention_factor =
		r->factor <= 1 ? 1 : sqrt(1 + log(r->factor) / log((double)r->original));
	HEC_TRY(json_want_double(s, "attention_factor", -INFINITY, INFINITY, &r->attention_factor));
	HEC_TRY(rope_read_factors(s, "short_factor", r->short_factor, &r->factors));
	HEC_TRY(rope_read_factors(s, "long_factor", r->long_factor, &r->factors));
	HEC_TRY(json_want_bool(outer, "rope_long", &r->stretched));
	r->stretched = r->stretched && r->longest > r->original;
	if (!r->stretched && p->max > r->original)
		p->max = r->original;
	return HEC_OK;
}

/* Beside the others, where some say it, it holds. */
static hec_status read_original(const json_scope *s, const json_scope *outer, int64_t *original)
{
	const char *key = "original_max_position_embeddings";
	HEC_TRY(json_want_int(s, key, 1, INT32_MAX, original));
	return json_want_int(outer, key, 1, INT32_MAX, original);
}

static hec_status read_scaling(const json_scope *s, const json_scope *outer, hec_position_config *p)
{
	hec_rotary_scaling *r = &p->scaling;
	HEC_TRY(read_kind(s, r));
	if (r->kind == HEC_ROTARY_PLAIN)
		return HEC_OK;
	r->original = p->max;
	if (r->kind == HEC_ROTARY_LONG) {
		HEC_TRY(read_original(s, outer, &r->original));
		return read_long(s, outer, p);
	}
	HEC_TRY(json_need_double(s, "factor", -INFINITY, INFINITY, &r->factor));
	if (r->kind == HEC_ROTARY_LINEAR || r->kind == HEC_ROTARY_DYNAMIC) {
		r->original = 0;
		return HEC_OK;
	}
	HEC_TRY(read_original(s, outer, &r->original));
	if (r->kind == HEC_ROTARY_YARN)
		return read_yarn(s, r);
	HEC_TRY(json_need_double(s, "low_freq_factor", -INFINITY, INFINITY, &r->low));
	return json_need_double(s, "high_freq_factor", -INFINITY, INFINITY, &r->high);
}

hec_status rope_read(const json_scope *s, hec_position_config *p)
{
	json_scope inner;
	bool found = false;
	double part = 1;
	p->base = 10000;
	HEC_TRY(json_want_double(s, "rope_theta", -INFINITY, INFINITY, &p->base));
	HEC_TRY(json_want_double(s, "partial_rotary_factor", -INFINITY, INFINITY, &part));
	HEC_TRY(json_want_object(s, "rope_parameters", &inner, &found));
	if (found)
		HEC_TRY(json_want_double(&inner, "rope_theta", -INFINITY, INFINITY, &p->base));
	bool scaled = false;
	json_scope older;
	HEC_TRY(json_want_object(s, "rope_scaling", &older, &scaled));
	if (scaled)
		inner = older;
	if (found || scaled) {
		HEC_TRY(json_want_double(&inner, "rope_theta", -INFINITY, INFINITY, &p->base));
		HEC_TRY(json_want_double(&inner, "partial_rotary_factor", -INFINITY, INFINITY,
		                         &part));
		HEC_TRY(read_scaling(&inner, s, p));
	}
	if (part != 1) {
		char file[QUOTE_TEXT];
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s: 'partial_rotary_factor' is %g: this family turns whole heads",
		            quote(s->file, file), part);
	}
	return HEC_OK;
}

static hec_status put_scaling(const hec_rotary_scaling *r, json_t *to)
{
	HEC_TRY(json_put(to, "rope_type", json_string(stretches[r->kind].word)));
	if (r->kind == HEC_ROTARY_PLAIN)
		return HEC_OK;
	HEC_TRY(json_put(to, "factor", json_real(r->factor)));
	if (r->kind == HEC_ROTARY_LINEAR || r->kind == HEC_ROTARY_DYNAMIC)
		return HEC_OK;
	HEC_TRY(json_put(to, "original_max_position_embeddings", json_integer(r->original)));
	if (r->kind == HEC_ROTARY_LLAMA3) {
		HEC_TRY(json_put(to, "low_freq_factor", json_real(r->low)));
		return json_put(to, "high_freq_factor", json_real(r->high));
	}
	HEC_TRY(json_put(to, "attention_factor", json_real(r->attention_factor)));
	if (r->kind == HEC_ROTARY_LONG) {
		HEC_TRY(rope_put_factors(to, "short_factor", r->short_factor, r->factors));
		return rope_put_factors(to, "long_factor", r->long_factor, r->factors);
	}
	HEC_TRY(json_put(to, "beta_fast", json_real(r->fast)));
	HEC_TRY(json_put(to, "beta_slow", json_real(r->slow)));
	return json_put(to, "truncate", json_boolean(!r->exact));
}

/* In both ways, for readers of either. */
hec_status rope_write(const hec_position_config *p, json_t *config)
{
	HEC_TRY(json_put(config, "rope_theta", json_real(p->base)));
	if (p->scaling.kind == HEC_ROTARY_LONG) {
		HEC_TRY(json_put(config, "max_position_embeddings",
		                 json_integer(p->scaling.longest)));
		if (p->scaling.stretched)
			HEC_TRY(json_put(config, "rope_long", json_true()));
	}
	if (p->scaling.kind != HEC_ROTARY_PLAIN) {
		HEC_TRY(json_put(config, "rope_scaling", json_object()));
		HEC_TRY(put_scaling(&p->scaling, json_object_get(config, "rope_scaling")));
	}
	HEC_TRY(json_put(config, "rope_parameters", json_object()));
	json_t *to = json_object_get(config, "rope_parameters");
	HEC_TRY(json_put(to, "rope_theta", json_real(p->base)));
	return put_scaling(&p->scaling, to);
}
