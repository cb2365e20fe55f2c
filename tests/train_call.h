/* train_call.h — `hecate train` in the folder of program_run.h, which it needs before it, and what came of it. */
#ifndef TESTS_TRAIN_CALL_H
#define TESTS_TRAIN_CALL_H

#include <string.h>

#include <jansson.h>

#ifndef TRAIN_ALWAYS
#define TRAIN_ALWAYS "" /* what every call of a test has before its own */
#endif

/* `hecate train` with the folder put in for %1$s. */
static inline result train(const char *format)
{
	char arguments[2048] = "train " TRAIN_ALWAYS;
	const size_t n = strlen(arguments);
	snprintf(arguments + n, sizeof arguments - n, format, folder);
	return run(arguments);
}

static inline result train_well(const char *format)
{
	result r = train(format);
	if (r.code != 0) {
		print_message("hecate train %s\n%s\n", format, r.err);
		assert_true(false);
	}
	return r;
}

/* The same beside us; what it says goes to FOLDER/NAME.out. No word of it has a space. */
static inline pid_t train_beside(const char *format, const char *name)
{
	char arguments[2048], out[256], *words[128] = {(char *)(uintptr_t)program(), "train"};
	snprintf(arguments, sizeof arguments, format, folder);
	snprintf(out, sizeof out, "%s/%s.out", folder, name);
	int n = 2;
	for (char *w = strtok(arguments, " "); w; w = strtok(NULL, " "))
		words[n++] = w;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (!freopen(out, "w", stdout) || !freopen(out, "a", stderr))
			_exit(99);
		execv(words[0], words);
		_exit(98);
	}
	return child;
}

static inline void check_same(const char *one, const char *two)
{
	if (shell("cmp '%s/%s' '%s/%s'", folder, one, folder, two) != 0) {
		print_message("%s and %s differ\n", one, two);
		assert_true(false);
	}
}

/* Its exit code, and a word of what it says of it. */
static inline void expect(const char *format, int code, const char *word)
{
	result r = train(format);
	if (r.code != code || !strstr(r.err, word)) {
		print_message("hecate train %s\ngave %d, not %d and '%s': %s\n", format, r.code,
		              code, word, r.err);
		assert_true(false);
	}
	done(&r);
}

static inline json_t *read_json(const char *name)
{
	char *text = read_all(name);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	free(text);
	return root;
}

/* Lines of one to four numbers. kind 0: digits, 1: words, 2: a label, a tab, digits. */
static inline void write_counting(const char *name, int kind, int n)
{
	static const char *const words[5] = {"eins", "zwei", "drei", "vier", "acht"},
				 *const digits[5] = {"1", "2", "3", "4", "8"};
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	for (int i = 0; i < n; i++) {
		if (kind == 2)
			fprintf(f, "%s\t", i % 2 ? "odd" : "even");
		for (int j = 0; j < 1 + i % 4; j++)
			fprintf(f, "%s%s", j ? " " : "", (kind == 1 ? words : digits)[(i + j) % 5]);
		fputc('\n', f);
	}
	assert_int_equal(fclose(f), 0);
}

/* A folder with sources and targets, and some to validate on. */
#define COUNTING "--task translate --train %1$s/a %1$s/b --valid %1$s/va %1$s/vb "
static inline int make_counting(void **state)
{
	if (make_folder(state) != 0)
		return -1;
	write_counting("a", 0, 200);
	write_counting("b", 1, 200);
	write_counting("va", 0, 20);
	write_counting("vb", 1, 20);
	return 0;
}

#endif
