/* fuzz_lines.c — any bytes as a file to learn from, plain or gzip: every line is given once, whole,
 * without its end; what is called good is UTF-8 and not empty. */
#include <hecate/corpus.h>

#include "text/unicode/utf8.h"
#include "train/reader.h"
#include "parts.h"

static void read_file(const char *path)
{
	reader *r;
	line at;
	bool more = true;
	if (reader_open(path, &r) != HEC_OK) /* not even gzip that is broken */
		stop("the file cannot be opened");
	for (hec_status status; more;) {
		status = reader_next(r, &at, &more);
		if (status == HEC_ERR_FORMAT)
			break; /* gzip that is broken */
		if (status != HEC_OK)
			stop("a line cannot be read");
		if (more && memchr(at.text, '\n', at.bytes))
			stop("a line holds its end");
		if (more && at.kind == LINE_GOOD && utf8_valid(at.text, at.bytes) != at.bytes)
			stop("a good line is no UTF-8");
	}
	reader_close(r);
}

static void read_pairs(const char *path, hec_task task)
{
	const char *files[2] = {path, path}, *text[2];
	size_t bytes[2];
	hec_lines *lines;
	bool more = true;
	if (hec_lines_create(task, files, task == HEC_TASK_TRANSLATE ? 2 : 1, &lines) != HEC_OK)
		stop("the lines cannot be opened");
	while (more && hec_lines_next_pair(lines, text, bytes, &more) == HEC_OK)
		if (more && bytes[1] == 0)
			stop("a good example is empty");
	const hec_corpus_counts *c = hec_lines_counts(lines);
	if (c->lines != c->examples + c->empty + c->bad_utf8 + c->too_long + c->no_tab)
		stop("a line is not counted");
	hec_lines_destroy(lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"lines", NULL};
	parts_make(names);
	parts_write(names[0], data, size);
	const char *path = parts_path(names[0]);
	read_file(path);
	for (int task = 0; task < HEC_TASKS; task++)
		if (task != HEC_TASK_ANSWER) /* which has no lines */
			read_pairs(path, (hec_task)task);
	return 0;
}
