/* memory.c — malloc, or the embedder's allocator. Which of them is settled by the first allocation: memory
 * of one never reaches the other. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/memory.h>

#include "base/options.h"
#include "base/size.h"
#include "base/status.h"

#define LEAST_ALIGNMENT 16

enum { UNUSED, BEING_SET, FROM_MALLOC, FROM_CALLER };

static _Atomic int source;
static hec_allocator caller;

hec_status hec_allocator_set(const hec_allocator *allocator)
{
	hec_allocator taken = HEC_ALLOCATOR_INIT;
	HEC_TRY(options_take("hec_allocator", &taken, sizeof taken, allocator));
	if (!taken.allocate || !taken.resize || !taken.release)
		return fail(HEC_ERR_ARGUMENT, "hec_allocator: %s is missing",
		            !taken.allocate ? "allocate"
		            : !taken.resize ? "resize"
		                            : "release");
	int unused = UNUSED;
	if (!atomic_compare_exchange_strong(&source, &unused, BEING_SET))
		return fail(HEC_ERR_ARGUMENT,
		            "hec_allocator_set: the library has taken memory already; set the "
		            "allocator before any other call");
	caller = taken;
	atomic_store(&source, FROM_CALLER);
	return HEC_OK;
}

/* Whether the caller's allocator is used, from now on for good. */
static bool from_caller(void)
{
	int now = atomic_load_explicit(&source, memory_order_acquire);
	if (now == UNUSED && atomic_compare_exchange_strong(&source, &now, FROM_MALLOC))
		return false;
	return now == FROM_CALLER;
}

void *mem_aligned(size_t alignment, size_t bytes)
{
	if (from_caller())
		return caller.allocate(caller.user, bytes ? bytes : 1,
		                       alignment > LEAST_ALIGNMENT ? alignment : LEAST_ALIGNMENT);
	return aligned_alloc(alignment, bytes);
}

void *mem_alloc(size_t bytes)
{
	return from_caller() ? mem_aligned(LEAST_ALIGNMENT, bytes) : malloc(bytes);
}

void *mem_zeros(size_t n, size_t bytes)
{
	size_t all = 0;
	if (!from_caller())
		return calloc(n, bytes);
	void *memory = size_mul(n, bytes, &all) ? mem_alloc(all) : NULL;
	return memory ? memset(memory, 0, all) : NULL;
}

void *mem_resize(void *memory, size_t bytes)
{
	if (!from_caller())
		return realloc(memory, bytes);
	return memory ? caller.resize(caller.user, memory, bytes ? bytes : 1) : mem_alloc(bytes);
}

char *mem_copy_bytes(const char *text, size_t bytes)
{
	char *copy = mem_alloc(bytes + 1);
	if (copy && bytes > 0)
		memcpy(copy, text, bytes);
	if (copy)
		copy[bytes] = '\0';
	return copy;
}

char *mem_copy_text(const char *text)
{
	return mem_copy_bytes(text, strlen(text));
}

void mem_free(void *memory)
{
	if (!memory)
		return;
	if (from_caller())
		caller.release(caller.user, memory);
	else
		free(memory);
}

void hec_free(void *memory)
{
	mem_free(memory);
}
