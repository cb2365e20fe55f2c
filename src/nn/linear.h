/* linear.h — a linear inside another layer. */
#ifndef NN_LINEAR_H
#define NN_LINEAR_H

#include <hecate/linear.h>

/* hec_linear_bwd that adds to dx, or writes it: a gradient that starts here need not be zeroed. */
hec_status linear_bwd(hec_ctx *ctx, const hec_linear *linear, const hec_tensor *dy,
                      const hec_tensor *x, bool add, hec_tensor *dx, hec_linear *grad);

/* HEC_OK if p is a pack of w [out, in], of any level. */
hec_status packed_fits(const char *name, const hec_tensor *w, const hec_packed *p);

#endif
