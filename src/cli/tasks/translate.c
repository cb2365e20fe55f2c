/* translate.c — `hecate translate`: a line in another language. */
#include "cli/tasks/text_to_text.h"

static int translate_run(const command *self, int argc, char **argv)
{
	text_to_text s = TEXT_TO_TEXT_INIT;
	s.m.any_writer = true;
	const option table[] = {
		OPTION_MODEL(s.m.named, "the model (default: the one that comes with hecate)"),
		TEXT_TO_TEXT_WRITING(&s),
		{OPTION_WHOLE, "--nbest", "N", "translations of each line, best first", &s.nbest, 1,
	         1024},
		{OPTION_WHOLE, "--max-tokens", "N",
	         "the longest translation (default: as the model says, else 3 times the source + "
	         "50)",
	         &s.max_tokens, 1, 1 << 20},
		{OPTION_TEXT, "--from-lang", "L", "the language of the lines: de_DE, deu_Latn, …",
	         &s.from_language, 0, 0},
		{OPTION_TEXT, "--to-lang", "L", "the language to write", &s.to_language, 0, 0},
		{OPTION_TEXT, "--task", "NAME",
	         "what config.json says for this task: translation_en_to_de, …", &s.task, 0, 0},
		{OPTION_TEXT, "--prefix", "TEXT", "put before each line (T5: what is to be done)",
	         &s.prefix, 0, 0},
		TEXT_TO_TEXT_RUNNING(&s),
		{OPTION_FLAG, "--json", NULL, "a JSON object for each line", &s.json, 0, 0},
		{0},
	};
	int operands;
	int code = command_options(self, table, argc, argv, &operands);
	s.task_said = s.task != NULL;
	return code == PARSED ? text_to_text_run(self, &s, operands, argv) : code;
}

const command command_translate = {
	"translate",
	"Translates text, line by line",
	"translate [OPTION]… [TEXT]…",
	"Reads lines from standard input, or takes each TEXT as one, and writes a line for each, "
	"in\n"
	"order; an empty line for an empty one. With --nbest N, N lines for each. The model is "
	"that of\n"
	"-m DIR, else of the variable HECATE_MODEL, else the one that comes with hecate (English "
	"to\n"
	"German). Of a model of many languages, --from-lang and --to-lang say which, as its "
	"tokenizer\n"
	"names them. A line is translated to the same words however many others there are, and "
	"each "
	"time:\n"
	"nothing is drawn, whatever generation_config.json says of do_sample.\n\n"
	"With --json, each line is\n"
	"  {\"input\": …, \"text\": …, \"score\": …, \"tokens\": […], \"nbest\": [{\"text\": …, "
	"\"score\": …}, "
	"…]}\n"
	"where score is the logarithm of the probability divided by length^X.\n\n"
	"Example: echo 'The file could not be opened.' | hecate translate --beam 4\n",
	translate_run,
};
