/* path.h — where the model is that a command uses when none is named. */
#ifndef CLI_MODEL_PATH_H
#define CLI_MODEL_PATH_H

#include "cli/command/command.h"

#define MODEL_PATH_MOST 4096

/* `named` where it is not NULL (-m), else $HECATE_MODEL; NULL: neither says one. */
const char *model_named(const char *named);

/* The folder to load: `named` where it is not NULL (-m), else $HECATE_MODEL, else the model that comes
 * with hecate. Returns EXIT_DONE, or the exit code to end with: standard error then says where it was
 * looked for. */
int model_path(const command *self, const char *named, char path[MODEL_PATH_MOST]);

/* The same where a model is wanted: what is none, a file or a folder of another program, is told. */
int model_folder(const command *self, const char *named, char path[MODEL_PATH_MOST]);

#endif
