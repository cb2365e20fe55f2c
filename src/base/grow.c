/* grow.c — see grow.h. */
#include "base/grow.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/size.h"

hec_status grow_array(void **array, size_t *capacity, size_t need, size_t element)
{
	if (*capacity >= need)
		return HEC_OK;
	size_t more = *capacity + *capacity / 2 + 16, bytes;
	if (more < need)
		more = need;
	void *p = size_mul(more, element, &bytes) ? mem_resize(*array, bytes) : NULL;
	if (!p)
		return fail(HEC_ERR_MEMORY, "no memory for %zu elements of %zu bytes", more,
		            element);
	*array = p;
	*capacity = more;
	return HEC_OK;
}
