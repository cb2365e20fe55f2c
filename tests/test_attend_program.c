/* test_attend_program.c — `hecate attend` as a user runs it, on small models of every form. */
#include "support/models.h"

#include "look_models.h"
#include "wav.h"

static void an_invocation_ends_as_it_should(void **state)
{
	(void)state;
	static const invocation table[] = {
		{FORM_BOTH, "", 2, NULL, "give a text"},
		{FORM_BOTH, "a b c", 2, NULL, "give a text"},
		{FORM_BOTH, "'the cat' --layer 2", 2, NULL, "0 to 1"},
		{FORM_BOTH, "'the cat' --head 4", 2, NULL, "0 to 3"},
		{FORM_BOTH, "'the cat' --layer -1", 2, NULL, "--layer wants"},
		{FORM_BOTH, "'the cat' --kind all", 2, NULL, "self, cross or decoder"},
		{FORM_BOTH, "'the cat' --color red", 2, NULL, "'red'"},
		{FORM_BOTH, "'the cat' --top 65", 2, NULL, "0 to 64"},
		{FORM_ENCODER, "'the cat' --kind cross", 2, NULL, "no decoder"},
		{FORM_DECODER, "'the cat' --kind decoder", 2, NULL, "no encoder"},
		{FORM_DECODER, "'the cat' 'die katze'", 2, NULL, "decoder alone"},
		{FORM_BOTH, "'the cat' 'die katze'", 0, "Cross-attention: the cat", NULL},
		{FORM_BOTH, "'the cat' --kind self", 0, "Self-attention: the cat", NULL},
		{FORM_BOTH, "'the cat' 'die katze' --kind decoder", 0, "of the decoder", NULL},
		{FORM_BOTH, "'the cat'", 0, "Cross-attention", NULL},
		{FORM_ENCODER, "'the cat' 'the dog' --top 2", 0, "Most looked at", NULL},
		{FORM_DECODER, "'the cat' --layer 1 --head 3", 0, "layer 1 of 2, head 3", NULL},
		{FORM_BOTH, "'the cat' --svg /nowhere/a.svg", 1, NULL, "/nowhere/a.svg"},
		{FORM_BOTH, "--help", 0, "hecate attend", NULL},
		{FORM_BOTH, "'the cat' --write 4", 2, NULL, "--write is for a decoder alone"},
		{FORM_ENCODER, "'the cat' --write 4", 2, NULL, "--write is for a decoder alone"},
		{FORM_BOTH, "\"$(printf 'a\\377')\"", 1, NULL, "byte 1 of 2"},
		{FORM_ENCODER, "\"$(printf 'a\\377')\"", 1, NULL, "byte 1 of 2"},
		{FORM_BOTH, "\"$(printf 'a\\377')\" --lossy", 0, "Cross-attention: a", NULL},
	};
	check_invocations("attend", table, sizeof table / sizeof table[0]);
	result r = run("attend -m /nowhere text");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "/nowhere"));
	done(&r);
}

static double weight_at(const json_t *root, size_t layer, size_t head, size_t t, size_t s)
{
	const json_t *list = json_object_get(root, "weights");
	list = json_array_get(json_array_get(list, layer), head);
	const json_t *number = json_array_get(json_array_get(list, t), s);
	assert_true(json_is_number(number));
	return json_number_value(number);
}

/* Each row sums to 1, and a causal one sees nothing that comes later. */
static void check_json(const json_t *root, const char *kind, size_t layers, size_t heads,
                       bool causal)
{
	size_t T = json_array_size(json_object_get(root, "query"));
	size_t S = json_array_size(json_object_get(root, "key"));
	assert_string_equal(json_string_value(json_object_get(root, "kind")), kind);
	assert_int_equal(json_integer_value(json_object_get(root, "layers")), layers);
	assert_int_equal(json_integer_value(json_object_get(root, "heads")), heads);
	assert_int_equal(json_array_size(json_object_get(root, "weights")), layers);
	assert_true(T > 0 && S > 0);
	for (size_t i = 0; i < layers; i++)
		for (size_t h = 0; h < heads; h++)
			for (size_t t = 0; t < T; t++) {
				double sum = 0;
				for (size_t s = 0; s < S; s++) {
					double w = weight_at(root, i, h, t, s);
					assert_true(!(causal && s > t) || w == 0);
					sum += w;
				}
				assert_true(fabs(sum - 1) < 1e-5);
			}
}

static void json_holds_every_head_of_every_kind(void **state)
{
	(void)state;
	static const struct {
		model_form form;
		const char *arguments, *kind;
		size_t layers, heads;
		bool causal;
	} table[] = {
		{FORM_BOTH, "'the cat' 'die katze'", "cross", 2, 4, false},
		{FORM_BOTH, "'the cat' 'die katze' --kind decoder", "decoder", 2, 4, true},
		{FORM_BOTH, "'the cat' --kind self", "self", 2, 4, false},
		{FORM_BOTH, "'the cat'", "cross", 2, 4, false},
		{FORM_BOTH, "'the cat' x --layer 1", "cross", 1, 4, false},
		{FORM_BOTH, "'the cat' x --layer 1 --head 2", "cross", 1, 1, false},
		{FORM_ENCODER, "'the cat'", "self", 2, 4, false},
		{FORM_DECODER, "'the cat sat'", "self", 2, 4, true},
	};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		char arguments[256];
		snprintf(arguments, sizeof arguments, "%s --json", table[i].arguments);
		result r = run_on("attend", table[i].form, arguments);
		json_t *root = json_of(&r);
		check_json(root, table[i].kind, table[i].layers, table[i].heads, table[i].causal);
		json_decref(root);
		done(&r);
	}
}

/* Through the program and by the library's own calls. */
static void the_weights_are_those_of_the_model(void **state)
{
	(void)state;
	kit k = kit_open(2);
	char dir[256];
	snprintf(dir, sizeof dir, "%s/both", folder);
	hec_model *model = NULL;
	hec_tokenizer *tokenizer = NULL;
	OK(&k, hec_model_load(k.ctx, dir, NULL, &model));
	OK(&k, hec_tokenizer_load(dir, &tokenizer));
	hec_encoding source = HEC_ENCODING_INIT, target = HEC_ENCODING_INIT;
	OK(&k, hec_tokenizer_encode(tokenizer, "the dog", 7, NULL, &source));
	OK(&k, hec_tokenizer_encode(tokenizer, "der hund", 8, NULL, &target));
	int64_t S = (int64_t)source.n, T = (int64_t)target.n;
	int32_t reads[64] = {hec_model_config_of(model)->start_id};
	memcpy(reads + 1, target.ids, (size_t)(T - 1) * sizeof reads[0]);
	hec_model_input input = {.size = sizeof input,
	                         .ids = hec_tensor_2d(source.ids, HEC_I32, 1, S),
	                         .decoder_ids = hec_tensor_2d(reads, HEC_I32, 1, T)};
	hec_model_output output = {.size = sizeof output};
	output.cross_weights = make(&k, HEC_F32, SHAPE(LAYERS, HEADS, T, S));
	OK(&k, hec_model_fwd(k.ctx, k.arena, model, &input, NULL, &output, NULL));
	result r = run_on("attend", FORM_BOTH, "'the dog' 'der hund' --json");
	json_t *root = json_of(&r);
	assert_int_equal(json_array_size(json_object_get(root, "query")), T);
	assert_int_equal(json_array_size(json_object_get(root, "key")), S);
	for (int64_t t = 0; t < T; t++) /* the token that is written there */
		assert_string_equal(json_string_value(json_array_get(json_object_get(root, "query"),
		                                                     (size_t)t)),
		                    hec_tokenizer_token(tokenizer, target.ids[t]));
	for (int64_t i = 0; i < LAYERS; i++)
		for (int64_t h = 0; h < HEADS; h++)
			for (int64_t t = 0; t < T; t++)
				for (int64_t s = 0; s < S; s++)
					assert_true(fabs(weight_at(root, (size_t)i, (size_t)h,
					                           (size_t)t, (size_t)s) -
					                 get4(&output.cross_weights, i, h, t, s)) <
					            1e-6);
	json_decref(root);
	done(&r);
	hec_encoding_free(&source);
	hec_encoding_free(&target);
	hec_tokenizer_destroy(tokenizer);
	hec_model_destroy(model);
	kit_close(&k);
}

/* The worked example: of a word that stands twice, what each head of the second one looks at. */
static void a_token_is_seen_in_every_head(void **state)
{
	(void)state;
	static const char text[] = "小猫追蝴蝶，它饿坏了，它睡了";
	char line[256];
	for (int form = FORM_ENCODER; form <= FORM_BOTH; form++) {
		snprintf(line, sizeof line, "'%s' --kind self --json", text);
		result whole = run_on("attend", (model_form)form, line);
		json_t *all = json_of(&whole);
		snprintf(line, sizeof line, "'%s' --token 它:2 --json", text);
		result one = run_on("attend", (model_form)form, line);
		json_t *picked = json_of(&one);
		/* Its bytes are tokens of their own here: those between what comes before and after. */
		kit k = kit_open(3);
		char dir[256];
		snprintf(dir, sizeof dir, "%s/%s", folder, forms[form]);
		hec_tokenizer *tokenizer = NULL;
		hec_encoding e = HEC_ENCODING_INIT;
		OK(&k, hec_tokenizer_load(dir, &tokenizer));
		OK(&k, hec_tokenizer_encode(tokenizer, text, strlen(text), NULL, &e));
		const size_t begin = (size_t)(strstr(strstr(text, "它") + 1, "它") - text);
		size_t first = e.n, last = 0;
		for (size_t i = 0; i < e.n; i++)
			if (e.sequence[i] == 0 && e.offsets[i].begin < begin + 3 &&
			    e.offsets[i].end > begin) {
				first = first < i ? first : i;
				last = i;
			}
		assert_true(first <= last && last < e.n);
		assert_string_equal(json_string_value(json_object_get(picked, "kind")), "heads");
		const size_t keys = json_array_size(json_object_get(picked, "key"));
		assert_int_equal(json_array_size(json_object_get(picked, "query")), LAYERS * HEADS);
		assert_int_equal(keys, e.n);
		for (size_t r = 0; r < LAYERS * HEADS; r++)
			for (size_t s = 0; s < keys; s++) {
				double mean = 0;
				for (size_t t = first; t <= last; t++)
					mean += weight_at(all, r / HEADS, r % HEADS, t, s) /
					        (double)(last - first + 1);
				assert_true(fabs(weight_at(picked, 0, 0, r, s) - mean) < 1e-5);
			}
		json_decref(all);
		json_decref(picked);
		done(&whole);
		done(&one);
		hec_encoding_free(&e);
		hec_tokenizer_destroy(tokenizer);
		kit_close(&k);
	}
	static const invocation table[] = {
		{FORM_ENCODER, "'the cat with it' --token it", 0, "L1 head 3", NULL},
		{FORM_ENCODER, "'the cat with it' --token it:2", 2, NULL, "no such word"},
		{FORM_ENCODER, "'the cat' --token dog", 2, NULL, "no such word"},
		{FORM_ENCODER, "'the cat' --token '#99'", 2, NULL, "#99"},
		{FORM_ENCODER, "'the cat' --token '#1'", 0, "What every head looks at: cat (#1)",
	         NULL},
		{FORM_BOTH, "'the cat' 'die katze' --token cat --kind cross", 2, NULL,
	         "--kind self"},
		{FORM_DECODER, "'the cat' --write 4", 0, "Self-attention", NULL},
	};
	check_invocations("attend", table, sizeof table / sizeof table[0]);
}

/* What an application ran is what attend shows of the same. */
static void applications_show_what_they_ran(void **state)
{
	(void)state;
	char line[512];
	result r = run_on("attend", FORM_BOTH, "'the cat'");
	result t = run_on("translate", FORM_BOTH, "'the cat' --attend -");
	assert_int_equal(t.code, 0);
	const char *drawn = strchr(t.out, '\n') + 1; /* behind the translation */
	assert_string_equal(drawn, r.out);
	done(&r);
	done(&t);
	t = run_on("translate", FORM_BOTH, "'the cat' --attend");
	assert_non_null(strstr(t.err, "Cross-attention: "));
	assert_null(strstr(t.out, "Cross-attention: "));
	done(&t);
	r = run_on("attend", FORM_DECODER, "'the cat' --write 5 --json");
	json_t *whole = json_of(&r);
	assert_true(json_array_size(json_object_get(whole, "query")) > 2);
	json_decref(whole);
	done(&r);
	r = run_on("attend", FORM_DECODER, "'the cat' --write 5");
	t = run_on("generate", FORM_DECODER, "'the cat' --max-tokens 5 --attend -");
	assert_int_equal(t.code, 0);
	drawn = strstr(t.out, "Self-attention: ");
	assert_non_null(drawn);
	assert_string_equal(drawn, r.out);
	done(&r);
	done(&t);
	/* Into a file: of the first text alone. */
	snprintf(line, sizeof line, "'the cat' 'the dog' --max-tokens 3 --attend %s/seen.svg",
	         folder);
	t = run_on("generate", FORM_DECODER, line);
	assert_int_equal(t.code, 0);
	assert_string_equal(t.err, "");
	char *svg = read_all("seen.svg");
	assert_non_null(strstr(svg, "<svg"));
	free(svg);
	done(&t);
	t = run_on("generate", FORM_DECODER, "'the cat' --attend=picture.png");
	assert_int_equal(t.code, 2);
	done(&t);
	t = run_on("embed", FORM_ENCODER, "'the cat' --attend -");
	assert_int_equal(t.code, 0);
	assert_non_null(strstr(t.out, "Self-attention: the cat"));
	done(&t);
}

/* What stands behind --attend is a place to draw to, nothing, or a text: never a text by mistake. */
static void a_file_of_another_kind_is_no_text(void **state)
{
	(void)state;
	static const char *const names[] = {"plot.png", "plot.SVG", "/dev/full", "out/plot",
	                                    "x.tsv"};
	char line[256];
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (int before = 0; before < 2; before++) {
			snprintf(line, sizeof line, "%s --attend %s </dev/null",
			         before ? "'the cat'" : "", names[i]);
			result r = run_on("embed", FORM_ENCODER, line);
			assert_int_equal(r.code, 2);
			assert_string_equal(r.out, "");
			assert_non_null(strstr(r.err, ".svg or .html"));
			assert_non_null(strstr(r.err, names[i]));
			done(&r);
		}
	static const char *const texts[] = {"--attend 'the cat.'",  "--attend cat",
	                                    "--attend 3.14",        "--attend 'see plot.png'",
	                                    "--attend -- plot.png", "plot.png --attend",
	                                    "--attend cat."};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		result r = run_on("embed", FORM_ENCODER, texts[i]);
		assert_int_equal(r.code, 0);
		assert_int_equal(lines_of(r.out), 1);
		assert_non_null(strstr(r.err, "Self-attention: "));
		done(&r);
	}
}

/* A second of a rising tone behind `silence` seconds. */
static void write_sound(const char *name, uint32_t rate, double silence)
{
	const uint32_t before = (uint32_t)(silence * rate);
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = wav_open(path, rate, before + rate);
	assert_non_null(f);
	for (uint32_t i = 0; i < before; i++)
		wav_put(f, 0);
	for (uint32_t i = 0; i < rate; i++) {
		const double t = (double)i / rate;
		wav_put(f, 12000 * sin(5120 * t * t));
	}
	assert_int_equal(fclose(f), 0);
}

/* The picture of a sound, for free(); skips in a build that reads none. */
static char *picture_of(const char *model, const char *sound)
{
	char line[512];
	snprintf(line, sizeof line,
	         "transcribe -m %s/golden/transcribe_%s %s/%s --no-speech 2 --attend %s/heard.svg",
	         TESTS_DIR, model, folder, sound, folder);
	result r = run(line);
	if (r.code == 1 && strstr(r.err, "reads no sound"))
		skip(); /* a build without it */
	assert_int_equal(r.code, 0);
	done(&r);
	return read_all("heard.svg");
}

static void keys_of_what_is_heard_are_times(void **state)
{
	(void)state;
	write_sound("tone.wav", 16000, 0);
	static const char *const models[] = {"english", "many"};
	for (int i = 0; i < 2; i++) {
		char line[512], *svg = picture_of(models[i], "tone.wav");
		assert_non_null(strstr(svg, "Cross-attention: "));
		assert_non_null(strstr(svg, ">0.0<"));
		assert_non_null(strstr(svg, ">0.9<"));
		assert_null(strstr(svg, ">1.0<"));
		free(svg);
		/* Here operands are files. */
		snprintf(line, sizeof line,
		         "transcribe -m %s/golden/transcribe_%s --no-speech 2 --attend %s/tone.wav",
		         TESTS_DIR, models[i], folder);
		result r = run(line);
		assert_int_equal(r.code, 0);
		assert_non_null(strstr(r.err, "Cross-attention: "));
		done(&r);
	}
}

/* Nothing is heard in the first two windows of a second each: the third is shown, with its own times. */
static void the_window_that_words_were_heard_in_is_shown(void **state)
{
	(void)state;
	write_sound("late.wav", 4000, 2.5);
	char *svg = picture_of("english", "late.wav");
	assert_null(strstr(svg, ">0.0<"));
	assert_null(strstr(svg, ">1.9<"));
	assert_non_null(strstr(svg, ">2.0<"));
	assert_non_null(strstr(svg, ">2.9<"));
	assert_null(strstr(svg, ">3.0<"));
	free(svg);
}

static void files_are_written_and_nothing_is_printed(void **state)
{
	(void)state;
	char arguments[512];
	snprintf(arguments, sizeof arguments,
	         "'the cat' 'die katze' --svg %s/a.svg --html %s/a.html", folder, folder);
	result r = run_on("attend", FORM_BOTH, arguments);
	assert_int_equal(r.code, 0);
	assert_string_equal(r.out, "");
	assert_string_equal(r.err, "");
	char *svg = read_all("a.svg"), *html = read_all("a.html");
	assert_non_null(strstr(svg, "</svg>"));
	assert_non_null(strstr(svg, "␣cat")); /* not "Ġcat" */
	assert_non_null(strstr(html, "</html>"));
	free(svg);
	free(html);
	done(&r);
}

static void a_target_has_the_pieces_of_targets(void **state)
{
	(void)state;
	char line[512];
	const char *settings = make_marian();
	snprintf(line, sizeof line, "attend -m %s/marian %s --json 'Straße of' 'Straße of'", folder,
	         settings);
	result r = run(line);
	json_t *root = json_of(&r);
	const char *key = json_string_value(json_array_get(json_object_get(root, "key"), 0));
	const char *query = json_string_value(json_array_get(json_object_get(root, "query"), 0));
	assert_string_equal(key, "▁Straße");
	assert_string_equal(query, "Straße");
	json_decref(root);
	done(&r);
}

static void hostile_texts_are_safe(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"\"$(printf '\\033[2J\\007\\r\\n')\"",
		"\"$(printf '\\377\\300\\257')\"",
		"'</script><script>alert(1)</script>'",
		"\"$(printf '\\342\\200\\256abc')\"",
	};
	for (size_t i = 0; i < 4; i++)
		for (int form = 0; form < MODEL_FORMS; form++) {
			result r = run_on("attend", (model_form)form, texts[i]);
			assert_true(r.code == 0 || r.code == 1);
			for (const char *at = r.out; *at; at++)
				assert_true((unsigned char)*at >= 0x20 || *at == '\n');
			assert_null(strstr(r.out, "\xE2\x80\xAE"));
			done(&r);
		}
	/* Longer than the model's 64 positions: said with both numbers. */
	result r = run_on("attend", FORM_DECODER, "\"$(printf 'cat %.0s' $(seq 1 500))\"");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "64"));
	done(&r);
}

static void colour_is_as_asked(void **state)
{
	(void)state;
	static const char *const table[][2] = {{"24", "\x1b[48;2;"}, {"256", "\x1b[48;5;"}};
	for (int i = 0; i < 2; i++) {
		char arguments[64];
		snprintf(arguments, sizeof arguments, "'the cat' --color %s", table[i][0]);
		result r = run_on("attend", FORM_DECODER, arguments);
		assert_non_null(strstr(r.out, table[i][1]));
		done(&r);
	}
	result r = run_on("attend", FORM_DECODER, "'the cat'"); /* auto, and no terminal */
	assert_null(strchr(r.out, '\x1b'));
	done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_invocation_ends_as_it_should),
		cmocka_unit_test(json_holds_every_head_of_every_kind),
		cmocka_unit_test(the_weights_are_those_of_the_model),
		cmocka_unit_test(a_token_is_seen_in_every_head),
		cmocka_unit_test(applications_show_what_they_ran),
		cmocka_unit_test(a_file_of_another_kind_is_no_text),
		cmocka_unit_test(keys_of_what_is_heard_are_times),
		cmocka_unit_test(the_window_that_words_were_heard_in_is_shown),
		cmocka_unit_test(files_are_written_and_nothing_is_printed),
		cmocka_unit_test(a_target_has_the_pieces_of_targets),
		cmocka_unit_test(hostile_texts_are_safe),
		cmocka_unit_test(colour_is_as_asked),
	};
	return cmocka_run_group_tests(tests, make_models, remove_folder);
}
