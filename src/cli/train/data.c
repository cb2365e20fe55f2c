/* data.c — files, labels, tokenizer, ids. */
#include "cli/train/data.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hecate/squad.h>

#include "cli/command/interrupt.h"
#include "cli/train/from.h"
#include "cli/command/try.h"

static const char *memory_for;

hec_status train_no_memory(const char *what)
{
	memory_for = what;
	return HEC_ERR_MEMORY;
}

const char *train_memory_for(void)
{
	return memory_for;
}

/* ---- counting ---- */

/* As strcmp orders texts: less than 0, 0, more than 0. */
static int compare(const char *text, size_t bytes, const char *label)
{
	size_t length = strlen(label);
	int order = memcmp(text, label, bytes < length ? bytes : length);
	return order != 0 ? order : (bytes > length) - (bytes < length);
}

/* Labels are few, and lie in their order. */
static hec_status note_label(train_data *d, const char *text, size_t bytes)
{
	size_t low = 0, high = d->n_labels;
	if (memchr(text, '\0', bytes))
		return HEC_OK; /* no name for a label: its lines are counted as of none */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare(text, bytes, d->labels[middle]);
		if (order == 0)
			return HEC_OK;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	if (d->n_labels == LABELS_MOST)
		return HEC_ERR_UNSUPPORTED; /* and linear time with them */
	/* Room for a power of two: full where the number is one. */
	if ((d->n_labels & (d->n_labels - 1)) == 0) {
		size_t room = d->n_labels ? 2 * d->n_labels : 1;
		char **more = realloc(d->labels, room * sizeof *more);
		if (!more)
			return train_no_memory("the labels");
		d->labels = more;
	}
	char *label = strndup(text, bytes);
	if (!label)
		return train_no_memory("the labels");
	memmove(d->labels + low + 1, d->labels + low, (d->n_labels - low) * sizeof *d->labels);
	d->labels[low] = label;
	d->n_labels++;
	return HEC_OK;
}

static hec_status count_lines(const train_settings *s, hec_lines *lines, train_data *d)
{
	for (bool more = true;;) {
		const char *text[2];
		size_t bytes[2];
		TRY(hec_lines_next_pair(lines, text, bytes, &more));
		d->counts = *hec_lines_counts(lines);
		if (!more)
			return HEC_OK;
		d->bytes += (int64_t)(bytes[0] + bytes[1]);
		if (s->task_id == HEC_TASK_CLASSIFY)
			TRY(note_label(d, text[0], bytes[0]));
		if (d->counts.lines % 4096 == 0)
			TRY(train_data_progress(NULL, "counting lines", d->counts.lines, 0));
	}
}

/* A question is a line; its context is read with it. */
static hec_status count_questions(const train_settings *s, train_data *d)
{
	hec_squad *squad;
	TRY(hec_squad_load(s->train.items, s->train.count, &squad));
	size_t n = hec_squad_count(squad);
	d->counts.lines = d->counts.examples = (int64_t)n;
	for (size_t i = 0; i < n; i++) {
		const hec_squad_question *q = hec_squad_at(squad, i);
		d->bytes += (int64_t)(q->question_bytes + q->context_bytes);
	}
	hec_squad_destroy(squad);
	return HEC_OK;
}

hec_status train_data_count(const train_settings *s, train_data *d)
{
	if (s->task_id == HEC_TASK_ANSWER)
		return count_questions(s, d);
	hec_lines *lines;
	TRY(hec_lines_create(s->task_id, s->train.items, s->train.count, &lines));
	hec_status status = count_lines(s, lines, d);
	hec_lines_destroy(lines);
	return status;
}

/* ---- the tokenizer ---- */

static const hec_special marian[] = {
	{"</s>", "eos", false}, {"<unk>", "unk", false}, {"<pad>", "pad", true}};
static const hec_special gpt2[] = {{"<|endoftext|>", "eos", false}};
static const hec_special bert[] = {{"[PAD]", "pad", false},
                                   {"[UNK]", "unk", false},
                                   {"[CLS]", "cls", false},
                                   {"[SEP]", "sep", false},
                                   {"[MASK]", "mask", false}};

static hec_status learn_tokenizer(const train_settings *s, train_data *d)
{
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	o.vocab = s->vocab;
	o.threads = (int)s->threads;
	o.progress = train_data_progress;
	switch (s->task_id) {
	case HEC_TASK_TRANSLATE:
	case HEC_TASK_SEQ2SEQ:
		o.special = marian;
		o.specials = sizeof marian / sizeof *marian;
		o.end = "</s>";
		break;
	case HEC_TASK_LM:
		o.special = gpt2;
		o.specials = sizeof gpt2 / sizeof *gpt2;
		break;
	case HEC_TASK_MLM:
	case HEC_TASK_CLASSIFY:
	case HEC_TASK_ANSWER:
		o.special = bert;
		o.specials = sizeof bert / sizeof *bert;
		o.begin = "[CLS]";
		o.end = "[SEP]";
		break;
	}
	hec_lines *lines;
	TRY(hec_lines_create(s->task_id, s->train.items, s->train.count, &lines));
	hec_status status = hec_bpe_train(&o, hec_lines_next, lines, &d->tokenizer);
	hec_lines_destroy(lines);
	return status;
}

/* Where it stands behind a text, it is what comes before it one place on: mBART's way. mBART-50 has it first. */
static hec_status find_language(const train_settings *s, train_data *d)
{
	hec_encoding e = HEC_ENCODING_INIT;
	const hec_tokenizer *t = d->target ? d->target : d->tokenizer;
	size_t at;
	d->language = -1;
	if (!s->to_lang)
		return HEC_OK;
	hec_status status = hec_tokenizer_encode(t, "", 0, NULL, &e);
	if (status == HEC_OK)
		status = hec_encoding_set_language(t, s->to_lang, &e, &at);
	if (status == HEC_OK) {
		d->language = e.ids[at];
		d->starts = at + 1 == e.n;
	}
	hec_encoding_free(&e);
	return status;
}

static hec_status save_tokenizer(const train_settings *s, const train_data *d)
{
	TRY(hec_train_lock_holds(d->lock, s->out));
	return hec_tokenizer_save(d->tokenizer, s->out);
}

static hec_status take_tokenizer(const train_settings *s, train_data *d)
{
	char path[4096];
	if (s->from) {
		train_from_home(s, path);
		TRY(hec_tokenizer_load(path, &d->tokenizer));
		TRY(train_from_target(s, &d->target));
		return save_tokenizer(s, d);
	}
	snprintf(path, sizeof path, "%s/tokenizer.json", s->out);
	/* A run that is resumed has one, and it must be the same to the byte. */
	if (s->resume && access(path, F_OK) == 0)
		return hec_tokenizer_load(s->out, &d->tokenizer);
	if (s->tokenizer)
		TRY(hec_tokenizer_load(s->tokenizer, &d->tokenizer));
	else
		TRY(learn_tokenizer(s, d));
	return save_tokenizer(s, d);
}

hec_status train_data_tokenizer(const train_settings *s, train_data *d)
{
	char home[4096];
	TRY(take_tokenizer(s, d));
	TRY(find_language(s, d));
	if (!s->sounds)
		return HEC_OK;
	train_from_home(s, home);
	return hec_speech_load(home, d->tokenizer, s->language, s->speech_task, &d->speech);
}

/* ---- ids ---- */

static hec_status open_corpus(const train_settings *s, train_data *d, const option_list *files,
                              const char *name, const uint32_t *wanted, hec_corpus **out)
{
	char cache[4096];
	snprintf(cache, sizeof cache, "%s/cache/%s", s->out, name);
	hec_corpus_options o = {
		.size = sizeof o,
		.task = s->task_id,
		.files = files->items,
		.n = files->count,
		.tokenizer = d->tokenizer,
		.max_source = s->max_length,
		.max_target = s->max_length,
		.cache = cache,
		.labels = (const char *const *)d->labels,
		.n_labels = d->n_labels,
		.progress = train_data_progress,
		.label_ids = d->label_ids,
		.source_prefix = s->source_prefix,
		.truncate = s->truncate,
		.stride = s->stride,
		.target_tokenizer = d->target,
		.source_language = s->from_lang,
		.target_language = s->to_lang,
		.wanted = wanted,
		.speech = d->speech,
		.left_out = train_data_left_out,
	};
	static const char *const halves[] = {".tokens.new", ".index.new"};
	char half[2][sizeof cache + 16];
	for (int i = 0; i < 2; i++) {
		snprintf(half[i], sizeof half[i], "%s%s", cache, halves[i]);
		interrupt_removes(half[i]);
	}
	hec_status status = hec_corpus_create(&o, out);
	for (int i = 0; i < 2; i++)
		interrupt_forgets(half[i]);
	return status;
}

hec_status train_data_open(const train_settings *s, train_data *d)
{
	char cache[4096];
	TRY(hec_train_lock_holds(d->lock, s->out));
	snprintf(cache, sizeof cache, "%s/cache", s->out);
	(void)mkdir(cache, 0777); /* where it fails, opening a file in it says why */
	/* A run that is resumed with other text is refused, and keeps its ids. */
	uint32_t sums[2];
	bool known = s->resume && hec_train_checksums(s->out, &sums[0], &sums[1]);
	TRY(open_corpus(s, d, &s->train, "train", known ? &sums[0] : NULL, &d->train));
	return s->valid.count
	               ? open_corpus(s, d, &s->valid, "valid", known ? &sums[1] : NULL, &d->valid)
	               : HEC_OK;
}

void train_data_close(train_data *d)
{
	hec_corpus_destroy(d->train);
	hec_corpus_destroy(d->valid);
	hec_speech_destroy(d->speech);
	hec_tokenizer_destroy(d->tokenizer);
	hec_tokenizer_destroy(d->target);
	free(d->label_ids);
	for (size_t i = 0; i < d->n_labels; i++)
		free(d->labels[i]);
	free(d->labels);
}
