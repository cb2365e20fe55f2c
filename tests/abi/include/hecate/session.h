/* session.h — running a model token by token: a cache of keys and values, sized when it is made.
 *
 * One row of the cache is one sequence being written. Beams of one sentence are rows that share its
 * source: with `beams` n, rows i·n … i·n + n − 1 look at source i. A session belongs to one thread;
 * a step allocates nothing. */
#ifndef HECATE_SESSION_H
#define HECATE_SESSION_H

#include <hecate/model.h>

HEC_BEGIN

typedef struct hec_session hec_session;

typedef struct hec_session_options { /* options */
	size_t size;                 /* sizeof(hec_session_options) */
	int64_t sources;             /* sentences at a time */
	int64_t beams;               /* rows for each */
	int64_t max_source; /* longest source in tokens; 0: what the model can take. Of a model
	                       that reads frames: what it takes, always */
	int64_t max_target; /* longest row in tokens, the first one counted; 0: what the model can take */
	bool keep_attention; /* keep q and k, so that hec_session_weights can be asked */
} hec_session_options;

/* clang-format off */
#define HEC_SESSION_OPTIONS_INIT {.size = sizeof(hec_session_options), .sources = 1, .beams = 1}
/* clang-format on */

/* The model must be packed for ctx (hec_model_load and hec_model_pack do), and outlive the session. */
HEC_API HEC_MUST_USE hec_status hec_session_create(hec_ctx *ctx, const hec_model *model,
                                                   const hec_session_options *options,
                                                   hec_session **out);
HEC_API void hec_session_destroy(hec_session *session); /* takes NULL */
HEC_API const hec_model *hec_session_model(const hec_session *session);
HEC_API hec_ctx *hec_session_ctx(const hec_session *session);
/* What it was made with, the zeros filled in; size: sizeof *out. */
HEC_API void hec_session_options_of(const hec_session *session, hec_session_options *out,
                                    size_t size);
/* Bytes it holds: cache, work space. */
HEC_API size_t hec_session_bytes(const hec_session *session);

/* Starts n sources anew: rows become empty; with an encoder, runs it and keeps the keys and values of
 * every cross-attention. A decoder-only model takes ids absent. */
HEC_API HEC_MUST_USE hec_status hec_session_start(hec_session *session, int64_t n,
                                                  const hec_tensor *ids, /* [n, S] i32, or NULL */
                                                  const int32_t *length /* [n]; NULL: all S */);

/* The same for a model whose encoder reads frames: how hec_session_start begins one that reads words. */
HEC_API HEC_MUST_USE hec_status hec_session_start_features(
	hec_session *session, int64_t n,
	const hec_tensor *features /* [n, bands, frames] as hec_model_input's */);

/* The same for n more sources behind the live ones, which go on as they are: how the next sentences
 * take the places of those that are done. start is keep of none, then add. */
HEC_API HEC_MUST_USE hec_status hec_session_add(hec_session *session, int64_t n,
                                                const hec_tensor *ids, const int32_t *length);
HEC_API HEC_MUST_USE hec_status hec_session_add_features(hec_session *session, int64_t n,
                                                         const hec_tensor *features);

/* The live rows become empty, their sources stay: to write for them anew, from another begin or with
 * other options, without running the encoder again. */
HEC_API HEC_MUST_USE hec_status hec_session_rewind(hec_session *session);

/* Feeds tokens to every live row (rows = sources · beams) and gives the logits after the last one of
 * each. Rows grow by their own count: a prompt is fed many at once, then one at a time. */
HEC_API HEC_MUST_USE hec_status
hec_session_step(hec_session *session, const hec_tensor *ids, /* [rows, T] i32 */
                 /* [rows] how many of T each row takes; NULL: all. One that takes none stays as it
                  * is, and its logits mean nothing; some row takes one. */
                 const int32_t *count, hec_tensor *logits /* [rows, V] written */);

/* Row r becomes what row from[r] was (beam search). Both must share a source. */
HEC_API HEC_MUST_USE hec_status hec_session_reorder(hec_session *session, const int32_t *from);
/* Sources keep[0] < keep[1] < … stay, with their rows, in this order; the others leave the batch. */
HEC_API HEC_MUST_USE hec_status hec_session_keep(hec_session *session, const int64_t *keep,
                                                 int64_t n);
HEC_API int64_t hec_session_sources(const hec_session *session);             /* live ones */
HEC_API int64_t hec_session_length(const hec_session *session, int64_t row); /* tokens fed */

typedef enum hec_attention_kind {
	HEC_ATTENTION_ENCODER = 0, /* self-attention of the encoder */
	HEC_ATTENTION_DECODER,     /* self-attention of the decoder */
	HEC_ATTENTION_CROSS
} hec_attention_kind;

/* Per-head weights of what ran since the start, made again from what was kept (keep_attention). */
HEC_API HEC_MUST_USE hec_status hec_session_weights(hec_session *session, hec_attention_kind kind,
                                                    int64_t layer, int64_t row,
                                                    hec_tensor *out /* [H, T, S] written */);

HEC_END

#endif
