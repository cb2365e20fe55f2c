/* interrupt.h — how a signal ends a command that has results to finish: SIGINT and SIGTERM, with train SIGHUP
 * as well.
 *
 * The first asks to stop. What asks for it (interrupt_asked, a library's `progress`) ends at its next good
 * place and says so. Much does not ask: a long line that is tokenized, a template that is rendered, a
 * model that is loaded. So where the command has not ended within 0.6 s, the process does, by that signal: as
 * it would have without any of this, but for files that are half written, which go. Results are flushed after
 * each chunk (put_done), so what is finished is written. A second signal ends the process at once.
 *
 * Only train's steps and saves may take longer (interrupt_wait), and an answer that Ctrl-C stops: losing them, or
 * the conversation, would be worse. */
#ifndef CLI_COMMAND_INTERRUPT_H
#define CLI_COMMAND_INTERRUPT_H

#include <stdbool.h>

#include <hecate/status.h>

/* From now on signals ask. Calls of the system go on, so that no result is lost on its way out; who waits for
 * input waits by poll (lines.c), which comes back. */
void interrupt_catch(void);
/* Also a terminal that is closed (SIGHUP); under nohup it is ignored, and stays so. */
void interrupt_catch_all(void);

bool interrupt_asked(void);
int interrupt_signal(void); /* which of them; 0: none */
/* The exit status then, as shells count a program that a signal ended: 130 after SIGINT, 143 after SIGTERM. */
int interrupt_exit_status(void);
/* HEC_ERR_CANCELLED once a signal asks to stop: what a callback of the library returns. */
hec_status interrupt_status(void);
/* The `progress` of what is only to be stopped. */
hec_progress_fn interrupt_stops;

/* Between them Ctrl-C (SIGINT) stops an answer alone, and the conversation goes on: however long the answer takes
 * to notice it. SIGTERM ends the command there, too. */
void interrupt_answer_begins(void);
void interrupt_answer_ends(void);
/* Whether the command may take as long as it needs to end, until it is told otherwise. */
void interrupt_wait(bool patiently);

/* A file that goes where a signal ends the process, until it is forgotten: by its path. */
void interrupt_removes(const char *path);
void interrupt_forgets(const char *path);

#endif
