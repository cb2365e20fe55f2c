/* attention_product_avx512.c — products of tiles: 4 rows × 64 columns at a time over the shared
 * micro-kernel, narrower at the edges. Only c is masked in a last vector that is not whole. */
#include "backend/cpu/x86/attention_avx512.h"
#include "backend/cpu/x86/tile_f32_avx512.h"

typedef struct block_at {
	int row, col;
	int k0, k1;
	__mmask16 last; /* lanes of the last vector of c */
} block_at;

static inline __attribute__((always_inline)) void block(const int rows, const int vecs,
                                                        const tile_product *p, const block_at *at)
{
	__m512 acc[TILE_ROWS][TILE_VECS];
	float *c = p->c + at->row * p->c_row + at->col;
	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int j = 0; j < vecs; j++) {
			if (!p->add)
				acc[i][j] = _mm512_setzero_ps();
			else if (j == vecs - 1)
				acc[i][j] =
					_mm512_maskz_loadu_ps(at->last, c + i * p->c_row + 16 * j);
			else
				acc[i][j] = _mm512_loadu_ps(c + i * p->c_row + 16 * j);
		}
	}
	if (p->add && p->factor) {
		UNROLL
		for (int i = 0; i < rows; i++) {
			__m512 f = _mm512_set1_ps(p->factor[at->row + i]);
			UNROLL
			for (int j = 0; j < vecs; j++)
				acc[i][j] = _mm512_mul_ps(acc[i][j], f);
		}
	}
	tile_f32_avx512(rows, vecs, at->k1 - at->k0, p->a + at->row * p->a_row + at->k0 * p->a_k,
	                p->a_row, p->a_k, p->b + at->k0 * p->b_k + at->col, p->b_k, 0, 0, acc);
	UNROLL
	for (int i = 0; i < rows; i++) {
		UNROLL
		for (int j = 0; j < vecs; j++) {
			if (j == vecs - 1)
				_mm512_mask_storeu_ps(c + i * p->c_row + 16 * j, at->last,
				                      acc[i][j]);
			else
				_mm512_storeu_ps(c + i * p->c_row + 16 * j, acc[i][j]);
		}
	}
}

#define BLOCK(rows, vecs)                                                                          \
	static void block_##rows##x##vecs(const tile_product *p, const block_at *at)               \
	{                                                                                          \
		block(rows, vecs, p, at);                                                          \
	}
#define BLOCKS(rows) BLOCK(rows, 1) BLOCK(rows, 2) BLOCK(rows, 3) BLOCK(rows, 4)
BLOCKS(1)
BLOCKS(2)
BLOCKS(3)
BLOCKS(4)

#define ROW(rows)                                                                                  \
	{                                                                                          \
		block_##rows##x1, block_##rows##x2, block_##rows##x3, block_##rows##x4             \
	}
static void (*const blocks[ATTENTION_ROWS][TILE_VECS])(const tile_product *, const block_at *) = {
	ROW(1), ROW(2), ROW(3), ROW(4)};

/* Rows i … i + 3 of what will be needed soon, to the second-level cache. */
static inline void fetch(const tile_hint *soon, int i)
{
	for (int r = i; r < i + ATTENTION_ROWS && r < soon->rows; r++) {
		for (int c = 0; c < soon->cols; c += 16)
			_mm_prefetch((const char *)(soon->x + r * soon->row + c), _MM_HINT_T1);
	}
}

void attention_product_f32_avx512(const tile_product *p)
{
	for (int i = 0; i < p->rows; i += ATTENTION_ROWS) {
		int rows = p->rows - i < ATTENTION_ROWS ? p->rows - i : ATTENTION_ROWS;
		block_at at = {i, 0, 0, p->depth, 0xffff};
		int end = p->cols;
		if (p->soon.x)
			fetch(&p->soon, i);
		if (p->depths) {
			at.k0 = p->depths[i / ATTENTION_ROWS].begin;
			at.k1 = p->depths[i / ATTENTION_ROWS].end;
		}
		if (p->columns) {
			at.col = p->columns[i / ATTENTION_ROWS].begin;
			end = p->columns[i / ATTENTION_ROWS].end;
		}
		for (; at.col < end; at.col += 16 * TILE_VECS) {
			int left = end - at.col;
			int vecs = left >= 16 * TILE_VECS ? TILE_VECS : (left + 15) / 16;
			if (left < 16 * vecs)
				at.last = (__mmask16)((1u << (left % 16)) - 1);
			blocks[rows - 1][vecs - 1](p, &at);
		}
	}
}
