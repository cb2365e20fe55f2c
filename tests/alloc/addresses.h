/* addresses.h — as if the system gave addresses only sparingly: mmap of the whole program goes through
 * here (--wrap). */
#ifndef ALLOC_ADDRESSES_H
#define ALLOC_ADDRESSES_H

#include <stddef.h>

/* From now on nobody gets more than `most` at once. 0: as many as there are. */
void addresses_limit(size_t most);

#endif
