/* check.h — the one way that a layer checks its arguments: an error with both shapes. */
#ifndef TENSOR_CHECK_H
#define TENSOR_CHECK_H

#include <hecate/tensor.h>

#define ANY (-1) /* an axis of any size */

/* "[2, 3, 4]" into text; returns text. */
#define SHAPE_TEXT 96
const char *shape_text(const hec_tensor *t, char text[SHAPE_TEXT]);

/* HEC_OK if t (not NULL) is present, of the dtype and of the shape. name says which argument it is,
 * e.g. "linear: x". A tensor without elements may have no data. */
hec_status check_tensor(const char *name, const hec_tensor *t, hec_dtype dtype, int rank,
                        const int64_t *shape);

#define CHECK_1D(name, t, dtype, a) check_tensor(name, t, dtype, 1, (const int64_t[]){a})
#define CHECK_2D(name, t, dtype, a, b) check_tensor(name, t, dtype, 2, (const int64_t[]){a, b})
#define CHECK_3D(name, t, dtype, a, b, c)                                                          \
	check_tensor(name, t, dtype, 3, (const int64_t[]){a, b, c})
#define CHECK_4D(name, t, dtype, a, b, c, d)                                                       \
	check_tensor(name, t, dtype, 4, (const int64_t[]){a, b, c, d})

/* Pointers that a call cannot do without: HEC_TRY(CHECK_GIVEN("attention", ctx)). */
#define CHECK_GIVEN(call, pointer) check_given(call, #pointer, pointer)
hec_status check_given(const char *call, const char *name, const void *pointer);

/* A tensor of any dtype and shape that is sound in itself. */
hec_status check_any(const char *name, const hec_tensor *t);

/* The same in f32 or f64: what the layers compute in. */
hec_status check_real(const char *name, const hec_tensor *t);

/* Whether an optional tensor was given. A negative rank is no way to leave one out: it is refused. */
static inline bool is_present(const hec_tensor *t)
{
	return t && t->rank != 0;
}

#endif
