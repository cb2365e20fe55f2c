/* plural.h — "1 line", "2 lines". */
#ifndef CLI_IO_PLURAL_H
#define CLI_IO_PLURAL_H

#include <stdint.h>

/* What stands behind a noun of which there are n. */
static inline const char *plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
