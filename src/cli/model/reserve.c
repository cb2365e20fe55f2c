/* reserve.c — half as many, until there are enough. */
#include "cli/model/reserve.h"

#define MOST ((size_t)1 << 40)
#define LEAST ((size_t)1 << 28)

hec_status reserve_arena(hec_arena **out)
{
	hec_status status = HEC_ERR_MEMORY;
	for (size_t bytes = MOST; status != HEC_OK && bytes >= LEAST; bytes /= 2)
		status = hec_arena_create_reserved(bytes, out);
	return status;
}
