/* match.h — the first match of an expression, in time that is paid for. */
#ifndef TEXT_PATTERN_MATCH_H
#define TEXT_PATTERN_MATCH_H

#include "text/pattern/pattern.h"

/* What is known of an expression once its code is there: where a search need not begin. */
hec_status pattern_starts(const char *expression, pattern *p);

/* The first match at or after w->from. *work is made when first needed. */
hec_status pattern_match(const pattern *p, pattern_work **work, const char *text, size_t begin,
                         size_t end, pattern_walk *w);

#endif
