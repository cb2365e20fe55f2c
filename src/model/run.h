/* run.h — both stacks, from a batch to hidden states and back. */
#ifndef MODEL_RUN_H
#define MODEL_RUN_H

#include "model/head.h"
#include "model/stack.h"

struct hec_model_kept {
	stack_kept encoder, decoder;
	hec_tensor memory; /* [B, S, C] of the encoder, where there is a decoder */
	hec_tensor hidden; /* [B, T, C] of the last stack */
	head_kept head;
};

/* The batch, checked: sizes, lengths, what must and must not be there. */
hec_status input_take(const hec_model *m, const hec_model_input *given, hec_model_input *input);

/* Whether grad is of the same shape as m. */
hec_status gradient_fits(const hec_model *m, const hec_model *grad);

/* Fills in memory and hidden of k; with keep also what backward needs. */
hec_status hidden_fwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                      const hec_model_input *input, const hec_dropout_key *key,
                      const hec_model_output *output, /* weights, written where present */
                      bool keep, hec_model_kept *k);
hec_status hidden_bwd(hec_ctx *ctx, hec_arena *arena, const hec_model *m,
                      const hec_model_input *input, const hec_dropout_key *key,
                      const hec_model_kept *k, hec_tensor *dhidden, /* overwritten */
                      hec_model *grad);

#endif
