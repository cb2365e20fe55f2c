/* gradient.c — central differences. */
#include "support/gradient.h"

#include <float.h>
#include <math.h>

/* The largest layers here do a few hundred roundings between a parameter and the loss; each can
 * move the loss by one ulp of the sum of magnitudes. */
#define ROUNDINGS 512
#define RELATIVE 1e-5

double weighted_sum(const hec_tensor *y, const hec_tensor *cotangent, double *magnitude)
{
	double sum = 0, size = 0;
	int64_t n = hec_tensor_count(y);
	for (int64_t i = 0; i < n; i++) {
		double term = get(y, i) * get(cotangent, i);
		sum += term;
		size += fabs(term);
	}
	*magnitude = size;
	return sum;
}

/* (8·(f(x+h) − f(x−h)) − (f(x+2h) − f(x−2h))) / 12h: its own error is h⁴ · f⁽⁵⁾ / 30. */
static double quotient(loss_fn *loss, void *arg, const hec_tensor *x, int64_t i, double h,
                       double *noise)
{
	static const double steps[] = {1, -1, 2, -2}, weights[] = {8, -8, -1, 1};
	double old = get(x, i), sum = 0, magnitude, largest = 0;
	for (int j = 0; j < 4; j++) {
		put(x, i, old + steps[j] * h);
		sum += weights[j] * loss(arg, &magnitude);
		largest = fmax(largest, magnitude);
	}
	put(x, i, old);
	*noise = ROUNDINGS * DBL_EPSILON * largest / h;
	return sum / (12 * h);
}

void check_gradient(kit *k, const char *name, loss_fn *loss, void *arg, const hec_tensor *x,
                    const hec_tensor *dx, double start)
{
	CHECK(k, x->dtype == HEC_F64 && dx->dtype == HEC_F64, "%s: gradients are checked in f64",
	      name);
	int64_t n = hec_tensor_count(x);
	CHECK(k, hec_tensor_count(dx) == n, "%s: %lld elements, %lld gradients", name, (long long)n,
	      (long long)hec_tensor_count(dx));
	for (int64_t i = 0; i < n; i++) {
		double got = get(dx, i) - start;
		if (!isfinite(get(x, i))) {
			CHECK(k, got == 0, "%s: gradient %g at element %lld, which is %g", name,
			      got, (long long)i, get(x, i));
			continue;
		}
		/* A kink between x − 2h and x + 2h (ReLU) spoils the quotient, not the gradient:
		 * a smaller h leaves the kink outside, while a wrong gradient stays wrong. */
		double h = 1e-3, want = 0, noise = 0;
		bool good = false;
		for (int tries = 0; !good && tries < 4; tries++, h /= 10) {
			want = quotient(loss, arg, x, i, h, &noise);
			good = fabs(got - want) <= RELATIVE * fabs(want) + noise;
		}
		CHECK(k, good,
		      "%s: gradient of element %lld of %lld is %.12g, differences say %.12g", name,
		      (long long)i, (long long)n, got, want);
	}
}

hec_tensor gradient_of(kit *k, const hec_tensor *x)
{
	hec_tensor dx = make_copy(k, x);
	fill_with(&dx, GRADIENT_START);
	return dx;
}

void check_param_gradients(kit *k, loss_fn *loss, void *arg, const param_list *params,
                           const param_list *grads)
{
	CHECK(k, params->count == grads->count, "%d parameters, %d gradients", params->count,
	      grads->count);
	for (int i = 0; i < params->count; i++)
		check_gradient(k, params->names[i], loss, arg, params->tensors[i],
		               grads->tensors[i], GRADIENT_START);
}
