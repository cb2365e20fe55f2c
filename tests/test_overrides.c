/* test_overrides.c — models that are to be other than their files say: what fits is loaded, the rest
 * starts fresh, and what was done is said. */
#include "support/models.h"
#include "support/scratch.h"

#include <stdio.h>
#include <string.h>

static hec_model *load_with(kit *k, const char *name, const hec_model_load_options *o)
{
	char dir[SCRATCH_PATH];
	hec_model *m = NULL;
	OK(k, hec_model_load(k->ctx, golden_model(name, dir), o, &m));
	OK(k, hec_model_unpack(k->ctx, m));
	return m;
}

static hec_model *load_plain(kit *k, const char *name)
{
	return load_with(k, name, NULL);
}

static hec_tensor param(const hec_model *m, const char *name)
{
	for (size_t i = 0; i < hec_model_param_count(m); i++)
		if (strcmp(hec_model_param_at(m, i)->name, name) == 0)
			return hec_model_tensor(m, i);
	hec_tensor none = HEC_TENSOR_NONE;
	return none;
}

/* Each parameter of `m` that is in `other` too is the same there; returns how many are. */
static int same_params(kit *k, const hec_model *m, const hec_model *other)
{
	int same = 0;
	for (size_t i = 0; i < hec_model_param_count(m); i++) {
		const char *name = hec_model_param_at(m, i)->name;
		hec_tensor a = hec_model_tensor(m, i), b = param(other, name);
		if (!b.rank)
			continue;
		check_same_bits(k, name, &a, &b);
		same++;
	}
	return same;
}

static void says(kit *k, const hec_model *m, const char *line)
{
	CHECK(k, strstr(hec_model_report(m), line), "'%s' is not in:\n%s", line,
	      hec_model_report(m));
}

#define OVERRIDES(...)                                                                             \
	.overrides = (const char *const[]){__VA_ARGS__},                                           \
	.override_count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

static void fewer_layers_are_the_first_ones(void **state)
{
	(void)state;
	kit k = kit_open(7300);
	hec_model_load_options o = {.size = sizeof o, OVERRIDES("num_hidden_layers=1")};
	hec_model *all = load_plain(&k, "llama"), *one = load_with(&k, "llama", &o);
	assert_int_equal(hec_model_config_of(all)->decoder.layers, 2);
	assert_int_equal(hec_model_config_of(one)->decoder.layers, 1);
	CHECK(&k, same_params(&k, one, all) == (int)hec_model_param_count(one), "too few");
	says(&k, one, "loaded: 12 tensors");
	says(&k, one, "ignored: model.layers.1.mlp.up_proj.weight\n");
	assert_null(strstr(hec_model_report(one), "fresh"));
	hec_model_destroy(all);
	hec_model_destroy(one);
	/* Other families call it otherwise. */
	static const char *const names[] = {"gpt2", "bart", "t5", "distilbert", "marian"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		hec_model *m = load_with(&k, names[i], &o);
		const hec_model_config *c = hec_model_config_of(m);
		CHECK(&k, c->encoder.layers < 2 && c->decoder.layers < 2, "%s", names[i]);
		hec_model_destroy(m);
	}
	kit_close(&k);
}

/* What is fresh is what hec_model_create makes of the same seed. */
static void more_layers_start_fresh_from_the_seed(void **state)
{
	(void)state;
	kit k = kit_open(7310);
	hec_model_load_options o = {
		.size = sizeof o, .seed = 11, OVERRIDES("n_layer=4", "n_positions=24")};
	hec_model *all = load_plain(&k, "gpt2"), *more = load_with(&k, "gpt2", &o), *made = NULL;
	const hec_model_config *c = hec_model_config_of(more);
	assert_int_equal(c->decoder.layers, 4);
	CHECK(&k, same_params(&k, all, more) == (int)hec_model_param_count(all), "too few");
	OK(&k, hec_model_create(k.ctx, c, HEC_F32, 11, &made));
	static const char *const fresh[] = {"decoder.layers.2.self.qkv.w",
	                                    "decoder.layers.3.feed_forward.down.w",
	                                    "decoder.layers.3.norm3.gamma"};
	for (size_t i = 0; i < sizeof fresh / sizeof *fresh; i++) {
		hec_tensor a = param(more, fresh[i]), b = param(made, fresh[i]);
		CHECK(&k, a.rank && b.rank, "%s", fresh[i]);
		check_same_bits(&k, fresh[i], &a, &b);
	}
	says(&k, more, "fresh: transformer.h.*.attn.c_attn.weight [30, 90] (2 … 3)\n");
	hec_model_destroy(all);
	hec_model_destroy(more);
	hec_model_destroy(made);
	kit_close(&k);
}

/* As in files from when tying meant the output alone. */
static void one_table_serves_where_two_are_wanted(void **state)
{
	(void)state;
	kit k = kit_open(7315);
	hec_model_load_options o = {.size = sizeof o, OVERRIDES("tie_word_embeddings=false")};
	static const char *const names[] = {"bart", "mbart", "marian"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		hec_model *one = load_plain(&k, names[i]), *three = load_with(&k, names[i], &o);
		hec_tensor all = param(one, "embedding"), a = param(three, "encoder.embedding"),
			   b = param(three, "decoder.embedding");
		check_same_bits(&k, names[i], &a, &all);
		check_same_bits(&k, names[i], &b, &all);
		says(&k, three, "fresh: lm_head.weight [101, 30]\n");
		hec_model_destroy(one);
		hec_model_destroy(three);
	}
	kit_close(&k);
}

static void tables_are_cut_and_extended_by_rows(void **state)
{
	(void)state;
	kit k = kit_open(7320);
	hec_model *all = load_plain(&k, "bert");
	hec_tensor was = param(all, "embedding"), a, b;
	for (int64_t V = 57; V <= 143; V += 86) {
		char words[32];
		snprintf(words, sizeof words, "vocab_size=%d", (int)V);
		hec_model_load_options o = {.size = sizeof o, .seed = 3, OVERRIDES(words)};
		hec_model *m = load_with(&k, "bert", &o), *made = NULL;
		hec_tensor is = param(m, "embedding");
		const int64_t n = V < 101 ? V : 101;
		assert_int_equal(is.shape[0], V);
		OK(&k, hec_tensor_slice(&is, 0, 0, n, &a));
		OK(&k, hec_tensor_slice(&was, 0, 0, n, &b));
		check_same_bits(&k, "rows of the files", &a, &b);
		if (V > n) {
			OK(&k, hec_model_create(k.ctx, hec_model_config_of(m), HEC_F32, 3, &made));
			hec_tensor first = param(made, "embedding");
			OK(&k, hec_tensor_slice(&is, 0, n, V - n, &a));
			OK(&k, hec_tensor_slice(&first, 0, n, V - n, &b));
			check_same_bits(&k, "fresh rows", &a, &b);
			hec_model_destroy(made);
		}
		says(&k, m,
		     V < 101 ? "cut: bert.embeddings.word_embeddings.weight: 57 rows, of "
		               "which the files have 101\n"
		             : "extended: bert.embeddings.word_embeddings.weight: 143 rows, "
		               "of which the files have 101\n");
		assert_null(strstr(hec_model_report(m), "fresh"));
		hec_model_destroy(m);
	}
	hec_model_destroy(all);
	kit_close(&k);
}

static void another_width_starts_fresh(void **state)
{
	(void)state;
	kit k = kit_open(7330);
	hec_model_load_options o = {.size = sizeof o, OVERRIDES("intermediate_size=35")};
	hec_model *all = load_plain(&k, "llama"), *m = load_with(&k, "llama", &o);
	says(&k, m, "fresh: model.layers.*.mlp.up_proj.weight [35, 30] (0 … 1)\n");
	hec_tensor a = param(m, "decoder.layers.1.self.q.w"),
		   b = param(all, "decoder.layers.1.self.q.w");
	check_same_bits(&k, "what fits", &a, &b);
	hec_model_destroy(all);
	hec_model_destroy(m);
	kit_close(&k);
}

/* ---- heads ---- */

static void a_base_model_gets_a_head(void **state)
{
	(void)state;
	kit k = kit_open(7340);
	const hec_head head = HEC_HEAD_CLASSIFY;
	const char *const names[] = {"bad", "so so", "good"};
	hec_model_load_options o = {.size = sizeof o,
	                            .head = &head,
	                            .labels = 3,
	                            .label_names = names,
	                            .seed = 5,
	                            .unpacked = true};
	/* one with its prefix and a head for words, one without either but with its pooler */
	static const char *const from[] = {"bert", "bert_base", "roberta", "distilbert"};
	for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
		char dir[SCRATCH_PATH];
		hec_model *all = load_plain(&k, from[i]), *m = load_with(&k, from[i], &o),
			  *back = NULL;
		assert_int_equal(hec_model_config_of(m)->head, HEC_HEAD_CLASSIFY);
		assert_int_equal(hec_model_config_of(m)->labels, 3);
		assert_string_equal(hec_model_label(m, 1), "so so");
		hec_tensor labels = param(m, "head.labels.w"), a = param(m, "embedding"),
			   b = param(all, "embedding");
		assert_int_equal(labels.shape[0], 3);
		check_same_bits(&k, "embedding", &a, &b);
		CHECK(&k, get(&labels, 0) != 0 && get(&labels, 1) != get(&labels, 0), "no start");
		says(&k, m, "fresh: ");
		if (strcmp(from[i], "bert_base") == 0) /* its pooler is the head's dense layer */
			says(&k, m, "fresh: classifier.weight [3, 30]\n");
		if (strcmp(from[i], "bert") == 0)
			says(&k, m, "ignored: cls.predictions.bias\n");
		OK(&k, hec_model_save(k.ctx, m, HEC_F32, scratch_fresh(dir)));
		OK(&k, hec_model_load(k.ctx, dir, NULL, &back));
		OK(&k, hec_model_unpack(k.ctx, back));
		CHECK(&k, same_params(&k, m, back) == (int)hec_model_param_count(m), "%s", from[i]);
		assert_string_equal(hec_model_label(back, 2), "good");
		hec_model_destroy(all);
		hec_model_destroy(m);
		hec_model_destroy(back);
	}
	kit_close(&k);
}

/* It runs without being asked to unpack: packed for the level, as any loaded model. */
static void what_is_partly_fresh_runs(void **state)
{
	(void)state;
	kit k = kit_open(7350);
	char dir[SCRATCH_PATH];
	hec_model_load_options o = {.size = sizeof o, .seed = 2, OVERRIDES("num_labels=4")};
	hec_model *m = NULL;
	OK(&k, hec_model_load(k.ctx, golden_model("bert_classify", dir), &o, &m));
	says(&k, m, "fresh: classifier.bias [4]\n");
	int32_t ids[] = {3, 1, 4, 1, 5};
	hec_model_input in = {.size = sizeof in, .ids = hec_tensor_2d(ids, HEC_I32, 1, 5)};
	hec_model_output out = {.size = sizeof out, .logits = make(&k, HEC_F32, SHAPE(1, 4))};
	OK(&k, hec_model_fwd(k.ctx, k.arena, m, &in, NULL, &out, NULL));
	hec_model_destroy(m);
	kit_close(&k);
}

/* The names that the files have are of other labels. */
static void another_number_of_labels_does_not_keep_their_names(void **state)
{
	(void)state;
	kit k = kit_open(7351);
	char dir[SCRATCH_PATH], saved[SCRATCH_PATH];
	static const char *const names[] = {"bad", "so so", "good"};
	hec_model_load_options o = {.size = sizeof o, .seed = 2, OVERRIDES("num_labels=2")};
	hec_model *m = NULL;
	OK(&k, hec_model_load(k.ctx, golden_model("bert_classify", dir), NULL, &m));
	OK(&k, hec_model_set_labels(m, names, 3));
	OK(&k, hec_model_save(k.ctx, m, HEC_F32, scratch_fresh(saved)));
	hec_model_destroy(m);
	OK(&k, hec_model_load(k.ctx, saved, &o, &m));
	assert_string_equal(hec_model_label(m, 0), "LABEL_0");
	assert_string_equal(hec_model_label(m, 1), "LABEL_1");
	hec_model_destroy(m);
	kit_close(&k);
}

/* ---- what is wrong ---- */

static hec_status try(kit *k, const char *name, const hec_model_load_options *o)
{
	char dir[SCRATCH_PATH];
	hec_model *m = NULL;
	hec_status status = hec_model_load(k->ctx, golden_model(name, dir), o, &m);
	hec_model_destroy(m);
	return status;
}

static hec_status try_override(kit *k, const char *name, const char *words)
{
	hec_model_load_options o = {.size = sizeof o, .overrides = &words, .override_count = 1};
	return try(k, name, &o);
}

static void what_cannot_be_is_said(void **state)
{
	(void)state;
	kit k = kit_open(7360);
	FAILS(&k, HEC_ERR_ARGUMENT, try_override(&k, "bert", "num_hiden_layers=2"),
	      "bert has no key 'num_hiden_layers'", "num_hidden_layers");
	static const char *const parts[] = {"num_hidden=1", "vocab=3", "h=1", "num=1"};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		FAILS(&k, HEC_ERR_ARGUMENT, try_override(&k, "bert", parts[i]), "has no key");
	FAILS(&k, HEC_ERR_ARGUMENT, try_override(&k, "bert", "rope_theta=2"), "has no key");
	FAILS(&k, HEC_ERR_ARGUMENT, try_override(&k, "llama", "sliding_window=2"), "has no key");
	FAILS(&k, HEC_ERR_ARGUMENT, try_override(&k, "bert", "2"), "KEY=VALUE");
	hec_model *half = NULL;
	char dir[SCRATCH_PATH];
	const hec_model_load_options in_half = {.size = sizeof in_half, .dtype = HEC_BF16};
	FAILS(&k, HEC_ERR_UNSUPPORTED,
	      hec_model_load(k.ctx, golden_model("bert", dir), &in_half, &half), "f32 or f64",
	      "bf16");
	FAILS(&k, HEC_ERR_ARGUMENT, try_override(&k, "bert", "=2"), "KEY=VALUE");
	FAILS(&k, HEC_ERR_FORMAT, try_override(&k, "bert", "num_hidden_layers=two"),
	      "'num_hidden_layers' is a text");
	FAILS(&k, HEC_ERR_FORMAT, try_override(&k, "bert", "num_hidden_layers=0"), "0");
	FAILS(&k, HEC_ERR_UNSUPPORTED, try_override(&k, "bert", "model_type=mamba"), "'mamba'");
	FAILS(&k, HEC_ERR_ARGUMENT, try_override(&k, "bert", "vocab_size.x=1"),
	      "'vocab_size' is no object");
	FAILS(&k, HEC_ERR_ARGUMENT, try_override(&k, "bert_classify", "num_labels=no"),
	      "num_labels");
	FAILS(&k, HEC_ERR_ARGUMENT, try_override(&k, "bert_classify", "num_labels=0"), "0 labels");
	const hec_head masked = HEC_HEAD_MASKED;
	hec_model_load_options o = {.size = sizeof o, .head = &masked};
	FAILS(&k, HEC_ERR_UNSUPPORTED, try(&k, "llama", &o), "llama has no such head",
	      "LlamaForCausalLM");
	kit_close(&k);
}

static double factor_of(const hec_model *m)
{
	return hec_model_config_of(m)->decoder.position.scaling.factor;
}

/* Older and newer names of what turns positions are the same, whichever the file has. */
static void what_turns_positions_has_two_names(void **state)
{
	(void)state;
	static const char *const models[] = {"llama_linear", "llama_dynamic"};
	static const char *const factors[] = {"rope_scaling.factor=4", "rope_parameters.factor=4"};
	kit k = kit_open(7362);
	for (int i = 0; i < 2; i++)
		for (int saved = 0; saved < 2; saved++)
			for (int j = 0; j < 2; j++) {
				/* Our own files have both. */
				char dir[SCRATCH_PATH], own[SCRATCH_PATH];
				hec_model *m = NULL, *plain = NULL;
				golden_model(models[i], dir);
				if (saved) {
					OK(&k, hec_model_load(k.ctx, dir, NULL, &m));
					OK(&k, hec_model_unpack(k.ctx, m));
					OK(&k,
					   hec_model_save(k.ctx, m, HEC_F32, scratch_fresh(own)));
					hec_model_destroy(m);
				}
				const char *from = saved ? own : dir;
				hec_model_load_options o = {.size = sizeof o,
				                            OVERRIDES(factors[j], "rope_theta=77")};
				OK(&k, hec_model_load(k.ctx, from, NULL, &plain));
				OK(&k, hec_model_load(k.ctx, from, &o, &m));
				const hec_position_config *p =
					&hec_model_config_of(m)->decoder.position;
				CHECK(&k,
				      factor_of(plain) != 4 && factor_of(m) == 4 && p->base == 77 &&
				              p->scaling.kind ==
				                      hec_model_config_of(plain)
				                              ->decoder.position.scaling.kind,
				      "%s, %s: factor %g, theta %g", models[i], factors[j],
				      factor_of(m), p->base);
				hec_model_destroy(m);
				hec_model_destroy(plain);
			}
	kit_close(&k);
}

/* A head alone excuses nothing else. */
static void another_head_does_not_hide_a_missing_tensor(void **state)
{
	(void)state;
	kit k = kit_open(7370);
	char dir[SCRATCH_PATH], from[SCRATCH_PATH], path[SCRATCH_PATH + 32];
	const hec_head head = HEC_HEAD_CLASSIFY;
	hec_model_load_options o = {.size = sizeof o, .head = &head};
	hec_model *m = NULL;
	scratch_copy(golden_model("bert", from), scratch_fresh(dir));
	snprintf(path, sizeof path, "%s/config.json", dir);
	FILE *f = fopen(path, "r+");
	assert_non_null(f);
	char text[4096];
	size_t n = fread(text, 1, sizeof text - 1, f);
	text[n] = '\0';
	char *at = strstr(text, "\"num_hidden_layers\": 2");
	assert_non_null(at);
	memcpy(at, "\"num_hidden_layers\": 3", 22);
	rewind(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	fclose(f);
	FAILS(&k, HEC_ERR_FORMAT, hec_model_load(k.ctx, dir, &o, &m),
	      "tensors 'bert.encoder.layer.2.attention.self.query.weight', ",
	      ", 'bert.encoder.layer.2.output.LayerNorm.bias' are missing");
	assert_null(m);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fewer_layers_are_the_first_ones),
		cmocka_unit_test(more_layers_start_fresh_from_the_seed),
		cmocka_unit_test(one_table_serves_where_two_are_wanted),
		cmocka_unit_test(tables_are_cut_and_extended_by_rows),
		cmocka_unit_test(another_width_starts_fresh),
		cmocka_unit_test(a_base_model_gets_a_head),
		cmocka_unit_test(what_is_partly_fresh_runs),
		cmocka_unit_test(another_number_of_labels_does_not_keep_their_names),
		cmocka_unit_test(what_cannot_be_is_said),
		cmocka_unit_test(what_turns_positions_has_two_names),
		cmocka_unit_test(another_head_does_not_hide_a_missing_tensor),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
