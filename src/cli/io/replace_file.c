/* replace_file.c — beside, flushed, renamed. */
#include "cli/io/replace_file.h"

#include <errno.h>
#include <unistd.h>

#include "cli/command/interrupt.h"

#define PATH_MOST 4096

bool replace_file(const char *folder, const char *name, bool write(const void *user, FILE *out),
                  const void *user)
{
	char path[PATH_MOST], beside[PATH_MOST];
	if (snprintf(path, sizeof path, "%s/%s", folder, name) >= PATH_MOST ||
	    snprintf(beside, sizeof beside, "%s/.%s.new", folder, name) >= PATH_MOST) {
		errno = ENAMETOOLONG;
		return false;
	}
	interrupt_removes(beside);
	FILE *f = fopen(beside, "wb");
	if (!f) {
		interrupt_forgets(beside);
		return false;
	}
	bool good = write(user, f) && !ferror(f) && fflush(f) == 0 && fsync(fileno(f)) == 0;
	int error = errno;
	if (fclose(f) != 0 && good) {
		error = errno;
		good = false;
	}
	if (good && rename(beside, path) != 0) {
		error = errno;
		good = false;
	}
	if (!good)
		unlink(beside);
	interrupt_forgets(beside);
	errno = error;
	return good;
}
