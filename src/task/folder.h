/* folder.h — the small JSON files that lie beside a model. */
#ifndef TASK_FOLDER_H
#define TASK_FOLDER_H

#include "base/path.h"
#include "format/json.h"

/* The value in that file, and its path for messages; an error where there is none. */
hec_status folder_json(const char *folder, const char *name, char path[PATH_MOST], json_t **out);
/* The same; *out NULL where there is no such file. */
hec_status folder_json_if(const char *folder, const char *name, char path[PATH_MOST], json_t **out);

#endif
