/* folder.c — the small JSON files that lie beside a model. */
#include "task/folder.h"

#include <errno.h>
#include <sys/stat.h>

hec_status folder_json(const char *folder, const char *name, char path[PATH_MOST], json_t **out)
{
	*out = NULL;
	HEC_TRY(path_in(path, folder, name));
	return json_file_read(path, JSON_CONFIG_MOST, out);
}

hec_status folder_json_if(const char *folder, const char *name, char path[PATH_MOST], json_t **out)
{
	struct stat s;
	*out = NULL;
	HEC_TRY(path_in(path, folder, name));
	if (stat(path, &s) != 0 && errno == ENOENT)
		return HEC_OK;
	return json_file_read(path, JSON_CONFIG_MOST, out);
}
