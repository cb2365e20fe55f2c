/* command.h — one command of the program: what main.c lists, helps with and runs.
 *
 * A new command is one file that defines a `const command command_NAME`, a line below and a line in
 * the table of main.c. Results go to standard output, all else to standard error; run returns the
 * exit code. main.c flushes standard output and turns a failed write into EXIT_FAILED. */
#ifndef CLI_COMMAND_COMMAND_H
#define CLI_COMMAND_COMMAND_H

#include "cli/command/options.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct command {
	const char *name;
	const char *summary; /* one line, for `hecate help` */
	const char *usage;   /* lines of what follows "hecate ", for `hecate NAME --help` */
	const char *about;   /* the rest of its help: what it does, with an example */
	int (*run)(const struct command *self, int argc, char **argv); /* without the name */
} command;

/* Reads argv by the table, which ends with {0}. What is not an option is moved to the front of argv
 * and counted in *operands. Also answers --help. Returns PARSED, or the exit code to end with: the
 * reason is then on standard error. */
#define PARSED (-1)
int command_options(const command *self, const option *table, int argc, char **argv, int *operands);

/* "hecate NAME: …" on standard error, and where to read on; returns EXIT_USAGE. */
int command_usage(const command *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "hecate NAME: …" on standard error; returns EXIT_FAILED. */
int command_failed(const command *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A message of the library without the name of the call that it begins with: whoever typed a command knows it, and
 * the two above leave it out. */
const char *command_reason(const command *self, const char *message);

/* Standard output could not be written: keeps errno as the reason, the first time, for main.c to tell.
 * Returns EXIT_FAILED. */
int command_output_failed(void);
int command_output_error(void); /* that reason; 0: none */

extern const command command_translate;
extern const command command_summarize;
extern const command command_generate;
extern const command command_answer;
extern const command command_classify;
extern const command command_embed;
extern const command command_transcribe;
extern const command command_explain;
extern const command command_fill;
extern const command command_train;
extern const command command_forward;
extern const command command_bench;
extern const command command_attend;
extern const command command_info;
extern const command command_tokenize;
extern const command command_score;

#endif
