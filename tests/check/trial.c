/* trial.c — making operands, pouring them into guarded memory, and looking for damage after. */
#include "trial.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/element.h"

#define GUARD 256          /* bytes before and after */
#define POISON 0x7FF8DEADu /* a NaN as f32, and doubled as f64 */

static void *must_alloc(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
	if (!p) {
		fprintf(stderr, "check: no memory for %zu bytes\n", bytes);
		exit(2);
	}
	return p;
}

uint64_t rng_next(rng *r)
{
	uint64_t z = r->state += 0x9E3779B97F4A7C15u;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

int64_t rng_below(rng *r, int64_t n)
{
	return (int64_t)(rng_next(r) % (uint64_t)n);
}

double rng_uniform(rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

bool rng_chance(rng *r, double p)
{
	return rng_uniform(r) < p;
}

double rng_normal(rng *r)
{
	double u = rng_uniform(r) + 0x1p-54, v = rng_uniform(r);
	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

int64_t rng_size(rng *r, int64_t most)
{
	static const int64_t sizes[] = {1,   2,   3,   5,   6,   7,    8,    11,  12,  13,  15,
	                                16,  17,  23,  31,  32,  33,   48,   63,  64,  65,  97,
	                                127, 128, 129, 193, 255, 256,  257,  383, 384, 385, 511,
	                                512, 513, 767, 768, 769, 1023, 1024, 1025};
	int n = 0;
	while (n < (int)(sizeof sizes / sizeof *sizes) && sizes[n] <= most)
		n++;
	return rng_chance(r, 0.2) ? 1 + rng_below(r, most) : sizes[rng_below(r, n)];
}

double as_f32(double x)
{
	return (double)(float)x;
}

void trial_note(trial *t, const char *format, ...)
{
	size_t n = strlen(t->text);
	va_list list;
	va_start(list, format);
	vsnprintf(t->text + n, sizeof t->text - n, format, list);
	va_end(list);
}

void trial_free(trial *t)
{
	for (int i = 0; i < t->count; i++) {
		free(t->operands[i].value);
		free(t->operands[i].scale);
	}
	t->count = 0;
}

operand *trial_find(trial *t, const char *name)
{
	for (int i = 0; i < t->count; i++) {
		if (strcmp(t->operands[i].name, name) == 0)
			return &t->operands[i];
	}
	return NULL;
}

operand *trial_add_strided(trial *t, const char *name, role role, hec_dtype dtype, int rank,
                           const int64_t *shape, const int64_t *stride)
{
	if (t->count == MAX_OPERANDS) {
		fprintf(stderr, "check: too many operands\n");
		exit(2);
	}
	operand *o = &t->operands[t->count++];
	*o = (operand){.name = name, .role = role, .dtype = dtype, .rank = rank};
	int64_t low = 0, high = 0;
	bool empty = false;
	for (int i = 0; i < HEC_MAX_RANK; i++) {
		o->shape[i] = i < rank ? shape[i] : 1;
		o->stride[i] = i < rank ? stride[i] : 0;
		int64_t reach = (o->shape[i] - 1) * o->stride[i];
		empty |= o->shape[i] == 0;
		low += reach < 0 ? reach : 0;
		high += reach > 0 ? reach : 0;
	}
	o->origin = empty ? 0 : -low;
	o->extent = empty ? 0 : high - low + 1;
	o->shift = t->plain ? 0 : rng_below(&t->r, 16);
	size_t n = (size_t)o->extent;
	o->value = must_alloc(n * sizeof(double));
	o->scale = must_alloc(n * sizeof(double));
	for (size_t i = 0; i < n; i++) {
		o->value[i] = NAN;
		o->scale[i] = 0;
	}
	return o;
}

operand *trial_add(trial *t, const char *name, role role, hec_dtype dtype, layout how, int rank,
                   const int64_t *shape)
{
	int order[HEC_MAX_RANK]; /* axes from the innermost out */
	int64_t stride[HEC_MAX_RANK];
	for (int i = 0; i < rank; i++)
		order[i] = rank - 1 - i;
	bool gaps = false, backwards = false;
	bool any = how == LAYOUT_ANY && !t->plain;
	if (!t->plain && how != LAYOUT_CONTIGUOUS)
		gaps = rng_chance(&t->r, 0.4);
	if (any && rng_chance(&t->r, 0.4)) { /* shuffle: all axes, or all but the last */
		int first = t->rows ? 1 : 0;
		for (int i = rank - 1; i > first; i--) {
			int64_t j = first + rng_below(&t->r, i + 1 - first);
			int swap = order[i];
			order[i] = order[j];
			order[j] = swap;
		}
	}
	backwards = any && !t->rows && rng_chance(&t->r, 0.05);
	int64_t step = any && !t->rows && gaps && rng_chance(&t->r, 0.2) ? 2 : 1;
	for (int i = 0; i < rank; i++) {
		stride[order[i]] = step;
		step *= shape[order[i]] > 0 ? shape[order[i]] : 1;
		step += gaps ? rng_below(&t->r, 6) : 0;
	}
	if (backwards)
		stride[order[0]] = -stride[order[0]];
	return trial_add_strided(t, name, role, dtype, rank, shape, stride);
}

operand *trial_add_1d(trial *t, const char *name, role role, int64_t n)
{
	return trial_add(t, name, role, HEC_F32, LAYOUT_ANY, 1, (int64_t[]){n});
}

operand *trial_add_2d(trial *t, const char *name, role role, int64_t n0, int64_t n1)
{
	return trial_add(t, name, role, HEC_F32, LAYOUT_ANY, 2, (int64_t[]){n0, n1});
}

operand *trial_add_4d(trial *t, const char *name, role role, int64_t n0, int64_t n1, int64_t n2,
                      int64_t n3)
{
	return trial_add(t, name, role, HEC_F32, LAYOUT_ANY, 4, (int64_t[]){n0, n1, n2, n3});
}

void operand_normal(trial *t, operand *o, double mean, double stddev)
{
	EACH_ELEMENT(o, i, j, k, l)
	o->value[at(o, i, j, k, l)] = as_f32(mean + stddev * rng_normal(&t->r));
}

void operand_integers(trial *t, operand *o, int64_t low, int64_t high)
{
	EACH_ELEMENT(o, i, j, k, l)
	o->value[at(o, i, j, k, l)] = (double)(low + rng_below(&t->r, high - low));
}

static hec_dtype dtype_in(const run *r, const operand *o)
{
	return o->dtype == HEC_F32 ? r->dtype : o->dtype;
}

static unsigned char *element(const run *r, int i, int64_t where)
{
	const operand *o = &r->t->operands[i];
	size_t size = hec_dtype_size(dtype_in(r, o));
	return r->memory[i] + GUARD + (size_t)(o->shift + where) * size;
}

void run_make(run *r, const trial *t, hec_dtype dtype)
{
	*r = (run){.t = t, .dtype = dtype};
	for (int i = 0; i < t->count; i++) {
		const operand *o = &t->operands[i];
		hec_dtype type = dtype_in(r, o);
		size_t size = hec_dtype_size(type);
		size_t bytes = 2 * GUARD + (size_t)(o->shift + o->extent) * size;
		bytes = (bytes + 7) / 8 * 8;
		r->bytes[i] = bytes;
		r->memory[i] = must_alloc(bytes);
		r->before[i] = must_alloc(bytes);
		const uint32_t poison = POISON;
		for (size_t b = 0; b < bytes; b += sizeof poison)
			memcpy(r->memory[i] + b, &poison, sizeof poison);
		if (o->role != OUT) {
			EACH_ELEMENT(o, a, b, c, d)
			{
				int64_t where = at(o, a, b, c, d);
				element_put(element(r, i, where), type, o->value[where]);
			}
		}
		memcpy(r->before[i], r->memory[i], bytes);
		r->tensor[i] = (hec_tensor){
			.data = element(r, i, o->origin), .dtype = type, .rank = o->rank};
		memcpy(r->tensor[i].shape, o->shape, sizeof o->shape);
		memcpy(r->tensor[i].stride, o->stride, sizeof o->stride);
	}
}

void run_free(run *r)
{
	for (int i = 0; i < r->t->count; i++) {
		free(r->memory[i]);
		free(r->before[i]);
	}
}

hec_tensor *run_tensor(run *r, const char *name)
{
	for (int i = 0; i < r->t->count; i++) {
		if (strcmp(r->t->operands[i].name, name) == 0)
			return &r->tensor[i];
	}
	return NULL;
}

double run_value(const run *r, int i, int64_t where)
{
	return element_get(element(r, i, where), dtype_in(r, &r->t->operands[i]));
}

static const char *operand_damage(const run *r, int i)
{
	static char text[256];
	const operand *o = &r->t->operands[i];
	size_t size = hec_dtype_size(dtype_in(r, o));
	unsigned char *own = NULL; /* 1 where a byte belongs to an element that may change */
	if (o->role != IN) {
		own = must_alloc(r->bytes[i]);
		memset(own, 0, r->bytes[i]);
		EACH_ELEMENT(o, a, b, c, d)
		{
			unsigned char *p = element(r, i, at(o, a, b, c, d));
			memset(own + (p - r->memory[i]), 1, size);
			bool unwritten = true;
			for (size_t n = 0; n < size; n++)
				unwritten &= p[n] == r->before[i][p - r->memory[i] + (ptrdiff_t)n];
			if (o->role == OUT && size >= 4 && unwritten) {
				snprintf(text, sizeof text,
				         "%s[%lld, %lld, %lld, %lld] was not written", o->name,
				         (long long)a, (long long)b, (long long)c, (long long)d);
				free(own);
				return text;
			}
		}
	}
	for (size_t b = 0; b < r->bytes[i]; b++) {
		if ((own && own[b]) || r->memory[i][b] == r->before[i][b])
			continue;
		long long where = ((long long)b - GUARD) / (long long)size - o->shift;
		snprintf(text, sizeof text, "%s %s was written at element %lld of %lld in memory",
		         o->role == IN ? "the input" : "outside its elements,", o->name, where,
		         (long long)o->extent);
		free(own);
		return text;
	}
	free(own);
	return NULL;
}

const char *run_damage(const run *r)
{
	for (int i = 0; i < r->t->count; i++) {
		const char *text = operand_damage(r, i);
		if (text)
			return text;
	}
	return NULL;
}

bool run_same_bits(const run *a, const run *b)
{
	for (int i = 0; i < a->t->count; i++) {
		if (memcmp(a->memory[i], b->memory[i], a->bytes[i]) != 0)
			return false;
	}
	return true;
}
