/* main.c — the table of commands, help and version. Everything else is one file per command. */
#include "cli/command/command.h"
#include "cli/command/interrupt.h"
#include "cli/command/nearest.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hecate/context.h>
#include <hecate/version.h>

#include "cli/io/plural.h"
#include "cli/io/say.h"

/* clang-format off */
static const command *const commands[] = {
	&command_explain,
	&command_translate,
	&command_summarize,
	&command_generate,
	&command_answer,
	&command_transcribe,
	&command_fill,
	&command_classify,
	&command_embed,
	&command_attend,
	&command_train,
	&command_tokenize,
	&command_info,
	&command_forward,
	&command_score,
	&command_bench,
};
/* clang-format on */
#define COMMANDS (sizeof commands / sizeof commands[0])

static const command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static void print_commands(FILE *out)
{
	fputs("Hecate: Transformers in C. Train them, run them, look inside.\n\n"
	      "Usage: hecate COMMAND [OPTION]…\n"
	      "       hecate help [COMMAND]\n"
	      "       hecate --version\n\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s  %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nEnvironment:\n"
	      "  HECATE_ISA      the instruction level: ref, avx512, … (default: the best of this "
	      "CPU)\n"
	      "  HECATE_MODEL    the model's folder, where no -m names one\n"
	      "  HECATE_THREADS  the number of threads (default: the cores available)\n"
	      "  NO_COLOR        set to anything but nothing: no colour on a terminal\n\n"
	      "Example: hecate explain two-by-two\n",
	      out);
}

static void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void print_message(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say_as("hecate", format, args);
	va_end(args);
}

static int no_command(const char *word)
{
	const char *names[COMMANDS + 1] = {"help"}, *near;
	for (size_t i = 0; i < COMMANDS; i++)
		names[i + 1] = commands[i]->name;
	near = nearest_name(word, names, COMMANDS + 1);
	print_message("there is no command '%.40s'%s%s%s", word, near ? "; did you mean '" : "",
	              near ? near : "", near ? "'?" : "");
	say_line("Try: hecate help");
	return EXIT_USAGE;
}

static int wrong_usage(const char *what, const char *word)
{
	print_message("%s '%.40s'", what, word);
	say_line("Try: hecate help");
	return EXIT_USAGE;
}

static int print_version(void)
{
	printf("hecate %s\n", hec_version());
	printf("compiler  %s\n", hec_version_compiler());
	printf("parts     cpu, %s\n", hec_version_libraries());
	printf("levels   ");
	for (int i = 0; hec_isa_name(i); i++)
		printf("%s %s (%s)", i ? "," : "", hec_isa_name(i),
		       hec_isa_available(i) ? "yes" : "not on this CPU");
	printf("\n");
	hec_ctx *ctx = NULL;
	if (hec_ctx_create(NULL, &ctx) != HEC_OK) {
		print_message("%s", hec_error_message());
		return EXIT_FAILED;
	}
	printf("in use    %s, %d thread%s\n", hec_ctx_isa(ctx), hec_ctx_threads(ctx),
	       plural(hec_ctx_threads(ctx)));
	hec_ctx_destroy(ctx);
	return EXIT_DONE;
}

static int run_help(int argc, char **argv)
{
	if (argc > 1)
		return wrong_usage("help takes one command, not also", argv[1]);
	if (argc == 0) {
		print_commands(stdout);
		return EXIT_DONE;
	}
	const command *c = find_command(argv[0]);
	if (c) {
		char *words[] = {"--help"};
		return c->run(c, 1, words);
	}
	return no_command(argv[0]);
}

static int run_command(int argc, char **argv)
{
	if (argc < 2) {
		print_commands(stderr);
		return EXIT_USAGE;
	}
	const char *name = argv[1];
	if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0)
		return argc > 2 ? wrong_usage("the version takes no word, not", argv[2])
		                : print_version();
	if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return run_help(argc - 2, argv + 2);
	const command *c = find_command(name);
	if (!c)
		return no_command(name);
	int code = c->run(c, argc - 2, argv + 2);
	/* After SIGINT or SIGTERM, what a script has behind this command should not run. */
	return code == EXIT_FAILED && interrupt_asked() ? interrupt_exit_status() : code;
}

/* Whoever closed the pipe has seen enough, and knows it. */
static bool reader_is_gone(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
	return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

int main(int argc, char **argv)
{
	/* A closed pipe, or a file as large as files may be, shall be a failed write, with an exit code of ours. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	int code = run_command(argc, argv);
	bool failed = ferror(stdout) != 0, gone = reader_is_gone();
	errno = command_output_error(); /* any other one is not about this */
	if (fclose(stdout) != 0 || failed) {
		if (!gone && errno != EPIPE)
			print_message("standard output could not be written%s%s", errno ? ": " : "",
			              errno ? strerror(errno) : "");
		return code == EXIT_DONE ? EXIT_FAILED : code;
	}
	return code;
}
