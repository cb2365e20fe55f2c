/* options.c — reading structs of another version. */
#include "base/options.h"

#include <string.h>

hec_status options_take(const char *name, void *to, size_t size, const void *from)
{
	if (!from)
		return HEC_OK;
	size_t given;
	memcpy(&given, from, sizeof given);
	/* No struct is smaller than its size field and one more, or larger than a page. */
	if (given <= sizeof given || given > 4096)
		return fail(HEC_ERR_ARGUMENT,
		            "%s.size is %zu; set it to sizeof(%s), which is %zu here", name, given,
		            name, size);
	for (size_t i = size; i < given; i++) {
		if (((const char *)from)[i] != 0)
			return fail(HEC_ERR_UNSUPPORTED,
			            "%s has size %zu and sets a field that this library (size %zu) "
			            "does not know",
			            name, given, size);
	}
	size_t known = given < size ? given : size;
	memcpy((char *)to + sizeof given, (const char *)from + sizeof given, known - sizeof given);
	return HEC_OK;
}

void options_give(void *to, size_t room, const void *from, size_t size)
{
	if (!to || room < sizeof room)
		return;
	memset(to, 0, room);
	memcpy(to, from, room < size ? room : size);
	memcpy(to, &room, sizeof room);
}
