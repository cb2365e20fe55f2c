/* decoder_layer.h — a decoder layer that goes on from a cache. */
#ifndef NN_DECODER_LAYER_H
#define NN_DECODER_LAYER_H

#include <hecate/decoder_layer.h>

#include "nn/multi_head.h"

hec_status decoder_layer_step(hec_ctx *ctx, hec_arena *arena, const hec_decoder_layer *layer,
                              const hec_tensor *x, /* [B, T, C] */
                              const multi_head_cache *self,
                              const multi_head_cache *cross, /* NULL without cross-attention */
                              hec_tensor *y /* [B, T, C] written; not x */);

#endif
