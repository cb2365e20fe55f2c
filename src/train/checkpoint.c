/* checkpoint.c — saving so that nothing is lost. */
#include "train/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "model/model.h"
#include "tensor/check.h"
#include "train/folder.h"

#define PREFIX "step-"
#define HALF_DONE ".new-"
#define NAME_MOST 64

hec_status checkpoints_open(const char *dir, checkpoints *out)
{
	char *path;
	HEC_TRY(path_make(&path, "%s/checkpoint", dir));
	hec_status status = folder_make(path);
	if (status != HEC_OK) {
		free(path);
		return status;
	}
	*out = (checkpoints){.dir = path, .keep = 1};
	return HEC_OK;
}

void checkpoints_close(checkpoints *c)
{
	free(c->dir);
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

/* name "" where there is no checkpoint. */
static hec_status read_latest(const char *dir, char name[NAME_MOST])
{
	char *path, *text;
	size_t size;
	int64_t step;
	name[0] = '\0';
	HEC_TRY(path_make(&path, "%s/latest", dir));
	if (access(path, F_OK) != 0 && errno == ENOENT) {
		free(path);
		return HEC_OK;
	}
	hec_status status = file_read(path, NAME_MOST - 1, &text, &size);
	if (status == HEC_OK) {
		text[strcspn(text, "\n")] = '\0';
		if (step_of(text, &step))
			snprintf(name, NAME_MOST, "%s", text);
		else
			status = fail(HEC_ERR_FORMAT, "%s: does not name a checkpoint", path);
		free(text);
	}
	free(path);
	return status;
}

bool hec_train_can_resume(const char *dir)
{
	char *path, name[NAME_MOST];
	if (!dir || path_make(&path, "%s/checkpoint", dir) != HEC_OK)
		return false;
	bool can = read_latest(path, name) == HEC_OK && name[0];
	free(path);
	return can;
}

bool hec_train_checksums(const char *dir, uint32_t *train, uint32_t *valid)
{
	char *path = NULL, *file = NULL, name[NAME_MOST];
	run_state s;
	bool good = dir && train && valid && path_make(&path, "%s/checkpoint", dir) == HEC_OK &&
	            read_latest(path, name) == HEC_OK && name[0] &&
	            path_make(&file, "%s/%s/state.json", path, name) == HEC_OK &&
	            state_read(file, &s) == HEC_OK;
	free(path);
	free(file);
	if (good) {
		*train = s.identity.data;
		*valid = s.identity.valid;
	}
	return good;
}

/* ---- saving ---- */

static hec_status write_files(const checkpoints *c, hec_trainer *t, const run_state *s,
                              const char *folder)
{
	char *path;
	HEC_TRY(hec_trainer_save(t, folder));
	if (c->tokenizer)
		HEC_TRY(hec_tokenizer_save(c->tokenizer, folder));
	HEC_TRY(path_make(&path, "%s/state.json", folder));
	hec_status status = state_write(path, s);
	free(path);
	return status == HEC_OK ? folder_flush(folder) : status;
}

static hec_status write_state(const checkpoints *c, const char *name, const run_state *s)
{
	char *path;
	HEC_TRY(path_make(&path, "%s/%s/state.json", c->dir, name));
	hec_status status = state_write(path, s);
	free(path);
	return status;
}

static hec_status publish(const checkpoints *c, const char *folder, const char *name)
{
	char *path, line[NAME_MOST + 1];
	HEC_TRY(path_make(&path, "%s/%s", c->dir, name));
	hec_status status = folder_remove(path); /* left by a run that was killed: not the latest */
	if (status == HEC_OK && rename(folder, path) != 0)
		status = fail(HEC_ERR_IO, "%s: could not be put in place: %s", path,
		              strerror(errno));
	free(path);
	HEC_TRY(status);
	HEC_TRY(folder_flush(c->dir));
	HEC_TRY(path_make(&path, "%s/latest", c->dir));
	int length = snprintf(line, sizeof line, "%s\n", name);
	status = file_replace(path, line, (size_t)length);
	free(path);
	return status;
}

static bool is_regular(const checkpoints *c, int64_t step)
{
	return c->every == 0 || step % c->every == 0;
}

/* Nothing depends on this: where it fails, too much is kept. What a stop left in between does not
 * count, so that a run that was stopped often keeps what one keeps that was not. */
static void tidy(const checkpoints *c, const char *latest)
{
	char **names, *path;
	size_t count;
	int64_t newest = 0, step, kept = 0;
	(void)step_of(latest, &newest);
	if (names_by_step(c->dir, &names, &count) != HEC_OK)
		return;
	for (size_t i = count; i-- > 0;) {
		bool half = strncmp(names[i], HALF_DONE, strlen(HALF_DONE)) == 0;
		bool is_step = step_of(names[i], &step);
		bool regular = is_step && is_regular(c, step) && step <= newest && kept < c->keep;
		bool stays = regular || (is_step && step == newest);
		kept += regular;
		if ((half || (is_step && !stays)) &&
		    path_make(&path, "%s/%s", c->dir, names[i]) == HEC_OK) {
			(void)folder_remove(path);
			free(path);
		} else if (stays && step != newest &&
		           path_make(&path, "%s/%s/optimizer.safetensors", c->dir, names[i]) ==
		                   HEC_OK) {
			unlink(path);
			free(path);
		}
	}
	names_free(names, count);
}

hec_status checkpoint_save(const checkpoints *c, hec_trainer *t, const run_state *s)
{
	char name[NAME_MOST], latest[NAME_MOST], *folder;
	snprintf(name, sizeof name, PREFIX "%08lld", (long long)s->step);
	HEC_TRY(read_latest(c->dir, latest));
	if (strcmp(name, latest) == 0)
		return write_state(c, name, s); /* the weights of this very step are there */
	HEC_TRY(path_make(&folder, "%s/" HALF_DONE "%ld", c->dir, (long)getpid()));
	hec_status status = folder_remove(folder);
	if (status == HEC_OK)
		status = folder_make(folder);
	if (status == HEC_OK)
		status = write_files(c, t, s, folder);
	if (status == HEC_OK)
		status = publish(c, folder, name);
	if (status == HEC_OK) {
		tidy(c, name);
	} else {
		/* The message is about what went wrong, not about cleaning up. */
		char message[512];
		snprintf(message, sizeof message, "%s", hec_error_message());
		(void)folder_remove(folder);
		(void)fail(status, "%s", message);
	}
	free(folder);
	return status;
}

/* ---- loading ---- */

static hec_status load(const char *folder, hec_trainer *t, const run_identity *identity,
                       run_state *state)
{
	char *path;
	HEC_TRY(path_make(&path, "%s/state.json", folder));
	hec_status status = state_read(path, state);
	if (status == HEC_OK)
		status = identity_check(path, &state->identity, identity);
	if (status == HEC_OK)
		status = hec_trainer_load(t, folder);
	if (status == HEC_OK && hec_trainer_steps(t) != state->step)
		status = fail(HEC_ERR_FORMAT, "%s: is of step %lld, the weights beside it of %lld",
		              path, (long long)state->step, (long long)hec_trainer_steps(t));
	free(path);
	return status;
}

hec_status checkpoint_load(const checkpoints *c, hec_trainer *t, const run_identity *identity,
                           run_state *state, bool *found)
{
	char latest[NAME_MOST], *folder;
	*found = false;
	HEC_TRY(read_latest(c->dir, latest));
	if (!latest[0])
		return HEC_OK;
	HEC_TRY(path_make(&folder, "%s/%s", c->dir, latest));
	hec_status status = load(folder, t, identity, state);
	free(folder);
	*found = status == HEC_OK;
	return status;
}

/* ---- the mean of several ---- */

static hec_status read_mean(hec_ctx *ctx, char **folders, int64_t count, hec_model *out)
{
	return count == 0 ? HEC_OK
	                  : model_read_mean(ctx, (const char *const *)folders, (size_t)count, out);
}

hec_status checkpoint_average(const checkpoints *c, hec_ctx *ctx, int64_t n, int64_t step,
                              hec_model *out, int64_t *count)
{
	char **names, **folders;
	size_t listed;
	*count = 0;
	HEC_TRY(names_by_step(c->dir, &names, &listed));
	folders = calloc(listed + 1, sizeof *folders);
	hec_status status = folders ? HEC_OK : fail(HEC_ERR_MEMORY, "average: no memory for names");
	for (size_t i = listed; i-- > 0 && status == HEC_OK && *count < n;) {
		int64_t at;
		if (!step_of(names[i], &at) || at > step || !is_regular(c, at))
			continue;
		status = path_make(&folders[*count], "%s/%s", c->dir, names[i]);
		*count += status == HEC_OK;
	}
	if (status == HEC_OK)
		status = read_mean(ctx, folders, *count, out);
	names_free(names, listed);
	if (folders)
		names_free(folders, (size_t)*count);
	return status;
}
