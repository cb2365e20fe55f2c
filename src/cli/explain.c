/* explain.c — `hecate explain`: attention step by step, with its numbers. */
#include "command.h"

static int run(const command *self, int argc, char **argv)
{
	option table[] = {{0}};
	int operands = 0;
	int code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	return command_failed(self, "not built in yet");
}

const command command_explain = {
	.name = "explain",
	.summary = "Attention step by step, with its numbers",
	.usage = "explain NAME",
	.about = "Example: hecate explain two-by-two\n",
	.run = run,
};
