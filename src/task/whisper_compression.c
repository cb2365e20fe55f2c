/* whisper_compression.c — a text that repeats itself is told by how much zlib makes of it. */
#include <zlib.h>

#include "base/memory.h"
#include "base/status.h"
#include "task/whisper.h"

hec_status whisper_compression(const char *text, size_t bytes, double *ratio)
{
	uLongf packed = compressBound((uLong)bytes);
	unsigned char *to = mem_alloc(packed);
	if (!to)
		return fail(HEC_ERR_MEMORY, "transcribe: no memory to pack %zu bytes", bytes);
	const int error = compress2(to, &packed, (const unsigned char *)text, (uLong)bytes,
	                            Z_DEFAULT_COMPRESSION);
	mem_free(to);
	if (error != Z_OK)
		return fail(HEC_ERR_MEMORY, "transcribe: %zu bytes could not be packed (zlib: %d)",
		            bytes, error);
	*ratio = (double)bytes / (double)packed;
	return HEC_OK;
}
