/* multi_head.h — multi-head attention inside another layer. */
#ifndef NN_MULTI_HEAD_H
#define NN_MULTI_HEAD_H

#include <hecate/multi_head.h>

/* The arguments that forward and backward share, checked before anything is written. */
hec_status multi_head_check(hec_ctx *ctx, hec_arena *arena, const hec_multi_head *layer,
                            const hec_tensor *x, const hec_tensor *memory, const hec_mask *mask,
                            const hec_tensor *dbias);

#endif
