/* whole_file.c — see whole_file.h. */
#include "cli/io/whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/io/lines.h"

#define PIECE ((size_t)64 << 10)

/* Into more and more room. NULL: error says why not. */
static char *read_all(FILE *f, size_t most, size_t *bytes, char error[WHOLE_FILE_ERROR])
{
	size_t capacity = 0, n = 0, got = 1;
	char *data = NULL;
	while (got > 0 && !feof(f)) { /* a terminal says once that it ends */
		if (capacity - n < PIECE) {
			capacity = capacity ? 2 * capacity : 2 * PIECE;
			char *more = realloc(data, capacity + 1);
			if (!more) {
				snprintf(error, WHOLE_FILE_ERROR, "no memory for its %zu bytes", n);
				free(data);
				return NULL;
			}
			data = more;
		}
		errno = 0;
		got = fread(data + n, 1, PIECE, f);
		n += got;
		if (ferror(f) || n > most) {
			if (ferror(f))
				snprintf(error, WHOLE_FILE_ERROR, "could not be read: %s",
				         strerror(errno));
			else
				snprintf(error, WHOLE_FILE_ERROR, "is longer than %zu bytes", most);
			free(data);
			return NULL;
		}
	}
	data[n] = '\0';
	*bytes = n;
	return data;
}

bool whole_stream_read(FILE *f, size_t most, char **data, size_t *bytes,
                       char error[WHOLE_FILE_ERROR])
{
	*data = read_all(f, most, bytes, error);
	return *data != NULL;
}

bool whole_file_take(const char *path, char **text, size_t *bytes, char error[WHOLE_FILE_ERROR])
{
	static const char mark[] = {'\xEF', '\xBB', '\xBF'}; /* a byte order mark is no text */
	const bool input = strcmp(path, "-") == 0;
	FILE *f = input ? stdin : fopen(path, "rb");
	if (!f) {
		snprintf(error, WHOLE_FILE_ERROR, "could not be opened: %s", strerror(errno));
		return false;
	}
	*text = read_all(f, LINES_LONGEST, bytes, error);
	if (!input)
		fclose(f);
	if (*text && *bytes >= sizeof mark && memcmp(*text, mark, sizeof mark) == 0) {
		*bytes -= sizeof mark;
		memmove(*text, *text + sizeof mark, *bytes + 1);
	}
	return *text != NULL;
}

int whole_file_read(const command *self, const char *path, char **text, size_t *bytes)
{
	char error[WHOLE_FILE_ERROR];
	return whole_file_take(path, text, bytes, error)
	               ? EXIT_DONE
	               : command_failed(self, "%s: %s", strcmp(path, "-") ? path : "standard input",
	                                error);
}
