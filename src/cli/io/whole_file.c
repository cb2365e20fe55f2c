/* whole_file.c — see whole_file.h. */
#include "cli/io/whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t)64 << 10)

static int read_all(const command *self, const char *name, FILE *f, char **text, size_t *bytes)
{
	size_t capacity = 0, n = 0;
	char *data = NULL;
	for (;;) {
		if (capacity - n < PIECE) {
			capacity = capacity ? 2 * capacity : 2 * PIECE;
			char *more = realloc(data, capacity + 1);
			if (!more) {
				free(data);
				return command_failed(self, "no memory for the %zu bytes of %s", n,
				                      name);
			}
			data = more;
		}
		errno = 0;
		size_t got = fread(data + n, 1, PIECE, f);
		n += got;
		if (ferror(f)) {
			free(data);
			return command_failed(self, "%s could not be read: %s", name,
			                      strerror(errno));
		}
		if (n > WHOLE_FILE_MOST) {
			free(data);
			return command_failed(self, "%s is longer than %zu bytes", name,
			                      WHOLE_FILE_MOST);
		}
		if (got == 0)
			break;
	}
	static const char mark[] = {'\xEF', '\xBB', '\xBF'}; /* a byte order mark is no text */
	if (n >= sizeof mark && memcmp(data, mark, sizeof mark) == 0) {
		n -= sizeof mark;
		memmove(data, data + sizeof mark, n);
	}
	data[n] = '\0';
	*text = data;
	*bytes = n;
	return EXIT_DONE;
}

int whole_file_read(const command *self, const char *path, char **text, size_t *bytes)
{
	if (strcmp(path, "-") == 0)
		return read_all(self, "standard input", stdin, text, bytes);
	FILE *f = fopen(path, "rb");
	if (!f)
		return command_failed(self, "%s could not be opened: %s", path, strerror(errno));
	int code = read_all(self, path, f, text, bytes);
	fclose(f);
	return code;
}
