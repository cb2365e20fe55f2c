/* family.c — which family the files of a vocabulary are of, as Transformers has them, and the model
 * of one with a SentencePiece. */
#include "text/vocab/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "text/model/pieces.h"
#include "text/normalize/precompiled.h"
#include "text/normalize/spm_normalizer.h"

#define END "<|endoftext|>"

/* pad, eos, bos, unk, cls, sep, mask */
#define ROLES_BERT                                                                                 \
	{                                                                                          \
		"[PAD]", NULL, NULL, "[UNK]", "[CLS]", "[SEP]", "[MASK]"                           \
	}
#define ROLES_ROBERTA                                                                              \
	{                                                                                          \
		"<pad>", "</s>", "<s>", "<unk>", "<s>", "</s>", "<mask>"                           \
	}
#define ROLES_END                                                                                  \
	{                                                                                          \
		NULL, END, END, END, NULL, NULL, NULL                                              \
	}

static const vocab_family bert = {"BertTokenizer",
                                  " bert electra ",
                                  vocab_load_bert,
                                  ROLES_BERT,
                                  "cls A sep",
                                  "cls A sep B:1 sep:1",
                                  false};
static const vocab_family distilbert = {
	"DistilBertTokenizer", " distilbert ", vocab_load_bert, ROLES_BERT, "cls A sep",
	"cls A sep B:1 sep:1", false};
static const vocab_family gpt2 = {
	"GPT2Tokenizer", " gpt2 ", vocab_load_gpt2, ROLES_END, NULL, NULL, false};
static const vocab_family roberta = {
	"RobertaTokenizer", " roberta ", vocab_load_roberta, ROLES_ROBERTA, NULL, NULL, false};
static const vocab_family bart = {
	"BartTokenizer", " bart ", vocab_load_roberta, ROLES_ROBERTA, NULL, NULL, false};
static const vocab_family whisper = {"WhisperTokenizer",
                                     " whisper ",
                                     vocab_load_gpt2,
                                     ROLES_END,
                                     "<|startoftranscript|> <|notimestamps|> A eos",
                                     "<|startoftranscript|> <|notimestamps|> A B:1 eos:1",
                                     false};
static const vocab_family qwen2 = {"Qwen2Tokenizer",
                                   " qwen2 qwen3 ",
                                   vocab_load_qwen2,
                                   {END, END, NULL, END, NULL, NULL, NULL},
                                   NULL,
                                   NULL,
                                   false};
static const vocab_family t5 = {"T5Tokenizer", " t5 mt5 ",
                                vocab_load_t5, {"<pad>", "</s>", NULL, "<unk>", NULL, NULL, NULL},
                                "A eos",       "A eos B eos",
                                false};
static const vocab_family xlm_roberta = {"XLMRobertaTokenizer",
                                         " xlm-roberta ",
                                         vocab_load_xlm_roberta,
                                         ROLES_ROBERTA,
                                         "bos A eos",
                                         "bos A eos eos B eos",
                                         false};
static const vocab_family llama = {"LlamaTokenizer",
                                   " llama mistral ",
                                   vocab_load_llama,
                                   {NULL, "</s>", "<s>", "<unk>", NULL, NULL, NULL},
                                   NULL,
                                   NULL,
                                   false};
static const vocab_family marian = {"MarianTokenizer",
                                    " marian ",
                                    vocab_load_marian,
                                    {"<pad>", "</s>", NULL, "<unk>", NULL, NULL, NULL},
                                    "A eos",
                                    "A B eos",
                                    true};
const vocab_family vocab_plain = {"SentencePiece",
                                  "",
                                  vocab_load_plain,
                                  {"<pad>", "</s>", "<s>", "<unk>", NULL, NULL, NULL},
                                  NULL,
                                  NULL,
                                  true};

const vocab_family *const vocab_families[] = {&bert,   &distilbert, &gpt2,        &roberta,
                                              &bart,   &whisper,    &qwen2,       &t5,
                                              &marian, &llama,      &xlm_roberta, NULL};

/* ---- which ---- */

static const vocab_family *family_by_class(const char *name)
{
	size_t n = strlen(name);
	if (n > 4 && strcmp(name + n - 4, "Fast") == 0)
		n -= 4;
	for (const vocab_family *const *f = vocab_families; *f; f++)
		if (strlen((*f)->name) == n && strncmp((*f)->name, name, n) == 0)
			return *f;
	return NULL;
}

static const vocab_family *family_by_model_type(const char *type)
{
	char word[64];
	if (snprintf(word, sizeof word, " %s ", type) >= (int)sizeof word)
		return NULL;
	for (const vocab_family *const *f = vocab_families; *f; f++)
		if (strstr((*f)->model_types, word))
			return *f;
	return NULL;
}

/* Classes that say nothing about the family. */
static bool is_general(const char *name)
{
	static const char *const names[] = {"PreTrainedTokenizerFast", "PreTrainedTokenizer",
	                                    "TokenizersBackend", "SentencePieceBackend", NULL};
	for (const char *const *n = names; *n; n++)
		if (strcmp(*n, name) == 0)
			return true;
	return false;
}

static hec_status unknown_class(const char *name)
{
	char known[512] = "", text[QUOTE_TEXT];
	for (const vocab_family *const *f = vocab_families; *f; f++) {
		size_t n = strlen(known);
		snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", (*f)->name);
	}
	return fail(HEC_ERR_UNSUPPORTED,
	            "tokenizer_config.json: 'tokenizer_class' is \"%s\": how its vocabulary files "
	            "are read is not known, a tokenizer.json is needed; there are: %s",
	            quote(name, text), known);
}

static hec_status family_by_config(vocab_files *v, const vocab_family **out)
{
	json_scope s = {.file = "tokenizer_config.json", .object = v->config};
	const char *name = NULL;
	json_t *model;
	HEC_TRY(json_want_string(&s, "tokenizer_class", &name));
	if (name && !is_general(name)) {
		*out = family_by_class(name);
		return *out ? HEC_OK : unknown_class(name);
	}
	HEC_TRY(vocab_json_want(v, "config.json", false, &model));
	const char *type = json_string_value(json_object_get(model, "model_type"));
	*out = type ? family_by_model_type(type) : NULL;
	json_decref(model);
	return HEC_OK;
}

static const vocab_family *family_by_files(const vocab_files *v, const char *chosen)
{
	bool spm = chosen && strstr(chosen, ".spm");
	if (vocab_file_is_there(v, "vocab.json") &&
	    (spm || (!chosen && vocab_file_is_there(v, "source.spm"))))
		return &marian;
	if (chosen ? strstr(chosen, ".txt") && strcmp(chosen, "merges.txt") != 0
	           : vocab_file_is_there(v, "vocab.txt"))
		return &bert;
	if (chosen ? strstr(chosen, ".txt") || strstr(chosen, ".json")
	           : vocab_file_is_there(v, "vocab.json"))
		return &gpt2;
	return &vocab_plain;
}

static hec_status read_roles(vocab_files *v)
{
	for (int i = 0; i < TOKENIZER_ROLES; i++) {
		char key[32];
		snprintf(key, sizeof key, "%s_token", tokenizer_roles[i]);
		json_t *value = json_object_get(v->config, key);
		if (!value && v->family->roles[i])
			HEC_TRY(json_put(v->roles, key, json_string(v->family->roles[i])));
		else if (value && !json_is_null(value))
			HEC_TRY(json_put(v->roles, key, json_incref(value)));
	}
	return HEC_OK;
}

hec_status vocab_family_load(vocab_files *v, const char *chosen)
{
	v->family = NULL;
	HEC_TRY(family_by_config(v, &v->family));
	if (!v->family)
		v->family = family_by_files(v, chosen);
	HEC_TRY(read_roles(v));
	return v->family->load(v, chosen);
}

/* ---- the model of a SentencePiece ---- */

/* The vocabulary that has the ids, and the id of each piece in it. */
static hec_status map_ids(const vocab_files *v, vocab *words, int32_t **ids)
{
	json_t *root = json_object();
	hec_status status = root ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a vocabulary");
	if (status == HEC_OK)
		status = json_put(root, "vocab", json_incref(v->ids));
	json_scope s = {.file = "vocab.json", .object = root};
	if (status == HEC_OK)
		status = model_load_vocab(&s, words);
	json_decref(root);
	HEC_TRY(status);
	const char *unk = json_string_value(json_object_get(v->roles, "unk_token"));
	int32_t unknown = unk ? vocab_find(words, unk, strlen(unk)) : VOCAB_NONE;
	if (unknown == VOCAB_NONE) {
		char name[QUOTE_TEXT];
		return fail(HEC_ERR_FORMAT, "vocab.json: has no token for the unknown, \"%s\"",
		            quote(unk ? unk : "<unk>", name));
	}
	*ids = mem_zeros(v->pieces.n, sizeof **ids);
	if (!*ids)
		return fail(HEC_ERR_MEMORY, "no memory for the ids of %zu pieces", v->pieces.n);
	for (size_t i = 0; i < v->pieces.n; i++) {
		const sp_piece *p = &v->pieces.pieces[i];
		int32_t id =
			p->kind == SP_UNKNOWN ? VOCAB_NONE : vocab_find(words, p->text, p->bytes);
		(*ids)[i] = id != VOCAB_NONE ? id : unknown;
	}
	return HEC_OK;
}

hec_status vocab_files_model(const vocab_files *v, hec_tokenizer *t)
{
	bool exact = v->family->exact;
	pieces_options o = {.exact = exact, .unknown = exact};
	void *state = NULL;
	hec_status status = HEC_OK;
	if (v->ids)
		HEC_TRY(map_ids(v, &t->vocab, &o.ids));
	if (exact)
		status = spm_normalizer_make(v->piece_file, &v->pieces, o.ids, &state);
	else if (v->pieces.charsmap)
		status = precompiled_make(v->piece_file, v->pieces.charsmap,
		                          v->pieces.charsmap_bytes, &state);
	if (state) {
		const stage_kind *kind = exact ? &spm_normalizer : &precompiled;
		hec_status more = stages_put(&t->normalizers, kind, state);
		status = status == HEC_OK ? more : status;
	}
	if (status != HEC_OK) {
		mem_free(o.ids);
		return status;
	}
	return model_from_pieces(v->piece_file, &v->pieces, &o, t->serial, &t->vocab, &t->model);
}
