/* rotary.h — the example `rotary`: a word's numbers turned by its position, and what scores make of it. */
#ifndef CLI_EXPLAIN_ROTARY_H
#define CLI_EXPLAIN_ROTARY_H

#include <hecate/context.h>

#include "cli/io/terminal.h"

#define ROTARY_NAME "rotary"
#define ROTARY_SUMMARY "rotary positions: a query and a key turned by where they stand"

/* HEC_OK, or the library's message is set. */
hec_status explain_rotary(hec_ctx *ctx, const terminal *term, bool json);

#endif
