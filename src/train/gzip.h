/* gzip.h — the bytes of a file; where it begins as gzip does, what was packed into it. */
#ifndef TRAIN_GZIP_H
#define TRAIN_GZIP_H

#include "base/status.h"

typedef struct gzip_in gzip_in;

hec_status gzip_open(const char *path, gzip_in **out);
/* Up to room bytes, at least one; *got 0: the file has ended. Members follow one another, zeros may follow
 * on the last one, as gzip(1) has it; anything else behind it is an error, and so is a member that is cut
 * short or whose sum is wrong. */
hec_status gzip_read(gzip_in *g, char *to, size_t room, size_t *got);
void gzip_close(gzip_in *g); /* takes NULL */

#endif
