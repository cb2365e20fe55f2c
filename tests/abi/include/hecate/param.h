/* param.h — the parameters of a layer as a list: name, shape, place, how it starts.
 *
 * Each layer has hec_<layer>_params, which calls a function once per parameter, always in the same
 * order. Allocation, initialisation, packing, loading, saving and learning are such functions. A
 * gradient is a second struct of the same layer type, so the two lists run in step. */
#ifndef HECATE_PARAM_H
#define HECATE_PARAM_H

#include <hecate/arena.h>
#include <hecate/linear.h>

HEC_BEGIN

typedef enum hec_init {
	HEC_INIT_ZERO = 0,
	HEC_INIT_ONE,
	HEC_INIT_XAVIER, /* uniform in ±√(6 / (in + out)) */
	HEC_INIT_NORMAL  /* normal, standard deviation 1/√(last axis) */
} hec_init;

typedef struct hec_param {  /* result */
	const char *name;   /* e.g. "self_attention.q.w"; valid during the call */
	hec_tensor *tensor; /* its place in the layer's struct */
	hec_linear *linear; /* the linear whose w this is; NULL for all others */
	int rank;
	int64_t shape[HEC_MAX_RANK];
	hec_init init;
} hec_param;

/* A result other than HEC_OK ends the walk and becomes its result. */
typedef hec_status hec_param_fn(void *user, const hec_param *param);

/* Ready-made functions; user points at a hec_param_alloc. Where a walk fails, what it took before
 * stays taken and set: only the caller knows where its walk, or its row of walks, began. It takes a
 * mark (hec_arena_used) first and rewinds to it, or destroys the arena with the layers. */
typedef struct hec_param_alloc { /* layer */
	size_t size;             /* sizeof(hec_param_alloc) */
	hec_ctx *ctx;
	hec_arena *arena;
	hec_dtype dtype;
	uint64_t seed;
	uint64_t count; /* parameters seen so far: the stream of random numbers of the next one */
	bool with_bwd;  /* hec_param_pack: also what backward reads */
} hec_param_alloc;

HEC_API HEC_MUST_USE hec_status hec_param_allocate(void *alloc, const hec_param *p); /* zeros */
HEC_API HEC_MUST_USE hec_status hec_param_initialise(void *alloc, const hec_param *p);
HEC_API HEC_MUST_USE hec_status hec_param_pack(void *alloc, const hec_param *p); /* linears' w */

HEC_END

#endif
