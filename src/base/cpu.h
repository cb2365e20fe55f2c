/* cpu.h — what this CPU and operating system can run. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>
#include <stdint.h>

bool cpu_has_avx2_fma(void);
bool cpu_has_avx512(void); /* F, BW, DQ, VL, CD, and the system saves the registers */
/* By affinity and by the control groups (limits.h). */
int cpu_cores_available(void);
/* Of the cores that are allowed as many as a group may have the time of (0: no limit): to the nearest, at least 1. */
int cpu_cores_within(int allowed, double processors);
int64_t cpu_l2_bytes(void); /* the second cache of a core; 1 MiB where nothing says */

#endif
