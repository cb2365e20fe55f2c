/* lines.c — what a line is to each task. */
#include "train/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/check.h"
#include "train/corpus.h"
#include "train/sound.h"

static const char *const task_names[HEC_TASKS] = {"translate", "seq2seq",  "lm",
                                                  "mlm",       "classify", "answer"};

const char *hec_task_name(hec_task task)
{
	return (int)task >= 0 && (int)task < HEC_TASKS ? task_names[task] : "?";
}

bool task_has_two_files(hec_task task)
{
	return task == HEC_TASK_TRANSLATE;
}

void task_text_sides(hec_task task, int *begin, int *end)
{
	*begin = task == HEC_TASK_TRANSLATE || task == HEC_TASK_SEQ2SEQ ? 0 : 1;
	*end = 2;
}

struct hec_lines {
	hec_task task;
	char **files;
	size_t n, at;      /* at: the file (or the first of two) that is being read */
	reader *reader[2]; /* NULL: between files */
	int64_t in_file;   /* lines of it so far */
	hec_corpus_counts counts;
	example now; /* of hec_lines_next */
	int side;    /* of it, to be given next; 2: none left */
};

static hec_status check_files(hec_task task, const char *const *files, size_t n)
{
	if ((int)task < 0 || (int)task >= HEC_TASKS)
		return fail(HEC_ERR_ARGUMENT, "lines: there is no task %d", (int)task);
	if (task == HEC_TASK_ANSWER)
		return fail(HEC_ERR_ARGUMENT,
		            "lines: answer reads the JSON of SQuAD, which has no lines");
	HEC_TRY(CHECK_GIVEN("lines", files));
	if (n == 0)
		return fail(HEC_ERR_ARGUMENT, "%s: no file is given", hec_task_name(task));
	if (task_has_two_files(task) && n % 2 != 0)
		return fail(HEC_ERR_ARGUMENT,
		            "%s: takes files in pairs, source and target; %zu are given",
		            hec_task_name(task), n);
	return HEC_OK;
}

hec_status hec_lines_create(hec_task task, const char *const *files, size_t n, hec_lines **out)
{
	HEC_TRY(CHECK_GIVEN("lines", out));
	*out = NULL;
	HEC_TRY(check_files(task, files, n));
	hec_lines *l = mem_zeros(1, sizeof *l);
	char **names = mem_zeros(n, sizeof *names);
	if (!l || !names) {
		mem_free(l);
		mem_free(names);
		return fail(HEC_ERR_MEMORY, "lines: no memory for %zu names", n);
	}
	*l = (hec_lines){.task = task, .files = names, .n = n, .side = 2};
	for (size_t i = 0; i < n; i++) {
		names[i] = path_join(files[i], "");
		if (!names[i]) {
			hec_lines_destroy(l);
			return fail(HEC_ERR_MEMORY, "lines: no memory for %zu names", n);
		}
	}
	*out = l;
	return HEC_OK;
}

void hec_lines_destroy(hec_lines *l)
{
	if (!l)
		return;
	reader_close(l->reader[0]);
	reader_close(l->reader[1]);
	for (size_t i = 0; i < l->n; i++)
		mem_free(l->files[i]);
	mem_free(l->files);
	mem_free(l);
}

const hec_corpus_counts *hec_lines_counts(const hec_lines *l)
{
	return &l->counts;
}

size_t lines_file(const hec_lines *l)
{
	return l->at;
}

hec_status hec_lines_sound(const hec_lines *l, const char *name, size_t bytes, char *path,
                           size_t room)
{
	char whole[PATH_MOST];
	HEC_TRY(CHECK_GIVEN("lines", l));
	HEC_TRY(CHECK_GIVEN("lines", name));
	HEC_TRY(CHECK_GIVEN("lines", path));
	if (l->at >= l->n || !sound_path(l->files[l->at], name, bytes, whole) ||
	    strlen(whole) >= room)
		return fail(HEC_ERR_ARGUMENT, "lines: a name of %zu bytes is that of no file",
		            bytes);
	memcpy(path, whole, strlen(whole) + 1);
	return HEC_OK;
}

static size_t files_at_once(const hec_lines *l)
{
	return task_has_two_files(l->task) ? 2 : 1;
}

static hec_status count_rest(reader *r, int64_t *lines)
{
	line ignored;
	for (bool more = true;;) {
		HEC_TRY(reader_next(r, &ignored, &more));
		if (!more)
			return HEC_OK;
		++*lines;
	}
}

/* One of two files ended before the other: counts the longer one to its end, to say both numbers. */
static hec_status unequal(hec_lines *l, const bool more[2])
{
	int64_t lines[2] = {l->in_file + more[0], l->in_file + more[1]};
	HEC_TRY(count_rest(l->reader[more[1]], &lines[more[1]]));
	return fail(HEC_ERR_FORMAT,
	            "%s has %lld lines, %s has %lld: line i of one must be the translation of line "
	            "i of the other",
	            l->files[l->at], (long long)lines[0], l->files[l->at + 1], (long long)lines[1]);
}

/* A line of each file that is open, opening the next ones where these have ended. */
static hec_status next_lines(hec_lines *l, line out[2], bool *any)
{
	size_t width = files_at_once(l);
	for (; l->at < l->n; l->at += width, l->in_file = 0) {
		for (size_t i = 0; i < width; i++)
			if (!l->reader[i])
				HEC_TRY(reader_open(l->files[l->at + i], &l->reader[i]));
		bool more[2] = {false, false};
		for (size_t i = 0; i < width; i++)
			HEC_TRY(reader_next(l->reader[i], &out[i], &more[i]));
		if (width == 2 && more[0] != more[1])
			return unequal(l, more);
		if (more[0]) {
			l->in_file++;
			*any = true;
			return HEC_OK;
		}
		for (size_t i = 0; i < width; i++) {
			reader_close(l->reader[i]);
			l->reader[i] = NULL;
		}
	}
	*any = false;
	return HEC_OK;
}

static example_kind kind_of_line(const line *l)
{
	static const example_kind kinds[] = {EXAMPLE_GOOD, EXAMPLE_EMPTY, EXAMPLE_BAD_UTF8,
	                                     EXAMPLE_TOO_LONG};
	return kinds[l->kind];
}

static bool all_blank(const line *l)
{
	for (size_t i = 0; i < l->bytes; i++)
		if (l->text[i] != ' ' && l->text[i] != '\t')
			return false;
	return true;
}

/* "left TAB right"; further tabs belong to the right side. */
static example_kind split_at_tab(const line *whole, line side[2])
{
	const char *tab = memchr(whole->text, '\t', whole->bytes);
	if (!tab)
		return EXAMPLE_NO_TAB;
	size_t left = (size_t)(tab - whole->text);
	side[0] = (line){whole->text, left, LINE_GOOD};
	side[1] = (line){tab + 1, whole->bytes - left - 1, LINE_GOOD};
	return all_blank(&side[0]) || all_blank(&side[1]) ? EXAMPLE_EMPTY : EXAMPLE_GOOD;
}

static void count_example(hec_corpus_counts *c, example_kind kind)
{
	c->lines++;
	switch (kind) {
	case EXAMPLE_GOOD:
		c->examples++;
		break;
	case EXAMPLE_EMPTY:
		c->empty++;
		break;
	case EXAMPLE_BAD_UTF8:
		c->bad_utf8++;
		break;
	case EXAMPLE_TOO_LONG:
		c->too_long++;
		break;
	case EXAMPLE_NO_TAB:
		c->no_tab++;
		break;
	}
}

hec_status lines_next_example(hec_lines *l, example *out, bool *more)
{
	line at[2];
	HEC_TRY(next_lines(l, at, more));
	if (!*more)
		return HEC_OK;
	*out = (example){.kind = kind_of_line(&at[0])};
	switch (l->task) {
	case HEC_TASK_TRANSLATE:
		out->side[0] = at[0];
		out->side[1] = at[1];
		if (out->kind == EXAMPLE_GOOD)
			out->kind = kind_of_line(&at[1]);
		break;
	case HEC_TASK_SEQ2SEQ:
	case HEC_TASK_CLASSIFY:
		if (out->kind == EXAMPLE_GOOD)
			out->kind = split_at_tab(&at[0], out->side);
		break;
	case HEC_TASK_LM:
	case HEC_TASK_MLM:
		out->side[1] = at[0];
		break;
	case HEC_TASK_ANSWER: /* check_files refused it */
		break;
	}
	count_example(&l->counts, out->kind);
	return HEC_OK;
}

hec_status hec_lines_next_pair(hec_lines *l, const char *text[2], size_t bytes[2], bool *more)
{
	HEC_TRY(CHECK_GIVEN("lines", l));
	example e;
	do
		HEC_TRY(lines_next_example(l, &e, more));
	while (*more && e.kind != EXAMPLE_GOOD);
	for (int i = 0; *more && i < 2; i++) {
		text[i] = e.side[i].text;
		bytes[i] = e.side[i].bytes;
	}
	return HEC_OK;
}

hec_status hec_lines_next(void *lines, const char **text, size_t *bytes)
{
	hec_lines *l = lines;
	int begin, end;
	task_text_sides(l->task, &begin, &end);
	if (l->side >= end) {
		bool more;
		do
			HEC_TRY(lines_next_example(l, &l->now, &more));
		while (more && l->now.kind != EXAMPLE_GOOD);
		if (!more) {
			*text = NULL;
			return HEC_OK;
		}
		l->side = begin;
	}
	const line *now = &l->now.side[l->side++];
	*text = now->text;
	*bytes = now->bytes;
	return HEC_OK;
}
