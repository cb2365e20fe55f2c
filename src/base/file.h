/* file.h — reading a whole file, and replacing one so that nobody ever sees half of it. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/status.h"

/* Reads the regular file at path into new memory, for the caller to free(). A zero byte that is not
 * counted in *size follows the contents, so that text can be used as a string. More than limit
 * bytes, a folder, a pipe or a file that changes its size meanwhile are errors that name the path.
 * On failure *data and *size are left alone. */
hec_status file_read(const char *path, size_t limit, char **data, size_t *size);

/* Makes path hold exactly these bytes: written beside it, flushed to disk, then renamed over it.
 * Until the rename a failure leaves the old file as it was and nothing beside it. The permissions
 * of the old file are kept; a symbolic link is itself replaced. */
hec_status file_replace(const char *path, const void *data, size_t size);

#endif
