/* test_safetensors.c — a file that follows the rules is read to the bit; one that breaks any is
 * refused with its name and the tensor's. */
#include "support/scratch.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "alloc/refuse.h"
#include "base/file.h"
#include "base/status.h"
#include "format/safetensors.h"

static kit bare; /* for messages where no context is needed */

static int make_folder(void **state)
{
	return scratch_make(state, "model.safetensors");
}

static const char *in_folder(const scratch *f, const char *name)
{
	static char path[256];
	snprintf(path, sizeof path, "%s/%s", f->path, name);
	return path;
}

/* Length, header, data bytes of any kind. */
static void write_raw(const char *path, const char *header, size_t length, uint64_t said,
                      size_t data)
{
	char *bytes = calloc(1, 8 + length + data);
	for (int i = 0; i < 8; i++)
		bytes[i] = (char)(said >> 8 * i);
	memcpy(bytes + 8, header, length);
	assert_int_equal(file_replace(path, bytes, 8 + length + data), HEC_OK);
	free(bytes);
}

static hec_status open_header(const scratch *f, const char *header, size_t data)
{
	safetensors *s = NULL;
	write_raw(f->file, header, strlen(header), strlen(header), data);
	hec_status status = safetensors_open(f->file, &s);
	assert_true((status == HEC_OK) == (s != NULL));
	safetensors_close(s);
	return status;
}

/* ---- what is written is read back ---- */

static const float weights[6] = {1, -2, 3.5f, 0, 1e-30f, -0.0f};
static const uint16_t halves[3] = {0x3c00, 0x8001, 0x7bff};
static const int32_t ids[2] = {-1, 1 << 30};

static hec_status third(void *arg, size_t item, safetensors_sink *sink)
{
	assert_int_equal(item, *(size_t *)arg);
	for (int i = 0; i < 3; i++)
		HEC_TRY(safetensors_sink_write(sink, &halves[i], sizeof halves[i]));
	return HEC_OK;
}

static hec_status write_sample(const char *path)
{
	static const char *const metadata[] = {"format", "pt", "é \"x\"", "line\n", NULL};
	const safetensors_item items[] = {
		{"b.ids", ST_I32, 1, {2}, ids},      {"é/\"half\"", ST_F16, 1, {3}, NULL},
		{"a.w", ST_F32, 2, {2, 3}, weights}, {"none", ST_BF16, 3, {4, 0, 2}, NULL},
		{"scalar", ST_F32, 0, {0}, weights},
	};
	size_t asked = 1;
	return safetensors_write(path, items, 5, metadata, third, &asked);
}

static void what_is_written_is_read_back(void **state)
{
	scratch *f = *state;
	safetensors *s;
	OK(&bare, write_sample(f->file));
	assert_int_equal(scratch_entries(f->path), 1);
	OK(&bare, safetensors_open(f->file, &s));
	assert_int_equal(safetensors_count(s), 5);
	for (size_t i = 1; i < 5; i++)
		assert_true(strcmp(safetensors_at(s, i - 1)->name, safetensors_at(s, i)->name) < 0);
	assert_null(safetensors_at(s, 5));
	assert_null(safetensors_find(s, "a"));
	const safetensors_entry *e = safetensors_find(s, "a.w");
	assert_non_null(e);
	assert_int_equal(e->dtype, ST_F32);
	assert_int_equal(e->rank, 2);
	assert_int_equal(e->shape[1], 3);
	assert_int_equal(e->count, 6);
	assert_int_equal(e->begin % 8, 0);
	float back[6];
	OK(&bare, safetensors_read(s, e, 0, 6, back));
	assert_memory_equal(back, weights, sizeof weights);
	OK(&bare, safetensors_read(s, e, 4, 2, back));
	assert_memory_equal(back, weights + 4, 2 * sizeof *weights);
	FAILS(&bare, HEC_ERR_ARGUMENT, safetensors_read(s, e, 4, 3, back), "a.w", "of its 6");
	e = safetensors_find(s, "é/\"half\"");
	uint16_t half[3];
	OK(&bare, safetensors_read(s, e, 0, 3, half));
	assert_memory_equal(half, halves, sizeof halves);
	assert_int_equal(safetensors_find(s, "none")->count, 0);
	assert_int_equal(safetensors_find(s, "scalar")->count, 1);
	assert_string_equal(safetensors_metadata(s, "é \"x\""), "line\n");
	assert_string_equal(safetensors_metadata(s, "format"), "pt");
	assert_null(safetensors_metadata(s, "x"));
	assert_string_equal(safetensors_path(s, e), f->file);
	safetensors_close(s);
}

static hec_status gives_too_few(void *arg, size_t item, safetensors_sink *sink)
{
	(void)item;
	return safetensors_sink_write(sink, weights, *(size_t *)arg);
}

static void a_failed_write_keeps_the_old_file(void **state)
{
	scratch *f = *state;
	OK(&bare, write_sample(f->file));
	safetensors_item item = {"x", ST_F32, 1, {3}, NULL};
	size_t n = 11;
	FAILS(&bare, HEC_ERR_INTERNAL,
	      safetensors_write(f->file, &item, 1, NULL, gives_too_few, &n), "'x' lacks 1");
	n = 13;
	FAILS(&bare, HEC_ERR_INTERNAL,
	      safetensors_write(f->file, &item, 1, NULL, gives_too_few, &n), "13 bytes");
	const safetensors_item twice[] = {{"x", ST_U8, 1, {2}, "ab"}, {"x", ST_U8, 1, {2}, "ab"}};
	FAILS(&bare, HEC_ERR_ARGUMENT, safetensors_write(f->file, twice, 2, NULL, NULL, NULL),
	      "'x' is there twice");
	item = (safetensors_item){"x", ST_F32, 2, {INT64_MAX, 3}, NULL};
	FAILS(&bare, HEC_ERR_ARGUMENT, safetensors_write(f->file, &item, 1, NULL, NULL, NULL),
	      "'x' is too large");
	assert_int_equal(scratch_entries(f->path), 1);
	safetensors *s;
	OK(&bare, safetensors_open(f->file, &s));
	safetensors_close(s);
}

/* ---- what breaks a rule is refused ---- */

static void a_file_cut_at_any_byte_is_refused(void **state)
{
	scratch *f = *state;
	OK(&bare, write_sample(f->file));
	char *bytes;
	size_t size;
	OK(&bare, file_read(f->file, 1 << 20, &bytes, &size));
	for (size_t n = 0; n <= size + 1; n++) {
		char *part = calloc(1, size + 1);
		memcpy(part, bytes, n < size ? n : size);
		OK(&bare, file_replace(f->file, part, n));
		free(part);
		safetensors *s = NULL;
		hec_status status = safetensors_open(f->file, &s);
		if (n == size) {
			assert_int_equal(status, HEC_OK);
			safetensors_close(s);
			continue;
		}
		FAILS(&bare, HEC_ERR_FORMAT, status, f->file);
		assert_null(s);
	}
	free(bytes);
}

static void every_number_of_the_header_is_checked(void **state)
{
	scratch *f = *state;
	static const char *const numbers[] = {"0",
	                                      "-1",
	                                      "2147483648",
	                                      "2147483647",
	                                      "4294967296",
	                                      "9223372036854775807",
	                                      "9223372036854775808",
	                                      "-9223372036854775808",
	                                      "18446744073709551616",
	                                      "1e3",
	                                      "6.0",
	                                      "null",
	                                      "\"6\"",
	                                      "[]",
	                                      "true"};
	static const char *const right[] = {"2", "3", "0", "24", "24", "32", "8"};
	enum { PLACES = 7 };
	for (int place = -1; place < PLACES; place++) {
		for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
			const char *n[PLACES];
			for (int p = 0; p < PLACES; p++)
				n[p] = p == place ? numbers[i] : right[p];
			char header[512];
			snprintf(
				header, sizeof header,
				"{\"w\":{\"dtype\":\"F32\",\"shape\":[%s,%s],\"data_offsets\":[%s,%"
				"s]},\"x\":{\"dtype\":\"U8\",\"shape\":[%s],\"data_offsets\":[%s,"
				"%s]}}",
				n[0], n[1], n[2], n[3], n[6], n[4], n[5]);
			hec_status status = open_header(f, header, 32);
			if (place < 0 || strcmp(n[place], right[place]) == 0)
				OK(&bare, status);
			else
				FAILS(&bare, HEC_ERR_FORMAT, status, f->file);
		}
	}
}

static void the_length_of_the_header_is_checked(void **state)
{
	scratch *f = *state;
	static const uint64_t lengths[] = {
		0,          1,     3,         1ull << 31, (1ull << 31) - 1, 1ull << 32,
		1ull << 63, ~0ull, 100000000, 100000001,  ~0ull - 7};
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		safetensors *s;
		write_raw(f->file, "{}", 2, lengths[i], 0);
		FAILS(&bare, HEC_ERR_FORMAT, safetensors_open(f->file, &s), f->file,
		      lengths[i] == 1 ? "line 1" : "header");
	}
	OK(&bare, open_header(f, "{}", 0));
	OK(&bare, open_header(f, "{}      ", 0));
	FAILS(&bare, HEC_ERR_FORMAT, open_header(f, " {}", 0), "does not begin with '{'");
	FAILS(&bare, HEC_ERR_FORMAT, open_header(f, "[]", 0), "does not begin with '{'");
	FAILS(&bare, HEC_ERR_FORMAT, open_header(f, "{} {}", 0), "should end here");
	FAILS(&bare, HEC_ERR_FORMAT, open_header(f, "{}", 1), "take 0 bytes", "there are 1");
}

#define TENSOR(name, dtype, shape, begin, end)                                                     \
	"\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" begin     \
	"," end "]}"

static void rules_between_tensors_are_checked(void **state)
{
	scratch *f = *state;
	OK(&bare, open_header(f,
	                      "{" TENSOR("b", "U8", "4", "4", "8") "," TENSOR(
				      "a", "F32", "1", "0", "4") "," TENSOR("none", "F64", "0", "4",
	                                                                    "4") "}",
	                      8));
	FAILS(&bare, HEC_ERR_FORMAT,
	      open_header(
		      f,
		      "{" TENSOR("a", "U8", "4", "0", "4") "," TENSOR("b", "U8", "4", "3", "7") "}",
		      7),
	      "'b' begins at byte 3", "goes on to 4");
	FAILS(&bare, HEC_ERR_FORMAT,
	      open_header(
		      f,
		      "{" TENSOR("a", "U8", "4", "0", "4") "," TENSOR("b", "U8", "4", "5", "9") "}",
		      9),
	      "'b' begins at byte 5", "leaves a hole from 4");
	FAILS(&bare, HEC_ERR_FORMAT, open_header(f, "{" TENSOR("a", "U8", "4", "1", "5") "}", 5),
	      "hole from 0");
	FAILS(&bare, HEC_ERR_FORMAT,
	      open_header(
		      f,
		      "{" TENSOR("a", "U8", "4", "0", "4") "," TENSOR("b", "U8", "4", "0", "4") "}",
		      4),
	      "begins at byte 0");
	FAILS(&bare, HEC_ERR_FORMAT,
	      open_header(
		      f,
		      "{" TENSOR("a", "U8", "4", "0", "4") "," TENSOR("a", "U8", "4", "4", "8") "}",
		      8),
	      "tensor 'a' is there twice");
	FAILS(&bare, HEC_ERR_FORMAT, open_header(f, "{" TENSOR("a", "U8", "4", "0", "4") "}", 5),
	      "there are 5");
	FAILS(&bare, HEC_ERR_FORMAT, open_header(f, "{" TENSOR("a", "F32", "4", "0", "4") "}", 4),
	      "'a': shape [4] of F32 takes 16 bytes, 'data_offsets' give it 4");
	FAILS(&bare, HEC_ERR_FORMAT,
	      open_header(f,
	                  "{" TENSOR("a", "U8", "4294967296,4294967296,4294967296", "0", "0") "}",
	                  0),
	      "is no number of bytes");
	FAILS(&bare, HEC_ERR_FORMAT,
	      open_header(f, "{" TENSOR("a", "U8", "1,1,1,1,1,1,1,1,1", "0", "1") "}", 1),
	      "has 9 axes");
	FAILS(&bare, HEC_ERR_FORMAT, open_header(f, "{" TENSOR("a", "F4", "3", "0", "1") "}", 1),
	      "no number of bytes");
	OK(&bare, open_header(f, "{" TENSOR("a", "F4", "6", "0", "3") "}", 3));
	FAILS(&bare, HEC_ERR_FORMAT, open_header(f, "{" TENSOR("a", "f32", "1", "0", "4") "}", 4),
	      "the type 'f32' is not known");
}

static void what_describes_no_tensor_is_refused(void **state)
{
	scratch *f = *state;
	static const char *const wrong[] = {
		"{\"a\":1}",
		"{\"a\":null}",
		"{\"a\":{}}",
		"{\"a\":\"F32\"}",
		"{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}",
		"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0]}}",
		"{\"a\":{\"dtype\":1,\"shape\":[0],\"data_offsets\":[0,0]}}",
		"{\"a\":{\"dtype\":\"U8\",\"shape\":0,\"data_offsets\":[0,0]}}",
		"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0]}}",
		"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0,0]}}",
		"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
		"{\"__metadata__\":[]}",
		"{\"__metadata__\":{\"a\":1}}",
		"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}",
		"{\"__metadata__\":{},\"__metadata__\":{}}",
		"{\"\xff\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
		"{\"a\\u0000\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		FAILS(&bare, HEC_ERR_FORMAT, open_header(f, wrong[i], 0), f->file);
	OK(&bare, open_header(f, "{\"__metadata__\":{}}", 0));
	/* The number that is to blame is named, not one beside it. */
	FAILS(&bare, HEC_ERR_FORMAT,
	      open_header(f,
	                  "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,"
	                  "9223372036854775808]}}",
	                  3),
	      "'data_offsets'[1] is 9.22337e+18");
	FAILS(&bare, HEC_ERR_FORMAT,
	      open_header(f, "{\"a\":{\"dtype\":\"U8\",\"shape\":[3,1e99],\"data_offsets\":[0,3]}}",
	                  3),
	      "'shape'[1] is 1e+99");
}

/* Memory stays a small multiple of the file, whatever is in it. */
static void a_long_list_in_a_description_is_not_read(void **state)
{
	scratch *f = *state;
	size_t n = 1 << 20;
	char *header = malloc(n + 1);
	memset(header, '[', n);
	memcpy(header, "{\"a\":{\"x\":[", 11);
	for (size_t i = 11; i + 4 < n; i += 2)
		memcpy(header + i, "0,", 2);
	memcpy(header + n - 5, "0]}} ", 6);
	FAILS(&bare, HEC_ERR_FORMAT, open_header(f, header, 0), "longer ones are not read");
	free(header);
}

static void a_file_that_shrinks_is_an_error(void **state)
{
	scratch *f = *state;
	safetensors *s;
	OK(&bare, write_sample(f->file));
	OK(&bare, safetensors_open(f->file, &s));
	const safetensors_entry *e = safetensors_find(s, "é/\"half\"");
	assert_int_equal(truncate(f->file, (off_t)e->begin + 2), 0);
	uint16_t half[3];
	FAILS(&bare, HEC_ERR_IO, safetensors_read(s, e, 0, 3, half), f->file, "shrank");
	safetensors_close(s);
}

/* ---- folders ---- */

static void write_text(const scratch *f, const char *name, const char *text)
{
	OK(&bare, file_replace(in_folder(f, name), text, strlen(text)));
}

static void shards_are_read_through_their_index(void **state)
{
	scratch *f = *state;
	const safetensors_item one = {"a", ST_F32, 1, {2}, weights},
			       two[] = {{"b", ST_F32, 1, {3}, weights + 2},
	                                {"c", ST_F32, 1, {1}, weights}};
	OK(&bare, safetensors_write(in_folder(f, "m-1.safetensors"), &one, 1, NULL, NULL, NULL));
	OK(&bare, safetensors_write(in_folder(f, "m-2.safetensors"), two, 2, NULL, NULL, NULL));
	write_text(f, "model.safetensors.index.json",
	           "{\"metadata\": {\"total_size\": 24}, \"weight_map\": {\"b\": "
	           "\"m-2.safetensors\", \"a\": \"m-1.safetensors\"}}");
	safetensors *s;
	OK(&bare, safetensors_open_folder(f->path, &s));
	assert_int_equal(safetensors_count(s), 2);
	float back[3];
	OK(&bare, safetensors_read(s, safetensors_find(s, "b"), 0, 3, back));
	assert_memory_equal(back, weights + 2, sizeof back);
	OK(&bare, safetensors_read(s, safetensors_find(s, "a"), 0, 2, back));
	assert_memory_equal(back, weights, 2 * sizeof *back);
	assert_non_null(strstr(safetensors_path(s, safetensors_find(s, "b")), "m-2.safetensors"));
	safetensors_close(s);

	static const struct {
		const char *index, *word;
	} wrong[] = {
		{"{\"weight_map\": {\"a\": \"../m-1.safetensors\"}}", "the name of a file"},
		{"{\"weight_map\": {\"a\": \"/etc/passwd\"}}", "the name of a file"},
		{"{\"weight_map\": {\"a\": \"..\"}}", "the name of a file"},
		{"{\"weight_map\": {\"a\": \"x/../m-1.safetensors\"}}", "the name of a file"},
		{"{\"weight_map\": {\"a\": \"\"}}", "the name of a file"},
		{"{\"weight_map\": {\"a\": 1}}", "'weight_map.a' is 1, the name of a file"},
		{"{\"weight_map\": []}", "'weight_map' is a list"},
		{"{}", "'weight_map' is missing"},
		{"[]", "holds a list"},
		{"{\"weight_map\": {\"c\": \"m-1.safetensors\"}}", "'c' is not in m-1.safetensors"},
		{"{\"weight_map\": {\"c\": \"m-2.safetensors\", \"c\": \"m-2.safetensors\"}}",
	         "duplicate"},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		write_text(f, "model.safetensors.index.json", wrong[i].index);
		FAILS(&bare, HEC_ERR_FORMAT, safetensors_open_folder(f->path, &s), "index.json",
		      wrong[i].word);
	}
	write_text(f, "model.safetensors.index.json", "{\"weight_map\": {\"a\": \"m-3\"}}");
	FAILS(&bare, HEC_ERR_IO, safetensors_open_folder(f->path, &s), "m-3");
}

static void pickle_is_refused_with_the_way_to_convert_it(void **state)
{
	scratch *f = *state;
	safetensors *s;
	FAILS(&bare, HEC_ERR_IO, safetensors_open_folder(f->path, &s), f->path,
	      "neither model.safetensors nor");
	write_text(f, "pytorch_model.bin", "PK");
	FAILS(&bare, HEC_ERR_UNSUPPORTED, safetensors_open_folder(f->path, &s), f->path,
	      "pytorch_model.bin, a pickle", "python3 -c", "save_file");
	OK(&bare, write_sample(f->file));
	OK(&bare, safetensors_open_folder(f->path, &s));
	safetensors_close(s);
}

/* ---- memory ---- */

static hec_status write_and_read(const scratch *f)
{
	HEC_TRY(write_sample(in_folder(f, "m-1.safetensors")));
	safetensors *s;
	HEC_TRY(safetensors_open_folder(f->path, &s));
	safetensors_close(s);
	return HEC_OK;
}

static void every_refused_allocation_is_an_error(void **state)
{
	scratch *f = *state;
	json_set_alloc_funcs(malloc, free); /* through refuse.c, like ours */
	json_object_seed(1);
	write_text(f, "model.safetensors.index.json",
	           "{\"weight_map\": {\"a.w\": \"m-1.safetensors\"}}");
	for (long n = 1;; n++) {
		long before = refuse_live();
		refuse_request(n, false);
		hec_status status = write_and_read(f);
		bool fired = refuse_fired();
		refuse_request(0, false);
		assert_int_equal(refuse_live(), before);
		if (!fired) {
			assert_int_equal(status, HEC_OK);
			assert_true(n > 50);
			break;
		}
		/* Jansson calls a text for which it had no memory an invalid token, or lacks its
		 * last letters: then a file is not found. */
		CHECK(&bare, status != HEC_OK && status != HEC_ERR_INTERNAL,
		      "request %ld refused: %s, %s", n, hec_status_name(status),
		      hec_error_message());
		assert_true(scratch_entries(f->path) <= 2);
	}
}

int main(void)
{
#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, scratch_remove)
	const struct CMUnitTest tests[] = {
		IN_FOLDER(what_is_written_is_read_back),
		IN_FOLDER(a_failed_write_keeps_the_old_file),
		IN_FOLDER(a_file_cut_at_any_byte_is_refused),
		IN_FOLDER(every_number_of_the_header_is_checked),
		IN_FOLDER(the_length_of_the_header_is_checked),
		IN_FOLDER(rules_between_tensors_are_checked),
		IN_FOLDER(what_describes_no_tensor_is_refused),
		IN_FOLDER(a_long_list_in_a_description_is_not_read),
		IN_FOLDER(a_file_that_shrinks_is_an_error),
		IN_FOLDER(shards_are_read_through_their_index),
		IN_FOLDER(pickle_is_refused_with_the_way_to_convert_it),
		IN_FOLDER(every_refused_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
