/* test_gzip.c — a packed file is read whole or not at all: members one after the other, zeros behind them; what
 * is cut, changed or followed by something else is an error. */
#include "support/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "train/gzip.h"

/* Appends what the file holds to text, where that is not NULL. */
static hec_status read_all(const lab *l, const char *name, char *text)
{
	gzip_in *g;
	hec_status status = gzip_open(lab_path(l, name), &g);
	char piece[1000];
	size_t got = 1, n = 0;
	while (status == HEC_OK && got > 0) {
		/* Pieces of one byte, too. */
		status = gzip_read(g, piece, n % 2 ? sizeof piece : 1, &got);
		if (status == HEC_OK && text)
			memcpy(text + n, piece, got);
		n += status == HEC_OK ? got : 0;
	}
	if (text)
		text[n] = '\0';
	gzip_close(g);
	return status;
}

static void check_text(const lab *l, const char *name, const char *want)
{
	char text[100];
	OK(&l->k, read_all(l, name, text));
	assert_string_equal(text, want);
}

/* One line, packed, and what is put behind it; how many bytes there are. */
static size_t pack(const lab *l, const char *line, const char *name)
{
	gzFile gz = gzopen(lab_path(l, name), "wb");
	assert_true(gz && gzputs(gz, line) > 0);
	assert_int_equal(gzclose(gz), Z_OK);
	FILE *f = fopen(lab_path(l, name), "rb");
	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	long size = ftell(f);
	fclose(f);
	return (size_t)size;
}

static void put_behind(const lab *l, const char *name, const void *data, size_t size)
{
	FILE *f = fopen(lab_path(l, name), "ab");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void copy_behind(const lab *l, const char *from, const char *to)
{
	char bytes[400];
	FILE *f = fopen(lab_path(l, from), "rb");
	assert_non_null(f);
	const size_t n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	put_behind(l, to, bytes, n);
}

static void a_gzip_file_that_is_cut_short_is_an_error(void **state)
{
	(void)state;
	lab l = lab_open(7110);
	gzFile gz = gzopen(lab_path(&l, "text.gz"), "wb");
	for (int i = 0; i < 2000; i++)
		gzprintf(gz, "line %d of many %u\n", i, draw(&l.k));
	assert_int_equal(gzclose(gz), Z_OK);
	FILE *f = fopen(lab_path(&l, "text.gz"), "rb");
	char bytes[4000];
	assert_int_equal(fread(bytes, 1, sizeof bytes, f), sizeof bytes);
	fclose(f);
	lab_write(&l, "short.gz", bytes, sizeof bytes);
	FAILS(&l.k, HEC_ERR_FORMAT, read_all(&l, "short.gz", NULL),
	      "short.gz: byte 4000: the file ends within its gzip data");
	lab_close(&l);
}

static void members_of_gzip_follow_one_another(void **state)
{
	(void)state;
	lab l = lab_open(7111);
	pack(&l, "one ", "a.gz");
	pack(&l, "two\n", "b.gz");
	pack(&l, "three\n", "c.gz");
	copy_behind(&l, "b.gz", "a.gz");
	copy_behind(&l, "c.gz", "a.gz");
	check_text(&l, "a.gz", "one two\nthree\n");
	/* Tapes and disks fill up with zeros, more than are read at a time. */
	const size_t zeros = 300000;
	char *padding = calloc(1, zeros);
	put_behind(&l, "a.gz", padding, zeros);
	free(padding);
	check_text(&l, "a.gz", "one two\nthree\n");
	lab_close(&l);
}

static void what_is_no_gzip_behind_gzip_is_an_error(void **state)
{
	(void)state;
	lab l = lab_open(7112);
	static const struct {
		const char *bytes;
		size_t n;
	} trash[] = {{"x", 1},     {"plain text\n", 11},  {"\x1f", 1},
	             {"\0\0x", 3}, {"\x1f\x8c\x08\0", 4}, {"\0\x1f\x8b\x08\0", 5}};
	for (size_t i = 0; i < sizeof trash / sizeof *trash; i++) {
		char want[100];
		snprintf(want, sizeof want, "a.gz: byte %zu: its gzip data ends here",
		         pack(&l, "one\n", "a.gz"));
		put_behind(&l, "a.gz", trash[i].bytes, trash[i].n);
		FAILS(&l.k, HEC_ERR_FORMAT, read_all(&l, "a.gz", NULL), want);
	}
	lab_close(&l);
}

/* A byte of the sum at its end, of its packed text and of its head. */
static void gzip_data_that_changed_is_an_error(void **state)
{
	(void)state;
	lab l = lab_open(7113);
	const size_t size = pack(&l, "one two three\n", "a.gz"), at[] = {size - 8, size - 12, 2};
	for (size_t i = 0; i < 3; i++) {
		pack(&l, "one two three\n", "a.gz");
		FILE *f = fopen(lab_path(&l, "a.gz"), "r+b");
		assert_non_null(f);
		assert_int_equal(fseek(f, (long)at[i], SEEK_SET), 0);
		const int byte = fgetc(f);
		assert_int_equal(fseek(f, (long)at[i], SEEK_SET), 0);
		fputc(byte ^ 0x7f, f);
		fclose(f);
		FAILS(&l.k, HEC_ERR_FORMAT, read_all(&l, "a.gz", NULL), "a.gz: byte ");
	}
	for (size_t n = 2; n < size; n++) {
		pack(&l, "one two three\n", "a.gz");
		assert_int_equal(truncate(lab_path(&l, "a.gz"), (off_t)n), 0);
		FAILS(&l.k, HEC_ERR_FORMAT, read_all(&l, "a.gz", NULL),
		      "ends within its gzip data");
	}
	lab_close(&l);
}

static void what_is_not_packed_is_as_it_is(void **state)
{
	(void)state;
	lab l = lab_open(7114);
	static const char *const texts[] = {"", "x", "\x1f", "\x1f\x8c plain", "one\ntwo"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		lab_write(&l, "plain", texts[i], strlen(texts[i]));
		check_text(&l, "plain", texts[i]);
	}
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gzip_file_that_is_cut_short_is_an_error),
		cmocka_unit_test(members_of_gzip_follow_one_another),
		cmocka_unit_test(what_is_no_gzip_behind_gzip_is_an_error),
		cmocka_unit_test(gzip_data_that_changed_is_an_error),
		cmocka_unit_test(what_is_not_packed_is_as_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
