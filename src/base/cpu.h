/* cpu.h — what this CPU and operating system can run. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>

bool cpu_has_avx2_fma(void);
bool cpu_has_avx512(void); /* F, BW, DQ, VL, CD, and the system saves the registers */
int cpu_cores_available(void);

#endif
