/* test_dry.c — a dry context takes of its arena what a working one takes, to the byte, and neither
 * computes nor touches memory. */
#include "support/calls.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RESERVE ((size_t)1 << 36)

/* The context of the kit is the one in earnest. */
typedef struct pair {
	kit k;
	hec_ctx *dry;
} pair;

static pair pair_open(uint64_t seed)
{
	pair p = {.k = kit_open(seed)};
	OK(&p.k, hec_ctx_create_dry(NULL, &p.dry));
	return p;
}

static void pair_close(pair *p)
{
	hec_ctx_destroy(p->dry);
	kit_close(&p->k);
}

static hec_arena *reserved(kit *k)
{
	hec_arena *arena = NULL;
	OK(k, hec_arena_create_reserved(RESERVE, &arena));
	return arena;
}

/* Packs, then two steps of a layer, or two runs: whether it all fitted. */
static bool steps(layer *l, hec_ctx *ctx, hec_arena *arena, layer_io *io, bool learn)
{
	layer_pack(l, ctx, arena);
	for (int step = 0; step < 2; step++) {
		layer_pack(l, ctx, arena); /* again into the same place */
		size_t mark = hec_arena_used(arena);
		void *kept;
		if (layer_fwd(l, ctx, arena, io, learn ? &kept : NULL) != HEC_OK ||
		    (learn && layer_bwd(l, ctx, arena, io, kept) != HEC_OK))
			return false;
		hec_arena_rewind(arena, mark);
	}
	return true;
}

static size_t dry_peak(pair *p, layer_kind kind, hec_dtype dtype, const int64_t size[6],
                       double drop, bool learn)
{
	layer l;
	layer_open(&l, &p->k, kind, dtype, size[3], size[4], size[5], drop);
	layer_io io = layer_io_open(&l, size[0], size[1], size[2]);
	const hec_dropout_key key = {1, 2, 3};
	io.key = &key;
	hec_tensor y = make_copy(&p->k, &io.y), dx = make_copy(&p->k, &io.dx);
	hec_arena *arena = reserved(&p->k);
	CHECK(&p->k, steps(&l, p->dry, arena, &io, learn), "dry: %s", hec_error_message());
	check_same_bits(&p->k, "y of a dry run", &io.y, &y);
	check_same_bits(&p->k, "dx of a dry run", &io.dx, &dx);
	for (int i = 0; i < l.grads.count; i++)
		check_all_zero(&p->k, l.grads.names[i], l.grads.tensors[i]);
	size_t peak = hec_arena_peak(arena);
	hec_arena_destroy(arena);
	return peak;
}

static void check_peak(pair *p, layer_kind kind, hec_dtype dtype, const int64_t size[6],
                       double drop, bool learn)
{
	kit *k = &p->k;
	size_t peak = dry_peak(p, kind, dtype, size, drop, learn);
	layer l;
	layer_open(&l, k, kind, dtype, size[3], size[4], size[5], drop);
	layer_io io = layer_io_open(&l, size[0], size[1], size[2]);
	const hec_dropout_key key = {1, 2, 3};
	io.key = &key;
	hec_arena *arena;
	OK(k, hec_arena_create(peak, &arena));
	CHECK(k, steps(&l, k->ctx, arena, &io, learn), "%s, %zu bytes: %s", layer_name(kind), peak,
	      hec_error_message());
	CHECK(k, hec_arena_peak(arena) == peak, "%s (learn %d): dry %zu bytes, in earnest %zu",
	      layer_name(kind), learn, peak, hec_arena_peak(arena));
	check_all_finite(k, "y", &io.y);
	hec_arena_destroy(arena);
}

static void a_dry_run_ends_at_the_peak_of_the_real_one(void **state)
{
	(void)state;
	/* B, T, S, C, H, F */
	static const int64_t sizes[][6] = {{1, 1, 1, 3, 1, 5},
	                                   {2, 19, 23, 30, 3, 47},
	                                   {3, 65, 17, 64, 4, 129},
	                                   {0, 7, 5, 8, 2, 3}};
	for (int kind = 0; kind < LAYER_KINDS; kind++) {
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			pair p = pair_open(9000 + i);
			for (int learn = 0; learn < 2; learn++) {
				check_peak(&p, (layer_kind)kind, HEC_F32, sizes[i], 0, learn);
				check_peak(&p, (layer_kind)kind, HEC_F32, sizes[i], 0.1, learn);
				check_peak(&p, (layer_kind)kind, HEC_F64, sizes[i], 0.1, learn);
			}
			pair_close(&p);
		}
	}
}

static void every_call_takes_the_same_and_writes_nothing(void **state)
{
	(void)state;
	pair p = pair_open(9100);
	kit *k = &p.k;
	static call list[CALLS_MOST];
	int n = calls_open(k, HEC_F32, list);
	for (int i = 0; i < n; i++) {
		call *c = &list[i];
		hec_tensor before[CALL_ARGS];
		size_t peak[2] = {0, 0};
		for (int dry = 1; dry >= 0; dry--) {
			hec_arena *own = c->arena ? reserved(k) : NULL;
			c->ctx = dry ? p.dry : k->ctx;
			c->arena = own;
			for (int j = 0; dry && j < c->count; j++)
				before[j] = make_copy(k, &c->args[j].tensor);
			OK(k, call_make(c));
			for (int j = 0; dry && j < c->count; j++)
				check_same_bits(k, c->args[j].name, &c->args[j].tensor, &before[j]);
			peak[dry] = own ? hec_arena_peak(own) : 0;
			hec_arena_destroy(own);
			c->arena = own ? k->arena : NULL;
		}
		CHECK(k, peak[0] == peak[1], "%s: dry %zu bytes, in earnest %zu", c->name, peak[1],
		      peak[0]);
	}
	pair_close(&p);
}

static long resident_bytes(kit *k)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	CHECK(k, f && fscanf(f, "%*s %ld", &pages) == 1, "cannot read /proc/self/statm");
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

/* Everything, parameters and inputs too, in the arena of a machine that does not exist. */
static void a_layer_larger_than_the_machine_is_measured_in_no_memory(void **state)
{
	(void)state;
	enum { B = 32, T = 2048, C = 4096, H = 32, F = 16384 };
	pair p = pair_open(9200);
	kit *k = &p.k;
	hec_encoder_layer_config config = {
		.size = sizeof config,
		.attention = {.size = sizeof config.attention, .width = C, .heads = H},
		.feed_forward = {.size = sizeof config.feed_forward, .width = C, .hidden = F},
	};
	hec_encoder_layer layer, grad;
	OK(k, hec_encoder_layer_setup(&config, &layer));
	OK(k, hec_encoder_layer_setup(&config, &grad));
	hec_arena *arena = reserved(k);
	long before = resident_bytes(k);
	hec_param_alloc alloc = {.size = sizeof alloc,
	                         .ctx = p.dry,
	                         .arena = arena,
	                         .dtype = HEC_F32,
	                         .with_bwd = true};
	OK(k, hec_encoder_layer_params(&layer, "", hec_param_allocate, &alloc));
	OK(k, hec_encoder_layer_params(&grad, "", hec_param_allocate, &alloc));
	OK(k, hec_encoder_layer_params(&layer, "", hec_param_initialise, &alloc));
	OK(k, hec_encoder_layer_params(&layer, "", hec_param_pack, &alloc));
	hec_tensor x, y, dx;
	OK(k, hec_arena_tensor(arena, HEC_F32, 3, SHAPE(B, T, C), &x));
	OK(k, hec_arena_tensor(arena, HEC_F32, 3, SHAPE(B, T, C), &y));
	OK(k, hec_arena_tensor(arena, HEC_F32, 3, SHAPE(B, T, C), &dx));
	hec_encoder_layer_kept *kept;
	OK(k, hec_encoder_layer_fwd(p.dry, arena, &layer, &x, NULL, NULL, &y, NULL, &kept));
	OK(k,
	   hec_encoder_layer_bwd(p.dry, arena, &layer, &y, &x, NULL, NULL, kept, &dx, NULL, &grad));
	long took = resident_bytes(k) - before;
	size_t peak = hec_arena_peak(arena);
	print_message("  (peak of %.1f GB, resident memory grew by %ld KB)\n", (double)peak / 1e9,
	              took / 1024);
	/* What backward needs of attention alone: q, k, v and the joined heads. */
	CHECK(k, peak > (size_t)4 * 4 * B * T * C, "a peak of %zu bytes", peak);
	CHECK(k, took < 2000000, "resident memory grew by %ld bytes", took);
	hec_arena_destroy(arena);
	pair_close(&p);
}

static void a_pack_made_dry_is_not_read_in_earnest(void **state)
{
	(void)state;
	pair p = pair_open(9300);
	kit *k = &p.k;
	hec_linear linear = {.w = make_random(k, HEC_F32, SHAPE(70, 33))}, plain = linear;
	hec_tensor x = make_random(k, HEC_F32, SHAPE(9, 33)), y = make(k, HEC_F32, SHAPE(9, 70)),
		   want = make(k, HEC_F32, SHAPE(9, 70));
	OK(k, hec_linear_pack(p.dry, k->arena, true, &linear));
	OK(k, hec_linear_fwd(k->ctx, &linear, HEC_ACT_NONE, &x, NULL, &y, NULL));
	OK(k, hec_linear_fwd(k->ctx, &plain, HEC_ACT_NONE, &x, NULL, &want, NULL));
	check_same_bits(k, "y", &y, &want);
	pair_close(&p);
}

static void a_dry_context_refuses_what_a_working_one_refuses(void **state)
{
	(void)state;
	pair p = pair_open(9400);
	kit *k = &p.k;
	hec_tensor x = make_zero(k, HEC_F32, SHAPE(3, 4)), y = make_zero(k, HEC_F32, SHAPE(3, 5));
	hec_linear linear = {.w = make_zero(k, HEC_F32, SHAPE(5, 6))};
	FAILS(k, HEC_ERR_SHAPE, hec_linear_fwd(p.dry, &linear, HEC_ACT_NONE, &x, NULL, &y, NULL),
	      "[3, 4]", "[any, 6]");
	hec_embedding embedding = {.table = make_zero(k, HEC_F32, SHAPE(2, 4)), .padding_id = -1};
	hec_tensor ids = make_zero(k, HEC_I32, SHAPE(3));
	OK(k, hec_embedding_fwd(p.dry, &embedding, &ids, &x));
	put(&ids, 1, 2);
	FAILS(k, HEC_ERR_ARGUMENT, hec_embedding_fwd(p.dry, &embedding, &ids, &x), "id 2");
	assert_string_equal(hec_ctx_isa(p.dry), hec_ctx_isa(k->ctx));
	assert_int_equal(hec_ctx_threads(p.dry), hec_ctx_threads(k->ctx));

	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	hec_ctx *none = NULL;
	o.isa = "abacus";
	FAILS(k, HEC_ERR_UNSUPPORTED, hec_ctx_create_dry(&o, &none), "abacus");
	assert_null(none);
	pair_close(&p);
}

static void a_reserved_arena_is_an_arena(void **state)
{
	(void)state;
	kit k = kit_open(9500);
	hec_arena *arena = NULL;
	FAILS(&k, HEC_ERR_MEMORY, hec_arena_create_reserved(SIZE_MAX - 5, &arena), "arena");
	FAILS(&k, HEC_ERR_MEMORY, hec_arena_create_reserved(SIZE_MAX / 4, &arena), "arena",
	      "addresses");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_arena_create_reserved(64, NULL), "out");
	assert_null(arena);
	OK(&k, hec_arena_create_reserved(1000, &arena));
	unsigned char *a;
	OK(&k, hec_arena_alloc(arena, 500, (void **)&a));
	assert_int_equal((uintptr_t)a % 64, 0);
	for (int i = 0; i < 500; i++)
		assert_int_equal(a[i], 0);
	memset(a, 7, 500);
	void *b;
	FAILS(&k, HEC_ERR_MEMORY, hec_arena_alloc(arena, 500, &b), "500", "1000");
	hec_arena_rewind(arena, 0);
	OK(&k, hec_arena_alloc(arena, 900, &b));
	assert_ptr_equal(a, b);
	assert_int_equal(hec_arena_peak(arena), 960);
	hec_arena_destroy(arena);
	OK(&k, hec_arena_create_reserved(0, &arena));
	hec_arena_destroy(arena);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dry_run_ends_at_the_peak_of_the_real_one),
		cmocka_unit_test(every_call_takes_the_same_and_writes_nothing),
		cmocka_unit_test(a_layer_larger_than_the_machine_is_measured_in_no_memory),
		cmocka_unit_test(a_pack_made_dry_is_not_read_in_earnest),
		cmocka_unit_test(a_dry_context_refuses_what_a_working_one_refuses),
		cmocka_unit_test(a_reserved_arena_is_an_arena),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
