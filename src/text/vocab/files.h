/* files.h — a tokenizer without tokenizer.json: from vocab.txt, vocab.json and merges.txt, or a
 * SentencePiece model, with what tokenizer_config.json and its companions say. They become the parts
 * that tokenizer.json would name; there is no other way through which text goes. */
#ifndef TEXT_VOCAB_FILES_H
#define TEXT_VOCAB_FILES_H

#include "format/json.h"
#include "format/sentencepiece.h"
#include "text/tokenizer/tokenizer.h"

#define VOCAB_FILES 6

typedef struct vocab_file {
	char *name;
	char *data;
	size_t bytes;
} vocab_file;

typedef struct vocab_files {
	const char *path; /* the caller's, while it loads */
	bool folder;
	vocab_file kept[VOCAB_FILES]; /* as they were: to be saved */
	size_t n;
	json_t *root;   /* what tokenizer.json would hold; without 'model' where there are pieces */
	json_t *config; /* tokenizer_config.json with what special_tokens_map.json adds */
	json_t *roles;  /* "pad_token": … with the family's own where the config says nothing */
	json_t *known;  /* added tokens by their text: those of root */
	const struct vocab_family *family;
	const char *piece_file; /* the SentencePiece model's name; NULL: none */
	sp_model pieces;
	json_t *ids;       /* Marian: the vocabulary that has the ids; else NULL */
	char (*extra)[24]; /* names of T5's <extra_id_N> */
} vocab_files;

/* Whether the path is a file of a vocabulary, or a folder with some and without tokenizer.json. */
bool vocab_files_are_there(const char *path, bool folder);
/* config: the text of tokenizer_config.json; NULL: none. */
hec_status vocab_files_read(const char *path, bool folder, const char *config, size_t bytes,
                            vocab_files **out);
void vocab_files_free(vocab_files *v); /* takes NULL */
/* Keeps only what is saved. */
void vocab_files_forget(vocab_files *v);

/* Where the model is a SentencePiece's: it, and its normalizer. */
hec_status vocab_files_model(const vocab_files *v, hec_tokenizer *t);
/* Once the vocabulary is there: 'added_tokens' and 'post_processor' of root. */
hec_status vocab_files_finish(vocab_files *v, const vocab *words);

/* ---- inside ---- */

/* Reads and keeps a file beside; *out NULL: there is none. */
hec_status vocab_file_want(vocab_files *v, const char *name, size_t most, const vocab_file **out);
hec_status vocab_file_need(vocab_files *v, const char *name, size_t most, const vocab_file **out);
bool vocab_file_is_there(const vocab_files *v, const char *name);
/* Reads a JSON object beside; *out NULL: there is none. */
hec_status vocab_json_want(vocab_files *v, const char *name, bool keep, json_t **out);

/* Chooses the family by its class, config.json's model_type or the files, and fills root or pieces.
 * chosen: a file that was named; NULL: none. */
hec_status vocab_family_load(vocab_files *v, const char *chosen);

#endif
