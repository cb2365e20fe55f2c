/* memory.h — every allocation of the library: by the embedder's allocator where one was set. The words of
 * malloc: NULL where there is no memory, and 0 bytes may be asked for. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t bytes);
void *mem_zeros(size_t n, size_t bytes); /* n · bytes, all 0; NULL where that overflows */
void *mem_resize(void *memory, size_t bytes);
void *mem_aligned(size_t alignment, size_t bytes);
char *mem_copy_bytes(const char *text, size_t bytes); /* with a zero byte behind them */
char *mem_copy_text(const char *text);
void mem_free(void *memory); /* takes NULL */

/* What a result points at is const to the caller; the library made it, and may change and free it. */
static inline void *mem_own(const void *memory)
{
	return (void *)(uintptr_t)memory;
}

#endif
