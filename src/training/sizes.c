/* sizes.c — how large a fresh model is, and how long it learns, by the amount of text. */
#include "base/size.h"
#include "training/settle.h"

/* By the number of pairs; for lm, mlm and classify by kilobytes of text. A row holds for less than `below`. */
typedef struct size_row {
	int64_t below, vocab, width, layers, heads, step_tokens;
} size_row;

static const size_row pairs[] =
	{
		{20000, 2000, 128, 2, 4, 1024},       {100000, 4000, 256, 3, 4, 2048},
		{1000000, 8000, 256, 3, 4, 4096},     {5000000, 16000, 512, 4, 8, 8192},
		{INT64_MAX, 32000, 512, 6, 8, 16384},
},
		      texts[] = {
			      {1000, 1000, 128, 2, 4, 1024},
			      {20000, 4096, 256, 4, 4, 2048},
			      {200000, 8192, 384, 6, 6, 4096},
			      {INT64_MAX, 16384, 512, 8, 8, 8192},
};

static const size_row *size_row_of(const hec_training *t)
{
	const bool paired = task_is_paired(t->o.task);
	const size_row *row = paired ? pairs : texts;
	const int64_t amount = paired ? t->examples : t->bytes / 1000;
	while (amount >= row->below)
		row++;
	return row;
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

static void settle_sizes(hec_training_options *o, const size_row *row)
{
	const int64_t head = o->width >= 256 ? 64 : 32; /* numbers of one */
	set_if_open(&o->vocab, row->vocab);
	set_if_open(&o->width, row->width);
	set_if_open(&o->encoder_layers, task_has_encoder(o->task) ? row->layers : 0);
	set_if_open(&o->decoder_layers, task_has_decoder(o->task) ? row->layers : 0);
	set_if_open(&o->heads, o->width == row->width ? row->heads
	                       : o->width % head == 0 ? o->width / head
	                                              : 1);
	set_if_open(&o->hidden, 4 * o->width);
	set_if_open(&o->max_length, o->task == HEC_TASK_LM ? 256 : 128);
}

static void settle_learning(hec_training_options *o)
{
	if (o->lr < 0)
		o->lr = o->schedule == HEC_SCHEDULE_NOAM ? 1 : o->width <= 256 ? 1e-3 : 7e-4;
	if (o->warmup < 0)
		o->warmup = o->steps > 0 && o->steps < 40000 ? o->steps / 10 : 4000;
	if (o->smoothing < 0)
		o->smoothing = task_has_encoder(o->task) && o->task != HEC_TASK_MLM ? 0.1 : 0;
}

hec_status settle_by_text(hec_training *t)
{
	hec_training_options *o = &t->o;
	if (o->from) /* a pretrained model has its sizes */
		return HEC_OK;
	settle_sizes(o, size_row_of(t));
	settle_learning(o);
	if (!o->config && o->width % o->heads != 0)
		return fail(HEC_ERR_SHAPE, "'heads' is %lld, which does not divide 'width' %lld",
		            (long long)o->heads, (long long)o->width);
	return HEC_OK;
}

void settle_steps(hec_training_options *o, int64_t steps)
{
	if (o->from && o->steps == 0 && o->epochs > 0)
		o->steps = max_i64(1, steps);
	if (o->from && o->warmup < 0)
		o->warmup = o->steps * 6 / 100;
}

void settle_about_steps(hec_training *t)
{
	const hec_training_options *o = &t->o;
	/* Four bytes a token, more or less. */
	const int64_t examples =
		o->task == HEC_TASK_LM ? t->bytes / 4 / o->max_length + 1 : t->examples;
	const int64_t rows = (o->batch_rows > 0 ? o->batch_rows : 16) * max_i64(1, o->accumulate);
	settle_steps(&t->o, o->epochs * div_up(examples, rows));
}

int64_t step_tokens_of(const hec_training *t)
{
	return size_row_of(t)->step_tokens;
}
