/* arena.h — what the library itself asks of an arena. */
#ifndef TENSOR_ARENA_H
#define TENSOR_ARENA_H

#include <hecate/arena.h>

/* Whether these bytes lie in the part of the arena that is in use. */
bool arena_holds(const hec_arena *arena, const void *data, size_t bytes);

/* What lies above the part in use goes back to the system until it is written to again. */
void arena_release(hec_arena *arena);

/* What lies between the mark and the end of the part in use will be written here and there: each time
 * a small page of memory is taken, not a large one. */
void arena_small_pages(hec_arena *arena, size_t mark);

/* A reserved arena to measure in, larger than any model needs; where the system limits addresses too
 * (ulimit -v, a container), as large as it can be. */
hec_status arena_reserve(hec_arena **out);

#endif
