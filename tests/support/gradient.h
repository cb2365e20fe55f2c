/* gradient.h — a gradient against central differences in double.
 *
 * The loss is Σ output · cotangent, the cotangent fixed and random. Every element of a tensor is
 * moved up and down by h, and the five-point difference quotient must agree with the analytic
 * gradient to a relative 1e-5, beyond what rounding can do to the quotient. */
#ifndef TESTS_SUPPORT_GRADIENT_H
#define TESTS_SUPPORT_GRADIENT_H

#include "support/test.h"

/* Runs forward and returns the loss; *magnitude = Σ |output · cotangent|. */
typedef double loss_fn(void *arg, double *magnitude);

/* The usual end of a loss_fn. */
double weighted_sum(const hec_tensor *y, const hec_tensor *cotangent, double *magnitude);

/* Gradients are added to, so they start from here, and the check takes it off again. */
#define GRADIENT_START 0.25

/* dx was written (start = 0) or added to what began as GRADIENT_START. Elements of x that are not
 * finite are not moved, and their gradient must be exactly the start. */
void check_gradient(kit *k, const char *name, loss_fn *loss, void *arg, const hec_tensor *x,
                    const hec_tensor *dx, double start);

hec_tensor gradient_of(kit *k, const hec_tensor *x); /* as x, filled with GRADIENT_START */

/* All parameters of a layer, named, with their gradients: two walks over hec_<layer>_params. */
void check_param_gradients(kit *k, loss_fn *loss, void *arg, const param_list *params,
                           const param_list *grads);

#endif
