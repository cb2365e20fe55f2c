/* memory.h — where the library's memory comes from.
 *
 * By default from malloc. A program that counts, limits or pools memory sets an allocator of its own, once,
 * before its first other call. Not taken through it: address space of reserved arenas (mmap), stacks of
 * threads, and what the libraries below take for themselves (Jansson, PCRE2, zlib, libsndfile). */
#ifndef HECATE_MEMORY_H
#define HECATE_MEMORY_H

#include <hecate/status.h>

HEC_BEGIN

/* bytes ≥ 1, alignment a power of two ≥ 16. NULL: there is none, and the call under way fails with HEC_ERR_MEMORY.
 * Any thread may call, several at a time. */
typedef void *hec_allocate_fn(void *user, size_t bytes, size_t alignment);
/* Memory of allocate, of alignment 16, in another size with its contents; NULL: as it was. */
typedef void *hec_resize_fn(void *user, void *memory, size_t bytes);
typedef void hec_release_fn(void *user, void *memory); /* memory is never NULL */

typedef struct hec_allocator { /* options */
	size_t size;           /* sizeof(hec_allocator) */
	hec_allocate_fn *allocate;
	hec_resize_fn *resize;
	hec_release_fn *release;
	void *user;
} hec_allocator;

/* clang-format off */
#define HEC_ALLOCATOR_INIT {.size = sizeof(hec_allocator)}
/* clang-format on */

/* For the whole process. HEC_ERR_ARGUMENT where a function is missing, or the library has taken memory
 * already. */
HEC_API HEC_MUST_USE hec_status hec_allocator_set(const hec_allocator *allocator);

/* Gives back what a call gave its caller "to be freed by hec_free". Takes NULL. */
HEC_API void hec_free(void *memory);

HEC_END

#endif
