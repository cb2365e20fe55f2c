/* path.c — the names of files. */
#include "base/path.h"

#include <stdio.h>
#include <string.h>

#include "base/quote.h"

/* The first bytes of a path, then the name; a slash between them where there is none. */
static hec_status join_paths(char out[PATH_MOST], const char *path, size_t bytes, const char *name)
{
	const char *slash = bytes == 0 || path[bytes - 1] == '/' || !*name ? "" : "/";
	if (bytes >= PATH_MOST || strlen(slash) + strlen(name) >= PATH_MOST - bytes) {
		char shown[QUOTE_TEXT];
		return fail(HEC_ERR_IO, "%s: a path of more than %d bytes", quote(path, shown),
		            PATH_MOST - 1);
	}
	(void)snprintf(out, PATH_MOST, "%.*s%s%s", (int)bytes, path, slash, name);
	return HEC_OK;
}

hec_status path_in(char out[PATH_MOST], const char *folder, const char *name)
{
	return join_paths(out, folder, strlen(folder), name);
}

hec_status path_beside(char out[PATH_MOST], const char *file, const char *name)
{
	const char *slash = strrchr(file, '/');
	return join_paths(out, file, slash ? (size_t)(slash - file) + 1 : 0, name);
}
