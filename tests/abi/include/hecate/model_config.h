/* model_config.h — what a Transformer is, as plain numbers.
 *
 * Every one of them (the 2017 encoder–decoder, BERT, GPT-2, Llama, BART, Marian, T5, Whisper) is one
 * or two stacks of the same layers between an embedding and a head. A family of pretrained models is
 * a way to fill in this struct. */
#ifndef HECATE_MODEL_CONFIG_H
#define HECATE_MODEL_CONFIG_H

#include <hecate/feed_forward.h>
#include <hecate/multi_head.h>
#include <hecate/norm.h>
#include <hecate/position.h>

HEC_BEGIN

typedef enum hec_position_kind {
	HEC_POSITION_NONE = 0,
	HEC_POSITION_SINUSOIDAL, /* added to the embeddings */
	HEC_POSITION_LEARNED,    /* added to the embeddings */
	HEC_POSITION_ROTARY,     /* turns q and k in every layer */
	HEC_POSITION_RELATIVE    /* T5's bias, one table for all layers of the stack */
} hec_position_kind;

typedef struct hec_position_config { /* layer */
	hec_position_kind kind;
	int64_t max; /* the longest sequence; 0: 512. Sinusoidal and rotary: of the tables made */
	int64_t offset; /* learned: rows before position 0 (RoBERTa, BART: 2) */
	bool fixed;     /* learned: a table of the files that starts as sinusoids and that learning
	                   leaves as it is (Whisper's encoder) */
	bool skip_padding; /* learned: pad_id stands at row offset − 1 and is not counted (RoBERTa) */
	double base;       /* sinusoidal, rotary; 0: 10000 */
	hec_sinusoid sinusoid;
	hec_rotary_pairs pairs;
	int64_t rotary_width; /* R; 0: all of a head */
	hec_rotary_scaling scaling;
	int64_t buckets;      /* relative; 0: 32 */
	int64_t max_distance; /* relative; 0: 128 */
} hec_position_config;

/* One stack of layers. Sizes and dropouts inside attention and feed_forward are those of every
 * layer; their width, memory_width and site are filled in. */
typedef struct hec_stack_config {        /* layer */
	int64_t layers;                  /* 0: the model has no such stack */
	hec_multi_head_config attention; /* of self- and cross-attention; cross is never fused */
	hec_feed_forward_config feed_forward;
	hec_norm_kind norm;
	double norm_eps; /* 0: 1e-5 */
	bool norm_first;
	bool residual_linear;
	bool embedding_norm;    /* a norm right after the embeddings (BERT, BART) */
	bool final_norm;        /* a norm after the last layer (GPT-2, Llama, T5) */
	double embedding_scale; /* 0 or 1: none; √C in the 2017 paper */
	double dropout;         /* of the embeddings */
	int64_t window;         /* > 0: self-attention sees that many positions … */
	int64_t window_from;    /* … from this layer on; those before see all (Qwen2) */
	hec_position_config position;
} hec_stack_config;

/* What stands before an encoder that reads frames of sound instead of words (Whisper): two convolutions
 * over three frames each, with GELU (erf) behind them. The second goes in steps of two, so that an
 * encoder of position.max positions reads 2 · position.max frames, no more and no fewer. */
typedef struct hec_front_config { /* layer */
	int64_t features; /* numbers of each frame (mel bands); 0: the encoder reads words */
} hec_front_config;

typedef enum hec_head {
	HEC_HEAD_NONE = 0, /* the hidden states */
	HEC_HEAD_LM,       /* a logit for each word of the vocabulary at each position */
	HEC_HEAD_MASKED,   /* the same after one more dense layer, activation and norm (BERT) */
	HEC_HEAD_CLASSIFY, /* labels for the whole sequence, from one of its positions */
	HEC_HEAD_TOKENS,   /* labels for each position */
	HEC_HEAD_ANSWER    /* two logits for each position: where an answer begins and ends */
} hec_head;

/* Which position HEC_HEAD_CLASSIFY reads. */
typedef enum hec_head_row {
	HEC_ROW_FIRST = 0, /* the first; not of a decoder, where it sees nothing else */
	HEC_ROW_LAST,      /* the last that is not pad_id (GPT-2, Llama); the first where all are */
	HEC_ROW_EOS        /* where the last eos_id stands in ids, or in decoder_ids where they are
	                      alone; each sequence must have one (BART, T5) */
} hec_head_row;

typedef struct hec_model_config { /* layer */
	size_t size;              /* sizeof(hec_model_config) */
	int64_t vocab;            /* V */
	int64_t width;            /* C, of both stacks */
	int64_t types;            /* token types, added to the embeddings (BERT: 2); 0: none */
	hec_stack_config encoder;
	hec_stack_config decoder; /* has cross-attention where there is an encoder too */
	bool separate_embeddings; /* encoder and decoder have tables of their own */
	bool separate_output; /* the head has a table of its own; else the (decoder's) embedding */
	bool output_bias;     /* [V], of HEC_HEAD_LM and HEC_HEAD_MASKED */
	hec_head head;
	double output_scale; /* of what the output is given: 0 or 1: none; T5: 1/√C */
	bool pooler; /* NONE: a dense layer and tanh on the first position as well (BERT's) */
	hec_activation head_act; /* of the dense layer of MASKED */
	hec_activation pool_act; /* of that of CLASSIFY; NONE: TANH, as BERT's pooler */
	hec_head_row head_row;   /* of CLASSIFY */
	bool head_plain; /* CLASSIFY: labels of the row itself, without a dense layer and without a
	                    bias (GPT-2's "score") */
	double head_dropout; /* before the labels of CLASSIFY and TOKENS */
	int64_t labels;      /* of CLASSIFY, TOKENS */
	double init_std;     /* > 0: linears and embeddings start normal with this deviation;
	                            0: linears Xavier, embeddings 1/√C */
	/* Ids with a meaning; −1: there is none. A zeroed struct says id 0 for each: set them. */
	int32_t pad_id; /* its embedding is zero and stays so */
	int32_t bos_id, eos_id;
	int32_t start_id; /* what a decoder with an encoder begins with */
	/* mBART: only where it writes; where it learns, or reads a text to judge it, the decoder begins
	 * with the last of that text. So does every decoder without a start_id. */
	bool start_last;
	hec_front_config
		front; /* of a model with both stacks; the table of words is the decoder's */
} hec_model_config;

/* Fills in the zeros that mean a default, and checks every number: what is wrong is said with its
 * name and value. All other calls do this themselves. */
HEC_API HEC_MUST_USE hec_status hec_model_config_resolve(hec_model_config *config);

/* The most positions that a stack of a resolved configuration can number: position.max; INT64_MAX where
 * positions have no end (NONE, RELATIVE). */
HEC_API int64_t hec_stack_config_max_positions(const hec_stack_config *stack);
/* The most tokens of one text: the least of the stacks that read tokens; INT64_MAX: there is no bound. */
HEC_API int64_t hec_model_config_max_tokens(const hec_model_config *config);

/* Whether a decoder that is given a text to read begins with the last of it: start_last, or no start_id. */
HEC_API bool hec_model_config_starts_with_last(const hec_model_config *config);
/* What such a decoder reads of a text: what it begins with, then the text one place on. */
HEC_API void hec_model_config_shift(const hec_model_config *config,
                                    const int32_t *ids, /* [room], of which n are the text */
                                    int64_t n, int64_t room, int32_t *to /* [room], written */);

HEC_END

#endif
