/* number_list.c — numbers with commas between. */
#include "cli/command/number_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define NUMBERS_MOST (1 << 20)

int number_list_take(const command *self, const char *option, const char *text, int64_t high,
                     number_list *out)
{
	if (!text)
		return EXIT_DONE;
	int64_t room = 1;
	for (const char *at = text; *at; at++)
		room += *at == ',';
	if (room > NUMBERS_MOST)
		return command_usage(self, "%s: %" PRId64 " numbers, at most %d", option, room,
		                     NUMBERS_MOST);
	out->items = malloc((size_t)room * sizeof *out->items);
	if (!out->items)
		return command_failed(self, "out of memory");
	for (const char *at = text;; at++) {
		char *end;
		errno = 0;
		long long value = strtoll(at, &end, 10);
		/* strtoll passes over spaces and signs. */
		if (*at < '0' || *at > '9' || errno || value > high || (*end && *end != ','))
			return command_usage(self,
			                     "%s wants numbers from 0 to %" PRId64
			                     " with commas between, not '%.20s'",
			                     option, high, at);
		out->items[out->count++] = (int32_t)value;
		at = end;
		if (!*at)
			return EXIT_DONE;
	}
}
