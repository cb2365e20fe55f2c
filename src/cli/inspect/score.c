/* score.c — `hecate score`: BLEU, chrF and ROUGE-L of the lines of one file against those of another, a pair at a
 * time. */
#include "cli/command/command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <hecate/score.h>
#include <jansson.h>

#include "cli/io/lines.h"
#include "cli/io/plural.h"
#include "cli/io/put.h"

#define SCORES 3 /* of hec_score */

typedef struct file {
	const char *path; /* "-": standard input */
	lines in;
	const char *text; /* of the line; NULL: there is none any more */
	size_t bytes;
} file;

static bool open_file(const command *self, const char *path, file *f)
{
	const bool standard = strcmp(path, "-") == 0;
	*f = (file){.path = path, .in = {.fd = STDIN_FILENO, .name = standard ? NULL : path}};
	if (!standard)
		f->in.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f->in.fd < 0)
		command_failed(self, "%s could not be opened: %s", path, strerror(errno));
	return f->in.fd >= 0;
}

static void close_file(file *f)
{
	lines_close(&f->in);
	if (f->in.fd > STDIN_FILENO)
		close(f->in.fd);
}

/* The next line, or none; what is wrong is said on standard error. */
static bool next_line(const command *self, file *f)
{
	int64_t n;
	lines_result r;
	do
		r = lines_take(&f->in, 1, &f->text, &f->bytes, &n);
	while (r == LINES_STOPPED);
	if (r == LINES_FAILED) {
		command_failed(self, "%s", f->in.error);
		return false;
	}
	if (r == LINES_END) {
		f->text = NULL;
		return true;
	}
	if (!memchr(f->text, '\0', f->bytes))
		return true;
	command_failed(self, "%s: line %" PRId64 " holds a zero byte: this is not text", f->path,
	               f->in.given);
	return false;
}

/* Every pair of lines; f[0] are the texts, f[1] the references. */
static bool add_lines(const command *self, file f[2], hec_scorer *const *scorers)
{
	for (;;) {
		if (!next_line(self, &f[0]) || !next_line(self, &f[1]))
			return false;
		if (!f[0].text || !f[1].text)
			break;
		for (int i = 0; i < SCORES; i++)
			if (scorers[i] && hec_scorer_add(scorers[i], f[0].text, f[0].bytes,
			                                 f[1].text, f[1].bytes) != HEC_OK) {
				command_failed(self, "line %" PRId64 ": %s", f[0].in.given,
				               hec_error_message());
				return false;
			}
	}
	/* Only for the message: how many the longer one has. */
	for (int i = 0; i < 2; i++)
		while (f[i].text)
			if (!next_line(self, &f[i]))
				return false;
	const int64_t count[2] = {f[0].in.given, f[1].in.given};
	if (count[0] != count[1])
		command_failed(self, "%s has %" PRId64 " line%s and %s has %" PRId64, f[0].path,
		               count[0], plural(count[0]), f[1].path, count[1]);
	else if (count[0] == 0)
		command_failed(self, "%s and %s have no lines", f[0].path, f[1].path);
	return count[0] == count[1] && count[0] > 0;
}

static bool print_json(int64_t count, const double score[SCORES], bool rouge)
{
	json_t *root = json_pack("{s:I, s:f, s:f}", "lines", (json_int_t)count, "bleu",
	                         score[HEC_SCORE_BLEU], "chrf", score[HEC_SCORE_CHRF]);
	bool good = root && (!rouge || json_object_set_new(root, "rouge_l",
	                                                   json_real(score[HEC_SCORE_ROUGE])) == 0);
	good = good && put_json_value(root, 0, stdout) && putchar('\n') != EOF;
	json_decref(root);
	return good;
}

static int print_scores(const command *self, int64_t count, hec_scorer *const *scorers, bool json)
{
	double score[SCORES] = {0};
	for (int i = 0; i < SCORES; i++)
		score[i] = scorers[i] ? hec_scorer_score(scorers[i]) : 0;
	const bool rouge = scorers[HEC_SCORE_ROUGE] != NULL;
	if (json)
		return print_json(count, score, rouge)
		               ? EXIT_DONE
		               : command_failed(self, "the scores could not be written");
	printf("BLEU  %6.2f\nchrF  %6.2f\n", score[HEC_SCORE_BLEU], score[HEC_SCORE_CHRF]);
	if (rouge)
		printf("ROUGE-L %5.2f\n", score[HEC_SCORE_ROUGE]);
	return EXIT_DONE;
}

static int score_files(const command *self, file f[2], bool rouge, bool json)
{
	hec_scorer *scorers[SCORES] = {NULL};
	int code = EXIT_DONE;
	for (int i = 0; i < SCORES && code == EXIT_DONE; i++)
		if ((i != HEC_SCORE_ROUGE || rouge) &&
		    hec_scorer_create((hec_score)i, &scorers[i]) != HEC_OK)
			code = command_failed(self, "%s", hec_error_message());
	if (code == EXIT_DONE && !add_lines(self, f, scorers))
		code = EXIT_FAILED;
	if (code == EXIT_DONE)
		code = print_scores(self, f[0].in.given, scorers, json);
	for (int i = 0; i < SCORES; i++)
		hec_scorer_destroy(scorers[i]);
	return code;
}

static int run_score(const command *self, int argc, char **argv)
{
	bool json = false, rouge = false;
	const option table[] = {
		{OPTION_FLAG, "--rouge", NULL, "ROUGE-L, too: for summaries in English", &rouge, 0,
	         0},
		{OPTION_FLAG, "--json", NULL, "the scores in full, for machines", &json, 0, 0},
		{0}};
	int operands = 0;
	int code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	if (operands != 2)
		return command_usage(self, "give two files: translations and references");
	if (strcmp(argv[0], "-") == 0 && strcmp(argv[1], "-") == 0)
		return command_usage(self, "only one of the files can be standard input");
	file f[2] = {{.in = {.fd = -1}}, {.in = {.fd = -1}}};
	code = open_file(self, argv[0], &f[0]) && open_file(self, argv[1], &f[1])
	               ? score_files(self, f, rouge, json)
	               : EXIT_FAILED;
	close_file(&f[0]);
	close_file(&f[1]);
	return code;
}

const command command_score = {
	.name = "score",
	.summary = "BLEU, chrF and ROUGE-L of texts against references, line by line",
	.usage = "score TEXTS REFERENCES [--rouge] [--json]",
	.about = "Line n of the one file is measured against line n of the other; - is standard\n"
		 "input. The numbers are those of sacrebleu 2.6 with its default settings, and of\n"
		 "rouge-score 0.1.2 without stemming. With --json: {\"lines\", \"bleu\", "
		 "\"chrf\"}, and\n"
		 "\"rouge_l\" with --rouge.\n\n"
		 "Example:\n"
		 "  hecate translate <test.en | hecate score - test.de\n",
	.run = run_score,
};
