/* corpora.c — texts as ids, to learn from and to validate on. */
#include <stdio.h>

#include "base/path.h"
#include "train/folder.h"
#include "training/data.h"

static hec_status open_corpus(hec_training *t, const char *name, const uint32_t *wanted,
                              hec_corpus **out)
{
	char folder[PATH_MOST], cache[PATH_MOST];
	hec_corpus_options o = HEC_CORPUS_OPTIONS_INIT;
	const bool to_learn = out == &t->train;
	HEC_TRY(path_in(folder, t->o.dir, "cache"));
	HEC_TRY(folder_make(folder));
	HEC_TRY(path_in(cache, folder, name));
	o.task = t->o.task;
	o.files = to_learn ? t->o.train : t->o.valid;
	o.n = to_learn ? t->o.train_count : t->o.valid_count;
	o.tokenizer = t->tokenizer;
	o.max_source = o.max_target = t->o.max_length;
	o.cache = cache;
	o.labels = (const char *const *)t->labels.names;
	o.n_labels = t->labels.n;
	o.label_ids = t->labels.ids;
	o.progress = training_progress;
	o.user = t;
	o.source_prefix = t->o.source_prefix;
	o.truncate = t->o.truncate;
	o.stride = t->o.stride;
	o.target_tokenizer = t->target;
	o.source_language = t->o.from_language;
	o.target_language = t->o.to_language;
	o.wanted = wanted;
	o.speech = t->speech;
	o.left_out = t->o.left_out ? training_left_out : NULL;
	return hec_corpus_create(&o, out);
}

/* Before the model is made; which of the lines were left out, and why. */
static hec_status check_examples(const hec_training *t, const char *name, const char *const *files,
                                 size_t n, const hec_corpus *corpus)
{
	const hec_corpus_counts *c = hec_corpus_counts_of(corpus);
	char sounds[128] = "";
	if (c->examples > 0)
		return HEC_OK;
	if (t->sounds)
		snprintf(sounds, sizeof sounds,
		         ", %lld whose sound cannot be read, %lld with a sound longer than the "
		         "window",
		         (long long)c->no_sound, (long long)c->long_sound);
	return fail(HEC_ERR_FORMAT,
	            "'%s' %s%s%s%s: no example is left (%lld line%s: %lld empty, %lld not UTF-8, "
	            "%lld too long, %lld without a tab, %lld of unknown label%s)",
	            name, files[0], n > 1 ? " " : "", n > 1 ? files[1] : "", n > 2 ? " …" : "",
	            (long long)c->lines, c->lines == 1 ? "" : "s", (long long)c->empty,
	            (long long)c->bad_utf8, (long long)c->too_long, (long long)c->no_tab,
	            (long long)c->unknown_label, sounds);
}

/* Ids that the model has no row for would only be found in the middle of learning. */
static hec_status check_from(const hec_training *t)
{
	const int64_t ids = hec_tokenizer_vocab(t->tokenizer);
	if (ids > t->given.vocab)
		return fail(HEC_ERR_SHAPE,
		            "%s: its tokenizer has %lld tokens, its model %lld: they do not belong "
		            "together",
		            t->o.from, (long long)ids, (long long)t->given.vocab);
	const int64_t unknown = t->valid ? hec_corpus_counts_of(t->valid)->unknown_label : 0;
	if (unknown > 0)
		return fail(HEC_ERR_FORMAT,
		            "'valid': %lld line%s with a label that 'train' has not",
		            (long long)unknown, unknown == 1 ? "" : "s");
	return HEC_OK;
}

hec_status data_open(hec_training *t)
{
	/* A training that is resumed with other text is refused, and keeps its ids. */
	uint32_t sums[2];
	HEC_TRY(hec_train_lock_holds(t->lock, t->o.dir));
	const bool known = t->goes_on && hec_train_checksums(t->o.dir, &sums[0], &sums[1]);
	HEC_TRY(open_corpus(t, "train", known ? &sums[0] : NULL, &t->train));
	if (t->o.valid_count > 0)
		HEC_TRY(open_corpus(t, "valid", known ? &sums[1] : NULL, &t->valid));
	if (t->o.from)
		HEC_TRY(check_from(t));
	HEC_TRY(check_examples(t, "train", t->o.train, t->o.train_count, t->train));
	return t->valid ? check_examples(t, "valid", t->o.valid, t->o.valid_count, t->valid)
	                : HEC_OK;
}
