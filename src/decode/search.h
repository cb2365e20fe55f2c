/* search.h — one source while it is being written.
 *
 * A step has two halves. search_row, for each row and on any thread, turns a row of logits into its
 * best continuations; search_advance, for each source, chooses among those of its rows what is
 * written next. Greedy and sampling have one row and one continuation. */
#ifndef DECODE_SEARCH_H
#define DECODE_SEARCH_H

#include "decode/plan.h"
#include "decode/process.h"
#include "decode/topk.h"
#include "decode/warp.h"

/* Stands for −inf where Transformers has it: a sum with it stays a number. */
#define NO_SCORE (-1e9f)

/* A continuation of a row: score is log p of all that is written, id included. */
typedef struct continuation {
	float score;
	int32_t id;
	int32_t beam;
	bool ends;
} continuation;

/* A sequence that came to its end. */
typedef struct result {
	float score;
	float log_p;  /* NO_SCORE where it was written by a row that stood for none */
	int64_t n;    /* tokens written; 0: none yet */
	int32_t *ids; /* [capacity] */
} result;

typedef struct search {
	int64_t source;     /* its place in the call */
	int64_t prompt;     /* tokens before the first written one */
	int64_t length;     /* of every row, the prompt counted */
	int64_t max_length; /* prompt + what may be written */
	int64_t capacity;   /* of a row */
	int32_t *rows;      /* [beams, capacity] */
	int32_t *moved;     /* [beams, capacity], to exchange with rows */
	float *running;     /* [beams] log p of each row */
	result *results;    /* [beams] best first */
	continuation *best; /* [candidates] of this step */
	int32_t *next;      /* [beams] what each row is fed next */
	int32_t *from;      /* [beams] which row it was */
	bool done;
	bool delivered; /* done, and its result is the caller's; the source still holds its place */
} search;

/* Work space of one thread. */
typedef struct row_scratch {
	float *before;   /* [capacity] */
	scored *top;     /* [max(top_k, 1)] */
	chance *chances; /* [vocab] where sampling */
} row_scratch;

/* The best continuations of one row go to out [candidates]; x is changed. False: no token can be
 * written (every logit is NaN, or without other beams to go on with −inf). */
bool search_row(const plan *p, const search *s, int64_t beam, float *x, float lse,
                const row_scratch *b, scored *out);

/* Chooses. in: [beams, candidates] of search_row. Sets next, from, length and done. */
void search_advance(const plan *p, search *s, const scored *in);

/* The two ways to choose. */
void greedy_advance(const plan *p, search *s, const scored *in);
void beam_advance(const plan *p, search *s, const scored *in);
/* Greedy's continuation: the likeliest token, or a drawn one. */
bool greedy_row(const plan *p, const search *s, float *x, float lse, const row_scratch *b,
                scored *out);

/* A row, and what it was written from. */
static inline int32_t *search_ids(const search *s, int64_t beam)
{
	return s->rows + beam * s->capacity;
}

static inline prefix search_prefix(const search *s, int64_t beam)
{
	return (prefix){search_ids(s, beam), s->length, s->prompt, s->max_length, s->source};
}

/* score / length^penalty, in the precision that Transformers has. */
float search_penalized(const plan *p, float score, int64_t length);

/* log Σ exp x of what the rules left of a row; −inf: nothing. */
float search_sum_row(const float *x, int64_t vocab);

/* Makes s ready for a source: rows begin with prompt ids. */
void search_begin(const plan *p, search *s, int64_t source, const int32_t *ids, int64_t prompt,
                  int64_t max_length);

#endif
