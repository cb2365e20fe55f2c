/* tokenize_train.c — `hecate tokenize --train`: lines of files in, a folder with a tokenizer out. */
#include "tokenize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct lines {
	const option_list *files;
	size_t next; /* file to be opened */
	FILE *file;
	char *line;
	size_t capacity;
	char message[512]; /* why it ended early */
} lines;

static hec_status next_line(void *user, const char **line, size_t *bytes)
{
	lines *l = user;
	for (;;) {
		if (!l->file && l->next == l->files->count) {
			*line = NULL;
			return HEC_OK;
		}
		if (!l->file && !(l->file = fopen(l->files->items[l->next], "r")))
			break;
		errno = 0;
		ssize_t n = getline(&l->line, &l->capacity, l->file);
		if (n >= 0) {
			*bytes = (size_t)n - (n > 0 && l->line[n - 1] == '\n');
			*line = l->line;
			return HEC_OK;
		}
		if (!feof(l->file))
			break;
		fclose(l->file);
		l->file = NULL;
		l->next++;
	}
	snprintf(l->message, sizeof l->message, "%s: %s", l->files->items[l->next],
	         strerror(errno));
	return HEC_ERR_IO;
}

static hec_status show(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)user;
	if (total > 0)
		fprintf(stderr, "\r%s: %lld of %lld   ", phase, (long long)done, (long long)total);
	else
		fprintf(stderr, "\r%s: %lld MB   ", phase, (long long)done / 1000000);
	return HEC_OK;
}

int tokenize_train(const command *self, const tokenize_training *t)
{
	lines l = {.files = &t->files};
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	o.vocab = t->vocab;
	o.unicode = t->unicode;
	o.min_frequency = t->min_frequency;
	o.threads = (int)t->threads;
	bool watched = isatty(STDERR_FILENO);
	o.progress = watched ? show : NULL;
	hec_tokenizer *made = NULL;
	hec_status status = hec_bpe_train(&o, next_line, &l, &made);
	if (watched)
		fputs("\r\033[K", stderr);
	if (status == HEC_OK)
		status = hec_tokenizer_save(made, t->out);
	if (l.file)
		fclose(l.file);
	free(l.line);
	int code = EXIT_DONE;
	if (status != HEC_OK)
		code = command_failed(self, "%s", l.message[0] ? l.message : hec_error_message());
	else
		printf("%s: %lld tokens\n", t->out, (long long)hec_tokenizer_vocab(made));
	hec_tokenizer_destroy(made);
	return code;
}
