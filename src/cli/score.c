/* score.c — `hecate score`: BLEU, chrF and ROUGE-L of the lines of one file against those of another. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/score.h>
#include <jansson.h>

#include "plural.h"
#include "put.h"

typedef struct lines {
	char **items;
	size_t count, capacity;
} lines;

static void lines_free(lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i]);
	free(l->items);
}

/* Takes line over; false: no memory, line is the caller's. */
static bool lines_add(lines *l, char *line)
{
	if (l->count == l->capacity) {
		size_t capacity = l->capacity ? 2 * l->capacity : 256;
		char **items = realloc(l->items, capacity * sizeof *items);
		if (!items)
			return false;
		l->items = items;
		l->capacity = capacity;
	}
	l->items[l->count++] = line;
	return true;
}

/* Reads every line of f; what is wrong is said on standard error. */
static bool read_lines(const command *self, const char *path, FILE *f, lines *l)
{
	for (;;) {
		char *line = NULL;
		size_t capacity = 0;
		errno = 0;
		ssize_t size = getline(&line, &capacity, f);
		if (size < 0) {
			int error = errno;
			free(line);
			if (ferror(f) || error == ENOMEM) {
				command_failed(self, "%s could not be read: %s", path,
				               strerror(error));
				return false;
			}
			return true;
		}
		if (memchr(line, '\0', (size_t)size)) {
			command_failed(self, "%s: line %zu holds a zero byte: this is not text",
			               path, l->count + 1);
			free(line);
			return false;
		}
		if (size > 0 && line[size - 1] == '\n')
			line[size - 1] = '\0';
		if (!lines_add(l, line)) {
			free(line);
			command_failed(self, "no memory for the lines of %s", path);
			return false;
		}
	}
}

static bool read_file(const command *self, const char *path, lines *l)
{
	bool standard = strcmp(path, "-") == 0;
	FILE *f = standard ? stdin : fopen(path, "r");
	if (!f) {
		command_failed(self, "%s could not be opened: %s", path, strerror(errno));
		return false;
	}
	bool good = read_lines(self, path, f, l);
	if (!standard)
		fclose(f);
	return good;
}

static bool print_json(size_t count, double bleu, double chrf, const double *rouge)
{
	json_t *root = json_pack("{s:I, s:f, s:f}", "lines", (json_int_t)count, "bleu", bleu,
	                         "chrf", chrf);
	bool good =
		root && (!rouge || json_object_set_new(root, "rouge_l", json_real(*rouge)) == 0);
	good = good && put_json_value(root, 0, stdout) && putchar('\n') != EOF;
	json_decref(root);
	return good;
}

static int score(const command *self, const lines *hypotheses, const lines *references, bool rouge,
                 bool json)
{
	double bleu = 0, chrf = 0, rouge_l = 0;
	const char *const *h = (const char *const *)hypotheses->items;
	const char *const *r = (const char *const *)references->items;
	if (hec_score_bleu(h, r, hypotheses->count, &bleu) != HEC_OK ||
	    hec_score_chrf(h, r, hypotheses->count, &chrf) != HEC_OK ||
	    (rouge && hec_score_rouge(h, r, hypotheses->count, &rouge_l) != HEC_OK))
		return command_failed(self, "%s", hec_error_message());
	if (json)
		return print_json(hypotheses->count, bleu, chrf, rouge ? &rouge_l : NULL)
		               ? EXIT_DONE
		               : command_failed(self, "the scores could not be written");
	printf("BLEU  %6.2f\nchrF  %6.2f\n", bleu, chrf);
	if (rouge)
		printf("ROUGE-L %5.2f\n", rouge_l);
	return EXIT_DONE;
}

static int run(const command *self, int argc, char **argv)
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
	lines hypotheses = {0}, references = {0};
	if (!read_file(self, argv[0], &hypotheses) || !read_file(self, argv[1], &references))
		code = EXIT_FAILED;
	else if (hypotheses.count != references.count)
		code = command_failed(self, "%s has %zu line%s and %s has %zu", argv[0],
		                      hypotheses.count, plural((int64_t)hypotheses.count), argv[1],
		                      references.count);
	else if (hypotheses.count == 0)
		code = command_failed(self, "%s and %s have no lines", argv[0], argv[1]);
	else
		code = score(self, &hypotheses, &references, rouge, json);
	lines_free(&hypotheses);
	lines_free(&references);
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
	.run = run,
};
