/* lock.c — one run in a folder at a time: the system's lock on the folder itself, which it gives back
 * however the holder ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hecate/train.h>

#include "base/memory.h"
#include "base/status.h"
#include "tensor/check.h"

struct hec_train_lock {
	int fd;
};

hec_status hec_train_lock_create(const char *dir, hec_train_lock **out)
{
	HEC_TRY(CHECK_GIVEN("train", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("train", dir));
	hec_train_lock *lock = mem_alloc(sizeof *lock);
	if (!lock)
		return fail(HEC_ERR_MEMORY, "%s: no memory to lock it", dir);
	lock->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = lock->fd < 0 ? errno : 0;
	/* Where folders cannot be locked (some network file systems), nothing is lost. */
	bool busy = !error && flock(lock->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	hec_status status = HEC_OK;
	if (error)
		status = fail(HEC_ERR_IO, "%s: could not be opened: %s", dir, strerror(error));
	else if (busy)
		status = fail(HEC_ERR_IO, "%s: another run is at work in it", dir);
	else
		status = hec_train_lock_holds(lock, dir); /* it may have moved before we had it */
	if (status == HEC_OK)
		*out = lock;
	else
		hec_train_lock_destroy(lock);
	return status;
}

void hec_train_lock_destroy(hec_train_lock *lock)
{
	if (!lock)
		return;
	if (lock->fd >= 0)
		close(lock->fd);
	mem_free(lock);
}

hec_status hec_train_lock_holds(const hec_train_lock *lock, const char *dir)
{
	struct stat held, asked;
	HEC_TRY(CHECK_GIVEN("train", lock));
	HEC_TRY(CHECK_GIVEN("train", dir));
	if (fstat(lock->fd, &held) == 0 && stat(dir, &asked) == 0 && held.st_dev == asked.st_dev &&
	    held.st_ino == asked.st_ino)
		return HEC_OK;
	return fail(HEC_ERR_IO,
	            "%s: is not the folder that was locked: it was renamed, replaced or removed "
	            "meanwhile, and nothing more is written",
	            dir);
}
