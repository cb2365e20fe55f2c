/* engine.h — what the search asks of a model: logits for rows that grow.
 *
 * A session fills this in (decode.c); tests fill it in with a function of the prefix. Rows
 * are those of session.h: `beams` rows for each live source, one source after the other. */
#ifndef DECODE_ENGINE_H
#define DECODE_ENGINE_H

#include <hecate/context.h>

#include "base/status.h"

typedef struct engine {
	hec_ctx *ctx; /* its pool shares the work on logits */
	void *user;
	int64_t vocab;
	int64_t sources;    /* at most at a time */
	int64_t beams;      /* rows of each */
	int64_t max_source; /* tokens of a source, where sources are not prompts */
	int64_t max_target; /* tokens that a row can hold */
	int32_t start_id;   /* what every row begins with; −1: sources are prompts */
	int32_t eos_id;     /* −1: none */

	/* n more sources behind the live ones, their rows empty. Padded with any id to width. */
	hec_status (*add)(void *user, int64_t n, const int32_t *ids /* [n, width] */, int64_t width,
	                  const int32_t *length /* [n] */);
	/* Instead of add, where sources are not tokens: one more of the call's sources, by its place
	 * there. NULL: they are. */
	hec_status (*add_other)(void *user, int64_t source);
	/* Feeds count[r] of T tokens to row r, 0 only where all stay; *logits [rows, vocab] may be written to and stay
	 * valid until the next call. */
	hec_status (*step)(void *user, int64_t rows, int64_t T, const int32_t *ids /* [rows, T] */,
	                   const int32_t *count /* [rows] */, float **logits);
	hec_status (*reorder)(void *user, const int32_t *from /* [rows] */);
	/* Those stay; NULL: all do, and rows that are done take no more tokens. */
	hec_status (*keep)(void *user, const int64_t *keep, int64_t n);
} engine;

#endif
