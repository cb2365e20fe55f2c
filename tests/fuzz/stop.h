/* stop.h — what a fuzz target does where the code under test broke a promise. */
#ifndef FUZZ_STOP_H
#define FUZZ_STOP_H

#include <stdio.h>
#include <stdlib.h>

#include <hecate/status.h>

_Noreturn static inline void stop(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, hec_error_message());
	abort();
}

/* What was refused has a reason, in one line that cannot steer a terminal. */
static inline void expect_reason(void)
{
	const char *message = hec_error_message();
	if (!*message)
		stop("refused without a reason");
	for (const char *c = message; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			stop("a message could steer a terminal");
}

#endif
