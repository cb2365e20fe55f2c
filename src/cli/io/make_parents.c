/* make_parents.c — each folder of a path but the last. */
#include "cli/io/make_parents.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_MOST 4096

void make_parents(const char *out)
{
	char path[PATH_MOST];
	snprintf(path, sizeof path, "%s", out);
	for (char *slash = *path ? strchr(path + 1, '/') : NULL; slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0777);
		*slash = '/';
	}
}
