/* test_audio_cut.c — a sound file that ends too early says so, and one that is a stream of unknown length is whole. */
#include "support/test.h"

#include "sound_files.h"

static bool good_part(int errors, size_t i, const hec_audio *a, sf_count_t n, sf_count_t size)
{
	bool good = a->count <= 16000 && (a->cut || i == 4);
	if (!good) {
		show_errors(errors);
		print_message("kind %zu, %lld of %lld bytes\n", i, (long long)n, (long long)size);
	}
	return good;
}

static void a_file_cut_anywhere_is_never_a_crash(void **state)
{
	(void)state;
	int errors = hide_errors();
	static const int formats[] = {
		SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAVEX | SF_FORMAT_FLOAT,
		SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_OGG | SF_FORMAT_OPUS,
		SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III};
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		file f = make_file(formats[i], 16000, 1, 300, sine, 440);
		unsigned char *cut = malloc((size_t)f.size + 1);
		hec_audio *a;
		/* Cut, then each byte turned over. */
		for (sf_count_t n = 0; n < f.size; n++) {
			memcpy(cut, f.data, (size_t)n);
			if (hec_audio_read_memory("x", cut, (size_t)n, NULL, &a) == HEC_OK)
				/* An MP3 may not say how long it is. */
				assert_true(good_part(errors, i, a, n, f.size));
			else
				assert_true(*hec_error_message() != '\0' && !a);
			hec_audio_free(a);
		}
		for (sf_count_t n = 0; n < f.size && n < 700; n++) {
			memcpy(cut, f.data, (size_t)f.size);
			cut[n] ^= 0xFF;
			if (hec_audio_read_memory("x", cut, (size_t)f.size, NULL, &a) != HEC_OK)
				assert_true(*hec_error_message() != '\0' && !a);
			hec_audio_free(a);
		}
		free(cut);
		free(f.data);
	}
	show_errors(errors);
}

/* ---- files that end too early ---- */

static bool cut_is(const char *name, const file *f, sf_count_t size)
{
	hec_audio *a;
	if (hec_audio_read_memory(name, f->data, (size_t)size, NULL, &a) != HEC_OK)
		fail_msg("%s, %lld of %lld bytes: %s", name, (long long)size, (long long)f->size,
		         hec_error_message());
	const bool cut = a->cut;
	hec_audio_free(a);
	return cut;
}

static void a_file_that_is_cut_says_so(void **state)
{
	(void)state;
	int errors = hide_errors();
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		const case_kind *c = &kinds[i];
		file f = make_file(c->format, c->rate, c->channels, 2 * c->rate, sine, 440);
		assert_false(cut_is(c->name, &f, f.size));
		/* Of FLAC a part is an error. */
		if ((c->format & SF_FORMAT_TYPEMASK) != SF_FORMAT_FLAC) {
			assert_true(cut_is(c->name, &f, f.size * 2 / 3));
			assert_true(cut_is(c->name, &f, f.size - 1));
		}
		free(f.data);
	}
	show_errors(errors);
}

static void put_number(file *f, size_t at, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		f->data[at + (size_t)i] = (unsigned char)(x >> 8 * i);
}

static int64_t frames_of(const char *name, const file *f)
{
	hec_audio *a;
	if (hec_audio_read_memory(name, f->data, (size_t)f->size, NULL, &a) != HEC_OK)
		fail_msg("%s: %s", name, hec_error_message());
	const int64_t frames = a->frames;
	hec_audio_free(a);
	return frames;
}

/* A writer that cannot go back leaves what it did not know; all of its sound is read. */
static void a_stream_is_whole(void **state)
{
	(void)state;
	static const uint32_t lengths[][2] = {
		{0, 0},
		{8, 0},
		{36, 0},
		{0xFFFFFFFF, 0},
		{0xFFFFFFFF, 0xFFFFFFFF},
		{0x7FFFFFFF, 0x7FFFFFFF},
		{0x7FFFF000, 0x7FFFF000},
		{0x80000000, 0x80000000},
	};
	file f = make_file(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, 16000, sine, 440);
	assert_memory_equal(f.data + 36, "data", 4);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		put_number(&f, 4, lengths[i][0]);
		put_number(&f, 40, lengths[i][1]);
		assert_false(cut_is("stream", &f, f.size));
		assert_int_equal(frames_of("stream", &f), 16000);
	}
	put_number(&f, 40, 32001); /* one byte more than there is */
	assert_true(cut_is("wav", &f, f.size));
	free(f.data);
}

static void a_wide_stream_is_whole(void **state)
{
	(void)state;
	file f = make_file(SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 16000, 1, 16000, sine, 440);
	assert_memory_equal(f.data + 12, "ds64", 4);
	memset(f.data + 20, 0, 24); /* bytes of the file, bytes and frames of its sound */
	assert_false(cut_is("wide stream", &f, f.size));
	assert_int_equal(frames_of("wide stream", &f), 16000);
	memset(f.data + 20, 0xFF, 24);
	assert_false(cut_is("wide stream", &f, f.size));
	assert_int_equal(frames_of("wide stream", &f), 16000);
	memset(f.data + 20, 0, 24);
	size_t data = 12;
	while (memcmp(f.data + data, "data", 4) != 0)
		data++;
	put_number(&f, data + 4, 0);
	assert_int_equal(frames_of("wide stream", &f), 16000);
	free(f.data);
}

static void a_big_endian_stream_is_whole(void **state)
{
	(void)state;
	file f = make_file(SF_FORMAT_WAV | SF_FORMAT_PCM_16 | SF_ENDIAN_BIG, 16000, 1, 16000, sine,
	                   440);
	assert_memory_equal(f.data, "RIFX", 4);
	put_number(&f, 4, 0);
	put_number(&f, 40, 0);
	assert_int_equal(frames_of("big stream", &f), 16000);
	free(f.data);
}

/* What follows on no sound is no sound where the file says that it goes on. */
static void no_sound_before_other_chunks_is_none(void **state)
{
	(void)state;
	file f = make_file(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, 0, sine, 440);
	static const unsigned char list[] = {'L', 'I', 'S', 'T', 4, 0, 0, 0, 'I', 'N', 'F', 'O'};
	assert_int_equal(f.size, 44);
	memcpy(f.data + f.size, list, sizeof list);
	f.size += sizeof list;
	put_number(&f, 4, 36 + sizeof list);
	assert_int_equal(frames_of("no sound", &f), 0);
	assert_false(cut_is("no sound", &f, f.size));
	free(f.data);
}

/* A frame of silence that counts the bytes of the file, then frames of silence. */
static void an_mp3_that_counts_its_bytes_says_so(void **state)
{
	(void)state;
	enum { FRAME = 417, FRAMES = 40 }; /* MPEG 1, layer III, 128 kbit/s, 44,100 Hz, stereo */
	int errors = hide_errors();
	file f = {.data = calloc(1, (FRAMES + 1) * FRAME), .size = FRAMES * FRAME};
	for (int i = 0; i < FRAMES; i++)
		memcpy(f.data + (size_t)i * FRAME, "\xFF\xFB\x90\x00", 4);
	assert_false(cut_is("mp3", &f, f.size / 2));
	hec_audio *a; /* not one whole frame: there is a file all the same */
	assert_int_equal(hec_audio_read_memory("mp3", f.data, FRAME / 2, NULL, &a), HEC_ERR_FORMAT);
	assert_null(strstr(hec_error_message(), "exist"));
	memcpy(f.data + 36, "Info\0\0\0\3\0\0\0\x27", 12);
	f.data[36 + 14] = FRAMES * FRAME >> 8;
	f.data[36 + 15] = FRAMES * FRAME & 0xFF;
	assert_false(cut_is("mp3", &f, f.size));
	assert_true(cut_is("mp3", &f, f.size / 2));
	free(f.data);
	show_errors(errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_cut_anywhere_is_never_a_crash),
		cmocka_unit_test(a_file_that_is_cut_says_so),
		cmocka_unit_test(a_stream_is_whole),
		cmocka_unit_test(a_wide_stream_is_whole),
		cmocka_unit_test(a_big_endian_stream_is_whole),
		cmocka_unit_test(no_sound_before_other_chunks_is_none),
		cmocka_unit_test(an_mp3_that_counts_its_bytes_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
