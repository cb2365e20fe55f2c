/* rows.h — sharing rows among threads, for every operation whose rows do not know each other. */
#ifndef BACKEND_CPU_ROWS_H
#define BACKEND_CPU_ROWS_H

#include "backend/context.h"

/* Does rows begin … end − 1. scratch belongs to this call alone; NULL where none was asked for. */
typedef void rows_body(const void *args, int64_t begin, int64_t end, void *scratch);

/* Runs the body over rows 0 … count − 1, split into tasks of about equal work. cost: how many
 * elements (roughly nanoseconds) a row takes; little work is one task on this thread. A row's
 * result must not depend on the rows that it is run with. */
hec_status rows_run(hec_ctx *ctx, int64_t count, int64_t cost, size_t scratch_bytes,
                    rows_body *body, const void *args);

/* Does elements begin … end − 1 of one row. */
typedef void span_body(const void *args, int64_t row, int64_t begin, int64_t end);

/* Runs the body over rows of C elements, for operations whose elements do not know each other.
 * flat: the rows lie one behind the other in every tensor, and are taken as one long row 0, cut
 * where it suits. cost: of an element, as above. */
hec_status spans_run(hec_ctx *ctx, int64_t rows, int64_t C, bool flat, int64_t cost,
                     span_body *body, const void *args);

#endif
