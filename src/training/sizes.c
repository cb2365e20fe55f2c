/* sizes.c — how large a fresh model is, and how long it learns, by the amount of text.
 *
 * By the text alone, not by the machine: the same command makes the same model everywhere. The rows are what came out
 * of trying others on five corpora (tools/settings; the results are in docs/train.md): with them two cores need
 * seconds for the smallest and some twenty minutes for the largest. */
#include <math.h>

#include "base/size.h"
#include "training/settle.h"

/* A row holds for less than so many kilobytes of text, sources and targets together. */
typedef struct size_row {
	int64_t below, width, layers;
	int64_t step_tokens, tokens; /* of a step, and of all steps, in thousands */
} size_row;

static const size_row rows[] = {
	{400, 128, 2, 1, 4000},    {4000, 128, 2, 1, 4000},     {30000, 192, 3, 2, 6000},
	{300000, 256, 3, 2, 8000}, {3000000, 384, 4, 4, 60000}, {INT64_MAX, 512, 6, 8, 400000},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* What --effort changes: a row further, and so many times the tokens. */
static const struct {
	int row;
	double tokens;
	int64_t epochs; /* with from */
} efforts[] = {[HEC_EFFORT_NORMAL] = {0, 1, 3},
               [HEC_EFFORT_SMALL] = {-1, 0.3, 1},
               [HEC_EFFORT_LARGE] = {1, 4, 5}};

#define MOST_EPOCHS                                                                                \
	300 /* of a fresh model: small texts have been learned by then, or never will be */

static const size_row *size_row_of(const hec_training *t)
{
	int i = 0;
	while (t->bytes / 1000 >= rows[i].below)
		i++;
	i += efforts[t->o.effort].row;
	return &rows[i < 0 ? 0 : i < ROWS ? i : ROWS - 1];
}

bool is_settled(const hec_training *t)
{
	const hec_training_options *o = &t->o;
	if (o->from)
		return o->batch_tokens > 0;
	return o->vocab > 0 && o->width > 0 && o->heads > 0 &&
	       (o->encoder_layers > 0 || !task_has_encoder(o->task)) &&
	       (o->decoder_layers > 0 || !task_has_decoder(o->task)) && o->batch_tokens > 0;
}

static void set_if_open(int64_t *value, int64_t otherwise)
{
	if (*value == 0)
		*value = otherwise;
}

/* Twice as many tokens for four times the text, so that each is seen often enough to be learned: 300 for a few
 * thousand words, 8,000 for 60 MB. Two digits of it, as a person would say it. */
static int64_t vocab_for(int64_t bytes)
{
	const double n = fmin(fmax(sqrt((double)bytes), 300), 32000);
	const double unit = n < 1000 ? 10 : n < 10000 ? 100 : 1000;
	return (int64_t)(round(n / unit) * unit);
}

static void settle_sizes(const hec_training *t, hec_training_options *o, const size_row *row)
{
	const int64_t head = o->width >= 256 || (o->width == 0 && row->width >= 256) ? 64 : 32;
	set_if_open(&o->vocab, vocab_for(t->bytes));
	set_if_open(&o->width, row->width);
	/* A decoder alone, or an encoder, is as deep as both together: it does the work of both. */
	const bool both = task_has_encoder(o->task) && task_has_decoder(o->task);
	const int64_t layers = both ? row->layers : row->layers + 1;
	set_if_open(&o->encoder_layers, task_has_encoder(o->task) ? layers : 0);
	set_if_open(&o->decoder_layers, task_has_decoder(o->task) ? layers : 0);
	set_if_open(&o->heads, o->width % head == 0 ? o->width / head : 1);
	set_if_open(&o->hidden, 4 * o->width);
	set_if_open(&o->max_length, o->task == HEC_TASK_LM ? 256 : 128);
}

static void settle_learning(hec_training_options *o)
{
	if (o->lr < 0) /* wider models bear less */
		o->lr = o->schedule == HEC_SCHEDULE_NOAM ? 1 : fmin(2e-3, 0.256 / (double)o->width);
	if (o->smoothing < 0)
		o->smoothing = task_has_encoder(o->task) && o->task != HEC_TASK_MLM ? 0.1 : 0;
}

hec_status settle_by_text(hec_training *t)
{
	hec_training_options *o = &t->o;
	if (o->from) /* a pretrained model has its sizes */
		return HEC_OK;
	settle_sizes(t, o, size_row_of(t));
	settle_learning(o);
	if (!o->config && o->width % o->heads != 0)
		return fail(HEC_ERR_SHAPE, "'heads' is %lld, which does not divide 'width' %lld",
		            (long long)o->heads, (long long)o->width);
	return HEC_OK;
}

int64_t effort_epochs(int effort)
{
	return efforts[effort].epochs;
}

int64_t step_tokens_of(const hec_training *t)
{
	return size_row_of(t)->step_tokens * 1024;
}

/* ---- steps ---- */

int64_t steps_by_text(const hec_training *t, int64_t step_tokens, int64_t epoch_steps)
{
	const double tokens = 1e3 * (double)size_row_of(t)->tokens * efforts[t->o.effort].tokens;
	const int64_t steps = (int64_t)(tokens / (double)step_tokens) + 1;
	return min_i64(steps, MOST_EPOCHS * epoch_steps);
}

/* Of steps and epochs that were asked for, whichever ends first. */
void settle_steps(hec_training_options *o, int64_t usual)
{
	if (o->steps < 0 || (o->steps == 0 && o->epochs > 0))
		o->steps = max_i64(1, usual);
	else if (o->epochs > 0)
		o->steps = max_i64(1, min_i64(o->steps, usual));
	/* A run without an end rises as long as one of the usual length. */
	if (o->warmup < 0)
		o->warmup = min_i64(4000, (o->steps > 0 ? o->steps : usual) * 6 / 100);
}

void settle_about_steps(hec_training *t)
{
	const hec_training_options *o = &t->o;
	/* Four bytes a token, more or less; sources and targets on the two sides of a batch. */
	const int64_t step = o->batch_tokens > 0 ? o->batch_tokens * max_i64(1, o->accumulate)
	                                         : step_tokens_of(t);
	const int64_t examples =
		o->task == HEC_TASK_LM ? t->bytes / 4 / o->max_length + 1 : t->examples;
	const int64_t rows_of_step =
		(o->batch_rows > 0 ? o->batch_rows : 16) * max_i64(1, o->accumulate);
	const int64_t epoch = o->from ? div_up(examples, rows_of_step)
	                              : t->bytes / (task_is_paired(o->task) ? 8 : 4) / step + 1;
	settle_steps(&t->o, o->epochs > 0 ? o->epochs * epoch : steps_by_text(t, step, epoch));
}
