/* corpus.c — opening ids that lie on disk, making them where they are missing or of something else.
 *
 * The files are ours but lie where anyone may write: every number is checked before it is used. */
#include "train/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "tensor/check.h"
#include "text/tokenizer/tokenizer.h"
#include "text/vocab/family.h"
#include "train/lines.h"
#include "train/sound.h"

#define ENTRIES 4096 /* of the index at a time */

char *path_join(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	char *path = mem_alloc(n + m + 1);
	if (path)
		snprintf(path, n + m + 1, "%s%s", a, b);
	return path;
}

/* ---- what it was made from ---- */

uint64_t corpus_mix(uint64_t hash, const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u; /* FNV-1a */
	return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	return corpus_mix(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* All of it: the same vocabulary behind another normalizer gives other ids. */
static uint64_t mix_tokenizer(uint64_t hash, const hec_tokenizer *t)
{
	const vocab_files *v = t->files;
	hash = corpus_mix(hash, t->json, t->json_bytes);
	for (size_t i = 0; v && i < v->n; i++) {
		hash = mix_text(hash, v->kept[i].name);
		hash = corpus_mix(hash, v->kept[i].data, v->kept[i].bytes);
	}
	/* Beside tokenizer.json, the config gives the roles of tokens and nothing else; without, all
	 * that is not in the vocabulary. */
	if (v)
		hash = mix_text(corpus_mix(hash, t->config, t->config_bytes), v->family->name);
	return corpus_mix(hash, t->role, sizeof t->role);
}

static hec_status fingerprint_of(const hec_corpus_options *o, uint64_t *out)
{
	uint64_t h = 14695981039346656037u;
	int32_t task = (int32_t)o->task;
	h = corpus_mix(h, &task, sizeof task);
	h = corpus_mix(h, &o->max_source, sizeof o->max_source);
	h = corpus_mix(h, &o->max_target, sizeof o->max_target);
	for (size_t i = 0; i < o->n; i++) {
		struct stat info;
		if (stat(o->files[i], &info) != 0)
			return fail(HEC_ERR_IO, "%s: could not be looked at: %s", o->files[i],
			            strerror(errno));
		int64_t about[3] = {(int64_t)info.st_size, (int64_t)info.st_mtim.tv_sec,
		                    (int64_t)info.st_mtim.tv_nsec};
		h = mix_text(h, o->files[i]);
		h = corpus_mix(h, about, sizeof about);
	}
	h = mix_tokenizer(h, o->tokenizer);
	if (o->target_tokenizer)
		h = mix_tokenizer(h, o->target_tokenizer);
	/* What an older program did not know does not change what it made. */
	if (o->source_prefix)
		h = mix_text(h, o->source_prefix);
	if (o->source_language)
		h = mix_text(mix_text(h, "from"), o->source_language);
	if (o->target_language)
		h = mix_text(mix_text(h, "to"), o->target_language);
	if (o->truncate)
		h = mix_text(h, "truncate");
	if (o->task == HEC_TASK_ANSWER)
		h = corpus_mix(h, &o->stride, sizeof o->stride);
	if (o->label_ids)
		h = corpus_mix(h, o->label_ids, o->n_labels * sizeof *o->label_ids);
	for (size_t i = 0; i < o->n_labels; i++)
		h = mix_text(h, o->labels[i]);
	if (o->speech)
		HEC_TRY(corpus_mix_sounds(o, &h));
	*out = h;
	return HEC_OK;
}

/* ---- opening ---- */

static bool read_at(int fd, void *to, size_t size, uint64_t at)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(at + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static bool size_is(int fd, uint64_t size)
{
	struct stat info;
	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size == size;
}

static bool header_fits(const hec_corpus *c, uint64_t fingerprint)
{
	const corpus_header *h = &c->header;
	const int64_t most = (int64_t)1 << 40;
	if (memcmp(h->magic, CORPUS_MAGIC, sizeof h->magic) != 0 || h->version != CORPUS_VERSION ||
	    h->task != (uint32_t)c->task || h->fingerprint != fingerprint)
		return false;
	if (h->count < 0 || h->count > UINT32_MAX || h->ids < 0 || h->ids > most)
		return false;
	return size_is(c->index, sizeof *h + (uint64_t)h->count * sizeof(corpus_entry)) &&
	       size_is(c->tokens, (uint64_t)h->ids * sizeof(int32_t));
}

/* A batch takes one from the length of what is written, and counts on a label where one must be. */
static bool lengths_fit(hec_task task, const corpus_entry *e)
{
	switch (task) {
	case HEC_TASK_TRANSLATE:
	case HEC_TASK_SEQ2SEQ:
		return e->source > 0 && e->target > 0;
	case HEC_TASK_LM:
		return e->source == 0 && e->target > 1;
	case HEC_TASK_MLM:
		return e->source > 0 && e->target == 0;
	case HEC_TASK_CLASSIFY:
		return e->source > 0 && e->target == 1;
	case HEC_TASK_ANSWER:
		return e->source > 0 && e->target == ANSWER_TARGETS;
	}
	return false;
}

/* *fit false: what lies there was not written by us. */
static hec_status read_lengths(hec_corpus *c, bool *fit)
{
	int64_t count = c->header.count;
	c->lengths = mem_alloc(count > 0 ? (size_t)count * sizeof *c->lengths : 1);
	corpus_entry *entries = mem_alloc(ENTRIES * sizeof *entries);
	hec_status status = HEC_OK;
	uint64_t next = 0;
	if (!c->lengths || !entries)
		status = fail(HEC_ERR_MEMORY, "%s: no memory for the lengths of %lld examples",
		              c->name, (long long)count);
	for (int64_t i = 0; status == HEC_OK && i < count; i += ENTRIES) {
		int64_t n = min_i64(ENTRIES, count - i);
		uint64_t at = sizeof c->header + (uint64_t)i * sizeof *entries;
		if (!read_at(c->index, entries, (size_t)n * sizeof *entries, at))
			status = fail(HEC_ERR_IO, "%s: its index could not be read", c->name);
		for (int64_t j = 0; status == HEC_OK && j < n; j++) {
			*fit = *fit && lengths_fit(c->task, &entries[j]) &&
			       entries[j].offset == next;
			next += (uint64_t)entries[j].source + entries[j].target;
			c->lengths[i + j][0] = entries[j].source;
			c->lengths[i + j][1] = entries[j].target;
		}
	}
	mem_free(entries);
	return status;
}

/* Every id of an example in its range. */
static bool ids_fit(const hec_corpus *c, const int32_t *ids, int64_t source, int64_t target)
{
	bool fit = true;
	if (c->sounds)
		fit = sound_fits(ids, source, c->n_lists);
	for (int64_t i = 0; !c->sounds && i < source; i++)
		fit = fit && ids[i] >= 0 && ids[i] < c->vocab;
	for (int64_t i = 0; i < target; i++) {
		/* An answer's targets are places in its source; the last one lies behind it where all
		 * tokens are of one type. */
		int64_t most = c->task != HEC_TASK_ANSWER ? c->target_vocab
		               : i == ANSWER_TARGETS - 1  ? source + 1
		                                          : source;
		fit = fit && ids[source + i] >= 0 && ids[source + i] < most;
	}
	return fit;
}

/* All that was written, once more: the sum must come out, and every id be one. */
static hec_status check_ids(const hec_corpus *c, bool *fit)
{
	int32_t *ids = mem_alloc((size_t)2 * CORPUS_LONGEST * sizeof *ids);
	uint32_t sum = 0;
	uint64_t at = 0;
	if (!ids)
		return fail(HEC_ERR_MEMORY, "%s: no memory to check its ids", c->name);
	FILE *f = fopen(c->name, "rbe");
	if (!f) {
		mem_free(ids);
		return fail(HEC_ERR_IO, "%s: could not be opened once more: %s", c->name,
		            strerror(errno));
	}
	for (int64_t i = 0; *fit && i < c->header.count; i++) {
		const uint16_t *n = c->lengths[i];
		corpus_entry e = {.offset = at, .source = n[0], .target = n[1]};
		size_t all = (size_t)n[0] + n[1];
		*fit = fread(ids, sizeof *ids, all, f) == all && ids_fit(c, ids, n[0], n[1]);
		sum = (uint32_t)crc32(sum, (const Bytef *)&e, sizeof e);
		sum = (uint32_t)crc32(sum, (const Bytef *)ids, (uInt)(all * sizeof *ids));
		at += all;
	}
	*fit = *fit && sum == c->header.checksum && at == (uint64_t)c->header.ids;
	(void)fclose(f);
	mem_free(ids);
	return HEC_OK;
}

static void take_counts(hec_corpus *c)
{
	const corpus_header *h = &c->header;
	c->counts = (hec_corpus_counts){
		.lines = h->lines,
		.examples = h->count,
		.source_tokens = h->source_tokens,
		.target_tokens = h->target_tokens,
		.bad_utf8 = h->bad_utf8,
		.empty = h->empty,
		.too_long = h->too_long,
		.no_tab = h->no_tab,
		.unknown_label = h->unknown_label,
		.cut = h->cut,
		.no_sound = h->no_sound,
		.long_sound = h->long_sound,
		.seconds = c->sounds ? (double)h->samples / (double)c->speech.mel.rate : 0,
	};
}

static hec_status open_part(const char *path, const char *end, int *fd)
{
	char *name = path_join(path, end);
	if (!name)
		return fail(HEC_ERR_MEMORY, "%s: no memory for a name", path);
	*fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	mem_free(name);
	return HEC_OK;
}

/* *found false: there is nothing, or something else. */
static hec_status try_open(const hec_corpus_options *o, uint64_t fingerprint, hec_corpus *c,
                           bool *found)
{
	HEC_TRY(open_part(o->cache, ".tokens", &c->tokens));
	HEC_TRY(open_part(o->cache, ".index", &c->index));
	*found = c->tokens >= 0 && c->index >= 0 &&
	         read_at(c->index, &c->header, sizeof c->header, 0) && header_fits(c, fingerprint);
	if (*found)
		HEC_TRY(read_lengths(c, found));
	if (*found)
		HEC_TRY(check_ids(c, found));
	if (*found)
		return HEC_OK;
	mem_free(c->lengths);
	c->lengths = NULL;
	if (c->tokens >= 0)
		close(c->tokens);
	if (c->index >= 0)
		close(c->index);
	c->tokens = c->index = -1;
	return HEC_OK;
}

static hec_status check_options(const hec_corpus_options *o)
{
	HEC_TRY(CHECK_GIVEN("corpus", o->files));
	HEC_TRY(CHECK_GIVEN("corpus", o->tokenizer));
	HEC_TRY(CHECK_GIVEN("corpus", o->cache));
	if (o->max_source < 2 || o->max_source > CORPUS_LONGEST || o->max_target < 2 ||
	    o->max_target > CORPUS_LONGEST - 1)
		return fail(HEC_ERR_ARGUMENT,
		            "corpus: max_source is %lld and max_target %lld; 2 to %d are possible",
		            (long long)o->max_source, (long long)o->max_target, CORPUS_LONGEST - 1);
	if (o->task == HEC_TASK_CLASSIFY && o->n_labels < 1)
		return fail(HEC_ERR_ARGUMENT, "corpus: no labels are given to classify by");
	if (o->task == HEC_TASK_ANSWER && (o->stride < 0 || o->stride >= o->max_source - 1))
		return fail(HEC_ERR_ARGUMENT,
		            "corpus: windows of %lld tokens cannot share %lld of them",
		            (long long)o->max_source, (long long)o->stride);
	return o->speech ? corpus_check_speech(o) : HEC_OK;
}

static int64_t target_vocab(const hec_corpus_options *o)
{
	if (o->task != HEC_TASK_CLASSIFY)
		return hec_tokenizer_vocab(o->target_tokenizer ? o->target_tokenizer
		                                               : o->tokenizer);
	int64_t most = (int64_t)o->n_labels;
	for (size_t i = 0; o->label_ids && i < o->n_labels; i++)
		most = max_i64(most, (int64_t)o->label_ids[i] + 1);
	return most;
}

/* Names of sounds mean something beside their lists. */
static hec_status take_speech(const hec_corpus_options *o, hec_corpus *c)
{
	c->sounds = true;
	c->speech = *o->speech;
	c->lists = mem_zeros(o->n, sizeof *c->lists);
	for (size_t i = 0; c->lists && i < o->n; i++) {
		c->lists[i] = path_join(o->files[i], "");
		if (!c->lists[i])
			return fail(HEC_ERR_MEMORY, "corpus: no memory for a name");
		c->n_lists++;
	}
	return c->lists ? HEC_OK : fail(HEC_ERR_MEMORY, "corpus: no memory for names");
}

static hec_status open_or_build(const hec_corpus_options *o, hec_corpus *c)
{
	uint64_t fingerprint = 0;
	bool found = false;
	c->task = o->task;
	c->name = path_join(o->cache, ".tokens");
	if (!c->name)
		return fail(HEC_ERR_MEMORY, "corpus: no memory for a name");
	c->vocab = hec_tokenizer_vocab(o->tokenizer);
	c->target_vocab = target_vocab(o);
	c->mask_id = hec_tokenizer_role(o->tokenizer, "mask");
	c->pad_id = hec_tokenizer_role(o->tokenizer, "pad");
	c->eos_id = hec_tokenizer_role(o->tokenizer, "eos");
	if (o->speech)
		HEC_TRY(take_speech(o, c));
	HEC_TRY(fingerprint_of(o, &fingerprint));
	HEC_TRY(try_open(o, fingerprint, c, &found));
	if (found)
		return HEC_OK;
	HEC_TRY(corpus_build(o, fingerprint));
	HEC_TRY(try_open(o, fingerprint, c, &found));
	return found ? HEC_OK : fail(HEC_ERR_IO, "%s: is not what was just written", c->name);
}

hec_status hec_corpus_create(const hec_corpus_options *options, hec_corpus **out)
{
	hec_corpus_options o = HEC_CORPUS_OPTIONS_INIT;
	HEC_TRY(CHECK_GIVEN("corpus", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("corpus", options));
	HEC_TRY(options_take("hec_corpus_options", &o, sizeof o, options));
	HEC_TRY(check_options(&o));
	hec_corpus *c = mem_zeros(1, sizeof *c);
	if (!c)
		return fail(HEC_ERR_MEMORY, "corpus: no memory");
	c->tokens = c->index = -1;
	hec_status status = open_or_build(&o, c);
	if (status != HEC_OK) {
		hec_corpus_destroy(c);
		return status;
	}
	take_counts(c);
	*out = c;
	return HEC_OK;
}

void hec_corpus_destroy(hec_corpus *c)
{
	if (!c)
		return;
	if (c->tokens >= 0)
		close(c->tokens);
	if (c->index >= 0)
		close(c->index);
	for (size_t i = 0; i < c->n_lists; i++)
		mem_free(c->lists[i]);
	mem_free(c->lists);
	mem_free(c->lengths);
	mem_free(c->name);
	mem_free(c);
}

const hec_corpus_counts *hec_corpus_counts_of(const hec_corpus *c)
{
	return &c->counts;
}

uint32_t hec_corpus_checksum(const hec_corpus *c)
{
	return c->header.checksum;
}

hec_status corpus_read(const hec_corpus *c, int64_t i, int32_t *ids)
{
	corpus_entry e;
	uint64_t at = sizeof c->header + (uint64_t)i * sizeof e;
	if (!read_at(c->index, &e, sizeof e, at))
		return fail(HEC_ERR_IO, "%s: the index of example %lld could not be read", c->name,
		            (long long)i);
	uint64_t n = (uint64_t)e.source + e.target, all = (uint64_t)c->header.ids;
	if (e.source != c->lengths[i][0] || e.target != c->lengths[i][1] || n > all ||
	    e.offset > all - n)
		return fail(HEC_ERR_FORMAT, "%s: changed while it was in use (example %lld)",
		            c->name, (long long)i);
	if (!read_at(c->tokens, ids, n * sizeof *ids, e.offset * sizeof *ids))
		return fail(HEC_ERR_IO, "%s: example %lld could not be read", c->name,
		            (long long)i);
	if (!ids_fit(c, ids, e.source, e.target))
		return fail(HEC_ERR_FORMAT,
		            "%s: changed while it was in use: example %lld has ids that the "
		            "tokenizer has not",
		            c->name, (long long)i);
	return HEC_OK;
}
