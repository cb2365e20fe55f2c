/* match.h — which tensor of the files is read into which parameters, and what of them starts fresh. */
#ifndef MODEL_MATCH_H
#define MODEL_MATCH_H

#include "model/family.h"

/* Whether what the files lack or have otherwise may start fresh. */
typedef enum match_mode {
	MATCH_ALL,  /* nothing: each such tensor is named in the error */
	MATCH_HEAD, /* only of the head */
	MATCH_WHAT_FITS
} match_mode;

typedef struct matching {
	const char *dir;
	const safetensors *files;
	const family *family;
	weight *list; /* [count]: entry, rows_read and fresh are written */
	size_t count;
	bool fresh_labels;  /* what says the labels starts fresh whatever the files have */
	size_t fresh_count; /* weights that start fresh */
} matching;

hec_status match_weights(matching *m, match_mode mode);

/* ---- report.c ---- */

/* The names of what nothing was read from, and of those the weights of layers, each with a newline; for
 * mem_free(). */
hec_status report_ignored(const matching *m, char **ignored, char **lost);
/* What became of each tensor, in lines; for mem_free(). */
hec_status report_make(const matching *m, char **out);

#endif
