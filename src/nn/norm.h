/* norm.h — a norm inside another layer. */
#ifndef NN_NORM_H
#define NN_NORM_H

#include <hecate/norm.h>

/* hec_norm_bwd that adds to dx, or writes it: a gradient that starts here need not be zeroed. */
hec_status norm_bwd(hec_ctx *ctx, const hec_norm *norm, const hec_tensor *dy, const hec_tensor *x,
                    const hec_norm_kept *kept, bool add, hec_tensor *dx, hec_norm *grad);

#endif
