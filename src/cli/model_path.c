/* model_path.c — the default model, found from where the program lies. */
#include "model_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_MODEL "models/en-de"

#ifndef HECATE_DATA_DIR
#define HECATE_DATA_DIR "/usr/local/share/hecate"
#endif

/* The folder that the program lies in, links followed. */
static bool program_folder(char folder[MODEL_PATH_MOST])
{
	ssize_t n = readlink("/proc/self/exe", folder, MODEL_PATH_MOST - 1);
	if (n <= 0)
		return false;
	folder[n] = '\0';
	char *slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

static bool is_model(const char *folder)
{
	char file[MODEL_PATH_MOST + 16];
	snprintf(file, sizeof file, "%s/config.json", folder);
	return access(file, R_OK) == 0;
}

bool model_path(const char *named, char path[MODEL_PATH_MOST])
{
	if (!named)
		named = getenv("HECATE_MODEL");
	if (named && *named) {
		snprintf(path, MODEL_PATH_MOST, "%s", named);
		return true;
	}
	/* Beside the sources it was built in, then as installed, wherever that was moved to. */
	static const char *const beside[] = {"/../" DEFAULT_MODEL,
	                                     "/../share/hecate/" DEFAULT_MODEL};
	char folder[MODEL_PATH_MOST];
	if (program_folder(folder)) {
		for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
			int n = snprintf(path, MODEL_PATH_MOST, "%.*s%s", MODEL_PATH_MOST - 64,
			                 folder, beside[i]);
			if (n > 0 && n < MODEL_PATH_MOST && is_model(path))
				return true;
		}
	}
	snprintf(path, MODEL_PATH_MOST, "%s/%s", HECATE_DATA_DIR, DEFAULT_MODEL);
	return is_model(path);
}
