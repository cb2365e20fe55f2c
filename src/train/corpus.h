/* corpus.h — examples as ids on disk.
 *
 * PATH.tokens: int32 ids, one example after another, its source then its target. The source of a sound is
 *              its name (sound.h).
 * PATH.index:  a header, then 16 bytes an example: where it begins, how long its sides are.
 * Memory holds the lengths alone, 4 bytes an example; ids are read by pread when a batch asks. */
#ifndef TRAIN_CORPUS_H
#define TRAIN_CORPUS_H

#include <hecate/corpus.h>

#include "base/status.h"
#include "train/speech.h"

#define CORPUS_MAGIC "HECORPUS"
#define CORPUS_VERSION 3u
#define CORPUS_LONGEST 65535 /* tokens of a side */

typedef struct corpus_entry {
	uint64_t offset; /* in ids */
	uint16_t source, target;
	uint32_t zero;
} corpus_entry;

typedef struct corpus_header {
	char magic[8];
	uint32_t version, task;
	uint64_t fingerprint; /* of what it was made from */
	int64_t count, ids;
	uint32_t checksum; /* of all ids and lengths in order */
	uint32_t zero;
	int64_t lines, source_tokens, target_tokens, bad_utf8, empty, too_long, no_tab,
		unknown_label, cut, no_sound, long_sound, samples;
} corpus_header;

struct hec_corpus {
	hec_task task;
	char *name; /* of PATH.tokens, for messages */
	int tokens, index;
	corpus_header header;
	hec_corpus_counts counts;
	uint16_t (*lengths)[2]; /* [count] source, target */
	int32_t mask_id, pad_id, eos_id;
	int64_t vocab, target_vocab; /* ids of a target, or labels */
	bool sounds;                 /* sources are names of sounds, in one of these lists */
	hec_speech speech;
	char **lists;
	size_t n_lists;
};

/* Makes PATH.tokens and PATH.index from the files: both whole on disk, or an error. */
hec_status corpus_build(const hec_corpus_options *options, uint64_t fingerprint);

/* More of what it was made from, FNV-1a. */
uint64_t corpus_mix(uint64_t hash, const void *data, size_t size);

/* corpus_sound.c: whether sounds can be learned from so; what they are as far as sizes and times say it. */
hec_status corpus_check_speech(const hec_corpus_options *options);
hec_status corpus_mix_sounds(const hec_corpus_options *options, uint64_t *hash);

/* The examples of an answer: ids of a window; then its begin, its end, and where the second text begins. */
#define ANSWER_TARGETS 3

/* Reads example i: source ids, then target ids, as many as its lengths say. */
hec_status corpus_read(const hec_corpus *corpus, int64_t i, int32_t *ids);

/* "PATH" + ".tokens" for mem_free(); NULL where memory runs out. */
char *path_join(const char *a, const char *b);

#endif
