/* path.h — the names of files. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include "base/status.h"

#define PATH_MOST 4096 /* what is longer the system does not open */

/* folder/name; the folder itself where the name is "". */
hec_status path_in(char out[PATH_MOST], const char *folder, const char *name);
/* The name in the folder in which a file lies. */
hec_status path_beside(char out[PATH_MOST], const char *file, const char *name);

#endif
