/* table.h — tables of numbers that are computed once, in double, and stored in any type. */
#ifndef NN_TABLE_H
#define NN_TABLE_H

#include <hecate/context.h>
#include <hecate/tensor.h>

/* value(user, row, column) for every element of table [rows, columns]. */
typedef double table_value(const void *user, int64_t row, int64_t column);
hec_status table_fill(hec_ctx *ctx, hec_tensor *table, table_value *value, const void *user);

#endif
