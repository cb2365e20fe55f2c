/* session.h — the inside of hec_session. */
#ifndef MODEL_SESSION_H
#define MODEL_SESSION_H

#include <hecate/session.h>

#include "model/cache.h"

#define PIECE 256           /* tokens of a row's prompt at a time */
#define STEP_TOKENS 512     /* at a time, where one source's rows do not need more */
#define ENCODER_TOKENS 2048 /* the same for the encoder */

struct hec_session {
	hec_ctx *ctx;
	const hec_model *model;
	hec_session_options options; /* complete */
	hec_arena *arena;
	int64_t live; /* sources */
	session_cache cache;
	hec_tensor last; /* [rows, C] the hidden state after each row's last token */
	hec_tensor line; /* relative bias by distance: [1, H, …] whose data is distance 0 */
	int32_t *ids;    /* tokens of a group */
	int32_t *take;   /* [rows] tokens of this piece, */
	int32_t *done;   /* [rows] of earlier pieces, */
	int32_t *keys;   /* [rows] and the keys there are then */
	int32_t *at;     /* positions of a group's tokens */
};

/* Runs the encoder on sources first … first + n − 1 of S tokens, whose ids [n, S] are in s->ids, or on
 * their features, and keeps the keys and values of every cross-attention. Leaves its work in the arena. */
hec_status session_encode(hec_session *s, int64_t first, int64_t n, int64_t S,
                          const hec_tensor *features /* [n, bands, frames]; NULL: ids */);
/* Runs the decoder on s->take[r] tokens of rows first … first + n − 1, which are in s->ids [n, T].
 * Leaves its work in the arena, and the lengths as they are. */
hec_status session_feed(hec_session *s, int64_t first, int64_t n, int64_t T);

#endif
