/* gemm_avx512.c — the f32 product's micro-kernels on AVX-512: tiles of up to 6 × 64 and packing.
 *
 * 24 accumulators, 4 vectors of b and a broadcast fill 29 of 32 registers; each k costs 24 multiply-
 * adds, 4 vector loads and 6 broadcasts, so a core with one 512-bit multiplier a cycle waits for
 * nothing but the multiplier. */
#include "backend/cpu/gemm.h"
#include "backend/cpu/ref/slots.h"
#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/math_avx512.h"
#include "backend/cpu/x86/tile_f32_avx512.h"

#define LANES 16
#define COLS (LANES * TILE_VECS)

static inline __mmask16 lanes(int64_t n)
{
	return first_lanes(n < LANES ? n : LANES);
}

/* ── tiles ────────────────────────────────────────────────────────────────────────────────── */

/* Keeps the compiler from fusing a product before with a sum behind: a residual is added to the
 * same bits that the activation by itself gives. */
static inline __m512 rounded(__m512 x)
{
	__asm__("" : "+v"(x));
	return x;
}

/* From sums to c with all that may lie between; out of line, once for all tiles. */
static __attribute__((noinline)) void finish_tile(const gemm_tile *t)
{
	for (int64_t i = 0; i < t->rows; i++) {
		for (int64_t j = 0; j < t->cols; j += LANES) {
			__mmask16 m = lanes(t->cols - j);
			float *c = t->c + i * t->c_row + j;
			__m512 x = _mm512_loadu_ps(t->sums + i * COLS + j);
			if (t->bias)
				x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(m, t->bias + j));
			if (t->accumulate) {
				x = _mm512_add_ps(_mm512_maskz_loadu_ps(m, c), x);
				_mm512_mask_storeu_ps(c, m, x);
				continue;
			}
			if (t->pre)
				_mm512_mask_storeu_ps(t->pre + i * t->pre_row + j, m, x);
			x = rounded(activation_ps_avx512(t->act, x));
			if (t->residual)
				x = _mm512_add_ps(
					x, _mm512_maskz_loadu_ps(
						   m, t->residual + i * t->residual_row + j));
			_mm512_mask_storeu_ps(c, m, x);
		}
	}
}

TILE_INLINE void store_plain(const int rows, const int vecs, const gemm_tile *t,
                             __m512 acc[TILE_ROWS][TILE_VECS])
{
	__mmask16 last = lanes(t->cols - LANES * (vecs - 1));
	UNROLL
	for (int j = 0; j < vecs; j++) {
		__mmask16 m = j == vecs - 1 ? last : lanes(LANES);
		if (t->bias) {
			__m512 bias = _mm512_maskz_loadu_ps(m, t->bias + LANES * j);
			UNROLL
			for (int i = 0; i < rows; i++)
				acc[i][j] = _mm512_add_ps(acc[i][j], bias);
		}
		UNROLL
		for (int i = 0; i < rows; i++)
			_mm512_mask_storeu_ps(t->c + i * t->c_row + LANES * j, m, acc[i][j]);
	}
}

TILE_INLINE void run_tile(const int rows, const int vecs, const gemm_tile *t)
{
	__m512 acc[TILE_ROWS][TILE_VECS];
	float *sums = t->sums;
	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int j = 0; j < vecs; j++)
			acc[i][j] = t->resume ? _mm512_loadu_ps(sums + i * COLS + LANES * j)
			                      : _mm512_setzero_ps();
	}
	if (t->finish) { /* c comes while the sums are made */
		UNROLL
		for (int i = 0; i < rows; i++) {
			UNROLL
			for (int j = 0; j < vecs; j++)
				_mm_prefetch((const char *)(t->c + i * t->c_row + LANES * j),
				             _MM_HINT_T0);
		}
	}
	tile_f32_avx512(rows, vecs, t->k, t->a, t->a_row, t->a_k, t->b, t->b_k, t->ahead,
	                t->ahead_k, acc);
	if (t->finish && t->plain) {
		store_plain(rows, vecs, t, acc);
		return;
	}
	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int j = 0; j < vecs; j++)
			_mm512_storeu_ps(sums + i * COLS + LANES * j, acc[i][j]);
	}
	if (t->finish)
		finish_tile(t);
}

#define TILE(rows, vecs)                                                                           \
	static void gemm_f32_avx512_##rows##x##vecs(const gemm_tile *t)                            \
	{                                                                                          \
		run_tile(rows, vecs, t);                                                           \
	}
#define TILES(rows) TILE(rows, 1) TILE(rows, 2) TILE(rows, 3) TILE(rows, 4)
TILES(1)
TILES(2)
TILES(3)
TILES(4)
TILES(5)
TILES(6)

#define ROW(rows)                                                                                  \
	{                                                                                          \
		gemm_f32_avx512_##rows##x1, gemm_f32_avx512_##rows##x2,                            \
			gemm_f32_avx512_##rows##x3, gemm_f32_avx512_##rows##x4                     \
	}

static void (*const tiles[TILE_ROWS][TILE_VECS])(const gemm_tile *) = {ROW(1), ROW(2), ROW(3),
                                                                       ROW(4), ROW(5), ROW(6)};

static void tile_any(const gemm_tile *t)
{
	tiles[t->rows - 1][(t->cols - 1) / LANES](t);
}

/* ── packing ──────────────────────────────────────────────────────────────────────────────── */

/* Rows that lie pages apart are not foreseen by the hardware: the copies say what they will read. */
#define A_AHEAD 16 /* k */
#define B_AHEAD 8

/* The address may lie beyond the tensor: it is made as a number, and fetching it does no harm. */
static inline void fetch(const float *p, int64_t k, int64_t stride)
{
	uintptr_t at = (uintptr_t)p + (uintptr_t)(k * stride) * sizeof *p;
	_mm_prefetch((const char *)at, _MM_HINT_T0);
}

static void pack_row_major(int64_t k, int64_t cols, const float *b, int64_t b_k, float *out)
{
	for (int64_t i = 0; i < k; i++) {
		for (int64_t j = 0; j < cols; j += LANES)
			fetch(b + j, B_AHEAD, b_k);
		for (int64_t j = 0; j < cols; j += LANES, out += LANES)
			_mm512_storeu_ps(out, _mm512_maskz_loadu_ps(lanes(cols - j), b + j));
		b += b_k;
	}
}

/* out[k][16] = in[16][k], both with rows `stride` apart. */
static inline void transpose_16x16(__m512 r[LANES])
{
	__m512 t[LANES];
	UNROLL
	for (int i = 0; i < LANES; i += 2) { /* pairs of rows interleaved */
		t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
	}
	UNROLL
	for (int i = 0; i < LANES; i += 4) { /* four rows of one column in each quarter */
		r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
		r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
		r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
		r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
	}
	UNROLL
	for (int i = 0; i < 4; i++) { /* quarters of rows 0–7 and 8–15 brought together */
		t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
		t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
		t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
		t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
	}
	UNROLL
	for (int i = 0; i < 4; i++) {
		r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
		r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
		r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
		r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
	}
}

TILE_INLINE void pack_16_columns(int64_t k, const float *b, int64_t b_col, float *out,
                                 int64_t width)
{
	int64_t i = 0;
	__m512 r[LANES];
	for (; i + LANES <= k; i += LANES) {
		UNROLL
		for (int j = 0; j < LANES; j++)
			r[j] = _mm512_loadu_ps(b + j * b_col + i);
		transpose_16x16(r);
		UNROLL
		for (int j = 0; j < LANES; j++)
			_mm512_storeu_ps(out + (i + j) * width, r[j]);
	}
	if (i == k)
		return;
	__mmask16 m = lanes(k - i);
	UNROLL
	for (int j = 0; j < LANES; j++)
		r[j] = _mm512_maskz_loadu_ps(m, b + j * b_col + i);
	transpose_16x16(r);
	UNROLL
	for (int j = 0; j < LANES; j++) {
		if (i + j < k)
			_mm512_storeu_ps(out + (i + j) * width, r[j]);
	}
}

static void pack_any(int64_t k, int64_t cols, const float *b, int64_t b_k, int64_t b_col,
                     float *out, int64_t width)
{
	for (int64_t i = 0; i < k; i++) {
		for (int64_t j = 0; j < cols; j++)
			out[i * width + j] = b[i * b_k + j * b_col];
		for (int64_t j = cols; j < LANES * ((cols + LANES - 1) / LANES); j++)
			out[i * width + j] = 0;
	}
}

static void pack_panel(int64_t k, int64_t cols, const float *b, int64_t b_k, int64_t b_col,
                       float *out)
{
	int64_t width = (cols + LANES - 1) / LANES * LANES;
	if (b_col == 1) {
		pack_row_major(k, cols, b, b_k, out);
		return;
	}
	int64_t j = 0;
	for (; b_k == 1 && j + LANES <= cols; j += LANES)
		pack_16_columns(k, b + j * b_col, b_col, out + j, width);
	if (j < cols)
		pack_any(k, cols - j, b + j * b_col, b_k, b_col, out + j, width);
}

static void pack_rows(int64_t rows, int64_t k, const float *a, int64_t a_k, float *out)
{
	__mmask8 m = (__mmask8)((1u << rows) - 1);
	for (int64_t i = 0; i < k; i++)
		fetch(a, i + A_AHEAD, a_k);
	for (int64_t i = 0; i < k; i++)
		_mm256_mask_storeu_ps(out + i * rows, m, _mm256_maskz_loadu_ps(m, a + i * a_k));
}

/* ── the slots ────────────────────────────────────────────────────────────────────────────── */

static const gemm_kernel kernel = {
	.rows = TILE_ROWS,
	.cols = COLS,
	.step = LANES,
	.k_block = 1536,
	.tile = tile_any,
	.pack_panel = pack_panel,
	.pack_rows = pack_rows,
};

static hec_status gemm_f32_avx512(hec_ctx *ctx, const gemm_args *g)
{
	if (!gemm_fits(g))
		return gemm_f32_ref(ctx, g);
	return gemm_run(ctx, &kernel, g);
}

static hec_status gemm_pack_f32_avx512(hec_ctx *ctx, const gemm_pack_args *p)
{
	return gemm_pack_run(ctx, &kernel, p);
}

static size_t gemm_pack_size_f32_avx512(int64_t k, int64_t n)
{
	return gemm_pack_bytes(&kernel, k, n);
}

void gemm_f32_avx512_fill(backend_ops *ops)
{
	ops->gemm = gemm_f32_avx512;
	ops->gemm_pack = gemm_pack_f32_avx512;
	ops->gemm_pack_size = gemm_pack_size_f32_avx512;
	ops->gemm_layout = &kernel;
}
