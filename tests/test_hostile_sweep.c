/* test_hostile_sweep.c — every file of a model's directory spoiled in every simple way: cut at each byte,
 * each number and each text of it another one. What comes is a model or a message, and no more memory than
 * a small multiple of the file. */
#include "support/models.h"
#include "support/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/status.h"
#include "support/sanitized.h"

#define LONG_TEXT ((size_t)1 << 20)
#define GROWTH_MOST ((long)256 << 10) /* KiB that all of it may take: of files of 1 MiB at most */

typedef struct sweep {
	kit *k;
	char dir[SCRATCH_PATH], path[SCRATCH_PATH + 64];
	char *bytes; /* the file as it was */
	size_t size;
	size_t skip; /* of a safetensors file: the length before the header, */
	size_t end;  /* and where the header ends; 0: all is JSON */
	int refused, loaded;
} sweep;

/* Not flushed to disk, which would take most of the time. */
static void write_file(const sweep *s, const char *bytes, size_t size)
{
	FILE *f = fopen(s->path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void try_loading(sweep *s)
{
	hec_model *m = NULL;
	hec_status status = hec_model_load(s->k->ctx, s->dir, NULL, &m);
	CHECK(s->k, (status == HEC_OK) == (m != NULL), "half a model");
	CHECK(s->k, status == HEC_OK || *hec_error_message(), "refused without a reason");
	s->refused += status != HEC_OK;
	s->loaded += status == HEC_OK;
	hec_model_destroy(m);
}

/* The file with bytes from … to replaced; of a safetensors file the header's length is set right. */
static void try_replaced(sweep *s, size_t from, size_t to, const char *by, size_t n)
{
	const size_t size = s->size - (to - from) + n;
	char *other = malloc(size);
	assert_non_null(other);
	memcpy(other, s->bytes, from);
	memcpy(other + from, by, n);
	memcpy(other + from + n, s->bytes + to, s->size - to);
	if (s->end > 0) {
		const uint64_t length = s->end - s->skip - (to - from) + n;
		for (int i = 0; i < 8; i++)
			other[i] = (char)(length >> (8 * i));
	}
	write_file(s, other, size);
	free(other);
	try_loading(s);
}

static void cut_everywhere(sweep *s)
{
	const int before = s->loaded;
	size_t last = s->end > 0 ? s->end + 64 : s->size;
	while (s->end == 0 && last > 0 && s->bytes[last - 1] != '}')
		last--; /* a newline behind it is not missed */
	for (size_t n = 0; n < last; n++) {
		write_file(s, s->bytes, n);
		try_loading(s);
	}
	CHECK(s->k, s->loaded == before, "%s: cut, and loaded", s->path);
}

static size_t end_of_text(const sweep *s, size_t at)
{
	for (at++; s->bytes[at] != '"'; at++)
		at += s->bytes[at] == '\\';
	return at;
}

static void spoil_everything(sweep *s)
{
	static const char *const numbers[] = {"0", "-1", "2147483648", "9223372036854775808"};
	char *longest = malloc(LONG_TEXT);
	assert_non_null(longest);
	memset(longest, 'a', LONG_TEXT);
	int texts = 0, found = 0;
	for (size_t at = s->skip; at < (s->end > 0 ? s->end : s->size); at++) {
		if (s->bytes[at] == '"') {
			const size_t end = end_of_text(s, at);
			try_replaced(s, at + 1, end, "", 0);
			try_replaced(s, at + 1, end, "\xff\xc0", 2);
			try_replaced(s, at + 1, end, longest, LONG_TEXT);
			texts++;
			at = end;
			continue;
		}
		const size_t digits = strspn(s->bytes + at, "-0123456789.eE+");
		if (!strchr("-0123456789", s->bytes[at]) || digits == 0)
			continue;
		for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
			try_replaced(s, at, at + digits, numbers[i], strlen(numbers[i]));
		found++;
		at += digits - 1;
	}
	free(longest);
	CHECK(s->k, texts > 4 && (found > 4 || s->size < 20000), "%s: %d texts, %d numbers",
	      s->path, texts, found);
}

static void sweep_file(const char *model, const char *name, bool header)
{
	kit k = kit_open(7500);
	sweep s = {.k = &k};
	char from[SCRATCH_PATH];
	scratch_copy(golden_model(model, from), scratch_fresh(s.dir));
	snprintf(s.path, sizeof s.path, "%s/%s", s.dir, name);
	OK(&k, file_read(s.path, 1 << 24, &s.bytes, &s.size));
	if (header) {
		uint64_t length = 0;
		for (int i = 7; i >= 0; i--)
			length = length << 8 | (unsigned char)s.bytes[i];
		s.skip = 8;
		s.end = 8 + (size_t)length;
	}
	try_loading(&s);
	CHECK(&k, s.loaded == 1, "%s", hec_error_message());
	cut_everywhere(&s);
	spoil_everything(&s);
	CHECK(&k, s.refused > 100, "%s: only %d were refused", s.path, s.refused);
	free(s.bytes);
	kit_close(&k);
}

static void config_json(void **state)
{
	(void)state;
	sweep_file("llama_yarn", "config.json", false); /* numbers in an object */
	sweep_file("bert_classify", "config.json", false);
}

static void the_index_of_shards(void **state)
{
	(void)state;
	sweep_file("marian_apart", "model.safetensors.index.json", false);
}

static void the_header_of_safetensors(void **state)
{
	(void)state;
	sweep_file("distilbert_answer", "model.safetensors", true);
}

static long peak(void)
{
	struct rusage used;
	assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
	return used.ru_maxrss;
}

static long at_first;

static int begin(void **state)
{
	int code = scratch_group_make(state);
	at_first = peak();
	return code;
}

static void no_more_memory_than_a_multiple_of_the_files(void **state)
{
	(void)state;
	const long grown = peak() - at_first;
	if (grown > GROWTH_MOST && !SANITIZED)
		fail_msg("%ld KiB more", grown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(config_json), cmocka_unit_test(the_index_of_shards),
		cmocka_unit_test(the_header_of_safetensors),
		cmocka_unit_test(no_more_memory_than_a_multiple_of_the_files), /* the last */
	};
	return cmocka_run_group_tests(tests, begin, scratch_group_remove);
}
