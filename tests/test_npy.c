/* test_npy.c — arrays as NumPy saves them: every type and version that is known gives its numbers, what is
 * not known is refused by its name, and a file cut or changed anywhere is an error, never a crash. */
#include "support/scratch.h"
#include "support/test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/npy.h>

#include "alloc/refuse.h"
#include "base/file.h"

typedef struct file {
	char bytes[2048];
	size_t n;
} file;

static void add(file *f, const void *bytes, size_t n)
{
	assert_true(f->n + n <= sizeof f->bytes);
	memcpy(f->bytes + f->n, bytes, n);
	f->n += n;
}

/* The begin of a file of any version, with this header. */
static file begin(int version, const char *header)
{
	file f = {.n = 0};
	const size_t n = strlen(header);
	const unsigned char start[] = {0x93,
	                               'N',
	                               'U',
	                               'M',
	                               'P',
	                               'Y',
	                               (unsigned char)version,
	                               0,
	                               (unsigned char)n,
	                               (unsigned char)(n >> 8),
	                               0,
	                               0};
	add(&f, start, version == 1 ? 10 : 12);
	add(&f, header, n);
	return f;
}

static const char *write_file(const kit *k, const char *bytes, size_t n)
{
	static char path[SCRATCH_PATH];
	if (!*path)
		scratch_fresh(path);
	OK(k, file_replace(path, bytes, n));
	return path;
}

#define SMALL "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n"

static file small(void)
{
	file f = begin(1, SMALL);
	const float numbers[6] = {1, -2, 0.5f, 1e30f, -0.0f, FLT_MIN};
	add(&f, numbers, sizeof numbers);
	return f;
}

static void every_type_and_version_gives_its_numbers(void **state)
{
	(void)state;
	kit k = kit_open(7500);
	static const double want[] = {1, -2, 0.5, 65504, 0x1p-24, -0x1.ff8p-15, 0};
	static const uint16_t halves[] = {0x3c00, 0xc000, 0x3800, 0x7bff, 0x0001, 0x83ff, 0};
	for (int version = 1; version <= 3; version++)
		for (int bytes = 2; bytes <= 8; bytes *= 2) {
			char header[200];
			/* Any order, both kinds of quotes, no comma at the end. */
			snprintf(header, sizeof header,
			         version == 2
			                 ? "{\"shape\":(7,1,1),\"fortran_order\":False,\"descr\":"
			                   "\"<f%d\"}\n"
			                 : "{'descr': '<f%d', 'fortran_order': False, 'shape': "
			                   "(7, 1, 1), }  \n",
			         bytes);
			file f = begin(version, header);
			for (int i = 0; i < 7; i++) {
				const float single = (float)want[i];
				add(&f,
				    bytes == 2   ? (const void *)&halves[i]
				    : bytes == 4 ? (const void *)&single
				                 : (const void *)&want[i],
				    (size_t)bytes);
			}
			hec_tensor x = HEC_TENSOR_NONE;
			OK(&k, hec_npy_read(write_file(&k, f.bytes, f.n), &x));
			CHECK(&k, x.rank == 3 && x.shape[0] == 7 && x.shape[2] == 1, "its shape");
			for (int i = 0; i < 7; i++)
				CHECK(&k, ((float *)x.data)[i] == (float)want[i],
				      "f%d: number %d is %g", bytes, i, ((float *)x.data)[i]);
			hec_npy_free(&x);
			CHECK(&k, x.rank == 0, "what is freed is absent");
			hec_npy_free(&x);
		}
	kit_close(&k);
}

static void infinities_and_nan_of_halves_stay_what_they_are(void **state)
{
	(void)state;
	kit k = kit_open(7501);
	file f = begin(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }\n");
	const uint16_t bits[] = {0x7c00, 0xfc00, 0x7e01};
	add(&f, bits, sizeof bits);
	hec_tensor x;
	OK(&k, hec_npy_read(write_file(&k, f.bytes, f.n), &x));
	const float *got = x.data;
	assert_true(got[0] == INFINITY && got[1] == -INFINITY && isnan(got[2]));
	hec_npy_free(&x);
	kit_close(&k);
}

static void an_array_of_many_pieces_is_read_whole(void **state)
{
	(void)state;
	kit k = kit_open(7502);
	const size_t n = 70001;
	char header[100], *bytes = malloc(200 + n * 8);
	snprintf(header, sizeof header,
	         "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu,), }\n", n);
	const file f = begin(1, header);
	memcpy(bytes, f.bytes, f.n);
	for (size_t i = 0; i < n; i++) {
		const double x = (double)i / 3;
		memcpy(bytes + f.n + i * 8, &x, 8);
	}
	hec_tensor x;
	OK(&k, hec_npy_read(write_file(&k, bytes, f.n + n * 8), &x));
	for (size_t i = 0; i < n; i++)
		CHECK(&k, ((float *)x.data)[i] == (float)((double)i / 3), "number %zu", i);
	hec_npy_free(&x);
	free(bytes);
	kit_close(&k);
}

static void what_is_not_known_is_refused_by_its_name(void **state)
{
	(void)state;
	kit k = kit_open(7510);
	static const struct {
		const char *header;
		hec_status status;
		const char *said;
	} table[] = {
#define H(type, order, shape)                                                                      \
	"{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", }\n"
		{H("<f4", "True", "(2, 3)"), HEC_ERR_UNSUPPORTED, "Fortran order"},
		{H(">f4", "False", "(2, 3)"), HEC_ERR_UNSUPPORTED, "'>f4'"},
		{H("<i8", "False", "(2, 3)"), HEC_ERR_UNSUPPORTED, "'<i8'"},
		{H("|O", "False", "(2, 3)"), HEC_ERR_UNSUPPORTED, "'|O'"},
		{H("<f4", "False", "()"), HEC_ERR_UNSUPPORTED, "without axes"},
		{H("<f4", "False", "(6)"), HEC_ERR_FORMAT, "a comma"},
		{H("<f4", "False", "(0, 3)"), HEC_ERR_UNSUPPORTED, "empty"},
		{H("<f4", "False", "(1, 1, 1, 2, 3)"), HEC_ERR_UNSUPPORTED, "more than 4 axes"},
		{H("<f4", "False", "(-2, 3)"), HEC_ERR_FORMAT, "a number"},
		{H("<f4", "False", "(2 3)"), HEC_ERR_FORMAT, "a comma"},
		{H("<f4", "False", "(2, 3"), HEC_ERR_FORMAT, "a number"},
		{H("<f4", "False", "(2, 4)"), HEC_ERR_FORMAT, "8 numbers of f32 take 32 bytes, 24"},
		{H("<f4", "False", "(2, 2)"), HEC_ERR_FORMAT, "16 bytes, 24"},
		{H("<f4", "False", "(4294967296, 4294967296)"), HEC_ERR_FORMAT, "addressed"},
		{H("<f4", "False", "(99999999999999999999,)"), HEC_ERR_FORMAT, "a smaller number"},
		{H("<f4", "Falsch", "(2, 3)"), HEC_ERR_FORMAT, "True or False"},
		{H("<f\\x34", "False", "(2, 3)"), HEC_ERR_FORMAT, "a type"},
		{"{'descr': '<f4', 'fortran_order': False, }\n", HEC_ERR_FORMAT, "lacks 'shape'"},
		{"{'shape': (2, 3), 'fortran_order': False, }\n", HEC_ERR_FORMAT, "lacks 'descr'"},
		{"{'descr': '<f4', 'shape': (2, 3)}\n", HEC_ERR_FORMAT, "lacks 'fortran_order'"},
		{"{'shape': (2, 3), 'shape': (2, 3)}\n", HEC_ERR_FORMAT, "'shape' twice"},
		{"{'shape': (2, 3), 'size': 3}\n", HEC_ERR_FORMAT, "'size', which"},
		{"{'shape' (2, 3)}\n", HEC_ERR_FORMAT, "a colon"},
		{"('descr', '<f4')\n", HEC_ERR_FORMAT, "a dictionary"},
		{H("<f4", "False", "(2, 3)") "x", HEC_ERR_FORMAT, "spaces"},
		{"", HEC_ERR_FORMAT, "ends where"},
	};
	const float numbers[6] = {0};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		file f = begin(1 + (int)(i % 3), table[i].header);
		add(&f, numbers, sizeof numbers);
		hec_tensor x = HEC_TENSOR_NONE;
		FAILS(&k, table[i].status, hec_npy_read(write_file(&k, f.bytes, f.n), &x),
		      table[i].said);
		CHECK(&k, x.rank == 0, "something was made");
	}
	file f = small();
	hec_tensor x = HEC_TENSOR_NONE;
	f.bytes[6] = 4;
	FAILS(&k, HEC_ERR_UNSUPPORTED, hec_npy_read(write_file(&k, f.bytes, f.n), &x), "4.0");
	f = small();
	f.bytes[1] = 'n';
	FAILS(&k, HEC_ERR_FORMAT, hec_npy_read(write_file(&k, f.bytes, f.n), &x), "begin");
	FAILS(&k, HEC_ERR_IO, hec_npy_read("/nowhere/at/all.npy", &x), "/nowhere");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_npy_read(NULL, &x), "path");
	kit_close(&k);
}

static void a_header_that_is_too_long_takes_no_memory(void **state)
{
	(void)state;
	kit k = kit_open(7511);
	const size_t n = 70000;
	char *bytes = malloc(n);
	memset(bytes, ' ', n);
	memcpy(bytes, "\x93NUMPY\2\0\0\0\1\0", 12); /* 65,536 fit, */
	hec_tensor x = HEC_TENSOR_NONE;
	FAILS(&k, HEC_ERR_FORMAT, hec_npy_read(write_file(&k, bytes, n), &x), "ends where");
	bytes[8] = 1; /* one more does not */
	FAILS(&k, HEC_ERR_FORMAT, hec_npy_read(write_file(&k, bytes, n), &x), "65537", "65536");
	memset(bytes + 8, 0xff, 4);
	FAILS(&k, HEC_ERR_FORMAT, hec_npy_read(write_file(&k, bytes, n), &x), "4294967295");
	free(bytes);
	kit_close(&k);
}

static void a_file_cut_anywhere_is_an_error(void **state)
{
	(void)state;
	kit k = kit_open(7520);
	for (int version = 1; version <= 2; version++) {
		file f = begin(version, SMALL);
		add(&f, small().bytes + 10 + strlen(SMALL), 24);
		for (size_t n = 0; n < f.n; n++) {
			hec_tensor x = HEC_TENSOR_NONE;
			CHECK(&k, hec_npy_read(write_file(&k, f.bytes, n), &x) == HEC_ERR_FORMAT,
			      "cut at %zu of %zu", n, f.n);
			CHECK(&k, x.rank == 0 && *hec_error_message(), "cut at %zu", n);
		}
		hec_tensor x;
		OK(&k, hec_npy_read(write_file(&k, f.bytes, f.n), &x));
		hec_npy_free(&x);
	}
	kit_close(&k);
}

static void a_byte_changed_anywhere_is_no_crash(void **state)
{
	(void)state;
	kit k = kit_open(7521);
	const file whole = small();
	static const char others[] = {0, 1, 9, ' ', '\'', '(', '0', '9', '{', (char)0xff};
	for (size_t at = 0; at < whole.n - 24; at++)
		for (size_t i = 0; i < sizeof others; i++) {
			file f = whole;
			hec_tensor x = HEC_TENSOR_NONE;
			f.bytes[at] = others[i];
			if (hec_npy_read(write_file(&k, f.bytes, f.n), &x) == HEC_OK)
				CHECK(&k,
				      hec_tensor_count(&x) == 6 || hec_tensor_count(&x) == 12 ||
				              hec_tensor_count(&x) == 3,
				      "byte %zu as %d gives %lld numbers", at, others[i],
				      (long long)hec_tensor_count(&x));
			hec_npy_free(&x);
		}
	kit_close(&k);
}

static void every_refused_allocation_is_an_error(void **state)
{
	(void)state;
	kit k = kit_open(7522);
	const file f = small();
	const char *path = write_file(&k, f.bytes, f.n);
	for (long n = 1;; n++) {
		hec_tensor x = HEC_TENSOR_NONE;
		const long before = refuse_live();
		refuse_request(n, false);
		const hec_status status = hec_npy_read(path, &x);
		const bool fired = refuse_fired();
		refuse_request(0, false);
		hec_npy_free(&x);
		CHECK(&k, refuse_live() == before, "request %ld: something is left", n);
		CHECK(&k, status == (fired ? HEC_ERR_MEMORY : HEC_OK), "request %ld", n);
		if (!fired) {
			CHECK(&k, n > 2, "only %ld requests", n - 1);
			break;
		}
	}
	kit_close(&k);
}

/* What is written is read again as the same bits, and is what NumPy writes: the header of np.save for (3, 2). */
static void what_is_written_is_read_again(void **state)
{
	(void)state;
	kit k = kit_open(7700);
	char path[SCRATCH_PATH], *text;
	size_t size;
	static const char head[] =
		"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, "
		"'shape': (3, 2), }";
	static const int64_t shapes[][3] = {{3, 2, 0}, {7, 0, 0}, {2, 3, 4}, {1, 1, 0}};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		int rank = 0;
		while (rank < 3 && shapes[i][rank])
			rank++;
		hec_tensor x = make_random(&k, HEC_F32,
		                           shapes[i][1] == 0   ? SHAPE(7)
		                           : shapes[i][2] == 0 ? SHAPE(shapes[i][0], shapes[i][1])
		                                               : SHAPE(2, 3, 4));
		hec_tensor back = HEC_TENSOR_NONE;
		OK(&k, hec_npy_write(scratch_fresh(path), &x));
		OK(&k, hec_npy_read(path, &back));
		CHECK(&k, back.rank == rank, "%d axes, not %d", back.rank, rank);
		CHECK(&k,
		      hec_tensor_count(&back) == hec_tensor_count(&x) &&
		              memcmp(back.data, x.data,
		                     (size_t)hec_tensor_count(&x) * sizeof(float)) == 0,
		      "other numbers");
		hec_npy_free(&back);
		OK(&k, file_read(path, 1 << 20, &text, &size));
		CHECK(&k, i > 0 || memcmp(text, head, sizeof head - 1) == 0, "the header is %.80s",
		      text);
		CHECK(&k, (size - (size_t)hec_tensor_count(&x) * sizeof(float)) % 64 == 0,
		      "the data are not aligned");
		hec_free(text);
	}
	hec_tensor ids = make(&k, HEC_I32, SHAPE(3)), wide = make(&k, HEC_F32, SHAPE(4, 4)), part;
	OK(&k, hec_tensor_slice(&wide, 1, 0, 2, &part));
	FAILS(&k, HEC_ERR_ARGUMENT, hec_npy_write(path, &ids), "i32");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_npy_write(path, &part), "contiguous");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_npy_write(NULL, &ids), "NULL");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_npy_write(path, NULL), "NULL");
	FAILS(&k, HEC_ERR_IO, hec_npy_write("/nowhere/x.npy", &wide), "/nowhere");
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_and_version_gives_its_numbers),
		cmocka_unit_test(infinities_and_nan_of_halves_stay_what_they_are),
		cmocka_unit_test(an_array_of_many_pieces_is_read_whole),
		cmocka_unit_test(what_is_not_known_is_refused_by_its_name),
		cmocka_unit_test(a_header_that_is_too_long_takes_no_memory),
		cmocka_unit_test(a_file_cut_anywhere_is_an_error),
		cmocka_unit_test(every_refused_allocation_is_an_error),
		cmocka_unit_test(a_byte_changed_anywhere_is_no_crash),
		cmocka_unit_test(what_is_written_is_read_again),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
