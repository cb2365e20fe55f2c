/* layer_rows.h — keys of config.json and tensors of the layers where families name them alike: rows of their
 * tables. */
#ifndef MODEL_FAMILY_LAYER_ROWS_H
#define MODEL_FAMILY_LAYER_ROWS_H

#include "model/family.h"

/* Each row one line: */
/* clang-format off */

/* BERT and RoBERTa. */
#define BERT_KEY_ROWS \
	{"hidden_size", KEY_SIZE, FIELD(width), 768, NULL}, \
	{"num_hidden_layers", KEY_SIZE, FIELD(encoder.layers), 12, NULL}, \
	{"num_attention_heads", KEY_SIZE, FIELD(encoder.attention.heads), 12, NULL}, \
	{"intermediate_size", KEY_SIZE, FIELD(encoder.feed_forward.hidden), 3072, NULL}, \
	{"hidden_act", KEY_WORD, FIELD(encoder.feed_forward.act), HEC_ACT_GELU, family_activations}, \
	{"max_position_embeddings", KEY_SIZE, FIELD(encoder.position.max), 512, NULL}, \
	{"type_vocab_size", KEY_SIZE, FIELD(types), 2, NULL}, \
	{"layer_norm_eps", KEY_REAL, FIELD(encoder.norm_eps), 1e-12, NULL}, \
	{"hidden_dropout_prob", KEY_RATE, FIELD(encoder.dropout), 0.1, NULL}, \
	{"hidden_dropout_prob", KEY_RATE, FIELD(encoder.attention.dropout_out), 0.1, NULL}, \
	{"hidden_dropout_prob", KEY_RATE, FIELD(encoder.feed_forward.dropout_out), 0.1, NULL}, \
	{"hidden_dropout_prob", KEY_RATE, FIELD(head_dropout), 0.1, NULL}, \
	{"attention_probs_dropout_prob", KEY_RATE, FIELD(encoder.attention.dropout_weights), 0.1, NULL}, \
	{"initializer_range", KEY_REAL, FIELD(init_std), 0.02, NULL}, \
	{"tie_word_embeddings", KEY_NOT, FIELD(separate_output), 1, NULL}

/* The same; theirs: what stands before the names. */
#define BERT_LAYER_ROWS(theirs) \
	LINEAR("encoder.layers.*.attention.q", theirs "attention.self.query"), \
	LINEAR("encoder.layers.*.attention.k", theirs "attention.self.key"), \
	LINEAR("encoder.layers.*.attention.v", theirs "attention.self.value"), \
	LINEAR("encoder.layers.*.attention.out", theirs "attention.output.dense"), \
	NORM("encoder.layers.*.norm1", theirs "attention.output.LayerNorm"), \
	LINEAR("encoder.layers.*.feed_forward.up", theirs "intermediate.dense"), \
	LINEAR("encoder.layers.*.feed_forward.down", theirs "output.dense"), \
	NORM("encoder.layers.*.norm2", theirs "output.LayerNorm")
#define BERT_EMBEDDING_ROWS(theirs) \
	{"embedding", theirs "word_embeddings.weight", 0}, \
	{"encoder.types", theirs "token_type_embeddings.weight", 0}, \
	{"encoder.positions", theirs "position_embeddings.weight", 0}, \
	NORM("encoder.embedding_norm", theirs "LayerNorm")
#define BERT_OUTPUT_ROWS(theirs) \
	{"head.output.w", theirs "decoder.weight", 0}, \
	{"head.output.b", theirs "bias", TENSOR_TIED}, \
	{"head.output.b", theirs "decoder.bias", TENSOR_INSTEAD}, \
	{"head.output.b", theirs "decoder.bias", TENSOR_APART}, \
	{"head.output.b", theirs "bias", TENSOR_INSTEAD}

/* Marian, BART, mBART and Whisper, with what they default to. The positions stand between the two. */
#define BART_SIZE_ROWS(size, depth, heads_each, hidden_size) \
	{"d_model", KEY_SIZE, FIELD(width), size, NULL}, \
	{"encoder_layers", KEY_SIZE, FIELD(encoder.layers), depth, NULL}, \
	{"encoder_attention_heads", KEY_SIZE, FIELD(encoder.attention.heads), heads_each, NULL}, \
	{"encoder_ffn_dim", KEY_SIZE, FIELD(encoder.feed_forward.hidden), hidden_size, NULL}, \
	{"decoder_layers", KEY_SIZE, FIELD(decoder.layers), depth, NULL}, \
	{"decoder_attention_heads", KEY_SIZE, FIELD(decoder.attention.heads), heads_each, NULL}, \
	{"decoder_ffn_dim", KEY_SIZE, FIELD(decoder.feed_forward.hidden), hidden_size, NULL}, \
	{"activation_function", KEY_WORD, FIELD(encoder.feed_forward.act), HEC_ACT_GELU, family_activations}, \
	{"activation_function", KEY_WORD, FIELD(decoder.feed_forward.act), HEC_ACT_GELU, family_activations}
#define BART_RATE_ROWS(rate) \
	{"dropout", KEY_RATE, FIELD(encoder.dropout), rate, NULL}, \
	{"dropout", KEY_RATE, FIELD(encoder.attention.dropout_out), rate, NULL}, \
	{"dropout", KEY_RATE, FIELD(encoder.feed_forward.dropout_out), rate, NULL}, \
	{"dropout", KEY_RATE, FIELD(decoder.dropout), rate, NULL}, \
	{"dropout", KEY_RATE, FIELD(decoder.attention.dropout_out), rate, NULL}, \
	{"dropout", KEY_RATE, FIELD(decoder.feed_forward.dropout_out), rate, NULL}, \
	{"attention_dropout", KEY_RATE, FIELD(encoder.attention.dropout_weights), 0, NULL}, \
	{"attention_dropout", KEY_RATE, FIELD(decoder.attention.dropout_weights), 0, NULL}, \
	{"activation_dropout", KEY_RATE, FIELD(encoder.feed_forward.dropout_hidden), 0, NULL}, \
	{"activation_dropout", KEY_RATE, FIELD(decoder.feed_forward.dropout_hidden), 0, NULL}, \
	{"init_std", KEY_REAL, FIELD(init_std), 0.02, NULL}

/* Marian, BART and mBART: one table of words for both stacks, or one for each. Files of one table have it
 * by any of its names; files from when only the output was apart have one where two are wanted. */
#define BART_TABLE_ROWS \
	{"embedding", "model.shared.weight", 0}, \
	{"embedding", "model.encoder.embed_tokens.weight", TENSOR_INSTEAD}, \
	{"embedding", "model.decoder.embed_tokens.weight", TENSOR_INSTEAD}, \
	{"embedding", "lm_head.weight", TENSOR_INSTEAD}, \
	{"encoder.embedding", "model.encoder.embed_tokens.weight", 0}, \
	{"encoder.embedding", "model.shared.weight", TENSOR_INSTEAD}, \
	{"encoder.embedding", "model.decoder.embed_tokens.weight", TENSOR_INSTEAD}, \
	{"decoder.embedding", "model.decoder.embed_tokens.weight", 0}, \
	{"decoder.embedding", "model.shared.weight", TENSOR_INSTEAD}, \
	{"decoder.embedding", "model.encoder.embed_tokens.weight", TENSOR_INSTEAD}

/* And Whisper. */
#define BART_LAYER_ROWS \
	LINEAR("encoder.layers.*.attention.q", "model.encoder.layers.*.self_attn.q_proj"), \
	LINEAR("encoder.layers.*.attention.k", "model.encoder.layers.*.self_attn.k_proj"), \
	LINEAR("encoder.layers.*.attention.v", "model.encoder.layers.*.self_attn.v_proj"), \
	LINEAR("encoder.layers.*.attention.out", "model.encoder.layers.*.self_attn.out_proj"), \
	NORM("encoder.layers.*.norm1", "model.encoder.layers.*.self_attn_layer_norm"), \
	LINEAR("encoder.layers.*.feed_forward.up", "model.encoder.layers.*.fc1"), \
	LINEAR("encoder.layers.*.feed_forward.down", "model.encoder.layers.*.fc2"), \
	NORM("encoder.layers.*.norm2", "model.encoder.layers.*.final_layer_norm"), \
	LINEAR("decoder.layers.*.self.q", "model.decoder.layers.*.self_attn.q_proj"), \
	LINEAR("decoder.layers.*.self.k", "model.decoder.layers.*.self_attn.k_proj"), \
	LINEAR("decoder.layers.*.self.v", "model.decoder.layers.*.self_attn.v_proj"), \
	LINEAR("decoder.layers.*.self.out", "model.decoder.layers.*.self_attn.out_proj"), \
	NORM("decoder.layers.*.norm1", "model.decoder.layers.*.self_attn_layer_norm"), \
	LINEAR("decoder.layers.*.cross.q", "model.decoder.layers.*.encoder_attn.q_proj"), \
	LINEAR("decoder.layers.*.cross.k", "model.decoder.layers.*.encoder_attn.k_proj"), \
	LINEAR("decoder.layers.*.cross.v", "model.decoder.layers.*.encoder_attn.v_proj"), \
	LINEAR("decoder.layers.*.cross.out", "model.decoder.layers.*.encoder_attn.out_proj"), \
	NORM("decoder.layers.*.norm2", "model.decoder.layers.*.encoder_attn_layer_norm"), \
	LINEAR("decoder.layers.*.feed_forward.up", "model.decoder.layers.*.fc1"), \
	LINEAR("decoder.layers.*.feed_forward.down", "model.decoder.layers.*.fc2"), \
	NORM("decoder.layers.*.norm3", "model.decoder.layers.*.final_layer_norm")

/* clang-format on */

#endif
