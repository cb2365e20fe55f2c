/* folder.c — the folder of a run: whether it may be used, its train.json, and what is left of it. */
#include "cli/train/folder.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/io/ends_with.h"
#include "cli/io/replace_file.h"

#define PATH_MOST 4096

/* A run that was killed while it wrote its first file has not begun. */
static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	bool empty = true;
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    strcmp(e->d_name, ".train.json.new") != 0 &&
		    strncmp(e->d_name, ".hecate-", 8) != 0) /* of a writer that was killed */
			empty = false;
	if (dir)
		closedir(dir);
	return empty;
}

static bool print_settings(const void *user, FILE *out)
{
	settings_print(user, out);
	return true;
}

bool train_folder_write(const train_folder *f, const command *self, const train_settings *s)
{
	if (hec_train_lock_holds(f->lock, s->o.dir) != HEC_OK) {
		(void)command_failed(self, "%s", hec_error_message());
		return false;
	}
	if (replace_file(s->o.dir, "train.json", print_settings, s))
		return true;
	command_failed(self, "%s/train.json could not be written: %s", s->o.dir, strerror(errno));
	return false;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(const option_list *a, const option_list *b)
{
	bool same = a->count == b->count;
	for (size_t i = 0; same && i < a->count; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

/* A run has one model and one tokenizer from its first step on; others must not seem to be taken. */
static int check_kept(const command *self, const train_settings *s, const train_settings *was)
{
	char path[PATH_MOST];
	if (!same_text(s->o.from, was->o.from))
		return command_usage(self, "%s has its model: --from cannot be changed", s->o.dir);
	if (!same_list(&s->overrides, &was->overrides))
		return command_usage(self, "%s has its model: --override cannot be changed",
		                     s->o.dir);
	if (hec_train_can_resume(s->o.dir) &&
	    (!same_text(s->task, was->task) || s->o.max_length != was->o.max_length))
		return command_usage(self,
		                     "%s has its examples: neither --task nor --max-length "
		                     "can be changed",
		                     s->o.dir);
	snprintf(path, sizeof path, "%s/start/config.json", s->o.dir);
	if (!same_text(s->o.config, was->o.config) && access(path, F_OK) == 0)
		return command_usage(self, "%s has its architecture: --config cannot be changed",
		                     s->o.dir);
	snprintf(path, sizeof path, "%s/tokenizer.json", s->o.dir);
	if (access(path, F_OK) != 0 ||
	    (same_text(s->o.tokenizer, was->o.tokenizer) && s->o.vocab == was->o.vocab))
		return PARSED;
	return command_usage(self,
	                     "%s has its tokenizer: neither --tokenizer nor --vocab "
	                     "can be changed",
	                     s->o.dir);
}

/* Settings of the run in DIR, with those of the command line over them. */
int train_folder_resume(train_folder *f, const command *self, train_settings *s, int argc,
                        char **argv)
{
	char path[PATH_MOST], error[256];
	json_error_t why;
	int operands;
	const train_settings given = *s;
	snprintf(path, sizeof path, "%s/train.json", given.o.dir);
	if (access(path, F_OK) != 0 && is_empty(given.o.dir))
		return given.task ? PARSED /* nothing yet: it begins */
		                  : command_failed(self, "%s holds no run to resume", given.o.dir);
	f->old = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	if (!f->old)
		return command_failed(self, "%s holds no run to resume: train.json: %s",
		                      given.o.dir, why.text);
	settings_default(s);
	if (!settings_take_json(s, f->old, error, sizeof error))
		return command_failed(self, "%s: %s", given.o.dir, error);
	if (given.train.count)
		s->train.count = 0;
	if (given.valid.count)
		s->valid.count = 0;
	const train_settings was = *s;
	if (given.overrides.count)
		s->overrides.count = 0;
	int code = command_options(self, settings_options(s), argc, argv, &operands);
	/* Fine-tuning counts its steps by its epochs: other epochs, other steps. */
	if (s->o.from && given.o.epochs >= 0 && given.o.steps < 0)
		s->o.steps = 0;
	return code == PARSED ? check_kept(self, s, &was) : code;
}

/* The folders that DIR lies in; where one cannot be made, making DIR says why. */
static void make_parents(const char *out)
{
	char path[PATH_MOST];
	snprintf(path, sizeof path, "%s", out);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0777);
		*slash = '/';
	}
}

int train_folder_open(train_folder *f, const command *self, const train_settings *s)
{
	const char *out = s->o.dir;
	if (!s->o.resume && !is_empty(out))
		return command_failed(self, "%s is not empty: --resume goes on with the run in it",
		                      out);
	make_parents(out);
	f->made = mkdir(out, 0777) == 0;
	if (!f->made && errno != EEXIST)
		return command_failed(self, "%s could not be made: %s", out, strerror(errno));
	if (hec_train_lock_create(out, &f->lock) != HEC_OK)
		return command_failed(self, "%s", hec_error_message());
	f->fresh = is_empty(out);
	return f->old || train_folder_write(f, self, s) ? PARSED : EXIT_FAILED;
}

/* What a run makes before its first step; files of a tokenizer end so. */
static bool is_ours(const char *name)
{
	static const char *const names[] = {"train.json",
	                                    ".train.json.new",
	                                    "cache",
	                                    "start",
	                                    ".start",
	                                    "tokenizer.json",
	                                    "vocab.json",
	                                    "vocab.txt",
	                                    "merges.txt",
	                                    "tokenizer_config.json",
	                                    "special_tokens_map.json",
	                                    "added_tokens.json",
	                                    "checkpoint",
	                                    "log.jsonl",
	                                    "curve.svg",
	                                    "best"};
	static const char *const ends[] = {".spm", ".model", ".tmp"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (is_named(name, ends[i]))
			return true;
	return false;
}

#define DEEPEST 16 /* folders in DIR/start */

static void remove_in(const char *path, const char *name, int deeper);

static void empty_folder(const char *path, bool only_ours, int deeper)
{
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    (!only_ours || is_ours(e->d_name)))
			remove_in(path, e->d_name, deeper);
	if (dir)
		closedir(dir);
}

static void remove_in(const char *path, const char *name, int deeper)
{
	char inside[PATH_MOST];
	if ((size_t)snprintf(inside, sizeof inside, "%s/%s", path, name) >= sizeof inside ||
	    unlink(inside) == 0 || deeper == 0)
		return;
	empty_folder(inside, false, deeper - 1);
	rmdir(inside);
}

/* A run that failed before its first step shall not be in the way of the next: DIR was empty when we
 * took it, and is again, but for what somebody else put there since. */
void train_folder_forget(const train_folder *f, const char *out)
{
	if (hec_train_lock_holds(f->lock, out) != HEC_OK)
		return; /* what is there now is not ours to empty */
	empty_folder(out, true, DEEPEST);
	if (f->made)
		rmdir(out);
}

void train_folder_close(train_folder *f)
{
	json_decref(f->old);
	hec_train_lock_destroy(f->lock);
}
