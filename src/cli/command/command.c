/* command.c — what every command does with its command line, its help and its failures. */
#include "cli/command/command.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "cli/io/say.h"

static void print_help(const command *c, const option *table)
{
	const char *line = c->usage;
	for (const char *lead = "Usage: "; *line; lead = "       ") {
		int length = (int)strcspn(line, "\n");
		printf("%shecate %.*s\n", lead, length, line);
		line += length + (line[length] == '\n');
	}
	printf("\n%s.\n\nOptions:\n", c->summary);
	options_help(table, stdout);
	printf("  %-16s  %s\n\n%s", "--help", "this text", c->about);
}

int command_options(const command *self, const option *table, int argc, char **argv, int *operands)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			print_help(self, table);
			return EXIT_DONE;
		}
	char error[OPTION_ERROR];
	if (!options_parse(table, argc, argv, operands, error))
		return command_usage(self, "%s", error);
	return PARSED;
}

#define MESSAGE_MOST 9216 /* bytes: the longest of the library, and what stands before it */

const char *command_reason(const char *message)
{
	static const char *const calls[] = {"translate", "generate",  "answer", "classify",
	                                    "embed",     "fill",      "info",   "train",
	                                    "bench",     "transcribe"};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		const size_t n = strlen(calls[i]);
		if (strncmp(message, calls[i], n) == 0 && strncmp(message + n, ": ", 2) == 0)
			return message + n + 2;
	}
	return message;
}

/* Also behind what stands before a message: "line 3: translate: …". */
static void drop_calls(char *message)
{
	for (char *at = message;; at += 2) {
		const char *rest = command_reason(at);
		memmove(at, rest, strlen(rest) + 1);
		at = strstr(at, ": ");
		if (!at)
			return;
	}
}

static void complain_of(const command *self, const char *format, va_list args)
{
	char message[MESSAGE_MOST];
	vsnprintf(message, sizeof message, format, args);
	drop_calls(message);
	say_line("hecate %s: %s", self->name, message);
}

int command_usage(const command *self, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	complain_of(self, format, args);
	va_end(args);
	say_line("Try: hecate %s --help", self->name);
	return EXIT_USAGE;
}

int command_failed(const command *self, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	complain_of(self, format, args);
	va_end(args);
	return EXIT_FAILED;
}

static int output_error; /* errno of the first write that failed and was noticed */

int command_output_failed(void)
{
	if (!output_error)
		output_error = errno;
	return EXIT_FAILED;
}

int command_output_error(void)
{
	return output_error;
}
