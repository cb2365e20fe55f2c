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

/* Whether the library's call of that name is the one behind the command. */
static bool is_call_of(const command *self, const char *name, size_t n)
{
	const char *own = strcmp(self->name, "summarize") == 0 ? "translate" : self->name;
	return (strlen(own) == n && strncmp(own, name, n) == 0) ||
	       (strlen(self->name) == n && strncmp(self->name, name, n) == 0);
}

const char *command_reason(const command *self, const char *message)
{
	for (const char *end;
	     (end = strstr(message, ": ")) && is_call_of(self, message, (size_t)(end - message));)
		message = end + 2;
	return message;
}

/* A message of the library begins with the name of its call, which has been said by then. */
static void drop_call(const command *self, char *message)
{
	const char *reason = hec_error_message();
	char *at = *reason ? strstr(message, reason) : NULL;
	if (!at)
		return;
	const char *rest = command_reason(self, at);
	memmove(at, rest, strlen(rest) + 1);
}

static void complain_of(const command *self, const char *format, va_list args)
{
	char message[MESSAGE_MOST];
	vsnprintf(message, sizeof message, format, args);
	drop_call(self, message);
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
