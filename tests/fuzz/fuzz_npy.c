/* fuzz_npy.c — any bytes as a .npy file: either a reason, or an array that is no larger than the file
 * can be. */
#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <hecate/npy.h>

#include "memory_file.h"
#include "stop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hec_tensor x = HEC_TENSOR_NONE;
	if (hec_npy_read(memory_file(data, size), &x) == HEC_OK) {
		const int64_t n = hec_tensor_count(&x);
		if (n < 1 || (uint64_t)n > size / 2 || !hec_tensor_is_contiguous(&x))
			stop("an array that the file cannot hold");
		volatile float sum = 0;
		for (int64_t i = 0; i < n; i++)
			sum = sum + ((const float *)x.data)[i];
	} else if (x.rank || !*hec_error_message()) {
		stop("refused without a reason");
	}
	hec_npy_free(&x);
	return 0;
}
