/* scratch.h — new folders for tests, in $TMPDIR or /tmp, removed with all in them. */
#ifndef TESTS_SUPPORT_SCRATCH_H
#define TESTS_SUPPORT_SCRATCH_H

#include <stddef.h>

#define SCRATCH_PATH 512

/* A folder of its own: 0, or -1 where it could not be made or removed. */
int scratch_folder(char *path, size_t size);
int scratch_folder_remove(const char *path);

/* ---- one for a test ---- */

typedef struct scratch {
	char path[128];
	char file[192]; /* a name in it */
} scratch;
int scratch_make(void **state, const char *name); /* *state: the scratch */
int scratch_remove(void **state);

/* ---- one for all tests of a program, with folders in it ---- */

int scratch_group_make(void **state);
int scratch_group_remove(void **state);
/* A name in it that was not given before. */
const char *scratch_fresh(char path[SCRATCH_PATH]);

int scratch_entries(const char *path); /* files and folders in it */
/* Makes a folder with copies of another's files. */
void scratch_copy(const char *from, const char *to);

#endif
