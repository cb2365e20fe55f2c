/* file.c — files are untrusted and may change under our hands.
 *
 * Reading is by pread into memory of ours, never by mapping: a file that shrinks meanwhile is then
 * an error and not a signal. Replacing goes through a new name in the same folder, because only a
 * rename within one file system is atomic, and only after fsync is what it names on the disk. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
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

static hec_status read_at(int fd, const char *path, uint64_t offset, char *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		size_t want = size - done < CHUNK ? size - done : CHUNK;
		ssize_t n = pread(fd, to + done, want, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_system(path, "could not be read", errno);
		if (n == 0)
			return fail(HEC_ERR_IO,
			            "%s: shrank from %" PRIu64 " to %" PRIu64
			            " bytes while it was being read",
			            path, offset + size, offset + done);
		done += (size_t)n;
	}
	return HEC_OK;
}

static hec_status expect_end(int fd, const char *path, size_t size)
{
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

/* Opens a regular file; the caller closes *fd. */
static hec_status open_regular(const char *path, int *fd, uint64_t *size)
{
	/* O_NONBLOCK: a pipe that nobody writes to must not hang us before it is refused. */
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return fail_system(path, "could not be opened", errno);
	struct stat info;
	hec_status status = HEC_OK;
	if (fstat(*fd, &info) != 0)
		status = fail_system(path, "could not be looked at", errno);
	else if (!S_ISREG(info.st_mode))
		status = fail(HEC_ERR_IO, "%s: is %s, not a regular file", path,
		              kind_of(info.st_mode));
	if (status != HEC_OK) {
		close(*fd);
		return status;
	}
	*size = (uint64_t)info.st_size;
	return HEC_OK;
}

static hec_status read_whole(int fd, const char *path, uint64_t length, size_t limit, char **data,
                             size_t *size)
{
	if (length > limit)
		return fail(HEC_ERR_FORMAT, "%s: has %" PRIu64 " bytes; at most %zu are read", path,
		            length, limit);
	size_t with_end;
	char *bytes = size_add((size_t)length, 1, &with_end) ? mem_alloc(with_end) : NULL;
	if (!bytes)
		return fail(HEC_ERR_MEMORY, "%s: no memory for its %" PRIu64 " bytes", path,
		            length);
	hec_status status = read_at(fd, path, 0, bytes, (size_t)length);
	if (status == HEC_OK)
		status = expect_end(fd, path, (size_t)length);
	if (status != HEC_OK) {
		mem_free(bytes);
		return status;
	}
	bytes[length] = '\0';
	*data = bytes;
	*size = (size_t)length;
	return HEC_OK;
}

hec_status file_read(const char *path, size_t limit, char **data, size_t *size)
{
	int fd;
	uint64_t length;
	HEC_TRY(open_regular(path, &fd, &length));
	hec_status status = read_whole(fd, path, length, limit, data, size);
	close(fd);
	return status;
}

struct file_in {
	int fd;
	uint64_t size;
	char path[]; /* for messages */
};

hec_status file_in_open(const char *path, file_in **out)
{
	size_t length = strlen(path);
	file_in *f = mem_alloc(sizeof *f + length + 1);
	if (!f)
		return fail(HEC_ERR_MEMORY, "%s: no memory to open it", path);
	memcpy(f->path, path, length + 1);
	hec_status status = open_regular(path, &f->fd, &f->size);
	if (status != HEC_OK) {
		mem_free(f);
		return status;
	}
	*out = f;
	return HEC_OK;
}

uint64_t file_in_size(const file_in *f)
{
	return f->size;
}

const char *file_in_path(const file_in *f)
{
	return f->path;
}

hec_status file_in_read(const file_in *f, uint64_t offset, void *to, size_t size)
{
	if (offset > f->size || size > f->size - offset)
		return fail(HEC_ERR_INTERNAL,
		            "%s: %zu bytes from byte %" PRIu64 " on were asked of its %" PRIu64,
		            f->path, size, offset, f->size);
	return read_at(f->fd, f->path, offset, to, size);
}

void file_in_close(file_in *f)
{
	if (f)
		close(f->fd);
	mem_free(f);
}

/* ---- replacing ---- */

/* The folder of path with its last slash ("" for a plain name), then tail. */
static char *beside(const char *path, const char *tail)
{
	const char *slash = strrchr(path, '/');
	size_t folder = slash ? (size_t)(slash - path) + 1 : 0, length = strlen(tail);
	char *name = mem_alloc(folder + length + 1);
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
		snprintf(tail, sizeof tail, TEMP_PREFIX "%ld-%u" TEMP_SUFFIX, (long)getpid(),
		         atomic_fetch_add(&counter, 1u));
		*name = beside(path, tail);
		if (!*name)
			return fail(HEC_ERR_MEMORY, "%s: no memory for a name beside it", path);
		*fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (*fd >= 0)
			return HEC_OK;
		error = errno;
		mem_free(*name);
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

hec_status folder_flush(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Some file systems cannot flush a folder (EINVAL), and some folders may be written and not read: then it
	 * is as safe as it gets. */
	int error = fd < 0 || fsync(fd) != 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	return error && error != EINVAL && error != EACCES
	               ? fail_system(path, "could not be flushed to disk", error)
	               : HEC_OK;
}

/* A rename is on the disk only when the folder that holds the name is. */
static hec_status flush_folder(const char *path)
{
	char *folder = beside(path, ".");
	if (!folder)
		return fail(HEC_ERR_MEMORY, "%s: no memory for the name of its folder", path);
	hec_status status = folder_flush(folder);
	mem_free(folder);
	return status;
}

struct file_out {
	int fd;
	char *temp; /* the name beside path */
	char path[];
};

static void give_back(file_out *f)
{
	mem_free(f->temp);
	mem_free(f);
}

/* What is there may be replaced if it is a file. A rename would put a file in the place of a device
 * (/dev/full), or of a link that every program on the machine relies on (/dev/stdout). */
static hec_status check_replaceable(const char *path)
{
	static const char open_files[] = "/proc/self/fd";
	char target[sizeof open_files - 1];
	struct stat info;
	if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
		return fail(HEC_ERR_IO, "%s: is %s, not a regular file: it is not replaced", path,
		            kind_of(info.st_mode));
	if (readlink(path, target, sizeof target) == (ssize_t)sizeof target &&
	    memcmp(target, open_files, sizeof target) == 0)
		return fail(HEC_ERR_IO, "%s: is a link to an open file: it is not replaced", path);
	return HEC_OK;
}

hec_status file_out_open(const char *path, file_out **out)
{
	HEC_TRY(check_replaceable(path));
	size_t length = strlen(path);
	file_out *f = mem_zeros(1, sizeof *f + length + 1);
	if (!f)
		return fail(HEC_ERR_MEMORY, "%s: no memory to write it", path);
	memcpy(f->path, path, length + 1);
	hec_status status = create_beside(path, &f->temp, &f->fd);
	if (status != HEC_OK) {
		give_back(f);
		return status;
	}
	struct stat old;
	if (stat(path, &old) == 0 && fchmod(f->fd, old.st_mode & 07777) != 0) {
		status = fail_system(path, "its permissions could not be kept", errno);
		file_out_abort(f);
		return status;
	}
	*out = f;
	return HEC_OK;
}

hec_status file_out_write(file_out *f, const void *data, size_t size)
{
	return write_all(f->fd, f->path, data, size);
}

void file_out_abort(file_out *f)
{
	if (!f)
		return;
	close(f->fd);
	unlink(f->temp);
	give_back(f);
}

hec_status file_out_commit(file_out *f)
{
	hec_status status = HEC_OK;
	if (fsync(f->fd) != 0)
		status = fail_system(f->path, "could not be flushed to disk", errno);
	if (close(f->fd) != 0 && status == HEC_OK)
		status = fail_system(f->path, "could not be written", errno);
	if (status == HEC_OK && rename(f->temp, f->path) != 0)
		status = fail_system(f->path, "could not be replaced", errno);
	if (status == HEC_OK)
		status = flush_folder(f->path);
	else
		unlink(f->temp);
	give_back(f);
	return status;
}

hec_status file_replace(const char *path, const void *data, size_t size)
{
	file_out *f;
	HEC_TRY(file_out_open(path, &f));
	hec_status status = file_out_write(f, data, size);
	if (status != HEC_OK) {
		file_out_abort(f);
		return status;
	}
	return file_out_commit(f);
}
