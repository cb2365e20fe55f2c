/* feed_forward.h — the feed-forward network inside another layer. */
#ifndef NN_FEED_FORWARD_H
#define NN_FEED_FORWARD_H

#include <hecate/feed_forward.h>

hec_status feed_forward_check_config(const hec_feed_forward_config *c);

#endif
