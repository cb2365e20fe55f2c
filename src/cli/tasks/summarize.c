/* summarize.c — `hecate summarize`: the same in fewer words. */
#include "cli/tasks/text_to_text.h"

static int summarize_run(const command *self, int argc, char **argv)
{
	text_to_text s = TEXT_TO_TEXT_INIT;
	s.task = "summarization";
	const option table[] = {
		OPTION_MODEL(s.m.named, "the model"),
		TEXT_TO_TEXT_WRITING(&s),
		{OPTION_WHOLE, "--max-tokens", "N",
	         "the longest summary (default: as the model says)", &s.max_tokens, 1, 1 << 20},
		{OPTION_WHOLE, "--min-tokens", "N", "the shortest (default: as the model says)",
	         &s.min_tokens, 0, 1 << 20},
		{OPTION_WHOLE, "--no-repeat-ngram", "N",
	         "no N tokens in a row appear twice (default: as the model says)", &s.no_repeat, 0,
	         1 << 20},
		{OPTION_TEXT, "--prefix", "TEXT",
	         "put before each text (default: as the model says, T5: 'summarize: ')", &s.prefix,
	         0, 0},
		TEXT_TO_TEXT_RUNNING(&s),
		{OPTION_FLAG, "--windows", NULL,
	         "summarize what is too long in pieces that overlap, and join the summaries",
	         &s.windows, 0, 0},
		{OPTION_FLAG, "--json", NULL, "a JSON object for each text", &s.json, 0, 0},
		{0},
	};
	int operands;
	int code = command_options(self, table, argc, argv, &operands);
	return code == PARSED ? text_to_text_run(self, &s, operands, argv) : code;
}

const command command_summarize = {
	"summarize",
	"Says a text in fewer words",
	"summarize -m DIR [OPTION]… [TEXT]…\n"
	"summarize -m DIR --file FILE… [OPTION]…",
	"Reads lines from standard input, or takes each TEXT or each file as one text, and writes "
	"a line\n"
	"for each. What stands before a text, how long a summary is and how it is searched for are "
	"those of\n"
	"\"summarization\" in the model's config.json, then of its generation_config.json, unless "
	"options\n"
	"say otherwise. A text that is longer than the model takes is an error, unless --truncate "
	"or\n"
	"--windows is given.\n\n"
	"With --json, each line is\n"
	"  {\"input\": …, \"text\": …, \"score\": …, \"tokens\": […], \"nbest\": [{\"text\": …, "
	"\"score\": "
	"…}, …]}\n\n"
	"Example: hecate summarize -m flan-t5-small --prefix 'summarize: ' --file report.txt\n",
	summarize_run,
};
