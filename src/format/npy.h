/* npy.h — the header of a file of NumPy's .npy format:
 *
 *   "\x93NUMPY" version (2 bytes) length (2 bytes, from version 2 on 4) header data
 *
 * The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } */
#ifndef FORMAT_NPY_H
#define FORMAT_NPY_H

#include <hecate/tensor.h>

#include "base/status.h"

#define NPY_HEADER_MOST                                                                            \
	(64 << 10) /* bytes of a header; NumPy itself reads 10,000 unless told to trust */

typedef struct npy_header {
	hec_dtype dtype; /* F16, F32, F64 */
	int rank;
	int64_t shape[HEC_MAX_RANK];
	int64_t count; /* numbers, 1 or more */
} npy_header;

/* name: of the file, for messages. */
hec_status npy_parse(const char *name, const char *text, size_t length, npy_header *out);

#endif
