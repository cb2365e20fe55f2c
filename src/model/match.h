/* match.h — which tensor of the files is read into which parameters, and what of them starts fresh. */
#ifndef MODEL_MATCH_H
#define MODEL_MATCH_H

#include "model/family.h"

/* Whether what the files lack or have otherwise may start fresh. */
typedef enum match_mode {
	MATCH_ALL, /* nothing: each such tensor is named in the error */
	MATCH_HEAD /* only of the head */,
	MATCH_WHAT_FITS
} match_mode;

typedef struct match {
	const safetensors_entry *entry; /* NULL: nothing is read */
	int64_t rows;                   /* of the file's tensor that are read */
	bool fresh;                     /* all or some of it starts fresh */
} match;

typedef struct matching {
	const char *dir;
	const safetensors *files;
	const family *family;
	const weight *list;
	size_t count;
	bool fresh_labels; /* what says the labels starts fresh whatever the files have */
	match *found;      /* [count] */
	size_t any_fresh;  /* how many are */
} matching;

hec_status match_weights(matching *m, match_mode mode);

/* ---- report.c ---- */

/* The names of what nothing was read from, and of those the weights of layers, each with a newline; for
 * mem_free(). */
hec_status report_ignored(const matching *m, char **ignored, char **lost);
/* What became of each tensor, in lines; for mem_free(). */
hec_status report_make(const matching *m, char **out);

#endif
