/* parts.c — what models are made of: memory, attention, losses, parameters, batches, files; and pictures of it. */
#include "world.h"

#include <math.h>

/* ---- memory.h ---- */

static size_t blocks_taken;

static void *take(void *user, size_t bytes, size_t alignment)
{
	++*(size_t *)user;
	return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void *resize(void *user, void *memory, size_t bytes)
{
	(void)user;
	return realloc(memory, bytes);
}

static void give_back(void *user, void *memory)
{
	--*(size_t *)user;
	free(memory);
}

static void set_allocator(void)
{
	hec_allocator a = HEC_ALLOCATOR_INIT;
	a.allocate = take;
	a.resize = resize;
	a.release = give_back;
	a.user = &blocks_taken;
	EXPECT_OK(hec_allocator_set(&a));
}

/* ---- attention.h: two queries, two keys, one head; key 1 is hidden from query 0 ---- */

static void run_attention(hec_ctx *ctx)
{
	float x[4] = {1, 0, 0, 1}, out[4], lse[2], weights[4], scaled[4];
	const int32_t offset[1] = {0};
	hec_tensor q = hec_tensor_4d(x, HEC_F32, 1, 2, 1, 2), o = q,
		   l = hec_tensor_3d(lse, HEC_F32, 1, 1, 2),
		   w = hec_tensor_4d(weights, HEC_F32, 1, 1, 2, 2),
		   s = hec_tensor_4d(scaled, HEC_F32, 1, 1, 2, 2);
	hec_attention_desc desc = HEC_ATTENTION_DESC_INIT;
	hec_mask mask = HEC_MASK_INIT;
	hec_attention_part part = HEC_ATTENTION_PART_INIT;
	hec_attention_steps steps = HEC_ATTENTION_STEPS_INIT;
	o.data = out;
	desc.scale = 2;
	mask.causal = true;
	mask.causal_offset = offset;
	EXPECT_OK(hec_attention_fwd(ctx, &desc, &q, &q, &q, &mask, &o, &l));
	const double p = 1 / (1 + exp(-2));
	EXPECT_NEAR(out[0], 1);
	EXPECT_NEAR(out[1], 0);
	EXPECT_NEAR(out[3], p);
	part.heads = 1;
	part.queries = 2;
	EXPECT_OK(hec_attention_weights(ctx, &desc, &part, &q, &q, &mask, &l, &w));
	EXPECT_NEAR(weights[1], 0);
	EXPECT_NEAR(weights[3], p);
	steps.scaled = &s;
	steps.out = &o;
	EXPECT_OK(hec_attention_unfused(ctx, &desc, &q, &q, &q, &mask, &steps));
	EXPECT_NEAR(scaled[3], 2);
	EXPECT_NEAR(out[2], 1 - p);
	float bias[4] = {0, 0, 2, 0}; /* the last field of a mask: now both keys count the same */
	mask.bias = hec_tensor_4d(bias, HEC_F32, 1, 1, 2, 2);
	EXPECT_OK(hec_attention_fwd(ctx, &desc, &q, &q, &q, &mask, &o, NULL));
	EXPECT_NEAR(out[2], 0.5);
}

/* ---- loss.h, adamw.h ---- */

static void run_loss(hec_ctx *ctx)
{
	float logits[6] = {0, 0, 0, 1, 2, 3}, losses[2], lse[2];
	int32_t targets[2] = {1, -7};
	double sum = 0;
	int64_t count = 0;
	hec_tensor x = hec_tensor_2d(logits, HEC_F32, 2, 3), t = hec_tensor_1d(targets, HEC_I32, 2),
		   y = hec_tensor_1d(losses, HEC_F32, 2), l = hec_tensor_1d(lse, HEC_F32, 2);
	hec_cross_entropy o = HEC_CROSS_ENTROPY_INIT;
	o.smoothing = 0.1;
	o.ignore = -7;
	EXPECT_OK(hec_cross_entropy_fwd(ctx, &o, &x, &t, &y, &l));
	EXPECT_NEAR(losses[0], log(3));
	EXPECT_NEAR(losses[1], 0);
	EXPECT_OK(hec_cross_entropy_sum(ctx, &o, &y, &t, &sum, &count));
	EXPECT_NEAR(sum, log(3));
	EXPECT(count == 1);
}

static void run_adamw(hec_ctx *ctx)
{
	float weight[1] = {1}, gradient[1] = {4}, first[1] = {0}, second[1] = {0};
	hec_tensor w = hec_tensor_1d(weight, HEC_F32, 1), dw = hec_tensor_1d(gradient, HEC_F32, 1),
		   m = hec_tensor_1d(first, HEC_F32, 1), v = hec_tensor_1d(second, HEC_F32, 1);
	hec_adamw o = HEC_ADAMW_INIT;
	o.lr = 0.1;
	o.weight_decay = 0.5;
	o.grad_scale = 0.5;
	EXPECT_OK(hec_adamw_step(ctx, &o, 1, &dw, &m, &v, &w));
	EXPECT_NEAR(first[0], 0.1 * 2);
	EXPECT_NEAR(second[0], 0.001 * 4);
	EXPECT_NEAR(weight[0], 1 - 0.1 * 0.5 - 0.1);
}

/* ---- param.h ---- */

typedef struct walk {
	hec_param_alloc alloc;
	int parameters, matrices;
	int64_t elements;
} walk;

static hec_status allocate(void *user, const hec_param *p)
{
	walk *w = user;
	int64_t elements = 1;
	for (int i = 0; i < p->rank; i++)
		elements *= p->shape[i];
	EXPECT(strncmp(p->name, "layer.", 6) == 0 && p->tensor);
	w->parameters++;
	w->matrices += p->linear != NULL;
	w->elements += elements;
	EXPECT(p->linear ? p->init == HEC_INIT_XAVIER : p->init <= HEC_INIT_ONE);
	EXPECT_OK(hec_param_allocate(&w->alloc, p));
	return hec_param_initialise(&w->alloc, p);
}

static void run_params(hec_ctx *ctx)
{
	const hec_encoder_layer_config c = {
		.size = sizeof c,
		.attention = {.size = sizeof c.attention, .width = 4, .heads = 2},
		.feed_forward = {.size = sizeof c.feed_forward,
	                         .width = 4,
	                         .hidden = 6,
	                         .act = HEC_ACT_RELU}};
	hec_encoder_layer layer;
	walk w = {.alloc = {.size = sizeof w.alloc, .ctx = ctx, .dtype = HEC_F32, .seed = 3}};
	EXPECT_OK(hec_arena_create(1 << 16, &w.alloc.arena));
	EXPECT_OK(hec_encoder_layer_setup(&c, &layer));
	EXPECT_OK(hec_encoder_layer_params(&layer, "layer", allocate, &w));
	EXPECT(w.parameters == 2 * 4 + 2 * 2 + 2 * 2 && w.matrices == 6);
	EXPECT(w.elements == 4 * (4 * 4 + 4) + (6 * 4 + 6) + (4 * 6 + 4) + 4 * 4);
	EXPECT(((const float *)layer.norm1.gamma.data)[3] == 1);
	hec_arena_destroy(w.alloc.arena);
}

/* ---- model.h ---- */

static void run_model(hec_ctx *ctx, const hec_model *model)
{
	int32_t ids[8] = {CLS, 5, 6, SEP, CLS, 7, SEP, PAD}, types[8] = {0, 0, 1, 1, 0, 1, 1, 0};
	int32_t targets[2] = {2, 1};
	const int32_t length[2] = {4, 3};
	float logits[6], hidden[2 * 4 * WIDTH], weights[2 * 2 * 2 * 4 * 4];
	double sum = 0;
	int64_t count = 0;
	hec_arena *arena;
	hec_model_input in = HEC_MODEL_INPUT_INIT;
	hec_model_output out = HEC_MODEL_OUTPUT_INIT;
	hec_model_loss loss = HEC_MODEL_LOSS_INIT;
	in.ids = hec_tensor_2d(ids, HEC_I32, 2, 4);
	in.types = hec_tensor_2d(types, HEC_I32, 2, 4);
	in.length = length;
	out.hidden = hec_tensor_3d(hidden, HEC_F32, 2, 4, WIDTH);
	out.logits = hec_tensor_2d(logits, HEC_F32, 2, 3);
	out.encoder_weights = hec_tensor_4d(weights, HEC_F32, 4, 2, 4, 4);
	EXPECT_OK(hec_arena_create(1 << 20, &arena));
	EXPECT_OK(hec_model_fwd(ctx, arena, model, &in, NULL, &out, NULL));
	EXPECT_NEAR(weights[0] + weights[1] + weights[2] + weights[3], 1);
	show_floats("logits", logits, 6);
	show_floats("hidden", hidden, WIDTH);
	loss.targets = hec_tensor_1d(targets, HEC_I32, 2);
	loss.ignore = 1;
	EXPECT_OK(hec_model_learn(ctx, arena, model, &in, &loss, NULL, NULL, &sum, &count));
	EXPECT(count == 1);
	EXPECT_NEAR(sum, log(exp(logits[0]) + exp(logits[1]) + exp(logits[2])) - logits[2]);
	hec_arena_destroy(arena);
}

static int64_t check_parameters(const hec_model *model)
{
	int64_t end = 0, count = 0;
	for (size_t i = 0; i < hec_model_param_count(model); i++) {
		const hec_model_param *p = hec_model_param_at(model, i);
		const hec_tensor t = hec_model_tensor(model, i);
		EXPECT(p->offset >= end && p->offset % 16 == 0 && p->rank == t.rank);
		EXPECT(p->count == hec_tensor_count(&t) && p->shape[0] == t.shape[0]);
		EXPECT(p->decay == (p->rank == 2));
		printf("parameter %s: %d\n", p->name, (int)p->count);
		end = p->offset + p->count;
		count += p->count;
	}
	EXPECT(!hec_model_param_at(model, hec_model_param_count(model)));
	return count;
}

/* Saved, looked at from outside, and loaded as another one. */
static void run_files(hec_ctx *ctx, const hec_model *model, const char *folder)
{
	static const char *const overrides[] = {"encoder.layers=1"};
	static const char *const names[] = {"x", "y"};
	hec_info *info;
	hec_model *less;
	hec_model_config config;
	const int64_t count = check_parameters(model);
	EXPECT_OK(hec_model_save(ctx, model, HEC_F32, folder));
	EXPECT_OK(hec_info_read(folder, &info));
	EXPECT_TEXT(info->dtype, "F32");
	EXPECT(info->files == 1 && info->tensors == (int64_t)hec_model_param_count(model));
	EXPECT(info->numbers == count && info->file_bytes == 4 * count);
	EXPECT_TEXT(info->pre_tokenizer, "");
	EXPECT_TEXT(info->family, "hecate");
	EXPECT_TEXT(info->architecture, "HecateClassify");
	hec_model_load_options o = HEC_MODEL_LOAD_OPTIONS_INIT;
	o.overrides = overrides;
	o.override_count = 1;
	o.labels = 2;
	o.label_names = names;
	o.seed = 9;
	o.unpacked = true;
	o.dtype = HEC_F64;
	EXPECT_OK(hec_model_config_read(folder, &o, &config));
	EXPECT(config.labels == 2 && config.width == WIDTH);
	EXPECT_OK(hec_model_load(ctx, folder, &o, &less));
	EXPECT_TEXT(hec_model_label(less, 1), "y");
	EXPECT(hec_model_block(less).dtype == HEC_F64 && hec_model_block(less).data);
	printf("%s", hec_model_report(less));
	check_parameters(less);
	hec_model_destroy(less);
	hec_info_free(info);
}

/* ---- view.h ---- */

static hec_status print_piece(void *user, const char *text, size_t length)
{
	*(size_t *)user += length;
	return fwrite(text, 1, length, stdout) == length ? HEC_OK : HEC_ERR_IO;
}

static void run_view(void)
{
	static const char *const words[] = {"ein", "Wort"};
	static const bool sink[] = {true, false};
	static const float weights[2 * 2 * 2] = {0.25f, 0.75f, 0.5f, 0.5f, 1, 0, 0.125f, 0.875f};
	size_t bytes = 0;
	hec_view view = HEC_VIEW_INIT;
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
	view.kind = HEC_VIEW_CROSS;
	view.query = view.key = words;
	view.queries = view.keys = 2;
	view.sink = sink;
	view.layers = 1;
	view.heads = 2;
	view.weights = weights;
	o.layer = 0;
	o.head = 1;
	o.top = 1;
	o.columns = 60;
	o.title = "a title";
	EXPECT_OK(hec_view_draw(&view, HEC_VIEW_TEXT, &o, print_piece, &bytes));
	EXPECT_OK(hec_view_draw(&view, HEC_VIEW_JSON, &o, print_piece, &bytes));
	EXPECT(bytes > 100);
}

int main(int argc, char **argv)
{
	EXPECT(argc == 2);
	set_allocator();
	hec_ctx *ctx = world_ctx();
	hec_model *model = world_model(ctx, true, false, HEC_HEAD_CLASSIFY, 31);
	EXPECT(blocks_taken > 0);
	run_attention(ctx);
	run_loss(ctx);
	run_adamw(ctx);
	run_params(ctx);
	run_model(ctx, model);
	run_files(ctx, model, argv[1]);
	run_view();
	hec_model_destroy(model);
	hec_ctx_destroy(ctx);
	EXPECT(blocks_taken == 0);
	return 0;
}
