/* file.h — reading a file, whole or in pieces, and replacing one so that nobody ever sees half of
 * it. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/status.h"

/* Reads the regular file at path into new memory, for the caller to mem_free(). A zero byte that is not
 * counted in *size follows the contents, so that text can be used as a string. More than limit
 * bytes, a folder, a pipe or a file that changes its size meanwhile are errors that name the path.
 * On failure *data and *size are left alone. */
hec_status file_read(const char *path, size_t limit, char **data, size_t *size);

/* Names made, changed or removed in a folder are on the disk only behind this. */
hec_status folder_flush(const char *path);

/* Makes path hold exactly these bytes: written beside it, flushed to disk, then renamed over it.
 * Until the rename a failure leaves the old file as it was and nothing beside it. The permissions
 * of the old file are kept; a symbolic link is itself replaced. */
hec_status file_replace(const char *path, const void *data, size_t size);

/* The same in pieces: nothing is seen at path until commit, which flushes, renames and gives f back,
 * also when it fails. abort (takes NULL) leaves the old file as it was. */
/* Beside the file, PID and a number between the two: what stays where a writer is killed. */
#define TEMP_PREFIX ".hecate-"
#define TEMP_SUFFIX ".tmp"
typedef struct file_out file_out;
hec_status file_out_open(const char *path, file_out **out);
hec_status file_out_write(file_out *f, const void *data, size_t size);
hec_status file_out_commit(file_out *f);
void file_out_abort(file_out *f);

/* A regular file to be read in pieces, by pread: one that shrinks meanwhile is an error. */
typedef struct file_in file_in;
hec_status file_in_open(const char *path, file_in **out);
uint64_t file_in_size(const file_in *f); /* when it was opened */
const char *file_in_path(const file_in *f);
hec_status file_in_read(const file_in *f, uint64_t offset, void *to, size_t size);
void file_in_close(file_in *f); /* takes NULL */

#endif
