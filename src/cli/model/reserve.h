/* reserve.h — an arena for one pass of any size: memory comes as it is written. */
#ifndef CLI_MODEL_RESERVE_H
#define CLI_MODEL_RESERVE_H

#include <hecate/arena.h>

/* As many addresses as the system gives, which may limit them (`ulimit -v`). */
hec_status reserve_arena(hec_arena **out);

#endif
