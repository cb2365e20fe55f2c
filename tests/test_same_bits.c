/* test_same_bits.c — promise 3: the same input gives the same bits at any number of threads, alone
 * or in a batch, with more or less padding, in any layout, on every run. */
#include "support/definition.h"
#include "support/layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int thread_counts[] = {1, 2, 3, 7};
#define COUNTS 4

static void open_contexts(kit *k, hec_ctx *ctx[COUNTS])
{
	for (int i = 0; i < COUNTS; i++) {
		hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
		o.threads = thread_counts[i];
		OK(k, hec_ctx_create(&o, &ctx[i]));
	}
}

static void close_contexts(hec_ctx *ctx[COUNTS])
{
	for (int i = 0; i < COUNTS; i++)
		hec_ctx_destroy(ctx[i]);
}

/* ---- layouts ---- */

/* The same values with a last axis that is not contiguous: with gaps, backwards, or outermost. */
static hec_tensor lay_apart(kit *k, const hec_tensor *x)
{
	const int64_t *n = x->shape;
	hec_tensor y;
	switch (draw(k) % 3) {
	case 0:
		y = make(k, x->dtype, SHAPE(n[0], n[1], n[2], 2 * n[3]));
		y.shape[3] = n[3];
		y.stride[3] = 2;
		break;
	case 1:
		y = make(k, x->dtype, SHAPE(n[0], n[1], n[2], n[3]));
		y.data = (char *)y.data + (n[3] - 1) * (int64_t)hec_dtype_size(x->dtype);
		y.stride[3] = -1;
		break;
	default:
		y = make(k, x->dtype, SHAPE(n[3], n[1], n[2], n[0]));
		OK(k, hec_tensor_transpose(&y, 0, 3, &y));
	}
	for (int64_t i = 0; i < hec_tensor_count(x); i++)
		put(&y, i, get(x, i));
	return y;
}

/* Also with large scores, where a logsumexp of scores summed in another order makes wrong weights. */
static void attention_has_the_same_bits_in_any_layout(void **state)
{
	(void)state;
	static const int64_t queries[] = {1, 2, 3, 65, 130};
	for (int n = 0; n < 15; n++) {
		kit k = kit_open(3050 + (uint64_t)n);
		problem p;
		problem_open(&p, &k, n % 10 == 9 ? HEC_F64 : HEC_F32, 2, queries[n % 5],
		             draw_in(&k, 2, 131), 2, 1, draw_in(&k, 2, 70), draw_in(&k, 2, 70));
		if (n % 2)
			problem_draw_mask(&p, true);
		for (int64_t i = 0; n % 3 && i < hec_tensor_count(&p.q); i++)
			put(&p.q, i, get(&p.q, i) * 1e5);
		result want = problem_run(&p, k.ctx);
		for (int which = 0; which < 9; which++) { /* one of them, then all */
			problem again = p;
			result r = problem_result(&p);
			hec_tensor *x[] = {&again.q, &again.key, &again.v, &again.dout,
			                   &r.out,   &r.dq,      &r.dk,    &r.dv};
			for (int i = 0; i < 8; i++) {
				if (which == i || which == 8)
					*x[i] = lay_apart(&k, x[i]);
			}
			problem_run_into(&again, k.ctx, &r);
			char what[64];
			snprintf(what, sizeof what, "case %d, tensor %d lies apart", n, which);
			check_same_result(&k, what, &want, &r);
		}
		kit_close(&k);
	}
}

/* ---- threads ---- */

static void attention_has_the_same_bits_at_any_number_of_threads(void **state)
{
	(void)state;
	for (int n = 0; n < 18; n++) {
		kit k = kit_open(3000 + (uint64_t)n * 31);
		hec_ctx *ctx[COUNTS];
		open_contexts(&k, ctx);
		problem p;
		if (n < 12)
			problem_draw(&p, &k, HEC_F32, 131, 131);
		else /* large enough that every way of sharing the work is taken */
			problem_open(&p, &k, HEC_F32, n % 3 + 1, 130 + n, 230 - n, n % 2 ? 1 : 4, 1,
			             32, 32);
		result first = problem_run(&p, ctx[0]);
		for (int i = 1; i < COUNTS; i++) {
			result r = problem_run(&p, ctx[i]);
			char what[64];
			snprintf(what, sizeof what, "1 thread against %d", thread_counts[i]);
			check_same_result(&k, what, &first, &r);
		}
		close_contexts(ctx);
		kit_close(&k);
	}
}

static void linears_have_the_same_bits_at_any_number_of_threads(void **state)
{
	(void)state;
	for (int n = 0; n < 10; n++) {
		kit k = kit_open(3100 + (uint64_t)n);
		hec_ctx *ctx[COUNTS];
		open_contexts(&k, ctx);
		int64_t N = n < 6 ? draw_size(&k, 131) : 300 + n, I = draw_size(&k, 131),
			O = n < 6 ? draw_size(&k, 131) : 500 + n;
		hec_linear l = {.w = make_random(&k, HEC_F32, SHAPE(O, I)),
		                .b = make_random(&k, HEC_F32, SHAPE(O))};
		hec_tensor x = make_random(&k, HEC_F32, SHAPE(N, I)),
			   dy = make_random(&k, HEC_F32, SHAPE(N, O));
		hec_tensor y[COUNTS], dx[COUNTS];
		hec_linear grad[COUNTS];
		for (int i = 0; i < COUNTS; i++) {
			y[i] = make(&k, HEC_F32, SHAPE(N, O));
			dx[i] = make_zero(&k, HEC_F32, SHAPE(N, I));
			grad[i] = (hec_linear){.w = make_zero(&k, HEC_F32, SHAPE(O, I)),
			                       .b = make_zero(&k, HEC_F32, SHAPE(O))};
			OK(&k, hec_linear_fwd(ctx[i], &l, HEC_ACT_GELU, &x, NULL, &y[i], NULL));
			OK(&k, hec_linear_bwd(ctx[i], &l, &dy, &x, &dx[i], &grad[i]));
			check_same_bits(&k, "y", &y[i], &y[0]);
			check_same_bits(&k, "dx", &dx[i], &dx[0]);
			check_same_bits(&k, "dw", &grad[i].w, &grad[0].w);
			check_same_bits(&k, "db", &grad[i].b, &grad[0].b);
		}
		close_contexts(ctx);
		kit_close(&k);
	}
}

static void small_operations_have_the_same_bits_at_any_number_of_threads(void **state)
{
	(void)state;
	kit k = kit_open(3200);
	hec_ctx *ctx[COUNTS];
	open_contexts(&k, ctx);
	const int64_t N = 517, C = 129, V = 300;
	hec_tensor x = make_random(&k, HEC_F32, SHAPE(N, C)),
		   dy = make_random(&k, HEC_F32, SHAPE(N, C));
	hec_norm norm = {HEC_NORM_LAYER, 1e-5, make_random(&k, HEC_F32, SHAPE(C)),
	                 make_random(&k, HEC_F32, SHAPE(C))};
	hec_embedding embedding = {
		.table = make_random(&k, HEC_F32, SHAPE(V, C)), .scale = 2, .padding_id = 3};
	hec_tensor ids = make(&k, HEC_I32, SHAPE(N));
	for (int64_t i = 0; i < N; i++)
		put(&ids, i, (double)draw_in(&k, 0, C - 1));
	enum { RESULTS = 12 };
	hec_tensor first[RESULTS] = {0};
	for (int i = 0; i < COUNTS; i++) {
		hec_norm_kept kept = {make(&k, HEC_F32, SHAPE(N)), make(&k, HEC_F32, SHAPE(N))};
		hec_norm grad = {.gamma = make_zero(&k, HEC_F32, SHAPE(C)),
		                 .beta = make_zero(&k, HEC_F32, SHAPE(C))};
		hec_tensor r[RESULTS];
		int n = 0;
		for (int kind = 0; kind < 2; kind++) {
			norm.kind = kind ? HEC_NORM_RMS : HEC_NORM_LAYER;
			hec_tensor y = make(&k, HEC_F32, SHAPE(N, C)),
				   dx = make_zero(&k, HEC_F32, SHAPE(N, C));
			OK(&k, hec_norm_fwd(ctx[i], &norm, &x, &y, &kept));
			OK(&k, hec_norm_bwd(ctx[i], &norm, &dy, &x, &kept, &dx, &grad));
			r[n++] = y;
			r[n++] = dx;
		}
		r[n++] = grad.gamma;
		r[n++] = grad.beta;
		hec_cross_entropy ce = HEC_CROSS_ENTROPY_INIT;
		ce.smoothing = 0.1;
		hec_tensor losses = make(&k, HEC_F32, SHAPE(N)), lse = make(&k, HEC_F32, SHAPE(N)),
			   dlogits = make(&k, HEC_F32, SHAPE(N, C)),
			   sums = make(&k, HEC_F64, SHAPE(2));
		double sum = 0, squares = 0;
		int64_t count;
		OK(&k, hec_cross_entropy_fwd(ctx[i], &ce, &x, &ids, &losses, &lse));
		OK(&k, hec_cross_entropy_bwd(ctx[i], &ce, &x, &ids, &lse, 0.5, &dlogits));
		OK(&k, hec_cross_entropy_sum(ctx[i], &ce, &losses, &ids, &sum, &count));
		OK(&k, hec_sum_squares(ctx[i], &x, &squares));
		put(&sums, 0, sum);
		put(&sums, 1, squares);
		r[n++] = losses;
		r[n++] = dlogits;
		r[n++] = sums;
		hec_tensor table = make_zero(&k, HEC_F32, SHAPE(V, C));
		OK(&k, hec_embedding_bwd(ctx[i], &embedding, &dy, &ids, &table));
		r[n++] = table;
		hec_tensor m = make_zero(&k, HEC_F32, SHAPE(N, C)),
			   v = make_zero(&k, HEC_F32, SHAPE(N, C)), w = make_copy(&k, &x);
		hec_adamw adam = HEC_ADAMW_INIT;
		OK(&k, hec_adamw_step(ctx[i], &adam, 1, &dy, &m, &v, &w));
		r[n++] = w;
		hec_tensor dropped = make(&k, HEC_F32, SHAPE(N, C));
		OK(&k, hec_dropout_apply(ctx[i], &(hec_dropout){0.4, 2, {5, 6, 7}}, &x, &dropped));
		r[n++] = dropped;
		CHECK(&k, n == RESULTS, "%d results", n);
		for (int j = 0; j < n; j++) {
			if (i == 0)
				first[j] = r[j];
			char what[64];
			snprintf(what, sizeof what, "result %d at %d threads", j, thread_counts[i]);
			check_same_bits(&k, what, &r[j], &first[j]);
		}
	}
	close_contexts(ctx);
	kit_close(&k);
}

/* NaN where the arena is free: nothing may be read before it was written. */
static void spoil_arena(kit *k)
{
	size_t mark = hec_arena_used(k->arena), bytes = KIT_ARENA / 8;
	void *p;
	OK(k, hec_arena_alloc(k->arena, bytes, &p));
	memset(p, 0xFF, bytes);
	hec_arena_rewind(k->arena, mark);
}

/* Runs a layer forward and backward in a context; the parameter gradients are copied out. */
static void run_layer(layer *l, hec_ctx *ctx, layer_io *io, hec_tensor *grads)
{
	kit *k = l->k;
	void *kept = NULL;
	poison(&io->y);
	fill_with(&io->dx, 0);
	if (io->dmemory.rank)
		fill_with(&io->dmemory, 0);
	layer_zero_grads(l);
	spoil_arena(k);
	size_t mark = hec_arena_used(k->arena);
	OK(k, layer_fwd(l, ctx, k->arena, io, &kept));
	OK(k, layer_bwd(l, ctx, k->arena, io, kept));
	hec_arena_rewind(k->arena, mark);
	for (int i = 0; grads && i < l->grads.count; i++)
		grads[i] = make_copy(k, l->grads.tensors[i]);
}

static void layers_have_the_same_bits_at_any_number_of_threads(void **state)
{
	(void)state;
	for (int kind = 0; kind < LAYER_KINDS; kind++) {
		kit k = kit_open(3300 + (uint64_t)kind);
		hec_ctx *ctx[COUNTS];
		open_contexts(&k, ctx);
		layer l;
		layer_open(&l, &k, (layer_kind)kind, HEC_F32, 48, 3, 100, 0.1);
		layer_io io = layer_io_open(&l, 3, 37, 41);
		const hec_dropout_key key = {11, 12, 13};
		io.key = &key;
		hec_tensor first[64], y = {0}, dx = {0};
		for (int i = 0; i < COUNTS; i++) {
			hec_tensor grads[64];
			run_layer(&l, ctx[i], &io, grads);
			if (i == 0) {
				y = make_copy(&k, &io.y);
				dx = make_copy(&k, &io.dx);
				memcpy(first, grads, sizeof first);
			}
			check_all_finite(&k, layer_name(l.kind), &io.y);
			check_all_finite(&k, layer_name(l.kind), &io.dx);
			check_same_bits(&k, layer_name(l.kind), &io.y, &y);
			check_same_bits(&k, layer_name(l.kind), &io.dx, &dx);
			for (int g = 0; g < l.grads.count; g++)
				check_same_bits(&k, l.grads.names[g], &grads[g], &first[g]);
		}
		close_contexts(ctx);
		kit_close(&k);
	}
}

static void many_runs_give_the_same_bits(void **state)
{
	(void)state;
	kit k = kit_open_at(3400, NULL, 7);
	problem p;
	problem_open(&p, &k, HEC_F32, 2, 150, 170, 3, 1, 24, 40);
	p.mask.causal = true;
	result first = problem_run(&p, k.ctx);
	for (int n = 0; n < 10; n++) {
		result r = problem_run(&p, k.ctx);
		check_same_result(&k, "again", &r, &first);
	}
	kit_close(&k);
}

/* ---- alone or in a batch ---- */

static hec_tensor part_of(kit *k, const hec_tensor *x, int64_t b, int axis, int64_t length)
{
	hec_tensor part;
	OK(k, hec_tensor_slice(x, 0, b, 1, &part));
	OK(k, hec_tensor_slice(&part, axis, 0, length, &part));
	return part;
}

static void attention_has_the_same_bits_alone_and_in_a_batch(void **state)
{
	(void)state;
	for (int n = 0; n < 30; n++) {
		kit k = kit_open(3500 + (uint64_t)n * 17);
		problem p;
		int64_t G = draw_in(&k, 1, 2), H = G * draw_in(&k, 1, 2);
		problem_open(&p, &k, HEC_F32, 4, draw_size(&k, 131), draw_size(&k, 200), H, G,
		             draw_size(&k, 65), draw_size(&k, 65));
		for (int b = 0; b < 4; b++) {
			/* Decoding has paths of its own: a few queries of a long batch must take the same
			 * one as when they come alone. */
			int64_t few = n % 3 == 0 && b < 3 && b + 1 < p.T ? b + 1 : 0;
			p.queries[b] = (int32_t)(few ? few : draw_in(&k, 1, p.T));
			p.keys[b] = (int32_t)draw_in(&k, 1, p.S);
		}
		p.mask.query_length = p.queries;
		p.mask.key_length = p.keys;
		p.mask.causal = n % 2;
		p.mask.window = n % 5 == 4 ? 9 : 0;
		result all = problem_run(&p, k.ctx);
		for (int64_t b = 0; b < 4; b++) {
			int64_t T = p.queries[b], S = p.keys[b];
			hec_tensor q = part_of(&k, &p.q, b, 1, T),
				   key = part_of(&k, &p.key, b, 1, S),
				   v = part_of(&k, &p.v, b, 1, S),
				   dout = part_of(&k, &p.dout, b, 1, T);
			hec_mask mask = HEC_MASK_INIT;
			mask.causal = p.mask.causal;
			mask.window = p.mask.window;
			hec_tensor out = make(&k, HEC_F32, SHAPE(1, T, H, p.D)),
				   lse = make(&k, HEC_F32, SHAPE(1, H, T)),
				   dq = make(&k, HEC_F32, SHAPE(1, T, H, p.K)),
				   dk = make(&k, HEC_F32, SHAPE(1, S, G, p.K)),
				   dv = make(&k, HEC_F32, SHAPE(1, S, G, p.D));
			OK(&k, hec_attention_fwd(k.ctx, NULL, &q, &key, &v, &mask, &out, &lse));
			OK(&k, hec_attention_bwd(k.ctx, NULL, &q, &key, &v, &mask, &out, &lse,
			                         &dout, &dq, &dk, &dv, NULL));
			hec_tensor in;
			in = part_of(&k, &all.out, b, 1, T);
			check_same_bits(&k, "out", &out, &in);
			in = part_of(&k, &all.lse, b, 2, T);
			check_same_bits(&k, "lse", &lse, &in);
			in = part_of(&k, &all.dq, b, 1, T);
			check_same_bits(&k, "dq", &dq, &in);
			in = part_of(&k, &all.dk, b, 1, S);
			check_same_bits(&k, "dk", &dk, &in);
			in = part_of(&k, &all.dv, b, 1, S);
			check_same_bits(&k, "dv", &dv, &in);
		}
		kit_close(&k);
	}
}

static void a_row_of_a_linear_has_the_same_bits_among_any_others(void **state)
{
	(void)state;
	static const int64_t rows[] = {1, 2, 5, 6, 7, 12, 13, 31, 64, 97, 131};
	for (int n = 0; n < 12; n++) {
		kit k = kit_open(3600 + (uint64_t)n);
		int64_t I = draw_size(&k, 131) + (n % 3 == 2 ? 600 : 0), O = draw_size(&k, 131);
		hec_linear l = {.w = make_random(&k, HEC_F32, SHAPE(O, I)),
		                .b = make_random(&k, HEC_F32, SHAPE(O))};
		hec_tensor x = make_random(&k, HEC_F32, SHAPE(131, I)),
			   dy = make_random(&k, HEC_F32, SHAPE(131, O)),
			   res = make_random(&k, HEC_F32, SHAPE(131, O));
		hec_tensor y = make(&k, HEC_F32, SHAPE(131, O)),
			   dx = make_zero(&k, HEC_F32, SHAPE(131, I));
		hec_linear packed = l;
		OK(&k, hec_linear_pack(k.ctx, k.arena, true, &packed));
		OK(&k, hec_linear_fwd(k.ctx, &l, HEC_ACT_SILU, &x, &res, &y, NULL));
		OK(&k, hec_linear_bwd(k.ctx, &l, &dy, &x, &dx, NULL));
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			int64_t N = rows[i], from = draw_in(&k, 0, 131 - N);
			for (int pack = 0; pack < 2; pack++) {
				const hec_linear *use = pack ? &packed : &l;
				hec_tensor xs, dys, ress, ys, dxs;
				OK(&k, hec_tensor_slice(&x, 0, from, N, &xs));
				OK(&k, hec_tensor_slice(&dy, 0, from, N, &dys));
				OK(&k, hec_tensor_slice(&res, 0, from, N, &ress));
				OK(&k, hec_tensor_slice(&y, 0, from, N, &ys));
				OK(&k, hec_tensor_slice(&dx, 0, from, N, &dxs));
				hec_tensor got = make(&k, HEC_F32, SHAPE(N, O)),
					   dgot = make_zero(&k, HEC_F32, SHAPE(N, I));
				OK(&k, hec_linear_fwd(k.ctx, use, HEC_ACT_SILU, &xs, &ress, &got,
				                      NULL));
				OK(&k, hec_linear_bwd(k.ctx, use, &dys, &xs, &dgot, NULL));
				check_same_bits(&k, pack ? "y, packed" : "y", &got, &ys);
				check_same_bits(&k, pack ? "dx, packed" : "dx", &dgot, &dxs);
			}
		}
		kit_close(&k);
	}
}

static void a_row_of_a_norm_or_a_loss_has_the_same_bits_among_any_others(void **state)
{
	(void)state;
	for (int n = 0; n < 12; n++) {
		kit k = kit_open(3700 + (uint64_t)n);
		int64_t C = draw_size(&k, 131), N = 37;
		hec_norm norm = {n % 2 ? HEC_NORM_RMS : HEC_NORM_LAYER, 1e-5,
		                 make_random(&k, HEC_F32, SHAPE(C)),
		                 make_random(&k, HEC_F32, SHAPE(C))};
		hec_tensor x = make_random(&k, HEC_F32, SHAPE(N, C)),
			   dy = make_random(&k, HEC_F32, SHAPE(N, C)),
			   y = make(&k, HEC_F32, SHAPE(N, C)),
			   dx = make_zero(&k, HEC_F32, SHAPE(N, C)),
			   ids = make(&k, HEC_I32, SHAPE(N)), losses = make(&k, HEC_F32, SHAPE(N)),
			   lse = make(&k, HEC_F32, SHAPE(N));
		for (int64_t i = 0; i < N; i++)
			put(&ids, i, (double)draw_in(&k, 0, C - 1));
		hec_norm_kept kept = {make(&k, HEC_F32, SHAPE(N)), make(&k, HEC_F32, SHAPE(N))};
		OK(&k, hec_norm_fwd(k.ctx, &norm, &x, &y, &kept));
		OK(&k, hec_norm_bwd(k.ctx, &norm, &dy, &x, &kept, &dx, NULL));
		OK(&k, hec_cross_entropy_fwd(k.ctx, NULL, &x, &ids, &losses, &lse));
		for (int64_t i = 0; i < N; i++) {
			hec_tensor xi, dyi, in, idi;
			OK(&k, hec_tensor_slice(&x, 0, i, 1, &xi));
			OK(&k, hec_tensor_slice(&dy, 0, i, 1, &dyi));
			OK(&k, hec_tensor_slice(&ids, 0, i, 1, &idi));
			hec_tensor got = make(&k, HEC_F32, SHAPE(1, C)),
				   dgot = make_zero(&k, HEC_F32, SHAPE(1, C));
			hec_norm_kept one = {make(&k, HEC_F32, SHAPE(1)),
			                     make(&k, HEC_F32, SHAPE(1))};
			OK(&k, hec_norm_fwd(k.ctx, &norm, &xi, &got, &one));
			OK(&k, hec_norm_bwd(k.ctx, &norm, &dyi, &xi, &one, &dgot, NULL));
			OK(&k, hec_tensor_slice(&y, 0, i, 1, &in));
			check_same_bits(&k, "y", &got, &in);
			OK(&k, hec_tensor_slice(&dx, 0, i, 1, &in));
			check_same_bits(&k, "dx", &dgot, &in);
			OK(&k, hec_cross_entropy_fwd(k.ctx, NULL, &xi, &idi, &one.mean, &one.rstd));
			CHECK(&k,
			      get(&one.mean, 0) == get(&losses, i) &&
			              get(&one.rstd, 0) == get(&lse, i),
			      "loss of row %lld", (long long)i);
		}
		kit_close(&k);
	}
}

/* Each sequence of a padded batch against the same sequence by itself: y, dx, dmemory. */
static void layers_have_the_same_bits_alone_and_in_a_padded_batch(void **state)
{
	(void)state;
	for (int kind = 0; kind < LAYER_KINDS; kind++) {
		for (int packed = 0; packed < 2; packed++) {
			kit k = kit_open(3800 + (uint64_t)kind);
			const int64_t B = 3, T = 29, S = 35, C = 32;
			const int32_t lengths[] = {17, 29, 1}, memory_lengths[] = {35, 6, 20};
			layer l;
			layer_open(&l, &k, (layer_kind)kind, HEC_F32, C, 2, 70, 0);
			if (packed)
				layer_pack(&l, k.ctx, k.arena);
			const bool memory = layer_has_memory(l.kind);
			layer_io io = layer_io_open(&l, B, T, S);
			io.mask.query_length = lengths;
			io.mask.key_length = l.kind == LAYER_CROSS ? memory_lengths : lengths;
			io.cross_mask.query_length = lengths;
			io.cross_mask.key_length = memory_lengths;
			for (int64_t b = 0; b < B; b++) /* what is padding takes part in no loss */
				for (int64_t i = lengths[b] * C; i < T * C; i++)
					put(&io.dy, b * T * C + i, 0);
			run_layer(&l, k.ctx, &io, NULL);
			for (int64_t b = 0; b < B; b++) {
				int64_t t = lengths[b], s = memory_lengths[b];
				layer_io one = layer_io_open(&l, 1, t, s);
				one.x = part_of(&k, &io.x, b, 1, t);
				one.dy = part_of(&k, &io.dy, b, 1, t);
				if (memory)
					one.memory = part_of(&k, &io.memory, b, 1, s);
				run_layer(&l, k.ctx, &one, NULL);
				hec_tensor in = part_of(&k, &io.y, b, 1, t);
				check_same_bits(&k, layer_name(l.kind), &one.y, &in);
				in = part_of(&k, &io.dx, b, 1, t);
				check_same_bits(&k, layer_name(l.kind), &one.dx, &in);
				if (memory) {
					in = part_of(&k, &io.dmemory, b, 1, s);
					check_same_bits(&k, layer_name(l.kind), &one.dmemory, &in);
				}
			}
			kit_close(&k);
		}
	}
}

/* ---- token by token ---- */

static void a_step_on_the_cache_is_within_the_bound_of_the_full_pass(void **state)
{
	(void)state;
	kit k = kit_open(3900);
	int64_t equal = 0, rows = 0;
	for (int n = 0; n < 4; n++) {
		problem p;
		const int64_t S = 68, H = 2, G = n < 2 ? 2 : 1, K = n % 2 ? 64 : 20, D = 32;
		problem_open(&p, &k, HEC_F32, 2, S, S, H, G, K, D);
		p.mask.causal = true;
		result all = problem_run(&p, k.ctx);
		definition want = problem_define(&p);
		for (int64_t t = 0; t < S; t += 1 + t / 4) {
			hec_tensor q, keys, v, full, value, bound;
			OK(&k, hec_tensor_slice(&p.q, 1, t, 1, &q));
			OK(&k, hec_tensor_slice(&p.key, 1, 0, t + 1, &keys));
			OK(&k, hec_tensor_slice(&p.v, 1, 0, t + 1, &v));
			hec_tensor out = make(&k, HEC_F32, SHAPE(2, 1, H, D)),
				   cached = make(&k, HEC_F32, SHAPE(2, 1, H, D));
			OK(&k, hec_attention_fwd(k.ctx, NULL, &q, &keys, &v, NULL, &out, NULL));
			/* The same step against a cache with room: the length says how far it is filled. */
			hec_mask mask = HEC_MASK_INIT;
			const int32_t lengths[] = {(int32_t)t + 1, (int32_t)t + 1};
			mask.key_length = lengths;
			mask.causal = true;
			OK(&k,
			   hec_attention_fwd(k.ctx, NULL, &q, &p.key, &p.v, &mask, &cached, NULL));
			check_same_bits(&k, "a step with room in the cache", &cached, &out);
			OK(&k, hec_tensor_slice(&want.value.out, 1, t, 1, &value));
			OK(&k, hec_tensor_slice(&want.bound.out, 1, t, 1, &bound));
			check_within(&k, "a step", &out, &value, &bound);
			OK(&k, hec_tensor_slice(&all.out, 1, t, 1, &full));
			int64_t same = 0, count = hec_tensor_count(&full);
			for (int64_t i = 0; i < count; i++)
				same += get(&full, i) == get(&out, i);
			equal += same == count;
			rows++;
		}
	}
	print_message("  (%lld of %lld steps have the very bits of the full pass)\n",
	              (long long)equal, (long long)rows);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attention_has_the_same_bits_in_any_layout),
		cmocka_unit_test(attention_has_the_same_bits_at_any_number_of_threads),
		cmocka_unit_test(linears_have_the_same_bits_at_any_number_of_threads),
		cmocka_unit_test(small_operations_have_the_same_bits_at_any_number_of_threads),
		cmocka_unit_test(layers_have_the_same_bits_at_any_number_of_threads),
		cmocka_unit_test(many_runs_give_the_same_bits),
		cmocka_unit_test(attention_has_the_same_bits_alone_and_in_a_batch),
		cmocka_unit_test(a_row_of_a_linear_has_the_same_bits_among_any_others),
		cmocka_unit_test(a_row_of_a_norm_or_a_loss_has_the_same_bits_among_any_others),
		cmocka_unit_test(layers_have_the_same_bits_alone_and_in_a_padded_batch),
		cmocka_unit_test(a_step_on_the_cache_is_within_the_bound_of_the_full_pass),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
