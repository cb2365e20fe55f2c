/* from.c — what a pretrained directory gives: architecture, weights, tokenizer, labels; and the
 * architecture that --config gives. */
#include "cli/train/from.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/model/load.h"
#include "cli/io/replace_file.h"
#include "cli/model/target_tokenizer.h"
#include "cli/train/model.h"
#include "cli/command/try.h"

#define PATH_MOST 4096

static bool has_begun(const train_settings *s)
{
	char path[PATH_MOST];
	snprintf(path, sizeof path, "%s/start/config.json", s->out ? s->out : "");
	return s->resume && s->out && access(path, F_OK) == 0;
}

void train_from_home(const train_settings *s, char path[4096])
{
	if (has_begun(s))
		snprintf(path, PATH_MOST, "%s/start", s->out);
	else
		snprintf(path, PATH_MOST, "%s", s->from ? s->from : s->config);
}

/* DIR/start says already what was overridden. */
static hec_model_load_options options_of(const train_settings *s)
{
	static const option_list none;
	return model_load_options(has_begun(s) ? &none : &s->overrides);
}

static hec_status read_config(const train_settings *s, const char *home, hec_model_config *c)
{
	const hec_model_load_options o = options_of(s);
	return hec_model_config_read(home, &o, c);
}

/* ---- --config ---- */

static bool copy(const void *user, FILE *out)
{
	FILE *in = *(FILE *const *)user;
	char piece[4096];
	bool good = true;
	for (size_t n; good && (n = fread(piece, 1, sizeof piece, in)) > 0;)
		good = fwrite(piece, 1, n, out) == n;
	return good && !ferror(in);
}

/* A run that is killed here reads --config again. */
bool train_keep_config(const train_settings *s, char *error, size_t room)
{
	char from[PATH_MOST], home[PATH_MOST];
	struct stat info;
	if (!s->config || has_begun(s) || hec_train_can_resume(s->out))
		return true;
	bool folder = stat(s->config, &info) == 0 && S_ISDIR(info.st_mode);
	snprintf(from, sizeof from, "%s%s", s->config, folder ? "/config.json" : "");
	snprintf(home, sizeof home, "%s/start", s->out);
	(void)mkdir(home, 0777); /* where it fails, writing into it says why */
	FILE *in = fopen(from, "rb");
	const bool good = in && replace_file(home, "config.json", copy, &in);
	if (!good)
		snprintf(error, room, "%.100s could not be copied to %.100s/config.json: %s", from,
		         home, strerror(errno));
	if (in)
		fclose(in);
	return good;
}

/* ---- config.json ---- */

static hec_head head_of(hec_task task)
{
	switch (task) {
	case HEC_TASK_MLM:
		return HEC_HEAD_MASKED;
	case HEC_TASK_CLASSIFY:
		return HEC_HEAD_CLASSIFY;
	case HEC_TASK_ANSWER:
		return HEC_HEAD_ANSWER;
	case HEC_TASK_TRANSLATE:
	case HEC_TASK_SEQ2SEQ:
	case HEC_TASK_LM:
		break;
	}
	return HEC_HEAD_LM;
}

/* Classifying and answering any stack can learn; whether its family has such a head, loading shows. */
static const char *stacks_wanted(hec_task task, const hec_model_config *c)
{
	const bool encoder = c->encoder.layers > 0, decoder = c->decoder.layers > 0;
	if ((task == HEC_TASK_TRANSLATE || task == HEC_TASK_SEQ2SEQ) && !(encoder && decoder))
		return "an encoder and a decoder";
	if (task == HEC_TASK_LM && encoder)
		return "a decoder alone";
	if (task == HEC_TASK_MLM && decoder)
		return "an encoder alone";
	return NULL;
}

static bool settle_length(train_settings *s, const hec_model_config *c, const char *home,
                          char *error, size_t room)
{
	if (!train_take_length(s, c, home, error, room))
		return false;
	if (s->stride < 0)
		s->stride = s->max_length / 3;
	if (s->task_id == HEC_TASK_ANSWER && s->stride >= s->max_length - 1) {
		snprintf(error, room, "--stride %lld leaves nothing of a window of %lld tokens",
		         (long long)s->stride, (long long)s->max_length);
		return false;
	}
	return true;
}

/* A model that reads sounds learns what is spoken there; one that reads text has no use for what says that. */
static bool take_sounds(train_settings *s, const hec_model_config *c, const char *home, char *error,
                        size_t room)
{
	s->sounds = c->front.features > 0;
	s->places = s->sounds ? c->encoder.position.max : 0;
	s->mels = c->front.features;
	error[0] = '\0';
	if (!s->sounds && (s->language || s->speech_task))
		snprintf(error, room, "%.100s: reads text; %s is for sounds", home,
		         s->language ? "--language" : "--speech-task");
	else if (s->sounds && !hec_audio_available())
		snprintf(error, room,
		         "%.100s: reads sound, and this build does not: libsndfile and "
		         "libsamplerate were missing",
		         home);
	else if (s->sounds && s->task_id != HEC_TASK_SEQ2SEQ)
		snprintf(error, room,
		         "%.100s: reads sound (%lld mel bands); seq2seq is what it learns, from "
		         "lines of sound file, tab, text",
		         home, (long long)s->mels);
	else if (s->sounds && (s->source_prefix || s->from_lang || s->to_lang))
		snprintf(error, room, "%.100s: reads sound; %s is for text", home,
		         s->source_prefix ? "--source-prefix"
		         : s->from_lang   ? "--from-lang"
		                          : "--to-lang");
	return !error[0];
}

bool train_from_read(train_settings *s, char *error, size_t room)
{
	char home[PATH_MOST];
	hec_model_config c;
	train_from_home(s, home);
	if (read_config(s, home, &c) != HEC_OK) {
		snprintf(error, room, "%s", hec_error_message());
		return false;
	}
	if (!take_sounds(s, &c, home, error, room))
		return false;
	const char *wanted = stacks_wanted(s->task_id, &c);
	if (wanted) {
		snprintf(error, room, "%.100s: %lld encoder and %lld decoder layers; %s wants %s",
		         home, (long long)c.encoder.layers, (long long)c.decoder.layers, s->task,
		         wanted);
		return false;
	}
	const hec_stack_config *stack = c.encoder.layers > 0 ? &c.encoder : &c.decoder;
	if (s->vocab != 0 && s->vocab != c.vocab) {
		snprintf(error, room, "--vocab is %lld; the model of %.100s has %lld words",
		         (long long)s->vocab, home, (long long)c.vocab);
		return false;
	}
	s->vocab = c.vocab;
	if (s->lr < 0)
		s->lr = s->sounds                                       ? 1e-5
		        : stack->position.kind == HEC_POSITION_RELATIVE ? 3e-4
		                                                        : 5e-5;
	if (s->smoothing < 0)
		s->smoothing = 0;
	if (!train_take_sizes(s, &c, home, error, room))
		return false;
	return settle_length(s, &c, home, error, room);
}

/* ---- labels ---- */

typedef struct label {
	const char *name;
	int32_t id;
} label;

static int by_name(const void *a, const void *b)
{
	return strcmp(((const label *)a)->name, ((const label *)b)->name);
}

/* The labels of a model that classifies, sorted by name; *n 0: it has none, or they are not all named. */
static label *read_labels(const hec_model *model, size_t *n)
{
	const size_t count = (size_t)hec_model_config_of(model)->labels;
	label *list = calloc(count, sizeof *list);
	*n = 0;
	for (size_t i = 0; list && i < count; i++) {
		list[i] = (label){hec_model_label(model, (int64_t)i), (int32_t)i};
		if (!list[i].name) {
			free(list);
			return NULL;
		}
	}
	if (list) {
		qsort(list, count, sizeof *list, by_name);
		*n = count;
	}
	return list;
}

static bool all_known(const train_data *d, const label *list, size_t n)
{
	size_t at = 0;
	for (size_t i = 0; i < d->n_labels; i++) {
		while (at < n && strcmp(list[at].name, d->labels[i]) < 0)
			at++;
		if (at == n || strcmp(list[at].name, d->labels[i]) != 0)
			return false;
	}
	for (size_t i = 1; i < n; i++)
		if (strcmp(list[i - 1].name, list[i].name) == 0)
			return false;
	return true;
}

static hec_status take_labels(train_data *d, const label *list, size_t n)
{
	char **names = calloc(n, sizeof *names);
	int32_t *ids = calloc(n, sizeof *ids);
	bool good = names && ids;
	for (size_t i = 0; good && i < n; i++) {
		names[i] = strdup(list[i].name);
		ids[i] = list[i].id;
		good = names[i] != NULL;
	}
	char **drop = good ? d->labels : names;
	size_t dropped = good ? d->n_labels : n;
	for (size_t i = 0; drop && i < dropped; i++)
		free(drop[i]);
	free(drop);
	if (!good) {
		free(ids);
		return train_no_memory("the model's labels");
	}
	d->labels = names;
	d->label_ids = ids;
	d->n_labels = n;
	return HEC_OK;
}

static hec_status keep_labels(const hec_model *model, train_data *d)
{
	size_t n = 0;
	label *list = read_labels(model, &n);
	hec_status status = HEC_OK;
	if (n > 0 && all_known(d, list, n))
		status = take_labels(d, list, n);
	free(list);
	return status;
}

hec_status train_from_labels(const train_settings *s, train_data *d)
{
	char home[PATH_MOST];
	hec_model_config c;
	hec_ctx *ctx = NULL;
	hec_model *model = NULL;
	hec_model_load_options o = options_of(s);
	if (s->task_id != HEC_TASK_CLASSIFY || d->n_labels == 0)
		return HEC_OK;
	train_from_home(s, home);
	TRY(read_config(s, home, &c));
	if (c.head != HEC_HEAD_CLASSIFY)
		return HEC_OK;
	o.to_measure = true;
	hec_status status = hec_ctx_create(NULL, &ctx);
	if (status == HEC_OK)
		status = hec_model_load(ctx, home, &o, &model);
	if (status == HEC_OK)
		status = keep_labels(model, d);
	hec_model_destroy(model);
	hec_ctx_destroy(ctx);
	return status;
}

/* ---- tokenizer ---- */

hec_status train_from_target(const train_settings *s, hec_tokenizer **out)
{
	char home[PATH_MOST];
	train_from_home(s, home);
	return target_tokenizer_load(home, out);
}

/* ---- the model ---- */

/* Fresh only where the model has no such head, or not for these labels; and what was overridden. */
static hec_status load(const train_settings *s, const train_data *d, hec_ctx *ctx, const char *home,
                       hec_model **out)
{
	hec_model_load_options o = options_of(s);
	hec_model_config c;
	hec_head head = head_of(s->task_id);
	o.seed = s->seed.value;
	o.unpacked = true;
	TRY(read_config(s, home, &c));
	if (c.head != head)
		o.head = &head;
	if (s->task_id == HEC_TASK_CLASSIFY && !d->label_ids) {
		o.head = &head;
		o.labels = (int64_t)d->n_labels;
		o.label_names = (const char *const *)d->labels;
		o.fresh_labels = true;
	}
	return hec_model_load(ctx, home, &o, out);
}

/* So that whoever runs it writes the language that was learned, without being told. */
static hec_status say_language(const train_data *d, const char *dir)
{
	char path[PATH_MOST + 32];
	if (d->language < 0)
		return HEC_OK;
	snprintf(path, sizeof path, "%s/generation_config.json", dir);
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
	const char *key = d->starts ? "decoder_start_token_id" : "forced_bos_token_id";
	bool good = root && json_object_set_new(root, key, json_integer(d->language)) == 0 &&
	            json_dump_file(root, path, JSON_INDENT(2)) == 0;
	json_decref(root);
	return good ? HEC_OK : train_no_memory("generation_config.json, or no place to write it");
}

/* What the directory says besides, less what is overridden: where our config.json says nothing of a key, the
 * model is as if it was not there. */
static hec_status carry_rest(const train_settings *s, const char *dir)
{
	char path[PATH_MOST + 32], key[128];
	snprintf(path, sizeof path, "%s/config.json", dir);
	json_t *own = json_load_file(path, 0, NULL), *now = NULL;
	hec_status status = hec_train_carry(s->from, dir);
	bool good = own && status == HEC_OK && (now = json_load_file(path, 0, NULL)) != NULL;
	for (size_t i = 0; good && i < s->overrides.count; i++) {
		snprintf(key, sizeof key, "%.*s", (int)strcspn(s->overrides.items[i], ".="),
		         s->overrides.items[i]);
		if (!json_object_get(own, key))
			(void)json_object_del(now, key);
	}
	if (good && s->overrides.count > 0)
		good = json_dump_file(now, path, JSON_INDENT(2)) == 0;
	json_decref(own);
	json_decref(now);
	if (status != HEC_OK || good)
		return status;
	return train_no_memory("config.json, or no place to write it");
}

static hec_status save_into(const train_settings *s, const train_data *d, hec_ctx *ctx,
                            const hec_model *m, const char *path)
{
	(void)mkdir(path, 0777); /* where it fails, writing into it says why */
	TRY(hec_tokenizer_save(d->tokenizer, path));
	TRY(hec_model_save(ctx, m, HEC_F32, path));
	TRY(carry_rest(s, path));
	return say_language(d, path);
}

/* Under another name until it is whole: a run that is killed here begins again from --from. */
static hec_status save_start(const train_settings *s, const train_data *d, hec_ctx *ctx,
                             const hec_model *m)
{
	char half[PATH_MOST], path[PATH_MOST];
	snprintf(half, sizeof half, "%s/.start", s->out);
	snprintf(path, sizeof path, "%s/start", s->out);
	TRY(save_into(s, d, ctx, m, half));
	/* Something of that name is in the way: into it, then. */
	return rename(half, path) == 0 ? HEC_OK : save_into(s, d, ctx, m, path);
}

hec_status train_from_model(const train_settings *s, const train_data *d, hec_ctx *ctx,
                            hec_model **out)
{
	char home[PATH_MOST];
	train_from_home(s, home);
	TRY(load(s, d, ctx, home, out));
	TRY(train_set_rates(s, *out));
	if (d->language >= 0 && d->starts)
		TRY(hec_model_set_start(*out, d->language));
	return has_begun(s) ? HEC_OK : save_start(s, d, ctx, *out);
}
