/* whole_file.h — a file, or standard input, read to its end as one text. */
#ifndef CLI_IO_WHOLE_FILE_H
#define CLI_IO_WHOLE_FILE_H

#include <stdbool.h>

#include "cli/command/command.h"

#define WHOLE_FILE_ERROR 512

/* All of a stream, as it is, at most so many bytes. *data is for the caller to free(); a zero byte that is not counted
 * follows it. False: the reason is in error, behind whatever the stream is called. */
bool whole_stream_read(FILE *f, size_t most, char **data, size_t *bytes,
                       char error[WHOLE_FILE_ERROR]);

/* path "-": standard input. At most LINES_LONGEST bytes, as of a line. *text is for the caller to free(); a zero byte
 * that is not counted follows it. A byte order mark before it is no part of it. False: the reason is in error. */
bool whole_file_take(const char *path, char **text, size_t *bytes, char error[WHOLE_FILE_ERROR]);
/* The same, which returns EXIT_DONE, or the exit code to end with: the reason is then on standard error. */
int whole_file_read(const command *self, const char *path, char **text, size_t *bytes);

#endif
