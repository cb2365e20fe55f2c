/* log.h — DIR/log.jsonl, and DIR/curve.svg drawn from it. */
#ifndef TRAIN_LOG_H
#define TRAIN_LOG_H

#include <hecate/train.h>

typedef struct log_line {
	int64_t step, epoch, targets, skips;
	double loss, lr, grad_norm, tokens_per_s, seconds; /* NaN: written as null */
	const hec_train_scores *scores;                    /* NULL: no validation at this step */
} log_line;

/* Cuts what came after the step off, as if it had not happened; step 0: all. */
hec_status log_cut(const char *path, int64_t step);
hec_status log_add(const char *path, const log_line *line);
hec_status log_flush(const char *path); /* to the disk, where there is a log */

/* Each whole line of a log, with its end; NULL for one too long to be ours. However long the log, it is
 * read in pieces. */
typedef hec_status log_visit(void *user, const char *line, size_t size);
hec_status log_each(const char *path, log_visit *visit, void *user);

/* dropout: learning goes with it, and the picture says so. */
hec_status curve_write(const char *log, const char *svg, bool dropout);

#endif
