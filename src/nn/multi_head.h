/* multi_head.h — multi-head attention inside another layer. */
#ifndef NN_MULTI_HEAD_H
#define NN_MULTI_HEAD_H

#include <hecate/multi_head.h>

/* The arguments that forward and backward share, checked before anything is written. */
hec_status multi_head_check(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                            const hec_tensor *x, const hec_tensor *memory, const hec_mask *mask,
                            const hec_tensor *dbias);

/* hec_multi_head_fwd and hec_multi_head_bwd on arguments that went through multi_head_check. dx is
 * added to, or written. */
hec_status multi_head_fwd(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                          const hec_tensor *x, const hec_tensor *memory, const hec_mask *mask,
                          const hec_dropout_key *key, const hec_tensor *residual, hec_tensor *y,
                          hec_tensor *weights, hec_multi_head_kept **kept);
hec_status multi_head_bwd(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                          const hec_tensor *dy, const hec_tensor *x, const hec_tensor *memory,
                          const hec_mask *mask, const hec_dropout_key *key,
                          const hec_multi_head_kept *kept, bool add, hec_tensor *dx,
                          hec_tensor *dmemory, hec_tensor *dbias, hec_multi_head *grad);

#endif
