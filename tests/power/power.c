/* power.c — see power.h. Each change of a name is noted with what undoes it, until the folder that holds the name is
 * flushed; each file that was written, with the size that is on the disk, until it is flushed. */
#define _GNU_SOURCE 1 /* nftw, realpath, vasprintf */
#include "power.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int __real_open(const char *path, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t size);
int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __real_mkdir(const char *path, mode_t mode);
int __real_rmdir(const char *path);
int __real_link(const char *from, const char *to);
int __real_truncate(const char *path, off_t size);
int __real_ftruncate(int fd, off_t size);

int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_write(int fd, const void *data, size_t size);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_rmdir(const char *path);
int __wrap_link(const char *from, const char *to);
int __wrap_truncate(const char *path, off_t size);
int __wrap_ftruncate(int fd, off_t size);

#define MOST 4096

typedef enum kind { MADE_FILE, MADE_FOLDER, RENAMED, UNLINKED, REMOVED_FOLDER } kind;

typedef struct change {
	kind kind;
	char *name, *from; /* from: of what was renamed */
	char *kept;        /* a link to the file that lost this name; NULL: none did */
} change;

typedef struct bytes {
	ino_t file;
	off_t on_disk;
} bytes;

static struct {
	char dir[PATH_MAX], stash[PATH_MAX];
	bool watching;
	long at, changes, kept;
	int lost;
	change list[MOST]; /* not on the disk yet, oldest first */
	size_t count;
	bytes files[MOST]; /* written and not flushed */
	size_t written;
} power;

static void stop(const char *what)
{
	fprintf(stderr, "power: %s: %s\n", what, strerror(errno));
	_exit(99);
}

static char *text(const char *format, ...)
{
	char *out = NULL;
	va_list args;
	va_start(args, format);
	if (vasprintf(&out, format, args) < 0)
		stop("no memory");
	va_end(args);
	return out;
}

/* ---- where ---- */

/* The name without links and dots, in the folder that is watched; else NULL. Its folder must be there. */
static char *inside(const char *path)
{
	char folder[PATH_MAX], whole[PATH_MAX];
	const char *slash = strrchr(path, '/');
	if (!power.watching)
		return NULL;
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1,
	         slash ? path : ".");
	if (!realpath(folder, whole))
		return NULL;
	size_t n = strlen(power.dir);
	if (strncmp(whole, power.dir, n) != 0 || (whole[n] != '\0' && whole[n] != '/'))
		return NULL;
	return text("%s/%s", whole, slash ? slash + 1 : path);
}

static bool is_in(const char *name, const char *folder)
{
	const char *slash = strrchr(name, '/');
	return (size_t)(slash - name) == strlen(folder) &&
	       strncmp(name, folder, strlen(folder)) == 0;
}

/* ---- what is not on the disk ---- */

static change *note(kind kind, char *name)
{
	if (power.count == MOST)
		stop("too many changes");
	power.list[power.count] = (change){.kind = kind, .name = name};
	return &power.list[power.count++];
}

/* So that its bytes can come back under that name. */
static char *keep(const char *name)
{
	struct stat info;
	if (lstat(name, &info) != 0 || !S_ISREG(info.st_mode))
		return NULL;
	char *kept = text("%s/%ld", power.stash, power.kept++);
	if (__real_link(name, kept) != 0)
		stop(kept);
	return kept;
}

static void flushed_names(const char *folder)
{
	size_t left = 0;
	for (size_t i = 0; i < power.count; i++)
		if (!is_in(power.list[i].name, folder))
			power.list[left++] = power.list[i];
	power.count = left;
}

static bytes *bytes_of(ino_t file)
{
	for (size_t i = 0; i < power.written; i++)
		if (power.files[i].file == file)
			return &power.files[i];
	return NULL;
}

static void wrote(const struct stat *before)
{
	if (power.written == MOST)
		stop("too many files");
	power.files[power.written++] = (bytes){before->st_ino, before->st_size};
}

/* ---- the cut ---- */

static int cut_file(const char *path, const struct stat *info, int type, struct FTW *at)
{
	(void)at;
	const bytes *b = type == FTW_F ? bytes_of(info->st_ino) : NULL;
	if (b && __real_truncate(path, b->on_disk) != 0)
		stop(path);
	return 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
	(void)info;
	(void)at;
	return type == FTW_DP ? __real_rmdir(path) : __real_unlink(path);
}

/* Names under a folder that is called otherwise from now on. */
static void rename_noted(size_t count, const char *from, const char *to)
{
	size_t n = strlen(from);
	for (size_t i = 0; i < count; i++) {
		char **both[2] = {&power.list[i].name, &power.list[i].from};
		for (int j = 0; j < 2; j++)
			if (*both[j] && strncmp(*both[j], from, n) == 0 && (*both[j])[n] == '/')
				*both[j] = text("%s%s", to, *both[j] + n);
	}
}

static void undo(size_t i)
{
	const change *c = &power.list[i];
	int error = 0;
	if (c->kind == MADE_FILE)
		error = __real_unlink(c->name);
	else if (c->kind == MADE_FOLDER)
		error = nftw(c->name, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	else if (c->kind == RENAMED)
		error = __real_rename(c->name, c->from);
	else if (c->kind == REMOVED_FOLDER)
		error = __real_mkdir(c->name, 0777);
	if (c->kind == RENAMED)
		rename_noted(i, c->name, c->from);
	if (error == 0 && c->kept)
		error = __real_rename(c->kept, c->name);
	/* What was made in a folder that was then removed, and so on. */
	if (error != 0 && errno != ENOENT && errno != EEXIST && errno != ENOTEMPTY)
		stop(c->name);
}

static void cut(void)
{
	if (power.lost & POWER_BYTES)
		nftw(power.dir, cut_file, 16, FTW_PHYS);
	const size_t kept = power.lost & POWER_OLDER_NAMES && power.count > 0 ? 1 : 0;
	if (power.lost & (POWER_NAMES | POWER_OLDER_NAMES))
		for (size_t i = power.count - kept; i-- > 0;)
			undo(i);
	_exit(POWER_EXIT);
}

static void change_comes(void)
{
	if (++power.changes == power.at)
		cut();
}

void power_cut(const char *dir, const char *stash, long n, int lost)
{
	if (!realpath(dir, power.dir) || !realpath(stash, power.stash))
		stop(dir);
	power.at = n;
	power.lost = lost;
	power.changes = 0;
	power.count = power.written = 0;
	power.watching = true;
}

/* ---- the calls ---- */

int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	struct stat info;
	char *name = flags & O_CREAT && lstat(path, &info) != 0 ? inside(path) : NULL;
	if (name)
		change_comes();
	int fd = __real_open(path, flags, mode);
	if (name && fd >= 0)
		note(MADE_FILE, name);
	return fd;
}

static bool is_watched(int fd, struct stat *info, char path[PATH_MAX])
{
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = power.watching ? readlink(link, path, PATH_MAX - 1) : -1;
	if (n < 0 || fstat(fd, info) != 0)
		return false;
	path[n] = '\0';
	return strncmp(path, power.dir, strlen(power.dir)) == 0;
}

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	char path[PATH_MAX];
	struct stat info;
	/* The first of a file stands for all until it is flushed: a file that is half written is as one that is not. */
	if (is_watched(fd, &info, path) && S_ISREG(info.st_mode) && !bytes_of(info.st_ino)) {
		change_comes();
		wrote(&info);
	}
	return __real_write(fd, data, size);
}

int __wrap_fsync(int fd)
{
	char path[PATH_MAX];
	struct stat info;
	if (!is_watched(fd, &info, path))
		return 0;
	change_comes();
	bytes *b = bytes_of(info.st_ino);
	if (S_ISDIR(info.st_mode))
		flushed_names(path);
	else if (b)
		*b = power.files[--power.written];
	return 0;
}

int __wrap_rename(const char *from, const char *to)
{
	char *a = inside(from), *b = inside(to);
	if (!a || !b)
		return __real_rename(from, to);
	change_comes();
	char *kept = keep(b);
	if (__real_rename(from, to) != 0)
		return -1;
	rename_noted(power.count, a, b);
	change *c = note(RENAMED, b);
	c->from = a;
	c->kept = kept;
	return 0;
}

int __wrap_unlink(const char *path)
{
	struct stat info;
	char *name = lstat(path, &info) == 0 && !S_ISDIR(info.st_mode) ? inside(path) : NULL;
	if (!name)
		return __real_unlink(path);
	change_comes();
	char *kept = keep(name);
	int error = __real_unlink(path);
	if (error == 0)
		note(UNLINKED, name)->kept = kept;
	return error;
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	struct stat info;
	char *name = lstat(path, &info) != 0 ? inside(path) : NULL;
	if (name)
		change_comes();
	int error = __real_mkdir(path, mode);
	if (name && error == 0)
		note(MADE_FOLDER, name);
	return error;
}

int __wrap_rmdir(const char *path)
{
	char *name = inside(path);
	if (name)
		change_comes();
	int error = __real_rmdir(path);
	if (name && error == 0)
		note(REMOVED_FOLDER, name);
	return error;
}

int __wrap_link(const char *from, const char *to)
{
	char *name = inside(to);
	if (name)
		change_comes();
	int error = __real_link(from, to);
	if (name && error == 0)
		note(MADE_FILE, name);
	return error;
}

/* A file that was cut counts as cut on the disk at once. */
static void was_cut(const struct stat *info, off_t size)
{
	bytes *b = bytes_of(info->st_ino);
	if (b && b->on_disk > size)
		b->on_disk = size;
}

int __wrap_truncate(const char *path, off_t size)
{
	struct stat info;
	char *name = inside(path);
	if (name && stat(path, &info) == 0) {
		change_comes();
		was_cut(&info, size);
	}
	return __real_truncate(path, size);
}

int __wrap_ftruncate(int fd, off_t size)
{
	char path[PATH_MAX];
	struct stat info;
	if (is_watched(fd, &info, path)) {
		change_comes();
		was_cut(&info, size);
	}
	return __real_ftruncate(fd, size);
}
