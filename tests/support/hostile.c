/* hostile.c — the values, and every place for them. */
#include "support/hostile.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

/* clang-format off */
static const char *const values[] = {
	"0", "1", "-1", "2", "0.5", "-0.5", "1e308", "-1e308", "1e-320", "2147483647", "2147483648",
	"9223372036854775807", "-9223372036854775808", "true", "false", "null", "\"\"", "[]", "{}"};
/* clang-format on */

typedef struct file {
	const char *path;
	json_t *root;
	hostile_fn *fn;
	void *user;
} file;

static void write_file(const file *f)
{
	assert_int_equal(json_dump_file(f->root, f->path, 0), 0);
}

static void tell(const file *f, const char *key, const char *value)
{
	char what[200];
	snprintf(what, sizeof what, "%.100s: %s", key ? key : "an element", value);
	write_file(f);
	f->fn(f->user, what);
}

/* Puts a value where `key` of an object, or element 0 of an array, is. */
static void set(json_t *in, const char *key, json_t *value)
{
	assert_non_null(value);
	assert_int_equal(
		key ? json_object_set_new(in, key, value) : json_array_set_new(in, 0, value), 0);
}

static void try_values(const file *f, json_t *in, const char *key)
{
	json_t *old = json_incref(key ? json_object_get(in, key) : json_array_get(in, 0));
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		set(in, key, json_loads(values[i], JSON_DECODE_ANY, NULL));
		tell(f, key, values[i]);
	}
	if (key) {
		assert_int_equal(json_object_del(in, key), 0);
		tell(f, key, "nothing");
	}
	set(in, key, old);
}

static void try_members(const file *f, json_t *in)
{
	char keys[64][64];
	const char *key;
	json_t *value;
	int n = 0;
	json_object_foreach(in, key, value)
	{
		assert_true(n < 64 && strlen(key) < sizeof keys[0]);
		strcpy(keys[n++], key);
	}
	for (int i = 0; i < n; i++) {
		try_values(f, in, keys[i]);
		try_members(f, json_object_get(in, keys[i]));
	}
	if (json_array_size(in) > 0)
		try_values(f, in, NULL);
}

void hostile_each(const char *path, hostile_fn *fn, void *user)
{
	file f = {path, json_load_file(path, 0, NULL), fn, user};
	assert_non_null(f.root);
	try_members(&f, f.root);
	write_file(&f);
	json_decref(f.root);
}
