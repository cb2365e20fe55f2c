/* test_families.c — what all families have in common beyond one pass: token by token they write what
 * Transformers writes, a mask hides tokens anywhere, and stretched angles are what they are defined to be. */
#include "support/models.h"
#include "support/scratch.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "format/safetensors.h"

#define PATH 512
#define CLOSE 1e-5 /* of the largest */

/* Of nothing, there is none. */
static hec_tensor stored(kit *k, const safetensors *s, const char *name)
{
	const safetensors_entry *e = safetensors_find(s, name);
	hec_tensor none = HEC_TENSOR_NONE;
	return e && e->count > 0 ? stored_tensor(k, s, name) : none;
}

static int32_t best(const hec_tensor *logits)
{
	int32_t at = 0;
	for (int64_t i = 1; i < logits->shape[1]; i++)
		if (get(logits, i) > get(logits, at))
			at = (int32_t)i;
	return at;
}

/* The last row of a whole pass over what was fed so far. */
static void same_as_forward(kit *k, const hec_model *m, const hec_tensor *source,
                            const hec_tensor *frames, const int32_t *fed, int64_t n,
                            const hec_tensor *logits, const char *name)
{
	const int64_t V = logits->shape[1];
	hec_model_input in = {.size = sizeof in};
	hec_model_output out = {.size = sizeof out, .logits = make(k, HEC_F32, SHAPE(1, n, V))};
	if (source)
		in.ids = *source;
	if (frames)
		in.features = *frames;
	in.decoder_ids = hec_tensor_2d((int32_t *)fed, HEC_I32, 1, n);
	OK(k, hec_model_fwd(k->ctx, k->arena, m, &in, NULL, &out, NULL));
	double largest = 0, off = 0;
	for (int64_t i = 0; i < V; i++) {
		double whole = get(&out.logits, (n - 1) * V + i);
		largest = fmax(largest, fabs(whole));
		const double d = fabs(whole - get(logits, i));
		off = isnan(d) ? INFINITY : fmax(off, d);
	}
	CHECK(k, off <= CLOSE * largest, "%s: after %lld tokens off by %g of %g", name,
	      (long long)n, off, largest);
}

/* Returns how many tokens were compared. */
static int64_t write_greedily(kit *k, const char *name, const char *dir)
{
	char path[PATH + 32];
	safetensors *s;
	snprintf(path, sizeof path, "%s/expected.safetensors", dir);
	OK(k, safetensors_open(path, &s));
	hec_tensor greedy = stored(k, s, "greedy"), ids = stored(k, s, "ids"),
		   features = stored(k, s, "features"), decoder = stored(k, s, "decoder_ids");
	safetensors_close(s);
	if (!greedy.rank)
		return 0;
	hec_model *m = NULL;
	hec_session *session = NULL;
	OK(k, hec_model_load(k->ctx, dir, NULL, &m));
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	OK(k, hec_session_create(k->ctx, m, &o, &session));
	hec_tensor source, *given = NULL;
	int32_t fed[64];
	int64_t n = decoder.rank ? 1 : ids.shape[1];
	if (decoder.rank && !features.rank) {
		source = hec_tensor_2d(ids.data, HEC_I32, 1, ids.shape[1]);
		given = &source;
	}
	memcpy(fed, decoder.rank ? decoder.data : ids.data, (size_t)n * sizeof *fed);
	if (features.rank) {
		OK(k, hec_tensor_slice(&features, 0, 0, 1, &features));
		OK(k, hec_session_start_features(session, 1, &features));
	} else {
		OK(k, hec_session_start(session, 1, given, NULL));
	}
	hec_tensor logits = make(k, HEC_F32, SHAPE(1, hec_model_config_of(m)->vocab));
	hec_tensor step = hec_tensor_2d(fed, HEC_I32, 1, n);
	for (int64_t i = 0; i < greedy.shape[0]; i++) {
		OK(k, hec_session_step(session, &step, NULL, &logits));
		same_as_forward(k, m, given, features.rank ? &features : NULL, fed, n, &logits,
		                name);
		fed[n] = best(&logits);
		CHECK(k, fed[n] == ((const int32_t *)greedy.data)[i],
		      "%s: token %lld is %d, Transformers writes %d", name, (long long)i,
		      (int)fed[n], (int)((const int32_t *)greedy.data)[i]);
		step = hec_tensor_2d(&fed[n++], HEC_I32, 1, 1);
	}
	hec_session_destroy(session);
	hec_model_destroy(m);
	return greedy.shape[0];
}

static void token_by_token_each_writes_what_transformers_writes(void **state)
{
	(void)state;
	const char *folder = getenv("HECATE_GOLDEN_MODELS");
	const bool live = folder && *folder; /* sizes may leave little room to write */
	if (!live)
		folder = TESTS_DIR "/golden/models";
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	int64_t models = 0, tokens = 0;
	for (struct dirent *e; (e = readdir(dir));) {
		char path[PATH];
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%.100s", folder, e->d_name);
		kit k = kit_open(7200);
		int64_t n = write_greedily(&k, e->d_name, path);
		models += n > 0;
		tokens += n;
		kit_close(&k);
	}
	closedir(dir);
	/* Of 14 that write, some may begin with two words too close to tell. */
	const bool enough = live ? tokens > 0 : models >= 10 && tokens >= 50;
	if (!enough)
		print_error("%d models wrote %d tokens\n", (int)models, (int)tokens);
	assert_true(enough);
}

/* Logits of a batch of one; mask may be NULL. */
static hec_tensor logits_of(kit *k, const hec_model *m, int32_t *ids, int64_t n, int8_t *mask)
{
	const hec_model_config *c = hec_model_config_of(m);
	hec_model_input in = {.size = sizeof in};
	hec_model_output out = {.size = sizeof out,
	                        .logits = make(k, HEC_F32, SHAPE(1, n, c->vocab))};
	hec_tensor t = hec_tensor_2d(ids, HEC_I32, 1, n);
	if (c->encoder.layers > 0)
		in.ids = t;
	if (c->decoder.layers > 0)
		in.decoder_ids = t;
	if (mask)
		in.mask = hec_tensor_2d(mask, HEC_I8, 1, n);
	OK(k, hec_model_fwd(k->ctx, k->arena, m, &in, NULL, &out, NULL));
	return out.logits;
}

static void what_is_masked_is_seen_by_no_one(void **state)
{
	(void)state;
	for (int form = 0; form < MODEL_FORMS; form++) {
		kit k = kit_open(7210);
		hec_model_config c = model_variant((model_form)form, 0, HEC_HEAD_LM, 0);
		hec_model *m = model_open(&k, &c, HEC_F32);
		int32_t ids[] = {3, 1, 4, 1, 5, 2}, others[] = {3, 1, 6, 1, 5, 2};
		int8_t mask[] = {1, 1, 0, 1, 1, 1}, ones[] = {1, 1, 1, 1, 1, 1};
		/* A decoder behind an encoder reads unmasked ids itself: it gets the same ones. */
		hec_tensor a = logits_of(&k, m, ids, 6, ones), b = logits_of(&k, m, ids, 6, NULL);
		check_same_bits(&k, "a mask of ones", &a, &b);
		const int64_t V = c.vocab;
		hec_model_input in = {.size = sizeof in}, in2 = in;
		in.mask = in2.mask = hec_tensor_2d(mask, HEC_I8, 1, 6);
		hec_tensor x = hec_tensor_2d(ids, HEC_I32, 1, 6),
			   y = hec_tensor_2d(others, HEC_I32, 1, 6);
		if (form != FORM_DECODER) {
			in.ids = x;
			in2.ids = y;
			if (form == FORM_BOTH)
				in.decoder_ids = in2.decoder_ids = x;
		} else {
			in.decoder_ids = x;
			in2.decoder_ids = y;
		}
		hec_model_output one = {.size = sizeof one,
		                        .logits = make(&k, HEC_F32, SHAPE(1, 6, V))},
				 two = {.size = sizeof two,
		                        .logits = make(&k, HEC_F32, SHAPE(1, 6, V))};
		OK(&k, hec_model_fwd(k.ctx, k.arena, m, &in, NULL, &one, NULL));
		OK(&k, hec_model_fwd(k.ctx, k.arena, m, &in2, NULL, &two, NULL));
		bool differs = false;
		for (int64_t i = 0; i < 6 * V; i++) {
			const bool own = i / V == 2 && form != FORM_BOTH;
			CHECK(&k, own || get(&one.logits, i) == get(&two.logits, i),
			      "form %d: a masked token reaches %lld", form, (long long)i);
			differs = differs || get(&one.logits, i) != get(&b, i);
		}
		CHECK(&k, differs, "form %d: the mask does nothing", form);
		in.mask = hec_tensor_2d(mask, HEC_I8, 1, 5);
		FAILS(&k, HEC_ERR_SHAPE, hec_model_fwd(k.ctx, k.arena, m, &in, NULL, &one, NULL),
		      "mask", "5", "6");
		hec_model_destroy(m);
		kit_close(&k);
	}
}

/* The third number of a stretch is what the definition of its authors gives, by hand. */
static void stretched_angles_are_as_defined(void **state)
{
	(void)state;
	kit k = kit_open(7220);
	hec_rotary r = {.pairs = HEC_ROTARY_HALVES,
	                .cosine = make(&k, HEC_F64, SHAPE(4, 3)),
	                .sine = make(&k, HEC_F64, SHAPE(4, 3))};
	const double pi = acos(-1), base = 1000; /* pairs turn by 1, 0.1 and 0.01 */
	hec_rotary_scaling s = {.kind = HEC_ROTARY_LINEAR, .factor = 2};
	OK(&k, hec_rotary_fill_scaled(k.ctx, base, &s, &r));
	CHECK(&k, fabs(get(&r.sine, 3 * 3 + 1) - sin(0.15)) < 1e-12, "linear");
	/* 1: 100/2π = 15.9 turns, kept; 0.1: 1.59, on the ramp from 1 to 4; 0.01: 0.159, divided. */
	s = (hec_rotary_scaling){
		.kind = HEC_ROTARY_LLAMA3, .factor = 8, .original = 100, .low = 1, .high = 4};
	OK(&k, hec_rotary_fill_scaled(k.ctx, base, &s, &r));
	double keep = (100 * 0.1 / (2 * pi) - 1) / 3;
	CHECK(&k, fabs(get(&r.sine, 6) - sin(2)) < 1e-12, "llama3, quick");
	CHECK(&k, fabs(get(&r.sine, 7) - sin(2 * 0.1 * (keep + (1 - keep) / 8))) < 1e-12,
	      "llama3, between");
	CHECK(&k, fabs(get(&r.sine, 8) - sin(2 * 0.01 / 8)) < 1e-12, "llama3, slow");
	/* The ramp goes from pair floor(3·ln(100/(32·2π))/ln 1000) < 0 → 0 to ceil(1.2) = 2. */
	s = (hec_rotary_scaling){.kind = HEC_ROTARY_YARN,
	                         .factor = 4,
	                         .original = 100,
	                         .fast = 32,
	                         .slow = 1,
	                         .attention_factor = 1.5};
	OK(&k, hec_rotary_fill_scaled(k.ctx, base, &s, &r));
	CHECK(&k, fabs(get(&r.cosine, 3) - 1.5 * cos(1)) < 1e-12, "yarn, first");
	CHECK(&k, fabs(get(&r.sine, 4) - 1.5 * sin(0.1 * (0.5 + 0.5 / 4))) < 1e-12, "yarn, ramp");
	CHECK(&k, fabs(get(&r.sine, 5) - 1.5 * sin(0.01 / 4)) < 1e-12, "yarn, last");
	/* From floor(0.6), or exactly, to ceil(1.2). */
	s.fast = 4;
	const double low = 3 * log(100 / (4 * 2 * pi)) / log(base),
		     high = 3 * log(100 / (2 * pi)) / log(base);
	for (int exact = 0; exact < 2; exact++) {
		s.exact = exact;
		keep = 1 - (exact ? (1 - low) / (high - low) : 0.5);
		OK(&k, hec_rotary_fill_scaled(k.ctx, base, &s, &r));
		CHECK(&k, fabs(get(&r.sine, 4) - 1.5 * sin(0.1 * (keep + (1 - keep) / 4))) < 1e-12,
		      "yarn, ramp from %g", low);
	}
	s.factor = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_rotary_fill_scaled(k.ctx, base, &s, &r), "factor 0");
	s.factor = 4;
	s.fast = 32;
	s.slow = 40;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_rotary_fill_scaled(k.ctx, base, &s, &r), "32");
	kit_close(&k);
}

/* Wider than the heads of small models, and odd. */
static void wide_tables_are_as_defined_to_their_last_column(void **state)
{
	(void)state;
	enum { P = 3, C = 517, FIRST = 40, SINES = (C + 1) / 2 };
	kit k = kit_open(7225);
	hec_tensor table = make(&k, HEC_F64, SHAPE(P, C));
	hec_rotary r = {.pairs = HEC_ROTARY_HALVES,
	                .cosine = make(&k, HEC_F64, SHAPE(P, C)),
	                .sine = make(&k, HEC_F64, SHAPE(P, C))};
	OK(&k, hec_rotary_fill(k.ctx, 10000, &r));
	for (int halves = 0; halves < 2; halves++) {
		OK(&k, hec_position_sinusoidal(
			       k.ctx, halves ? HEC_SINUSOID_HALVES : HEC_SINUSOID_INTERLEAVED,
			       10000, FIRST, &table));
		for (int64_t t = 0; t < P; t++)
			for (int64_t c = 0; c < C; c++) {
				const int64_t i = halves ? c % SINES : c / 2;
				const bool cosine = halves ? c >= SINES : c % 2 == 1;
				const double angle =
					(double)(FIRST + t) * pow(10000, -2.0 * (double)i / C);
				const double want = cosine ? cos(angle) : sin(angle),
					     turn = (double)t * pow(10000, -(double)c / C);
				CHECK(&k, fabs(get(&table, t * C + c) - want) < 1e-12,
				      "column %lld is %g, not %g", (long long)c,
				      get(&table, t * C + c), want);
				CHECK(&k,
				      fabs(get(&r.cosine, t * C + c) - cos(turn)) < 1e-12 &&
				              fabs(get(&r.sine, t * C + c) - sin(turn)) < 1e-12,
				      "pair %lld does not turn by %g", (long long)c, turn);
			}
	}
	kit_close(&k);
}

static void each_pair_may_have_factors_of_its_own(void **state)
{
	(void)state;
	kit k = kit_open(7221);
	hec_rotary r = {.pairs = HEC_ROTARY_HALVES,
	                .cosine = make(&k, HEC_F64, SHAPE(4, 3)),
	                .sine = make(&k, HEC_F64, SHAPE(4, 3))};
	const double base = 1000; /* pairs turn by 1, 0.1 and 0.01 */
	hec_rotary_scaling s = {.kind = HEC_ROTARY_LONG,
	                        .factor = 4,
	                        .original = 2,
	                        .longest = 4,
	                        .attention_factor = 1.5,
	                        .factors = 3,
	                        .short_factor = {1, 2, 4},
	                        .long_factor = {3, 5, 8}};
	OK(&k, hec_rotary_fill_scaled(k.ctx, base, &s, &r));
	CHECK(&k, fabs(get(&r.cosine, 6) - 1.5 * cos(2)) < 1e-12, "short, first");
	CHECK(&k, fabs(get(&r.sine, 11) - 1.5 * sin(3 * 0.01 / 4)) < 1e-12, "short, last");
	s.stretched = true;
	OK(&k, hec_rotary_fill_scaled(k.ctx, base, &s, &r));
	CHECK(&k, fabs(get(&r.sine, 3) - 1.5 * sin(1.0 / 3)) < 1e-12, "long, first");
	CHECK(&k, fabs(get(&r.cosine, 10) - 1.5 * cos(3 * 0.1 / 5)) < 1e-12, "long, second");
	s.factors = 2;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_rotary_fill_scaled(k.ctx, base, &s, &r), "2 factors",
	      "3 pairs");
	s.factors = HEC_ROTARY_FACTORS + 1;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_rotary_fill_scaled(k.ctx, base, &s, &r), "129 factors");
	s.factors = 3;
	s.short_factor[1] = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_rotary_fill_scaled(k.ctx, base, &s, &r), "short factor 0");
	kit_close(&k);
}

static hec_position_config positions_of(kit *k, const char *dir, const char *override)
{
	hec_model *m = NULL;
	hec_model_load_options o = {
		.size = sizeof o, .overrides = &override, .override_count = override ? 1 : 0};
	OK(k, hec_model_load(k->ctx, dir, &o, &m));
	hec_position_config p = hec_model_config_of(m)->decoder.position;
	hec_model_destroy(m);
	return p;
}

/* Which list holds depends on nothing but the model: not on the text, its neighbours or what is reserved. */
static void texts_are_short_unless_it_is_asked_for(void **state)
{
	(void)state;
	kit k = kit_open(7222);
	char dir[SCRATCH_PATH], saved[SCRATCH_PATH];
	hec_position_config p = positions_of(&k, golden_model("llama_long", dir), NULL);
	CHECK(&k, p.max == 24 && !p.scaling.stretched && p.scaling.longest == 96, "as it is: %lld",
	      (long long)p.max);
	CHECK(&k, fabs(p.scaling.attention_factor - sqrt(1 + log(4) / log(24))) < 1e-12, "%g",
	      p.scaling.attention_factor);
	p = positions_of(&k, dir, "rope_long=true");
	CHECK(&k, p.max == 96 && p.scaling.stretched, "long: %lld", (long long)p.max);
	/* Other readers find what was said. */
	hec_model *m = NULL;
	OK(&k, hec_model_load(k.ctx, dir, NULL, &m));
	OK(&k, hec_model_save(k.ctx, m, HEC_F32, scratch_fresh(saved)));
	hec_model_destroy(m);
	char path[SCRATCH_PATH + 16];
	snprintf(path, sizeof path, "%s/config.json", saved);
	char *text;
	size_t size;
	OK(&k, file_read(path, 1 << 20, &text, &size));
	CHECK(&k, strstr(text, "\"max_position_embeddings\": 96") && !strstr(text, "rope_long"),
	      "%s", text);
	free(text);
	kit_close(&k);
}

static hec_model_config config_of(kit *k, const char *text)
{
	char path[SCRATCH_PATH];
	hec_model_config c;
	scratch_fresh(path);
	strcat(path, ".json");
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
	OK(k, hec_model_config_read(path, NULL, &c));
	return c;
}

/* get_mscale of Transformers: 0.1 · mscale · ln(factor) + 1, and 1 where nothing is stretched. */
static void yarn_makes_the_tables_as_large_as_its_file_says(void **state)
{
	(void)state;
	static const struct {
		const char *said;
		double factor, want;
	} rows[] = {
		{"", 4, 1.1386294361119891},
		{", \"mscale\": 2.0, \"mscale_all_dim\": 0.5", 4,
	         1.2772588722239781 / 1.0693147180559945},
		{", \"mscale\": 2.0", 4, 1.1386294361119891}, /* one without the other */
		{", \"mscale_all_dim\": 0.5", 4, 1.1386294361119891},
		{", \"mscale\": 2.0, \"mscale_all_dim\": 0.5, \"attention_factor\": 1.5", 4, 1.5},
		{", \"mscale\": 2.0, \"mscale_all_dim\": 0.5", 0.5, 1},
	};
	kit k = kit_open(7224);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[512];
		snprintf(text, sizeof text,
		         "{\"model_type\": \"llama\", \"rope_scaling\": {\"rope_type\": \"yarn\", "
		         "\"factor\": %g%s}}",
		         rows[i].factor, rows[i].said);
		hec_model_config c = config_of(&k, text);
		const double got = c.decoder.position.scaling.attention_factor;
		CHECK(&k, fabs(got - rows[i].want) < 1e-12, "%s: %.17g, not %.17g", text, got,
		      rows[i].want);
	}
	kit_close(&k);
}

/* Files that Transformers writes, or takes. */
static void loose_words_mean_what_they_mean_to_transformers(void **state)
{
	(void)state;
	kit k = kit_open(7223);
	hec_model_config c = config_of(
		&k, "{\"model_type\": \"gpt2\", \"vocab_size\": 101, \"bos_token_id\": 50256, "
		    "\"eos_token_id\": 50256}");
	CHECK(&k, c.vocab == 101 && c.bos_id == -1 && c.eos_id == -1, "a small GPT-2");
	c = config_of(&k, "{\"architectures\": [\"BertForSequenceClassification\"], "
	                  "\"num_labels\": 7}");
	CHECK(&k, c.labels == 7, "%lld labels", (long long)c.labels);
	c = config_of(&k, "{\"architectures\": [\"BertForSequenceClassification\"], "
	                  "\"num_labels\": 7, \"id2label\": {\"0\": \"a\", \"1\": \"b\", "
	                  "\"2\": \"c\"}}");
	CHECK(&k, c.labels == 3, "%lld labels", (long long)c.labels);
	c = config_of(&k, "{\"model_type\": \"mistral\"}");
	CHECK(&k, c.decoder.attention.kv_heads == 8, "said nothing");
	c = config_of(&k, "{\"model_type\": \"mistral\", \"num_key_value_heads\": null}");
	CHECK(&k, c.decoder.attention.kv_heads == 32, "null: %lld",
	      (long long)c.decoder.attention.kv_heads);
	c = config_of(&k, "{\"model_type\": \"mbart\", \"decoder_start_token_id\": 9}");
	CHECK(&k, c.start_id == 9 && c.start_last, "mBART");
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(token_by_token_each_writes_what_transformers_writes),
		cmocka_unit_test(what_is_masked_is_seen_by_no_one),
		cmocka_unit_test(stretched_angles_are_as_defined),
		cmocka_unit_test(wide_tables_are_as_defined_to_their_last_column),
		cmocka_unit_test(each_pair_may_have_factors_of_its_own),
		cmocka_unit_test(texts_are_short_unless_it_is_asked_for),
		cmocka_unit_test(yarn_makes_the_tables_as_large_as_its_file_says),
		cmocka_unit_test(loose_words_mean_what_they_mean_to_transformers),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
