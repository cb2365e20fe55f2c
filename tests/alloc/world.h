/* world.h — what a scenario works in, and how it calls. */
#ifndef ALLOC_WORLD_H
#define ALLOC_WORLD_H

#include <hecate/hecate.h>

#include "refuse.h"

enum { B = 2, T = 33, S = 40, C = 64, H = 4, K = C / H, F = 96, V = 50 };

typedef struct world {
	hec_ctx *ctx;
	hec_arena *arena;
	bool forever;
	int failures;
	uint64_t stream; /* of random numbers, the next one */
	uint64_t bits;   /* a sum over all results so far */
} world;

/* A failure is right only if memory was refused; else the test fails. */
void saw_failure(world *w, hec_status status, const char *call);
void call_again_failed(const char *call);

/* Calls; after a refusal once more, from the same arena mark: results are undefined after a failure
 * and what a layer kept in the arena is the caller's to give back. */
#define CALL(w, call)                                                                              \
	do {                                                                                       \
		size_t mark_ = (w)->arena ? hec_arena_used((w)->arena) : 0;                        \
		hec_status status_ = (call);                                                       \
		if (status_ == HEC_OK)                                                             \
			break;                                                                     \
		saw_failure(w, status_, #call);                                                    \
		if ((w)->forever)                                                                  \
			return;                                                                    \
		if ((w)->arena)                                                                    \
			hec_arena_rewind((w)->arena, mark_);                                       \
		status_ = (call);                                                                  \
		if (status_ != HEC_OK)                                                             \
			call_again_failed(#call);                                                  \
	} while (0)

#define BEGIN(w)                                                                                   \
	CALL(w, create_ctx(w, 0));                                                                 \
	CALL(w, create_arena(w))

hec_status create_ctx(world *w, int threads); /* 0: as the environment says */
hec_status create_arena(world *w);

/* A tensor of the arena with random numbers. */
hec_status make(world *w, hec_tensor *t, int rank, int64_t a, int64_t b, int64_t c, int64_t d);
#define MAKE1(w, t, a) CALL(w, make(w, t, 1, a, 0, 0, 0))
#define MAKE2(w, t, a, b) CALL(w, make(w, t, 2, a, b, 0, 0))
#define MAKE3(w, t, a, b, c) CALL(w, make(w, t, 3, a, b, c, 0))
#define MAKE4(w, t, a, b, c, d) CALL(w, make(w, t, 4, a, b, c, d))

/* Outputs that are added to start from zeros at each try. */
hec_status zero(world *w, hec_tensor *t);

/* Takes the bits of a result into the sum. */
void add_bits(world *w, const hec_tensor *t);

typedef void scenario(world *w);
scenario contexts, arenas, plain_operations, norms, linears, from_ids_to_a_step, positions,
	attention, encoder_layer, decoder_layer, models, sessions, views, tokenizers_of_bytes,
	tokenizers_of_characters, tokenizer_files;

/* The model that sessions run. */
hec_status small_model(world *w, hec_model **model);

/* A layer made from nothing, and one step of learning of it. */
hec_status encoder_setup(world *w, hec_encoder_layer *layer);
hec_status encoder_step(world *w, const hec_encoder_layer *layer, hec_encoder_layer *grad,
                        hec_param_alloc *zeros, const hec_tensor *x, hec_tensor *y, hec_tensor *dx);

#endif
