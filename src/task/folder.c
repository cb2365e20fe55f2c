/* folder.c — the small JSON files that lie beside a model. */
#include "task/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/size.h"

hec_status folder_join(const char *folder, const char *name, char **out)
{
	size_t length = strlen(folder), bytes;
	*out = size_add(length, strlen(name) + 2, &bytes) ? malloc(bytes) : NULL;
	if (!*out)
		return fail(HEC_ERR_MEMORY, "%s: no memory for its path", name);
	(void)snprintf(*out, bytes, "%s%s%s", folder,
	               !*name || (length > 0 && folder[length - 1] == '/') ? "" : "/", name);
	return HEC_OK;
}

static hec_status read_json(const char *folder, const char *name, bool needed, json_t **out)
{
	char *path;
	struct stat s;
	*out = NULL;
	HEC_TRY(folder_join(folder, name, &path));
	hec_status status = HEC_OK;
	if (needed || stat(path, &s) == 0 || errno != ENOENT)
		status = json_file_read(path, JSON_CONFIG_MOST, out);
	free(path);
	return status;
}

hec_status folder_json(const char *folder, const char *name, json_t **out)
{
	return read_json(folder, name, true, out);
}

hec_status folder_json_if(const char *folder, const char *name, json_t **out)
{
	return read_json(folder, name, false, out);
}
