/* positions.h — the example `positions`: the sinusoidal table as numbers and as waves. */
#ifndef CLI_EXPLAIN_POSITIONS_H
#define CLI_EXPLAIN_POSITIONS_H

#include <hecate/context.h>

#include "cli/io/terminal.h"

#define POSITIONS_NAME "positions"
#define POSITIONS_SUMMARY "the sinusoidal table of positions, as numbers and as waves"
#define POSITIONS_LOOK                                                                             \
	"Look at the waves: the first rows swing fast, each pair below more slowly. No two "       \
	"positions (columns of the picture) are alike."

/* HEC_OK, or the library's message is set. */
hec_status explain_positions(hec_ctx *ctx, const terminal *term, bool json);

#endif
