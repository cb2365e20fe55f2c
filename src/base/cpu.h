/* cpu.h — what this CPU and operating system can run. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>
#include <stdint.h>

bool cpu_has_avx2_fma(void);
bool cpu_has_avx512(void); /* F, BW, DQ, VL, CD, and the system saves the registers */
int cpu_cores_available(void);
int64_t cpu_l2_bytes(void); /* the second cache of a core; 1 MiB where nothing says */

#endif
