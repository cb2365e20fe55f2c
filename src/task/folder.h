/* folder.h — the small JSON files that lie beside a model. */
#ifndef TASK_FOLDER_H
#define TASK_FOLDER_H

#include "format/json.h"

/* folder/name in new memory, for free(); the folder itself where the name is "". */
hec_status folder_join(const char *folder, const char *name, char **out);
/* The value in that file; an error where there is none. */
hec_status folder_json(const char *folder, const char *name, json_t **out);
/* The same; *out NULL where there is no such file. */
hec_status folder_json_if(const char *folder, const char *name, json_t **out);

#endif
