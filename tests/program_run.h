/* program_run.h — running the program as a user does: a temporary folder, exit code, both outputs. Needs cmocka.h before it. */
#ifndef TESTS_PROGRAM_RUN_H
#define TESTS_PROGRAM_RUN_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/scratch.h"

static char folder[64];

static inline const char *program(void)
{
	const char *path = getenv("HECATE_PROGRAM");
	return path && *path ? path : HECATE_PROGRAM_PATH;
}

typedef struct result {
	int code;
	char *out, *err;
} result;

static inline char *read_all(const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	size_t capacity = 64 << 20, length;
	char *text = malloc(capacity);
	assert_non_null(text);
	length = fread(text, 1, capacity - 1, f);
	fclose(f);
	text[length] = '\0';
	return realloc(text, length + 1);
}

/* Runs `PREFIX hecate ARGUMENTS` by the shell, both outputs kept. */
static inline result run_with(const char *prefix, const char *arguments)
{
	char line[4096];
	snprintf(line, sizeof line, "%s '%s' %s >%s/out 2>%s/err </dev/null", prefix, program(),
	         arguments, folder, folder);
	int status = system(line);
	assert_true(WIFEXITED(status));
	return (result){WEXITSTATUS(status), read_all("out"), read_all("err")};
}

static inline result run(const char *arguments)
{
	return run_with("", arguments);
}

static inline void done(result *r)
{
	free(r->out);
	free(r->err);
}

static inline int lines_of(const char *text)
{
	int n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static inline void write_file(const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static inline int shell(const char *format, ...)
{
	char line[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	int status = system(line);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int make_folder(void **state)
{
	(void)state;
	setenv("COLUMNS", "80", 1); /* whatever window the tests run in */
	return scratch_folder(folder, sizeof folder);
}

static inline int remove_folder(void **state)
{
	(void)state;
	return scratch_folder_remove(folder);
}

#endif
