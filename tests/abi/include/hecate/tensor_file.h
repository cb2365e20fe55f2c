/* tensor_file.h — tensors with names, in a file of the safetensors format that any tool reads. */
#ifndef HECATE_TENSOR_FILE_H
#define HECATE_TENSOR_FILE_H

#include <hecate/tensor.h>

HEC_BEGIN

typedef struct hec_named_tensor { /* value */
	const char *name;         /* UTF-8, no two the same */
	hec_tensor tensor;        /* contiguous */
} hec_named_tensor;

/* Writes them all, replacing path whole. */
HEC_API HEC_MUST_USE hec_status hec_tensor_file_write(const char *path,
                                                      const hec_named_tensor *list, size_t count);

HEC_END

#endif
