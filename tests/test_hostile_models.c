/* test_hostile_models.c — directories that are wrong or hostile: each is refused by name, and a few
 * bytes ask for no more memory than a few bytes should. */
#include "support/models.h"
#include "support/scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"
#include "format/json.h"
#include "format/safetensors.h"

/* A copy of a golden with one key of config.json set; returns the status of loading it. */
static hec_status load_with(kit *k, const char *dir, const char *key, json_t *value)
{
	char path[SCRATCH_PATH + 16];
	json_t *root;
	hec_model *m = NULL;
	snprintf(path, sizeof path, "%s/config.json", dir);
	OK(k, json_file_read(path, 1 << 20, &root));
	json_t *old = json_incref(json_object_get(root, key));
	if (value)
		OK(k, json_put(root, key, value));
	else
		json_object_del(root, key);
	OK(k, json_file_write(path, root));
	hec_status status = hec_model_load(k->ctx, dir, NULL, &m);
	CHECK(k, (status == HEC_OK) == (m != NULL), "half a model");
	CHECK(k, status == HEC_OK || *hec_error_message(), "refused without a reason");
	hec_model_destroy(m);
	if (old)
		OK(k, json_put(root, key, old));
	else
		json_object_del(root, key);
	OK(k, json_file_write(path, root));
	json_decref(root);
	return status;
}

static void config_json_is_checked(void **state)
{
	(void)state;
	kit k = kit_open(7140);
	char dir[SCRATCH_PATH], from[SCRATCH_PATH];
	scratch_copy(golden_model("marian", from), scratch_fresh(dir));
	OK(&k, load_with(&k, dir, "transformers_version", json_string("x")));
	FAILS(&k, HEC_ERR_UNSUPPORTED, load_with(&k, dir, "model_type", json_string("mamba")),
	      "config.json", "'mamba' is not known", "marian, bert, distilbert,",
	      "llama, mistral, qwen2, bart, mbart, t5, whisper, hecate");
	FAILS(&k, HEC_ERR_FORMAT, load_with(&k, dir, "model_type", json_integer(1)), "a text");
	OK(&k, load_with(&k, dir, "model_type", NULL)); /* architectures say it as well */
	OK(&k, load_with(&k, dir, "architectures", NULL));
	FAILS(&k, HEC_ERR_UNSUPPORTED,
	      load_with(&k, dir, "architectures", json_pack("[s]", "MarianForCausalLM")),
	      "'MarianForCausalLM' is not known", "MarianMTModel");
	FAILS(&k, HEC_ERR_FORMAT, load_with(&k, dir, "d_model", json_string("30")),
	      "'d_model' is a text, a whole number");
	FAILS(&k, HEC_ERR_UNSUPPORTED,
	      load_with(&k, dir, "activation_function", json_string("mish")),
	      "'activation_function' is 'mish'", "relu, gelu");
	FAILS(&k, HEC_ERR_SHAPE, load_with(&k, dir, "encoder_attention_heads", json_integer(4)),
	      "config.json", "30", "4");
	FAILS(&k, HEC_ERR_UNSUPPORTED, load_with(&k, dir, "decoder_vocab_size", json_integer(7)),
	      "'decoder_vocab_size' is 7");
	FAILS(&k, HEC_ERR_FORMAT, load_with(&k, dir, "encoder_ffn_dim", json_integer(35)),
	      "'model.encoder.layers.0.fc1.weight' has shape [34, 30], config.json asks for [35, "
	      "30]",
	      "'model.encoder.layers.0.fc2.weight' has shape [30, 34]");
	FAILS(&k, HEC_ERR_FORMAT, load_with(&k, dir, "encoder_layers", json_integer(2)),
	      "tensors 'model.encoder.layers.1.self_attn.q_proj.weight', ",
	      "'model.encoder.layers.1.self_attn.k_proj.bias', ",
	      ", 'model.encoder.layers.1.final_layer_norm.bias' are missing");
	assert_null(strstr(hec_error_message(), " more"));
	FAILS(&k, HEC_ERR_UNSUPPORTED,
	      load_with(&k, dir, "max_position_embeddings", json_integer(2000000000)),
	      "a table of 2000000000 positions");
	FAILS(&k, HEC_ERR_UNSUPPORTED, load_with(&k, dir, "vocab_size", json_integer(2000000000)),
	      "'decoder_vocab_size'");
	kit_close(&k);
}

static void an_encoder_that_would_be_a_decoder_is_refused(void **state)
{
	(void)state;
	static const char *const names[] = {"bert_classify", "roberta"};
	for (int i = 0; i < 2; i++) {
		kit k = kit_open(7145);
		char dir[SCRATCH_PATH], from[SCRATCH_PATH];
		scratch_copy(golden_model(names[i], from), scratch_fresh(dir));
		OK(&k, load_with(&k, dir, "is_decoder", json_false()));
		FAILS(&k, HEC_ERR_UNSUPPORTED, load_with(&k, dir, "is_decoder", json_true()),
		      "'is_decoder': true is not supported");
		kit_close(&k);
	}
}

#define CONFIG_PATH (SCRATCH_PATH + 32)

/* A directory whose only tensor is a byte; where its config.json is to be. */
static void make_one_byte(kit *k, char dir[SCRATCH_PATH], char path[CONFIG_PATH])
{
	const safetensors_item item = {"x", ST_U8, 1, {1}, "x"};
	OK(k, mkdir(scratch_fresh(dir), 0777) == 0 ? HEC_OK : HEC_ERR_IO);
	snprintf(path, CONFIG_PATH, "%s/model.safetensors", dir);
	OK(k, safetensors_write(path, &item, 1, NULL, NULL, NULL));
	snprintf(path, CONFIG_PATH, "%s/config.json", dir);
}

static void a_few_bytes_cannot_ask_for_terabytes(void **state)
{
	(void)state;
	kit k = kit_open(7160);
	char dir[SCRATCH_PATH], path[CONFIG_PATH];
	hec_model *m = NULL;
	make_one_byte(&k, dir, path);
	static const char *const configs[] = {
		"{\"model_type\":\"gpt2\",\"n_embd\":1048576,\"n_head\":1}",
		"{\"model_type\":\"gpt2\",\"n_embd\":8,\"n_head\":1,\"vocab_size\":1,\"bos_token_"
		"id\":0,"
		"\"eos_token_id\":0,\"n_positions\":2147483647}",
		"{\"model_type\":\"gpt2\",\"n_embd\":8,\"n_head\":1,\"n_layer\":5000}",
		"{\"model_type\":\"bert\",\"vocab_size\":9,\"hidden_size\":12,\"type_vocab_size\":"
		"2147483647}",
		"{\"model_type\":\"bert\",\"vocab_size\":2147483647,\"hidden_size\":2147483647,"
		"\"num_attention_heads\":1}",
		/* matrices that nothing but the width makes large */
		"{\"model_type\":\"hecate\",\"architectures\":[\"HecateMasked\"],\"vocab_size\":1,"
		"\"width\":16384,\"encoder\":{\"layers\":1,\"attention\":{\"heads\":1,\"d_k\":1},"
		"\"feed_forward\":{\"hidden\":1}}}",
		"{\"model_type\":\"hecate\",\"architectures\":[\"HecateLM\"],\"vocab_size\":1,"
		"\"width\":16384,\"decoder\":{\"layers\":1,\"attention\":{\"heads\":1,\"d_k\":1},"
		"\"feed_forward\":{\"hidden\":1},\"residual_linear\":true}}",
	};
	for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
		OK(&k, file_replace(path, configs[i], strlen(configs[i])));
		FAILS(&k, HEC_ERR_FORMAT, hec_model_load(k.ctx, dir, NULL, &m), dir,
		      "config.json asks for");
	}
	const char *table = "{\"model_type\":\"marian\",\"d_model\":16,\"vocab_size\":9,"
			    "\"pad_token_id\":8,\"decoder_start_token_id\":8,\"encoder_layers\":1,"
			    "\"decoder_layers\":1,\"encoder_ffn_dim\":1,\"decoder_ffn_dim\":1,"
			    "\"max_position_embeddings\":2000000000}";
	OK(&k, file_replace(path, table, strlen(table)));
	FAILS(&k, HEC_ERR_FORMAT, hec_model_load(k.ctx, dir, NULL, &m), "layers");
	const char *rotary =
		"{\"model_type\":\"hecate\",\"architectures\":[\"HecateLM\"],\"vocab_size\":1,"
		"\"width\":1,\"decoder\":{\"layers\":1,\"attention\":{\"heads\":1,\"d_k\":524288,"
		"\"d_v\":1},\"feed_forward\":{\"hidden\":1},\"position\":{\"kind\":\"rotary\","
		"\"max\":"
		"512}}}";
	OK(&k, file_replace(path, rotary, strlen(rotary)));
	FAILS(&k, HEC_ERR_UNSUPPORTED, hec_model_load(k.ctx, dir, NULL, &m),
	      "a table of 512 positions of 524288 numbers");
	const char *relative =
		"{\"model_type\":\"hecate\",\"architectures\":[\"HecateLM\"],\"vocab_size\":1,"
		"\"width\":1,\"decoder\":{\"layers\":1,\"attention\":{\"heads\":1},\"feed_"
		"forward\":"
		"{\"hidden\":1},\"position\":{\"kind\":\"relative\",\"max\":2147483647}}}";
	OK(&k, file_replace(path, relative, strlen(relative)));
	FAILS(&k, HEC_ERR_UNSUPPORTED, hec_model_load(k.ctx, dir, NULL, &m),
	      "a table of 2147483647 positions");
	assert_null(m);
	kit_close(&k);
}

/* By far too few, too: each of them, those of all layers together. */
static void files_that_hold_next_to_nothing_say_what_is_missing(void **state)
{
	(void)state;
	static const struct {
		const char *config, *says[4];
	} cases[] = {
		{"{\"model_type\":\"bert\",\"hidden_size\":12,\"num_attention_heads\":2}",
	         {"asks for 12 and 0 layers; the files hold 1 tensors: tensors "
	          "'bert.embeddings.word_embeddings.weight', ",
	          ", 'bert.encoder.layer.*.attention.self.query.weight' (0 … 11), ",
	          ", 'bert.encoder.layer.*.output.LayerNorm.bias' (0 … 11)", " are missing"}},
		/* a table of its own, and positions that no file holds */
		{"{\"model_type\":\"marian\",\"vocab_size\":9,\"pad_token_id\":8,\"decoder_start_"
	         "token_id\":8,\"max_position_embeddings\":2000000000}",
	         {"12 and 12 layers", "tensors 'model.shared.weight', ",
	          "'model.encoder.layers.*.final_layer_norm.bias' (0 … 11)",
	          "'model.decoder.layers.*.final_layer_norm.bias' (0 … 11)"}},
		{"{\"model_type\":\"llama\",\"max_position_embeddings\":131072}",
	         {"0 and 32 layers", "tensors 'model.embed_tokens.weight', ",
	          "'model.layers.*.mlp.down_proj.weight' (0 … 31)", "'model.norm.weight'"}},
		/* few layers, many numbers */
		{"{\"model_type\":\"gpt2\",\"n_layer\":1}",
	         {"numbers; the files hold 1: tensors 'transformer.wte.weight', "}},
	};
	kit k = kit_open(7165);
	char dir[SCRATCH_PATH], path[CONFIG_PATH];
	hec_model *m = NULL;
	make_one_byte(&k, dir, path);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		OK(&k, file_replace(path, cases[i].config, strlen(cases[i].config)));
		for (size_t j = 0; j < 4 && cases[i].says[j]; j++)
			FAILS(&k, HEC_ERR_FORMAT, hec_model_load(k.ctx, dir, NULL, &m),
			      cases[i].says[j]);
		assert_null(strstr(hec_error_message(), " more"));
	}
	kit_close(&k);
}

/* What is wrong in the same way in layers that follow each other is said once. */
static void misshapen_tensors_of_layers_are_said_together(void **state)
{
	(void)state;
	kit k = kit_open(7166);
	char dir[SCRATCH_PATH], from[SCRATCH_PATH];
	scratch_copy(golden_model("bert", from), scratch_fresh(dir));
	FAILS(&k, HEC_ERR_FORMAT, load_with(&k, dir, "intermediate_size", json_integer(35)),
	      ": tensors 'bert.encoder.layer.*.intermediate.dense.weight' (0 … 1) have shape "
	      "[34, 30], config.json asks for [35, 30]; tensors "
	      "'bert.encoder.layer.*.intermediate.dense.bias' (0 … 1) have shape [34], "
	      "config.json asks for [35]; tensors 'bert.encoder.layer.*.output.dense.weight' "
	      "(0 … 1) have shape [30, 34], config.json asks for [30, 35]");
	kit_close(&k);
}

/* However many are missing, and whatever their names fill of a message. */
static void any_number_of_missing_tensors_is_an_error(void **state)
{
	(void)state;
	kit k = kit_open(7167);
	hec_model_config c = model_variant(FORM_DECODER, 1, HEC_HEAD_LM, 0);
	c.decoder.layers = 40;
	hec_model *m = model_open(&k, &c, HEC_F32), *back = NULL;
	char dir[SCRATCH_PATH], path[SCRATCH_PATH + 32], *bytes;
	size_t size, missing = 0;
	OK(&k, hec_model_save(k.ctx, m, HEC_F32, scratch_fresh(dir)));
	snprintf(path, sizeof path, "%s/model.safetensors", dir);
	OK(&k, file_read(path, 64 << 20, &bytes, &size));
	const int file = open(path, O_WRONLY);
	assert_true(file >= 0);
	/* Every other layer's get other names, one after the other; a name is "…layers.7.…" or the like. */
	for (char *at = bytes + 8; (at = strstr(at, "s.")); at += 2) {
		char *end;
		const long layer = strtol(at + 2, &end, 10);
		if (end == at + 2 || *end != '.' || layer % 2 == 0)
			continue;
		assert_int_equal(pwrite(file, "_", 1, at + 1 - bytes), 1);
		missing++;
		FAILS(&k, HEC_ERR_FORMAT, hec_model_load(k.ctx, dir, NULL, &back), "missing");
		assert_null(back);
	}
	assert_true(missing > 200);
	assert_non_null(strstr(hec_error_message(), " more"));
	close(file);
	free(bytes);
	hec_model_destroy(m);
	kit_close(&k);
}

static void a_tensor_of_an_odd_type_is_refused(void **state)
{
	(void)state;
	kit k = kit_open(7170);
	hec_model_config c = model_variant(FORM_BOTH, 1, HEC_HEAD_LM, 0);
	hec_model *m = model_open(&k, &c, HEC_F32), *back = NULL;
	char dir[SCRATCH_PATH], path[SCRATCH_PATH + 32], *bytes;
	size_t size;
	OK(&k, hec_model_save(k.ctx, m, HEC_F32, scratch_fresh(dir)));
	snprintf(path, sizeof path, "%s/model.safetensors", dir);
	OK(&k, file_read(path, 1 << 20, &bytes, &size));
	char *place = strstr(bytes + 8, "\"F32\"");
	memcpy(place, "\"I32\"", 5);
	OK(&k, file_replace(path, bytes, size));
	free(bytes);
	FAILS(&k, HEC_ERR_FORMAT, hec_model_load(k.ctx, dir, NULL, &back), dir, "is of type I32");
	unlink(path);
	FAILS(&k, HEC_ERR_IO, hec_model_load(k.ctx, dir, NULL, &back), "neither model.safetensors");
	FAILS(&k, HEC_ERR_IO, hec_model_load(k.ctx, "/nowhere", NULL, &back),
	      "/nowhere/config.json");
	hec_model_destroy(m);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(config_json_is_checked),
		cmocka_unit_test(an_encoder_that_would_be_a_decoder_is_refused),
		cmocka_unit_test(a_few_bytes_cannot_ask_for_terabytes),
		cmocka_unit_test(files_that_hold_next_to_nothing_say_what_is_missing),
		cmocka_unit_test(misshapen_tensors_of_layers_are_said_together),
		cmocka_unit_test(any_number_of_missing_tensors_is_an_error),
		cmocka_unit_test(a_tensor_of_an_odd_type_is_refused),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
