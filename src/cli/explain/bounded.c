/* bounded.c — running error analysis: |Σ of n products as computed − Σ| ≤ n · unit · Σ of magnitudes to first
 * order, plus what the errors of both factors contribute. */
#include "cli/explain/bounded.h"

#include <math.h>
#include <string.h>

#include "cli/command/try.h"

static double zero = 0, one = 1;

static hec_status make_zeros(hec_arena *arena, int64_t rows, int64_t columns, hec_tensor *out)
{
	TRY(hec_arena_tensor(arena, HEC_F64, 2, (const int64_t[]){rows, columns}, out));
	memset(out->data, 0, (size_t)(rows * columns) * sizeof(double));
	return HEC_OK;
}

hec_status bounded_make(hec_arena *arena, int64_t rows, int64_t columns, bounded *out)
{
	TRY(make_zeros(arena, rows, columns, &out->value));
	return make_zeros(arena, rows, columns, &out->error);
}

/* The same number everywhere. */
static hec_tensor constant(double *number, int64_t rows, int64_t columns)
{
	hec_tensor t = hec_tensor_2d(number, HEC_F64, rows, columns);
	t.stride[0] = t.stride[1] = 0;
	return t;
}

bounded bounded_exact(const hec_tensor *value)
{
	bounded m = {.value = *value};
	if (value->rank == 1)
		m.value = hec_tensor_2d(value->data, HEC_F64, 1, value->shape[0]);
	m.error = constant(&zero, m.value.shape[0], m.value.shape[1]);
	return m;
}

bounded bounded_ones(int64_t columns)
{
	return (bounded){constant(&one, 1, columns), constant(&zero, 1, columns)};
}

static hec_tensor transpose(hec_tensor t)
{
	hec_tensor out = t;
	for (int i = 0; i < 2; i++) {
		out.shape[i] = t.shape[1 - i];
		out.stride[i] = t.stride[1 - i];
	}
	return out;
}

static hec_tensor slice(hec_tensor t, int axis, int64_t first, int64_t count)
{
	t.data = (double *)t.data + first * t.stride[axis];
	t.shape[axis] = count;
	return t;
}

bounded bounded_transpose(const bounded *m)
{
	return (bounded){transpose(m->value), transpose(m->error)};
}

bounded bounded_rows(const bounded *m, int64_t first, int64_t count)
{
	return (bounded){slice(m->value, 0, first, count), slice(m->error, 0, first, count)};
}

bounded bounded_columns(const bounded *m, int64_t first, int64_t count)
{
	return (bounded){slice(m->value, 1, first, count), slice(m->error, 1, first, count)};
}

void bounded_multiply(const bounded *a, const bounded *b, rounding r, bounded *c)
{
	int64_t n = a->value.shape[1];
	for (int64_t i = 0; i < c->value.shape[0]; i++)
		for (int64_t j = 0; j < c->value.shape[1]; j++) {
			double *value = double_at(&c->value, i, j), sum = *value;
			double magnitude = fabs(sum), error = 0;
			for (int64_t k = 0; k < n; k++) {
				double x = *double_at(&a->value, i, k);
				double y = *double_at(&b->value, k, j);
				double off_x = *double_at(&a->error, i, k);
				double off_y = *double_at(&b->error, k, j);
				sum += x * y;
				magnitude += fabs(x * y);
				error += fabs(x) * off_y + off_x * fabs(y) + off_x * off_y;
			}
			*value = sum;
			*double_at(&c->error, i, j) +=
				error + (double)(n + 4) * (r.unit * magnitude + r.least);
		}
}

void bounded_scale(const bounded *m, double factor, rounding r)
{
	for (int64_t i = 0; i < m->value.shape[0]; i++)
		for (int64_t j = 0; j < m->value.shape[1]; j++) {
			double *value = double_at(&m->value, i, j);
			double *error = double_at(&m->error, i, j);
			*value *= factor;
			*error = *error * fabs(factor) + 2 * r.unit * fabs(*value) + r.least;
		}
}
