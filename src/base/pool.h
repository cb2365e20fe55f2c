/* pool.h — a few threads that share loops.
 *
 * Tasks are handed out one by one, in order; which thread runs one is not defined, so a task's
 * result may depend on its number alone. The calling thread works too, as worker 0. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/status.h"

typedef struct pool pool;
typedef void pool_task(void *arg, int64_t task, int worker);

/* threads ≥ 1, the caller counted in. bind: each thread to a core of its own. */
hec_status pool_create(int threads, bool bind, pool **out);
void pool_destroy(pool *p); /* takes NULL */
int pool_threads(const pool *p);

/* Runs task 0 … count − 1 and returns when all are done. One caller at a time. */
void pool_run(pool *p, int64_t count, pool_task *task, void *arg);

#endif
