/* transcribe_out.c — names of files by the names of sounds. */
#include "cli/tasks/transcribe_out.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/io/replace_file.h"
#include "cli/tasks/transcribe_input.h"

#define NAME_ROOM (NAME_MAX + 8)
#define PATH_MOST 4096

/* The sound's name with another ending. A name that is all ending keeps it. */
static bool make_name(const char *path, transcript_form form, char name[NAME_ROOM])
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	if (strcmp(path, "-") == 0)
		base = "stdin";
	const char *dot = strrchr(base, '.');
	const size_t stem = dot && dot > base ? (size_t)(dot - base) : strlen(base);
	const int n = snprintf(name, NAME_ROOM, "%.*s%s", (int)(stem < INT_MAX ? stem : INT_MAX),
	                       base, transcript_ending(form));
	return n > 0 && n <= REPLACE_FILE_NAME_MOST;
}

typedef struct named {
	char name[NAME_ROOM];
	const char *path;
} named;

static int by_name(const void *a, const void *b)
{
	return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static int check_names(const command *self, const char *dir, named *all, int n)
{
	qsort(all, (size_t)n, sizeof *all, by_name);
	for (int i = 1; i < n; i++)
		if (strcmp(all[i - 1].name, all[i].name) == 0)
			return command_usage(self, "%s and %s would both be %s/%s",
			                     sound_shown(all[i - 1].path), sound_shown(all[i].path),
			                     dir, all[i].name);
	return EXIT_DONE;
}

/* The folders that DIR lies in; where one cannot be made, making DIR says why. */
static void make_parents(const char *out)
{
	char path[PATH_MOST];
	snprintf(path, sizeof path, "%s", out);
	for (char *slash = *path ? strchr(path + 1, '/') : NULL; slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0777);
		*slash = '/';
	}
}

int transcribe_out_open(const command *self, const char *dir, transcript_form form, int files,
                        char **paths)
{
	named *all = calloc((size_t)files + 1, sizeof *all);
	int code = all ? EXIT_DONE : command_failed(self, "no memory for %d names", files);
	for (int i = 0; code == EXIT_DONE && i < files; i++) {
		all[i].path = paths[i];
		if (!make_name(paths[i], form, all[i].name))
			code = command_failed(self, "%s: its name is too long for a file in %s",
			                      paths[i], dir);
	}
	if (code == EXIT_DONE)
		code = check_names(self, dir, all, files);
	free(all);
	if (code != EXIT_DONE)
		return code;
	make_parents(dir);
	struct stat info;
	if (mkdir(dir, 0777) == 0 || (stat(dir, &info) == 0 && S_ISDIR(info.st_mode)))
		return EXIT_DONE;
	return command_failed(self, "%s could not be made: %s", dir, strerror(errno));
}

typedef struct written {
	const hec_transcript *t;
	const transcript_look *look;
	const input_name *name;
} written;

static bool write_transcript(const void *user, FILE *out)
{
	const written *w = user;
	errno = ENOMEM; /* where nothing else says why */
	return transcript_show(w->t, w->look, w->name, out);
}

int transcribe_out_write(const command *self, const char *dir, const transcript_look *look,
                         const input_name *sound, const hec_transcript *t)
{
	char name[NAME_ROOM];
	const written w = {t, look, sound};
	if (make_name(sound->file, look->form, name) &&
	    replace_file(dir, name, write_transcript, &w))
		return EXIT_DONE;
	return command_failed(self, "%s/%s could not be written: %s", dir, name, strerror(errno));
}
