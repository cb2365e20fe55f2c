/* bounded.h — matrices of doubles, each number with a bound of what rounding may have done to it. Adding up the
 * bounds beside the numbers gives a bound for the end of a long computation, whatever its input was. */
#ifndef CLI_EXPLAIN_BOUNDED_H
#define CLI_EXPLAIN_BOUNDED_H

#include <hecate/arena.h>

#define BOUNDED_TENSORS 64 /* at most, of a chain: two a matrix */

typedef struct bounded {
	hec_tensor value, error; /* f64, [rows, columns], any strides */
} bounded;

/* One operation is off by unit · |result| + least. */
typedef struct rounding {
	double unit, least;
} rounding;

static inline double *double_at(const hec_tensor *t, int64_t row, int64_t column)
{
	return (double *)t->data + row * t->stride[0] + column * t->stride[t->rank - 1];
}

hec_status bounded_make(hec_arena *arena, int64_t rows, int64_t columns, bounded *out); /* zeros */
/* Numbers that are exact. A vector counts as one row. */
bounded bounded_exact(const hec_tensor *value);
bounded bounded_ones(int64_t columns); /* one row of them */

/* Views. */
bounded bounded_transpose(const bounded *m);
bounded bounded_rows(const bounded *m, int64_t first, int64_t count);
bounded bounded_columns(const bounded *m, int64_t first, int64_t count);

/* c += a·b. */
void bounded_multiply(const bounded *a, const bounded *b, rounding r, bounded *c);
/* m *= factor. */
void bounded_scale(const bounded *m, double factor, rounding r);

#endif
