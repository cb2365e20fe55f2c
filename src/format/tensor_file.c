/* tensor_file.c — the public way to write a safetensors file. */
#include <hecate/tensor_file.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format/safetensors.h"
#include "tensor/check.h"

static hec_status fill_item(const char *path, const hec_named_tensor *from, safetensors_item *item)
{
	HEC_TRY(check_given(path, "a tensor's name", from->name));
	HEC_TRY(check_any(from->name, &from->tensor));
	if (!hec_tensor_is_contiguous(&from->tensor))
		return fail(HEC_ERR_ARGUMENT, "%s: tensor '%s' must be contiguous", path,
		            from->name);
	item->name = from->name;
	item->dtype = safetensors_dtype_of(from->tensor.dtype);
	item->rank = from->tensor.rank;
	memcpy(item->shape, from->tensor.shape, (size_t)item->rank * sizeof *item->shape);
	item->data = from->tensor.data;
	return HEC_OK;
}

hec_status hec_tensor_file_write(const char *path, const hec_named_tensor *list, size_t count)
{
	HEC_TRY(CHECK_GIVEN("tensor file", path));
	HEC_TRY(CHECK_GIVEN("tensor file", list));
	safetensors_item *items = mem_zeros(count + 1, sizeof *items);
	hec_status status =
		items ? HEC_OK : fail(HEC_ERR_MEMORY, "%s: no memory to write it", path);
	for (size_t i = 0; status == HEC_OK && i < count; i++)
		status = fill_item(path, &list[i], &items[i]);
	if (status == HEC_OK)
		status = safetensors_write(path, items, count, NULL, NULL, NULL);
	mem_free(items);
	return status;
}
