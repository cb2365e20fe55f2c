/* tokenizer.c — the tokenizer of a training: learned, given, or that of the pretrained model. */
#include <unistd.h>

#include "training/data.h"
#include "training/start.h"

static const hec_special marian[] = {
	{"</s>", "eos", false}, {"<unk>", "unk", false}, {"<pad>", "pad", true}};
static const hec_special gpt2[] = {{"<|endoftext|>", "eos", false}};
static const hec_special bert[] = {{"[PAD]", "pad", false},
                                   {"[UNK]", "unk", false},
                                   {"[CLS]", "cls", false},
                                   {"[SEP]", "sep", false},
                                   {"[MASK]", "mask", false}};

/* The special tokens of the family that a fresh model belongs to. */
static void choose_specials(hec_task task, hec_bpe_train_options *o)
{
	if (task == HEC_TASK_LM) {
		o->special = gpt2;
		o->specials = sizeof gpt2 / sizeof *gpt2;
	} else if (task_has_decoder(task)) {
		o->special = marian;
		o->specials = sizeof marian / sizeof *marian;
		o->end = "</s>";
	} else {
		o->special = bert;
		o->specials = sizeof bert / sizeof *bert;
		o->begin = "[CLS]";
		o->end = "[SEP]";
	}
}

static hec_status learn(hec_training *t)
{
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	hec_lines *lines;
	o.vocab = t->o.vocab;
	o.threads = t->o.threads;
	o.progress = training_progress;
	o.user = t;
	choose_specials(t->o.task, &o);
	HEC_TRY(hec_lines_create(t->o.task, t->o.train, t->o.train_count, &lines));
	hec_status status = hec_bpe_train(&o, hec_lines_next, lines, &t->tokenizer);
	hec_lines_destroy(lines);
	return status;
}

/* A run that is there has its tokenizer. */
static hec_status save(const hec_training *t)
{
	if (t->goes_on)
		return HEC_OK;
	HEC_TRY(hec_train_lock_holds(t->lock, t->o.dir));
	return hec_tokenizer_save(t->tokenizer, t->o.dir);
}

static hec_status take(hec_training *t)
{
	char path[PATH_MOST];
	if (t->o.from) {
		HEC_TRY(start_home(t, path));
		HEC_TRY(hec_tokenizer_load(path, &t->tokenizer));
		HEC_TRY(hec_tokenizer_load_target(path, &t->target));
		return save(t);
	}
	/* A training that is resumed has one, and it must be the same to the byte. */
	HEC_TRY(path_in(path, t->o.dir, "tokenizer.json"));
	if (t->o.resume && access(path, F_OK) == 0)
		return hec_tokenizer_load(t->o.dir, &t->tokenizer);
	HEC_TRY(t->o.tokenizer ? hec_tokenizer_load(t->o.tokenizer, &t->tokenizer) : learn(t));
	return save(t);
}

/* Where it stands behind a text, it is what comes before it one place on: mBART's way. mBART-50 has it first. */
static hec_status find_language(hec_training *t)
{
	hec_encoding e = HEC_ENCODING_INIT;
	const hec_tokenizer *of = t->target ? t->target : t->tokenizer;
	size_t at;
	if (!t->o.to_language)
		return HEC_OK;
	hec_status status = hec_tokenizer_encode(of, "", 0, NULL, &e);
	if (status == HEC_OK)
		status = hec_encoding_set_language(of, t->o.to_language, &e, &at);
	if (status == HEC_OK) {
		t->target_language = e.ids[at];
		t->language_starts_decoder = at + 1 == e.n;
	}
	hec_encoding_free(&e);
	return status;
}

hec_status data_tokenizer(hec_training *t)
{
	char home[PATH_MOST];
	HEC_TRY(take(t));
	HEC_TRY(find_language(t));
	if (!t->sounds)
		return HEC_OK;
	HEC_TRY(start_home(t, home));
	return hec_speech_load(home, t->tokenizer, t->o.language, t->o.speech_task, &t->speech);
}
