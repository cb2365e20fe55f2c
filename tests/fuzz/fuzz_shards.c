/* fuzz_shards.c — any bytes as model.safetensors.index.json beside two shards: either a reason, or tensors
 * that lie in the shards. */
#include "format/safetensors.h"

#include "parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"model.safetensors.index.json", "one.safetensors",
	                                    "two.safetensors", NULL};
	static const float numbers[6] = {1, 2, 3, 4, 5, 6};
	static const safetensors_item items[] = {{"a", ST_F32, 2, {2, 3}, numbers},
	                                         {"b", ST_F32, 1, {1}, numbers},
	                                         {"c", ST_F32, 1, {6}, numbers}};
	if (!*parts_folder) {
		parts_make(names);
		if (safetensors_write(parts_path(names[1]), items, 2, NULL, NULL, NULL) != HEC_OK ||
		    safetensors_write(parts_path(names[2]), items + 1, 2, NULL, NULL, NULL) !=
		            HEC_OK)
			stop("no shards");
	}
	parts_write(names[0], data, size);
	safetensors *s = NULL;
	if (safetensors_open_folder(parts_folder, &s) != HEC_OK) {
		expect_reason();
		return 0;
	}
	for (size_t i = 0; i < safetensors_count(s); i++) {
		const safetensors_entry *e = safetensors_at(s, i);
		float got[6];
		if (safetensors_find(s, e->name) != e || e->count > 6 ||
		    safetensors_read(s, e, 0, e->count, got) != HEC_OK ||
		    memcmp(got, numbers, (size_t)e->count * sizeof *got) != 0)
			stop("a tensor is not that of its shard");
	}
	safetensors_close(s);
	return 0;
}
