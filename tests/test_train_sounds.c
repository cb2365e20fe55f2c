/* test_train_sounds.c — a corpus of sounds: what a batch holds is what is spoken and what is heard, to the
 * bit; a sound that is another than it was is noticed, before and while it is learned from. */
#include "support/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "alloc/refuse.h"
#include "train/batch.h"
#include "train/sound.h"
#include "wav.h"

#define MODEL TESTS_DIR "/golden/transcribe_many"
#define SOUNDS 5

static void write_sound(const lab *l, const char *name, uint32_t rate, uint32_t n, double pitch)
{
	assert_true(wav_write(lab_path(l, name), rate, n, pitch, 9000));
}

static void open_all(lab *l, uint64_t seed, hec_speech **speech)
{
	*l = lab_open(seed);
	OK(&l->k, hec_tokenizer_load(MODEL, &l->tokenizer));
	OK(&l->k, hec_speech_load(MODEL, l->tokenizer, "fr", "translate", speech));
	for (int i = 0; i < SOUNDS; i++) {
		char name[16];
		snprintf(name, sizeof name, "%d.wav", i);
		write_sound(l, name, i == 3 ? 11025 : 4000, 400 + 700 * (uint32_t)i, 200 + 90 * i);
	}
	static const char list[] =
		"0.wav\tab\n1.wav\tba cab\n2.wav\tno, no.\n3.wav\ti\n4.wav\tai\n";
	lab_write(l, "list", list, sizeof list - 1);
}

static hec_corpus_options options_of(const lab *l, const char *const *files, const hec_speech *s)
{
	return (hec_corpus_options){.size = sizeof(hec_corpus_options),
	                            .task = HEC_TASK_SEQ2SEQ,
	                            .files = files,
	                            .n = 1,
	                            .tokenizer = l->tokenizer,
	                            .max_source = 20,
	                            .max_target = 20,
	                            .cache = lab_path(l, "cache"),
	                            .speech = s};
}

static hec_corpus *open_corpus(const lab *l, const char *list, const hec_speech *s)
{
	const char *files[] = {lab_path(l, list)};
	hec_corpus_options o = options_of(l, files, s);
	hec_corpus *c = NULL;
	OK(&l->k, hec_corpus_create(&o, &c));
	return c;
}

static batcher *open_batches(const kit *k, const hec_corpus *c, int64_t rows)
{
	const batcher_options o = {.max_tokens = 50 * rows,
	                           .in_order = true,
	                           .pad_id = 39,
	                           .start_id = 40,
	                           .encoder = true,
	                           .decoder = true,
	                           .ctx = k->ctx};
	batcher *b = NULL;
	OK(k, batcher_create(c, &o, &b));
	return b;
}

/* ---- what a batch holds ---- */

/* The features of a file as `hecate transcribe` has them. */
static void check_features(const lab *l, const hec_speech *s, int sound, const float *got)
{
	char name[16];
	hec_audio *audio = NULL;
	hec_audio_options o = HEC_AUDIO_OPTIONS_INIT;
	float want[14 * 100];
	hec_tensor out = hec_tensor_2d(want, HEC_F32, 14, 100);
	o.rate = 4000;
	snprintf(name, sizeof name, "%d.wav", sound);
	OK(&l->k, hec_audio_read(lab_path(l, name), &o, &audio));
	OK(&l->k, hec_log_mel(l->k.ctx, &s->mel, audio->samples, audio->count, &out));
	CHECK(&l->k, memcmp(want, got, sizeof want) == 0, "other features of sound %d", sound);
	hec_audio_free(audio);
}

static void a_batch_holds_the_sounds_and_what_is_spoken(void **state)
{
	(void)state;
	lab l;
	hec_speech *s = NULL;
	open_all(&l, 7700, &s);
	assert_string_equal(hec_speech_language(s), "fr");
	assert_true(hec_speech_translates(s));
	/* French, translated, without times; ids of letters; the end. */
	static const int32_t texts[SOUNDS][16] = {{43, 44, 49, 0, 1, 39},
	                                          {43, 44, 49, 1, 0, 38, 2, 0, 1, 39},
	                                          {43, 44, 49, 13, 14, 37, 38, 13, 14, 36, 39},
	                                          {43, 44, 49, 8, 39},
	                                          {43, 44, 49, 0, 8, 39}};
	static const int order[SOUNDS] = {3, 0, 4, 1, 2}; /* by the length of the text */
	hec_corpus *c = open_corpus(&l, "list", s);
	assert_int_equal(hec_corpus_counts_of(c)->source_tokens, SOUNDS * 50);
	CHECK(&l.k,
	      fabs(hec_corpus_counts_of(c)->seconds - (400 + 1100 + 1800 + 3200) / 4000.0 -
	           2500 / 11025.0) < 1e-3,
	      "%g seconds", hec_corpus_counts_of(c)->seconds);
	batcher *b = open_batches(&l.k, c, 2);
	int seen = 0;
	for (bool ended = false; !ended;) {
		hec_batch batch;
		OK(&l.k, batcher_next(b, &batch, &ended));
		const hec_model_input *in = batch.input;
		int64_t rows = in->features.shape[0], T = batch.targets.shape[1];
		assert_int_equal(in->ids.rank, 0);
		assert_int_equal(in->features.rank, 3);
		assert_true(rows <= 2 && in->features.shape[1] == 14 &&
		            in->features.shape[2] == 100);
		for (int64_t row = 0; row < rows; row++, seen++) {
			int sound = order[seen];
			const int32_t *to = (int32_t *)batch.targets.data + row * T,
				      *from = (int32_t *)in->decoder_ids.data + row * T;
			int64_t n = in->decoder_length[row];
			check_features(&l, s, sound, (float *)in->features.data + row * 14 * 100);
			assert_memory_equal(to, texts[sound], (size_t)n * sizeof *to);
			assert_int_equal(to[n - 1], 39);
			assert_int_equal(from[0], 40);
			assert_memory_equal(from + 1, to, (size_t)(n - 1) * sizeof *to);
		}
	}
	assert_int_equal(seen, SOUNDS);
	batcher_destroy(b);
	hec_corpus_destroy(c);
	hec_speech_destroy(s);
	lab_close(&l);
}

static void threads_do_not_matter(void **state)
{
	(void)state;
	lab l;
	hec_speech *s = NULL;
	open_all(&l, 7710, &s);
	hec_corpus *c = open_corpus(&l, "list", s);
	float *first = NULL;
	for (int threads = 1; threads <= 3; threads++) {
		kit k = kit_open_at(1, NULL, threads);
		batcher *b = open_batches(&k, c, SOUNDS);
		hec_batch batch;
		bool ended;
		OK(&k, batcher_next(b, &batch, &ended));
		const size_t bytes = SOUNDS * 14 * 100 * sizeof *first;
		assert_int_equal(batch.input->features.shape[0], SOUNDS);
		if (!first)
			first = memcpy(test_malloc(bytes), batch.input->features.data, bytes);
		assert_memory_equal(batch.input->features.data, first, bytes);
		batcher_destroy(b);
		kit_close(&k);
	}
	test_free(first);
	hec_corpus_destroy(c);
	hec_speech_destroy(s);
	lab_close(&l);
}

/* ---- what is left out ---- */

static void lines_left_out_are_counted_by_reason(void **state)
{
	(void)state;
	lab l;
	hec_speech *s = NULL;
	open_all(&l, 7720, &s);
	char list[8192], *at = list;
	write_sound(&l, "exact.wav", 4000, 4000, 300);
	write_sound(&l, "longer.wav", 4000, 4001, 300);
	write_sound(&l, "silent.wav", 4000, 0, 300);
	lab_write(&l, "bad.wav", "RIFFnothing", 11);
	write_sound(&l, "cut.wav", 4000, 3000, 300);
	assert_int_equal(truncate(lab_path(&l, "cut.wav"), 4000), 0);
	at += sprintf(at, "%s\tab\ncut.wav\tab\n", lab_path(&l, "0.wav")); /* an absolute name */
	at += sprintf(at, "exact.wav\tab\nlonger.wav\tab\nsilent.wav\tab\nbad.wav\tab\n");
	at += sprintf(at, "missing.wav\tab\n.\tab\n0.wav\t \n\tab\n0.wav\n0.wav\t\xff\n");
	at += sprintf(at, "0.wav\tabcdefghijklmnopqrst\n");
	memset(at, 'x', 5000); /* no name of a file */
	at += 5000;
	at += sprintf(at, "\tab\n");
	memcpy(at, "0.\0wav\tab\n", 10);
	at += 10;
	lab_write(&l, "odd", list, (size_t)(at - list));
	for (int again = 0; again < 2; again++) { /* made, then found */
		hec_corpus *c = open_corpus(&l, "odd", s);
		const hec_corpus_counts *n = hec_corpus_counts_of(c);
		assert_int_equal(n->lines, 15);
		assert_int_equal(n->examples, 2);
		assert_int_equal(n->long_sound, 1);
		assert_int_equal(n->no_sound, 7); /* none, no WAV, cut, missing, folder, names */
		assert_int_equal(n->empty, 2);
		assert_int_equal(n->no_tab, 1);
		assert_int_equal(n->bad_utf8, 1);
		assert_int_equal(n->too_long, 1);
		assert_int_equal(n->cut, 0);
		hec_corpus_destroy(c);
	}
	const char *files[] = {lab_path(&l, "odd")};
	hec_corpus_options o = options_of(&l, files, s);
	hec_corpus *c = NULL;
	o.truncate = true;
	OK(&l.k, hec_corpus_create(&o, &c));
	assert_int_equal(hec_corpus_counts_of(c)->examples, 3);
	assert_int_equal(hec_corpus_counts_of(c)->cut, 1);
	hec_corpus_destroy(c);
	hec_speech_destroy(s);
	lab_close(&l);
}

static sound_kind kind_of(const lab *l, const hec_speech *s, const char *name)
{
	hec_audio *audio;
	sound_kind kind;
	OK(&l->k, sound_read(s, lab_path(l, name), &audio, &kind));
	assert_true(!audio == (kind != SOUND_GOOD));
	hec_audio_free(audio);
	return kind;
}

/* What is wrong with a sound leaves it out; what is wrong with the system must not make a corpus shorter. */
static void what_is_not_the_fault_of_a_sound_is_a_failure(void **state)
{
	(void)state;
	lab l;
	hec_speech *s = NULL;
	struct rlimit as_it_was, none;
	hec_audio *audio;
	sound_kind kind;
	open_all(&l, 7725, &s);
	write_sound(&l, "longer.wav", 4000, 4001, 300);
	lab_write(&l, "bad.wav", "RIFFnothing", 11);
	assert_int_equal(kind_of(&l, s, "0.wav"), SOUND_GOOD);
	assert_int_equal(kind_of(&l, s, "longer.wav"), SOUND_TOO_LONG);
	assert_int_equal(kind_of(&l, s, "bad.wav"), SOUND_NONE);
	assert_int_equal(kind_of(&l, s, "missing.wav"), SOUND_NONE);
	assert_int_equal(kind_of(&l, s, "0.wav/inside.wav"), SOUND_NONE);
	assert_int_equal(kind_of(&l, s, "."), SOUND_NONE);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &as_it_was), 0);
	none = as_it_was;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	hec_status status = sound_read(s, lab_path(&l, "0.wav"), &audio, &kind);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &as_it_was), 0);
	FAILS(&l.k, HEC_ERR_IO, status, "0.wav", "open");
	assert_null(audio);
	hec_speech_destroy(s);
	lab_close(&l);
}

/* ---- other sounds ---- */

static uint32_t sum_of(const lab *l, const char *list, const hec_speech *s)
{
	hec_corpus *c = open_corpus(l, list, s);
	uint32_t sum = hec_corpus_checksum(c);
	hec_corpus_destroy(c);
	return sum;
}

static void another_sound_behind_a_name_is_another_corpus(void **state)
{
	(void)state;
	lab l;
	hec_speech *s = NULL, *other = NULL;
	open_all(&l, 7730, &s);
	uint32_t sum = sum_of(&l, "list", s);
	assert_int_equal(sum_of(&l, "list", s), sum);
	/* The same again, at another time: made anew, and the same. */
	write_sound(&l, "2.wav", 4000, 1800, 380);
	assert_int_equal(sum_of(&l, "list", s), sum);
	/* As long, but another. */
	write_sound(&l, "2.wav", 4000, 1800, 381);
	assert_int_not_equal(sum_of(&l, "list", s), sum);
	write_sound(&l, "2.wav", 4000, 1800, 380);
	assert_int_equal(sum_of(&l, "list", s), sum);
	/* Another prompt. */
	OK(&l.k, hec_speech_load(MODEL, l.tokenizer, "de", NULL, &other));
	assert_int_not_equal(sum_of(&l, "list", other), sum);
	/* Elsewhere, list and sounds. */
	char command[512];
	snprintf(command, sizeof command, "mkdir '%s/far' && mv %s/?.wav '%s/list' '%s/far'", l.dir,
	         l.dir, l.dir, l.dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(sum_of(&l, "far/list", s), sum);
	/* One that is gone. */
	assert_int_equal(unlink(lab_path(&l, "far/4.wav")), 0);
	hec_corpus *c = open_corpus(&l, "far/list", s);
	assert_int_equal(hec_corpus_counts_of(c)->no_sound, 1);
	hec_corpus_destroy(c);
	hec_speech_destroy(s);
	hec_speech_destroy(other);
	lab_close(&l);
}

static void a_sound_that_changes_while_it_is_in_use_is_told(void **state)
{
	(void)state;
	lab l;
	hec_speech *s = NULL;
	open_all(&l, 7740, &s);
	hec_corpus *c = open_corpus(&l, "list", s);
	batcher *b = open_batches(&l.k, c, SOUNDS);
	hec_batch batch;
	bool ended;
	OK(&l.k, batcher_next(b, &batch, &ended));
	write_sound(&l, "1.wav", 4000, 1100, 291);
	FAILS(&l.k, HEC_ERR_FORMAT, batcher_next(b, &batch, &ended), "1.wav", "changed");
	assert_int_equal(unlink(lab_path(&l, "1.wav")), 0);
	FAILS(&l.k, HEC_ERR_IO, batcher_next(b, &batch, &ended), "1.wav", "before");
	write_sound(&l, "1.wav", 4000, 1100, 290);
	OK(&l.k, batcher_next(b, &batch, &ended));
	batcher_destroy(b);
	hec_corpus_destroy(c);
	hec_speech_destroy(s);
	lab_close(&l);
}

/* Ids that anyone may have written: every byte set to others in turn gives the same again. */
static void ids_of_sounds_that_were_changed_are_made_again(void **state)
{
	(void)state;
	lab l;
	hec_speech *s = NULL;
	open_all(&l, 7750, &s);
	uint32_t sum = sum_of(&l, "list", s);
	char bytes[2048];
	FILE *f = fopen(lab_path(&l, "cache.tokens"), "rb");
	assert_non_null(f);
	size_t n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	assert_true(n > 0 && n < sizeof bytes);
	for (size_t i = 0; i < n; i += 3) {
		bytes[i] = (char)~bytes[i];
		lab_write(&l, "cache.tokens", bytes, n);
		CHECK(&l.k, sum_of(&l, "list", s) == sum, "byte %zu", i);
		bytes[i] = (char)~bytes[i];
	}
	/* The numbers alone, without a sum that would find it out. */
	int32_t ids[SOUND_MOST];
	size_t m = sound_pack(1, 2, "abcd", 4, ids);
	assert_int_equal(m, SOUND_HEAD + 2);
	assert_true(sound_fits(ids, (int64_t)m, 3));
	assert_false(sound_fits(ids, (int64_t)m, 2));
	assert_false(sound_fits(ids, (int64_t)m - 1, 3)); /* without its end */
	assert_false(sound_fits(ids, SOUND_HEAD, 3));
	ids[1] = -1;
	assert_false(sound_fits(ids, (int64_t)m, 3));
	hec_speech_destroy(s);
	lab_close(&l);
}

/* ---- without memory ---- */

typedef struct attempt {
	const lab *l;
	hec_corpus_options o;
} attempt;

static hec_status open_and_read(const attempt *a)
{
	const batcher_options o = {.max_tokens = 250,
	                           .start_id = 40,
	                           .encoder = true,
	                           .decoder = true,
	                           .ctx = a->l->k.ctx};
	hec_corpus *c = NULL;
	batcher *b = NULL;
	hec_batch batch;
	bool ended;
	(void)unlink(lab_path(a->l, "cache.index"));
	hec_status status = hec_corpus_create(&a->o, &c);
	if (status == HEC_OK)
		status = batcher_create(c, &o, &b);
	if (status == HEC_OK)
		status = batcher_next(b, &batch, &ended);
	batcher_destroy(b);
	hec_corpus_destroy(c);
	return status;
}

static void without_memory_it_ends_in_a_message(void **state)
{
	(void)state;
	lab l;
	hec_speech *s = NULL;
	open_all(&l, 7760, &s);
	char list[64], cache[64];
	snprintf(list, sizeof list, "%s", lab_path(&l, "list"));
	snprintf(cache, sizeof cache, "%s", lab_path(&l, "cache"));
	const char *files[] = {list};
	attempt a = {&l, options_of(&l, files, s)};
	a.o.cache = cache;
	OK(&l.k, open_and_read(&a)); /* the context has its scratch from now on */
	long n = 1, refused = 0;
	for (bool fired = true; fired; n++) {
		const long before = refuse_live();
		refuse_request(n, false);
		hec_status status = open_and_read(&a);
		fired = refuse_fired();
		refuse_request(0, false);
		/* Samples that cannot be cut to size stay as they are. */
		CHECK(&l.k, status == HEC_OK || (fired && status == HEC_ERR_MEMORY),
		      "request %ld: %s: %s", n, hec_status_name(status), hec_error_message());
		CHECK(&l.k, refuse_live() == before, "request %ld: %ld blocks are left", n,
		      refuse_live() - before);
		refused += status == HEC_ERR_MEMORY;
	}
	CHECK(&l.k, refused > 50 && refused >= n - 2 - 2 * SOUNDS, "%ld of %ld", refused, n);
	hec_speech_destroy(s);
	lab_close(&l);
}

/* ---- what cannot be ---- */

static void what_is_no_corpus_of_sounds_is_refused(void **state)
{
	(void)state;
	lab l = lab_open(7770);
	hec_speech *s = NULL;
	OK(&l.k, hec_tokenizer_load(MODEL, &l.tokenizer));
	FAILS(&l.k, HEC_ERR_ARGUMENT, hec_speech_load(MODEL, l.tokenizer, NULL, NULL, &s),
	      "3 languages", "which one");
	FAILS(&l.k, HEC_ERR_ARGUMENT, hec_speech_load(MODEL, l.tokenizer, "xx", NULL, &s), "'xx'");
	FAILS(&l.k, HEC_ERR_ARGUMENT, hec_speech_load(MODEL, l.tokenizer, "de", "sing", &s),
	      "'sing'");
	FAILS(&l.k, HEC_ERR_UNSUPPORTED,
	      hec_speech_load(TESTS_DIR "/golden/models/bart", l.tokenizer, NULL, NULL, &s),
	      "no sound");
	FAILS(&l.k, HEC_ERR_ARGUMENT,
	      hec_speech_load(TESTS_DIR "/golden/transcribe_english", l.tokenizer, "de", NULL, &s),
	      "English only");
	assert_null(s);
	OK(&l.k, hec_speech_load(MODEL, l.tokenizer, "de", NULL, &s));
	assert_string_equal(hec_speech_language(s), "de");
	assert_false(hec_speech_translates(s));
	lab_write(&l, "list", "a\tb\n", 4);
	const char *files[] = {lab_path(&l, "list"), lab_path(&l, "list")};
	hec_corpus_options o = options_of(&l, files, s);
	hec_corpus *c = NULL;
	if (!hec_audio_available()) {
		FAILS(&l.k, HEC_ERR_UNSUPPORTED, hec_corpus_create(&o, &c), "reads no sound");
		hec_speech_destroy(s);
		lab_close(&l);
		return;
	}
	o.task = HEC_TASK_TRANSLATE;
	o.n = 2;
	FAILS(&l.k, HEC_ERR_ARGUMENT, hec_corpus_create(&o, &c), "translate");
	o = options_of(&l, files, s);
	s->prompt[1] = 5000;
	FAILS(&l.k, HEC_ERR_ARGUMENT, hec_corpus_create(&o, &c), "5000");
	s->prompt[1] = 42;
	s->mel.length = 0;
	FAILS(&l.k, HEC_ERR_ARGUMENT, hec_corpus_create(&o, &c), "window of 0");
	hec_speech_destroy(s);
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_corpus_of_sounds_is_refused),
		cmocka_unit_test(a_batch_holds_the_sounds_and_what_is_spoken),
		cmocka_unit_test(threads_do_not_matter),
		cmocka_unit_test(lines_left_out_are_counted_by_reason),
		cmocka_unit_test(what_is_not_the_fault_of_a_sound_is_a_failure),
		cmocka_unit_test(another_sound_behind_a_name_is_another_corpus),
		cmocka_unit_test(a_sound_that_changes_while_it_is_in_use_is_told),
		cmocka_unit_test(ids_of_sounds_that_were_changed_are_made_again),
		cmocka_unit_test(without_memory_it_ends_in_a_message),
	};
	/* Without the libraries that read sound there is the refusal alone. */
	if (!hec_audio_available()) {
		const struct CMUnitTest alone[] = {
			cmocka_unit_test(what_is_no_corpus_of_sounds_is_refused)};
		return cmocka_run_group_tests(alone, NULL, NULL);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
