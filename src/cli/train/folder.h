/* folder.h — the folder of a run, and the settings that are kept in it. */
#ifndef CLI_TRAIN_FOLDER_H
#define CLI_TRAIN_FOLDER_H

#include <jansson.h>

#include "cli/command/command.h"
#include "cli/train/settings.h"

typedef struct train_folder {
	json_t *old; /* train.json of the run that is resumed: it owns texts of the settings */
	hec_train_lock *lock; /* while we are at work in it */
} train_folder;

/* PARSED, or what the program ends with: then the reason has been said. */
int train_folder_resume(train_folder *f, const command *self, train_settings *s, int argc,
                        char **argv);
int train_folder_open(train_folder *f, const command *self, const train_settings *s);
bool train_folder_write(const train_folder *f, const command *self, const train_settings *s);
/* Of a run that failed before its first step: DIR is again as it was. */
void train_folder_undo(const train_folder *f, const command *self, const char *out);
void train_folder_close(train_folder *f);

#endif
