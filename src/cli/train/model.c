/* model.c — sensible numbers for those that nobody gave. */
#include "cli/train/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/train/from.h"
#include "cli/command/try.h"

#define POSITIONS 512 /* at least: a model may be asked for more than it saw */

/* By the number of examples (running text: of kilobytes), the first row that is enough. */
static const struct size_row {
	int64_t most, vocab, width, layers, heads, step_tokens;
} pairs[] =
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

static const struct size_row *size_row(const train_settings *s, const train_data *d)
{
	bool paired = s->task_id == HEC_TASK_TRANSLATE || s->task_id == HEC_TASK_SEQ2SEQ;
	const struct size_row *row = paired ? pairs : texts;
	int64_t amount = paired ? d->counts.examples : d->bytes / 1000;
	while (amount >= row->most)
		row++;
	return row;
}

static bool has_encoder(hec_task task)
{
	return task != HEC_TASK_LM;
}

static bool has_decoder(hec_task task)
{
	return task != HEC_TASK_MLM && task != HEC_TASK_CLASSIFY;
}

bool train_read_config(train_settings *s, char *error, size_t room)
{
	char home[4096];
	hec_model_config c;
	if (s->from)
		return train_from_read(s, error, room);
	if (!s->config)
		return true;
	train_from_home(s, home);
	if (hec_model_config_read(home, NULL, &c) != HEC_OK) {
		snprintf(error, room, "%s", hec_error_message());
		return false;
	}
	if ((c.encoder.layers > 0) != has_encoder(s->task_id) ||
	    (c.decoder.layers > 0) != has_decoder(s->task_id)) {
		snprintf(error, room, "%.100s: %lld encoder and %lld decoder layers; %s wants %s",
		         home, (long long)c.encoder.layers, (long long)c.decoder.layers, s->task,
		         !has_encoder(s->task_id)  ? "a decoder alone"
		         : has_decoder(s->task_id) ? "both"
		                                   : "an encoder alone");
		return false;
	}
	return train_take_sizes(s, &c, home, error, room) &&
	       train_take_length(s, &c, home, error, room);
}

/* ---- what an architecture that is given settles ---- */

static bool take_size(int64_t *setting, const char *name, int64_t own, const char *home,
                      char *error, size_t room)
{
	if (*setting != 0 && *setting != own) {
		snprintf(error, room, "%s is %lld; the model of %.100s has %lld", name,
		         (long long)*setting, home, (long long)own);
		return false;
	}
	*setting = own;
	return true;
}

static void take_rate(double *setting, double own)
{
	if (*setting < 0)
		*setting = own;
}

bool train_take_sizes(train_settings *s, const hec_model_config *c, const char *home, char *error,
                      size_t room)
{
	const hec_stack_config *stack = c->encoder.layers > 0 ? &c->encoder : &c->decoder;
	take_rate(&s->dropout, stack->dropout);
	take_rate(&s->attention_dropout, stack->attention.dropout_weights);
	take_rate(&s->activation_dropout, stack->feed_forward.dropout_hidden);
	return take_size(&s->width, "--width", c->width, home, error, room) &&
	       take_size(&s->encoder_layers, "--encoder-layers", c->encoder.layers, home, error,
	                 room) &&
	       take_size(&s->decoder_layers, "--decoder-layers", c->decoder.layers, home, error,
	                 room) &&
	       take_size(&s->heads, "--heads", stack->attention.heads, home, error, room) &&
	       take_size(&s->hidden, "--hidden", stack->feed_forward.hidden, home, error, room);
}

bool train_take_length(train_settings *s, const hec_model_config *c, const char *home, char *error,
                       size_t room)
{
	static const int64_t usual[HEC_TASKS] = {128, 256, 256, 128, 128, 384},
			     scratch[HEC_TASKS] = {128, 128, 256, 128, 128, 128};
	const int64_t longest = hec_model_config_max_tokens(c),
		      length = (s->from ? usual : scratch)[s->task_id];
	if (s->max_length == 0)
		s->max_length = length < longest ? length : longest;
	if (s->max_length <= longest)
		return true;
	snprintf(error, room, "--max-length is %lld; the model of %.100s reads %lld tokens",
	         (long long)s->max_length, home, (long long)longest);
	return false;
}

bool train_is_settled(const train_settings *s)
{
	if (s->from)
		return strcmp(s->batch_tokens, "auto") != 0;
	return s->vocab > 0 && s->width > 0 && s->heads > 0 &&
	       (s->encoder_layers > 0 || !has_encoder(s->task_id)) &&
	       (s->decoder_layers > 0 || !has_decoder(s->task_id)) &&
	       strcmp(s->batch_tokens, "auto") != 0;
}

static void settle(int64_t *value, int64_t otherwise)
{
	if (*value == 0)
		*value = otherwise;
}

void train_settle_sizes(train_settings *s, const train_data *d)
{
	const struct size_row *row = size_row(s, d);
	if (s->from)
		return; /* a pretrained model has its sizes */
	settle(&s->vocab, row->vocab);
	settle(&s->width, row->width);
	settle(&s->encoder_layers, has_encoder(s->task_id) ? row->layers : 0);
	settle(&s->decoder_layers, has_decoder(s->task_id) ? row->layers : 0);
	int64_t head = s->width >= 256 ? 64 : 32;
	settle(&s->heads, s->width == row->width ? row->heads
	                  : s->width % head == 0 ? s->width / head
	                                         : 1);
	settle(&s->hidden, 4 * s->width);
	settle(&s->max_length, s->task_id == HEC_TASK_LM ? 256 : 128);
	if (s->lr < 0)
		s->lr = s->schedule[0] == 'n' ? 1 : s->width <= 256 ? 1e-3 : 7e-4;
	if (s->warmup < 0)
		s->warmup = s->steps > 0 && s->steps < 40000 ? s->steps / 10 : 4000;
	if (s->smoothing < 0)
		s->smoothing = has_encoder(s->task_id) && s->task_id != HEC_TASK_MLM ? 0.1 : 0;
}

/* Steps of a run that only its epochs end, and the part of them in which the rate rises. */
static void settle_steps(train_settings *s, int64_t steps)
{
	if (s->from && s->steps == 0 && s->epochs > 0)
		s->steps = steps > 0 ? steps : 1;
	if (s->from && s->warmup < 0)
		s->warmup = s->steps * 6 / 100;
}

void train_estimate_steps(train_settings *s, const train_data *d)
{
	/* Four bytes a token, more or less. */
	int64_t examples =
		s->task_id == HEC_TASK_LM ? d->bytes / 4 / s->max_length + 1 : d->counts.examples;
	int64_t rows =
		(s->batch_rows > 0 ? s->batch_rows : 16) * (s->accumulate > 0 ? s->accumulate : 1);
	settle_steps(s, s->epochs * ((examples + rows - 1) / rows));
}

/* ---- architectures ---- */

static hec_stack_config stack_of(const train_settings *s, int64_t layers)
{
	return (hec_stack_config){
		.layers = layers,
		.attention = {.size = sizeof(hec_multi_head_config),
	                      .heads = s->heads,
	                      .dropout_weights = s->attention_dropout,
	                      .dropout_out = s->dropout},
		.feed_forward = {.size = sizeof(hec_feed_forward_config),
	                         .hidden = s->hidden,
	                         .dropout_hidden = s->activation_dropout,
	                         .dropout_out = s->dropout},
		.dropout = s->dropout,
		.position = {.max = s->max_length > POSITIONS ? s->max_length : POSITIONS},
	};
}

static void marian_config(const train_settings *s, hec_model_config *c)
{
	c->encoder = stack_of(s, s->encoder_layers);
	c->decoder = stack_of(s, s->decoder_layers);
	for (int i = 0; i < 2; i++) {
		hec_stack_config *stack = i ? &c->decoder : &c->encoder;
		stack->feed_forward.act = HEC_ACT_RELU;
		stack->embedding_scale = sqrt((double)s->width);
		stack->position.kind = HEC_POSITION_SINUSOIDAL;
		stack->position.sinusoid = HEC_SINUSOID_HALVES;
	}
	c->output_bias = true;
}

static void gpt2_config(const train_settings *s, hec_model_config *c)
{
	c->decoder = stack_of(s, s->decoder_layers);
	c->decoder.norm_first = true;
	c->decoder.final_norm = true;
	c->decoder.attention.fused = true;
	c->decoder.feed_forward.act = HEC_ACT_GELU_TANH;
	c->decoder.position.kind = HEC_POSITION_LEARNED;
	c->decoder.position.max = s->max_length;
	c->init_std = 0.02;
}

static void bert_config(const train_settings *s, hec_model_config *c)
{
	c->encoder = stack_of(s, s->encoder_layers);
	c->encoder.embedding_norm = true;
	c->encoder.norm_eps = 1e-12;
	c->encoder.feed_forward.act = HEC_ACT_GELU;
	c->encoder.position.kind = HEC_POSITION_LEARNED;
	c->encoder.position.max = s->max_length;
	c->types = 2;
	c->init_std = 0.02;
	c->head_act = HEC_ACT_GELU;
	c->head_dropout = s->dropout;
	c->output_bias = s->task_id == HEC_TASK_MLM;
}

/* What belongs to the text, not to the architecture. */
static void take_ids(const train_settings *s, const train_data *d, hec_model_config *c)
{
	c->vocab = hec_tokenizer_vocab(d->tokenizer);
	c->pad_id = hec_tokenizer_role(d->tokenizer, "pad");
	c->eos_id = hec_tokenizer_role(d->tokenizer, "eos");
	c->bos_id = s->task_id == HEC_TASK_LM ? c->eos_id : -1;
	c->start_id = has_encoder(s->task_id) && has_decoder(s->task_id) ? c->pad_id : -1;
}

static void take_head(const train_settings *s, const train_data *d, hec_model_config *c)
{
	c->head = has_decoder(s->task_id)           ? HEC_HEAD_LM
	          : s->task_id == HEC_TASK_CLASSIFY ? HEC_HEAD_CLASSIFY
	                                            : HEC_HEAD_MASKED;
	c->labels = c->head == HEC_HEAD_CLASSIFY ? (int64_t)d->n_labels : 0;
}

hec_status train_config(const train_settings *s, const train_data *d, hec_model_config *c)
{
	*c = (hec_model_config){.size = sizeof *c, .width = s->width};
	if (s->config) {
		char home[4096];
		train_from_home(s, home);
		hec_status status = hec_model_config_read(home, NULL, c);
		if (status != HEC_OK)
			return status;
	} else if (s->task_id == HEC_TASK_LM) {
		gpt2_config(s, c);
	} else if (has_decoder(s->task_id)) {
		marian_config(s, c);
	} else {
		bert_config(s, c);
	}
	take_ids(s, d, c);
	take_head(s, d, c);
	return HEC_OK;
}

static double changed(double setting, double own)
{
	return setting == own ? -1 : setting;
}

/* Only what is other than its files say: it may have rates that no setting has. */
hec_status train_set_rates(const train_settings *s, hec_model *m)
{
	const hec_model_config *c = hec_model_config_of(m);
	const hec_stack_config *stack = c->encoder.layers > 0 ? &c->encoder : &c->decoder;
	return hec_model_set_dropout(
		m, changed(s->dropout, stack->dropout),
		changed(s->attention_dropout, stack->attention.dropout_weights),
		changed(s->activation_dropout, stack->feed_forward.dropout_hidden));
}

/* ---- batches ---- */

void train_trainer_options(const train_settings *s, hec_trainer_options *o)
{
	*o = (hec_trainer_options)HEC_TRAINER_OPTIONS_INIT;
	o->schedule = settings_schedule(s);
	o->lr = s->lr;
	o->lr_end = s->lr_end;
	o->warmup = s->warmup > 0 ? s->warmup : 0; /* less: settled once the batches are */
	o->steps = s->steps;
	o->beta1 = s->beta1;
	o->beta2 = s->beta2;
	o->eps = s->eps;
	o->weight_decay = s->weight_decay;
	o->clip = s->clip;
	o->smoothing = s->smoothing;
	o->seed = s->seed.value + 1; /* not that of the weights */
	o->max_rows = s->batch_rows;
	o->max_tokens = s->micro_tokens;
	o->max_source = o->max_target = s->max_length;
}

/* Bytes that the system would give without others suffering. */
static double memory_available(void)
{
	char line[128];
	double kilobytes = 4e6;
	FILE *f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "MemAvailable:", 13) == 0)
			kilobytes = atof(line + 13);
	if (f)
		fclose(f);
	return kilobytes * 1024;
}

size_t train_sound_bytes(const train_settings *s)
{
	if (!s->sounds)
		return 0;
	int64_t rows = s->micro_tokens > s->places ? s->micro_tokens / s->places : 1;
	rows = s->batch_rows > 0 && rows > s->batch_rows ? s->batch_rows : rows;
	return (size_t)(rows * s->mels * 2 * s->places) * sizeof(float) * (s->valid.count ? 2 : 1);
}

hec_status train_memory(const train_settings *s, hec_ctx *ctx, const hec_model *model,
                        hec_trainer_memory **out)
{
	hec_trainer_options o;
	train_trainer_options(s, &o);
	return hec_trainer_plan(ctx, model, &o, out);
}

size_t train_bytes(const train_settings *s, const hec_trainer_memory *memory)
{
	return memory->parameters + memory->packs + memory->activations + train_sound_bytes(s);
}

/* Tokens of the longest example on its longer side. */
static int64_t longest_side(const train_settings *s)
{
	return s->places > s->max_length ? s->places : s->max_length;
}

/* The tokens of a step, cut into as few batches as fit into memory. */
static hec_status fit_memory(train_settings *s, hec_ctx *ctx, const hec_model *model,
                             int64_t wanted)
{
	double limit = s->memory > 0 ? (double)s->memory * 1e6 : memory_available() / 2;
	for (int64_t batches = 1;; batches *= 2) {
		s->micro_tokens = (wanted + batches - 1) / batches;
		bool smallest = s->micro_tokens <= longest_side(s);
		if (smallest)
			s->micro_tokens = longest_side(s);
		hec_trainer_memory *memory;
		TRY(train_memory(s, ctx, model, &memory));
		const double bytes = (double)train_bytes(s, memory);
		hec_trainer_memory_free(memory);
		if (bytes <= limit || smallest) {
			settle(&s->accumulate, batches);
			return HEC_OK;
		}
	}
}

hec_status train_settle_batch(train_settings *s, hec_ctx *ctx, const hec_model *model,
                              const train_data *d)
{
	static char text[24]; /* s->batch_tokens from now on */
	int64_t step_tokens = s->from && s->batch_rows > 0 ? s->batch_rows * longest_side(s)
	                                                   : size_row(s, d)->step_tokens;
	if (strcmp(s->batch_tokens, "auto") == 0) {
		hec_status status = fit_memory(s, ctx, model, step_tokens);
		if (status != HEC_OK)
			return status;
	} else {
		s->micro_tokens = atoi(s->batch_tokens);
	}
	settle(&s->accumulate, 1);
	snprintf(text, sizeof text, "%lld", (long long)s->micro_tokens);
	s->batch_tokens = text;
	/* About once an epoch, but neither all the time nor hardly ever. */
	const hec_corpus_counts *c = hec_corpus_counts_of(d->train);
	int64_t tokens = c->source_tokens > c->target_tokens ? c->source_tokens : c->target_tokens;
	int64_t epoch = tokens / (s->micro_tokens * s->accumulate) + 1;
	if (s->from) {
		int64_t batches, all;
		hec_status status =
			hec_corpus_batches(d->train, s->micro_tokens, s->batch_rows, s->seed.value,
		                           s->epochs > 0 ? s->epochs : 1, &batches);
		if (status != HEC_OK)
			return status;
		all = (batches + s->accumulate - 1) / s->accumulate;
		settle_steps(s, all);
		epoch = all / (s->epochs > 0 ? s->epochs : 1) + 1;
	}
	settle(&s->valid_every, epoch < 200 ? 200 : epoch > 1000 ? 1000 : epoch);
	settle(&s->save_every, s->valid_every);
	return HEC_OK;
}
