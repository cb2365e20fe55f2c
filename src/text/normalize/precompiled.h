/* precompiled.h — the normalizer Precompiled from a table that is there already. */
#ifndef TEXT_NORMALIZE_PRECOMPILED_H
#define TEXT_NORMALIZE_PRECOMPILED_H

#include "text/normalize/charsmap.h"
#include "text/tokenizer/stage.h"

hec_status precompiled_make(const char *what, const char *bytes, size_t n, void **state);

#endif
