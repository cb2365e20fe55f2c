/* feed_forward.h — the feed-forward network inside another layer. */
#ifndef NN_FEED_FORWARD_H
#define NN_FEED_FORWARD_H

#include <hecate/feed_forward.h>

hec_status feed_forward_check_config(const hec_feed_forward_config *c);

/* hec_feed_forward_bwd that adds to dx, or writes it. */
hec_status feed_forward_bwd(hec_ctx *ctx, hec_arena *arena, const hec_feed_forward *layer,
                            const hec_tensor *dy, const hec_tensor *x, const hec_dropout_key *key,
                            const hec_feed_forward_kept *kept, bool add, hec_tensor *dx,
                            hec_feed_forward *grad);

#endif
