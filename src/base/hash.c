/* hash.c — the seed: the clock and where the system put us, which an author of files cannot know. */
#include "base/hash.h"

#include <pthread.h>
#include <time.h>

static uint64_t seed;

static void choose_seed(void)
{
	struct timespec now = {0, 0};
	clock_gettime(CLOCK_REALTIME, &now);
	seed = hash_mix((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ 0x2545f4914f6cdd1du,
	                (uint64_t)(uintptr_t)&now ^ (uint64_t)(uintptr_t)&seed << 20) |
	       1u;
}

uint64_t hash_seed(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, choose_seed);
	return seed;
}
