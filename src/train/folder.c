/* folder.c — the few things that checkpoints do with folders. */
#include "train/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "train/corpus.h"

#define PIECE ((size_t)1 << 20) /* of a file that is copied */

hec_status path_make(char **out, const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	char *path = n >= 0 ? mem_alloc((size_t)n + 1) : NULL;
	if (path)
		vsnprintf(path, (size_t)n + 1, format, again);
	va_end(again);
	if (!path)
		return fail(HEC_ERR_MEMORY, "no memory for a name");
	*out = path;
	return HEC_OK;
}

/* Where it was made, a power cut shall not take it away with all in it. */
static hec_status flush_parent(const char *path)
{
	char *parent;
	HEC_TRY(path_make(&parent, "%s/..", path));
	hec_status status = folder_flush(parent);
	mem_free(parent);
	return status;
}

static hec_status make_one(const char *path, bool *made)
{
	struct stat info;
	*made = mkdir(path, 0777) == 0;
	if (*made)
		return flush_parent(path);
	int error = errno;
	if (error == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
		return HEC_OK;
	return fail(HEC_ERR_IO, "%s: the folder could not be made: %s", path, strerror(error));
}

hec_status folder_make(const char *path)
{
	bool made;
	return make_one(path, &made);
}

hec_status folder_make_deep(const char *path, bool *made)
{
	char *part;
	HEC_TRY(path_make(&part, "%s", path));
	for (size_t n = strlen(part); n > 1 && part[n - 1] == '/'; n--)
		part[n - 1] = '\0'; /* "DIR/" is DIR */
	for (char *slash = strchr(part + (*part != '\0'), '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0777) == 0) /* where it fails, making the next says why */
			(void)flush_parent(part);
		*slash = '/';
	}
	hec_status status = make_one(part, made);
	mem_free(part);
	return status;
}

hec_status file_copy(const char *from, const char *to)
{
	file_in *in;
	file_out *out = NULL;
	HEC_TRY(file_in_open(from, &in));
	char *piece = mem_alloc(PIECE);
	hec_status status = piece ? file_out_open(to, &out)
	                          : fail(HEC_ERR_MEMORY, "%s: no memory to copy it", from);
	const uint64_t size = file_in_size(in);
	for (uint64_t at = 0; status == HEC_OK && at < size; at += PIECE) {
		size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
		status = file_in_read(in, at, piece, n);
		if (status == HEC_OK)
			status = file_out_write(out, piece, n);
	}
	if (status == HEC_OK)
		status = file_out_commit(out);
	else
		file_out_abort(out);
	mem_free(piece);
	file_in_close(in);
	return status;
}

void names_free(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mem_free(names[i]);
	mem_free(names);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_name(char ***names, size_t *count, const char *name)
{
	char **more = mem_resize(*names, (*count + 1) * sizeof *more);
	if (!more)
		return false;
	*names = more;
	more[*count] = path_join(name, "");
	return more[*count] && ++*count;
}

hec_status folder_names(const char *path, const char *prefix, char ***names, size_t *count)
{
	*names = NULL;
	*count = 0;
	DIR *dir = opendir(path);
	if (!dir)
		return fail(HEC_ERR_IO, "%s: could not be read: %s", path, strerror(errno));
	bool good = true;
	for (struct dirent *e; good && (e = readdir(dir));)
		if (strncmp(e->d_name, prefix, strlen(prefix)) == 0 &&
		    strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			good = add_name(names, count, e->d_name);
	closedir(dir);
	if (!good) {
		names_free(*names, *count);
		return fail(HEC_ERR_MEMORY, "%s: no memory for its names", path);
	}
	if (*count > 0)
		qsort(*names, *count, sizeof **names, by_name);
	return HEC_OK;
}

#define DEEPEST 16 /* folders in folders; what lies deeper stays, and is told */

static hec_status remove_in(const char *path, const char *name, int deeper);

static hec_status remove_folder(const char *path, int deeper)
{
	struct stat info;
	if (lstat(path, &info) != 0)
		return errno == ENOENT ? HEC_OK
		                       : fail(HEC_ERR_IO, "%s: could not be removed: %s", path,
		                              strerror(errno));
	if (S_ISLNK(info.st_mode))
		return unlink(path) == 0 ? HEC_OK
		                         : fail(HEC_ERR_IO, "%s: could not be removed: %s", path,
		                                strerror(errno));
	char **names;
	size_t count;
	HEC_TRY(folder_names(path, "", &names, &count));
	for (size_t i = 0; i < count; i++)
		(void)remove_in(path, names[i], deeper); /* what stays is in the way of rmdir */
	names_free(names, count);
	if (rmdir(path) != 0)
		return fail(HEC_ERR_IO, "%s: could not be removed: %s", path, strerror(errno));
	return HEC_OK;
}

static hec_status remove_in(const char *path, const char *name, int deeper)
{
	char *inside;
	HEC_TRY(path_make(&inside, "%s/%s", path, name));
	hec_status status = HEC_OK;
	if (unlink(inside) != 0 && deeper > 0)
		status = remove_folder(inside, deeper - 1);
	mem_free(inside);
	return status;
}

hec_status folder_remove_inside(const char *path, const char *name)
{
	return remove_in(path, name, DEEPEST);
}

hec_status folder_remove(const char *path)
{
	return remove_folder(path, 0);
}

hec_status folder_remove_deep(const char *path)
{
	return remove_folder(path, DEEPEST);
}

/* ".hecate-PID-N.tmp". */
bool is_of_writer(const char *name)
{
	size_t n = strlen(name), prefix = strlen(TEMP_PREFIX), suffix = strlen(TEMP_SUFFIX);
	return n >= prefix + suffix && strncmp(name, TEMP_PREFIX, prefix) == 0 &&
	       strcmp(name + n - suffix, TEMP_SUFFIX) == 0;
}

/* Of a process that is no more. */
static bool is_left(const char *name)
{
	if (!is_of_writer(name))
		return false;
	long pid = strtol(name + strlen(TEMP_PREFIX), NULL, 10);
	return pid > 0 && (pid == (long)getpid() || (kill((pid_t)pid, 0) != 0 && errno == ESRCH));
}

void folder_sweep(const char *path, int deep)
{
	char **names, *inside;
	size_t count;
	struct stat info;
	if (folder_names(path, "", &names, &count) != HEC_OK)
		return;
	for (size_t i = 0; i < count; i++) {
		if (path_make(&inside, "%s/%s", path, names[i]) != HEC_OK)
			break;
		if (is_left(names[i]))
			unlink(inside);
		else if (strcmp(names[i], HALF_FOLDER) == 0)
			(void)folder_remove(inside);
		else if (deep > 0 && lstat(inside, &info) == 0 && S_ISDIR(info.st_mode))
			folder_sweep(inside, deep - 1);
		mem_free(inside);
	}
	names_free(names, count);
}
