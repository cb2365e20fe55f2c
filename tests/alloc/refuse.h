/* refuse.h — stands between the library and the system: counts allocations, refuses chosen ones.
 * The linker sends malloc, calloc, realloc, aligned_alloc, posix_memalign, free and pthread_create
 * of the whole program through here (--wrap). */
#ifndef ALLOC_REFUSE_H
#define ALLOC_REFUSE_H

#include <stdbool.h>

/* From now on the n-th request (1 is the next) is refused, and with it every later one if forever.
 * 0: none. */
void refuse_request(long n, bool forever);
bool refuse_fired(void);    /* whether one was refused since then */
long refuse_requests(void); /* requests since then, the refused ones counted in */
long refuse_live(void);     /* blocks that are allocated and not freed, since the program began */

#endif
