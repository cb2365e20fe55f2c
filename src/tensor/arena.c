/* arena.c — one block, a mark that moves up and is set back. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* madvise, MAP_NORESERVE */
#endif
#include "tensor/arena.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"
#include "tensor/check.h"

#define ALIGNMENT 64u
#define PAGE 4096u
#define HUGE_PAGE ((size_t)2 << 20)
#define RESERVE_MOST ((size_t)1 << 42)
#define RESERVE_LEAST ((size_t)1 << 20)

struct hec_arena {
	char *base;
	size_t capacity, used, peak;
	size_t mapped; /* bytes from mmap; 0: base is from aligned_alloc */
};

static hec_status round_capacity(size_t capacity, size_t align, size_t *rounded)
{
	if (!size_align(capacity ? capacity : 1, align, rounded))
		return fail(HEC_ERR_MEMORY, "arena: %zu bytes are more than can be addressed",
		            capacity);
	return HEC_OK;
}

hec_status hec_arena_create(size_t capacity, hec_arena **out)
{
	/* Matrices are walked with long strides: large pages spare most of the address look-ups. */
	HEC_TRY(CHECK_GIVEN("arena", out));
	*out = NULL;
	size_t align = capacity >= HUGE_PAGE ? HUGE_PAGE : PAGE, rounded = 0;
	HEC_TRY(round_capacity(capacity, align, &rounded));
	hec_arena *arena = mem_alloc(sizeof *arena);
	char *base = mem_aligned(align, rounded);
	if (!arena || !base) {
		mem_free(arena);
		mem_free(base);
		return fail(HEC_ERR_MEMORY, "arena: no memory for %zu bytes", capacity);
	}
	if (align == HUGE_PAGE)
		(void)madvise(base, rounded, MADV_HUGEPAGE); /* advice: works without */
	*arena = (hec_arena){.base = base, .capacity = capacity};
	*out = arena;
	return HEC_OK;
}

/* Addresses without memory, or NULL. */
static void *map_addresses(size_t bytes)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	/* What a layer keeps is written here and there: each time a small page, not a large one. */
	(void)madvise(base, bytes, MADV_NOHUGEPAGE);
	return base;
}

/* capacity bytes; where so many addresses are not to be had, half of them, and so on down to least. */
static hec_status reserve_addresses(size_t capacity, size_t least, hec_arena **out)
{
	size_t bytes = capacity, rounded = 0;
	HEC_TRY(round_capacity(bytes, PAGE, &rounded));
	hec_arena *arena = mem_alloc(sizeof *arena);
	void *base = arena ? map_addresses(rounded) : NULL;
	while (arena && !base && bytes > least) {
		bytes /= 2; /* of a power of two: still whole pages */
		base = map_addresses(rounded = bytes);
	}
	if (!base) {
		mem_free(arena);
		return fail(HEC_ERR_MEMORY, "arena: no addresses for %zu bytes", bytes);
	}
	*arena = (hec_arena){.base = base, .capacity = bytes, .mapped = rounded};
	*out = arena;
	return HEC_OK;
}

hec_status hec_arena_create_reserved(size_t capacity, hec_arena **out)
{
	HEC_TRY(CHECK_GIVEN("arena", out));
	*out = NULL;
	return reserve_addresses(capacity, capacity, out);
}

hec_status arena_reserve(hec_arena **out)
{
	return reserve_addresses(RESERVE_MOST, RESERVE_LEAST, out);
}

void hec_arena_destroy(hec_arena *arena)
{
	if (!arena)
		return;
	if (arena->mapped)
		(void)munmap(arena->base, arena->mapped);
	else
		mem_free(arena->base);
	mem_free(arena);
}

hec_status hec_arena_alloc(hec_arena *arena, size_t bytes, void **out)
{
	HEC_TRY(CHECK_GIVEN("arena", arena));
	HEC_TRY(CHECK_GIVEN("arena", out));
	size_t rounded;
	if (!size_align(bytes, ALIGNMENT, &rounded) || rounded > arena->capacity - arena->used)
		return fail(HEC_ERR_MEMORY, "arena: %zu bytes asked for, %zu of %zu are left",
		            bytes, arena->capacity - arena->used, arena->capacity);
	*out = arena->base + arena->used;
	arena->used += rounded;
	if (arena->used > arena->peak)
		arena->peak = arena->used;
	return HEC_OK;
}

hec_status hec_arena_tensor(hec_arena *arena, hec_dtype dtype, int rank, const int64_t *shape,
                            hec_tensor *out)
{
	HEC_TRY(CHECK_GIVEN("arena", arena));
	HEC_TRY(CHECK_GIVEN("arena", shape));
	HEC_TRY(CHECK_GIVEN("arena", out));
	if (rank < 1 || rank > HEC_MAX_RANK)
		return fail(HEC_ERR_ARGUMENT, "arena: rank %d is not 1 … %d", rank, HEC_MAX_RANK);
	size_t bytes = hec_dtype_size(dtype);
	if (bytes == 0)
		return fail(HEC_ERR_ARGUMENT, "arena: unknown dtype %d", (int)dtype);
	hec_tensor t = {.dtype = dtype, .device = HEC_DEVICE_CPU, .rank = rank};
	for (int i = rank - 1; i >= 0; i--) {
		if (shape[i] < 0)
			return fail(HEC_ERR_SHAPE, "arena: axis %d has size %lld", i,
			            (long long)shape[i]);
		t.shape[i] = shape[i];
		t.stride[i] = i == rank - 1 ? 1 : t.stride[i + 1] * t.shape[i + 1];
		if (!size_mul(bytes, (size_t)shape[i], &bytes) || bytes > PTRDIFF_MAX)
			return fail(HEC_ERR_MEMORY, "arena: a tensor of this shape is more than "
			                            "can be addressed");
	}
	HEC_TRY(hec_arena_alloc(arena, bytes, &t.data));
	*out = t;
	return HEC_OK;
}

bool arena_holds(const hec_arena *arena, const void *data, size_t bytes)
{
	uintptr_t begin = (uintptr_t)arena->base, at = (uintptr_t)data;
	return at >= begin && at - begin <= arena->used && bytes <= arena->used - (at - begin);
}

void arena_release(hec_arena *arena)
{
	uintptr_t begin = ((uintptr_t)arena->base + arena->used + PAGE - 1) / PAGE * PAGE;
	uintptr_t end = ((uintptr_t)arena->base + arena->capacity) / PAGE * PAGE;
	if (begin < end) /* advice: where it is not taken, the memory stays */
		(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void arena_small_pages(hec_arena *arena, size_t mark)
{
	uintptr_t begin = ((uintptr_t)arena->base + mark + PAGE - 1) / PAGE * PAGE;
	uintptr_t end = ((uintptr_t)arena->base + arena->used) / PAGE * PAGE;
	if (begin < end)
		(void)madvise((void *)begin, end - begin, MADV_NOHUGEPAGE);
}

size_t hec_arena_used(const hec_arena *arena)
{
	return arena->used;
}

size_t hec_arena_peak(const hec_arena *arena)
{
	return arena->peak;
}

void hec_arena_rewind(hec_arena *arena, size_t mark)
{
	if (mark < arena->used)
		arena->used = mark;
}
