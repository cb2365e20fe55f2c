/* fuzz_npy.c — any bytes as a .npy file: either a reason, or an array that is no larger than the file
 * can be. */
#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hecate/npy.h>

#include "stop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	if (fd < 0) {
		fd = memfd_create("fuzz", 0);
		if (fd < 0)
			abort();
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	hec_tensor x = HEC_TENSOR_NONE;
	if (hec_npy_read(path, &x) == HEC_OK) {
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
