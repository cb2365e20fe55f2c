/* match.h — the next match of a regular expression, in time linear in the text. */
#ifndef TEXT_PATTERN_MATCH_H
#define TEXT_PATTERN_MATCH_H

#include "text/pattern/pattern.h"

/* Fills in what p knows about where matches can begin; p->code is there already. */
hec_status pattern_compile_starts(const char *expression, pattern *p);

/* The first match at or after w->from. *work is created when first needed. */
hec_status pattern_match(const pattern *p, pattern_work **work, const char *text, size_t begin,
                         size_t end, pattern_walk *w);

#endif
