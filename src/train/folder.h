/* folder.h — folders: making, listing, removing, flushing. */
#ifndef TRAIN_FOLDER_H
#define TRAIN_FOLDER_H

#include "base/file.h"
#include "base/status.h"

#define HALF_FOLDER ".new" /* a folder that is renamed once it is whole */

hec_status
folder_make(const char *path); /* on the disk when it returns; HEC_OK where it is already there */
/* The same, with the folders that it lies in. *made: it was not there, only its own. */
hec_status folder_make_deep(const char *path, bool *made);
/* The folder and the plain files in it; a folder that is not there is fine. Folders inside are left
 * alone, and then this fails. A link is removed, and nothing of what it leads to. */
hec_status folder_remove(const char *path);
/* The same with the folders in it, and those in them. */
hec_status folder_remove_deep(const char *path);
/* A file or folder in `path`, with all in it. */
hec_status folder_remove_inside(const char *path, const char *name);
/* Whether this is a file that somebody is writing, or was killed while writing: it is not there yet. */
bool is_of_writer(const char *name);
/* Removes what a writer that was killed left half done in it and, `deep` levels down, in its folders.
 * Only for whoever holds the lock. Where it fails, something stays. */
void folder_sweep(const char *path, int deep);
hec_status file_copy(const char *from, const char *to); /* whole, or not at all */
/* Names in it that begin with prefix, sorted; for names_free. */
hec_status folder_names(const char *path, const char *prefix, char ***names, size_t *count);
void names_free(char **names, size_t count);

/* "a/b" for mem_free(), by a format. */
hec_status path_make(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
