/* fuzz_state.c — any bytes as the state.json of a checkpoint: refused with a reason, or taken, written
 * and read again as the same. Its last brace becomes the sum of what stands before it: chance never finds one. */
#include "train/sums.h"
#include "train/state.h"
#include "parts.h"

static void write_with_sum(const char *name, const uint8_t *data, size_t size)
{
	size_t n = size;
	while (n > 0 && data[n - 1] != '}')
		n--;
	char *text = malloc(size + 64);
	if (!text)
		stop("no memory");
	memcpy(text, data, size);
	n = n > 0 ? n - 1 : size;
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	int tail = snprintf(text + n, 64, ",\n  \"sum\": \"%08x\"\n}\n", sum_of_bytes(text, n));
	parts_write(name, text, n + (size_t)tail);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"state.json", NULL};
	parts_make(names);
	write_with_sum(names[0], data, size);
	const char *path = parts_path(names[0]);
	run_state state, again;
	json_t *files = NULL;
	memset(&state, 0, sizeof state);
	memset(&again, 0, sizeof again);
	if (state_read(path, &state, &files) != HEC_OK) {
		expect_reason();
	} else {
		if (state_write(path, &state, files) != HEC_OK ||
		    state_read(path, &again, NULL) != HEC_OK)
			stop("what was taken is not read again");
		if (again.step != state.step || again.place.index != state.place.index ||
		    again.loss_sum != state.loss_sum || again.identity.seed != state.identity.seed)
			stop("read again it differs");
	}
	json_decref(files);
	return 0;
}
