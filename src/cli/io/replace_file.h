/* replace_file.h — a small file that is there whole or not at all, also where the program is killed. */
#ifndef CLI_IO_REPLACE_FILE_H
#define CLI_IO_REPLACE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#define REPLACE_FILE_NAME_MOST 250 /* bytes of a name: the one beside it is longer */

/* FOLDER/NAME becomes what `write` puts into it: into FOLDER/.NAME.new first, flushed and renamed. False: errno says
 * why, and what was there is there. */
bool replace_file(const char *folder, const char *name, bool write(const void *user, FILE *out),
                  const void *user);

#endif
