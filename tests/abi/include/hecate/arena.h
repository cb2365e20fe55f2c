/* arena.h — memory that is sized once and given back all at once.
 *
 * A layer takes an arena for what it needs while it runs. When it only runs, it gives everything
 * back before it returns; when it learns, what its backward pass needs stays in the arena until the
 * caller rewinds it. So a step never calls malloc. */
#ifndef HECATE_ARENA_H
#define HECATE_ARENA_H

#include <hecate/tensor.h>

HEC_BEGIN

typedef struct hec_arena hec_arena;

HEC_API HEC_MUST_USE hec_status hec_arena_create(size_t capacity, hec_arena **out);

/* An arena that takes addresses alone: memory comes page by page where something is first written,
 * and reads as 0 until then. For a dry context (context.h), which writes next to nothing: the same
 * calls with the same shapes end at the same hec_arena_peak as they will in earnest, and that is
 * the capacity to create. Here capacity may be far more than the machine has (a limit on addresses,
 * `ulimit -v`, still counts: then HEC_ERR_MEMORY). A context that works needs the memory as it goes,
 * and the program is killed where there is none. */
HEC_API HEC_MUST_USE hec_status hec_arena_create_reserved(size_t capacity, hec_arena **out);

HEC_API void hec_arena_destroy(hec_arena *arena); /* takes NULL */

/* 64-byte aligned, contents undefined. HEC_ERR_MEMORY with the numbers where it does not fit. */
HEC_API HEC_MUST_USE hec_status hec_arena_alloc(hec_arena *arena, size_t bytes, void **out);
/* A contiguous tensor in the arena; sizes are multiplied with overflow checks. */
HEC_API HEC_MUST_USE hec_status hec_arena_tensor(hec_arena *arena, hec_dtype dtype, int rank,
                                                 const int64_t *shape, hec_tensor *out);

HEC_API size_t hec_arena_used(const hec_arena *arena);        /* also a mark to rewind to */
HEC_API size_t hec_arena_peak(const hec_arena *arena);        /* the most ever used */
HEC_API void hec_arena_rewind(hec_arena *arena, size_t mark); /* 0 empties it */

HEC_END

#endif
