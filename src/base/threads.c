/* threads.c — how many threads: those asked for, $HECATE_THREADS, or the cores that the process may use. */
#include "base/threads.h"

#include <errno.h>
#include <stdlib.h>

#include <hecate/context.h>

#include "base/cpu.h"

hec_status threads_choose(int asked, int *threads)
{
	*threads = asked;
	const char *text = getenv("HECATE_THREADS");
	if (asked == 0 && text && *text) {
		char *end;
		errno = 0;
		long n = strtol(text, &end, 10);
		if (errno || *end || n < 1 || n > HEC_MAX_THREADS)
			return fail(HEC_ERR_ARGUMENT,
			            "HECATE_THREADS is \"%s\", not a number of 1 … %d", text,
			            HEC_MAX_THREADS);
		*threads = (int)n;
	} else if (asked == 0) {
		int cores = cpu_cores_available();
		*threads = cores < HEC_MAX_THREADS ? cores : HEC_MAX_THREADS;
	} else if (asked < 0 || asked > HEC_MAX_THREADS) {
		return fail(HEC_ERR_ARGUMENT, "%d threads asked for: not 1 … %d", asked,
		            HEC_MAX_THREADS);
	}
	return HEC_OK;
}
