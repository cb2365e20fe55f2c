/* train_texts.h — small texts to learn from, and runs that learn from them. Needs program_run.h before it. */
#ifndef TESTS_TRAIN_TEXTS_H
#define TESTS_TRAIN_TEXTS_H

#include <errno.h>
#include <string.h>

#include <hecate/hecate.h>

#include "train_call.h"

#define NARROW                                                                                     \
	"--width 16 --heads 2 --hidden 32 --vocab 280 --batch-tokens 128 --max-length 40 "         \
	"--warmup 10 --threads 1 "
#define SMALL NARROW "--encoder-layers 1 --decoder-layers 1 "
#define PAIRS "--task translate --train %1$s/a.en %1$s/a.de --valid %1$s/v.en %1$s/v.de "

static const char *const digits[10] = {"null", "eins",  "zwei",   "drei", "vier",
                                       "fünf", "sechs", "sieben", "acht", "neun"};
static uint32_t drawn;

static inline uint32_t draw(void)
{
	uint32_t out[4];
	hec_philox((const uint32_t[4]){drawn++, 0, 0, 0}, (const uint32_t[2]){42, 0}, out);
	return out[0];
}

/* n lines; side 0: digits, 1: words, 2: both with a tab, 3: odd or even, a tab, digits. */
static inline void write_lines(const char *name, int side, int n)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	drawn = 100000 * (uint32_t)name[0];
	for (int i = 0; i < n; i++) {
		uint32_t digit[6], count = 1 + draw() % 6;
		for (uint32_t j = 0; j < count; j++)
			digit[j] = draw() % 10;
		if (side == 3)
			fprintf(f, "%s\t", count % 2 ? "odd" : "even");
		for (uint32_t j = 0; side != 1 && j < count; j++)
			fprintf(f, "%s%u", j ? " " : "", digit[j]);
		if (side == 2)
			fputc('\t', f);
		for (uint32_t j = 0; (side == 1 || side == 2) && j < count; j++)
			fprintf(f, "%s%s", j ? " " : "", digits[digit[j]]);
		fputc('\n', f);
	}
	assert_int_equal(fclose(f), 0);
}

static inline int make_texts(void **state)
{
	if (make_folder(state) != 0)
		return -1;
	/* The same first letter of the name: the same digits on both sides. */
	write_lines("a.en", 0, 400);
	write_lines("a.de", 1, 400);
	write_lines("v.en", 0, 40);
	write_lines("v.de", 1, 40);
	write_lines("pairs", 2, 300);
	write_lines("labels", 3, 300);
	return shell("gzip -k '%s/pairs'", folder);
}

/* Its exit code; less than 0: the signal that ended it. */
static inline int finish(pid_t child)
{
	int status;
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#endif
