/* read_weights.h — tensors of the files into the parameters of a model that has places for them. */
#ifndef MODEL_READ_WEIGHTS_H
#define MODEL_READ_WEIGHTS_H

#include "model/match.h"

/* All that were found. */
hec_status weights_read(hec_ctx *ctx, const matching *m, const hec_model *model);

/* Rows of a tensor that are read at once, where there is room for so many bytes. */
int64_t weight_rows_at_once(const weight *w, hec_dtype dtype, size_t bytes);
/* n rows in memory, as a tensor. */
hec_tensor weight_rows(const weight *w, void *data, hec_dtype dtype, int64_t n);

#endif
