/* tasks.c — a model from here, a tokenizer from there. */
#include "support/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "support/searches.h"

static void join(char out[2 * SCRATCH_PATH], const char *path, const char *name)
{
	(void)snprintf(out, 2 * SCRATCH_PATH, "%s/%s", path, name);
}

void task_file(const char *path, const char *name, const char *text)
{
	char to[2 * SCRATCH_PATH];
	join(to, path, name);
	assert_int_equal(file_replace(to, text, strlen(text)), HEC_OK);
}

const char *task_folder(const kit *k, const char *model, char path[SCRATCH_PATH])
{
	char from[2 * SCRATCH_PATH], *text;
	size_t size;
	join(from, TESTS_DIR "/golden/models", model);
	scratch_copy(from, scratch_fresh(path));
	searches_path("classify_embed/tokenizer.json", from);
	OK(k, file_read(from, 1 << 20, &text, &size));
	task_file(path, "tokenizer.json", text);
	free(text);
	return path;
}

void task_config(const char *path, const char *key, json_t *value)
{
	char file[2 * SCRATCH_PATH];
	join(file, path, "config.json");
	json_t *root = json_load_file(file, 0, NULL);
	assert_non_null(root);
	assert_int_equal(json_object_set_new(root, key, value), 0);
	assert_int_equal(json_dump_file(root, file, JSON_INDENT(2)), 0);
	json_decref(root);
}

void task_spoil(const kit *k, const char *path)
{
	char file[2 * SCRATCH_PATH], *bytes;
	size_t size;
	uint64_t header; /* its length stands before it */
	join(file, path, "model.safetensors");
	OK(k, file_read(file, 1 << 26, &bytes, &size));
	memcpy(&header, bytes, sizeof header);
	assert_in_range(header, 1, size - sizeof header - 1);
	memset(bytes + sizeof header + header, 0xff, size - sizeof header - header);
	assert_int_equal(file_replace(file, bytes, size), HEC_OK);
	free(bytes);
}

json_t *task_cases(const kit *k)
{
	char path[512];
	json_error_t error;
	searches_path("classify_embed/cases.json", path);
	json_t *root = json_load_file(path, 0, &error);
	CHECK(k, root, "%s: %s", path, error.text);
	return root;
}

int64_t task_texts(const json_t *list, const char *out[TASK_TEXTS])
{
	const size_t n = json_array_size(list);
	assert_in_range(n, 1, TASK_TEXTS);
	for (size_t i = 0; i < n; i++) {
		out[i] = json_string_value(json_array_get(list, i));
		assert_non_null(out[i]);
	}
	return (int64_t)n;
}
