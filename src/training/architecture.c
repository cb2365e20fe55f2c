/* architecture.c — what an architecture that is given settles: sizes, dropouts, the longest text. A size that was
 * asked for must be its own; its rates and its length hold where none were asked for. */
#include <hecate/answer.h>

#include "base/path.h"
#include "base/size.h"
#include "training/settle.h"
#include "training/start.h"

static hec_status take_size(int64_t *asked, const char *name, int64_t own, const char *home)
{
	if (*asked != 0 && *asked != own)
		return fail(HEC_ERR_SHAPE, "'%s' is %lld; the model of %s has %lld", name,
		            (long long)*asked, home, (long long)own);
	*asked = own;
	return HEC_OK;
}

static void take_rate(double *asked, double own)
{
	if (*asked < 0)
		*asked = own;
}

static hec_status take_sizes(hec_training *t, const char *home)
{
	hec_training_options *o = &t->o;
	const hec_model_config *c = &t->given;
	const hec_stack_config *stack = c->encoder.layers > 0 ? &c->encoder : &c->decoder;
	take_rate(&o->dropout, stack->dropout);
	take_rate(&o->attention_dropout, stack->attention.dropout_weights);
	take_rate(&o->activation_dropout, stack->feed_forward.dropout_hidden);
	HEC_TRY(take_size(&o->width, "width", c->width, home));
	HEC_TRY(take_size(&o->encoder_layers, "encoder_layers", c->encoder.layers, home));
	HEC_TRY(take_size(&o->decoder_layers, "decoder_layers", c->decoder.layers, home));
	HEC_TRY(take_size(&o->heads, "heads", stack->attention.heads, home));
	return take_size(&o->hidden, "hidden", stack->feed_forward.hidden, home);
}

static hec_status take_length(hec_training *t, const char *home)
{
	static const int64_t usual[HEC_TASKS] = {
		[HEC_TASK_TRANSLATE] = 128, [HEC_TASK_SEQ2SEQ] = 256,
		[HEC_TASK_LM] = 256,        [HEC_TASK_MLM] = 128,
		[HEC_TASK_CLASSIFY] = 128,  [HEC_TASK_ANSWER] = HEC_ANSWER_WINDOW};
	hec_training_options *o = &t->o;
	const int64_t most = hec_model_config_max_tokens(&t->given);
	int64_t length = usual[o->task];
	if (!o->from && o->task == HEC_TASK_SEQ2SEQ)
		length = usual[HEC_TASK_TRANSLATE]; /* nothing is known of such texts */
	if (o->max_length == 0)
		o->max_length = min_i64(length, most);
	if (o->max_length > most)
		return fail(HEC_ERR_SHAPE,
		            "'max_length' is %lld; the model of %s reads %lld tokens",
		            (long long)o->max_length, home, (long long)most);
	return HEC_OK;
}

static hec_status take_stride(hec_training_options *o)
{
	if (o->stride < 0)
		o->stride = o->max_length / 3;
	if (o->task == HEC_TASK_ANSWER && o->stride >= o->max_length - 1)
		return fail(HEC_ERR_SHAPE,
		            "'stride' %lld leaves nothing of a window of %lld tokens",
		            (long long)o->stride, (long long)o->max_length);
	return HEC_OK;
}

/* NULL: the stacks fit. Classifying and answering any pretrained stack can learn; whether its family has such a
 * head, loading shows. */
static const char *stacks_wanted(const hec_training_options *o, const hec_model_config *c)
{
	const bool encoder = c->encoder.layers > 0, decoder = c->decoder.layers > 0;
	if (o->from && (o->task == HEC_TASK_CLASSIFY || o->task == HEC_TASK_ANSWER))
		return NULL;
	if (encoder == task_has_encoder(o->task) && decoder == task_has_decoder(o->task))
		return NULL;
	return !task_has_encoder(o->task)  ? "a decoder alone"
	       : task_has_decoder(o->task) ? "an encoder and a decoder"
	                                   : "an encoder alone";
}

static hec_status check_stacks(const hec_training *t, const char *home)
{
	const hec_model_config *c = &t->given;
	const char *wanted = stacks_wanted(&t->o, c);
	if (wanted)
		return fail(HEC_ERR_SHAPE, "%s: %lld encoder and %lld decoder layers; %s wants %s",
		            home, (long long)c->encoder.layers, (long long)c->decoder.layers,
		            hec_task_name(t->o.task), wanted);
	return HEC_OK;
}

/* A model that reads sounds learns what is spoken there; one that reads text has no use for what says that. */
static hec_status take_sounds(hec_training *t, const char *home)
{
	const hec_training_options *o = &t->o;
	t->sounds = t->given.front.features > 0;
	if (!t->sounds && (o->language || o->speech_task))
		return fail(HEC_ERR_UNSUPPORTED, "%s: reads text; %s is for sounds", home,
		            o->language ? "'language'" : "'speech_task'");
	if (!t->sounds)
		return HEC_OK;
	if (!hec_audio_available())
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s: reads sound, and this build does not: libsndfile and "
		            "libsamplerate were missing",
		            home);
	if (o->task != HEC_TASK_SEQ2SEQ)
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s: reads sound (%lld mel bands); seq2seq is what it learns, from "
		            "lines of sound file, tab, text",
		            home, (long long)t->given.front.features);
	if (o->source_prefix || o->from_language || o->to_language)
		return fail(HEC_ERR_UNSUPPORTED, "%s: reads sound; %s is for text", home,
		            o->source_prefix   ? "'source_prefix'"
		            : o->from_language ? "'from_language'"
		                               : "'to_language'");
	return HEC_OK;
}

/* What is usual for models that were learned before. */
static hec_status take_learning(hec_training *t, const char *home, double rate)
{
	hec_training_options *o = &t->o;
	HEC_TRY(take_size(&o->vocab, "vocab", t->given.vocab, home));
	if (o->lr < 0)
		o->lr = rate;
	if (o->smoothing < 0)
		o->smoothing = 0;
	return HEC_OK;
}

hec_status settle_by_architecture(hec_training *t)
{
	char home[PATH_MOST];
	double rate;
	if (!t->o.from && !t->o.config)
		return HEC_OK;
	HEC_TRY(start_home(t, home));
	HEC_TRY(start_read(t, &rate));
	HEC_TRY(take_sounds(t, home));
	HEC_TRY(check_stacks(t, home));
	if (t->o.from)
		HEC_TRY(take_learning(t, home, rate));
	HEC_TRY(take_sizes(t, home));
	HEC_TRY(take_length(t, home));
	return t->o.from ? take_stride(&t->o) : HEC_OK;
}

static double changed(double asked, double own)
{
	return asked == own ? -1 : asked;
}

/* Only what is other than its files say: a model may have rates that no option has. */
hec_status set_dropouts(const hec_training *t)
{
	const hec_model_config *c = hec_model_config_of(t->model);
	const hec_stack_config *stack = c->encoder.layers > 0 ? &c->encoder : &c->decoder;
	return hec_model_set_dropout(
		t->model, changed(t->o.dropout, stack->dropout),
		changed(t->o.attention_dropout, stack->attention.dropout_weights),
		changed(t->o.activation_dropout, stack->feed_forward.dropout_hidden));
}
