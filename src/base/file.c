/* file.c — files are untrusted and may change under our hands.
 *
 * Reading is by pread into memory of ours, never by mapping: a file that shrinks meanwhile is then
 * an error and not a signal. Replacing goes through a new name in the same folder, because only a
 * rename within one file system is atomic, and only after fsync is what it names on the disk. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/size.h"

/* Linux moves at most 0x7ffff000 bytes a call; a round number below it. */
#define CHUNK ((size_t)1 << 30)
#define TEMP_NAMES 100

static hec_status fail_system(const char *path, const char *doing, int error)
{
	char text[256];
	if (strerror_r(error, text, sizeof text) != 0)
		snprintf(text, sizeof text, "error %d", error);
	return fail(HEC_ERR_IO, "%s: %s: %s", path, doing, text);
}

static const char *kind_of(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a folder";
	if (S_ISFIFO(mode))
		return "a pipe";
	if (S_ISSOCK(mode))
		return "a socket";
	return "a device";
}

/* ---- reading ---- */

static hec_status read_exactly(int fd, const char *path, char *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		size_t want = size - done < CHUNK ? size - done : CHUNK;
		ssize_t n = pread(fd, to + done, want, (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_system(path, "could not be read", errno);
		if (n == 0)
			return fail(HEC_ERR_IO,
			            "%s: shrank from %zu to %zu bytes while it was being read",
			            path, size, done);
		done += (size_t)n;
	}
	char more;
	ssize_t n;
	do
		n = pread(fd, &more, 1, (off_t)size);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		return fail(HEC_ERR_IO, "%s: grew beyond %zu bytes while it was being read", path,
		            size);
	return HEC_OK;
}

static hec_status read_open(int fd, const char *path, size_t limit, char **data, size_t *size)
{
	struct stat info;
	if (fstat(fd, &info) != 0)
		return fail_system(path, "could not be looked at", errno);
	if (!S_ISREG(info.st_mode))
		return fail(HEC_ERR_IO, "%s: is %s, not a regular file", path,
		            kind_of(info.st_mode));
	if ((uintmax_t)info.st_size > limit)
		return fail(HEC_ERR_FORMAT, "%s: has %jd bytes; at most %zu are read", path,
		            (intmax_t)info.st_size, limit);
	size_t length = (size_t)info.st_size, with_end;
	char *bytes = size_add(length, 1, &with_end) ? malloc(with_end) : NULL;
	if (!bytes)
		return fail(HEC_ERR_MEMORY, "%s: no memory for its %zu bytes", path, length);
	hec_status status = read_exactly(fd, path, bytes, length);
	if (status != HEC_OK) {
		free(bytes);
		return status;
	}
	bytes[length] = '\0';
	*data = bytes;
	*size = length;
	return HEC_OK;
}

hec_status file_read(const char *path, size_t limit, char **data, size_t *size)
{
	/* O_NONBLOCK: a pipe that nobody writes to must not hang us before it is refused. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return fail_system(path, "could not be opened", errno);
	hec_status status = read_open(fd, path, limit, data, size);
	close(fd);
	return status;
}

/* ---- replacing ---- */

/* The folder of path with its last slash ("" for a plain name), then tail. */
static char *beside(const char *path, const char *tail)
{
	const char *slash = strrchr(path, '/');
	size_t folder = slash ? (size_t)(slash - path) + 1 : 0, length = strlen(tail);
	char *name = malloc(folder + length + 1);
	if (name) {
		memcpy(name, path, folder);
		memcpy(name + folder, tail, length + 1);
	}
	return name;
}

/* Opens a new file beside path. Its name does not contain path's: that may already be as long as
 * the file system allows. */
static hec_status create_beside(const char *path, char **name, int *fd)
{
	static _Atomic unsigned counter;
	int error = 0;
	for (int i = 0; i < TEMP_NAMES; i++) {
		char tail[64];
		snprintf(tail, sizeof tail, ".hecate-%ld-%u.tmp", (long)getpid(),
		         atomic_fetch_add(&counter, 1u));
		*name = beside(path, tail);
		if (!*name)
			return fail(HEC_ERR_MEMORY, "%s: no memory for a name beside it", path);
		*fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (*fd >= 0)
			return HEC_OK;
		error = errno;
		free(*name);
		*name = NULL;
		if (error != EEXIST && error != EINTR)
			break;
	}
	return fail_system(path, "no new file could be made beside it", error);
}

static hec_status write_all(int fd, const char *path, const char *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		size_t want = size - done < CHUNK ? size - done : CHUNK;
		ssize_t n = write(fd, data + done, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_system(path, "could not be written", errno);
		done += (size_t)n;
	}
	return HEC_OK;
}

static hec_status fill(int fd, const char *path, const void *data, size_t size)
{
	struct stat old;
	if (stat(path, &old) == 0 && S_ISREG(old.st_mode) && fchmod(fd, old.st_mode & 07777) != 0)
		return fail_system(path, "its permissions could not be kept", errno);
	HEC_TRY(write_all(fd, path, data, size));
	if (fsync(fd) != 0)
		return fail_system(path, "could not be flushed to disk", errno);
	return HEC_OK;
}

/* A rename is on the disk only when the folder that holds the name is. */
static hec_status flush_folder(const char *path)
{
	char *folder = beside(path, ".");
	if (!folder)
		return fail(HEC_ERR_MEMORY, "%s: no memory for the name of its folder", path);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	/* Some file systems cannot flush a folder (EINVAL): then the rename is as safe as it gets. */
	int error = fd < 0 || (fsync(fd) != 0 && errno != EINVAL) ? errno : 0;
	if (fd >= 0)
		close(fd);
	return error ? fail_system(path, "is replaced, but its folder could not be flushed", error)
	             : HEC_OK;
}

hec_status file_replace(const char *path, const void *data, size_t size)
{
	char *name = NULL;
	int fd = -1;
	HEC_TRY(create_beside(path, &name, &fd));
	hec_status status = fill(fd, path, data, size);
	if (close(fd) != 0 && status == HEC_OK)
		status = fail_system(path, "could not be written", errno);
	if (status == HEC_OK && rename(name, path) != 0)
		status = fail_system(path, "could not be replaced", errno);
	if (status != HEC_OK)
		unlink(name);
	free(name);
	return status == HEC_OK ? flush_folder(path) : status;
}
