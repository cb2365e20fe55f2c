/* fuzz_state.c — any bytes as the state.json of a checkpoint: refused with a reason, or taken, written
 * and read again as the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/state.h"
#include "stop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = "/tmp/hecate-fuzz-XXXXXX";
	int fd = mkstemp(path);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		stop("no file could be made");
	close(fd);
	run_state state, again;
	memset(&state, 0, sizeof state);
	memset(&again, 0, sizeof again);
	if (state_read(path, &state) != HEC_OK) {
		const char *message = hec_error_message();
		if (!*message)
			stop("refused without a reason");
		for (const char *c = message; *c; c++)
			if ((unsigned char)*c < 0x20 || *c == 0x7f)
				stop("a message could steer a terminal");
	} else {
		if (state_write(path, &state) != HEC_OK || state_read(path, &again) != HEC_OK)
			stop("what was taken is not read again");
		if (again.step != state.step || again.place.index != state.place.index ||
		    again.loss_sum != state.loss_sum || again.identity.seed != state.identity.seed)
			stop("read again it differs");
	}
	unlink(path);
	return 0;
}
