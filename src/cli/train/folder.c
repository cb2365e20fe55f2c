/* folder.c — the folder of a run: whether it may be used, its train.json, and what is left of it. */
#include "cli/train/folder.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
	if (hec_train_can_resume(s->o.dir) && !same_text(s->effort, was->effort))
		return command_usage(self,
		                     "%s has its sizes: --effort cannot be changed; --epochs and "
		                     "--steps can",
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
	/* Steps that nobody asked for are counted by the epochs: other epochs, other steps. */
	if (given.o.epochs >= 0 && given.o.steps < 0)
		s->o.steps = -1;
	return code == PARSED ? check_kept(self, s, &was) : code;
}

int train_folder_open(train_folder *f, const command *self, const train_settings *s)
{
	const char *out = s->o.dir;
	if (!s->o.resume && !is_empty(out))
		return command_failed(self, "%s is not empty: --resume goes on with the run in it",
		                      out);
	if (hec_train_lock_create(out, &f->lock) != HEC_OK)
		return command_failed(self, "%s", hec_error_message());
	return f->old || train_folder_write(f, self, s) ? PARSED : EXIT_FAILED;
}

void train_folder_undo(const train_folder *f, const command *self, const char *out)
{
	static const char *const ours[] = {"train.json", ".train.json.new"};
	char path[PATH_MOST];
	if (f->old || hec_train_lock_holds(f->lock, out) != HEC_OK)
		return; /* what is there now is not ours to empty */
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
		snprintf(path, sizeof path, "%s/%s", out, ours[i]);
		(void)unlink(path);
	}
	if (hec_train_undo(f->lock, out) != HEC_OK)
		(void)command_failed(self, "%s", hec_error_message());
}

void train_folder_close(train_folder *f)
{
	json_decref(f->old);
	hec_train_lock_destroy(f->lock);
}
