/* test_model.c — whole models: the table of parameters, what a configuration must be, and that a
 * sequence gives the same bits alone, in a batch, and with any padding. */
#include "support/models.h"

#include <string.h>

/* ---- the table ---- */

static void parameters_lie_one_after_the_other_in_one_block(void **state)
{
	(void)state;
	kit k = kit_open(6300);
	for (int form = 0; form < MODEL_FORMS; form++) {
		for (int n = 0; n < MODEL_VARIANTS; n++) {
			hec_model_config config =
				model_variant((model_form)form, n, HEC_HEAD_LM, 0);
			hec_model *m = NULL;
			OK(&k, hec_model_create(k.ctx, &config, HEC_F32, 1, &m));
			hec_tensor block = hec_model_block(m);
			int64_t end = 0;
			size_t count = hec_model_param_count(m);
			for (size_t i = 0; i < count; i++) {
				const hec_model_param *p = hec_model_param_at(m, i);
				hec_tensor t = hec_model_tensor(m, i);
				CHECK(&k,
				      p->offset % 16 == 0 && p->offset >= end &&
				              p->offset < end + 16,
				      "%s is at %lld, the one before ends at %lld", p->name,
				      (long long)p->offset, (long long)end);
				CHECK(&k,
				      hec_tensor_count(&t) == p->count && t.rank == p->rank &&
				              t.data == (float *)block.data + p->offset,
				      "%s: its tensor is not its place", p->name);
				CHECK(&k, p->decay == (p->rank == 2), "%s: decay", p->name);
				check_all_finite(&k, p->name, &t);
				for (int64_t j = end; j < p->offset; j++)
					CHECK(&k, get(&block, j) == 0, "a gap is not zero");
				for (size_t j = 0; j < i; j++)
					CHECK(&k,
					      strcmp(p->name, hec_model_param_at(m, j)->name) != 0,
					      "%s appears twice", p->name);
				end = p->offset + p->count;
			}
			assert_true(block.shape[0] >= end && block.shape[0] < end + 16);
			assert_null(hec_model_param_at(m, count));
			assert_int_equal(hec_model_tensor(m, count).rank, 0);
			hec_model_destroy(m);
		}
	}
	kit_close(&k);
}

static int64_t find(const hec_model *m, const char *name)
{
	for (size_t i = 0; i < hec_model_param_count(m); i++) {
		if (strcmp(hec_model_param_at(m, i)->name, name) == 0)
			return (int64_t)i;
	}
	return -1;
}

static void tied_tensors_appear_once(void **state)
{
	(void)state;
	kit k = kit_open(6310);
	for (int separate = 0; separate < 4; separate++) {
		hec_model_config config = model_variant(FORM_BOTH, 0, HEC_HEAD_LM, 0);
		config.separate_embeddings = separate & 1;
		config.separate_output = separate & 2;
		hec_model *m = NULL;
		OK(&k, hec_model_create(k.ctx, &config, HEC_F32, 1, &m));
		assert_int_equal(find(m, "embedding") >= 0, !config.separate_embeddings);
		assert_int_equal(find(m, "encoder.embedding") >= 0, config.separate_embeddings);
		assert_int_equal(find(m, "decoder.embedding") >= 0, config.separate_embeddings);
		assert_int_equal(find(m, "head.output.w") >= 0, config.separate_output);
		assert_true(find(m, "head.output.b") >= 0);
		assert_true(find(m, "encoder.layers.0.attention.q.w") >= 0);
		assert_true(find(m, "decoder.layers.0.cross.out.b") >= 0);
		hec_model_destroy(m);
	}
	kit_close(&k);
}

static void a_seed_decides_the_parameters(void **state)
{
	(void)state;
	kit k = kit_open(6320);
	hec_model_config config = model_variant(FORM_BOTH, 1, HEC_HEAD_LM, 0);
	config.init_std = 0.02;
	config.pad_id = 3;
	hec_model *a = NULL, *b = NULL, *c = NULL;
	OK(&k, hec_model_create(k.ctx, &config, HEC_F32, 5, &a));
	OK(&k, hec_model_create(k.ctx, &config, HEC_F32, 5, &b));
	OK(&k, hec_model_create(k.ctx, &config, HEC_F32, 6, &c));
	hec_tensor ta = hec_model_block(a), tb = hec_model_block(b), tc = hec_model_block(c);
	check_same_bits(&k, "the same seed", &ta, &tb);
	assert_true(memcmp(ta.data, tc.data, (size_t)hec_tensor_count(&ta) * 4) != 0);
	hec_tensor table = hec_model_tensor(a, (size_t)find(a, "encoder.embedding")), row;
	OK(&k, hec_tensor_slice(&table, 0, 3, 1, &row));
	check_all_zero(&k, "the row of padding", &row);
	double squares = 0;
	for (int64_t i = 0; i < hec_tensor_count(&table); i++)
		squares += get(&table, i) * get(&table, i);
	assert_true(squares > 0 && squares < 28 * 0.02 * 0.02 * 4);
	hec_model_destroy(a);
	hec_model_destroy(b);
	hec_model_destroy(c);
	kit_close(&k);
}

/* ---- configurations ---- */

static void refused(kit *k, hec_model_config config, hec_status want, const char *word,
                    const char *number)
{
	hec_model *m = NULL;
	hec_model_config before = config;
	FAILS(k, want, hec_model_config_resolve(&config), word, number);
	CHECK(k, memcmp(&before, &config, sizeof config) == 0, "%s: half resolved", word);
	FAILS(k, want, hec_model_create(k->ctx, &config, HEC_F32, 0, &m), word, number);
	CHECK(k, !m, "%s: something was made", word);
}

static void a_wrong_configuration_is_named_with_its_number(void **state)
{
	(void)state;
	kit k = kit_open(6330);
	const hec_model_config good = model_variant(FORM_BOTH, 0, HEC_HEAD_LM, 0);
	hec_model_config c;
#define REFUSED(change, want, word, number)                                                        \
	do {                                                                                       \
		c = good;                                                                          \
		change;                                                                            \
		refused(&k, c, want, word, number);                                                \
	} while (0)
	REFUSED(c.size = 8, HEC_ERR_ARGUMENT, "hec_model_config.size", "8");
	REFUSED(c.vocab = 0, HEC_ERR_ARGUMENT, "vocab", "0");
	REFUSED(c.vocab = (int64_t)1 << 40, HEC_ERR_ARGUMENT, "vocab", "1099511627776");
	REFUSED(c.width = -3, HEC_ERR_ARGUMENT, "width", "-3");
	REFUSED(c.encoder.layers = -1, HEC_ERR_ARGUMENT, "encoder: layers", "-1");
	REFUSED(c.encoder.layers = c.decoder.layers = 0, HEC_ERR_ARGUMENT, "neither", "layers");
	REFUSED(c.encoder.layers = 20000, HEC_ERR_ARGUMENT, "dropouts", "20000");
	REFUSED(c.encoder.attention.heads = 3, HEC_ERR_SHAPE, "encoder", "3 heads");
	REFUSED(c.encoder.attention.width = 9, HEC_ERR_ARGUMENT, "encoder: attention.width", "9");
	REFUSED(c.decoder.feed_forward.hidden = 0, HEC_ERR_ARGUMENT, "decoder", "0");
	REFUSED(c.decoder.norm_eps = -1, HEC_ERR_ARGUMENT, "decoder", "-1");
	REFUSED(c.decoder.dropout = 1.5, HEC_ERR_ARGUMENT, "decoder", "1.5");
	REFUSED(c.encoder.window = 4, HEC_ERR_ARGUMENT, "encoder", "4");
	REFUSED(c.encoder.position.kind = (hec_position_kind)9, HEC_ERR_ARGUMENT, "position", "9");
	REFUSED(c.encoder.position.max = -5, HEC_ERR_ARGUMENT, "position.max", "-5");
	REFUSED(c.encoder.position.offset = 2, HEC_ERR_ARGUMENT, "position.offset", "2");
	REFUSED(c.encoder.position.base = -2, HEC_ERR_ARGUMENT, "position.base", "-2");
	REFUSED((c.encoder.position.kind = HEC_POSITION_ROTARY,
	         c.encoder.position.rotary_width = 3),
	        HEC_ERR_ARGUMENT, "rotary", "3");
	REFUSED((c.encoder.position.kind = HEC_POSITION_RELATIVE, c.encoder.position.buckets = 3),
	        HEC_ERR_ARGUMENT, "buckets", "3");
	REFUSED(c.head = (hec_head)17, HEC_ERR_ARGUMENT, "head", "17");
	REFUSED(c.head = HEC_HEAD_TOKENS, HEC_ERR_ARGUMENT, "labels", "0");
	REFUSED((c.head = HEC_HEAD_ANSWER, c.labels = 5), HEC_ERR_ARGUMENT, "labels", "5");
	REFUSED((c.head = HEC_HEAD_CLASSIFY, c.labels = 5), HEC_ERR_ARGUMENT, "decoder", "first");
	REFUSED((c.head = HEC_HEAD_CLASSIFY, c.labels = 5, c.head_row = HEC_ROW_EOS, c.eos_id = -1),
	        HEC_ERR_ARGUMENT, "eos_id", "none");
	REFUSED(c.head_row = (hec_head_row)3, HEC_ERR_ARGUMENT, "head_row", "3");
	REFUSED((c.encoder.layers = 0, c.types = 2), HEC_ERR_ARGUMENT, "types", "2");
	REFUSED(c.pad_id = 7, HEC_ERR_ARGUMENT, "pad_id", "7");
	REFUSED(c.eos_id = -2, HEC_ERR_ARGUMENT, "eos_id", "-2");
	REFUSED(c.init_std = -1, HEC_ERR_ARGUMENT, "init_std", "-1");
#undef REFUSED
	c = good;
	c.width = c.encoder.attention.d_k = c.decoder.attention.d_k = INT32_MAX;
	c.vocab = INT32_MAX;
	c.encoder.attention.heads = c.decoder.attention.heads = 1;
	hec_model *m = NULL;
	FAILS(&k, HEC_ERR_MEMORY, hec_model_create(k.ctx, &c, HEC_F32, 0, &m), "");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_model_create(k.ctx, &good, HEC_BF16, 0, &m), "bf16");
	assert_null(m);
	kit_close(&k);
}

static void zeros_of_a_configuration_become_its_defaults(void **state)
{
	(void)state;
	kit k = kit_open(6340);
	hec_model_config c = model_variant(FORM_BOTH, 3, HEC_HEAD_LM, 0);
	c.encoder.position.max = c.encoder.position.buckets = c.encoder.position.max_distance = 0;
	c.encoder.norm_eps = 0;
	OK(&k, hec_model_config_resolve(&c));
	assert_int_equal(c.encoder.position.max, 512);
	assert_int_equal(c.encoder.position.buckets, 32);
	assert_int_equal(c.encoder.position.max_distance, 128);
	assert_true(c.encoder.position.base == 10000 && c.encoder.norm_eps == 1e-5);
	assert_int_equal(c.encoder.attention.width, c.width);
	assert_int_equal(c.encoder.attention.d_k, c.width / 2);
	hec_model_config again = c;
	OK(&k, hec_model_config_resolve(&again));
	assert_memory_equal(&c, &again, sizeof c);
	kit_close(&k);
}

static void the_longest_text_is_bounded_by_the_stacks_that_read_tokens(void **state)
{
	(void)state;
	kit k = kit_open(6341);
	hec_model_config c = model_variant(FORM_BOTH, 3, HEC_HEAD_LM, 0);
	OK(&k, hec_model_config_resolve(&c));
	for (int encoder = HEC_POSITION_NONE; encoder <= HEC_POSITION_RELATIVE; encoder++) {
		for (int decoder = HEC_POSITION_NONE; decoder <= HEC_POSITION_RELATIVE; decoder++) {
			const bool ends[2] = {
				encoder != HEC_POSITION_NONE && encoder != HEC_POSITION_RELATIVE,
				decoder != HEC_POSITION_NONE && decoder != HEC_POSITION_RELATIVE};
			c.encoder.position.kind = (hec_position_kind)encoder;
			c.decoder.position.kind = (hec_position_kind)decoder;
			c.encoder.position.max = 30;
			c.decoder.position.max = 40;
			c.front.features = 0;
			const int64_t read = ends[0] ? 30 : INT64_MAX,
				      written = ends[1] ? 40 : INT64_MAX;
			assert_true(hec_stack_config_max_positions(&c.encoder) == read);
			assert_true(hec_stack_config_max_positions(&c.decoder) == written);
			assert_true(hec_model_config_max_tokens(&c) ==
			            (read < written ? read : written));
			c.front.features = 80; /* frames are no tokens */
			assert_true(hec_model_config_max_tokens(&c) == written);
		}
	}
	kit_close(&k);
}

/* ---- batches ---- */

static hec_tensor forward(kit *k, const hec_model *m, const hec_model_input *input)
{
	hec_model_output out = {.size = sizeof out, .logits = logits_open(k, m, input)};
	OK(k, hec_model_fwd(k->ctx, k->arena, m, input, NULL, &out, NULL));
	return out.logits;
}

/* Sequence b of ids [B, T] alone, `more` tokens of padding behind it. */
static hec_tensor alone(kit *k, const hec_tensor *ids, int64_t b, int32_t length, int64_t more)
{
	hec_tensor out = make(k, HEC_I32, SHAPE(1, length + more));
	for (int64_t t = 0; t < length + more; t++)
		put(&out, t, t < length ? get(ids, b * ids->shape[1] + t) : 1);
	return out;
}

static void check_alone(kit *k, const hec_model *m, const model_batch *batch, int64_t b,
                        int64_t more, const hec_tensor *all)
{
	const hec_model_config *c = hec_model_config_of(m);
	model_batch one = {.input = {.size = sizeof one.input}};
	one.length[0] = batch->length[b];
	one.decoder_length[0] = batch->decoder_length[b];
	if (c->encoder.layers > 0) {
		one.input.ids = alone(k, &batch->input.ids, b, batch->length[b], more);
		one.input.length = one.length;
	}
	if (c->types > 0)
		one.input.types = alone(k, &batch->input.types, b, batch->length[b], more);
	if (c->decoder.layers > 0) {
		one.input.decoder_ids =
			alone(k, &batch->input.decoder_ids, b, batch->decoder_length[b], more);
		one.input.decoder_length = one.decoder_length;
	}
	hec_tensor got = forward(k, m, &one.input), want;
	OK(k, hec_tensor_slice(all, 0, b, 1, &want));
	if (c->head != HEC_HEAD_CLASSIFY) {
		int64_t T = c->decoder.layers > 0 ? batch->decoder_length[b] : batch->length[b];
		OK(k, hec_tensor_slice(&want, 1, 0, T, &want));
		OK(k, hec_tensor_slice(&got, 1, 0, T, &got));
	}
	check_same_bits(k, "alone and in a batch", &got, &want);
}

static void a_sequence_gives_the_same_bits_alone_and_in_a_batch(void **state)
{
	(void)state;
	for (int form = 0; form < MODEL_FORMS; form++) {
		for (int n = 0; n < MODEL_VARIANTS; n++) {
			kit k = kit_open(6350 + (uint64_t)n);
			hec_head head =
				n == 0 && form == FORM_ENCODER ? HEC_HEAD_CLASSIFY : HEC_HEAD_LM;
			hec_model_config config = model_variant((model_form)form, n, head, 0);
			config.width *= 8;
			config.encoder.feed_forward.hidden *= 9;
			config.decoder.feed_forward.hidden *= 9;
			hec_model *m = model_open(&k, &config, HEC_F32);
			if (n % 2)
				OK(&k, hec_model_pack(k.ctx, m, false));
			model_batch batch;
			batch_open(&batch, &k, m, 4, 5, 6, true);
			hec_tensor all = forward(&k, m, &batch.input);
			for (int64_t b = 0; b < 4; b++)
				check_alone(&k, m, &batch, b, b % 2 ? 3 : 0, &all);
			hec_model_destroy(m);
			kit_close(&k);
		}
	}
}

static void packed_weights_give_the_same_bits_and_follow_the_weights(void **state)
{
	(void)state;
	kit k = kit_open(6360);
	hec_model_config config = model_variant(FORM_BOTH, 0, HEC_HEAD_LM, 0);
	config.width = 48;
	hec_model *m = model_open(&k, &config, HEC_F32);
	model_batch batch;
	batch_open(&batch, &k, m, 2, 5, 4, true);
	for (int step = 0; step < 3; step++) {
		hec_tensor block = hec_model_block(m);
		for (int64_t i = 0; i < block.shape[0]; i++)
			put(&block, i, get(&block, i) * 1.25);
		OK(&k, hec_model_pack(k.ctx, m, step != 1));
		hec_tensor packed = forward(&k, m, &batch.input);
		hec_model *plain = NULL;
		OK(&k, hec_model_create_like(m, &plain));
		hec_tensor copy = hec_model_block(plain);
		OK(&k, hec_tensor_copy(k.ctx, &block, &copy));
		hec_tensor unpacked = forward(&k, plain, &batch.input);
		check_same_bits(&k, "packed and not", &packed, &unpacked);
		hec_model_destroy(plain);
	}
	hec_model_destroy(m);
	kit_close(&k);
}

static void the_row_of_padding_takes_no_gradient(void **state)
{
	(void)state;
	kit k = kit_open(6370);
	for (int separate = 0; separate < 2; separate++) {
		hec_model_config config = model_variant(FORM_BOTH, 0, HEC_HEAD_LM, 0);
		config.pad_id = 2;
		config.separate_embeddings = separate;
		hec_model *m = NULL, *grad = NULL;
		OK(&k, hec_model_create(k.ctx, &config, HEC_F32, 3, &m));
		OK(&k, hec_model_create_like(m, &grad));
		model_batch batch;
		batch_open(&batch, &k, m, 3, 5, 4, false);
		put(&batch.input.ids, 0, 2);
		put(&batch.input.decoder_ids, 1, 2);
		hec_model_output out = {.size = sizeof out,
		                        .logits = logits_open(&k, m, &batch.input)};
		hec_model_kept *kept = NULL;
		OK(&k, hec_model_fwd(k.ctx, k.arena, m, &batch.input, NULL, &out, &kept));
		OK(&k,
		   hec_model_bwd(k.ctx, k.arena, m, &batch.input, NULL, kept, &out.logits, grad));
		const char *names[2][2] = {{"embedding", NULL},
		                           {"encoder.embedding", "decoder.embedding"}};
		for (int i = 0; i < 2 && names[separate][i]; i++) {
			hec_tensor t = hec_model_tensor(grad,
			                                (size_t)find(grad, names[separate][i])),
				   row;
			OK(&k, hec_tensor_slice(&t, 0, 2, 1, &row));
			check_all_zero(&k, "the gradient of padding", &row);
			double sum = 0;
			for (int64_t j = 0; j < hec_tensor_count(&t); j++)
				sum += get(&t, j) * get(&t, j);
			assert_true(sum > 0);
		}
		hec_model_destroy(m);
		hec_model_destroy(grad);
	}
	kit_close(&k);
}

static void weights_of_every_head_sum_to_one(void **state)
{
	(void)state;
	kit k = kit_open(6380);
	hec_model_config config = model_variant(FORM_BOTH, 0, HEC_HEAD_LM, 0);
	hec_model *m = model_open(&k, &config, HEC_F32);
	const hec_model_config *c = hec_model_config_of(m);
	const int64_t B = 2, S = 5, T = 4, E = c->encoder.layers, D = c->decoder.layers;
	model_batch batch;
	batch_open(&batch, &k, m, B, S, T, true);
	hec_tensor plain = forward(&k, m, &batch.input);
	hec_model_output out = {.size = sizeof out,
	                        .hidden = make(&k, HEC_F32, SHAPE(B, T, c->width)),
	                        .memory = make(&k, HEC_F32, SHAPE(B, S, c->width)),
	                        .logits = logits_open(&k, m, &batch.input),
	                        .encoder_weights = make(&k, HEC_F32, SHAPE(E * B, 2, S, S)),
	                        .decoder_weights = make(&k, HEC_F32, SHAPE(D * B, 2, T, T)),
	                        .cross_weights = make(&k, HEC_F32, SHAPE(D * B, 2, T, S))};
	OK(&k, hec_model_fwd(k.ctx, k.arena, m, &batch.input, NULL, &out, NULL));
	check_same_bits(&k, "logits with and without weights", &plain, &out.logits);
	check_all_finite(&k, "hidden", &out.hidden);
	check_all_finite(&k, "memory", &out.memory);
	const hec_tensor *all[] = {&out.encoder_weights, &out.decoder_weights, &out.cross_weights};
	for (int i = 0; i < 3; i++) {
		const hec_tensor *w = all[i];
		for (int64_t row = 0; row < w->shape[0] * 2 * w->shape[2]; row++) {
			int64_t b = row / (2 * w->shape[2]) % B, t = row % w->shape[2];
			bool real = t < (i == 0 ? batch.length : batch.decoder_length)[b];
			double sum = 0;
			for (int64_t s = 0; s < w->shape[3]; s++)
				sum += get(w, row * w->shape[3] + s);
			CHECK(&k, sum > real - 1e-5 && sum < real + 1e-5, "row %lld sums to %g",
			      (long long)row, sum);
		}
	}
	hec_model_destroy(m);
	kit_close(&k);
}

static void a_wrong_batch_is_named(void **state)
{
	(void)state;
	kit k = kit_open(6390);
	hec_model_config config = model_variant(FORM_BOTH, 0, HEC_HEAD_LM, 0);
	hec_model *m = model_open(&k, &config, HEC_F32);
	model_batch batch;
	batch_open(&batch, &k, m, 2, 5, 4, true);
	const hec_model_input good = batch.input;
	hec_model_output out = {.size = sizeof out, .logits = logits_open(&k, m, &good)};
	hec_model_input in;
	size_t mark = hec_arena_used(k.arena);
#define WRONG(change, want, word)                                                                  \
	do {                                                                                       \
		in = good;                                                                         \
		change;                                                                            \
		FAILS(&k, want, hec_model_fwd(k.ctx, k.arena, m, &in, NULL, &out, NULL), word);    \
		assert_true(hec_arena_used(k.arena) == mark);                                      \
	} while (0)
	const int32_t long_lengths[] = {5, 6};
	WRONG(in.ids.rank = 0, HEC_ERR_ARGUMENT, "ids must be given");
	WRONG(in.decoder_ids.rank = 0, HEC_ERR_ARGUMENT, "decoder_ids must be given");
	WRONG(in.types = in.ids, HEC_ERR_ARGUMENT, "no token types");
	WRONG(in.length = long_lengths, HEC_ERR_ARGUMENT, "sequence 1 is 6");
	WRONG(in.ids = make_zero(&k, HEC_I32, SHAPE(3, 5)), HEC_ERR_SHAPE, "decoder_ids");
	WRONG(in.ids = make_zero(&k, HEC_I32, SHAPE(2, 10)), HEC_ERR_SHAPE, "10 positions");
	WRONG(in.ids = make_zero(&k, HEC_F32, SHAPE(2, 5)), HEC_ERR_ARGUMENT, "i32");
	put(&batch.input.ids, 3, 7);
	WRONG((void)0, HEC_ERR_ARGUMENT, "id 7 at position 3");
	put(&batch.input.ids, 3, 0);
#undef WRONG
	out.logits = make(&k, HEC_F32, SHAPE(2, 4, 6));
	FAILS(&k, HEC_ERR_SHAPE, hec_model_fwd(k.ctx, k.arena, m, &good, NULL, &out, NULL),
	      "model: logits", "[2, 4, 6]");
	config.encoder.layers++;
	hec_model *other = model_open(&k, &config, HEC_F32);
	hec_model_loss loss = HEC_MODEL_LOSS_INIT;
	loss.targets = good.decoder_ids;
	double sum;
	int64_t count;
	FAILS(&k, HEC_ERR_SHAPE,
	      hec_model_learn(k.ctx, k.arena, other, &good, &loss, NULL, m, &sum, &count),
	      "the gradient has", "hec_model_create_like");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_model_create_like(m, NULL), "out is NULL");
	hec_model_destroy(other);
	hec_model_destroy(m);
	hec_model_destroy(NULL);
	kit_close(&k);
}

/* ---- which position is classified ---- */

static hec_tensor labels_of(kit *k, const hec_model *m, int32_t *ids, int64_t n, int64_t length)
{
	const hec_model_config *c = hec_model_config_of(m);
	const int32_t one = (int32_t)length;
	hec_tensor t = hec_tensor_2d(ids, HEC_I32, 1, n);
	hec_model_input in = {.size = sizeof in, .decoder_ids = t, .decoder_length = &one};
	hec_model_output out = {.size = sizeof out, .logits = make(k, HEC_F32, SHAPE(1, 3))};
	if (c->front.features > 0) {
		in.features = make_zero(k, HEC_F32,
		                        SHAPE(1, c->front.features, 2 * c->encoder.position.max));
	} else if (c->encoder.layers > 0) {
		in.ids = t;
		in.length = &one;
	}
	OK(k, hec_model_fwd(k->ctx, k->arena, m, &in, NULL, &out, NULL));
	return out.logits;
}

static void a_decoder_is_classified_by_its_last_word(void **state)
{
	(void)state;
	kit k = kit_open(5230);
	hec_model_config c = model_variant(FORM_DECODER, 0, HEC_HEAD_CLASSIFY, 0);
	hec_model *m = model_open(&k, &c, HEC_F32);
	int32_t bare[] = {3, 5, 2}, padded[] = {3, 5, 2, 1, 1}, any[] = {3, 5, 2, 4, 6},
		none[] = {1, 1, 1};
	hec_tensor a = labels_of(&k, m, bare, 3, 3), b = labels_of(&k, m, padded, 5, 5),
		   d = labels_of(&k, m, any, 5, 3), e = labels_of(&k, m, any, 5, 5),
		   first = labels_of(&k, m, none, 3, 3), one = labels_of(&k, m, none, 1, 1);
	check_same_bits(&k, "padding behind it", &a, &b);
	check_same_bits(&k, "what is behind its length", &a, &d);
	check_same_bits(&k, "only padding", &first, &one);
	CHECK(&k, get(&a, 0) != get(&e, 0), "more words are no other text");
	int32_t empty = 0;
	hec_model_input in = {.size = sizeof in,
	                      .decoder_ids = hec_tensor_2d(any, HEC_I32, 1, 5),
	                      .decoder_length = &empty};
	hec_model_output out = {.size = sizeof out, .logits = a};
	FAILS(&k, HEC_ERR_ARGUMENT, hec_model_fwd(k.ctx, k.arena, m, &in, NULL, &out, NULL),
	      "sequence 0 is empty");
	hec_model_destroy(m);
	kit_close(&k);
}

static void an_encoder_with_a_decoder_is_classified_by_the_end(void **state)
{
	(void)state;
	kit k = kit_open(5240);
	hec_model_config c = model_variant(FORM_BOTH, 0, HEC_HEAD_CLASSIFY, 0);
	hec_model *m = model_open(&k, &c, HEC_F32);
	int32_t bare[] = {3, 1, 5, 1}, longer[] = {3, 1, 5, 1, 6, 1}, none[] = {3, 5, 2};
	hec_tensor a = labels_of(&k, m, bare, 4, 4), b = labels_of(&k, m, longer, 6, 4),
		   d = labels_of(&k, m, longer, 6, 6);
	check_same_bits(&k, "what is behind its length", &a, &b);
	CHECK(&k, get(&a, 0) != get(&d, 0), "it is not the last end");
	hec_tensor ids = hec_tensor_2d(none, HEC_I32, 1, 3),
		   few = hec_tensor_2d(bare, HEC_I32, 1, 3);
	hec_model_input in = {.size = sizeof in, .ids = ids, .decoder_ids = ids};
	hec_model_output out = {.size = sizeof out, .logits = a};
	FAILS(&k, HEC_ERR_ARGUMENT, hec_model_fwd(k.ctx, k.arena, m, &in, NULL, &out, NULL),
	      "sequence 0 has no id 1");
	in.ids = hec_tensor_2d(bare, HEC_I32, 1, 4);
	in.decoder_ids = few;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_model_fwd(k.ctx, k.arena, m, &in, NULL, &out, NULL),
	      "position 3", "3 ids");
	hec_model_destroy(m);
	kit_close(&k);
}

/* There are no other ids than the decoder's. */
static void an_encoder_of_frames_is_classified_by_the_end_that_the_decoder_reads(void **state)
{
	(void)state;
	kit k = kit_open(5250);
	hec_model_config c = frames_variant(0, HEC_HEAD_CLASSIFY, 0);
	hec_model *m = model_open(&k, &c, HEC_F32);
	int32_t bare[] = {3, 1, 5, 1}, longer[] = {3, 1, 5, 1, 6, 1}, none[] = {3, 5, 2};
	hec_tensor a = labels_of(&k, m, bare, 4, 4), b = labels_of(&k, m, longer, 6, 4),
		   d = labels_of(&k, m, longer, 6, 6);
	check_same_bits(&k, "what is behind its length", &a, &b);
	CHECK(&k, get(&a, 0) != get(&d, 0), "it is not the last end");
	hec_model_input in = {
		.size = sizeof in,
		.features = make_zero(&k, HEC_F32,
	                              SHAPE(1, c.front.features, 2 * c.encoder.position.max)),
		.decoder_ids = hec_tensor_2d(none, HEC_I32, 1, 3)};
	hec_model_output out = {.size = sizeof out, .logits = a};
	FAILS(&k, HEC_ERR_ARGUMENT, hec_model_fwd(k.ctx, k.arena, m, &in, NULL, &out, NULL),
	      "sequence 0 has no id 1");
	hec_model_destroy(m);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_lie_one_after_the_other_in_one_block),
		cmocka_unit_test(tied_tensors_appear_once),
		cmocka_unit_test(a_seed_decides_the_parameters),
		cmocka_unit_test(a_wrong_configuration_is_named_with_its_number),
		cmocka_unit_test(zeros_of_a_configuration_become_its_defaults),
		cmocka_unit_test(the_longest_text_is_bounded_by_the_stacks_that_read_tokens),
		cmocka_unit_test(a_sequence_gives_the_same_bits_alone_and_in_a_batch),
		cmocka_unit_test(packed_weights_give_the_same_bits_and_follow_the_weights),
		cmocka_unit_test(the_row_of_padding_takes_no_gradient),
		cmocka_unit_test(weights_of_every_head_sum_to_one),
		cmocka_unit_test(a_wrong_batch_is_named),
		cmocka_unit_test(a_decoder_is_classified_by_its_last_word),
		cmocka_unit_test(an_encoder_with_a_decoder_is_classified_by_the_end),
		cmocka_unit_test(
			an_encoder_of_frames_is_classified_by_the_end_that_the_decoder_reads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
