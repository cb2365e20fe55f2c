/* options.c — what holds where nobody said it, and what cannot be. */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "training/settle.h"

static void settle_real(double *value, double fresh, double pretrained, bool from)
{
	if (*value == -1)
		*value = from ? pretrained : fresh;
}

static void settle_whole(int64_t *value, int64_t fresh, int64_t pretrained, bool from)
{
	if (*value == -1)
		*value = from ? pretrained : fresh;
}

static bool falls_to_its_end(int schedule)
{
	return schedule == HEC_SCHEDULE_COSINE || schedule == HEC_SCHEDULE_LINEAR;
}

/* Steps that nobody asked for are found by the epochs, or by the amount of text. */
static bool knows_its_end(const hec_training_options *o)
{
	return o->steps != 0 || o->epochs > 0;
}

/* A pretrained model is changed little and for a short time; its dropouts are its own. */
static void settle_defaults(hec_training_options *o)
{
	const bool from = o->from != NULL, given = o->from || o->config;
	settle_real(&o->beta2, 0.98, 0.999, from);
	settle_real(&o->eps, 1e-9, 1e-8, from);
	settle_whole(&o->batch_rows, 0, o->task == HEC_TASK_CLASSIFY ? 32 : 16, from);
	settle_whole(&o->epochs, 0, o->steps > 0 ? 0 : effort_epochs(o->effort), from);
	if (from && o->steps < 0 && o->epochs == 0)
		o->steps = 0; /* no end was asked for */
	if (o->schedule < 0)
		o->schedule = knows_its_end(o) ? HEC_SCHEDULE_LINEAR
		              : from           ? HEC_SCHEDULE_CONSTANT
		                               : HEC_SCHEDULE_INVERSE_SQRT;
	settle_whole(&o->stride, 0, -1, from);
	settle_real(&o->dropout, 0.1, -1, given);
	settle_real(&o->attention_dropout, 0, -1, given);
	settle_real(&o->activation_dropout, 0, -1, given);
}

/* ---- what cannot be ---- */

#define BIG ((int64_t)1 << 40)
#define AT(member) #member, offsetof(hec_training_options, member)

/* What may be asked for, and the number that leaves it to the library, where there is one. */
static const struct range {
	const char *name;
	size_t at;
	int64_t least, most, unset;
	bool is_open; /* most itself is too much */
} wholes[] =
	{
		{AT(vocab), 1, 1 << 24, 0, false},
		{AT(max_length), 2, 32768, 0, false},
		{AT(stride), 0, 32768, -1, false},
		{AT(width), 1, 1 << 16, 0, false},
		{AT(encoder_layers), 1, 1000, 0, false},
		{AT(decoder_layers), 1, 1000, 0, false},
		{AT(heads), 1, 1 << 16, 0, false},
		{AT(hidden), 1, 1 << 20, 0, false},
		{AT(warmup), 0, BIG, -1, false},
		{AT(batch_tokens), 1, HEC_MAX_BATCH_TOKENS, -1, false},
		{AT(batch_rows), 0, HEC_MAX_BATCH_TOKENS, 0, false},
		{AT(accumulate), 1, 65536, 0, false},
		{AT(memory), 0, BIG, 0, false},
		{AT(steps), 0, BIG, -1, false},
		{AT(epochs), 0, HEC_MAX_EPOCHS, 0, false},
		{AT(report_every), 1, BIG, 1, false},
		{AT(valid_every), 0, BIG, 0, false},
		{AT(save_every), 0, BIG, 0, false},
		{AT(keep), 1, 1000, 1, false},
		{AT(average), 0, 256, 0, false}, /* so many files are open at once */
		{AT(patience), 0, BIG, 0, false},
		{AT(valid_sentences), 0, 1000000, 0, false},
		{AT(valid_beam), 1, 64, 1, false},
},
  reals[] = {
	  {AT(dropout), 0, 1, -1, true},
	  {AT(attention_dropout), 0, 1, -1, true},
	  {AT(activation_dropout), 0, 1, -1, true},
	  {AT(lr), 0, 1000, -1, false},
	  {AT(lr_end), 0, 1000, 0, false},
	  {AT(beta1), 0, 1, 0, true},
	  {AT(beta2), 0, 1, 0, true},
	  {AT(eps), 0, 1, 0, false},
	  {AT(weight_decay), 0, 1000, 0, false},
	  {AT(clip), 0, BIG, 0, false},
	  {AT(smoothing), 0, 1, -1, true},
	  {AT(mask_rate), 0, 1, 0, false},
	  {AT(seconds), 0, BIG, 0, false},
};
#define COUNT_OF(table) (sizeof(table) / sizeof *(table))

static const struct range *find_range(const struct range *table, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

bool hec_training_range(const char *name, int64_t *least, int64_t *most)
{
	const struct range *r = name ? find_range(wholes, COUNT_OF(wholes), name) : NULL;
	if (name && !r)
		r = find_range(reals, COUNT_OF(reals), name);
	if (!r || !least || !most)
		return false;
	*least = r->least;
	*most = r->most;
	return true;
}

static hec_status refuse(const struct range *r, double x)
{
	char unset[32] = "";
	if (r->unset < r->least)
		snprintf(unset, sizeof unset, ", or %lld", (long long)r->unset);
	return fail(HEC_ERR_ARGUMENT, "'%s' is %.15g; it is from %lld to %s%lld%s", r->name, x,
	            (long long)r->least, r->is_open ? "less than " : "", (long long)r->most, unset);
}

static hec_status check_ranges(const hec_training_options *o)
{
	for (size_t i = 0; i < COUNT_OF(wholes); i++) {
		const struct range *r = &wholes[i];
		const int64_t n = *(const int64_t *)((const char *)o + r->at);
		if (n != r->unset && (n < r->least || n > r->most))
			return refuse(r, (double)n);
	}
	for (size_t i = 0; i < COUNT_OF(reals); i++) {
		const struct range *r = &reals[i];
		const double x = *(const double *)((const char *)o + r->at);
		const double most = (double)r->most;
		if (x == (double)r->unset)
			continue;
		if (!(x >= (double)r->least && x <= most) || (r->is_open && x == most))
			return refuse(r, x);
	}
	if (!(o->eps >= (double)FLT_MIN))
		return fail(HEC_ERR_ARGUMENT, "'eps' is divided by: at least %g, not %g",
		            (double)FLT_MIN, o->eps);
	if (o->threads < 0 || o->threads > HEC_MAX_THREADS)
		return fail(HEC_ERR_ARGUMENT, "'threads' is %d; it is from 0 to %d", o->threads,
		            HEC_MAX_THREADS);
	return HEC_OK;
}

static const char *const schedules[] = {"inverse-sqrt", "noam", "cosine", "linear", "constant"};

static hec_status check_kinds(const hec_training_options *o)
{
	if ((unsigned)o->task >= HEC_TASKS)
		return fail(HEC_ERR_ARGUMENT, "there is no task %d", (int)o->task);
	if (o->schedule < -1 || o->schedule >= (int)(COUNT_OF(schedules)))
		return fail(HEC_ERR_ARGUMENT, "there is no schedule %d", o->schedule);
	if ((unsigned)o->effort > HEC_EFFORT_LARGE)
		return fail(HEC_ERR_ARGUMENT, "there is no effort %d", (int)o->effort);
	if ((unsigned)o->best >= HEC_METRICS)
		return fail(HEC_ERR_ARGUMENT, "there is no metric %d", (int)o->best);
	if (o->dtype != HEC_F32 && o->dtype != HEC_BF16 && o->dtype != HEC_F16)
		return fail(HEC_ERR_ARGUMENT, "a model is saved as f32, bf16 or f16, not as %d",
		            (int)o->dtype);
	return HEC_OK;
}

static hec_status check_together(const hec_training_options *o)
{
	if (falls_to_its_end(o->schedule) && !knows_its_end(o))
		return fail(HEC_ERR_ARGUMENT,
		            "'schedule' %s falls until the last step: 'steps' says which",
		            schedules[o->schedule]);
	if ((o->from_language || o->to_language) && (!o->from || !task_is_paired(o->task)))
		return fail(HEC_ERR_ARGUMENT, "'from_language' and 'to_language' are of 'from', "
		                              "with translate or seq2seq");
	if ((o->language || o->speech_task) && !o->from)
		return fail(HEC_ERR_ARGUMENT,
		            "'language' and 'speech_task' are of 'from', with Whisper");
	if (o->task == HEC_TASK_MLM && !(o->mask_rate > 0))
		return fail(HEC_ERR_ARGUMENT, "'mask_rate' is 0: there would be nothing to learn");
	if (!o->from && o->task == HEC_TASK_LM && o->encoder_layers > 0)
		return fail(HEC_ERR_ARGUMENT, "'encoder_layers': lm has a decoder alone");
	if (!o->from && !task_has_decoder(o->task) && o->decoder_layers > 0)
		return fail(HEC_ERR_ARGUMENT, "'decoder_layers': %s has an encoder alone",
		            hec_task_name(o->task));
	return HEC_OK;
}

static hec_status check_texts(const char *name, const char *const *texts, size_t n)
{
	if (n > 0 && !texts)
		return fail(HEC_ERR_ARGUMENT, "'%s' is NULL, for %zu texts", name, n);
	for (size_t i = 0; i < n; i++)
		if (!texts[i] || !*texts[i])
			return fail(HEC_ERR_ARGUMENT, "'%s'[%zu] is %s", name, i,
			            texts[i] ? "empty" : "NULL");
	return HEC_OK;
}

static hec_status check_paths(const hec_training_options *o)
{
	const struct {
		const char *name, *path;
	} paths[] = {{"dir", o->dir},
	             {"from", o->from},
	             {"config", o->config},
	             {"tokenizer", o->tokenizer}};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (paths[i].path && !*paths[i].path)
			return fail(HEC_ERR_ARGUMENT, "'%s' is empty", paths[i].name);
	return HEC_OK;
}

static hec_status check_files(const hec_training_options *o)
{
	HEC_TRY(check_paths(o));
	if (!o->train || o->train_count == 0)
		return fail(HEC_ERR_ARGUMENT, "'train' is missing: the text to learn from");
	HEC_TRY(check_texts("train", o->train, o->train_count));
	HEC_TRY(check_texts("valid", o->valid, o->valid_count));
	HEC_TRY(check_texts("overrides", o->overrides, o->override_count));
	if (o->task == HEC_TASK_TRANSLATE && (o->train_count % 2 || o->valid_count % 2))
		return fail(HEC_ERR_ARGUMENT, "translate takes files in pairs: source and target");
	if (o->from && (o->config || o->tokenizer))
		return fail(HEC_ERR_ARGUMENT,
		            "'from' has its architecture and tokenizer: %s is too much",
		            o->config ? "'config'" : "'tokenizer'");
	if (o->override_count > 0 && !o->from)
		return fail(HEC_ERR_ARGUMENT,
		            "'overrides' is of 'from'; a file of 'config' can say it");
	if (o->task == HEC_TASK_ANSWER && !o->from)
		return fail(HEC_ERR_ARGUMENT, "answer begins from a pretrained model: 'from'");
	return HEC_OK;
}

/* Which of the metrics a validation of the task measures, as bits. */
static const unsigned measured[HEC_TASKS] = {
	[HEC_TASK_TRANSLATE] = 1u << HEC_METRIC_LOSS | 1u << HEC_METRIC_BLEU |
                               1u << HEC_METRIC_CHRF | 1u << HEC_METRIC_ACCURACY,
	[HEC_TASK_SEQ2SEQ] = 1u << HEC_METRIC_LOSS | 1u << HEC_METRIC_BLEU | 1u << HEC_METRIC_CHRF |
                             1u << HEC_METRIC_ACCURACY,
	[HEC_TASK_LM] = 1u << HEC_METRIC_LOSS,
	[HEC_TASK_MLM] = 1u << HEC_METRIC_LOSS,
	[HEC_TASK_CLASSIFY] = 1u << HEC_METRIC_LOSS | 1u << HEC_METRIC_ACCURACY,
	[HEC_TASK_ANSWER] = 1u << HEC_METRIC_LOSS | 1u << HEC_METRIC_EXACT | 1u << HEC_METRIC_F1,
};

/* A run that never learns which of its models is the best would end without one. */
static hec_status check_best(const hec_training_options *o)
{
	char known[80] = "";
	for (int i = 0; i < HEC_METRICS; i++)
		if (measured[o->task] >> i & 1)
			snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
			         known[0] ? ", " : "", hec_metric_name((hec_metric)i));
	if (!(measured[o->task] >> o->best & 1))
		return fail(HEC_ERR_ARGUMENT, "'best' %s: %s measures %s", hec_metric_name(o->best),
		            hec_task_name(o->task), known);
	if (o->best != HEC_METRIC_LOSS && (o->valid_count == 0 || o->valid_sentences == 0))
		return fail(HEC_ERR_ARGUMENT, "'best' %s: nothing is measured without %s",
		            hec_metric_name(o->best),
		            o->valid_count ? "'valid_sentences'" : "'valid'");
	return HEC_OK;
}

hec_status settle_options(hec_training_options *o)
{
	HEC_TRY(check_kinds(o));
	settle_defaults(o);
	HEC_TRY(check_together(o));
	HEC_TRY(check_ranges(o));
	HEC_TRY(check_files(o));
	return check_best(o);
}
