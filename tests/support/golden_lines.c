/* golden_lines.c — a line, an object. */
#include "support/golden_lines.h"

#include <stdio.h>
#include <stdlib.h>

#define LINE (1 << 16)

void answers_path(const char *name, char path[512])
{
	(void)snprintf(path, 512, TESTS_DIR "/golden/answer_fill/%s", name);
}

const char *answers_live(void)
{
	return getenv("HECATE_GOLDEN_ANSWERS");
}

void answers_compared_path(const char *name, char path[512])
{
	if (answers_live())
		(void)snprintf(path, 512, "%s/%s", answers_live(), name);
	else
		answers_path(name, path);
}

json_t *golden_lines(const kit *k, const char *path, size_t least)
{
	char *text = malloc(LINE);
	json_t *lines = json_array();
	FILE *f = fopen(path, "r");
	CHECK(k, f && text && lines, "%s is missing", path);
	while (fgets(text, LINE, f)) {
		json_error_t error;
		json_t *line = json_loads(text, JSON_ALLOW_NUL, &error);
		CHECK(k, line && json_array_append_new(lines, line) == 0, "%s, line %zu: %s", path,
		      json_array_size(lines) + 1, error.text);
	}
	fclose(f);
	free(text);
	CHECK(k, json_array_size(lines) >= least, "%s has %zu lines, not %zu", path,
	      json_array_size(lines), least);
	return lines;
}

int64_t golden_whole(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

double golden_real(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

const char *golden_words(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}
