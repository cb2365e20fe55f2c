/* reader.h — the lines of one file, plain or gzip, in bounded memory. */
#ifndef TRAIN_READER_H
#define TRAIN_READER_H

#include "base/status.h"

#define READER_LONGEST ((size_t)1 << 20) /* bytes of a line; what is longer is passed over */

typedef struct reader reader;

hec_status reader_open(const char *path, reader **out);
void reader_close(reader *r); /* takes NULL */

typedef enum line_kind { LINE_GOOD = 0, LINE_EMPTY, LINE_BAD_UTF8, LINE_TOO_LONG } line_kind;

typedef struct line {
	const char *text; /* without its end (\n or \r\n); valid until the next call */
	size_t bytes;
	line_kind kind;
} line;

/* *more false: the file has ended. */
hec_status reader_next(reader *r, line *out, bool *more);

#endif
