/* gemm.c — the loops around a micro-kernel.
 *
 *   for each block of rows (its part of a takes ⅜ of L2)        ┐ a task
 *     for each panel of columns of its group                    ┘
 *       for each part of k (its part of the panel stays in L2)
 *         for each tile of rows: kernel->tile
 *
 * A row-major a is read where it lies; one whose rows lie side by side (dYᵀ) is copied tile by tile.
 * b comes packed ahead, or is packed here: by the task itself where the rows pass over it once, else
 * by all threads together, a few megabytes at a time. */
#include "backend/cpu/gemm.h"

#include "backend/context.h"
#include "backend/cpu/rows.h"
#include "base/cpu.h"
#include "base/size.h"

#define IN_PLACE_ROWS 12        /* so few rows do not pay for packing a row-major b */
#define BLOCK_ROWS 192          /* at most, for each MiB of L2: bounds sums */
#define FETCH_L2 (2 << 20)      /* a core with so much L2 has room for the next panel, too */
#define LINE 64                 /* bytes of a cache line */
#define SHARED_BYTES (4 << 20)  /* of b packed at a time */
#define SHARED_PANELS 4         /* at least, so that the threads meet seldom */
#define OWN_K_BLOCK 256         /* of a panel that a task packs for itself */
#define PACK_K 8                /* of a copied at a time: its cache lines, at any stride */
#define SMALL_WORK (256 * 1024) /* multiply-adds, or floats of b, that one thread does alone */
#define ALIGN 64

typedef struct product {
	const gemm_kernel *kernel;
	const gemm_args *args;
	int64_t M, N, K;
	int64_t tiles;       /* of rows */
	int64_t panels;      /* of columns */
	const float *packed; /* panel `first`, packed ahead or shared; NULL: not packed */
	bool in_place;       /* read b where it lies */
	bool pack_a;
	bool fetch; /* the next panel while the rows pass over one */
	int64_t k_block;
	int64_t block_rows; /* at most, in a block */

	int64_t first, count; /* the panels of this round */
	int64_t blocks, groups;
	int64_t a_offset, sums_offset; /* within a worker's scratch, in floats; its panel is at 0 */
	char *scratch;
	size_t worker_bytes;
} product;

typedef struct span {
	int64_t begin, end;
} span;

/* Part i when 0 … n − 1 is cut into `parts` as evenly as can be. */
static span part(int64_t n, int64_t parts, int64_t i)
{
	return (span){n * i / parts, n * (i + 1) / parts};
}

static float *floats(const hec_tensor *t)
{
	return t->data;
}

static int64_t panel_width(const product *p, int64_t panel)
{
	return min_i64(p->kernel->cols, p->N - panel * p->kernel->cols);
}

static int64_t round_up(int64_t n, int64_t step)
{
	return div_up(n, step) * step;
}

static const float *panel_of_b(const product *p, int64_t panel)
{
	return floats(p->args->b) + panel * p->kernel->cols * p->args->b->stride[1];
}

/* ── one task ─────────────────────────────────────────────────────────────────────────────── */

/* Copies rows `first.begin` … of a, tile after tile; within a tile k is the slow index. Goes over
 * all tiles for a few k at a time, since they share cache lines. */
static void pack_block(const product *p, span tiles, float *out)
{
	const hec_tensor *a = p->args->a;
	int64_t top = part(p->M, p->tiles, tiles.begin).begin;
	for (int64_t k = 0; k < p->K; k += PACK_K) {
		int64_t n = min_i64(PACK_K, p->K - k);
		for (int64_t i = tiles.begin; i < tiles.end; i++) {
			span r = part(p->M, p->tiles, i);
			int64_t rows = r.end - r.begin;
			p->kernel->pack_rows(rows, n, floats(a) + r.begin + k * a->stride[1],
			                     a->stride[1], out + (r.begin - top) * p->K + k * rows);
		}
	}
}

static void place_a(const product *p, gemm_tile *t, span r, int64_t top, int64_t k,
                    const float *packed_a)
{
	const hec_tensor *a = p->args->a;
	if (p->pack_a) {
		t->a_row = 1;
		t->a_k = r.end - r.begin;
		t->a = packed_a + (r.begin - top) * p->K + k * t->a_k;
	} else {
		t->a_row = a->stride[0];
		t->a_k = a->stride[1];
		t->a = p->K ? floats(a) + r.begin * t->a_row + k * t->a_k : NULL;
	}
}

static void place_b(const product *p, gemm_tile *t, int64_t panel, int64_t k, float *own)
{
	const hec_tensor *b = p->args->b;
	t->b_k = round_up(t->cols, p->kernel->step);
	if (p->packed) {
		t->b = p->packed + (panel - p->first) * p->kernel->cols * p->K + k * t->b_k;
		return;
	}
	const float *at = panel_of_b(p, panel) + k * b->stride[0];
	if (p->in_place && t->cols == t->b_k) {
		t->b = at;
		t->b_k = b->stride[0];
		return;
	}
	p->kernel->pack_panel(t->k, t->cols, at, b->stride[0], b->stride[1], own);
	t->b = own;
}

static void place_c(const product *p, gemm_tile *t, int64_t row, int64_t col)
{
	const gemm_args *g = p->args;
	t->c_row = g->c->stride[0];
	t->c = floats(g->c) + row * t->c_row + col;
	if (g->residual) {
		t->residual_row = g->residual->stride[0];
		t->residual = floats(g->residual) + row * t->residual_row + col;
	}
	if (g->pre) {
		t->pre_row = g->pre->stride[0];
		t->pre = floats(g->pre) + row * t->pre_row + col;
	}
}

/* A line of the next panel for each k, by as many of the tiles as it has lines in a k: so it comes bit by
 * bit. Where there are fewer tiles, every second line, or fourth; neighbours come along. */
static void place_ahead(const product *p, gemm_tile *t, int64_t tile, int64_t tiles)
{
	const int64_t lines = t->b_k * (int64_t)sizeof *t->b / LINE;
	const span mine = part(lines, tiles, tile);
	const int64_t panel = p->K * t->b_k;
	t->ahead = 0;
	if (mine.begin == mine.end)
		return;
	t->ahead = (uintptr_t)t->b + (uintptr_t)panel * sizeof *t->b +
	           (uintptr_t)(mine.begin * t->k * LINE);
	t->ahead_k = (uintptr_t)((mine.end - mine.begin) * LINE);
}

static void run_panel(const product *p, span tiles, int64_t panel, bool last, float *scratch)
{
	const gemm_args *g = p->args;
	int64_t top = part(p->M, p->tiles, tiles.begin).begin;
	int64_t col = panel * p->kernel->cols;
	gemm_tile t = {
		.cols = panel_width(p, panel),
		.bias = g->bias ? floats(g->bias) + col : NULL,
		.act = g->act,
		.accumulate = g->accumulate,
		.plain = !g->accumulate && !g->residual && !g->pre && g->act == HEC_ACT_NONE,
	};
	int64_t parts = max_i64(1, div_up(p->K, p->k_block));
	for (int64_t i = 0; i < parts; i++) {
		span k = part(p->K, parts, i);
		t.k = k.end - k.begin;
		t.resume = i > 0;
		t.finish = i == parts - 1;
		place_b(p, &t, panel, k.begin, scratch);
		for (int64_t j = tiles.begin; j < tiles.end; j++) {
			span r = part(p->M, p->tiles, j);
			t.rows = r.end - r.begin;
			t.sums = scratch + p->sums_offset + (r.begin - top) * p->kernel->cols;
			place_a(p, &t, r, top, k.begin, scratch + p->a_offset);
			place_c(p, &t, r.begin, col);
			if (p->fetch && !last)
				place_ahead(p, &t, j - tiles.begin, tiles.end - tiles.begin);
			p->kernel->tile(&t);
		}
	}
}

static void run_task(void *arg, int64_t task, int worker)
{
	const product *p = arg;
	span tiles = part(p->tiles, p->blocks, task / p->groups);
	span panels = part(p->count, p->groups, task % p->groups);
	float *scratch = (float *)(void *)(p->scratch + (size_t)worker * p->worker_bytes);
	if (p->pack_a)
		pack_block(p, tiles, scratch + p->a_offset);
	for (int64_t i = panels.begin; i < panels.end; i++)
		run_panel(p, tiles, p->first + i, i + 1 == panels.end, scratch);
}

/* ── cutting into tasks ───────────────────────────────────────────────────────────────────── */

static bool is_small(const product *p)
{
	return (double)p->N * (double)p->K * (double)p->M < SMALL_WORK &&
	       (double)p->N * (double)p->K < SMALL_WORK;
}

/* What a task costs, in 64ths of a full tile: its tiles; bringing each panel, and its rows of a,
 * into cache or packing them; being handed out. Rough: it need only rank. */
static int64_t task_cost(const product *p, int64_t tiles, int64_t panels)
{
	return panels * (64 * tiles + (p->packed ? 16 : 96)) + tiles * (p->pack_a ? 8 : 1) + 8;
}

/* Chooses blocks and groups so that the threads finish together, as if each took tasks in turn and
 * the last one came half a task late. */
static void cut_into_tasks(product *p, int threads)
{
	int64_t most_tiles = max_i64(1, p->block_rows / p->kernel->rows);
	int64_t least = div_up(p->tiles, most_tiles);
	p->blocks = least;
	p->groups = 1;
	if (threads == 1 || is_small(p))
		return;
	int64_t best = INT64_MAX, most = min_i64(p->tiles, max_i64(2 * least, 2 * threads));
	for (int64_t blocks = least; blocks <= most; blocks += max_i64(1, blocks / 8)) {
		for (int64_t group = p->count; group > 0; group /= 2) {
			int64_t groups = div_up(p->count, group);
			int64_t turns = div_up(blocks * groups, threads);
			int64_t task = task_cost(p, div_up(p->tiles, blocks), group);
			int64_t cost = turns * task + task / 2;
			if (cost < best) {
				best = cost;
				p->blocks = blocks;
				p->groups = groups;
			}
		}
	}
}

/* ── b, packed by all threads together ────────────────────────────────────────────────────── */

typedef struct packing {
	const gemm_kernel *kernel;
	const hec_tensor *b;
	int64_t first; /* panel */
	float *out;
} packing;

static void pack_task(void *arg, int64_t task, int worker)
{
	(void)worker;
	const packing *k = arg;
	const hec_tensor *b = k->b;
	int64_t cols = k->kernel->cols, K = b->shape[0], col = (k->first + task) * cols;
	k->kernel->pack_panel(K, min_i64(cols, b->shape[1] - col), floats(b) + col * b->stride[1],
	                      b->stride[0], b->stride[1], k->out + task * cols * K);
}

static int64_t panels_at_once(const product *p)
{
	int64_t bytes = max_i64(1, p->K) * p->kernel->cols * (int64_t)sizeof(float);
	return min_i64(p->panels, max_i64(SHARED_PANELS, SHARED_BYTES / bytes));
}

/* ── the whole ────────────────────────────────────────────────────────────────────────────── */

/* Lays out a worker's scratch: its panel, its sums, its rows of a; then what is shared. */
static hec_status take_scratch(hec_ctx *ctx, product *p, int64_t shared, float **out)
{
	int64_t threads = pool_threads(ctx_pool(ctx)), cols = p->kernel->cols;
	int64_t panel = p->packed || shared ? 0 : min_i64(p->k_block, p->K) * cols;
	int64_t rows = min_i64(p->M, p->block_rows);
	p->sums_offset = panel;
	p->a_offset = panel + rows * cols;
	size_t own = (size_t)(p->a_offset + (p->pack_a ? rows * p->K : 0)) * sizeof(float), stride;
	if (!size_align(own, ALIGN, &own))
		return fail(HEC_ERR_MEMORY, "gemm: %zu bytes of scratch are too much", own);
	size_t each = ((size_t)shared * sizeof(float) + (size_t)threads - 1) / (size_t)threads;
	HEC_TRY(ctx_scratch(ctx, own + each, &p->scratch, &stride));
	p->worker_bytes = own;
	*out = (float *)(void *)(p->scratch + own * (size_t)threads);
	return HEC_OK;
}

static void run_round(hec_ctx *ctx, product *p)
{
	cut_into_tasks(p, pool_threads(ctx_pool(ctx)));
	pool_run(ctx_pool(ctx), p->blocks * p->groups, run_task, p);
}

/* b is not packed and many blocks of rows pass over it. */
static hec_status run_shared(hec_ctx *ctx, product *p)
{
	int64_t step = panels_at_once(p);
	float *shared;
	HEC_TRY(take_scratch(ctx, p, step * p->kernel->cols * p->K, &shared));
	p->packed = shared;
	p->fetch = false; /* it was packed just now */
	for (p->first = 0; p->first < p->panels; p->first += step) {
		p->count = min_i64(step, p->panels - p->first);
		packing k = {p->kernel, p->args->b, p->first, shared};
		pool_run(ctx_pool(ctx), p->count, pack_task, &k);
		run_round(ctx, p);
	}
	return HEC_OK;
}

static const float nothing; /* stands for b where K = 0, which may have no data */

static product describe_product(const gemm_kernel *kernel, const gemm_args *g)
{
	product p = {
		.kernel = kernel,
		.args = g,
		.M = g->a->shape[0],
		.N = g->b->shape[1],
		.K = g->a->shape[1],
		.k_block = kernel->k_block,
	};
	const hec_packed *packed = g->packed;
	if (packed && packed->data && packed->layout == kernel && packed->k == p.K &&
	    packed->n == p.N)
		p.packed = packed->data;
	if (p.K == 0)
		p.packed = &nothing;
	p.tiles = div_up(p.M, kernel->rows);
	p.panels = p.count = div_up(p.N, kernel->cols);
	p.pack_a = g->a->stride[0] == 1 && g->a->stride[1] != 1 && p.panels > 1;
	int64_t row_bytes = max_i64(1, p.K) * (int64_t)sizeof(float);
	const int64_t l2 = cpu_l2_bytes();
	const int64_t most = max_i64(1, l2 >> 20) * BLOCK_ROWS;
	p.block_rows = max_i64(kernel->rows, min_i64(most, l2 / 8 * 3 / row_bytes));
	p.fetch = p.packed && p.tiles > 1 && l2 >= FETCH_L2;
	return p;
}

bool gemm_fits(const gemm_args *g)
{
	bool one = g->b->shape[1] == 1;
	return (one ||
	        ((g->c->stride[1] == 1) && (!g->residual || g->residual->stride[1] == 1) &&
	         (!g->pre || g->pre->stride[1] == 1) && (!g->bias || g->bias->stride[0] == 1)));
}

hec_status gemm_run(hec_ctx *ctx, const gemm_kernel *kernel, const gemm_args *g)
{
	product p = describe_product(kernel, g);
	if (p.M == 0 || p.N == 0)
		return HEC_OK;
	float *unused;
	if (!p.packed && p.M > p.block_rows)
		return run_shared(ctx, &p);
	if (!p.packed) {
		p.in_place = p.M <= IN_PLACE_ROWS && g->b->stride[1] == 1;
		p.k_block = OWN_K_BLOCK;
	} else if (p.tiles == 1) {
		p.k_block = max_i64(1, p.K);
	}
	HEC_TRY(take_scratch(ctx, &p, 0, &unused));
	run_round(ctx, &p);
	return HEC_OK;
}

/* ── a piece of b, and back again ─────────────────────────────────────────────────────────── */

typedef struct piece {
	const gemm_kernel *kernel;
	const gemm_pack_args *args;
	int64_t first; /* panel */
} piece;

/* What the piece has of one panel. */
static void pack_piece_task(void *arg, int64_t task, int worker)
{
	(void)worker;
	const piece *p = arg;
	const gemm_pack_args *g = p->args;
	const hec_tensor *b = g->b;
	int64_t cols = p->kernel->cols, left = (p->first + task) * cols,
		width = min_i64(cols, g->into->n - left);
	int64_t begin = max_i64(g->n, left), end = min_i64(g->n + b->shape[1], left + width);
	int64_t step = round_up(width, p->kernel->step);
	const float *from = floats(b) + (begin - g->n) * b->stride[1];
	float *to = (float *)(uintptr_t)g->into->data + left * g->into->k + g->k * step;
	if (end - begin == width) {
		p->kernel->pack_panel(b->shape[0], width, from, b->stride[0], b->stride[1], to);
		return;
	}
	for (int64_t j = 0; j < end - begin; j++)
		for (int64_t k = 0; k < b->shape[0]; k++)
			to[k * step + begin - left + j] = from[k * b->stride[0] + j * b->stride[1]];
	for (int64_t k = 0; end == g->into->n && k < b->shape[0]; k++)
		for (int64_t j = width; j < step; j++)
			to[k * step + j] = 0;
}

static hec_status pack_piece(hec_ctx *ctx, const gemm_kernel *kernel, const gemm_pack_args *g)
{
	if (g->b->shape[0] == 0 || g->b->shape[1] == 0)
		return HEC_OK;
	piece p = {kernel, g, g->n / kernel->cols};
	int64_t end = div_up(g->n + g->b->shape[1], kernel->cols);
	pool_run(ctx_pool(ctx), end - p.first, pack_piece_task, &p);
	return HEC_OK;
}

static void unpack_rows(const void *arg, int64_t begin, int64_t end, void *scratch)
{
	(void)scratch;
	const embedding_args *a = arg;
	const hec_packed *p = a->packed;
	const gemm_kernel *kernel = p->layout;
	const float scale = (float)a->scale;
	for (int64_t n = begin; n < end; n++) {
		int64_t id = ((const int32_t *)a->ids->data)[n * a->ids->stride[0]];
		int64_t left = id / kernel->cols * kernel->cols;
		int64_t step = round_up(min_i64(kernel->cols, p->n - left), kernel->step);
		const float *from = (const float *)p->data + left * p->k + id - left;
		float *y = floats(a->y) + n * a->y->stride[0];
		for (int64_t k = 0; k < p->k; k++)
			y[k * a->y->stride[1]] = scale * from[k * step];
	}
}

hec_status gemm_unpack_run(hec_ctx *ctx, const embedding_args *a)
{
	return rows_run(ctx, a->ids->shape[0], 4 * a->packed->k, 0, unpack_rows, a);
}

/* ── packing ahead ────────────────────────────────────────────────────────────────────────── */

hec_status gemm_pack_run(hec_ctx *ctx, const gemm_kernel *kernel, const gemm_pack_args *p)
{
	if (p->into)
		return pack_piece(ctx, kernel, p);
	packing k = {kernel, p->b, 0, p->data};
	int64_t K = p->b->shape[0], N = p->b->shape[1];
	pool_run(ctx_pool(ctx), div_up(N, kernel->cols), pack_task, &k);
	*p->out = (hec_packed){.data = p->data, .k = K, .n = N, .layout = kernel};
	return HEC_OK;
}

size_t gemm_pack_bytes(const gemm_kernel *kernel, int64_t k, int64_t n)
{
	size_t width, count, bytes;
	if (!size_align((size_t)n, (size_t)kernel->step, &width) ||
	    !size_mul(width, (size_t)k, &count) || !size_mul(count, sizeof(float), &bytes))
		return SIZE_MAX;
	return bytes;
}
