/* cpu.c — CPU features by CPUID, checked against what the operating system saves (XGETBV). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/cpu.h"

#include <sched.h>
#include <unistd.h>

#include "base/limits.h"

/* The compiler's run-time library asks CPUID and XGETBV; a feature counts only where both agree. */
bool cpu_has_avx2_fma(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
	return false;
#endif
}

bool cpu_has_avx512(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	return cpu_has_avx2_fma() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
#else
	return false;
#endif
}

static int cores_allowed(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		return CPU_COUNT(&set);
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (int)n : 1;
}

int cpu_cores_within(int allowed, double processors)
{
	/* More threads than that would wait for one another while the group is not let run. */
	const int most = processors > 0 && processors < allowed ? (int)(processors + 0.5) : allowed;
	return most > 0 ? most : 1;
}

/* Asked once: a dozen files are read for it, and every context asks. Affinity is one call, and may change. */
int cpu_cores_available(void)
{
	static _Atomic double known = -1;
	double processors = known;
	if (processors < 0) {
		process_limits limits;
		process_limits_read("", &limits);
		known = processors = limits.processors;
	}
	return cpu_cores_within(cores_allowed(), processors);
}

/* Asked once: a virtual machine takes tens of microseconds to answer CPUID. */
int64_t cpu_l2_bytes(void)
{
	static _Atomic int64_t known;
	int64_t bytes = known;
	if (bytes == 0) {
#ifdef _SC_LEVEL2_CACHE_SIZE
		bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
		known = bytes = bytes > 0 ? bytes : 1 << 20;
	}
	return bytes;
}
