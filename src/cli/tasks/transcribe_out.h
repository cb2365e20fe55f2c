/* transcribe_out.h — `hecate transcribe --out-dir`: a file for each sound. */
#ifndef CLI_TASKS_TRANSCRIBE_OUT_H
#define CLI_TASKS_TRANSCRIBE_OUT_H

#include "cli/command/command.h"
#include "cli/tasks/transcribe_show.h"

/* Makes DIR, with the folders it lies in; refuses sounds that would have one file. EXIT_DONE, or what to end
 * with. */
int transcribe_out_open(const command *self, const char *dir, transcript_form form, int files,
                        char **paths);
/* DIR/NAME.srt, or as the form has it, of FOLDER/NAME.mp3: whole or not at all. */
int transcribe_out_write(const command *self, const char *dir, const transcript_look *look,
                         const input_name *sound, const hec_transcript *t);

#endif
