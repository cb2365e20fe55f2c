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

#endif
