/* bpe_count.h — lines cut into words and counted, on several threads. */
#ifndef TEXT_LEARN_BPE_COUNT_H
#define TEXT_LEARN_BPE_COUNT_H

#include <hecate/tokenizer.h>

#include "text/learn/word_counts.h"
#include "text/split/words.h"

/* threads 0: $HECATE_THREADS, else the cores available. Words beyond BPE_WORD_MOST bytes are left out:
 * they are no language, and each merge would walk through them again. */
#define BPE_WORD_MOST 1024

typedef struct bpe_count_options {
	bool unicode;
	int threads;
	hec_progress_fn *progress;
	void *user;
} bpe_count_options;

hec_status bpe_count(const bpe_count_options *o, hec_line_fn *next_line, void *user,
                     word_counts *out);

#endif
