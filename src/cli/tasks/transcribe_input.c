/* transcribe_input.c — files are read by the library as it needs them. What cannot be read twice is taken whole. */
#include "cli/tasks/transcribe_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/io/whole_file.h"

#define STREAM_MOST ((size_t)1 << 30) /* bytes of a stream */

static bool is_input(const char *path)
{
	return strcmp(path, "-") == 0;
}

const char *sound_shown(const char *path)
{
	return is_input(path) ? "standard input" : path;
}

static bool is_pipe(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 &&
	       (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode) || S_ISSOCK(info.st_mode));
}

static bool read_stream(FILE *f, const char *path, const hec_audio_options *options,
                        hec_audio **out, char reason[SOUND_REASON])
{
	char *data;
	size_t bytes;
	char error[WHOLE_FILE_ERROR];
	if (!whole_stream_read(f, STREAM_MOST, &data, &bytes, error)) {
		snprintf(reason, SOUND_REASON, "%s: %s", sound_shown(path), error);
		return false;
	}
	const bool good =
		hec_audio_read_memory(sound_shown(path), data, bytes, options, out) == HEC_OK;
	if (!good)
		snprintf(reason, SOUND_REASON, "%s", hec_error_message());
	free(data);
	return good;
}

bool sound_read(const char *path, const hec_audio_options *options, hec_audio **out,
                char reason[SOUND_REASON])
{
	if (is_input(path))
		return read_stream(stdin, path, options, out, reason);
	if (!is_pipe(path)) {
		const bool good = hec_audio_read(path, options, out) == HEC_OK;
		if (!good)
			snprintf(reason, SOUND_REASON, "%s", hec_error_message());
		return good;
	}
	FILE *f = fopen(path, "rb");
	if (!f) {
		snprintf(reason, SOUND_REASON, "%s could not be opened: %s", path, strerror(errno));
		return false;
	}
	const bool good = read_stream(f, path, options, out, reason);
	fclose(f);
	return good;
}
