/* checkpoint.c — saving so that nothing is lost. */
#include "train/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/model.h"
#include "tensor/check.h"
#include "train/folder.h"
#include "train/sums.h"

#define OPTIMIZER "optimizer.safetensors" /* in the newest alone */
#define PREFIX "step-"
#define HALF_DONE ".new-" /* not whole yet, or not any more */
#define NAME_MOST 64

hec_status checkpoints_open(const char *dir, checkpoints *out)
{
	char *path;
	HEC_TRY(path_make(&path, "%s/checkpoint", dir));
	hec_status status = folder_make(path);
	if (status != HEC_OK) {
		mem_free(path);
		return status;
	}
	*out = (checkpoints){.dir = path, .keep = 1};
	return HEC_OK;
}

void checkpoints_close(checkpoints *c)
{
	mem_free(c->dir);
	*c = (checkpoints){0};
}

/* ---- latest ---- */

static bool step_of(const char *name, int64_t *step)
{
	const char *number = name + strlen(PREFIX);
	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return false;
	size_t digits = strspn(number, "0123456789");
	if (digits == 0 || digits > 18 || number[digits] != '\0')
		return false;
	*step = strtoll(number, NULL, 10);
	return true;
}

/* By their steps, those without one first: as text, step-100000000 stands before step-99999999. */
static int by_step(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	int64_t left = -1, right = -1;
	(void)step_of(x, &left);
	(void)step_of(y, &right);
	return left != right ? (left > right) - (left < right) : strcmp(x, y);
}

static hec_status names_by_step(const char *dir, char ***names, size_t *count)
{
	HEC_TRY(folder_names(dir, "", names, count));
	if (*count > 0)
		qsort(*names, *count, sizeof **names, by_step);
	return HEC_OK;
}

static hec_status find_newest(const char *dir, char name[NAME_MOST])
{
	char **names;
	size_t count;
	int64_t step;
	if (access(dir, F_OK) != 0 && errno == ENOENT)
		return HEC_OK;
	HEC_TRY(names_by_step(dir, &names, &count));
	if (count > 0 && step_of(names[count - 1], &step))
		snprintf(name, NAME_MOST, "%s", names[count - 1]);
	names_free(names, count);
	return HEC_OK;
}

/* name "" where there is no checkpoint. One that has its name is whole: where `latest` is gone, it is the newest,
 * and a run that began again would remove it. */
static hec_status read_latest(const char *dir, char name[NAME_MOST])
{
	char *path, *text;
	size_t size;
	int64_t step;
	name[0] = '\0';
	HEC_TRY(path_make(&path, "%s/latest", dir));
	if (access(path, F_OK) != 0 && errno == ENOENT) {
		mem_free(path);
		return find_newest(dir, name);
	}
	hec_status status = file_read(path, NAME_MOST - 1, &text, &size);
	if (status == HEC_OK) {
		text[strcspn(text, "\n")] = '\0';
		if (step_of(text, &step))
			snprintf(name, NAME_MOST, "%s", text);
		else
			status = fail(HEC_ERR_FORMAT, "%s: does not name a checkpoint", path);
		mem_free(text);
	}
	mem_free(path);
	return status;
}

hec_status train_holds_run(const char *dir, bool *yes)
{
	char *path, name[NAME_MOST];
	HEC_TRY(path_make(&path, "%s/checkpoint", dir));
	hec_status status = read_latest(path, name);
	*yes = status == HEC_OK && name[0];
	mem_free(path);
	return status;
}

bool hec_train_can_resume(const char *dir)
{
	bool yes = false;
	return dir && train_holds_run(dir, &yes) == HEC_OK && yes;
}

bool hec_train_checksums(const char *dir, uint32_t *train, uint32_t *valid)
{
	char *path = NULL, *file = NULL, name[NAME_MOST];
	run_state s;
	bool good = dir && train && valid && path_make(&path, "%s/checkpoint", dir) == HEC_OK &&
	            read_latest(path, name) == HEC_OK && name[0] &&
	            path_make(&file, "%s/%s/state.json", path, name) == HEC_OK &&
	            state_read(file, &s, NULL) == HEC_OK;
	mem_free(path);
	mem_free(file);
	if (good) {
		*train = s.identity.data;
		*valid = s.identity.valid;
	}
	return good;
}

/* ---- saving ---- */

/* Whoever moved the folder may have put another's in its place. */
static hec_status check_held(const checkpoints *c)
{
	return c->lock ? hec_train_lock_holds(c->lock, c->run) : HEC_OK;
}

/* Last, as it has the sums of all others. */
static hec_status write_first_state(const char *folder, const run_state *s)
{
	char *path;
	json_t *files;
	HEC_TRY(sums_make(folder, &files));
	hec_status status = path_make(&path, "%s/state.json", folder);
	if (status == HEC_OK) {
		status = state_write(path, s, files);
		mem_free(path);
	}
	json_decref(files);
	return status;
}

static hec_status write_files(const checkpoints *c, hec_trainer *t, const run_state *s,
                              const char *folder)
{
	HEC_TRY(hec_trainer_save(t, folder));
	if (c->tokenizer)
		HEC_TRY(hec_tokenizer_save(c->tokenizer, folder));
	HEC_TRY(write_first_state(folder, s));
	return folder_flush(folder);
}

/* The weights of this very step are there, and their sums in the state. */
static hec_status write_state_again(const checkpoints *c, const char *name, const run_state *s)
{
	char *path;
	run_state was;
	json_t *files = NULL;
	HEC_TRY(path_make(&path, "%s/%s/state.json", c->dir, name));
	hec_status status = state_read(path, &was, &files);
	if (status == HEC_OK)
		status = state_write(path, s, files);
	json_decref(files);
	mem_free(path);
	return status;
}

/* By another name first: what is left of it when we are killed shall not pass for a checkpoint. */
static hec_status discard(const checkpoints *c, const char *name)
{
	char *path = NULL, *half = NULL;
	hec_status status = path_make(&path, "%s/%s", c->dir, name);
	if (status == HEC_OK)
		status = path_make(&half, "%s/" HALF_DONE "%s", c->dir, name);
	if (status == HEC_OK)
		status = folder_remove(half);
	if (status == HEC_OK && rename(path, half) != 0 && errno != ENOENT)
		status = fail(HEC_ERR_IO, "%s: could not be removed: %s", path, strerror(errno));
	if (status == HEC_OK)
		status = folder_remove(half);
	mem_free(path);
	mem_free(half);
	return status;
}

static hec_status name_latest(const checkpoints *c, const char *name)
{
	char *path, line[NAME_MOST + 1];
	int length = snprintf(line, sizeof line, "%s\n", name);
	HEC_TRY(path_make(&path, "%s/latest", c->dir));
	hec_status status = file_replace(path, line, (size_t)length);
	mem_free(path);
	return status;
}

static hec_status publish(const checkpoints *c, const char *folder, const char *name)
{
	char *path;
	HEC_TRY(check_held(c));
	HEC_TRY(discard(c, name)); /* left by a run that was killed: not the latest */
	HEC_TRY(path_make(&path, "%s/%s", c->dir, name));
	hec_status status = HEC_OK;
	if (rename(folder, path) != 0)
		status = fail(HEC_ERR_IO, "%s: could not be put in place: %s", path,
		              strerror(errno));
	mem_free(path);
	HEC_TRY(status);
	HEC_TRY(folder_flush(c->dir));
	HEC_TRY(check_held(c));
	return name_latest(c, name);
}

static bool is_regular(const checkpoints *c, int64_t step)
{
	return c->every == 0 || step % c->every == 0;
}

static void drop_optimizer(const checkpoints *c, const char *name)
{
	char *path;
	if (path_make(&path, "%s/%s/" OPTIMIZER, c->dir, name) != HEC_OK)
		return;
	unlink(path);
	mem_free(path);
}

/* One that does not go, as somebody's folder is in it, keeps its name. */
static void remove_half(const checkpoints *c, const char *name)
{
	char *path;
	if (path_make(&path, "%s/%s", c->dir, name) != HEC_OK)
		return;
	(void)folder_remove(path);
	mem_free(path);
}

/* Nothing depends on this: where it fails, or we are killed, too much is kept until the next time. What a
 * stop left in between does not count, so that a run that was stopped often keeps what one keeps that was
 * not. */
static void tidy(const checkpoints *c, const char *latest)
{
	char **names;
	size_t count;
	int64_t newest = 0, step, kept = 0;
	(void)step_of(latest, &newest);
	if (check_held(c) != HEC_OK || names_by_step(c->dir, &names, &count) != HEC_OK)
		return;
	for (size_t i = count; i-- > 0;) {
		bool half = strncmp(names[i], HALF_DONE, strlen(HALF_DONE)) == 0;
		bool is_step = step_of(names[i], &step);
		bool regular = is_step && is_regular(c, step) && step <= newest && kept < c->keep;
		bool stays = regular || (is_step && step == newest);
		kept += regular;
		if (half)
			remove_half(c, names[i]);
		else if (is_step && !stays)
			(void)discard(c, names[i]);
		else if (stays && step != newest)
			drop_optimizer(c, names[i]);
	}
	names_free(names, count);
}

static hec_status save_whole(const checkpoints *c, hec_trainer *t, const run_state *s,
                             const char *name)
{
	char *folder;
	HEC_TRY(check_held(c));
	HEC_TRY(folder_make(c->dir)); /* somebody may have removed it meanwhile */
	HEC_TRY(path_make(&folder, "%s/" HALF_DONE "%ld", c->dir, (long)getpid()));
	hec_status status = folder_remove(folder);
	if (status == HEC_OK)
		status = folder_make(folder);
	if (status == HEC_OK)
		status = write_files(c, t, s, folder);
	if (status == HEC_OK)
		status = publish(c, folder, name);
	if (status != HEC_OK) {
		/* The message is about what went wrong, not about cleaning up. */
		char message[512];
		snprintf(message, sizeof message, "%s", hec_error_message());
		if (check_held(c) == HEC_OK)
			(void)folder_remove(folder);
		(void)fail(status, "%s", message);
	}
	mem_free(folder);
	return status;
}

hec_status checkpoint_save(const checkpoints *c, hec_trainer *t, const run_state *s)
{
	char name[NAME_MOST], latest[NAME_MOST];
	snprintf(name, sizeof name, PREFIX "%08lld", (long long)s->step);
	HEC_TRY(check_held(c));
	HEC_TRY(read_latest(c->dir, latest));
	HEC_TRY(strcmp(name, latest) == 0 ? write_state_again(c, name, s)
	                                  : save_whole(c, t, s, name));
	tidy(c, name);
	return HEC_OK;
}

/* ---- loading ---- */

static hec_status check_place(const char *path, const char *name, const run_state *s)
{
	int64_t step;
	if (step_of(name, &step) && step == s->step)
		return HEC_OK;
	return fail(HEC_ERR_FORMAT, "%s: is of step %lld, its folder is called %s", path,
	            (long long)s->step, name);
}

/* The state, once every file beside it is seen to be what was written with it. but: one that may be missing. */
static hec_status read_checked(const checkpoints *c, const char *name, const char *but,
                               const run_identity *identity, run_state *state)
{
	char *folder, *path;
	run_state s;
	json_t *files = NULL;
	HEC_TRY(path_make(&folder, "%s/%s", c->dir, name));
	hec_status status = path_make(&path, "%s/state.json", folder);
	if (status == HEC_OK) {
		status = state_read(path, &s, &files);
		if (status == HEC_OK)
			status = identity_check(path, &s.identity, identity);
		if (status == HEC_OK)
			status = check_place(path, name, &s);
		mem_free(path);
	}
	if (status == HEC_OK)
		status = sums_check(folder, files, but);
	if (status == HEC_OK)
		*state = s;
	json_decref(files);
	mem_free(folder);
	return status;
}

typedef enum use {
	OF_NO_USE,
	TO_BEGIN_FROM, /* the optimizer is not there, as in all but the newest */
	TO_GO_ON_FROM
} use;

static use use_of(const checkpoints *c, const char *name, const run_identity *identity)
{
	run_state s;
	if (read_checked(c, name, NULL, identity, &s) == HEC_OK)
		return TO_GO_ON_FROM;
	return read_checked(c, name, OPTIMIZER, identity, &s) == HEC_OK ? TO_BEGIN_FROM : OF_NO_USE;
}

/* The newest of the others that is of use: only what was just seen to be whole. */
static use find_other(const checkpoints *c, const char *damaged, const run_identity *identity,
                      char name[NAME_MOST])
{
	char **names;
	size_t count;
	int64_t step;
	use of = OF_NO_USE;
	if (names_by_step(c->dir, &names, &count) != HEC_OK)
		return OF_NO_USE;
	for (size_t i = count; i-- > 0 && of == OF_NO_USE;) {
		if (!step_of(names[i], &step) || strcmp(names[i], damaged) == 0)
			continue;
		of = use_of(c, names[i], identity);
		snprintf(name, NAME_MOST, "%s", names[i]);
	}
	names_free(names, count);
	return of;
}

/* What is wrong, and what can be done. */
static hec_status advise(const checkpoints *c, const char *damaged, const run_identity *identity,
                         hec_status status)
{
	char message[512], name[NAME_MOST];
	snprintf(message, sizeof message, "%s", hec_error_message());
	switch (find_other(c, damaged, identity, name)) {
	case TO_GO_ON_FROM:
		return fail(
			status,
			"%s; %s/%s is whole: with its name in %s/latest the run goes on from it",
			message, c->dir, name, c->dir);
	case TO_BEGIN_FROM:
		return fail(status,
		            "%s; the weights of %s/%s are whole: a new run can begin from them",
		            message, c->dir, name);
	case OF_NO_USE:
		break;
	}
	return fail(status, "%s", message);
}

static hec_status load(const checkpoints *c, const char *name, hec_trainer *t,
                       const run_identity *identity, run_state *state)
{
	char *folder;
	hec_status status = read_checked(c, name, NULL, identity, state);
	if (status != HEC_OK)
		return advise(c, name, identity, status);
	HEC_TRY(path_make(&folder, "%s/%s", c->dir, name));
	status = hec_trainer_load(t, folder);
	if (status == HEC_OK && hec_trainer_steps(t) != state->step)
		status = fail(HEC_ERR_FORMAT,
		              "%s: its state is of step %lld, the weights beside it of %lld",
		              folder, (long long)state->step, (long long)hec_trainer_steps(t));
	mem_free(folder);
	return status;
}

/* A full disk is no reason not to go on: without a name, the newest counts. */
static void name_again(const checkpoints *c, const char *name)
{
	char *path;
	if (path_make(&path, "%s/latest", c->dir) != HEC_OK)
		return;
	if (access(path, F_OK) != 0 && check_held(c) == HEC_OK)
		(void)name_latest(c, name);
	mem_free(path);
}

hec_status checkpoint_load(const checkpoints *c, hec_trainer *t, const run_identity *identity,
                           run_state *state, bool *found)
{
	char latest[NAME_MOST];
	*found = false;
	HEC_TRY(read_latest(c->dir, latest));
	if (!latest[0])
		return HEC_OK;
	HEC_TRY(load(c, latest, t, identity, state));
	name_again(c, latest);
	tidy(c, latest);
	*found = true;
	return HEC_OK;
}

/* ---- the mean of several ---- */

static hec_status read_mean(hec_ctx *ctx, char **folders, int64_t count, hec_model *out)
{
	return count == 0 ? HEC_OK
	                  : model_read_mean(ctx, (const char *const *)folders, (size_t)count, out);
}

/* Adds its folder to those of the mean. One that is damaged ends it: a mean of fewer would be another model. */
static hec_status add_to_mean(const checkpoints *c, const char *name, const run_identity *identity,
                              char **folder)
{
	char latest[NAME_MOST], message[512];
	run_state s;
	hec_status status = read_checked(c, name, OPTIMIZER, identity, &s);
	if (status == HEC_OK)
		return path_make(folder, "%s/%s", c->dir, name);
	snprintf(message, sizeof message, "%s", hec_error_message());
	if (read_latest(c->dir, latest) != HEC_OK || strcmp(latest, name) == 0)
		return fail(status, "%s", message);
	return fail(status, "%s; once %s/%s is removed, the mean is that of the others", message,
	            c->dir, name);
}

hec_status checkpoint_average(const checkpoints *c, hec_ctx *ctx, int64_t n, int64_t step,
                              const run_identity *identity, hec_model *out, int64_t *count)
{
	char **names, **folders;
	size_t listed;
	*count = 0;
	HEC_TRY(names_by_step(c->dir, &names, &listed));
	folders = mem_zeros(listed + 1, sizeof *folders);
	hec_status status = folders ? HEC_OK : fail(HEC_ERR_MEMORY, "average: no memory for names");
	for (size_t i = listed; i-- > 0 && status == HEC_OK && *count < n;) {
		int64_t at;
		if (!step_of(names[i], &at) || at > step || !is_regular(c, at))
			continue;
		status = add_to_mean(c, names[i], identity, &folders[*count]);
		*count += status == HEC_OK;
	}
	if (status == HEC_OK)
		status = read_mean(ctx, folders, *count, out);
	names_free(names, listed);
	if (folders)
		names_free(folders, (size_t)*count);
	return status;
}
