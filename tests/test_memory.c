/* test_memory.c — an allocator of the embedder's gets every request, and everything back. It puts a mark
 * before each piece, so that memory of another allocator, or freed by another, is found at once. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/searches.h"
#include "support/tasks.h"

#include <hecate/hecate.h>

#define MARK 0x4865636174654b65u
#define ROOM 64 /* before each piece: its mark and size, and its alignment kept */

typedef struct counter {
	_Atomic int64_t pieces, bytes, refused_from; /* refused_from < 0: none are refused */
	_Atomic int64_t requests;
} counter;

static counter counted = {.refused_from = -1};

typedef struct head {
	uint64_t mark;
	size_t bytes, room;
} head;

static head *head_of(void *memory)
{
	head *h = (head *)(void *)((char *)memory - sizeof *h);
	if (h->mark != MARK) {
		fprintf(stderr, "memory that this allocator did not give\n");
		abort();
	}
	return h;
}

static void *give(void *user, size_t bytes, size_t alignment)
{
	counter *c = user;
	const size_t room = alignment > ROOM ? alignment : ROOM;
	c->requests++;
	if (c->refused_from >= 0 && c->requests > c->refused_from)
		return NULL;
	char *base = aligned_alloc(room, (bytes + 2 * room - 1) / room * room);
	if (!base)
		return NULL;
	memset(base, 0xa5, room + bytes < 4096 ? room + bytes : 4096);
	head *h = (head *)(void *)(base + room - sizeof *h);
	*h = (head){MARK, bytes, room};
	c->pieces++;
	c->bytes += (int64_t)bytes;
	return base + room;
}

static void take_back(void *user, void *memory)
{
	counter *c = user;
	head *h = head_of(memory);
	c->pieces--;
	c->bytes -= (int64_t)h->bytes;
	h->mark = 0;
	free((char *)memory - h->room);
}

static void *give_more(void *user, void *memory, size_t bytes)
{
	head *h = head_of(memory);
	void *larger = give(user, bytes, 16);
	if (!larger)
		return NULL;
	memcpy(larger, memory, h->bytes < bytes ? h->bytes : bytes);
	take_back(user, memory);
	return larger;
}

static hec_status translate_something(void)
{
	char path[512];
	const char *texts[2] = {"one two three", "the cat"};
	hec_ctx *ctx = NULL;
	hec_translator *t = NULL;
	hec_translations *out = NULL;
	searches_path("decode_text", path);
	hec_status status = hec_ctx_create(NULL, &ctx);
	if (status == HEC_OK)
		status = hec_translator_load(ctx, path, NULL, &t);
	if (status == HEC_OK)
		status = hec_translate(t, 2, texts, NULL, NULL, &out);
	hec_translations_free(out);
	hec_translator_destroy(t);
	hec_ctx_destroy(ctx);
	return status;
}

static void every_piece_comes_from_the_allocator_and_goes_back(void **state)
{
	(void)state;
	hec_allocator a = HEC_ALLOCATOR_INIT;
	assert_int_equal(hec_allocator_set(&a), HEC_ERR_ARGUMENT);
	assert_non_null(strstr(hec_error_message(), "allocate is missing"));
	a.allocate = give;
	a.resize = give_more;
	a.release = take_back;
	a.user = &counted;
	assert_int_equal(hec_allocator_set(&a), HEC_OK);
	assert_int_equal(hec_allocator_set(&a), HEC_ERR_ARGUMENT);
	assert_int_equal(translate_something(), HEC_OK);
	assert_true(counted.requests > 100);
	assert_int_equal(counted.pieces, 0);
	assert_int_equal(counted.bytes, 0);
}

static void what_a_caller_frees_goes_back_too(void **state)
{
	(void)state;
	char path[512], *text = NULL;
	hec_tokenizer *t = NULL;
	int32_t ids[2] = {5, 6};
	searches_path("decode_text", path);
	assert_int_equal(hec_tokenizer_load(path, &t), HEC_OK);
	assert_int_equal(hec_tokenizer_decode(t, ids, 2, false, &text, NULL), HEC_OK);
	hec_free(text);
	hec_free(NULL);
	hec_tokenizer_destroy(t);
	assert_int_equal(counted.pieces, 0);
}

static void an_allocator_that_is_empty_is_an_error(void **state)
{
	(void)state;
	int64_t refused = 0;
	hec_status status = HEC_ERR_MEMORY;
	for (int64_t i = 0; status != HEC_OK; i += 7) {
		counted.requests = 0;
		counted.refused_from = i;
		status = translate_something();
		assert_int_equal(status, counted.requests > i ? HEC_ERR_MEMORY : HEC_OK);
		assert_int_equal(counted.pieces, 0);
		refused += status != HEC_OK;
	}
	assert_true(refused > 20);
	counted.refused_from = -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_piece_comes_from_the_allocator_and_goes_back),
		cmocka_unit_test(what_a_caller_frees_goes_back_too),
		cmocka_unit_test(an_allocator_that_is_empty_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
