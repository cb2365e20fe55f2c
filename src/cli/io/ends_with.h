/* ends_with.h — a name by its ending. */
#ifndef CLI_IO_ENDS_WITH_H
#define CLI_IO_ENDS_WITH_H

#include <stdbool.h>
#include <string.h>

static inline bool ends_with(const char *name, const char *end)
{
	const size_t n = strlen(name), m = strlen(end);
	return n >= m && strcmp(name + n - m, end) == 0;
}

/* The same with something before the ending: ".npy" alone is no name. */
static inline bool is_named(const char *name, const char *end)
{
	return ends_with(name, end) && strcmp(name, end) != 0;
}

#endif
