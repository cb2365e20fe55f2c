/* decode.h — choosing what to write: greedy, beam search, sampling.
 *
 * Beam search is the one that Hugging Face Transformers defines, step for step, so that the same
 * model gives the same tokens: at each step the best 2 · beams continuations of all beams are looked
 * at; those among the first `beams` that end are candidates for the result, and the best `beams`
 * that do not end go on. One beam is greedy.
 *
 * What changes the choice, in this order: repetition_penalty, no_repeat_ngram, min_tokens,
 * suppress, begin_suppress, forced_bos, forced_eos (written whatever else forbids them), process; then,
 * where sampling, temperature, top_k, top_p, min_p. Beams change log p, greedy and sampling the logits (it matters to
 * repetition_penalty alone).
 *
 * Where these leave no token at all, greedy and sampling fail (HEC_ERR_ARGUMENT) and beams end with the
 * results they have.
 *
 * Ties: of equal logits the lower id, of equal scores the lower beam, of equal results the older. */
#ifndef HECATE_DECODE_H
#define HECATE_DECODE_H

#include <hecate/session.h>

HEC_BEGIN

typedef enum hec_early_stopping {
	HEC_EARLY_FALSE = 0, /* stop when the best running beam is unlikely to get better */
	HEC_EARLY_TRUE,      /* stop as soon as there are enough finished ones */
	HEC_EARLY_NEVER      /* stop only when no running beam can get better */
} hec_early_stopping;

/* Called with each token as it is chosen (one beam only), for streaming. */
typedef hec_status hec_decode_token_fn(void *user, int64_t source, int32_t id);

/* Rules of the caller's: changes the row of logits from which the next token of a source is chosen, after
 * all other rules. −INFINITY, or NaN: not this one. With beams only differences between the logits mean
 * something, and it is called for each beam. Several threads call it at once, for different rows: it
 * reads what user points at, and writes only to logits. */
typedef void hec_decode_process_fn(void *user, int64_t source,
                                   const int32_t *written,   /* [n] by this row so far, no prompt */
                                   int64_t n, float *logits, /* [vocab] */
                                   int64_t vocab);

typedef struct hec_decode_options { /* options */
	size_t size;                /* sizeof(hec_decode_options) */
	int64_t beams;              /* as the session's; 1: greedy, or sampling */
	int64_t nbest;              /* hypotheses returned for each source, 1 … beams */
	double length_penalty;      /* score = log p / length^penalty */
	hec_early_stopping early;
	int64_t min_tokens;      /* the end is not written before that many others */
	int64_t max_tokens;      /* written, the end counted; −1: as many as the session holds */
	int64_t no_repeat_ngram; /* n > 0: no n tokens in a row appear twice */
	double repetition_penalty; /* more than 0; 1: none */
	const int32_t *suppress;   /* ids that are never written */
	size_t suppressed;
	int32_t forced_bos; /* what follows a start of one token; −1: none */
	int32_t forced_eos; /* what is written where max_tokens leaves room for one more; −1: none */
	bool sample;
	double temperature; /* more than 0 */
	int64_t top_k;      /* only the k likeliest; −1: all */
	double top_p; /* the fewest likeliest that have this probability together; 0: one token; 1: all */
	double min_p;  /* those with this share of the likeliest one's probability; 0: all */
	uint64_t seed; /* sampling: see streams */
	hec_progress_fn *progress; /* in sources */
	hec_decode_token_fn *token;
	void *user;            /* of progress, token and process */
	uint64_t first_stream; /* sampling: see streams */
	const int32_t *ends;   /* ids that end a sequence; NULL: the model's eos_id */
	size_t end_count;
	const int64_t
		*max_tokens_each; /* [sources] tokens that each may write, within max_tokens; NULL:
	                                   that alone bounds them */
	/* [sources] what the decoder behind an encoder begins with, for each; NULL: with start_id. They
	 * are not written: neither in the results nor in what process is given. */
	const int32_t *const *prompts;
	const int64_t *prompt_lengths;  /* [sources], each 1 or more */
	hec_decode_process_fn *process; /* NULL: none */
	bool renormalize; /* beams: what the rules leave of a row is made to sum up to 1 again */
	/* Ids that are not written first, nor right behind forced_bos. */
	const int32_t *begin_suppress;
	size_t begin_suppressed;
	/* [sources] sampling: the stream that each draws from; NULL: source i draws from first_stream + i.
	 * What is drawn as token t that a source writes depends on what is left to draw from and on (seed,
	 * stream, t) alone: not on the other sources, nor on how many run at a time. Sources with one seed and
	 * one stream draw alike, so who spreads sources over several calls counts on with first_stream. */
	const uint64_t *streams;
	bool score_what_is_left; /* one beam: log p of a token is that among those that the rules leave, not
	                            among all */
} hec_decode_options;

/* clang-format off */
#define HEC_DECODE_OPTIONS_INIT \
	{.size = sizeof(hec_decode_options), .beams = 1, .nbest = 1, .length_penalty = 1.0, .max_tokens = -1, \
	 .repetition_penalty = 1.0, .forced_bos = -1, .forced_eos = -1, .temperature = 1.0, .top_k = -1, .top_p = 1.0}
/* clang-format on */

typedef struct hec_hypothesis { /* result */
	const int32_t *
		ids; /* [n] what was written, without the start, with the end where it came to one */
	int64_t n;
	double score; /* Σ log p / n^length_penalty; a forced token counts 0 */
} hec_hypothesis;

typedef struct hec_decoded hec_decoded;
/* Hypothesis `rank` of a source, 0 the best. Where the search ended with fewer than nbest, the others have n 0. */
HEC_API const hec_hypothesis *hec_decoded_at(const hec_decoded *decoded, int64_t source,
                                             int64_t rank);
HEC_API void hec_decoded_free(hec_decoded *decoded);

/* Any number of sources: as many at a time as the session holds, the finished ones replaced by the
 * next. A source gives the same result alone or among others, where it is drawn from the same stream.
 * Sequences are prompts for a decoder-only model, and what the encoder reads for one with an encoder. */
HEC_API HEC_MUST_USE hec_status hec_decode(hec_session *session, int64_t n,
                                           const int32_t *const *ids, const int64_t *lengths,
                                           const hec_decode_options *options, hec_decoded **out);
/* The same for a model whose encoder reads frames. */
HEC_API HEC_MUST_USE hec_status
hec_decode_features(hec_session *session, int64_t n,
                    const hec_tensor *features, /* [n] tensors [bands, frames] */
                    const hec_decode_options *options, hec_decoded **out);
/* The same for the sources that are live in the session (hec_session_start, …_start_features), of a model
 * with an encoder: their rows become empty first. They stay, so that they can be written for again, from
 * other prompts, by other rules or with other draws (another seed or other streams), without running the
 * encoder again. What is live stays so also where this fails. */
HEC_API HEC_MUST_USE hec_status hec_decode_live(hec_session *session,
                                                const hec_decode_options *options,
                                                hec_decoded **out);

HEC_END

#endif
