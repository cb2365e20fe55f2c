/* parts.h — for targets that read several small files of a folder: the parts of an input, with a zero byte
 * between them, become these files; one that has no part is not there. */
#ifndef FUZZ_PARTS_H
#define FUZZ_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stop.h"

static char parts_folder[64];
static const char *const
	*parts_names; /* NULL behind the last; a folder, which stays, ends with / */

static inline const char *parts_path(const char *name)
{
	static char path[160];
	snprintf(path, sizeof path, "%s/%s", parts_folder, name);
	return path;
}

static void parts_remove(void)
{
	for (size_t i = 0; parts_names[i]; i++)
		unlink(parts_path(parts_names[i]));
	for (size_t i = 0; parts_names[i]; i++)
		rmdir(parts_path(parts_names[i]));
	rmdir(parts_folder);
}

static inline void parts_write(const char *name, const void *data, size_t bytes)
{
	FILE *f = fopen(parts_path(name), "wb");
	if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0)
		stop("the temporary folder cannot be written");
}

/* Makes the folder at the first call. */
static inline void parts_make(const char *const *names)
{
	if (*parts_folder)
		return;
	parts_names = names;
	snprintf(parts_folder, sizeof parts_folder, "%s/hecate-fuzz-XXXXXX",
	         access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(parts_folder))
		stop("no temporary folder");
	atexit(parts_remove);
	for (size_t i = 0; names[i]; i++)
		if (names[i][strlen(names[i]) - 1] == '/' && mkdir(parts_path(names[i]), 0700) != 0)
			stop("no temporary folder");
}

/* Files out of the parts of an input, in order. empty: a part without a byte is a file, too. */
static inline void parts_put(const char *const *names, size_t count, const uint8_t *data,
                             size_t size, bool empty)
{
	for (size_t i = 0, at = 0; i < count; i++) {
		const char *name = names[i];
		if (name[strlen(name) - 1] == '/')
			continue;
		const uint8_t *end = size > at ? memchr(data + at, 0, size - at) : NULL;
		const size_t bytes = end ? (size_t)(end - data) - at : size > at ? size - at : 0;
		if (at > size || (bytes == 0 && !empty))
			unlink(parts_path(name));
		else
			parts_write(name, data + at, bytes);
		at += bytes + 1;
	}
}

static inline void parts_fill(const uint8_t *data, size_t size)
{
	size_t count = 0;
	while (parts_names[count])
		count++;
	parts_put(parts_names, count, data, size, true);
}

#endif
