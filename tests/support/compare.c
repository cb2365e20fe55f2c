/* compare.c — one tensor against another: the same bits, zero, finite, within a bound. */
#include "support/test.h"

#include <math.h>
#include <string.h>

static void check_shapes(const kit *k, const char *what, const hec_tensor *a, const hec_tensor *b)
{
	bool same = a->rank == b->rank;
	for (int i = 0; same && i < a->rank; i++)
		same = a->shape[i] == b->shape[i];
	CHECK(k, same, "%s: the shapes differ", what);
}

void check_same_bits(const kit *k, const char *what, const hec_tensor *a, const hec_tensor *b)
{
	check_shapes(k, what, a, b);
	int64_t n = hec_tensor_count(a), wrong = 0, first = -1;
	for (int64_t i = 0; i < n; i++) {
		double x = get(a, i), y = get(b, i);
		if (memcmp(&x, &y, sizeof x) != 0) {
			first = wrong++ ? first : i;
		}
	}
	CHECK(k, wrong == 0, "%s: %lld of %lld differ, first %lld: %.9g and %.9g (%a and %a)", what,
	      (long long)wrong, (long long)n, (long long)first, get(a, first), get(b, first),
	      get(a, first), get(b, first));
}

void check_all_zero(const kit *k, const char *what, const hec_tensor *x)
{
	int64_t n = hec_tensor_count(x);
	for (int64_t i = 0; i < n; i++)
		CHECK(k, get(x, i) == 0, "%s: element %lld of %lld is %g, not 0", what,
		      (long long)i, (long long)n, get(x, i));
}

void check_all_finite(const kit *k, const char *what, const hec_tensor *x)
{
	int64_t n = hec_tensor_count(x);
	for (int64_t i = 0; i < n; i++)
		CHECK(k, isfinite(get(x, i)), "%s: element %lld of %lld is %g", what, (long long)i,
		      (long long)n, get(x, i));
}

void check_within(const kit *k, const char *what, const hec_tensor *x, const hec_tensor *want,
                  const hec_tensor *bound)
{
	check_shapes(k, what, x, want);
	int64_t n = hec_tensor_count(x);
	for (int64_t i = 0; i < n; i++) {
		double got = get(x, i), w = get(want, i), b = get(bound, i);
		/* Written so that a NaN anywhere fails; equal infinities pass. */
		CHECK(k, got == w || fabs(got - w) <= b,
		      "%s: element %lld of %lld is %.9g, expected %.9g, off by %.3g, allowed %.3g",
		      what, (long long)i, (long long)n, got, w, fabs(got - w), b);
	}
}

void check_close(const kit *k, const char *what, const hec_tensor *x, const hec_tensor *want,
                 double relative)
{
	check_shapes(k, what, x, want);
	int64_t n = hec_tensor_count(x);
	double largest = 0;
	for (int64_t i = 0; i < n; i++)
		largest = fmax(largest, fabs(get(want, i)));
	for (int64_t i = 0; i < n; i++) {
		double got = get(x, i), w = get(want, i);
		CHECK(k, got == w || fabs(got - w) <= relative * largest,
		      "%s: element %lld of %lld is %.17g, expected %.17g, off by %.3g, allowed "
		      "%.3g",
		      what, (long long)i, (long long)n, got, w, fabs(got - w), relative * largest);
	}
}
