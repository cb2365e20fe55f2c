/* fuzz_attention.c — bytes become shapes, strides, masks and options of an attention call, forward
 * and backward. Whatever they say, the call returns a status: it never crashes, never reads or
 * writes outside the memory that the shapes and strides describe (each tensor has exactly that
 * much), and never accepts a tensor that cannot be. */
#include <hecate/attention.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_WORK (1 << 18) /* elements of a tensor, products of one call: keep each run short */
#define TENSORS 16

typedef struct input {
	const uint8_t *at;
	size_t left;
} input;

static uint8_t take(input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static uint8_t take_of(input *in, uint8_t n)
{
	return (uint8_t)(take(in) % n);
}

/* Mostly small, sometimes around the edges of tiles, rarely absurd. */
static int64_t take_size(input *in)
{
	static const int64_t edges[] = {15, 16, 17, 31, 32, 33, 63, 64, 65, 129};
	static const int64_t absurd[] = {-1, INT64_MIN, INT64_MAX, (int64_t)1 << 31,
	                                 (int64_t)1 << 62};
	uint8_t b = take(in);
	if (b < 200)
		return b % 9;
	if (b < 250)
		return edges[b % 10];
	return absurd[b % 5];
}

static double take_double(input *in)
{
	static const double values[] = {0,     1,      -1,    0.5,   0.1, 0.999, 1e-40, 1e38,
	                                -1e38, 1e-300, 1e300, -1e30, 3,   7,     2,     0.25};
	uint8_t b = take(in);
	if (b >= 240)
		return b >= 250 ? (double)NAN : b & 1 ? (double)INFINITY : -(double)INFINITY;
	return values[b % 16];
}

static int32_t take_int(input *in)
{
	static const int32_t absurd[] = {INT32_MIN, INT32_MAX, -1, 1 << 30};
	uint8_t b = take(in);
	return b < 240 ? (int32_t)(b % 12) - 2 : absurd[b % 4];
}

/* ---- tensors with exactly the memory that they describe ---- */

typedef struct memory {
	void *blocks[TENSORS + 8];
	int count;
	int huge;     /* tensors with an axis beyond MAX_WORK */
	bool too_big; /* a right description of more than this test wants to touch */
	bool wrong;   /* a description that no call may accept */
} memory;

static void *hold(memory *m, size_t bytes)
{
	void *p = malloc(bytes);
	if (!p)
		abort();
	m->blocks[m->count++] = p;
	return p;
}

static void set_strides(hec_tensor *t, int kind)
{
	static const int orders[4][4] = {{3, 2, 1, 0}, {3, 1, 2, 0}, {0, 1, 2, 3}, {2, 3, 0, 1}};
	int64_t step = kind & 4 ? 3 : 1;
	for (int i = 0; i < 4; i++) {
		int axis = orders[kind & 3][i];
		if (axis >= t->rank)
			continue;
		t->stride[axis] = step;
		int64_t n = t->shape[axis] > 1 ? t->shape[axis] : 1;
		if (__builtin_mul_overflow(step, n, &step))
			step = 1;
	}
	if (kind & 8)
		t->stride[kind >> 4 & 3] *= -1;
}

/* Gives t the memory it describes, filled with numbers that hurt. */
static void give_memory(memory *m, hec_tensor *t, uint8_t seed)
{
	size_t each = hec_dtype_size(t->dtype);
	bool wrong = each == 0 || t->rank < 1 || t->rank > HEC_MAX_RANK, huge = false;
	for (int i = 0; !wrong && i < t->rank; i++) {
		wrong = t->shape[i] < 0;
		huge = huge || t->shape[i] > MAX_WORK;
	}
	/* Each dimension is a dimension of two tensors at least: a huge one that stands alone fits
	 * nothing. A second may fit the first, and then there is no such memory. */
	if (huge && m->huge++ > 0)
		m->too_big = true;
	if (wrong || huge) {
		m->wrong = true;
		t->data = hold(m, 8);
		return;
	}
	int64_t low = 0, high = 0, count = 1;
	for (int i = 0; i < t->rank; i++) {
		count *= t->shape[i];
		if (count > MAX_WORK) {
			m->too_big = true;
			return;
		}
	}
	for (int i = 0; i < t->rank && count > 0; i++) {
		int64_t reach = (t->shape[i] - 1) * t->stride[i];
		*(reach < 0 ? &low : &high) += reach;
	}
	if (high - low > MAX_WORK) {
		m->too_big = true;
		return;
	}
	size_t n = count ? (size_t)(high - low + 1) : 0;
	char *base = hold(m, n * each);
	t->data = base + (size_t)-low * each;
	static const float values[] = {0.5f,  -0.25f, 1,         2,   -1,     0.125f,
	                               1e38f, -1e38f, -INFINITY, NAN, 1e-40f, INFINITY};
	int kinds = seed & 64 ? 12 : seed & 128 ? 9 : 6;
	for (size_t i = 0; i < n; i++) {
		unsigned word = ((unsigned)i * 2654435761u) ^ (seed * 40503u);
		float value = values[(word >> 7) % (unsigned)kinds];
		if (t->dtype == HEC_F32)
			memcpy(base + i * each, &value, sizeof value);
		else if (t->dtype == HEC_F64)
			memcpy(base + i * each, &(double){(double)value}, sizeof(double));
		else
			memset(base + i * each, (int)(word >> 9 & 1), each);
	}
}

/* A tensor of this shape; a byte may spoil the type, the rank, an axis or the strides. */
static hec_tensor take_tensor(input *in, memory *m, hec_dtype dtype, int rank, const int64_t *shape,
                              bool written)
{
	hec_tensor t = {.dtype = dtype, .rank = rank};
	memcpy(t.shape, shape, (size_t)rank * sizeof *shape);
	uint8_t spoil = take(in);
	if (spoil == 255) {
		t.dtype = (hec_dtype)take_of(in, 9);
	} else if (spoil == 254) {
		t.rank = (int32_t)take(in) - 2;
	} else if (spoil >= 250) {
		int axis = take_of(in, (uint8_t)rank);
		t.shape[axis] = take_size(in);
	}
	set_strides(&t, spoil >= 128 ? take(in) : 0);
	if (!written && spoil >= 200 && spoil < 210)
		t.stride[spoil & 3] = 0;
	give_memory(m, &t, take(in));
	return t;
}

/* ---- the mask ---- */

static const int32_t *take_lengths(input *in, memory *m, int64_t B)
{
	if (take_of(in, 3) != 0 || B < 0 || B > MAX_WORK)
		return NULL;
	int32_t *n = hold(m, (size_t)B * sizeof *n);
	for (int64_t b = 0; b < B; b++)
		n[b] = take_int(in);
	return n;
}

static hec_tensor take_broadcast(input *in, memory *m, hec_dtype dtype, const int64_t shape[4])
{
	uint8_t ones = take(in);
	int64_t of[4];
	for (int i = 0; i < 4; i++)
		of[i] = ones >> i & 1 ? 1 : shape[i];
	bool wrong = m->wrong;
	hec_tensor t = take_tensor(in, m, dtype, 4, of, false);
	if (t.rank == 0) /* that is how an absent one looks */
		m->wrong = wrong;
	return t;
}

static hec_mask take_mask(input *in, memory *m, hec_dtype dtype, const int64_t scores[4])
{
	hec_mask mask = HEC_MASK_INIT;
	uint8_t what = take(in);
	mask.causal = what & 1;
	if (what & 2)
		mask.window = take_size(in);
	mask.causal_offset = take_lengths(in, m, scores[0]);
	mask.query_length = take_lengths(in, m, scores[0]);
	mask.key_length = take_lengths(in, m, scores[0]);
	if (what & 4)
		mask.visible = take_broadcast(in, m, HEC_I8, scores);
	if (what & 8)
		mask.bias = take_broadcast(in, m, dtype, scores);
	if ((what & 0xf0) == 0xf0)
		mask.size = take(in) * 8u;
	return mask;
}

static hec_attention_desc take_desc(input *in)
{
	hec_attention_desc desc = HEC_ATTENTION_DESC_INIT;
	uint8_t what = take(in);
	if (what & 1)
		desc.scale = take_double(in);
	if (what & 2) {
		desc.dropout.p = take_double(in);
		desc.dropout.site = take(in);
		desc.dropout.key.seed = take(in);
	}
	if ((what & 0xf0) == 0xf0)
		desc.size = take(in) * 8u;
	return desc;
}

/* ---- the calls ---- */

/* A struct that claims to be longer than it is known must be so long. */
typedef union long_mask {
	hec_mask mask;
	char bytes[256 * 8];
} long_mask;

typedef union long_desc {
	hec_attention_desc desc;
	char bytes[256 * 8];
} long_desc;

/* A malformed tensor that was accepted is as bad as a crash. */
static void expect(bool wrong, hec_status status, const char *call)
{
	if (status != HEC_OK && hec_error_message()[0] == '\0') {
		fprintf(stderr, "%s: %s without a message\n", call, hec_status_name(status));
		abort();
	}
	if (wrong && status == HEC_OK) {
		fprintf(stderr, "%s: accepted a tensor that cannot be\n", call);
		abort();
	}
}

static hec_ctx *context(bool reference)
{
	static hec_ctx *made[2];
	hec_ctx_options options = HEC_CTX_OPTIONS_INIT;
	options.threads = 1;
	options.isa = reference ? "ref" : NULL;
	if (!made[reference] && hec_ctx_create(&options, &made[reference]) != HEC_OK) {
		fprintf(stderr, "%s\n", hec_error_message());
		abort();
	}
	return made[reference];
}

static void run(input *in, memory *m)
{
	uint8_t how = take(in);
	hec_ctx *ctx = context(how & 1);
	hec_dtype dtype = how & 2 ? HEC_F64 : HEC_F32;
	int64_t B = take_size(in), T = take_size(in), S = take_size(in), G = take_size(in),
		K = take_size(in), D = take_size(in), H;
	if (__builtin_mul_overflow(G, 1 + take_of(in, 3), &H))
		return;
	const int64_t dims[] = {B, T, S, H, G, K, D};
	int64_t work = 1;
	for (int i = 0; i < 7; i++) {
		if (dims[i] > 1 && __builtin_mul_overflow(work, dims[i], &work))
			return;
	}
	if (work > MAX_WORK)
		return;

	const int64_t q_shape[] = {B, T, H, K}, k_shape[] = {B, S, G, K}, v_shape[] = {B, S, G, D};
	const int64_t out_shape[] = {B, T, H, D}, lse_shape[] = {B, H, T};
	const int64_t scores[] = {B, H, T, S};
	hec_tensor q = take_tensor(in, m, dtype, 4, q_shape, false);
	hec_tensor k = take_tensor(in, m, dtype, 4, k_shape, false);
	hec_tensor v = take_tensor(in, m, dtype, 4, v_shape, false);
	bool wrong = m->wrong;
	long_mask given = {.bytes = {0}};
	hec_mask mask = given.mask = take_mask(in, m, dtype, scores);
	/* What is in a mask that is not given, or beyond the size it claims, may be anything. */
	if (!(how & 4) || mask.size < sizeof mask)
		m->wrong = wrong;
	long_desc desc = {.bytes = {0}};
	desc.desc = take_desc(in);
	hec_tensor out = take_tensor(in, m, dtype, 4, out_shape, true);
	hec_tensor lse = take_tensor(in, m, dtype, 3, lse_shape, true);
	if (m->too_big)
		return;
	const hec_mask *mask_or_none = how & 4 ? &given.mask : NULL;
	hec_status status = hec_attention_fwd(ctx, how & 8 ? &desc.desc : NULL, &q, &k, &v,
	                                      mask_or_none, &out, &lse);
	expect(m->wrong, status, "hec_attention_fwd");

	hec_tensor dout = take_tensor(in, m, dtype, 4, out_shape, false);
	hec_tensor dq = take_tensor(in, m, dtype, 4, q_shape, true);
	hec_tensor dk = take_tensor(in, m, dtype, 4, k_shape, true);
	hec_tensor dv = take_tensor(in, m, dtype, 4, v_shape, true);
	hec_tensor dbias = mask.bias;
	bool with_dbias = how & 4 && mask.bias.rank > 0 && how & 16;
	if (with_dbias)
		give_memory(m, &dbias, 1);
	if (m->too_big)
		return;
	status = hec_attention_bwd(ctx, how & 8 ? &desc.desc : NULL, &q, &k, &v, mask_or_none, &out,
	                           &lse, &dout, &dq, &dk, &dv, with_dbias ? &dbias : NULL);
	expect(m->wrong, status, "hec_attention_bwd");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input in = {data, size};
	memory m = {.count = 0};
	run(&in, &m);
	for (int i = 0; i < m.count; i++)
		free(m.blocks[i]);
	return 0;
}
