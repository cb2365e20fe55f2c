/* view.h — the same memory in the shape that an operation wants. */
#ifndef TENSOR_VIEW_H
#define TENSOR_VIEW_H

#include <hecate/tensor.h>

/* t seen as [rank, shape] by repeating axes of size 1 and adding axes in front (zero strides). */
hec_status view_broadcast(const char *name, const hec_tensor *t, int rank, const int64_t *shape,
                          hec_tensor *out);

/* All axes but the last joined: [N, C]. A tensor of rank 1 becomes [1, C]. */
hec_status view_rows(const char *name, const hec_tensor *t, hec_tensor *out);

/* Columns begin … begin + width of [N, C], seen as [B, T, heads, width / heads]. */
hec_status view_heads(const hec_tensor *rows, int64_t begin, int64_t width, int64_t B, int64_t T,
                      int64_t heads, hec_tensor *out);

#endif
