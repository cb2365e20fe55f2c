/* config.c — a configuration made complete and checked, before anything is sized by it. */
#include "model/model.h"

#include <math.h>
#include <string.h>

#include "base/size.h"
#include "base/status.h"
#include "nn/dropout.h"
#include "nn/rotary.h"
#include "tensor/check.h"

#define LARGEST INT32_MAX /* of any single size */

bool head_is_vocabulary(hec_head head)
{
	return head == HEC_HEAD_LM || head == HEC_HEAD_MASKED;
}

int32_t model_padding_row(const hec_model_config *config)
{
	/* A word that ends sentences must be learned even where it also pads. */
	return config->pad_id == config->eos_id ? -1 : config->pad_id;
}

static hec_status check_size(const char *where, const char *name, int64_t value, int64_t least)
{
	if (value < least || value > LARGEST)
		return fail(HEC_ERR_ARGUMENT, "%s: %s is %lld, not %lld … %lld", where, name,
		            (long long)value, (long long)least, (long long)LARGEST);
	return HEC_OK;
}

static hec_status resolve_rotary(const char *where, hec_stack_config *s)
{
	hec_position_config *p = &s->position;
	if (p->pairs != HEC_ROTARY_HALVES && p->pairs != HEC_ROTARY_INTERLEAVED)
		return fail(HEC_ERR_ARGUMENT, "%s: rotary pairs %d are not known", where,
		            (int)p->pairs);
	if (p->rotary_width == 0)
		p->rotary_width = s->attention.d_k;
	if (p->rotary_width < 2 || p->rotary_width % 2 != 0 || p->rotary_width > s->attention.d_k)
		return fail(HEC_ERR_ARGUMENT,
		            "%s: rotary positions turn %lld numbers of a head of %lld: an even "
		            "number of them is needed",
		            where, (long long)p->rotary_width, (long long)s->attention.d_k);
	hec_status status = rotary_check_scaling(&p->scaling, p->rotary_width / 2);
	return status == HEC_OK ? status : fail_in(status, "%s", where);
}

/* Which row a token has then depends on those before it: sessions do not look back. */
static hec_status check_skip(const char *where, const hec_model_config *c,
                             const hec_stack_config *s, bool encoder)
{
	const hec_position_config *p = &s->position;
	if (!p->skip_padding)
		return HEC_OK;
	if (!encoder || p->kind != HEC_POSITION_LEARNED || p->offset < 1 || c->pad_id < 0)
		return fail(
			HEC_ERR_ARGUMENT,
			"%s: position.skip_padding is of an encoder with a pad_id (%d), learned "
			"positions and an offset (%lld) of 1 or more",
			where, (int)c->pad_id, (long long)p->offset);
	return HEC_OK;
}

static hec_status resolve_relative(const char *where, hec_position_config *p, bool bidirectional)
{
	if (p->buckets == 0)
		p->buckets = 32;
	if (p->max_distance == 0)
		p->max_distance = 128;
	HEC_TRY(check_size(where, "position.buckets", p->buckets, 1));
	HEC_TRY(check_size(where, "position.max_distance", p->max_distance, 1));
	int64_t exact = p->buckets / (bidirectional ? 4 : 2);
	if (exact < 1 || p->max_distance <= exact)
		return fail(HEC_ERR_ARGUMENT,
		            "%s: %lld relative buckets keep %lld distances apart, max_distance is "
		            "%lld",
		            where, (long long)p->buckets, (long long)exact,
		            (long long)p->max_distance);
	return HEC_OK;
}

static hec_status resolve_position(const char *where, hec_stack_config *s, bool bidirectional)
{
	hec_position_config *p = &s->position;
	if ((unsigned)p->kind > HEC_POSITION_RELATIVE)
		return fail(HEC_ERR_ARGUMENT, "%s: position kind %d is not known", where,
		            (int)p->kind);
	if (p->max == 0)
		p->max = 512;
	HEC_TRY(check_size(where, "position.max", p->max, 1));
	HEC_TRY(check_size(where, "position.offset", p->offset, 0));
	if (p->offset > 0 && p->kind != HEC_POSITION_LEARNED)
		return fail(HEC_ERR_ARGUMENT,
		            "%s: position.offset is %lld, only learned positions have one", where,
		            (long long)p->offset);
	if (p->fixed && p->kind != HEC_POSITION_LEARNED)
		return fail(
			HEC_ERR_ARGUMENT,
			"%s: position.fixed is of a table that the files have (learned), not of "
			"position kind %d",
			where, (int)p->kind);
	if (p->base == 0)
		p->base = 10000;
	if (!(p->base > 0) || !isfinite(p->base))
		return fail(HEC_ERR_ARGUMENT, "%s: position.base is %g", where, p->base);
	if (p->sinusoid != HEC_SINUSOID_INTERLEAVED && p->sinusoid != HEC_SINUSOID_HALVES)
		return fail(HEC_ERR_ARGUMENT, "%s: sinusoid %d is not known", where,
		            (int)p->sinusoid);
	if (p->kind == HEC_POSITION_ROTARY)
		return resolve_rotary(where, s);
	if (p->kind == HEC_POSITION_RELATIVE)
		return resolve_relative(where, p, bidirectional);
	return HEC_OK;
}

/* What the configuration leaves to the model is filled in; what it says must agree with it. */
static hec_status set_width(const char *where, const char *name, int64_t C, int64_t *width)
{
	if (*width == 0)
		*width = C;
	if (*width != C)
		return fail(HEC_ERR_ARGUMENT, "%s: %s is %lld, the model's width is %lld", where,
		            name, (long long)*width, (long long)C);
	return HEC_OK;
}

static hec_status set_size(const char *where, const char *name, size_t expected, size_t *size)
{
	if (*size == 0)
		*size = expected;
	if (*size != expected)
		return fail(HEC_ERR_ARGUMENT, "%s: %s.size is %zu, expected %zu", where, name,
		            *size, expected);
	return HEC_OK;
}

static hec_status resolve_stack(const char *where, const hec_model_config *c, hec_stack_config *s,
                                bool encoder)
{
	HEC_TRY(check_size(where, "layers", s->layers, 0));
	if (s->layers == 0)
		return HEC_OK;
	hec_multi_head_config *a = &s->attention;
	hec_feed_forward_config *f = &s->feed_forward;
	HEC_TRY(set_size(where, "attention", sizeof *a, &a->size));
	HEC_TRY(set_size(where, "feed_forward", sizeof *f, &f->size));
	HEC_TRY(set_width(where, "attention.width", c->width, &a->width));
	HEC_TRY(set_width(where, "attention.memory_width", c->width, &a->memory_width));
	HEC_TRY(set_width(where, "attention.out_width", c->width, &a->out_width));
	HEC_TRY(set_width(where, "feed_forward.width", c->width, &f->width));
	a->site = f->site = 0;
	hec_status status = hec_multi_head_resolve(a);
	if (status != HEC_OK)
		return fail_in(status, "%s", where);
	if (s->norm_eps == 0)
		s->norm_eps = 1e-5;
	/* The layer itself says what is wrong with the rest. */
	hec_encoder_layer layer;
	hec_encoder_layer_config trial = {.size = sizeof trial,
	                                  .attention = *a,
	                                  .feed_forward = *f,
	                                  .norm = s->norm,
	                                  .norm_eps = s->norm_eps};
	status = hec_encoder_layer_setup(&trial, &layer);
	if (status != HEC_OK)
		return fail_in(status, "%s", where);
	if (s->embedding_scale == 0)
		s->embedding_scale = 1;
	if (!isfinite(s->embedding_scale))
		return fail(HEC_ERR_ARGUMENT, "%s: embedding_scale is %g", where,
		            s->embedding_scale);
	status = dropout_check_p("dropout of the embeddings", s->dropout);
	if (status != HEC_OK)
		return fail_in(status, "%s", where);
	HEC_TRY(check_size(where, "window", s->window, 0));
	HEC_TRY(check_size(where, "window_from", s->window_from, 0));
	HEC_TRY(check_skip(where, c, s, encoder));
	if (encoder && s->window > 0)
		return fail(HEC_ERR_ARGUMENT,
		            "%s: a window of %lld positions looks back only, an encoder does not",
		            where, (long long)s->window);
	return resolve_position(where, s, encoder);
}

/* Whether the stacks allow convolutions before the encoder. */
static hec_status check_front(const hec_model_config *c)
{
	const hec_position_config *p = &c->encoder.position;
	HEC_TRY(check_size("model", "front.features", c->front.features, 0));
	if (c->front.features == 0)
		return HEC_OK;
	if (c->encoder.layers == 0 || c->decoder.layers == 0)
		return fail(HEC_ERR_ARGUMENT,
		            "model: front.features is %lld: frames are read by an encoder with a "
		            "decoder behind it, not by %lld and %lld layers",
		            (long long)c->front.features, (long long)c->encoder.layers,
		            (long long)c->decoder.layers);
	if (c->types > 0 || c->separate_embeddings || p->skip_padding)
		return fail(HEC_ERR_ARGUMENT,
		            "model: front.features is %lld: an encoder of frames has no table of "
		            "words, no token types and no padding",
		            (long long)c->front.features);
	return check_size("encoder", "2 · position.max", 2 * p->max, 2);
}

static hec_status resolve_head(hec_model_config *c)
{
	if ((unsigned)c->head > HEC_HEAD_ANSWER)
		return fail(HEC_ERR_ARGUMENT, "model: head %d is not known", (int)c->head);
	if ((unsigned)c->head_act >= HEC_ACTIVATIONS)
		return fail(HEC_ERR_ARGUMENT, "model: head_act %d is not known", (int)c->head_act);
	if ((unsigned)c->pool_act >= HEC_ACTIVATIONS)
		return fail(HEC_ERR_ARGUMENT, "model: pool_act %d is not known", (int)c->pool_act);
	HEC_TRY(dropout_check_p("model: head_dropout", c->head_dropout));
	if (c->output_scale == 0)
		c->output_scale = 1;
	if (!isfinite(c->output_scale))
		return fail(HEC_ERR_ARGUMENT, "model: output_scale is %g", c->output_scale);
	if (c->pooler && (c->head != HEC_HEAD_NONE || c->decoder.layers > 0))
		return fail(HEC_ERR_ARGUMENT, "model: a pooler stands alone behind an encoder");
	if (c->head == HEC_HEAD_ANSWER) {
		if (c->labels != 0 && c->labels != 2)
			return fail(HEC_ERR_ARGUMENT, "model: an answer has 2 labels, not %lld",
			            (long long)c->labels);
		c->labels = 2;
	}
	if (c->head == HEC_HEAD_CLASSIFY || c->head == HEC_HEAD_TOKENS)
		HEC_TRY(check_size("model", "labels", c->labels, 1));
	if ((unsigned)c->head_row > HEC_ROW_EOS)
		return fail(HEC_ERR_ARGUMENT, "model: head_row %d is not known", (int)c->head_row);
	if (c->head != HEC_HEAD_CLASSIFY)
		return HEC_OK;
	if (c->pool_act == HEC_ACT_NONE && !c->head_plain)
		c->pool_act = HEC_ACT_TANH;
	if (c->head_row == HEC_ROW_FIRST && c->decoder.layers > 0)
		return fail(HEC_ERR_ARGUMENT, "model: classification reads the first position, "
		                              "which in a decoder sees nothing else");
	if (c->head_row == HEC_ROW_EOS && c->eos_id < 0)
		return fail(HEC_ERR_ARGUMENT,
		            "model: classification reads where eos_id stands, but there is none");
	return HEC_OK;
}

static hec_status check_ids(const hec_model_config *c)
{
	const struct {
		const char *name;
		int32_t id;
	} ids[] = {{"pad_id", c->pad_id},
	           {"bos_id", c->bos_id},
	           {"eos_id", c->eos_id},
	           {"start_id", c->start_id}};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		if (ids[i].id < -1 || ids[i].id >= c->vocab)
			return fail(HEC_ERR_ARGUMENT,
			            "model: %s is %d, not −1 (none) or one of %lld words",
			            ids[i].name, (int)ids[i].id, (long long)c->vocab);
	}
	return HEC_OK;
}

bool hec_model_config_starts_with_last(const hec_model_config *config)
{
	return config->start_last || config->start_id < 0;
}

void hec_model_config_shift(const hec_model_config *config, const int32_t *ids, int64_t n,
                            int64_t room, int32_t *to)
{
	const bool last = n > 0 && hec_model_config_starts_with_last(config);
	to[0] = last ? ids[n - 1] : config->start_id;
	memcpy(to + 1, ids, (size_t)(room - 1) * sizeof *to);
}

int64_t hec_stack_config_max_positions(const hec_stack_config *stack)
{
	const hec_position_config *p = &stack->position;
	const bool endless = p->kind == HEC_POSITION_NONE || p->kind == HEC_POSITION_RELATIVE;
	return endless ? INT64_MAX : p->max;
}

int64_t hec_model_config_max_tokens(const hec_model_config *config)
{
	const bool reads = config->encoder.layers > 0 && config->front.features == 0;
	const int64_t read = reads ? hec_stack_config_max_positions(&config->encoder) : INT64_MAX;
	return config->decoder.layers > 0
	               ? min_i64(read, hec_stack_config_max_positions(&config->decoder))
	               : read;
}

hec_status hec_model_config_resolve(hec_model_config *config)
{
	HEC_TRY(CHECK_GIVEN("model", config));
	if (config->size != sizeof *config)
		return fail(HEC_ERR_ARGUMENT, "hec_model_config.size is %zu, expected %zu",
		            config->size, sizeof *config);
	hec_model_config c = *config;
	HEC_TRY(check_size("model", "vocab", c.vocab, 1));
	HEC_TRY(check_size("model", "width", c.width, 1));
	HEC_TRY(check_size("model", "types", c.types, 0));
	HEC_TRY(resolve_stack("encoder", &c, &c.encoder, true));
	HEC_TRY(resolve_stack("decoder", &c, &c.decoder, false));
	if (c.encoder.layers == 0 && c.decoder.layers == 0)
		return fail(HEC_ERR_ARGUMENT, "model: neither an encoder nor a decoder has layers");
	if (c.types > 0 && c.encoder.layers == 0)
		return fail(HEC_ERR_ARGUMENT, "model: %lld token types, but no encoder",
		            (long long)c.types);
	HEC_TRY(check_front(&c));
	/* One for the embeddings of each stack, one for the head. */
	int64_t most = UINT16_MAX - 2, sites = c.encoder.layers * HEC_ENCODER_LAYER_SITES +
	                                       c.decoder.layers * HEC_DECODER_LAYER_SITES;
	if (sites > most)
		return fail(HEC_ERR_ARGUMENT,
		            "model: %lld and %lld layers have %lld dropouts, more than %lld",
		            (long long)c.encoder.layers, (long long)c.decoder.layers,
		            (long long)sites, (long long)most);
	HEC_TRY(resolve_head(&c));
	if (!(c.init_std >= 0) || !isfinite(c.init_std))
		return fail(HEC_ERR_ARGUMENT, "model: init_std is %g", c.init_std);
	HEC_TRY(check_ids(&c));
	*config = c;
	return HEC_OK;
}
