/* arena.h — what the library itself asks of an arena. */
#ifndef TENSOR_ARENA_H
#define TENSOR_ARENA_H

#include <hecate/arena.h>

/* Whether these bytes lie in the part of the arena that is in use. */
bool arena_holds(const hec_arena *arena, const void *data, size_t bytes);

#endif
