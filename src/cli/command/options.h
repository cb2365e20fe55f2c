/* options.h — the options of a command as a table, which both parsing and help read. */
#ifndef CLI_COMMAND_OPTIONS_H
#define CLI_COMMAND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <hecate/context.h>

typedef enum option_kind {
	OPTION_END = 0,
	OPTION_FLAG,  /* bool: set to true */
	OPTION_TEXT,  /* const char *: points into argv */
	OPTION_WHOLE, /* int64_t in low … high */
	OPTION_REAL,  /* double in low … high */
	OPTION_SEED,  /* option_seed: all of uint64_t */
	OPTION_LIST,  /* option_list: every word up to the next option; given again, it adds */
	OPTION_EACH,  /* option_list: one word each time it is given */
	/* option_picture: the next word only where it is "-" or ends in .svg or .html. Where operands are
	 * texts (low is 0), a next word that looks like another file's name is refused: it would be one. */
	OPTION_PICTURE
} option_kind;

typedef struct option_seed {
	uint64_t value;
	bool given;
} option_seed;

typedef struct option_picture {
	const char *where; /* NULL: not said */
	bool given;
} option_picture;

#define OPTION_LIST_MOST 256

typedef struct option_list {
	const char *items[OPTION_LIST_MOST]; /* point into argv */
	size_t count;
} option_list;

/* `--name VALUE` and `--name=VALUE` both work, and `-nVALUE` of a letter; the last one given counts. */
typedef struct option {
	option_kind kind;
	const char *name; /* "--heads" */
	const char *word; /* what help calls the value, e.g. "N"; NULL for a flag */
	const char *help;
	void *value;       /* where it goes; unchanged where the option is not given */
	int64_t low, high; /* of OPTION_WHOLE and OPTION_REAL */
} option;

/* The row of a command that computes; n is an int64_t. */
#define OPTION_THREADS(n)                                                                          \
	{                                                                                          \
		OPTION_WHOLE, "--threads", "N", "(default: HECATE_THREADS, else all cores)", &(n), \
			1, HEC_MAX_THREADS                                                         \
	}

/* The row of a command that runs a model; named is a const char *. */
#define OPTION_MODEL(named, help)                                                                  \
	{                                                                                          \
		OPTION_TEXT, "-m", "DIR", help, &(named), 0, 0                                     \
	}

/* Rows that several commands have. */
/* clang-format off */
#define OPTION_LOSSY(flag) {OPTION_FLAG, "--lossy", NULL, "take invalid UTF-8 as U+FFFD", &(flag), 0, 0}
#define OPTION_KEEP_GOING(flag) \
	{OPTION_FLAG, "--keep-going", NULL, "an input that fails is an error in its place; do the rest", &(flag), 0, 0}
#define OPTION_TRUNCATE(flag) \
	{OPTION_FLAG, "--truncate", NULL, "cut off what is too long for the model", &(flag), 0, 0}
#define OPTION_BEAM(n) \
	{OPTION_WHOLE, "--beam", "N", "beams; 1: greedy (default: as the model says)", &(n), 1, 1024}
#define OPTION_LENGTH_PENALTY(x) \
	{OPTION_REAL, "--length-penalty", "X", "score = log p / length^X", &(x), -8, 8}
/* clang-format on */

#define OPTION_ERROR 160

/* Reads argv by the table. What is not an option is moved to the front of argv and counted in
 * *operands; `--` ends the options. False: what is wrong stands in error. */
bool options_parse(const option *table, int argc, char **argv, int *operands,
                   char error[OPTION_ERROR]);

/* One line for each option. */
void options_help(const option *table, FILE *out);

#endif
