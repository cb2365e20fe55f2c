/* tokenize_train.c — `hecate tokenize --train`: lines of files in, a folder with a tokenizer out. */
#include "cli/inspect/tokenize.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/io/lines.h"
#include "cli/io/put.h"
#include "cli/io/terminal.h"

typedef struct training {
	const option_list *files;
	size_t next; /* file to be opened */
	bool open;
	lines in;
	char message[512]; /* why it ended early */
} training;

static void end_file(training *t)
{
	if (!t->open)
		return;
	lines_close(&t->in);
	close(t->in.fd);
	t->open = false;
}

static hec_status next_line(void *user, const char **line, size_t *bytes)
{
	training *t = user;
	while (t->open || t->next < t->files->count) {
		const char *name = t->files->items[t->next];
		if (!t->open) {
			t->in = (lines){.fd = open(name, O_RDONLY | O_CLOEXEC), .name = name};
			if (t->in.fd < 0) {
				snprintf(t->message, sizeof t->message, "%s: %s", name,
				         strerror(errno));
				return HEC_ERR_IO;
			}
			t->open = true;
		}
		int64_t n;
		lines_result r = lines_take(&t->in, 1, line, bytes, &n);
		if (r == LINES_SOME)
			return HEC_OK;
		if (r == LINES_FAILED) {
			snprintf(t->message, sizeof t->message, "%s", t->in.error);
			return HEC_ERR_IO;
		}
		if (r == LINES_END) {
			end_file(t);
			t->next++;
		}
	}
	*line = NULL;
	return HEC_OK;
}

static hec_status show_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)user;
	if (total > 0)
		fprintf(stderr, "\r%s: %lld of %lld   ", phase, (long long)done, (long long)total);
	else
		fprintf(stderr, "\r%s: %lld MB   ", phase, (long long)done / 1000000);
	return HEC_OK;
}

/* Learning may take hours, and models may stand on what is there: it is not written over. */
static bool is_taken(const char *dir)
{
	char path[4096];
	int n = snprintf(path, sizeof path, "%s/tokenizer.json", dir);
	return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
}

static void print_made(const char *dir, int64_t tokens)
{
	text t = {0};
	text_add(&t, "%s: %lld tokens", dir, (long long)tokens);
	put_line(t.data, stdout);
	text_free(&t);
}

int tokenize_train(const command *self, const tokenize_training *asked)
{
	training t = {.files = &asked->files};
	if (is_taken(asked->out))
		return command_failed(self, "%s/tokenizer.json is there already", asked->out);
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	o.vocab = asked->vocab;
	o.unicode = asked->unicode;
	o.min_frequency = asked->min_frequency;
	o.threads = (int)asked->threads;
	bool watched = isatty(STDERR_FILENO);
	o.progress = watched ? show_progress : NULL;
	hec_tokenizer *made = NULL;
	hec_status status = hec_bpe_train(&o, next_line, &t, &made);
	if (watched)
		fputs("\r\033[K", stderr);
	if (status == HEC_OK)
		status = hec_tokenizer_save(made, asked->out);
	end_file(&t);
	int code = EXIT_DONE;
	if (status != HEC_OK)
		code = command_failed(self, "%s", t.message[0] ? t.message : hec_error_message());
	else
		print_made(asked->out, hec_tokenizer_vocab(made));
	hec_tokenizer_destroy(made);
	return code;
}
