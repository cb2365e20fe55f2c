/* model.h — the inside of hec_model: one block of parameters, and the layers whose tensors are views
 * of it.
 *
 *   ids → embed → layers → final norm → head     (features → convolutions before an encoder of frames)
 *          one stack or two             */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <hecate/decoder_layer.h>
#include <hecate/embedding.h>
#include <hecate/encoder_layer.h>
#include <hecate/model.h>
#include <hecate/session.h>

#define FRONT_TAPS 3

/* y = gelu(convolution of x), over three frames. */
typedef struct front_layer {
	hec_tensor w; /* [C, in, 3] */
	hec_tensor b; /* [C] */
} front_layer;

/* Encoder or decoder. What a configuration does not ask for is absent. */
typedef struct model_stack {
	const hec_stack_config *config; /* of the model */
	hec_dtype dtype;
	int64_t width;           /* C */
	hec_embedding embedding; /* [V, C]; the two stacks may share it */
	front_layer front[2];    /* instead of the embedding */
	hec_embedding types;     /* [types, C] */
	hec_tensor positions;    /* [offset + max, C] learned, or the sinusoidal table */
	hec_rotary rotary;
	hec_relative_bias relative;
	hec_norm embedding_norm, final_norm;
	hec_encoder_layer *encoder; /* [layers], one of the two */
	hec_decoder_layer *decoder;
	int32_t pad_id; /* not counted where positions skip padding */
	uint16_t site;  /* of the dropout of the embeddings */
} model_stack;

/* Where the numbers of a parameter are, once the model has places. */
typedef struct param_place {
	void *data;         /* NULL: nowhere but in a pack */
	hec_linear *linear; /* whose pack has them too; NULL: none */
} param_place;

struct hec_model {
	hec_model_config config; /* resolved */
	hec_dtype dtype;
	model_stack encoder, decoder;
	hec_linear dense;  /* head: [C, C] of MASKED, CLASSIFY and a pooler */
	hec_norm norm;     /* head: of MASKED */
	hec_linear output; /* head: [V, C]; w is the embedding's where they are tied */
	hec_linear labels; /* head: [labels, C] */
	uint16_t head_site;

	hec_model_param *params; /* the table; names lie in `names` */
	param_place *places;     /* [count] */
	size_t count;
	char *names;
	const struct family *family; /* of the files that it came from; NULL: it was made here */
	char **label_names;          /* [labels]; NULL: never said */
	char *ignored;               /* names of what was in the files besides; NULL: nothing */
	char *lost;                  /* those of them that are weights of layers; NULL: none */
	char *report;                /* what became of the files' tensors; NULL: there were none */
	bool packed_only;            /* matrices of linears have no data: the model only runs */
	hec_tensor block;            /* without data where packed_only */
	hec_arena *memory;           /* of the parameters that have data */
	hec_arena *tables;           /* of positions that are not learned; NULL: there are none */
	hec_arena *packs;
	const void *
		layout; /* of the packs: what a context's kernels read, whichever context made them */
	bool packed_bwd;
};

/* The layers and the table of parameters: names, shapes, offsets. Nothing has a place yet. */
hec_status model_describe(const hec_model_config *config, hec_dtype dtype, hec_model **out);
/* Places for the parameters of a described model, all zero, and tables of positions filled. to_run: matrices
 * that the level of ctx packs only have a place in a pack. to_measure: parameters have addresses, but no
 * memory. */
hec_status model_place(hec_ctx *ctx, hec_model *model, bool to_run, bool to_measure);

/* Parameters get their first values: those that are chosen, by their number; NULL: all. */
hec_status model_start(hec_ctx *ctx, hec_model *model, uint64_t seed, const bool *chosen);

/* Every parameter that such a model would have, without making any: p->tensor is not there yet. */
hec_status model_each_param(const hec_model_config *config, hec_param_fn *fn, void *user);

/* Every parameter once, always in the same order. */
hec_status model_walk(hec_model *model, hec_param_fn *fn, void *user);
/* Tensors that share a parameter become views of it. */
void model_tie(hec_model *model);

bool model_has_encoder(const hec_model *model);
bool model_has_decoder(const hec_model *model);
bool model_has_dropout(const hec_model *model); /* some rate is not 0 */
/* Whether the encoder reads frames instead of words. */
bool model_has_front(const hec_model *model);
/* Whether nothing is learned here, not even decay. */
bool model_is_fixed(const hec_model *model, const hec_tensor *param);
/* The stack that the head reads. */
const model_stack *model_last_stack(const hec_model *model);
/* Whether the head gives a logit for each word of the vocabulary. */
bool head_is_vocabulary(hec_head head);
/* Whose embedding stays zero and takes no gradient, or −1. */
int32_t model_padding_row(const hec_model_config *config);
/* That row made zero: of parameters, or of gradients. */
hec_status model_zero_padding(hec_ctx *ctx, hec_model *model);

/* ---- load.c ---- */

/* The weights of a folder into the block of a model that is there: packs stay as they are. Where the
 * folder's configuration or tensors are of another model, it is refused and nothing is changed. */
hec_status model_read_into(hec_ctx *ctx, const char *dir, hec_model *model);
/* The same of the mean of n folders, whose files are all open at once; sums are doubles, in the order
 * of the folders. */
hec_status model_read_mean(hec_ctx *ctx, const char *const *dirs, size_t n, hec_model *model);

/* ---- session.c ---- */

/* What it was made with, the zeros filled in. */
const hec_session_options *session_options(const hec_session *session);

/* ---- config_file.c ---- */

/* hec_model_config_read, and the learning rate that is usual for going on from a model of its family. */
hec_status model_config_read_to_learn(const char *path, const hec_model_load_options *options,
                                      hec_model_config *out, double *rate);

/* ---- registry.c ---- */

/* Whether the vector of a text is made of the decoder's states (embeds_with_decoder): as the family of the
 * files has it, or for a model that was made here, the one that can say it. */
hec_status model_embeds_with_decoder(const hec_model *model, bool *yes);

/* ---- packs.c ---- */

/* The linear whose pack a parameter goes into, or NULL; p->tensor may not be there yet. */
hec_linear *packs_linear(hec_model *model, const hec_param *p);
/* Bytes of all packs. */
size_t packs_bytes(const hec_ctx *ctx, const hec_model *model, bool with_bwd);
/* A place for every pack of a model that only runs, nothing in them yet. */
hec_status packs_place(hec_ctx *ctx, hec_model *model);
/* Rows first, first + 1, … of the matrix of a linear that is packed, for whatever level. */
hec_status packs_rows(hec_ctx *ctx, const hec_linear *linear, int64_t first,
                      const hec_tensor *rows /* [n, in] written */);
/* Every tensor of the layers becomes a view of its parameter's place. */
hec_status model_set_tensors(hec_model *model);

#endif
