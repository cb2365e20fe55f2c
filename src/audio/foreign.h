/* foreign.h — sound that is not read, but is known by its first bytes: what it is, and how to convert it. */
#ifndef AUDIO_FOREIGN_H
#define AUDIO_FOREIGN_H

#include <stddef.h>

#include "base/status.h"

#define FOREIGN_BYTES 64 /* of the beginning; fewer where the file has no more */

/* "M4A", …; NULL: it is none of them. */
const char *foreign_kind(const unsigned char *begin, size_t n);

/* HEC_ERR_FORMAT, with the line of ffmpeg that converts it. shown: its name as quote() has it; path NULL: it came
 * through a pipe. */
hec_status foreign_refuse(const char *shown, const char *path, const char *kind);

#endif
