/* fuzz_json.c — any bytes as a JSON text. Read whole and member by member, it is refused by both or
 * is the same value (but for a key twice, which the walk leaves to its caller); written, it reads
 * back as the same value and is written the same again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "stop.h"

/* Walks the members; *twice: a key came again. Returns NULL where the text is refused. */
static json_t *walk(const char *text, size_t size, bool *twice)
{
	json_members m;
	bool more = true;
	json_t *root = json_object();
	hec_status status = HEC_OK;
	json_members_begin(&m, "fuzz", text, size);
	while (status == HEC_OK && more) {
		status = json_members_next(&m, &more);
		if (status == HEC_OK && more)
			status = json_members_value(&m, SIZE_MAX);
		if (status != HEC_OK || !more)
			break;
		*twice = *twice || json_object_get(root, m.key);
		if (json_object_set(root, m.key, m.value) != 0)
			stop("a member could not be set");
	}
	json_members_end(&m);
	if (status == HEC_OK)
		return root;
	expect_reason();
	json_decref(root);
	return NULL;
}

static void write_and_read(const json_t *value, bool pretty)
{
	char *text, *again;
	size_t size, more;
	if (json_text_make(value, pretty, &text, &size) != HEC_OK) {
		expect_reason(); /* nested deeper than we write */
		return;
	}
	json_t *back;
	if (json_text_read("written", text, size, SIZE_MAX, &back) != HEC_OK)
		stop("what was written is not read");
	if (json_text_make(back, pretty, &again, &more) != HEC_OK || size != more ||
	    memcmp(text, again, size) != 0)
		stop("written again it differs");
	json_decref(back);
	free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *whole = NULL;
	bool twice = false;
	if (json_text_read("fuzz", (const char *)data, size, JSON_CONFIG_MOST, &whole) != HEC_OK)
		expect_reason();
	json_t *parts = walk((const char *)data, size, &twice);
	if (json_is_object(whole) && !parts)
		stop("the walk refuses what is read whole");
	if (parts && !whole && !twice)
		stop("the walk takes what is refused whole");
	if (whole) {
		write_and_read(whole, true);
		write_and_read(whole, false);
	}
	json_decref(parts);
	json_decref(whole);
	return 0;
}
