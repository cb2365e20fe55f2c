/* info_facts.h — what `hecate info` tells: the model's sizes, its parameters by part, and the memory
 * that running and training take. */
#ifndef CLI_INSPECT_INFO_FACTS_H
#define CLI_INSPECT_INFO_FACTS_H

#include <stdio.h>

#include <hecate/info.h>
#include <hecate/model.h>
#include <hecate/tokenizer.h>

typedef enum part { PART_EMBEDDINGS = 0, PART_ENCODER, PART_DECODER, PART_HEAD, PARTS } part;

typedef struct info_memory {
	int64_t length;     /* tokens of a text, on each side */
	int64_t batch;      /* tokens of a batch of training, on each side */
	size_t weights;     /* running: parameters, and as the kernels want them */
	size_t session;     /* running: cache and work space for one text */
	size_t state;       /* training: weights, gradients, two moments: 16 bytes a parameter */
	size_t packs;       /* training: weights as the kernels want them */
	size_t activations; /* training: what the passes over one batch keep */
} info_memory;

typedef struct info_facts {
	const hec_info *files;
	const hec_model *model;
	const hec_model_config *config;
	const hec_tokenizer *tokenizer; /* or NULL */
	int64_t parameters[PARTS], total;
	info_memory memory;
} info_facts;

void info_count(const hec_model *model, int64_t parameters[PARTS], int64_t *total);
/* The longest text that the model's positions can tell apart; 0: any. */
int64_t info_longest(const hec_model_config *config);
/* unpacked: the same model as it learns. Numbers are needed of neither. */
hec_status info_measure(hec_ctx *ctx, const hec_model *model, const hec_model *unpacked,
                        info_memory *m);

void info_show_text(const info_facts *f, const char *dir, FILE *out);
bool info_show_json(const info_facts *f, FILE *out);

#endif
