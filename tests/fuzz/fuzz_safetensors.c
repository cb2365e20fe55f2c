/* fuzz_safetensors.c — any bytes as a safetensors file: either a reason, or tensors that lie in it
 * without overlaps and can all be read. */
#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/safetensors.h"
#include "memory_file.h"
#include "stop.h"

static void read_all(const safetensors *s, size_t size)
{
	uint64_t total = 0;
	for (size_t i = 0; i < safetensors_count(s); i++) {
		const safetensors_entry *e = safetensors_at(s, i);
		if (safetensors_find(s, e->name) != e)
			stop("a tensor is not found by its name");
		char text[SAFETENSORS_SHAPE_TEXT];
		if (strlen(safetensors_shape_text(e, text)) < 2)
			stop("a shape has no text");
		total += e->bytes;
		if (e->begin > size || e->bytes > size - e->begin)
			stop("a tensor lies outside the file");
		if (e->dtype == ST_F4 || e->dtype == ST_F6_E2M3 || e->dtype == ST_F6_E3M2)
			continue;
		void *bytes = malloc((size_t)e->bytes + 1);
		if (!bytes || safetensors_read(s, e, 0, e->count, bytes) != HEC_OK)
			stop("a tensor could not be read");
		free(bytes);
	}
	if (total > size)
		stop("tensors overlap");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	safetensors *s = NULL;
	if (safetensors_open(memory_file(data, size), &s) == HEC_OK)
		read_all(s, size);
	else if (s || !*hec_error_message())
		stop("refused without a reason");
	safetensors_close(s);
	return 0;
}
