/* path.c — the default model, found from where the program lies: in the tree that it was built in
 * (build/hecate, models/en-de), then as it was installed (bin/hecate, share/hecate/models/en-de),
 * wherever that was moved to. */
#include "cli/model/path.h"
#include "cli/model/foreign_model.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_MODEL "models/en-de"

/* From the folder of the installed program to that of its data; no absolute path is compiled in. */
#ifndef HECATE_TO_DATA
#define HECATE_TO_DATA "../share/hecate"
#endif

static const char *const places[] = {"../" DEFAULT_MODEL, HECATE_TO_DATA "/" DEFAULT_MODEL};
#define PLACES (sizeof places / sizeof *places)

/* The folder that the program lies in, links followed. */
static bool program_folder(char folder[MODEL_PATH_MOST])
{
	ssize_t n = readlink("/proc/self/exe", folder, MODEL_PATH_MOST - 1);
	if (n <= 0 || n >= MODEL_PATH_MOST - 1)
		return false;
	folder[n] = '\0';
	char *slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

/* folder/relative with each leading ".." taken off folder: what people read, and the same place, as
 * no link is left in folder. */
static bool join_path(const char *folder, const char *relative, char path[MODEL_PATH_MOST])
{
	size_t length = strlen(folder);
	while (strncmp(relative, "../", 3) == 0) {
		relative += 3;
		while (length > 0 && folder[--length] != '/')
			;
	}
	int n = snprintf(path, MODEL_PATH_MOST, "%.*s/%s", (int)length, folder, relative);
	return n > 0 && n < MODEL_PATH_MOST;
}

static bool is_model(const char *folder)
{
	char file[MODEL_PATH_MOST + 16];
	snprintf(file, sizeof file, "%s/config.json", folder);
	return access(file, R_OK) == 0;
}

const char *model_named(const char *named)
{
	const char *variable = getenv("HECATE_MODEL");
	return named ? named : variable && *variable ? variable : NULL;
}

int model_path(const command *self, const char *named, char path[MODEL_PATH_MOST])
{
	named = model_named(named);
	if (named) {
		int n = snprintf(path, MODEL_PATH_MOST, "%s", named);
		return n < MODEL_PATH_MOST
		               ? EXIT_DONE
		               : command_failed(self, "the model's path has %d bytes, more than %d",
		                                n, MODEL_PATH_MOST - 1);
	}
	char folder[MODEL_PATH_MOST], looked[2 * MODEL_PATH_MOST + 64] = "";
	size_t used = 0;
	for (size_t i = 0; i < PLACES && program_folder(folder); i++) {
		if (!join_path(folder, places[i], path))
			continue;
		if (is_model(path))
			return EXIT_DONE;
		used += (size_t)snprintf(looked + used, sizeof looked - used, "%s%s",
		                         used ? " nor at " : "at ", path);
	}
	return command_failed(self, "there is no model %s; name one with -m DIR or HECATE_MODEL",
	                      used ? looked : "beside the program, which /proc does not show");
}

int model_folder(const command *self, const char *named, char path[MODEL_PATH_MOST])
{
	char sentence[FOREIGN_MODEL_ROOM];
	int code = model_path(self, named, path);
	if (code != EXIT_DONE)
		return code;
	foreign_model(path, sentence);
	return *sentence ? command_failed(self, "%s %s", path, sentence) : EXIT_DONE;
}
