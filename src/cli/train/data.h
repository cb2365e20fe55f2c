/* data.h — what there is to learn from: how much, which labels, which tokenizer. */
#ifndef CLI_TRAIN_DATA_H
#define CLI_TRAIN_DATA_H

#include "cli/train/settings.h"

#define LABELS_MOST 65536

typedef struct train_data {
	hec_corpus_counts counts; /* of the text, before it is cut into tokens */
	int64_t bytes;            /* of texts */
	char **labels;            /* classify: sorted */
	size_t n_labels;
	int32_t *label_ids; /* of a model that has them already; NULL: their index */
	hec_tokenizer *tokenizer;
	hec_tokenizer *target;     /* of targets, where they have their own; or NULL */
	hec_corpus *train, *valid; /* valid NULL: none */
	hec_speech *speech;        /* of a model that reads sounds (s->sounds); else NULL */
	int32_t language;          /* of targets, the token; −1: none is said */
	bool starts; /* a decoder begins with it; else it is the first that is written */
	const hec_train_lock *lock; /* of DIR, the caller's */
} train_data;

/* HEC_ERR_MEMORY of the program itself, which the library has no message for. */
hec_status train_no_memory(const char *what);
const char *train_memory_for(void); /* NULL: there was enough */

/* How far a long pass is; anything but HEC_OK cancels. */
hec_progress_fn train_data_progress;
/* Names the first few sounds that are left out. */
hec_left_out_fn train_data_left_out;

/* Reads the text once: counts and labels. HEC_ERR_UNSUPPORTED without a message: of these there are
 * more than LABELS_MOST. */
hec_status train_data_count(const train_settings *s, train_data *data);
/* Learns a tokenizer of s->vocab tokens, loads the one that is given, or the one in DIR. */
hec_status train_data_tokenizer(const train_settings *s, train_data *data);
/* Texts into ids, under DIR/cache. */
hec_status train_data_open(const train_settings *s, train_data *data);
void train_data_close(train_data *data);

#endif
