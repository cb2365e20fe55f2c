/* cpu.c — CPU features by CPUID, checked against what the operating system saves (XGETBV). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/cpu.h"

#include <sched.h>
#include <unistd.h>

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

int cpu_cores_available(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		return CPU_COUNT(&set);
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (int)n : 1;
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
