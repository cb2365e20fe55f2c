/* model_path.h — where the model is that a command uses when none is named. */
#ifndef CLI_MODEL_PATH_H
#define CLI_MODEL_PATH_H

#include <stdbool.h>

#define MODEL_PATH_MOST 4096

/* The folder to load: `named` where it is not NULL (-m), else $HECATE_MODEL, else models/en-de beside
 * the program or where it was installed to. False: there is none, and path says where it was looked
 * for. */
bool model_path(const char *named, char path[MODEL_PATH_MOST]);

#endif
