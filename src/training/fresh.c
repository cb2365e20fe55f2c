/* fresh.c — the architecture of a model that begins from fresh parameters. */
#include <math.h>

#include "base/size.h"
#include "training/settle.h"

#define POSITIONS 512 /* at least: a model may be asked for more than it saw */

static hec_stack_config stack_of(const hec_training_options *o, int64_t layers)
{
	return (hec_stack_config){
		.layers = layers,
		.attention = {.size = sizeof(hec_multi_head_config),
	                      .heads = o->heads,
	                      .dropout_weights = o->attention_dropout,
	                      .dropout_out = o->dropout},
		.feed_forward = {.size = sizeof(hec_feed_forward_config),
	                         .hidden = o->hidden,
	                         .dropout_hidden = o->activation_dropout,
	                         .dropout_out = o->dropout},
		.dropout = o->dropout,
		.position = {.max = max_i64(POSITIONS, o->max_length)},
	};
}

static void marian_config(const hec_training_options *o, hec_model_config *c)
{
	c->encoder = stack_of(o, o->encoder_layers);
	c->decoder = stack_of(o, o->decoder_layers);
	for (int i = 0; i < 2; i++) {
		hec_stack_config *stack = i ? &c->decoder : &c->encoder;
		stack->feed_forward.act = HEC_ACT_RELU;
		stack->embedding_scale = sqrt((double)o->width);
		stack->position.kind = HEC_POSITION_SINUSOIDAL;
		stack->position.sinusoid = HEC_SINUSOID_HALVES;
	}
	c->output_bias = true;
}

static void gpt2_config(const hec_training_options *o, hec_model_config *c)
{
	c->decoder = stack_of(o, o->decoder_layers);
	c->decoder.norm_first = true;
	c->decoder.final_norm = true;
	c->decoder.attention.fused = true;
	c->decoder.feed_forward.act = HEC_ACT_GELU_TANH;
	c->decoder.position.kind = HEC_POSITION_LEARNED;
	c->decoder.position.max = o->max_length;
	c->init_std = 0.02;
}

static void bert_config(const hec_training_options *o, hec_model_config *c)
{
	c->encoder = stack_of(o, o->encoder_layers);
	c->encoder.embedding_norm = true;
	c->encoder.norm_eps = 1e-12;
	c->encoder.feed_forward.act = HEC_ACT_GELU;
	c->encoder.position.kind = HEC_POSITION_LEARNED;
	c->encoder.position.max = o->max_length;
	c->types = 2;
	c->init_std = 0.02;
	c->head_act = HEC_ACT_GELU;
	c->head_dropout = o->dropout;
	c->output_bias = o->task == HEC_TASK_MLM;
}

/* What belongs to the text, not to the architecture. */
static void take_ids(const hec_training *t, hec_model_config *c)
{
	const hec_task task = t->o.task;
	c->vocab = hec_tokenizer_vocab(t->tokenizer);
	c->pad_id = hec_tokenizer_role(t->tokenizer, "pad");
	c->eos_id = hec_tokenizer_role(t->tokenizer, "eos");
	c->bos_id = task == HEC_TASK_LM ? c->eos_id : -1;
	c->start_id = task_has_encoder(task) && task_has_decoder(task) ? c->pad_id : -1;
}

void fresh_config(const hec_training *t, hec_model_config *c)
{
	const hec_task task = t->o.task;
	*c = (hec_model_config){.size = sizeof *c, .width = t->o.width};
	if (t->o.config)
		*c = t->given;
	else if (task == HEC_TASK_LM)
		gpt2_config(&t->o, c);
	else if (task_has_decoder(task))
		marian_config(&t->o, c);
	else
		bert_config(&t->o, c);
	take_ids(t, c);
	c->head = head_of_task(task);
	c->labels = c->head == HEC_HEAD_CLASSIFY ? (int64_t)t->labels.n : 0;
}
