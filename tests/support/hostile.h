/* hostile.h — a JSON file with each of its members set to each value that a hostile hand would write there. */
#ifndef TESTS_SUPPORT_HOSTILE_H
#define TESTS_SUPPORT_HOSTILE_H

/* what: the member and its value, for messages. The file is written, not flushed to disk. */
typedef void hostile_fn(void *user, const char *what);

/* Members of objects in it and the first elements of arrays, too. Afterwards the file is as it was. */
void hostile_each(const char *path, hostile_fn *fn, void *user);

#endif
