/* cpu.h — the levels of the CPU backend, from the plainest up.
 *
 * Each level's fill function overwrites the slots it has in a table that the levels below it have
 * filled. ref/ is the definition in plain C (compiled twice: f32 and f64); x86/ holds micro-kernels;
 * the loops around them are in this folder, once. */
#ifndef BACKEND_CPU_CPU_H
#define BACKEND_CPU_CPU_H

#include "backend/backend.h"

typedef struct cpu_level {
	const char *name;
	bool (*available)(void);
	void (*fill)(backend *b);
} cpu_level;

extern const cpu_level cpu_levels[]; /* ends with a NULL name */

void ref_fill_f32(backend_ops *ops);
void ref_fill_f64(backend_ops *ops);
void ref_fill_casts(backend *b); /* fill and cast between all dtypes */
void avx512_fill(backend *b);

#endif
