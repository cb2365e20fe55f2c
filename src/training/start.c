/* start.c — the model before the first step, found and kept. */
#include "training/start.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/json.h"
#include "model/model.h"
#include "train/folder.h"
#include "training/settle.h"

static hec_status in_start(const hec_training *t, char path[PATH_MOST], const char *name)
{
	char start[PATH_MOST];
	HEC_TRY(path_in(start, t->o.dir, "start"));
	return path_in(path, start, name);
}

bool start_has_begun(const hec_training *t)
{
	char path[PATH_MOST];
	return (t->o.resume || t->config_is_kept) && t->o.dir &&
	       in_start(t, path, "config.json") == HEC_OK && access(path, F_OK) == 0;
}

hec_status start_home(const hec_training *t, char path[PATH_MOST])
{
	if (start_has_begun(t))
		return path_in(path, t->o.dir, "start");
	return path_in(path, t->o.from ? t->o.from : t->o.config, "");
}

/* DIR/start says already what was overridden. */
static hec_model_load_options load_options(const hec_training *t)
{
	hec_model_load_options o = HEC_MODEL_LOAD_OPTIONS_INIT;
	if (!start_has_begun(t)) {
		o.overrides = t->o.overrides;
		o.override_count = t->o.override_count;
	}
	return o;
}

hec_status start_read(hec_training *t, double *rate)
{
	char home[PATH_MOST];
	const hec_model_load_options o = load_options(t);
	HEC_TRY(start_home(t, home));
	/* Which keys can be overridden the model alone knows: the options were not wrong by themselves. */
	hec_status status = model_config_read_to_learn(home, &o, &t->given, rate);
	return status == HEC_ERR_ARGUMENT ? HEC_ERR_UNSUPPORTED : status;
}

/* Where this is killed, the next try reads `config` again. */
hec_status start_keep_config(hec_training *t)
{
	char from[PATH_MOST], start[PATH_MOST], to[PATH_MOST];
	struct stat info;
	if (!t->o.config || start_has_begun(t) || t->goes_on)
		return HEC_OK;
	const bool folder = stat(t->o.config, &info) == 0 && S_ISDIR(info.st_mode);
	HEC_TRY(path_in(from, t->o.config, folder ? "config.json" : ""));
	HEC_TRY(path_in(start, t->o.dir, "start"));
	HEC_TRY(in_start(t, to, "config.json"));
	HEC_TRY(folder_make(start));
	HEC_TRY(file_copy(from, to));
	t->config_is_kept = true;
	return HEC_OK;
}

/* ---- labels ---- */

hec_status start_labels(hec_training *t)
{
	char home[PATH_MOST];
	hec_ctx *ctx = NULL;
	hec_model *model = NULL;
	hec_model_load_options o = load_options(t);
	if (!t->o.from || t->o.task != HEC_TASK_CLASSIFY || t->labels.n == 0 ||
	    t->given.head != HEC_HEAD_CLASSIFY)
		return HEC_OK;
	HEC_TRY(start_home(t, home));
	o.to_measure = true;
	hec_status status = hec_ctx_create(NULL, &ctx);
	if (status == HEC_OK)
		status = hec_model_load(ctx, home, &o, &model);
	if (status == HEC_OK)
		status = label_list_adopt(&t->labels, model);
	hec_model_destroy(model);
	hec_ctx_destroy(ctx);
	return status;
}

/* ---- the model ---- */

/* Fresh only where the model has no such head, or not for these labels; and what was overridden. */
static hec_status load(hec_training *t)
{
	char home[PATH_MOST];
	hec_model_load_options o = load_options(t);
	hec_head head = head_of_task(t->o.task);
	HEC_TRY(start_home(t, home));
	o.seed = t->o.seed;
	o.unpacked = true;
	if (t->given.head != head)
		o.head = &head;
	if (t->o.task == HEC_TASK_CLASSIFY && !t->labels.ids) {
		o.head = &head;
		o.labels = (int64_t)t->labels.n;
		o.label_names = (const char *const *)t->labels.names;
		o.fresh_labels = true;
	}
	return hec_model_load(t->ctx, home, &o, &t->model);
}

/* So that whoever runs it writes the language that was learned, without being told. */
static hec_status say_language(const hec_training *t, const char *dir)
{
	char path[PATH_MOST];
	json_t *root;
	if (t->target_language < 0)
		return HEC_OK;
	HEC_TRY(path_in(path, dir, "generation_config.json"));
	HEC_TRY(json_file_read(path, JSON_CONFIG_MOST, &root));
	hec_status status = json_put(
		root, t->language_starts_decoder ? "decoder_start_token_id" : "forced_bos_token_id",
		json_integer(t->target_language));
	if (status == HEC_OK)
		status = json_file_write(path, root);
	json_decref(root);
	return status;
}

/* Where our config.json says nothing of a key that was overridden, the model is as if it was not there. */
static hec_status drop_overridden(const hec_training *t, const char *path, const json_t *own)
{
	json_t *now;
	char key[128];
	HEC_TRY(json_file_read(path, JSON_CONFIG_MOST, &now));
	for (size_t i = 0; i < t->o.override_count; i++) {
		const char *text = t->o.overrides[i];
		snprintf(key, sizeof key, "%.*s", (int)strcspn(text, ".="), text);
		if (!json_object_get(own, key))
			(void)json_object_del(now, key);
	}
	hec_status status = json_file_write(path, now);
	json_decref(now);
	return status;
}

/* What the directory says besides, less what is overridden. */
static hec_status carry_rest(const hec_training *t, const char *dir)
{
	char path[PATH_MOST];
	json_t *own;
	HEC_TRY(path_in(path, dir, "config.json"));
	HEC_TRY(json_file_read(path, JSON_CONFIG_MOST, &own));
	hec_status status = hec_train_carry(t->o.from, dir);
	if (status == HEC_OK && t->o.override_count > 0)
		status = drop_overridden(t, path, own);
	json_decref(own);
	return status;
}

static hec_status save_into(const hec_training *t, const char *dir)
{
	HEC_TRY(folder_make(dir));
	HEC_TRY(hec_tokenizer_save(t->tokenizer, dir));
	HEC_TRY(hec_model_save(t->ctx, t->model, HEC_F32, dir));
	HEC_TRY(carry_rest(t, dir));
	return say_language(t, dir);
}

/* Under another name until it is whole: where this is killed, the next try begins again from `from`, and what
 * lies there of this one goes. */
static hec_status save_start(const hec_training *t)
{
	char half[PATH_MOST], path[PATH_MOST];
	HEC_TRY(path_in(half, t->o.dir, ".start"));
	HEC_TRY(path_in(path, t->o.dir, "start"));
	HEC_TRY(folder_remove_deep(half));
	HEC_TRY(folder_remove_deep(path));
	HEC_TRY(save_into(t, half));
	if (rename(half, path) != 0)
		return fail(HEC_ERR_IO, "%s: could not be renamed: %s", half, strerror(errno));
	return folder_flush(t->o.dir);
}

/* Its files were read twice: before the text, and now. */
static hec_status check_unchanged(const hec_training *t)
{
	const hec_model_config *now = hec_model_config_of(t->model), *then = &t->given;
	if (now->vocab != then->vocab || now->width != then->width ||
	    now->encoder.layers != then->encoder.layers ||
	    now->decoder.layers != then->decoder.layers)
		return fail(HEC_ERR_IO, "%s: changed while it was read", t->o.from);
	return HEC_OK;
}

hec_status start_model(hec_training *t)
{
	HEC_TRY(load(t));
	HEC_TRY(check_unchanged(t));
	HEC_TRY(set_dropouts(t));
	if (t->target_language >= 0 && t->language_starts_decoder)
		HEC_TRY(hec_model_set_start(t->model, t->target_language));
	return start_has_begun(t) ? HEC_OK : save_start(t);
}
