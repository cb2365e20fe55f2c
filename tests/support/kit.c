/* kit.c — contexts, random numbers and guarded tensors for tests. */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "support/element.h"

#define GUARD 256 /* bytes on each side; a multiple of 64 keeps the data aligned */
#define GUARD_BYTE 0xA5

struct block {
	block *next;
	unsigned char *memory;
	size_t bytes;
};

kit kit_open_at(uint64_t seed, const char *isa, int threads)
{
	kit k = {.seed = seed};
	const char *text = getenv("HECATE_TEST_SEED");
	if (text && *text)
		k.seed = strtoull(text, NULL, 0);
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	o.isa = isa;
	o.threads = threads;
	OK(&k, hec_ctx_create(&o, &k.ctx));
	OK(&k, hec_arena_create(KIT_ARENA, &k.arena));
	return k;
}

kit kit_open(uint64_t seed)
{
	return kit_open_at(seed, NULL, 0);
}

void kit_check_guards(kit *k)
{
	for (block *b = k->blocks; b; b = b->next) {
		for (size_t i = 0; i < GUARD; i++) {
			CHECK(k, b->memory[i] == GUARD_BYTE,
			      "byte %zu before a tensor of %zu bytes was written", GUARD - i,
			      b->bytes);
			CHECK(k, b->memory[GUARD + b->bytes + i] == GUARD_BYTE,
			      "byte %zu after a tensor of %zu bytes was written", i, b->bytes);
		}
	}
}

void kit_close(kit *k)
{
	kit_check_guards(k);
	for (block *b = k->blocks, *next; b; b = next) {
		next = b->next;
		free(b->memory);
		free(b);
	}
	k->blocks = NULL;
	hec_arena_destroy(k->arena);
	hec_ctx_destroy(k->ctx);
}

void kit_fail(const kit *k, const char *file, int line, const char *format, ...)
{
	char words[2048];
	va_list args;
	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	print_error("%s:%d: %s\n  (HECATE_TEST_SEED=%llu, level %s, %d threads)\n", file, line,
	            words, (unsigned long long)k->seed, k->ctx ? hec_ctx_isa(k->ctx) : "?",
	            k->ctx ? hec_ctx_threads(k->ctx) : 0);
	_fail(file, line);
	abort();
}

void expect_error(const kit *k, const char *file, int line, const char *what, hec_status got,
                  hec_status want, ...)
{
	const char *message = hec_error_message();
	if (got != want)
		kit_fail(k, file, line, "%s\n  gave %s, expected %s; message: %s", what,
		         hec_status_name(got), hec_status_name(want), message);
	va_list words;
	va_start(words, want);
	for (const char *word; (word = va_arg(words, const char *));) {
		if (!strstr(message, word))
			kit_fail(k, file, line, "%s\n  the message does not say \"%s\": %s", what,
			         word, message);
	}
	va_end(words);
}

/* The generator is the one under test in test_base.c, where it meets published answers. */
uint32_t draw(kit *k)
{
	uint64_t n = k->stream++;
	uint32_t counter[4] = {(uint32_t)n, (uint32_t)(n >> 32), 0x7e57, 0}, out[4];
	philox(counter, (const uint32_t[]){(uint32_t)k->seed, (uint32_t)(k->seed >> 32)}, out);
	return out[0];
}

int64_t draw_in(kit *k, int64_t low, int64_t high)
{
	return low + (int64_t)(draw(k) % (uint64_t)(high - low + 1));
}

double draw_unit(kit *k)
{
	return draw(k) / 4294967296.0;
}

double draw_normal(kit *k)
{
	double u = (draw(k) + 0.5) / 4294967296.0,
	       angle = 2 * 3.14159265358979323846 * draw_unit(k);
	return sqrt(-2 * log(u)) * cos(angle);
}

int64_t draw_size(kit *k, int64_t most)
{
	static const int64_t awkward[] = {1,  2,  3,  5,  7,  13, 15, 16,  17,  31,  32, 33,
	                                  47, 48, 49, 63, 64, 65, 97, 127, 128, 129, 131};
	for (int tries = 0; tries < 8; tries++) {
		int64_t n = awkward[draw(k) % (sizeof awkward / sizeof *awkward)];
		if (n <= most)
			return n;
	}
	return draw_in(k, 1, most);
}

hec_tensor make(kit *k, hec_dtype dtype, const int64_t *shape)
{
	hec_tensor t = {.dtype = dtype};
	int64_t count = 1;
	while (shape[t.rank] >= 0) {
		t.shape[t.rank] = shape[t.rank];
		count *= shape[t.rank++];
	}
	for (int i = t.rank - 1; i >= 0; i--)
		t.stride[i] = i == t.rank - 1 ? 1 : t.stride[i + 1] * t.shape[i + 1];
	block *b = malloc(sizeof *b);
	CHECK(k, b, "no memory");
	b->bytes = (size_t)count * hec_dtype_size(dtype);
	size_t total = (b->bytes + 2 * GUARD + 63) / 64 * 64;
	b->memory = aligned_alloc(64, total);
	CHECK(k, b->memory, "no memory for %zu bytes", total);
	memset(b->memory, GUARD_BYTE, total);
	b->next = k->blocks;
	k->blocks = b;
	t.data = b->memory + GUARD;
	poison(&t);
	return t;
}

hec_tensor make_random(kit *k, hec_dtype dtype, const int64_t *shape)
{
	hec_tensor t = make(k, dtype, shape);
	int64_t n = hec_tensor_count(&t);
	for (int64_t i = 0; i < n; i++)
		put(&t, i, draw_normal(k));
	return t;
}

hec_tensor make_zero(kit *k, hec_dtype dtype, const int64_t *shape)
{
	hec_tensor t = make(k, dtype, shape);
	fill_with(&t, 0);
	return t;
}

hec_tensor make_cast(kit *k, hec_dtype dtype, const hec_tensor *x)
{
	int64_t shape[HEC_MAX_RANK + 1];
	for (int i = 0; i < x->rank; i++)
		shape[i] = x->shape[i];
	shape[x->rank] = -1;
	hec_tensor t = make(k, dtype, shape);
	int64_t n = hec_tensor_count(x);
	for (int64_t i = 0; i < n; i++)
		put(&t, i, get(x, i));
	return t;
}

hec_tensor make_copy(kit *k, const hec_tensor *x)
{
	return make_cast(k, x->dtype, x);
}

static char *place(const hec_tensor *x, int64_t index)
{
	int64_t offset = 0;
	for (int i = x->rank - 1; i >= 0; i--) {
		offset += index % x->shape[i] * x->stride[i];
		index /= x->shape[i];
	}
	return (char *)x->data + offset * (int64_t)hec_dtype_size(x->dtype);
}

double get(const hec_tensor *x, int64_t index)
{
	return element_get(place(x, index), x->dtype);
}

void put(const hec_tensor *x, int64_t index, double value)
{
	element_put(place(x, index), x->dtype, value);
}

static int64_t index4(const hec_tensor *x, int64_t i, int64_t j, int64_t k, int64_t l)
{
	return ((i * x->shape[1] + j) * x->shape[2] + k) * x->shape[3] + l;
}

double get4(const hec_tensor *x, int64_t i, int64_t j, int64_t k, int64_t l)
{
	return get(x, index4(x, i, j, k, l));
}

void put4(const hec_tensor *x, int64_t i, int64_t j, int64_t k, int64_t l, double value)
{
	put(x, index4(x, i, j, k, l), value);
}

void fill_with(const hec_tensor *x, double value)
{
	int64_t n = hec_tensor_count(x);
	bool dense = hec_tensor_is_contiguous(x);
	for (int64_t i = 0; i < n; i++) {
		if (dense && x->dtype == HEC_F32) /* the large ones, quickly */
			((float *)x->data)[i] = (float)value;
		else
			put(x, i, value);
	}
}

void poison(const hec_tensor *x)
{
	int64_t n = hec_tensor_count(x);
	if (x->dtype == HEC_F32 || x->dtype == HEC_F64)
		fill_with(x, NAN);
	else
		for (int64_t i = 0; i < n; i++)
			memset(place(x, i), 0x7f, hec_dtype_size(x->dtype));
}

hec_status param_make(void *user, const hec_param *p)
{
	param_list *list = user;
	int64_t shape[HEC_MAX_RANK + 1];
	for (int i = 0; i < p->rank; i++)
		shape[i] = p->shape[i];
	shape[p->rank] = -1;
	CHECK(list->k, list->count < 64, "more than 64 parameters");
	*p->tensor = make_zero(list->k, list->dtype, shape);
	double scale = list->scale == 0 ? 0.4 : list->scale;
	int64_t n = hec_tensor_count(p->tensor);
	for (int64_t i = 0; i < n; i++)
		put(p->tensor, i,
		    list->constant ? list->scale
		                   : (p->init == HEC_INIT_ONE) + scale * draw_normal(list->k));
	snprintf(list->names[list->count], sizeof list->names[0], "%s", p->name);
	list->tensors[list->count++] = p->tensor;
	return HEC_OK;
}
