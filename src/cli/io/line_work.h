/* line_work.h — what surrounds a command that maps texts to results: its input in chunks (input.h); signals; a bar on a
 * terminal; which text is to blame; which result belongs to which.
 *
 *     line_work w = {.self = self, .work = classify_some, .user = &mine, .input = &mine.input, .most = 256};
 *     code = line_work_run(&w, operands, argv);
 */
#ifndef CLI_IO_LINE_WORK_H
#define CLI_IO_LINE_WORK_H

#include <stdint.h>

#include <hecate/status.h>

#include "cli/command/command.h"
#include "cli/io/input.h"

/* A text was refused: hec_error_message() tells why, or `reason` does, *failed which of the texts is to blame (hec_error_item(),
 * where they are the texts of one call). */
#define LINE_WORK_REFUSED (-2)

/* Does n texts and prints their results, all or none. Returns EXIT_DONE; LINE_WORK_REFUSED; or the exit
 * code to end with, after it said why. *failed is −1 before the call. Where a text is to blame, those
 * before it come again in a call of their own, so that their results are still written. */
typedef int line_work_fn(void *user, int64_t n, const char *const *texts, const size_t *bytes,
                         int64_t *failed);

typedef struct line_work {
	const command *self;
	line_work_fn *work;
	void *user;
	const input_options *input; /* NULL: lines of standard input, or operands */
	bool lossy;                 /* also what is not UTF-8 in JSON lines */
	int64_t most; /* texts of one call, where that many are there already; 0: 256 */
	bool keep_going; /* a text that is refused is told, stands as an error in its place, and the rest is done */
	bool json;      /* that error is an object; else an empty line */
	int64_t places; /* lines of a result, and so of an error, where they are no JSON; 0: 1 */
	bool no_place;  /* a text has none: results are no lines in the order of the texts */
	const char *
		reason; /* why a text was refused, where it was not the library; NULL again behind it */
	/* its own: */
	int64_t failures;
	bool complete;           /* all texts were gone through */
	int64_t done;            /* texts before this call: the number of its first, from 0 on */
	const input_text *texts; /* of the chunk under way, whose first has the number `first` */
	int64_t first;
	bool bar, bar_shown; /* on a terminal that shows nothing else */
} line_work;

/* Each of argv[0 … operands − 1] is a text; where there is none, they come from `input`. From then on SIGINT and SIGTERM
 * end the work after what is under way, where that is soon (interrupt.h). */
int line_work_run(line_work *w, int operands, char **argv);

/* Text i of this call: its name, and its second text. NULL outside of line_work_run. */
const input_text *line_work_text(const line_work *w, int64_t i);
/* A result of it as a line of JSON; takes the object. EXIT_DONE, or the code to end with. */
int line_work_put_json(const line_work *w, int64_t i, json_t *object);
/* `{"input":1,` of it, for what writes the rest by itself. */
bool line_work_begin_json(const line_work *w, int64_t i);

/* How far the texts of this call are, for the library's `progress` (its user is the line_work): shows it
 * where there is a bar. A signal cancels. */
hec_progress_fn line_work_progress;
/* Takes the bar away: before anything is printed. */
void line_work_clear(line_work *w);

#endif
