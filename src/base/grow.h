/* grow.h — arrays that grow by half and are kept. */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include "base/status.h"

/* Makes room for need elements of this many bytes at *array; what is there stays. */
hec_status grow_array(void **array, size_t *capacity, size_t need, size_t element);

/* *array of type T *: GROW(&list, &capacity, n + 1) */
#define GROW(array, capacity, need)                                                                \
	(*(capacity) >= (need)                                                                     \
	         ? HEC_OK                                                                          \
	         : grow_array((void **)(array), (capacity), (need), sizeof **(array)))

#endif
