/* addresses.c — the wrapped call. */
#include "addresses.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

static _Atomic size_t limit;

void addresses_limit(size_t most)
{
	atomic_store(&limit, most);
}

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t from);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t from);

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t from)
{
	size_t most = atomic_load(&limit);
	if (most > 0 && bytes > most) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(at, bytes, protection, flags, file, from);
}
