/* formula.c — logits from a hash of the first and the last two tokens. */
#include "support/formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t mix(uint32_t h)
{
	h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
	h = (h ^ (h >> 13)) * 0xC2B2AE35u;
	return h ^ (h >> 16);
}

void formula_logits(const int32_t *ids, int64_t n, int64_t vocab, int32_t end, float *x)
{
	uint32_t before = n > 1 ? (uint32_t)ids[n - 2] : 0;
	uint32_t h = mix((uint32_t)ids[0] * 31u + 1u);
	h = mix(h + (uint32_t)ids[n - 1] * 0x9E3779B1u);
	h = mix(h + before % 3 * 0x85EBCA77u);
	for (int64_t v = 0; v < vocab; v++)
		x[v] = (float)(mix(h + (uint32_t)v * 0x27D4EB2Fu) >> 8) * 0x1p-24f * 7;
	x[end] += (float)n * 0.4f - 2;
}

static hec_status add(void *user, int64_t n, const int32_t *ids, int64_t width,
                      const int32_t *length)
{
	formula *f = user;
	CHECK(f->k, n > 0 && f->live + n <= f->engine.sources, "%lld sources beside %lld",
	      (long long)n, (long long)f->live);
	for (int64_t i = 0; i < n; i++)
		CHECK(f->k, length[i] >= 1 && length[i] <= width && ids[i * width] >= 0,
		      "source %lld has length %d of %lld", (long long)i, length[i],
		      (long long)width);
	for (int64_t r = f->live * f->engine.beams; r < (f->live + n) * f->engine.beams; r++)
		f->length[r] = 0;
	f->live += n;
	f->adds++;
	if (f->live > f->most_live)
		f->most_live = f->live;
	return HEC_OK;
}

static hec_status step(void *user, int64_t rows, int64_t T, const int32_t *ids,
                       const int32_t *count, float **logits)
{
	formula *f = user;
	int64_t V = f->engine.vocab;
	CHECK(f->k, rows == f->live * f->engine.beams, "%lld rows of %lld sources", (long long)rows,
	      (long long)f->live);
	for (int64_t r = 0; r < rows; r++) {
		CHECK(f->k, count[r] >= 1 && count[r] <= T, "row %lld is fed %d of %lld",
		      (long long)r, count[r], (long long)T);
		CHECK(f->k, f->length[r] + count[r] <= f->engine.max_target, "row %lld overflows",
		      (long long)r);
		memcpy(f->rows[r] + f->length[r], ids + r * T, (size_t)count[r] * sizeof *ids);
		f->length[r] += count[r];
		formula_logits(f->rows[r], f->length[r], V, f->end, f->logits + r * V);
		if (f->broken)
			f->logits[r * V + V / 2] = NAN;
	}
	f->steps++;
	*logits = f->logits;
	return HEC_OK;
}

static hec_status reorder(void *user, const int32_t *from)
{
	formula *f = user;
	static int32_t old[FORMULA_ROWS][FORMULA_LENGTH];
	memcpy(old, f->rows, sizeof old);
	for (int64_t r = 0; r < f->live * f->engine.beams; r++) {
		CHECK(f->k, from[r] / f->engine.beams == r / f->engine.beams,
		      "row %lld from row %d of another source", (long long)r, from[r]);
		memcpy(f->rows[r], old[from[r]], sizeof old[0]);
	}
	return HEC_OK;
}

static hec_status keep(void *user, const int64_t *kept, int64_t n)
{
	formula *f = user;
	int64_t beams = f->engine.beams;
	for (int64_t i = 0; i < n; i++) {
		CHECK(f->k, kept[i] >= i && kept[i] < f->live && (i == 0 || kept[i] > kept[i - 1]),
		      "source %lld is kept at %lld", (long long)kept[i], (long long)i);
		for (int64_t b = 0; b < beams; b++) {
			f->length[i * beams + b] = f->length[kept[i] * beams + b];
			memmove(f->rows[i * beams + b], f->rows[kept[i] * beams + b],
			        sizeof f->rows[0]);
		}
	}
	f->live = n;
	return HEC_OK;
}

void formula_open(formula *f, const kit *k, int64_t vocab, int64_t sources, int64_t beams,
                  int64_t max_target, int32_t end)
{
	CHECK(k, sources * beams <= FORMULA_ROWS && max_target <= FORMULA_LENGTH, "too large");
	memset(f, 0, sizeof *f);
	f->k = k;
	f->end = end;
	f->logits = malloc((size_t)(sources * beams * vocab) * sizeof(float));
	f->engine = (engine){.ctx = k->ctx,
	                     .user = f,
	                     .vocab = vocab,
	                     .sources = sources,
	                     .beams = beams,
	                     .max_source = max_target,
	                     .max_target = max_target,
	                     .start_id = -1,
	                     .eos_id = end,
	                     .add = add,
	                     .step = step,
	                     .reorder = reorder,
	                     .keep = keep};
}

void formula_close(formula *f)
{
	free(f->logits);
}
