/* clock.h — time in seconds. A bound on work goes by the processor's: a busy machine does not count. */
#ifndef TESTS_SUPPORT_CLOCK_H
#define TESTS_SUPPORT_CLOCK_H

#include <time.h>

static inline double clock_seconds(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double seconds_now(void)
{
	return clock_seconds(CLOCK_MONOTONIC);
}

/* Of this thread. */
static inline double seconds_of_processor(void)
{
	return clock_seconds(CLOCK_THREAD_CPUTIME_ID);
}

static inline void sleep_for(double seconds)
{
	struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
	nanosleep(&t, NULL);
}

#endif
