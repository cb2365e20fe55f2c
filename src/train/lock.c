/* lock.c — one run in a folder at a time: the system's lock on the folder itself, which it gives back
 * however the holder ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/check.h"
#include "train/lock.h"

struct hec_train_lock {
	int fd;
};

hec_status hec_train_lock_take(const char *dir, hec_train_lock **out)
{
	HEC_TRY(CHECK_GIVEN("train", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("train", dir));
	hec_train_lock *lock = malloc(sizeof *lock);
	if (!lock)
		return fail(HEC_ERR_MEMORY, "%s: no memory to lock it", dir);
	lock->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = lock->fd < 0 ? errno : 0;
	/* Where folders cannot be locked (some network file systems), nothing is lost. */
	bool busy = !error && flock(lock->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	if (!error && !busy) {
		*out = lock;
		return HEC_OK;
	}
	hec_train_lock_free(lock);
	if (busy)
		return fail(HEC_ERR_IO, "%s: another run is at work in it", dir);
	return fail(HEC_ERR_IO, "%s: could not be opened: %s", dir, strerror(error));
}

void hec_train_lock_free(hec_train_lock *lock)
{
	if (!lock)
		return;
	if (lock->fd >= 0)
		close(lock->fd);
	free(lock);
}

hec_status lock_check(const hec_train_lock *lock, const char *dir)
{
	struct stat held, asked;
	if (fstat(lock->fd, &held) == 0 && stat(dir, &asked) == 0 && held.st_dev == asked.st_dev &&
	    held.st_ino == asked.st_ino)
		return HEC_OK;
	return fail(HEC_ERR_ARGUMENT, "train: the lock that is given is not of %s", dir);
}
