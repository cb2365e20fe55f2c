/* limits.h — how much of the machine this process may use, by the control groups that it is in: a container has the
 * machine's processors in /proc, and a share of them to run on. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <stdint.h>

typedef struct process_limits {
	double processors; /* time of so many of them; 0: no limit */
	int64_t memory; /* bytes that may still be taken, file caches counted as free; INT64_MAX: no limit */
} process_limits;

/* Of control groups of both versions, the least of the process's group and those that it lies in. root: "", or a
 * folder that stands for / (with proc/self/cgroup, proc/self/mountinfo and what is mounted). What cannot be read
 * limits nothing. */
void process_limits_read(const char *root, process_limits *out);

/* Bytes that the system would give without others suffering, within the limits of the process. */
int64_t process_memory_available(void);

#endif
