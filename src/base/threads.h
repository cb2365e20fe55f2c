/* threads.h — how many threads to work with. */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include "base/status.h"

/* 1 … HEC_MAX_THREADS: as many as are asked for; 0: $HECATE_THREADS, else the cores available. */
hec_status threads_choose(int asked, int *threads);

#endif
