/* lines.h — the examples of a task as pairs of texts, whatever files they lie in. */
#ifndef TRAIN_LINES_H
#define TRAIN_LINES_H

#include <hecate/corpus.h>

#include "train/reader.h"

typedef enum example_kind {
	EXAMPLE_GOOD = 0,
	EXAMPLE_EMPTY,
	EXAMPLE_BAD_UTF8,
	EXAMPLE_TOO_LONG,
	EXAMPLE_NO_TAB
} example_kind;

typedef struct example {
	line side[2]; /* source and target, label and text; lm, mlm: the text is side 1 */
	example_kind kind;
} example;

/* The next one, good or not; *more false: there is none. Counts it. */
hec_status lines_next_example(hec_lines *lines, example *out, bool *more);

/* Of the files, which the last example was read from. */
size_t lines_file(const hec_lines *lines);

bool task_has_two_files(hec_task task);
/* Sides that are texts, first and one past the last. */
void task_text_sides(hec_task task, int *begin, int *end);

#endif
