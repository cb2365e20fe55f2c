/* fuzz_state.c — any bytes as the state.json of a checkpoint: refused with a reason, or taken, written
 * and read again as the same. */
#include "train/state.h"
#include "parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"state.json", NULL};
	parts_make(names);
	parts_write(names[0], data, size);
	const char *path = parts_path(names[0]);
	run_state state, again;
	memset(&state, 0, sizeof state);
	memset(&again, 0, sizeof again);
	if (state_read(path, &state) != HEC_OK) {
		expect_reason();
	} else {
		if (state_write(path, &state) != HEC_OK || state_read(path, &again) != HEC_OK)
			stop("what was taken is not read again");
		if (again.step != state.step || again.place.index != state.place.index ||
		    again.loss_sum != state.loss_sum || again.identity.seed != state.identity.seed)
			stop("read again it differs");
	}
	return 0;
}
