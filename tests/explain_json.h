/* explain_json.h — what `hecate explain --json` prints, as matrices. Needs cmocka.h before it. */
#ifndef TESTS_EXPLAIN_JSON_H
#define TESTS_EXPLAIN_JSON_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "program_run.h"

#define U (FLT_EPSILON / 2.0) /* unit roundoff of the program's floats */

static inline json_t *run_json(const char *arguments)
{
	char line[1024];
	snprintf(line, sizeof line, "explain %s --json", arguments);
	result r = run(line);
	if (r.code != 0)
		fail_msg("%s: exit %d: %s", line, r.code, r.err);
	assert_string_equal(r.err, "");
	json_error_t at;
	json_t *root = json_loads(r.out, JSON_REJECT_DUPLICATES, &at);
	if (!root)
		fail_msg("%s: line %d: %s", line, at.line, at.text);
	done(&r);
	return root;
}

/* A matrix as the test sees it; null is NaN. */
typedef struct mat {
	size_t rows, columns;
	double *v;
} mat;

static inline double at(const mat *m, size_t r, size_t c)
{
	assert_true(r < m->rows && c < m->columns);
	return m->v[r * m->columns + c];
}

static inline double number(const json_t *value)
{
	return json_is_null(value) ? NAN : json_number_value(value);
}

static inline mat read_values(const json_t *values)
{
	bool flat = !json_is_array(json_array_get(values, 0));
	mat m = {flat ? 1 : json_array_size(values), 0, NULL};
	m.columns = json_array_size(flat ? values : json_array_get(values, 0));
	m.v = calloc(m.rows * m.columns, sizeof *m.v);
	assert_non_null(m.v);
	for (size_t i = 0; i < m.rows * m.columns; i++) {
		const json_t *row = flat ? values : json_array_get(values, i / m.columns);
		assert_int_equal(json_array_size(row), m.columns);
		m.v[i] = number(json_array_get(row, i % m.columns));
	}
	return m;
}

/* The step of that name and head (−1: without the key); checks its shape. rows 0: there is none. */
static inline mat find(const json_t *root, const char *name, int head)
{
	size_t i;
	const json_t *step;
	json_array_foreach(json_object_get(root, "steps"), i, step)
	{
		const json_t *h = json_object_get(step, "head");
		if (strcmp(json_string_value(json_object_get(step, "name")), name) != 0 ||
		    (h ? json_integer_value(h) : -1) != head)
			continue;
		mat m = read_values(json_object_get(step, "values"));
		const json_t *shape = json_object_get(step, "shape");
		size_t rank = json_array_size(shape);
		assert_int_equal(json_integer_value(json_array_get(shape, rank - 1)), m.columns);
		if (rank == 2)
			assert_int_equal(json_integer_value(json_array_get(shape, 0)), m.rows);
		return m;
	}
	return (mat){0, 0, NULL};
}

static inline mat need(const json_t *root, const char *name, int head, size_t rows, size_t columns)
{
	mat m = find(root, name, head);
	if (m.rows != rows || m.columns != columns)
		fail_msg("%s of head %d is %zu×%zu, expected %zu×%zu", name, head, m.rows,
		         m.columns, rows, columns);
	return m;
}

static inline void near(const char *what, size_t r, size_t c, double got, double want, double bound)
{
	if (!(fabs(got - want) <= bound))
		fail_msg("%s[%zu][%zu] is %.9g, expected %.9g ± %.3g", what, r, c, got, want,
		         bound);
}

#endif
