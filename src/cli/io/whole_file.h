/* whole_file.h — a file, or standard input, read to its end. */
#ifndef CLI_IO_WHOLE_FILE_H
#define CLI_IO_WHOLE_FILE_H

#include "cli/command/command.h"

#define WHOLE_FILE_MOST ((size_t)1 << 30) /* bytes */

/* path "-": standard input. *text is for the caller to free(); a zero byte that is not counted follows
 * it. Returns EXIT_DONE, or the exit code to end with: the reason is then on standard error. */
int whole_file_read(const command *self, const char *path, char **text, size_t *bytes);

#endif
