/* make_parents.h — the folders that a new folder lies in. */
#ifndef CLI_IO_MAKE_PARENTS_H
#define CLI_IO_MAKE_PARENTS_H

/* Where one cannot be made, making the folder itself says why. */
void make_parents(const char *path);

#endif
