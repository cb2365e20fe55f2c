/* lock.c — one run in a folder at a time: the system's lock on the folder itself, which it gives back
 * however the holder ends. And a run that failed before its first step is taken away again. */
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
#include "train/folder.h"

struct hec_train_lock {
	int fd;
	bool made;  /* the folder was not there before */
	bool fresh; /* nothing of a run was in it */
};

static hec_status lock_folder(hec_train_lock *lock, const char *dir)
{
	lock->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock->fd < 0)
		return fail(HEC_ERR_IO, "%s: could not be opened: %s", dir, strerror(errno));
	/* Where folders cannot be locked (some network file systems), nothing is lost. */
	if (flock(lock->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return fail(HEC_ERR_IO, "%s: another run is at work in it", dir);
	return hec_train_lock_holds(lock, dir); /* it may have moved before we had it */
}

/* What a run makes before its first step. */
static bool is_ours(const char *name)
{
	static const char *const names[] = {"cache",
	                                    "start",
	                                    ".start",
	                                    "tokenizer.json",
	                                    "vocab.json",
	                                    "vocab.txt",
	                                    "merges.txt",
	                                    "tokenizer_config.json",
	                                    "special_tokens_map.json",
	                                    "added_tokens.json",
	                                    "source.spm",
	                                    "target.spm",
	                                    "spiece.model",
	                                    "sentencepiece.bpe.model",
	                                    "sentencepiece.model",
	                                    "spm.model",
	                                    "tokenizer.model",
	                                    "checkpoint",
	                                    "log.jsonl",
	                                    "curve.svg",
	                                    "best"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return is_of_writer(name);
}

static hec_status look_whether_fresh(hec_train_lock *lock, const char *dir)
{
	char **names;
	size_t count;
	HEC_TRY(folder_names(dir, "", &names, &count));
	lock->fresh = true;
	for (size_t i = 0; i < count; i++)
		if (is_ours(names[i]) && !is_of_writer(names[i]))
			lock->fresh = false;
	names_free(names, count);
	return HEC_OK;
}

hec_status hec_train_lock_create(const char *dir, hec_train_lock **out)
{
	HEC_TRY(CHECK_GIVEN("train", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("train", dir));
	hec_train_lock *lock = mem_zeros(1, sizeof *lock);
	if (!lock)
		return fail(HEC_ERR_MEMORY, "%s: no memory to lock it", dir);
	lock->fd = -1;
	hec_status status = folder_make_deep(dir, &lock->made);
	if (status == HEC_OK)
		status = lock_folder(lock, dir);
	if (status == HEC_OK)
		status = look_whether_fresh(lock, dir);
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

hec_status hec_train_undo(const hec_train_lock *lock, const char *dir)
{
	char **names;
	size_t count;
	HEC_TRY(hec_train_lock_holds(lock, dir));
	if (!lock->fresh)
		return HEC_OK;
	HEC_TRY(folder_names(dir, "", &names, &count));
	hec_status status = HEC_OK;
	for (size_t i = 0; status == HEC_OK && i < count; i++)
		if (is_ours(names[i]))
			status = folder_remove_inside(dir, names[i]);
	names_free(names, count);
	/* What somebody else put there since stays, and the folder with it. */
	if (status == HEC_OK && lock->made && rmdir(dir) != 0 && errno != ENOTEMPTY)
		status = fail(HEC_ERR_IO, "%s: could not be removed: %s", dir, strerror(errno));
	return status;
}
