/* best.c — another metric is chosen when a run is resumed: its best model goes into DIR, and the one that
 * lay there to those of the other metrics.
 *
 * Files are shared by links: whoever writes one puts a new file in its place. Killed at any moment, both
 * models are somewhere whole; the state, which says whose DIR is, is written after both are in their place.
 * Until then the next resume does again what is missing, or takes it back where the old metric is asked for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "train/carry.h"
#include "train/folder.h"
#include "train/run.h"

static hec_status share_file(const char *from_dir, const char *to_dir, const char *name)
{
	char *from = NULL, *to = NULL, *beside = NULL;
	struct stat info;
	hec_status status = path_make(&from, "%s/%s", from_dir, name);
	if (status == HEC_OK)
		status = path_make(&to, "%s/%s", to_dir, name);
	if (status == HEC_OK)
		status = path_make(&beside, "%s/" TEMP_PREFIX "%ld-best" TEMP_SUFFIX, to_dir,
		                   (long)getpid());
	if (status == HEC_OK && lstat(from, &info) == 0 && S_ISREG(info.st_mode)) {
		unlink(beside);
		if (link(from, beside) != 0 || rename(beside, to) != 0)
			status = file_copy(from, to); /* not every file system has links */
		unlink(beside); /* a rename to a link of the same file does nothing */
	}
	mem_free(from);
	mem_free(to);
	mem_free(beside);
	return status;
}

/* Those that come by themselves, and those of the run. */
static bool is_of_model(const char *name)
{
	static const char *const others[] = {"train.json", "log.jsonl", "curve.svg", "config.json",
	                                     "modules.json"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(name, others[i]) == 0)
			return false;
	return name[0] != '.';
}

/* config.json comes last, as when a model is saved. */
static hec_status share_model(const char *from, const char *to)
{
	char **names;
	size_t count;
	HEC_TRY(folder_names(from, "", &names, &count));
	hec_status status = HEC_OK;
	for (size_t i = 0; i < count && status == HEC_OK; i++)
		if (is_of_model(names[i]))
			status = share_file(from, to, names[i]);
	names_free(names, count);
	if (status == HEC_OK)
		status = carry_modules(from, to);
	if (status == HEC_OK)
		status = share_file(from, to, "config.json");
	return status == HEC_OK ? folder_flush(to) : status;
}

/* With the folders of its modules. */
static hec_status remove_model(const char *dir)
{
	struct stat info;
	char **names, *inside;
	size_t count;
	if (lstat(dir, &info) != 0 || !S_ISDIR(info.st_mode))
		return folder_remove(dir);
	HEC_TRY(folder_names(dir, "", &names, &count));
	hec_status status = HEC_OK;
	for (size_t i = 0; i < count && status == HEC_OK; i++) {
		status = path_make(&inside, "%s/%s", dir, names[i]);
		if (status != HEC_OK)
			break;
		if (lstat(inside, &info) == 0 && S_ISDIR(info.st_mode))
			status = folder_remove(inside);
		mem_free(inside);
	}
	names_free(names, count);
	return status == HEC_OK ? folder_remove(dir) : status;
}

static bool holds_model(const char *dir)
{
	char *path;
	if (path_make(&path, "%s/config.json", dir) != HEC_OK)
		return false;
	bool holds = access(path, F_OK) == 0;
	mem_free(path);
	return holds;
}

/* DIR's model to best/NAME, whole or not at all. */
static hec_status put_away(const char *dir, const char *best, const char *to)
{
	char *half;
	HEC_TRY(folder_make(best));
	HEC_TRY(path_make(&half, "%s/" HALF_FOLDER, best));
	hec_status status = remove_model(half);
	if (status == HEC_OK)
		status = folder_make(half);
	if (status == HEC_OK)
		status = share_model(dir, half);
	if (status == HEC_OK)
		status = remove_model(to); /* no whole model */
	if (status == HEC_OK && rename(half, to) != 0)
		status = fail(HEC_ERR_IO, "%s: could not be put in place: %s", to, strerror(errno));
	mem_free(half);
	return status == HEC_OK ? folder_flush(best) : status;
}

static hec_status swap(run *r, const char *best, const char *was, const char *is)
{
	run_state *s = &r->state;
	/* It is there already where an earlier attempt came so far; then DIR may be half the other's. */
	if (s->best_step[s->chosen] > 0 && holds_model(r->o.dir) && !holds_model(was))
		HEC_TRY(put_away(r->o.dir, best, was));
	if (holds_model(is))
		HEC_TRY(share_model(is, r->o.dir));
	s->chosen = (int)r->o.best;
	s->stale = 0;
	return checkpoint_save(&r->checkpoints, r->trainer, s);
}

hec_status run_choose(run *r)
{
	run_state *s = &r->state;
	char *best = NULL, *was = NULL, *is = NULL;
	if (s->chosen < 0) {
		s->chosen = (int)r->o.best;
		return HEC_OK;
	}
	hec_status status = path_make(&best, "%s/best", r->o.dir);
	if (status == HEC_OK)
		status = path_make(&was, "%s/%s", best, hec_metric_name((hec_metric)s->chosen));
	if (status == HEC_OK)
		status = path_make(&is, "%s/%s", best, hec_metric_name(r->o.best));
	if (status == HEC_OK && s->chosen != (int)r->o.best)
		status = swap(r, best, was, is);
	else if (status == HEC_OK && holds_model(is))
		status = share_model(
			is, r->o.dir); /* a swap that came no further than to put it away */
	/* What is in DIR is not kept a second time. */
	if (status == HEC_OK)
		status = remove_model(is);
	mem_free(best);
	mem_free(was);
	mem_free(is);
	return status;
}
