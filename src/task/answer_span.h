/* answer_span.h — from the logits of the windows of one context to its best answers.
 *
 * Within a window, the tokens of the context and the window's first token ([CLS], <s>) share the
 * probability of being the begin, and of being the end, by softmax; an answer's score is
 * p(begin) · p(end), as select_starts_ends of Transformers 5.22.2 has it. The first token stands for
 * "no answer": its score is the least of all windows, since an answer in one of them will do. An answer
 * is moved out to whole words; of the same words, found by several tokens or in several windows, the
 * best score counts. The result does not depend on the order of the windows. */
#ifndef TASK_ANSWER_SPAN_H
#define TASK_ANSWER_SPAN_H

#include <hecate/tokenizer.h>

typedef struct answer_span {
	double score;
	size_t begin, end; /* bytes of the context */
} answer_span;

/* Starts as {0} but for the four first; the best, then, are freed by answer_search_free. */
typedef struct answer_search {
	const char *text; /* the context, UTF-8 (or what was taken for it): to find its words */
	size_t bytes;
	int64_t top;       /* answers wanted, from 1 up */
	int64_t longest;   /* tokens of an answer, from 1 up (Transformers: 15) */
	bool part_words;   /* answers end where tokens do, also within a word */
	answer_span *best; /* [count] the best first; of equal ones the earlier, then the shorter */
	int64_t count;
	int64_t windows; /* seen so far */
	double none;     /* score of "no answer"; 1 before the first window */
	/* within a window */
	double *p;       /* [2 n] */
	hec_span *words; /* [n] tokens moved out to words */
	size_t room;
} answer_search;

/* A window as the tokenizer made it and the model saw it. */
typedef struct answer_window {
	size_t n;
	const hec_span *offsets; /* [n] into the context, of its tokens, in order */
	const int8_t *sequence;  /* [n] of whom each is; hec_encoding has both */
	int8_t context;          /* the sequence that is the context: 1, the pair */
	const float *logits;     /* [n, 2] of the begin and of the end */
	/* The first token is like any other (decoders): nothing stands for "no answer", and its score
	 * is 0. */
	bool without_none;
} answer_window;

hec_status answer_search_add(answer_search *search, const answer_window *window);
void answer_search_free(answer_search *search); /* takes {0} */

#endif
