/* attention.c — attention forward with logsumexp, backward, one query against a cache, and
 * the smallest call there is. Memory is [B, H, T, ·] unless the variant is interleaved. */
#include "cli/bench/case.h"

typedef struct attention_state {
	hec_tensor q, out, lse, dout, dq, dk, dv;
	hec_tensor *k, *v; /* copies of the cache, so that each call finds a cold one */
	int64_t copies;
	hec_mask mask;
	bool masked;
} attention_state;

typedef struct sizes {
	int64_t B, T, S, H, G, K, D;
} sizes;

static sizes sizes_of(bench_case *c, int64_t T, int64_t S)
{
	bench_shape *shape = &c->shape;
	shape_default(shape, 'B', 1);
	shape_default(shape, 'H', 8);
	shape_default(shape, 'G', shape_get(shape, 'H'));
	shape_default(shape, 'T', T);
	shape_default(shape, 'S', S ? S : shape_get(shape, 'T'));
	shape_default(shape, 'K', 64);
	shape_default(shape, 'D', shape_get(shape, 'K'));
	return (sizes){shape_get(shape, 'B'), shape_get(shape, 'T'), shape_get(shape, 'S'),
	               shape_get(shape, 'H'), shape_get(shape, 'G'), shape_get(shape, 'K'),
	               shape_get(shape, 'D')};
}

/* [B, T, H, K] by name; heads outside of positions in memory, or the other way round. */
static hec_status heads_tensor(bench_case *c, bool random, int64_t B, int64_t T, int64_t H,
                               int64_t K, hec_tensor *out)
{
	bool interleaved = c->variant == BENCH_INTERLEAVED;
	const int64_t shape[4] = {B, interleaved ? T : H, interleaved ? H : T, K};
	TRY((random ? case_normal : case_tensor)(c, 4, shape, out));
	return interleaved ? HEC_OK : hec_tensor_transpose(out, 1, 2, out);
}

static double visible_pairs(const sizes *z, bool causal)
{
	double pairs = 0;
	for (int64_t t = 0; t < z->T; t++) {
		int64_t end = t + z->S - z->T + 1;
		pairs += causal ? (double)(end < 0 ? 0 : end < z->S ? end : z->S) : (double)z->S;
	}
	return pairs * (double)(z->B * z->H);
}

/* A mask that hides one key in eight, or a bias for each head. */
static hec_status add_matrix(bench_case *c, attention_state *s, const sizes *z)
{
	if (c->variant == BENCH_MASK) {
		const int64_t shape[4] = {1, 1, z->T, z->S};
		TRY(hec_arena_tensor(c->arena, HEC_I8, 4, shape, &s->mask.visible));
		int8_t *shown = s->mask.visible.data;
		for (int64_t i = 0; i < z->T * z->S; i++)
			shown[i] = ((uint64_t)i * 2654435761u >> 7) % 8 != 0;
	} else if (c->variant == BENCH_BIAS) {
		const int64_t shape[4] = {1, z->H, z->T, z->S};
		TRY(case_normal(c, 4, shape, &s->mask.bias));
	}
	s->masked = c->causal || c->variant == BENCH_MASK || c->variant == BENCH_BIAS;
	return HEC_OK;
}

static hec_status attention_setup(bench_case *c, const sizes *z, int64_t copies,
                                  attention_state **out)
{
	double queries = (double)z->B * (double)z->T * (double)z->H;
	double keys = (double)z->B * (double)z->S * (double)z->G;
	double floats = queries * (double)(2 * z->K + 2 * z->D + 1) +
	                keys * (double)(z->K + z->D) * (double)(copies + 1);
	if (c->variant == BENCH_BIAS || c->variant == BENCH_MASK)
		floats += (double)z->H * (double)z->T * (double)z->S;
	TRY(case_open(c, 4 * floats + 4096.0 * (double)(copies + 16)));
	attention_state *s;
	TRY(hec_arena_alloc(c->arena, sizeof *s, (void **)&s));
	*s = (attention_state){.copies = copies, .mask = HEC_MASK_INIT};
	s->mask.causal = c->causal;
	size_t list = (size_t)copies * sizeof(hec_tensor);
	TRY(hec_arena_alloc(c->arena, list, (void **)&s->k));
	TRY(hec_arena_alloc(c->arena, list, (void **)&s->v));
	TRY(heads_tensor(c, true, z->B, z->T, z->H, z->K, &s->q));
	for (int64_t i = 0; i < copies; i++) {
		TRY(heads_tensor(c, true, z->B, z->S, z->G, z->K, &s->k[i]));
		TRY(heads_tensor(c, true, z->B, z->S, z->G, z->D, &s->v[i]));
	}
	TRY(heads_tensor(c, false, z->B, z->T, z->H, z->D, &s->out));
	TRY(case_tensor(c, 3, (int64_t[]){z->B, z->H, z->T}, &s->lse));
	TRY(add_matrix(c, s, z));
	c->state = s;
	double pairs = visible_pairs(z, c->causal);
	c->flops = 2 * pairs * (double)(z->K + z->D);
	c->bytes = 4.0 * (queries + keys) * (double)(z->K + z->D);
	*out = s;
	return HEC_OK;
}

static hec_status fwd_call(bench_case *c, int64_t i)
{
	attention_state *s = c->state;
	return hec_attention_fwd(c->ctx, NULL, &s->q, &s->k[i % s->copies], &s->v[i % s->copies],
	                         s->masked ? &s->mask : NULL, &s->out, &s->lse);
}

static hec_status bwd_call(bench_case *c, int64_t i)
{
	attention_state *s = c->state;
	(void)i;
	return hec_attention_bwd(c->ctx, NULL, &s->q, s->k, s->v, s->masked ? &s->mask : NULL,
	                         &s->out, &s->lse, &s->dout, &s->dq, &s->dk, &s->dv, NULL);
}

/* Without the logsumexp: what generating a token asks for. */
static hec_status step_call(bench_case *c, int64_t i)
{
	attention_state *s = c->state;
	return hec_attention_fwd(c->ctx, NULL, &s->q, &s->k[i % s->copies], &s->v[i % s->copies],
	                         s->masked ? &s->mask : NULL, &s->out, NULL);
}

hec_status attention_fwd_setup(bench_case *c)
{
	sizes z = sizes_of(c, 512, 0);
	attention_state *s;
	TRY(attention_setup(c, &z, 1, &s));
	c->call = fwd_call;
	return HEC_OK;
}

hec_status attention_bwd_setup(bench_case *c)
{
	sizes z = sizes_of(c, 512, 0);
	attention_state *s;
	TRY(attention_setup(c, &z, 1, &s));
	TRY(fwd_call(c, 0));
	TRY(heads_tensor(c, true, z.B, z.T, z.H, z.D, &s->dout));
	TRY(heads_tensor(c, false, z.B, z.T, z.H, z.K, &s->dq));
	TRY(heads_tensor(c, false, z.B, z.S, z.G, z.K, &s->dk));
	TRY(heads_tensor(c, false, z.B, z.S, z.G, z.D, &s->dv));
	c->call = bwd_call;
	c->flops *= 2.5;
	c->bytes *= 2;
	return HEC_OK;
}

hec_status attention_step_setup(bench_case *c)
{
	sizes z = sizes_of(c, 1, 2048);
	if (c->variant == BENCH_PLAIN)
		c->variant = BENCH_COLD;
	double cache = 4.0 * (double)z.B * (double)z.S * (double)z.G * (double)(z.K + z.D);
	attention_state *s;
	TRY(attention_setup(c, &z, c->variant == BENCH_COLD ? bench_copies(cache) : 1, &s));
	c->call = step_call;
	c->memory = true;
	return HEC_OK;
}

hec_status attention_call_setup(bench_case *c)
{
	shape_default(&c->shape, 'H', 1);
	shape_default(&c->shape, 'K', 8);
	sizes z = sizes_of(c, 1, 1);
	attention_state *s;
	TRY(attention_setup(c, &z, 1, &s));
	c->call = step_call;
	return HEC_OK;
}
