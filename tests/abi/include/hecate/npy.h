/* npy.h — one array in a file of NumPy's .npy format. */
#ifndef HECATE_NPY_H
#define HECATE_NPY_H

#include <hecate/tensor.h>

HEC_BEGIN

/* Reads a whole array: versions 1 to 3 of the format, 1 to HEC_MAX_RANK axes, C order, numbers of type
 * f2, f4 or f8 in little endian. Whatever they were, they are f32 in *out, which is contiguous and has
 * memory of its own. */
HEC_API HEC_MUST_USE hec_status hec_npy_read(const char *path, hec_tensor *out);
/* Writes a contiguous f32 tensor, replacing path whole. */
HEC_API HEC_MUST_USE hec_status hec_npy_write(const char *path, const hec_tensor *array);
HEC_API void hec_npy_free(hec_tensor *array); /* takes an absent one, and leaves one */

HEC_END

#endif
