/* family.h — a family of pretrained models is data: which key of config.json means which field, which
 * tensor of the files holds which parameter. Nothing outside family/ asks which family a model is of.
 *
 *   loading                                              saving
 *
 *   config.json                                          hec_model_config
 *     │ registry.c: model_type → family                    │ registry.c: a family that can say it
 *     │ family_config.c: family_key → field                │ family_config.c: the same keys
 *     ▼                                                    ▼
 *   hec_model_config                                     config.json
 *     │ model.c: model_describe
 *     ▼
 *   table of parameters                  "encoder.0.self.q.w", [C, C]     hec_model_param
 *     │ weights.c: family_tensor, for each layer
 *     ▼
 *   list of tensors in the files         "bert.encoder.layer.0.attention.self.query.weight": rows
 *     │                                  0 … C − 1 of parameter 7         weight, weight_part
 *     │ match.c: which of them the files hold, and what starts fresh
 *     │ model.c: model_place: each parameter gets its place in the block or in a pack   param_place
 *     ▼
 *   part.c: rows of a tensor ↔ rows of parameters, wherever these are     (saving: the same list)
 */
#ifndef MODEL_FAMILY_H
#define MODEL_FAMILY_H

#include <hecate/model.h>

#include "format/json.h"
#include "format/safetensors.h"

/* ---- keys ---- */

typedef enum family_kind {
	KEY_SIZE,  /* int64_t ≥ 1 */
	KEY_COUNT, /* int64_t ≥ 0 */
	KEY_ID,    /* int32_t; null: −1. A list of ids: its first */
	KEY_RATE,  /* double in 0 … 1 */
	KEY_REAL,  /* double */
	KEY_FLAG,  /* bool */
	KEY_NOT,   /* bool, the other way round */
	KEY_WORD   /* an enum by one of its names */
} family_kind;

/* The first word of a value is the one that is written. NULL last. */
typedef struct family_word {
	const char *word;
	int value;
} family_word;

typedef struct family_key {
	const char *key; /* "a.b": member b of the object a. A key may fill several fields */
	family_kind kind;
	size_t offset;   /* of the field in hec_model_config */
	double fallback; /* where the key is missing; NEEDED: an error */
	const family_word *words;
} family_key;

#define NEEDED (-1e300)
#define FIELD(path) offsetof(hec_model_config, path)

/* Activations by Hugging Face's names. */
extern const family_word family_activations[];

/* ---- tensors ---- */

typedef enum family_flag {
	TENSOR_TRANSPOSED = 1, /* stored [in, out] */
	TENSOR_JOINED = 2,     /* the next part of the tensor of the row before, along `out` */
	TENSOR_INSTEAD = 4, /* read where the tensor of the row before is missing; never written */
	TENSOR_ROW = 8,     /* stored [1, n] */
	TENSOR_ZERO = 16,   /* [V], written as zeros where the model has no such parameter */
	TENSOR_GATED = 32,  /* only where the feed-forward network is gated, */
	TENSOR_PLAIN = 64,  /* only where it is not */
	TENSOR_APART = 128, /* only where the output has a table of its own, */
	TENSOR_TIED = 256   /* only where it has not */
} family_flag;
/* Added to the flags: only where the model has this head. */
#define TENSOR_OF(head) (1u << (16 + (head)))
#define TENSOR_HEADS (~0u << 16)

/* '*' is the number of a layer. Of our names those of q, k and v also stand for their rows of a fused
 * qkv. A row whose parameter the model has not is passed over. NULL last. */
typedef struct family_tensor {
	const char *ours, *theirs;
	unsigned flags;
} family_tensor;

/* clang-format off */
#define LINEAR(ours, theirs) {ours ".w", theirs ".weight", 0}, {ours ".b", theirs ".bias", 0}
#define LINEAR_OF(head, ours, theirs) \
	{ours ".w", theirs ".weight", TENSOR_OF(head)}, {ours ".b", theirs ".bias", TENSOR_OF(head)}
#define CONV1D(ours, theirs) \
	{ours ".w", theirs ".weight", TENSOR_TRANSPOSED}, {ours ".b", theirs ".bias", 0}
#define NORM(ours, theirs) {ours ".gamma", theirs ".weight", 0}, {ours ".beta", theirs ".bias", 0}
/* clang-format on */

/* ---- a family ---- */

typedef struct family_architecture {
	const char *name;
	hec_head head;
	const char *prefix; /* of the base model in its files, where it is not the family's */
} family_architecture;

#define FINE_TUNING_RATE 5e-5

typedef struct family {
	const char *model_type;
	const family_architecture
		*architectures;       /* the first is the one without a name; NULL last */
	const char *prefix;           /* of the base model: tensors may lack it */
	const family_key *keys;       /* key NULL last */
	const family_tensor *tensors; /* NULL: our own names */
	const char *const *read_keys; /* keys that read() takes besides; NULL last, or NULL: none */
	/* Ends of the names of tensors in layers that hold nothing learned: masks, angles; as above. */
	const char *const *no_weights;
	/* The vector of a text is made of the decoder's states, where there are both stacks; else of the
	 * encoder's: as sentence-transformers has it. */
	bool embeds_with_decoder;
	double fine_tuning_rate; /* the learning rate that is usual for it; 0: FINE_TUNING_RATE */
	/* What keys alone do not say: before (fields that are always so) and after reading them. */
	void (*begin)(hec_model_config *c);
	hec_status (*read)(const json_scope *s, hec_model_config *c);
	/* What the tensors of the files say of the configuration; or NULL. */
	hec_status (*look)(const safetensors *files, hec_model_config *c);
	/* More keys of config.json, and those of generation_config.json (NULL: there is no such file). */
	hec_status (*write)(const hec_model_config *c, json_t *config);
	hec_status (*generation)(const hec_model_config *c, json_t *config);
} family;

extern const family family_marian, family_bart, family_mbart, family_t5, family_whisper;
extern const family family_bert, family_distilbert, family_roberta, family_xlm_roberta;
extern const family family_gpt2, family_llama, family_mistral, family_qwen2, family_hecate;

/* ---- family_files.c: what several of them share ---- */

/* Whether a tensor is there, with or without the prefix of the base model. */
bool family_file_has(const safetensors *files, const char *prefix, const char *name);
/* output_bias, where final_logits_bias is not all zeros. */
hec_status family_look_bias(const safetensors *files, hec_model_config *c);
/* pooler, where the files hold one and no other head is asked for. */
hec_status family_look_pooler(const safetensors *files, const char *prefix, hec_model_config *c);
/* Labels of an encoder's heads, and the dropout before them; a configuration of a decoder is refused. */
hec_status family_read_encoder(const json_scope *s, hec_model_config *c);
#define FAMILY_ENCODER_KEYS "is_decoder", "classifier_dropout" /* for read_keys */
/* Labels of a decoder's heads, and the dropout before those of TOKENS. */
hec_status family_read_labels(const json_scope *s, hec_model_config *c);
#define FAMILY_LABEL_KEYS "hidden_dropout", "classifier_dropout" /* for read_keys */
hec_status family_write_labels(const hec_model_config *c, json_t *config);
/* "classifier_dropout", where the head has another rate than the stack (BERT, RoBERTa). */
hec_status family_write_head_dropout(const hec_model_config *config, json_t *object);
/* generation_config.json: the ids that have a meaning. */
hec_status family_generation(const hec_model_config *c, json_t *config);
/* The first of "architectures"; "" where there is none. */
const char *family_architecture_of(const json_scope *s);

/* ---- registry.c ---- */

/* By model_type, else by architectures. */
hec_status family_find(const json_scope *config, const family **out);
/* The one that can say this configuration: its config.json, read again, gives it back. `first`, or
 * NULL, is asked before the others. */
hec_status family_for(const hec_model_config *c, const family *first, const family **out);

/* ---- family_config.c ---- */

hec_status family_read(const family *f, const json_scope *config, hec_model_config *out);
hec_status family_write(const family *f, const hec_model_config *c, json_t **out);
/* Whether two resolved configurations compute the same: what does nothing in them, what only matters
 * while learning, and how projections are stored, are not looked at. */
hec_status family_same(const hec_model_config *a, const hec_model_config *b, bool *same);
/* The first field in which they do not, and what it is in each: "encoder.attention.heads is 1 there and
 * 2 here". "": none. How long a table of positions is that no file holds is not looked at, either. */
#define FAMILY_DIFFERENCE 256
hec_status family_difference(const hec_model_config *there, const hec_model_config *here,
                             char text[FAMILY_DIFFERENCE]);

/* ---- weights.c ---- */

#define WEIGHT_NAME 192
#define WEIGHT_PARTS 3

/* Rows of one parameter. */
typedef struct weight_part {
	size_t param;        /* its number in the model's table */
	int64_t first, rows; /* all of it, or some rows of a fused projection */
	bool transposed;     /* the file has [in, out] */
} weight_part;

/* One tensor of a file: its name and shape there, and which rows of which parameters it holds. It names no
 * memory, so that a list can be made of a model that has none yet. */
typedef struct weight {
	char name[WEIGHT_NAME];
	int rank;
	int64_t shape[HEC_MAX_RANK];
	bool as_row; /* the file has it as [1, n] */
	int axis;    /* along which the parts follow each other */
	int parts;   /* 0: zeros */
	weight_part part[WEIGHT_PARTS];
	const family_tensor *row; /* NULL: our own name */
	size_t base;              /* where in `name` it begins after the prefix of the base model */
	int64_t layer;            /* what '*' stands for */
	/* match.c: what the files have of it. */
	const safetensors_entry *entry; /* NULL: nothing is read */
	int64_t rows_read;
	bool fresh; /* all or some of it starts fresh */
} weight;

/* Every tensor that a file of this model has; for mem_free(). */
hec_status weights_list(const family *f, const hec_model *model, weight **out, size_t *count);
/* The shape that the file has; returns its rank. */
int weights_file_shape(const weight *w, int64_t shape[SAFETENSORS_RANK]);
/* Numbers in one row. */
int64_t weights_row(const weight *w);
/* Bytes that are read or written at a time: 1 MiB, or more where a row is longer than that. */
size_t weights_piece(const weight *list, size_t count);
/* pattern with its '*' replaced. */
hec_status weights_name(const char *pattern, int64_t layer, char name[WEIGHT_NAME]);

/* ---- part.c ---- */

/* Rows first, first + 1, … of a file's tensor, into the model's parameters and out of them. */
hec_status weight_put(hec_ctx *ctx, const hec_model *model, const weight *w, int64_t first,
                      const hec_tensor *rows /* f32 where a part is only packed */);
hec_status weight_get(hec_ctx *ctx, const hec_model *model, const weight *w, int64_t first,
                      const hec_tensor *rows /* written */);
/* Whether some of it exists in a pack alone, which takes f32. */
bool weight_is_packed(const hec_model *model, const weight *w);

#endif
