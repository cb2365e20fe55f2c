/* table.c — a piece of a row is computed on the stack in double, then copied with conversion: the
 * only way into memory that may belong to another device. */
#include "nn/table.h"

#include <hecate/ops.h>

#include "base/size.h"
#include "base/status.h"

#define PIECE 256

hec_status table_fill(hec_ctx *ctx, hec_tensor *table, table_value *value, const void *user)
{
	double piece[PIECE];
	for (int64_t row = 0; row < table->shape[0]; row++) {
		for (int64_t begin = 0; begin < table->shape[1]; begin += PIECE) {
			int64_t n = min_i64(PIECE, table->shape[1] - begin);
			for (int64_t i = 0; i < n; i++)
				piece[i] = value(user, row, begin + i);
			hec_tensor from = hec_tensor_2d(piece, HEC_F64, 1, n), to;
			HEC_TRY(hec_tensor_slice(table, 0, row, 1, &to));
			HEC_TRY(hec_tensor_slice(&to, 1, begin, n, &to));
			HEC_TRY(hec_tensor_copy(ctx, &from, &to));
		}
	}
	return HEC_OK;
}
