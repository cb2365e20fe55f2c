/* model.h — a Transformer: its configuration, its parameters, forward and backward.
 *
 * hec_model_fwd and hec_model_bwd run whole batches at once, to learn or to look at every number;
 * session.h runs token by token on a cache; trainer.h and decode.h are the loops around them. */
#ifndef HECATE_MODEL_H
#define HECATE_MODEL_H

#include <hecate/model_config.h>
#include <hecate/param.h>

HEC_BEGIN

/* After it is made, loaded or packed, a model is only read, and any number of threads may share it. */
typedef struct hec_model hec_model;

/* Fresh parameters from the seed. */
HEC_API HEC_MUST_USE hec_status hec_model_create(hec_ctx *ctx, const hec_model_config *config,
                                                 hec_dtype dtype, /* F32, or F64 to check */
                                                 uint64_t seed, hec_model **out);
/* A model that is to be other than its files say: what fits is loaded, the rest starts fresh from the
 * seed, as in hec_model_create. A table with a row for each word, position or type is cut or extended
 * by rows; any other tensor of another shape starts fresh as a whole. */
typedef struct hec_model_load_options { /* options */
	size_t size;                    /* sizeof(hec_model_load_options) */
	/* What config.json is to say instead: "num_hidden_layers=2", "rope_scaling.factor=4.0". A value
	 * is read as JSON, or else is a text. */
	const char *const *overrides;
	size_t override_count;
	/* The head asked for; NULL: that of the files. Without overrides, parameters of the head alone
	 * may start fresh: what else is missing or misshapen is an error. */
	const hec_head *head;
	int64_t labels;                 /* of CLASSIFY and TOKENS; 0: as config.json says */
	const char *const *label_names; /* [labels]; NULL: as they are, or LABEL_0, … */
	bool fresh_labels; /* what says the labels starts fresh, also where the files have as many */
	uint64_t seed;
	/* The parameters in their block, none packed: to learn, or to look at the numbers. */
	bool unpacked;
	/* Everything is checked and nothing read: a model to count and to measure, which takes next to no
	 * memory. It has no numbers: what is run, saved or learned from it means nothing. */
	bool to_measure;
	/* What it computes in: F32, or F64, by the reference: slow, to see what rounding does. */
	hec_dtype dtype;
	/* What it is loaded for, of those in task_specific_params of config.json: "summarization",
	 * "translation_en_to_de", …: what stands before each text, how long, how many beams. NULL: none.
	 * Only a translator asks. */
	const char *task;
} hec_model_load_options;

/* clang-format off */
#define HEC_MODEL_LOAD_OPTIONS_INIT {.size = sizeof(hec_model_load_options)}
/* clang-format on */

/* Reads a Hugging Face directory: config.json, model.safetensors (or shards and their index). Each
 * tensor is read once, piece by piece, into the form that the kernels of ctx want: the model is ready
 * to run in contexts of that instruction level, and its matrices exist in no other form. For a context
 * of another level there is hec_model_pack, for what wants the numbers themselves hec_model_unpack. A dry
 * context reads none, and is refused. */
HEC_API HEC_MUST_USE hec_status
hec_model_load(hec_ctx *ctx, const char *dir,
               const hec_model_load_options *options, /* NULL: as the files say */
               hec_model **out);
/* The architecture that config.json describes, of any known family, with the overrides; resolved. No weights
 * are looked at. path is the file or its folder. */
HEC_API HEC_MUST_USE hec_status
hec_model_config_read(const char *path, const hec_model_load_options *options, /* NULL: as it is */
                      hec_model_config *out);
/* What became of the tensors of the files when a model was loaded: lines for people, "loaded: …",
 * "cut: …", "extended: …", "fresh: …", "ignored: …". "" for one that was made. */
HEC_API const char *hec_model_report(const hec_model *model);
/* Writes config.json, generation_config.json and model.safetensors into dir, each by atomic
 * replacement, as the family that can say this configuration, else as model_type "hecate". */
HEC_API HEC_MUST_USE hec_status hec_model_save(hec_ctx *ctx, const hec_model *model,
                                               hec_dtype dtype, /* F32, BF16, F16 */
                                               const char *dir);
HEC_API void hec_model_destroy(hec_model *model); /* takes NULL */
/* What the labels of a model that classifies are called (id2label of config.json): read and saved with
 * it. NULL where that was never said. Set them before the model is shared. */
HEC_API const char *hec_model_label(const hec_model *model, int64_t i);
HEC_API HEC_MUST_USE hec_status hec_model_set_labels(hec_model *model, const char *const *names,
                                                     int64_t n);
/* Rates of dropout from now on: of embeddings, sublayers and head; of attention weights; inside the
 * feed-forward layers. Less than 0: as it is. Before the model is shared. */
HEC_API HEC_MUST_USE hec_status hec_model_set_dropout(hec_model *model, double dropout,
                                                      double attention, double activation);
/* What the decoder behind an encoder begins with from now on (start_id): mBART writes in the language that it is
 * begun with. Before the model is shared. */
HEC_API HEC_MUST_USE hec_status hec_model_set_start(hec_model *model, int32_t start_id);
/* Names of tensors in the files that a loaded model has no use for, each with a newline; "" where
 * there are none. */
HEC_API const char *hec_model_ignored(const hec_model *model);
/* Those of them that are weights of a layer: something that was learned is left out. Heads, tables and what
 * a family's files hold besides weights (masks, angles) are not among them. */
HEC_API const char *hec_model_lost(const hec_model *model);

HEC_API const hec_model_config *hec_model_config_of(const hec_model *model); /* resolved */

/* One table drives initialisation, loading, saving, gradients and learning: every parameter lies at
 * its offset in one block of memory. Tied tensors appear once. Names, in this order, where the
 * configuration has them (STACK: encoder, decoder; a linear has .w and .b, a norm .gamma and .beta):
 *   embedding, or STACK.embedding where they are separate         [V, C]
 *   encoder.front1.w [C, features, 3], encoder.front2.w [C, C, 3] and their .b [C]
 *   encoder.types [types, C], STACK.positions [offset + max, C], STACK.relative [buckets, H]
 *   STACK.embedding_norm
 *   encoder.layers.N.{attention.{q,k,v | qkv}, attention.out, residual1, norm1,
 *                     feed_forward.{gate, up, down}, residual2, norm2}
 *   decoder.layers.N.{self.…, residual1, norm1, cross.…, residual2, norm2,
 *                     feed_forward.…, residual3, norm3}
 *   STACK.final_norm
 *   head.dense (also a pooler's), head.norm, head.labels, head.output.w [V, C] where separate, head.output.b [V] */
typedef struct hec_model_param { /* result */
	const char
		*name; /* e.g. "encoder.layers.0.attention.q.w", "decoder.layers.0.cross.out.b" */
	int rank;
	int64_t shape[HEC_MAX_RANK];
	int64_t offset; /* in elements, from the start of the block; a multiple of 16 */
	int64_t count;  /* elements */
	bool decay; /* weight decay applies: matrices of linears and embeddings, not biases and norms */
} hec_model_param;

HEC_API size_t hec_model_param_count(const hec_model *model);
HEC_API const hec_model_param *hec_model_param_at(const hec_model *model,
                                                  size_t i); /* NULL past the end */
/* The block as one tensor [elements]; gaps between parameters are zero. Of a model that was loaded,
 * before hec_model_unpack, the block and the matrices of linears have a shape but may have no data. */
HEC_API hec_tensor hec_model_block(const hec_model *model);
HEC_API hec_tensor hec_model_tensor(const hec_model *model, size_t i); /* parameter i, shaped */
/* Bytes that it holds: parameters, tables, and what hec_model_pack laid out. */
HEC_API size_t hec_model_bytes(const hec_model *model);

/* Makes the block of a model that was loaded: before its numbers are looked at or it learns
 * (hec_trainer_create does so itself). At any level. Before the model is shared; where there is a block already,
 * nothing is done. */
HEC_API HEC_MUST_USE hec_status hec_model_unpack(hec_ctx *ctx, hec_model *model);

/* A second model of the same shape, all zeros, to hold gradients (or moments, or an average). */
HEC_API HEC_MUST_USE hec_status hec_model_create_like(const hec_model *model, hec_model **out);
/* Lays the weights out for the kernels of ctx's level: after they are made, after each step while
 * learning, and before a model that was loaded at one level runs at another. What a context packed, any
 * context of its level reads, also when the first is gone. with_bwd: also for learning. Before the
 * model is shared. */
HEC_API HEC_MUST_USE hec_status hec_model_pack(hec_ctx *ctx, hec_model *model, bool with_bwd);

/* A batch. Sequences shorter than the batch are padded with any id; lengths say what counts. */
typedef struct hec_model_input { /* options */
	size_t size;             /* sizeof(hec_model_input) */
	hec_tensor ids;          /* [B, S] i32: the encoder's; absent for a decoder-only model */
	const int32_t *length;   /* [B]; NULL: all S */
	hec_tensor types;        /* [B, S] i32 token types; absent: 0 */
	hec_tensor decoder_ids;  /* [B, T] i32; absent for an encoder-only model */
	const int32_t *decoder_length; /* [B]; NULL: all T */
	/* [B, S] i8, or absent: 0 at what no one may look at, anywhere in the sequence. Of ids, also
	 * seen from a decoder; of decoder_ids where there is no encoder. */
	hec_tensor mask;
	/* [B, front.features, 2 · position.max] of the model's dtype, instead of ids, where the encoder
	 * reads frames; absent otherwise. All frames count: there is no length, no mask. */
	hec_tensor features;
} hec_model_input;

/* clang-format off */
#define HEC_MODEL_INPUT_INIT {.size = sizeof(hec_model_input)}
/* clang-format on */

/* What is wanted: a tensor that is absent is not computed. Shapes by the head:
 *   hidden  [B, T, C] of the last stack (the encoder's where there is no decoder)
 *   memory  [B, S, C] of the encoder, where there is a decoder
 *   logits  [B, T, V], [B, labels], [B, S, labels] or [B, S, 2]
 *   attention weights, one tensor [layers, B, H, T, S] flattened to rank 4 [layers·B, H, T, S]
 *   pooled  [B, C] where the configuration has a pooler; nothing is learned through it */
typedef struct hec_model_output { /* options */
	size_t size;              /* sizeof(hec_model_output) */
	hec_tensor hidden, memory, logits;
	hec_tensor encoder_weights, decoder_weights, cross_weights;
	hec_tensor pooled;
} hec_model_output;

/* clang-format off */
#define HEC_MODEL_OUTPUT_INIT {.size = sizeof(hec_model_output)}
/* clang-format on */

typedef struct hec_model_kept hec_model_kept; /* lives in the arena */

HEC_API HEC_MUST_USE hec_status hec_model_fwd(hec_ctx *ctx, hec_arena *arena,
                                              const hec_model *model, const hec_model_input *input,
                                              const hec_dropout_key *key, /* NULL: no dropout */
                                              hec_model_output *output, /* written where present */
                                              hec_model_kept **kept /* NULL: only running */);
/* dlogits may be overwritten; without a head it is the gradient of hidden. The row of pad_id keeps a
 * gradient of zero. */
HEC_API HEC_MUST_USE hec_status hec_model_bwd(hec_ctx *ctx, hec_arena *arena,
                                              const hec_model *model, const hec_model_input *input,
                                              const hec_dropout_key *key,
                                              const hec_model_kept *kept, hec_tensor *dlogits,
                                              hec_model *grad /* added to */);

/* What a model is to say. */
typedef struct hec_model_loss { /* options */
	size_t size;            /* sizeof(hec_model_loss) */
	hec_tensor targets; /* i32 [B, T] for LM, MASKED and TOKENS, [B] for CLASSIFY, [B, 2] (begin
	                       and end of the answer) for ANSWER */
	int32_t ignore;     /* targets of this value do not count */
	double smoothing;   /* of the labels, 0 ≤ ε < 1; 0 for ANSWER */
	double scale; /* gradient of each loss that counts: 1/count for the mean; 1: divide later, e.g.
	                 by hec_adamw.grad_scale */
	bool plain; /* the sum of the losses is without smoothing; the gradient is not */
} hec_model_loss;

/* clang-format off */
#define HEC_MODEL_LOSS_INIT {.size = sizeof(hec_model_loss), .ignore = -100, .scale = 1.0}
/* clang-format on */

/* Forward, cross-entropy, and where grad is given backward, in one call: logits are made and used
 * piece by piece, only where a target counts, so that [B·T, V] never exists whole. The arena is left
 * as it was. */
HEC_API HEC_MUST_USE hec_status hec_model_learn(hec_ctx *ctx, hec_arena *arena,
                                                const hec_model *model,
                                                const hec_model_input *input,
                                                const hec_model_loss *loss,
                                                const hec_dropout_key *key, /* NULL: none */
                                                hec_model *grad, /* added to; NULL: only the loss */
                                                double *sum,     /* of the losses that count */
                                                int64_t *count /* how many do */);

HEC_END

#endif
