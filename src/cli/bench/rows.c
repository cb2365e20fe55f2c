/* rows.c — operations that do little with each number: their ceiling is how fast memory
 * moves. Every byte that must be read or written counts once; shapes are larger than the caches. */
#include "cli/bench/case.h"

typedef struct row_state {
	hec_tensor x, y, dy, dx, ids, targets, lse, losses, table;
	hec_tensor m, v, w;
	hec_norm norm, grad;
	hec_norm_kept kept;
	hec_embedding embedding;
	int64_t step;
} row_state;

static hec_status open_state(bench_case *c, double floats, row_state **out)
{
	TRY(case_open(c, 4 * floats + (1 << 20)));
	TRY(hec_arena_alloc(c->arena, sizeof **out, (void **)out));
	**out = (row_state){.step = 0};
	c->state = *out;
	c->memory = true;
	return HEC_OK;
}

static void set_row_shape(bench_case *c, char width, int64_t n, int64_t w, int64_t shape[2])
{
	shape_default(&c->shape, 'N', n);
	shape_default(&c->shape, width, w);
	shape[0] = shape_get(&c->shape, 'N');
	shape[1] = shape_get(&c->shape, width);
}

static hec_status ids_tensor(bench_case *c, int64_t n, int64_t below, hec_tensor *out)
{
	TRY(hec_arena_tensor(c->arena, HEC_I32, 1, &n, out));
	for (int64_t i = 0; i < n; i++)
		((int32_t *)out->data)[i] = (int32_t)((uint64_t)i * 2654435761u % (uint64_t)below);
	return HEC_OK;
}

static hec_status norm_open(bench_case *c, int64_t copies, row_state **out)
{
	int64_t shape[2];
	set_row_shape(c, 'C', 16384, 1024, shape);
	double N = (double)shape[0], W = (double)shape[1];
	TRY(open_state(c, N * (W * (double)copies + 2) + 8 * W, out));
	row_state *s = *out;
	s->norm = (hec_norm){.kind = HEC_NORM_LAYER, .eps = 1e-5};
	TRY(case_normal(c, 1, &shape[1], &s->norm.gamma));
	TRY(case_normal(c, 1, &shape[1], &s->norm.beta));
	TRY(case_normal(c, 1, &shape[0], &s->kept.mean));
	TRY(case_normal(c, 1, &shape[0], &s->kept.rstd));
	TRY(case_normal(c, 2, shape, &s->x));
	TRY(case_normal(c, 2, shape, &s->y));
	c->bytes = 8.0 * (double)shape[0] * (double)shape[1];
	return HEC_OK;
}

static hec_status norm_call(bench_case *c, int64_t i)
{
	row_state *s = c->state;
	(void)i;
	return hec_norm_fwd(c->ctx, &s->norm, &s->x, &s->y, &s->kept);
}

hec_status norm_setup(bench_case *c)
{
	row_state *s;
	TRY(norm_open(c, 2, &s));
	c->call = norm_call;
	return HEC_OK;
}

static hec_status norm_bwd_call(bench_case *c, int64_t i)
{
	row_state *s = c->state;
	(void)i;
	return hec_norm_bwd(c->ctx, &s->norm, &s->y, &s->x, &s->kept, &s->dx, &s->grad);
}

hec_status norm_bwd_setup(bench_case *c)
{
	row_state *s;
	TRY(norm_open(c, 3, &s));
	TRY(case_normal(c, 2, s->x.shape, &s->dx));
	s->grad = s->norm;
	TRY(case_normal(c, 1, s->norm.gamma.shape, &s->grad.gamma));
	TRY(case_normal(c, 1, s->norm.gamma.shape, &s->grad.beta));
	TRY(norm_call(c, 0)); /* mean and rstd; y then serves as dy */
	c->bytes *= 2;        /* reads dy, x and dx, writes dx */
	c->call = norm_bwd_call;
	return HEC_OK;
}

static hec_status activation_open(bench_case *c, int64_t copies, row_state **out)
{
	int64_t shape[2];
	set_row_shape(c, 'F', 16384, 2048, shape);
	TRY(open_state(c, (double)shape[0] * (double)shape[1] * (double)copies, out));
	TRY(case_normal(c, 2, shape, &(*out)->x));
	TRY(case_normal(c, 2, shape, &(*out)->y));
	c->bytes = 4.0 * (double)copies * (double)shape[0] * (double)shape[1];
	return HEC_OK;
}

static hec_status activation_call(bench_case *c, int64_t i)
{
	row_state *s = c->state;
	(void)i;
	return hec_activation_fwd(c->ctx, HEC_ACT_GELU, &s->x, &s->y);
}

hec_status activation_setup(bench_case *c)
{
	row_state *s;
	TRY(activation_open(c, 2, &s));
	c->call = activation_call;
	return HEC_OK;
}

static hec_status activation_bwd_call(bench_case *c, int64_t i)
{
	row_state *s = c->state;
	(void)i;
	return hec_activation_bwd(c->ctx, HEC_ACT_GELU, &s->y, &s->x, &s->dx);
}

hec_status activation_bwd_setup(bench_case *c)
{
	row_state *s;
	TRY(activation_open(c, 3, &s));
	TRY(case_tensor(c, 2, s->x.shape, &s->dx));
	c->call = activation_bwd_call;
	return HEC_OK;
}

static hec_status loss_call(bench_case *c, int64_t i)
{
	row_state *s = c->state;
	(void)i;
	hec_cross_entropy options = HEC_CROSS_ENTROPY_INIT;
	options.smoothing = 0.1;
	return hec_cross_entropy_fwd(c->ctx, &options, &s->x, &s->targets, &s->losses, &s->lse);
}

static hec_status loss_bwd_call(bench_case *c, int64_t i)
{
	row_state *s = c->state;
	(void)i;
	hec_cross_entropy options = HEC_CROSS_ENTROPY_INIT;
	options.smoothing = 0.1;
	return hec_cross_entropy_bwd(c->ctx, &options, &s->x, &s->targets, &s->lse, 1e-3, &s->dx);
}

static hec_status loss_open(bench_case *c, int64_t copies, row_state **out)
{
	int64_t shape[2];
	set_row_shape(c, 'V', 1024, 32000, shape);
	double N = (double)shape[0], V = (double)shape[1];
	TRY(open_state(c, N * ((double)copies * V + 8), out));
	row_state *s = *out;
	TRY(case_normal(c, 2, shape, &s->x));
	TRY(ids_tensor(c, shape[0], shape[1], &s->targets));
	TRY(case_tensor(c, 1, shape, &s->losses));
	TRY(case_tensor(c, 1, shape, &s->lse));
	c->bytes = 4.0 * (double)copies * (double)shape[0] * (double)shape[1];
	return HEC_OK;
}

hec_status cross_entropy_setup(bench_case *c)
{
	row_state *s;
	TRY(loss_open(c, 1, &s));
	c->call = loss_call;
	return HEC_OK;
}

hec_status cross_entropy_bwd_setup(bench_case *c)
{
	row_state *s;
	TRY(loss_open(c, 2, &s));
	TRY(case_tensor(c, 2, s->x.shape, &s->dx));
	TRY(loss_call(c, 0));
	c->call = loss_bwd_call;
	return HEC_OK;
}

static hec_status adamw_call(bench_case *c, int64_t i)
{
	row_state *s = c->state;
	(void)i;
	hec_adamw options = HEC_ADAMW_INIT;
	return hec_adamw_step(c->ctx, &options, ++s->step, &s->dx, &s->m, &s->v, &s->w);
}

hec_status adamw_setup(bench_case *c)
{
	row_state *s;
	shape_default(&c->shape, 'N', 16 << 20);
	int64_t n = shape_get(&c->shape, 'N');
	TRY(open_state(c, 4 * (double)n, &s));
	TRY(case_normal(c, 1, &n, &s->dx));
	TRY(case_tensor(c, 1, &n, &s->m));
	TRY(case_tensor(c, 1, &n, &s->v));
	TRY(case_normal(c, 1, &n, &s->w));
	TRY(hec_tensor_fill(c->ctx, 0, &s->m));
	TRY(hec_tensor_fill(c->ctx, 0, &s->v));
	c->bytes = 28.0 * (double)n; /* reads four, writes three */
	c->call = adamw_call;
	return HEC_OK;
}

static hec_status embedding_call(bench_case *c, int64_t i)
{
	row_state *s = c->state;
	(void)i;
	return hec_embedding_fwd(c->ctx, &s->embedding, &s->ids, &s->y);
}

static hec_status embedding_bwd_call(bench_case *c, int64_t i)
{
	row_state *s = c->state;
	(void)i;
	return hec_embedding_bwd(c->ctx, &s->embedding, &s->y, &s->ids, &s->table);
}

hec_status embedding_setup(bench_case *c)
{
	int64_t shape[2];
	shape_default(&c->shape, 'V', 32000);
	set_row_shape(c, 'C', 32768, 512, shape);
	int64_t V = shape_get(&c->shape, 'V');
	double N = (double)shape[0];
	row_state *s;
	TRY(open_state(c, (2 * (double)V + N) * (double)shape[1] + N, &s));
	TRY(case_normal(c, 2, (int64_t[]){V, shape[1]}, &s->embedding.table));
	TRY(case_normal(c, 2, shape, &s->y));
	TRY(ids_tensor(c, shape[0], V, &s->ids));
	s->embedding.scale = 1;
	s->embedding.padding_id = -1;
	c->bytes = 8.0 * (double)shape[0] * (double)shape[1];
	c->call = embedding_call;
	return HEC_OK;
}

hec_status embedding_bwd_setup(bench_case *c)
{
	TRY(embedding_setup(c));
	row_state *s = c->state;
	TRY(case_normal(c, 2, s->embedding.table.shape, &s->table));
	c->bytes *= 1.5; /* reads dy and the table's gradient, writes it */
	c->call = embedding_bwd_call;
	return HEC_OK;
}
