/* label_list.h — the labels of a text that is classified, sorted by name. */
#ifndef TRAINING_LABEL_LIST_H
#define TRAINING_LABEL_LIST_H

#include <hecate/model.h>

#include "base/status.h"

#define LABELS_MOST 65536

typedef struct label_list {
	char **names; /* [n] by strcmp */
	int32_t *ids; /* [n] of a model that has them already; NULL: their index */
	size_t n, room;
} label_list;

/* Adds one, where it is not there yet. A name with a NUL byte in it is none. */
hec_status label_list_add(label_list *l, const char *name, size_t bytes);
/* The labels of a model that classifies and knows all of these take their place, with their ids. */
hec_status label_list_adopt(label_list *l, const hec_model *model);
void label_list_free(label_list *l); /* takes a zeroed one */

#endif
