/* dropout_rates.c — the rates of dropout of a model that is already there: in its configuration, and in each
 * layer, which has its own. */
#include "base/status.h"
#include "model/model.h"
#include "nn/dropout.h"
#include "tensor/check.h"

typedef struct rates {
	double dropout, attention, activation; /* < 0: as it is */
} rates;

static void set_rate(double *to, double rate)
{
	if (rate >= 0)
		*to = rate;
}

static void set_attention(hec_multi_head_config *c, const rates *r)
{
	set_rate(&c->dropout_weights, r->attention);
	set_rate(&c->dropout_out, r->dropout);
}

static void set_feed_forward(hec_feed_forward_config *c, const rates *r)
{
	set_rate(&c->dropout_hidden, r->activation);
	set_rate(&c->dropout_out, r->dropout);
}

static void set_stack(hec_stack_config *c, model_stack *s, const rates *r)
{
	set_rate(&c->dropout, r->dropout);
	set_attention(&c->attention, r);
	set_feed_forward(&c->feed_forward, r);
	for (int64_t i = 0; s->encoder && i < c->layers; i++) {
		set_attention(&s->encoder[i].attention.config, r);
		set_feed_forward(&s->encoder[i].feed_forward.config, r);
	}
	for (int64_t i = 0; s->decoder && i < c->layers; i++) {
		set_attention(&s->decoder[i].self.config, r);
		set_attention(&s->decoder[i].cross.config, r);
		set_feed_forward(&s->decoder[i].feed_forward.config, r);
	}
}

hec_status hec_model_set_dropout(hec_model *m, double dropout, double attention, double activation)
{
	const rates r = {dropout, attention, activation};
	HEC_TRY(CHECK_GIVEN("model", m));
	HEC_TRY(dropout < 0 ? HEC_OK : dropout_check_p("model: dropout", dropout));
	HEC_TRY(attention < 0 ? HEC_OK : dropout_check_p("model: dropout of weights", attention));
	HEC_TRY(activation < 0 ? HEC_OK
	                       : dropout_check_p("model: dropout of the hidden", activation));
	set_stack(&m->config.encoder, &m->encoder, &r);
	set_stack(&m->config.decoder, &m->decoder, &r);
	set_rate(&m->config.head_dropout, dropout);
	return HEC_OK;
}

static bool stack_has_dropout(const hec_stack_config *c)
{
	return c->layers > 0 &&
	       (c->dropout > 0 || c->attention.dropout_weights > 0 ||
	        c->attention.dropout_out > 0 || c->feed_forward.dropout_hidden > 0 ||
	        c->feed_forward.dropout_out > 0);
}

bool model_has_dropout(const hec_model *m)
{
	const hec_model_config *c = &m->config;
	return stack_has_dropout(&c->encoder) || stack_has_dropout(&c->decoder) ||
	       c->head_dropout > 0;
}
