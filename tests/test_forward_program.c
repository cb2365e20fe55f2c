/* test_forward_program.c — `hecate forward` as a user runs it: what it writes is what Transformers gives
 * for the same ids and mask, to the last attention weight. */
#include "support/models.h"

#include <dirent.h>
#include <math.h>
#include <string.h>

#include "program_run.h"
#include "format/safetensors.h"

#define CLOSE 1e-5 /* of the largest */
#define CLOSE_WIDE 1e-12
#define MODELS TESTS_DIR "/golden/models"

/* Sequence b of `want` against the whole of `got`; every other number of `want` from `first`, where it
 * holds two for each of ours. */
static void close_to(kit *k, const char *model, const char *name, const hec_tensor *got,
                     const hec_tensor *want, int64_t b, int64_t first, int64_t step)
{
	const int64_t n = hec_tensor_count(got), all = hec_tensor_count(want) / want->shape[0];
	double largest = 0, off = 0;
	CHECK(k, got->shape[0] == 1 && all == n * step, "%s: %s has %lld numbers, not %lld", model,
	      name, (long long)n, (long long)(all / step));
	for (int64_t i = 0; i < n; i++) {
		double w = get(want, b * all + i * step + first);
		largest = fmax(largest, fabs(w));
		const double d = fabs(get(got, i) - w);
		off = isnan(d) ? INFINITY : fmax(off, d);
	}
	/* In f64 nothing but the roundings of f64 is left, or the one of what is expected. */
	const double close = got->dtype == HEC_F32    ? CLOSE
	                     : want->dtype == HEC_F64 ? CLOSE_WIDE
	                                              : 0x1p-24;
	CHECK(k, off <= close * largest, "%s: %s is off by %g of %g", model, name, off, largest);
}

static void put_row(char *line, size_t size, const char *option, const hec_tensor *ids, int64_t b)
{
	size_t at = strlen(line);
	for (int64_t t = 0; t < ids->shape[1]; t++)
		at += (size_t)snprintf(line + at, size - at, "%s%d", t ? "," : option,
		                       (int)get(ids, b * ids->shape[1] + t));
}

/* Sequence b as NumPy would save it: a batch of one, or without that axis. */
static void put_features(kit *k, char *line, size_t size, const hec_tensor *features, int64_t b)
{
	const int64_t bands = features->shape[1], frames = features->shape[2];
	char path[600], header[128];
	snprintf(path, sizeof path, "%s/features.npy", folder);
	int n = snprintf(header, sizeof header,
	                 "{'descr': '<f4', 'fortran_order': False, 'shape': (%s%d, %d), }",
	                 b ? "1, " : "", (int)bands, (int)frames);
	header[n++] = '\n';
	FILE *f = fopen(path, "wb");
	CHECK(k, f, "%s", path);
	const unsigned char start[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)n, 0};
	fwrite(start, 1, sizeof start, f);
	fwrite(header, 1, (size_t)n, f);
	fwrite((const float *)features->data + b * bands * frames, sizeof(float),
	       (size_t)(bands * frames), f);
	CHECK(k, fclose(f) == 0, "%s", path);
	const size_t at = strlen(line);
	snprintf(line + at, size - at, " --features %s", path);
}

static void compare_all(kit *k, const char *model, const safetensors *want, const safetensors *got,
                        int64_t b)
{
	static const char *const same[][2] = {{"last_hidden_state", "hidden"},
	                                      {"logits", "logits"},
	                                      {"pooler_output", "pooled"},
	                                      {"encoder_last_hidden_state", "memory"}};
	int64_t compared = 0;
	for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
		hec_tensor w = stored_tensor(k, want, same[i][1]),
			   g = stored_tensor(k, got, same[i][0]);
		if (w.rank && g.rank) {
			close_to(k, model, same[i][0], &g, &w, b, 0, 1);
			compared++;
		}
		CHECK(k, !w.rank || g.rank || i == 1, "%s: no %s", model, same[i][0]);
	}
	hec_tensor begin = stored_tensor(k, got, "start_logits"),
		   end = stored_tensor(k, got, "end_logits"),
		   both = stored_tensor(k, want, "logits");
	if (begin.rank) {
		close_to(k, model, "start_logits", &begin, &both, b, 0, 2);
		close_to(k, model, "end_logits", &end, &both, b, 1, 2);
		compared++;
	}
	CHECK(k, compared > 0, "%s: nothing to compare", model);
	/* Every weight that either side has. */
	for (size_t i = 0; i < safetensors_count(want); i++) {
		const char *name = safetensors_at(want, i)->name;
		if (!strstr(name, "attentions."))
			continue;
		hec_tensor w = stored_tensor(k, want, name), g = stored_tensor(k, got, name);
		CHECK(k, g.rank == 4, "%s: no %s", model, name);
		close_to(k, model, name, &g, &w, b, 0, 1);
	}
	for (size_t i = 0; i < safetensors_count(got); i++) {
		const char *name = safetensors_at(got, i)->name;
		CHECK(k, !strstr(name, "attentions.") || safetensors_find(want, name),
		      "%s: %s too many", model, name);
	}
}

static void forward_one(kit *k, const char *model, hec_dtype dtype, int64_t b)
{
	char path[600], line[2048];
	safetensors *want, *got;
	snprintf(path, sizeof path, MODELS "/%s/expected.safetensors", model);
	OK(k, safetensors_open(path, &want));
	hec_tensor ids = stored_tensor(k, want, "ids"), length = stored_tensor(k, want, "length"),
		   types = stored_tensor(k, want, "types"),
		   decoder = stored_tensor(k, want, "decoder_ids"),
		   features = stored_tensor(k, want, "features"), mask = HEC_TENSOR_NONE;
	if (ids.rank)
		mask = make(k, HEC_I32, SHAPE(ids.shape[0], ids.shape[1]));
	for (int64_t i = 0; ids.rank && i < hec_tensor_count(&mask); i++)
		put(&mask, i, (double)(i % ids.shape[1]) < get(&length, i / ids.shape[1]));
	snprintf(line, sizeof line, "forward -m " MODELS "/%s --dtype %s --out %s/out.safetensors",
	         model, hec_dtype_name(dtype), folder);
	if (features.rank)
		put_features(k, line, sizeof line, &features, b);
	if (ids.rank) {
		put_row(line, sizeof line, " --ids ", &ids, b);
		put_row(line, sizeof line, " --mask ", &mask, b);
	}
	if (types.rank)
		put_row(line, sizeof line, " --type-ids ", &types, b);
	if (decoder.rank)
		put_row(line, sizeof line, " --decoder-ids ", &decoder, b);
	result r = run(line);
	CHECK(k, r.code == 0 && !*r.out && !*r.err, "%s: %s", model, r.err);
	done(&r);
	snprintf(path, sizeof path, "%s/out.safetensors", folder);
	OK(k, safetensors_open(path, &got));
	for (size_t i = 0; i < safetensors_count(got); i++)
		CHECK(k, safetensors_at(got, i)->dtype == safetensors_dtype_of(dtype), "%s: %s",
		      model, safetensors_at(got, i)->name);
	compare_all(k, model, want, got, b);
	safetensors_close(got);
	safetensors_close(want);
}

static void every_number_is_what_transformers_gives(void **state)
{
	(void)state;
	DIR *dir = opendir(MODELS);
	assert_non_null(dir);
	int count = 0;
	for (struct dirent *e; (e = readdir(dir));) {
		if (e->d_name[0] == '.')
			continue;
		kit k = kit_open(7300);
		for (int64_t b = 0; b < 2; b++)
			forward_one(&k, e->d_name, HEC_F32, b);
		kit_close(&k);
		count++;
	}
	closedir(dir);
	assert_true(count >= 54);
}

/* Those that Transformers computes in f64 throughout: RMS norms, sinusoids and rotary angles it has in f32. */
static void in_f64_they_are_equal_to_the_last_digits(void **state)
{
	(void)state;
	static const char *const models[] = {"bert",  "bert_base", "roberta_answer", "gpt2",
	                                     "mbart", "bart",      "whisper"};
	for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
		kit k = kit_open(7301);
		for (int64_t b = 0; b < 2; b++)
			forward_one(&k, models[i], HEC_F64, b);
		kit_close(&k);
	}
}

static void an_invocation_ends_as_it_should(void **state)
{
	(void)state;
	static const struct {
		const char *model, *arguments;
		int code;
		const char *err;
	} table[] = {
		{"bert", "--ids 1,2", 2, "--out"},
		{"bert", "--out OUT", 2, "--ids"},
		{"bert", "--ids 1,2, --out OUT", 2, "--ids wants"},
		{"bert", "--ids 1,-2 --out OUT", 2, "--ids wants"},
		{"bert", "--ids '' --out OUT", 2, "--ids wants"},
		{"bert", "--ids 1,99999999999 --out OUT", 2, "--ids wants"},
		{"bert", "--ids 1,2 --mask 1 --out OUT", 2, "--mask has 1 numbers, --ids 2"},
		{"bert", "--ids 1,2 --mask 1,2 --out OUT", 2, "from 0 to 1"},
		{"bert", "--ids 1,2 --type-ids 0,0,0 --out OUT", 2, "--type-ids has 3"},
		{"bert", "--ids 1,2 --decoder-ids 3 --out OUT", 2, "an encoder alone"},
		{"gpt2", "--ids 1,2 --type-ids 0,0 --out OUT", 2, "no token types"},
		{"marian", "--ids 1,2 --out OUT", 2, "give --decoder-ids, which may be its first"},
		{"bert", "--ids 1,2 --dtype i8 --out OUT", 2, "--dtype i8"},
		{"bert", "--ids 1,2 3 --out OUT", 2, "'3' is no option"},
		{"bert", "--ids 1,101 --out OUT", 1, "101"},
		{"bert", "--ids 1,2 --type-ids 0,3 --out OUT", 1, "3"},
		{"bert", "--ids 1,2 --out /nowhere/at/all", 1, "/nowhere"},
		{"none", "--ids 1,2 --out OUT", 1, "config.json"},
		{"bert", "--override 2 --ids 1,2 --out OUT", 1, "KEY=VALUE"},
		{"bert", "--override layers=1 --ids 1,2 --out OUT", 1, "bert has no key 'layers'"},
		{"bert", "--override vocab_size=7 --ids 1,8 --out OUT", 1, "8"},
		{"whisper", "--ids 1,2 --decoder-ids 3 --out OUT", 2, "give --features"},
		{"bert", "--features none.npy --out OUT", 2, "reads words: give --ids"},
		{"whisper", "--ids 1 --features none.npy --out OUT", 2, "not both"},
		{"whisper", "--features none.npy --out OUT", 2, "give --decoder-ids"},
		{"whisper", "--features none.npy --mask 1 --decoder-ids 3 --out OUT", 2,
	         "--mask has 1"},
		{"whisper", "--features none.npy --decoder-ids 3 --out OUT", 1, "none.npy"},
		{"whisper", "--features none.npy --decoder-ids 3 --dtype bf16 --out OUT", 2,
	         "--dtype bf16: it computes in f32 or f64"},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		char line[1024], *out;
		snprintf(line, sizeof line, "forward -m " MODELS "/%s %s", table[i].model,
		         table[i].arguments);
		if ((out = strstr(line, "OUT")))
			snprintf(out, sizeof line - (size_t)(out - line), "%s/out", folder);
		result r = run(line);
		if (r.code != table[i].code || !strstr(r.err, table[i].err) || *r.out) {
			print_error("%s: exit %d, %s\n", line, r.code, r.err);
			assert_true(false);
		}
		done(&r);
	}
	result r = run("forward --help");
	assert_int_equal(r.code, 0);
	assert_non_null(strstr(r.out, "Example: hecate forward"));
	done(&r);
}

/* Where a text is judged, the decoder reads what the encoder reads, one later. */
static void ids_of_the_decoder_are_found_where_a_text_is_judged(void **state)
{
	(void)state;
	static const struct {
		const char *model, *decoder;
	} rows[] = {{"bart_classify", "2,5,9,7"},
	            {"mbart_classify", "2,5,9,7"},
	            {"bart_answer", "2,5,9,7"},
	            {"t5_answer", "0,5,9,7"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *made[2];
		for (int given = 0; given < 2; given++) {
			char line[1024];
			snprintf(line, sizeof line,
			         "forward -m " MODELS "/%s --ids 5,9,7,2 %s%s --out %s/again",
			         rows[i].model, given ? "--decoder-ids " : "",
			         given ? rows[i].decoder : "", folder);
			result r = run(line);
			if (r.code != 0)
				fail_msg("%s: %s", rows[i].model, r.err);
			done(&r);
			assert_int_equal(shell("cd '%s' && cksum <again >sum", folder), 0);
			made[given] = read_all("sum");
		}
		assert_string_equal(made[0], made[1]);
		free(made[0]);
		free(made[1]);
	}
}

static void what_is_overridden_is_told(void **state)
{
	(void)state;
	kit k = kit_open(7420);
	char line[1024], path[300];
	snprintf(path, sizeof path, "%s/out", folder);
	snprintf(line, sizeof line,
	         "forward -m " MODELS "/bert --override num_hidden_layers=1 --override "
	         "vocab_size=150 --ids 1,149 --out %s",
	         path);
	result r = run(line);
	assert_int_equal(r.code, 0);
	assert_string_equal(r.out, "");
	assert_non_null(
		strstr(r.err, "extended: bert.embeddings.word_embeddings.weight: 150 rows"));
	assert_non_null(strstr(r.err, "ignored: bert.encoder.layer.1.output.dense.weight\n"));
	safetensors *s = NULL;
	OK(&k, safetensors_open(path, &s));
	assert_non_null(safetensors_find(s, "attentions.0"));
	assert_null(safetensors_find(s, "attentions.1"));
	assert_int_equal(safetensors_find(s, "logits")->shape[2], 150);
	safetensors_close(s);
	done(&r);
	kit_close(&k);
}

/* Only weights of layers: not tables that are computed, masks, and heads that nobody asked for. */
static void weights_of_layers_that_are_not_used_are_told(void **state)
{
	(void)state;
	static const struct {
		const char *model, *with[4], *err;
	} cases[] = {
		{"bert_base", {"cls.predictions.bias", "extra.thing"}, ""},
		{"gpt2_base", {"h.0.attn.bias", "h.1.attn.masked_bias"}, ""},
		{"llama", {"model.layers.0.self_attn.rotary_emb.inv_freq"}, ""},
		{"t5_encoder",
	         {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"},
	         ""},
		{"bert_base",
	         {"h.0.attn.bias"}, /* GPT-2 has such a mask; here it is a weight */
	         "hecate forward: 1 tensor of layers is not used, h.0.attn.bias: `hecate info` "
	         "lists it\n"},
		{"bert_base",
	         {"extra.thing", "encoder.layer.2.output.dense.bias"},
	         "hecate forward: 1 tensor of layers is not used, "
	         "encoder.layer.2.output.dense.bias: `hecate info` lists it\n"},
		{"bert_base",
	         {"encoder.layer.10.x", "encoder.layer.11.x"},
	         "hecate forward: 2 tensors of layers are not used, encoder.layer.10.x the first: "
	         "`hecate info` lists them\n"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		kit k = kit_open(7430);
		char dir[128], line[512];
		static const char *const none[] = {NULL};
		snprintf(dir, sizeof dir, "%s/more%zu", folder, i);
		golden_edited(&k, cases[i].model, none, cases[i].with, dir);
		snprintf(line, sizeof line, "forward -m %s --ids 1,2 --out %s/made", dir, folder);
		result r = run(line);
		assert_int_equal(r.code, 0);
		assert_string_equal(r.out, "");
		assert_string_equal(r.err, cases[i].err);
		done(&r);
		kit_close(&k);
	}
}

/* Each of its bytes is looked at once, or nearly. */
static void a_name_of_many_digits_takes_no_time(void **state)
{
	(void)state;
	static char digits[400001];
	memset(digits, '1', sizeof digits - 1);
	const char *const with[] = {digits, NULL}, *const none[] = {NULL};
	kit k = kit_open(7431);
	char dir[128], line[512];
	snprintf(dir, sizeof dir, "%s/digits", folder);
	golden_edited(&k, "bert_base", none, with, dir);
	snprintf(line, sizeof line, "forward -m %s --ids 1,2 --out %s/out", dir, folder);
	result r = run_with("timeout 30", line);
	assert_int_equal(r.code, 0);
	assert_string_equal(r.err, "");
	done(&r);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_of_the_decoder_are_found_where_a_text_is_judged),
		cmocka_unit_test(what_is_overridden_is_told),
		cmocka_unit_test(weights_of_layers_that_are_not_used_are_told),
		cmocka_unit_test(a_name_of_many_digits_takes_no_time),
		cmocka_unit_test(every_number_is_what_transformers_gives),
		cmocka_unit_test(in_f64_they_are_equal_to_the_last_digits),
		cmocka_unit_test(an_invocation_ends_as_it_should),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
