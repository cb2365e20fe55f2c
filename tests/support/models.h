/* models.h — small models of every form, for tests that hold for each of them. */
#ifndef TESTS_SUPPORT_MODELS_H
#define TESTS_SUPPORT_MODELS_H

#include "support/test.h"

#include "format/safetensors.h"

typedef enum model_form { FORM_ENCODER, FORM_DECODER, FORM_BOTH } model_form;
#define MODEL_FORMS 3

/* Variant n of 0 … 9 draws on every choice: positions, norms, activations, ties, sizes of heads. */
#define MODEL_VARIANTS 10
hec_model_config model_variant(model_form form, int n, hec_head head, double dropout);

/* Of both stacks, with an encoder that reads frames. */
hec_model_config frames_variant(int n, hec_head head, double dropout);

/* Random parameters everywhere, norms and biases among them. */
hec_model *model_open(kit *k, const hec_model_config *config, hec_dtype dtype);

/* A batch of B sequences of random ids and lengths; what the form has no use for stays absent. */
typedef struct model_batch {
	hec_model_input input;
	int32_t length[8], decoder_length[8];
} model_batch;
void batch_open(model_batch *batch, kit *k, const hec_model *model, int64_t B, int64_t S, int64_t T,
                bool ragged);

/* The folder of a committed model of Transformers. */
const char *golden_model(const char *name, char path[512]);

/* A tensor of a file, read; HEC_TENSOR_NONE where there is none of that name. */
hec_tensor stored_tensor(kit *k, const safetensors *s, const char *name);

/* A copy of such a model at dir, without some tensors, and with others that hold four zeros each. NULL ends
 * each list. */
void golden_edited(kit *k, const char *name, const char *const *without, const char *const *with,
                   const char *dir);

/* A tensor for the logits of a batch, poisoned. */
hec_tensor logits_open(kit *k, const hec_model *model, const hec_model_input *input);

/* What config.json in dir says: "model_type", and the first of "architectures" (NULL: any). */
void check_saved_type(kit *k, const char *dir, const char *type, const char *architecture);

#endif
