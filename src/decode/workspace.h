/* workspace.h — everything that a call of hec_decode works in, taken once before the first step. */
#ifndef DECODE_WORKSPACE_H
#define DECODE_WORKSPACE_H

#include "decode/search.h"

typedef struct workspace {
	int64_t places;   /* sources at a time */
	int64_t capacity; /* tokens of a row */
	int64_t feed;     /* the most tokens that a row is fed at once */
	int64_t width;    /* of a source as it is added */

	search *searches; /* [places] */
	search **live;    /* [places] the running ones, in the engine's order, then the free ones */
	int64_t *keep;    /* [places] */

	/* rows = places · beams */
	int32_t *ids;               /* [rows, feed] */
	int32_t *count;             /* [rows] */
	int32_t *from;              /* [rows] */
	float *lse;                 /* [rows] */
	scored *lists;              /* [rows, candidates] */
	bool *can;                  /* [rows] whether there is a token to write */
	row_scratch *row_scratches; /* [threads] */

	int32_t *source_ids;    /* [places, width] */
	int32_t *source_length; /* [places] */
	void *memory;           /* all of it */
} workspace;

/* places, capacity, feed and width are set. */
hec_status workspace_open(workspace *w, const plan *p, int threads);
void workspace_close(workspace *w); /* takes a zeroed one */

#endif
