/* precompiled.h — the normalizer Precompiled from a table that is there already. */
#ifndef TEXT_PRECOMPILED_H
#define TEXT_PRECOMPILED_H

#include "text/charsmap.h"
#include "text/stage.h"

hec_status precompiled_make(const char *what, const char *bytes, size_t n, void **state);

#endif
