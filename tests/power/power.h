/* power.h — stands between the library and the disk: counts what changes a folder, ends the process before a chosen
 * change, and first takes away what a power cut may: bytes of files and names in folders that were not flushed.
 * The linker sends the calls of the whole program through here (--wrap). Nothing is really flushed: it is only
 * noted, which makes this fast as well.
 *
 * What a power cut leaves differs between file systems. Here: a flushed file has its bytes, and a flushed folder
 * its names; the rest is lost, or kept, bytes and names each for themselves. */
#ifndef TESTS_POWER_H
#define TESTS_POWER_H

enum { POWER_EXIT = 77 }; /* what a process ends with */

/* What is lost; 0: nothing, as when a process is killed. POWER_OLDER_NAMES: all names but the newest, since what
 * is not flushed reaches the disk in any order. */
enum { POWER_BYTES = 1, POWER_NAMES = 2, POWER_OLDER_NAMES = 4 };

/* From now on, of what lies in dir: the n-th change from now is not done any more.
 * stash: a folder outside of dir, on the same disk. */
void power_cut(const char *dir, const char *stash, long n, int lost);

#endif
