/* scratch.c — see scratch.h. */
#include "base/file.h" /* before cmocka.h, which takes the name `fail` */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/scratch.h"

static scratch group;

/* The next name in the folder but . and .. */
static struct dirent *next(DIR *dir)
{
	struct dirent *e;
	do
		e = readdir(dir);
	while (e && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
	return e;
}

static void empty(const char *path)
{
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = next(dir));) {
		char name[SCRATCH_PATH + 256];
		snprintf(name, sizeof name, "%s/%s", path, e->d_name);
		if (unlink(name) != 0) {
			empty(name);
			rmdir(name);
		}
	}
	if (dir)
		closedir(dir);
}

int scratch_folder(char *path, size_t size)
{
	const char *base = getenv("TMPDIR");
	int n = snprintf(path, size, "%s/hecate-scratch-XXXXXX", base && *base ? base : "/tmp");
	return n > 0 && (size_t)n < size && mkdtemp(path) ? 0 : -1;
}

int scratch_folder_remove(const char *path)
{
	empty(path);
	return rmdir(path);
}

static int make(scratch *s, const char *name)
{
	if (scratch_folder(s->path, sizeof s->path) != 0)
		return -1;
	snprintf(s->file, sizeof s->file, "%s/%s", s->path, name);
	return 0;
}

int scratch_make(void **state, const char *name)
{
	scratch *s = calloc(1, sizeof *s);
	*state = s;
	return s ? make(s, name) : -1;
}

int scratch_remove(void **state)
{
	scratch *s = *state;
	int failed = scratch_folder_remove(s->path);
	free(s);
	return failed;
}

int scratch_group_make(void **state)
{
	(void)state;
	return make(&group, "");
}

int scratch_group_remove(void **state)
{
	(void)state;
	return scratch_folder_remove(group.path);
}

const char *scratch_fresh(char path[SCRATCH_PATH])
{
	static int count;
	snprintf(path, SCRATCH_PATH, "%s/%d", group.path, count++);
	return path;
}

int scratch_entries(const char *path)
{
	DIR *dir = opendir(path);
	assert_non_null(dir);
	int n = 0;
	while (next(dir))
		n++;
	closedir(dir);
	return n;
}

void scratch_copy(const char *from, const char *to)
{
	DIR *dir = opendir(from);
	assert_non_null(dir);
	assert_int_equal(mkdir(to, 0777), 0);
	for (struct dirent *e; (e = next(dir));) {
		char a[SCRATCH_PATH + 256], b[SCRATCH_PATH + 256], *data;
		size_t size;
		snprintf(a, sizeof a, "%s/%s", from, e->d_name);
		snprintf(b, sizeof b, "%s/%s", to, e->d_name);
		assert_int_equal(file_read(a, 1 << 24, &data, &size), HEC_OK);
		assert_int_equal(file_replace(b, data, size), HEC_OK);
		free(data);
	}
	closedir(dir);
}
