/* whisper_request.c — which language is spoken and what is to be written of it: as the caller says, else as
 * generation_config.json says; where neither says a word of either, as the ids that older files force. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/quote.h"
#include "task/whisper.h"

/* ---- what files say ---- */

/* The id at this place of what is written first, [[1, 50261], [2, 50359], …]; −1: none. */
static int32_t forced_at(const json_t *list, int64_t place)
{
	json_t *pair;
	size_t i;
	json_array_foreach(list, i, pair)
	{
		int64_t at, id;
		if (json_whole(json_array_get(pair, 0), &at) && at == place &&
		    json_whole(json_array_get(pair, 1), &id) && id >= 0 && id <= INT32_MAX)
			return (int32_t)id;
	}
	return -1;
}

void whisper_forced_read(const json_scope *s, whisper_request *w)
{
	const json_t *list = json_object_get(s->object, "forced_decoder_ids");
	w->forced = list && !json_is_null(list);
	w->forced_language = forced_at(list, 1);
	w->forced_task = forced_at(list, 2);
}

static bool is_task(const char *name)
{
	return strcmp(name, "transcribe") == 0 || strcmp(name, "translate") == 0;
}

hec_status whisper_request_read(const json_scope *s, whisper_request *w)
{
	const char *language = NULL, *task = NULL;
	HEC_TRY(json_want_string(s, "language", &language));
	HEC_TRY(json_want_string(s, "task", &task));
	if (task && !is_task(task))
		return json_wrong(s, "task", json_object_get(s->object, "task"),
		                  "transcribe or translate");
	snprintf(w->language, sizeof w->language, "%s", language ? language : "");
	snprintf(w->task, sizeof w->task, "%s", task ? task : "");
	whisper_forced_read(s, w);
	return HEC_OK;
}

/* ---- languages ---- */

bool whisper_code_of_token(const char *token, char code[WHISPER_CODE])
{
	size_t n = strlen(token);
	if (n < 5 || n - 4 >= WHISPER_CODE || strncmp(token, "<|", 2) != 0 ||
	    strcmp(token + n - 2, "|>") != 0)
		return false;
	memcpy(code, token + 2, n - 4);
	code[n - 4] = '\0';
	return true;
}

const char *whisper_language_code(const whisper_config *c, int32_t id)
{
	for (size_t i = 0; i < c->language_count; i++)
		if (c->languages[i].id == id)
			return c->languages[i].code;
	return "";
}

static bool is_called(const char *code, const char *name)
{
	char inner[WHISPER_CODE];
	const char *named = whisper_code_of_name(name);
	if (whisper_code_of_token(name, inner))
		name = inner;
	return strcasecmp(code, name) == 0 || (named && strcmp(code, named) == 0);
}

hec_status whisper_language_find(const whisper_config *c, const char *name, int32_t *id)
{
	char quoted[QUOTE_TEXT], known[240] = "";
	size_t used = 0;
	for (size_t i = 0; i < c->language_count; i++) {
		const char *have = c->languages[i].code;
		if (is_called(have, name)) {
			*id = c->languages[i].id;
			return HEC_OK;
		}
		if (used + strlen(have) + 6 < sizeof known)
			used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
			                         i ? ", " : "", have);
		else if (used + 6 < sizeof known && strcmp(known + used - 3, "…") != 0)
			used += (size_t)snprintf(known + used, sizeof known - used, ", …");
	}
	return fail(HEC_ERR_ARGUMENT, "the model knows no language '%s'; it knows %s",
	            quote(name, quoted), known);
}

/* ---- what holds ---- */

static hec_status check_task(const char *task)
{
	char quoted[QUOTE_TEXT];
	if (!task || is_task(task))
		return HEC_OK;
	return fail(HEC_ERR_ARGUMENT, "the task is transcribe or translate, not '%s'",
	            quote(task, quoted));
}

/* What its files may say else is passed over. */
static hec_status choose_english(const char *language, const char *task)
{
	if ((task && strcmp(task, "translate") == 0) ||
	    (language && strcmp(language, "auto") != 0 && !is_called("en", language)))
		return fail(HEC_ERR_ARGUMENT,
		            "the model knows English only: it does not translate, "
		            "and the language can be \"en\" alone");
	return HEC_OK;
}

/* The ids that older files force; where there are none, and nobody names a language or a task, Transformers
 * writes no task. */
static void choose_forced(const whisper_config *c, whisper_choice *out)
{
	const whisper_request *f = &c->files;
	if (whisper_language_code(c, f->forced_language)[0])
		out->language = f->forced_language;
	if (f->forced_task == c->translate || f->forced_task == c->transcribe)
		out->task = f->forced_task;
	out->translates = out->task >= 0 && out->task == c->translate;
}

hec_status whisper_choose(const whisper_config *c, const char *language, const char *task,
                          whisper_choice *out)
{
	const whisper_request *f = &c->files;
	*out = (whisper_choice){.language = -1, .task = -1};
	HEC_TRY(check_task(task));
	if (!c->multilingual)
		return choose_english(language, task);
	const bool own = !language && f->language[0];
	language = own ? f->language : language;
	task = !task && f->task[0] ? f->task : task;
	if (!language && !task) {
		choose_forced(c, out);
		return HEC_OK;
	}
	out->translates = task && strcmp(task, "translate") == 0;
	out->task = out->translates ? c->translate : c->transcribe;
	if (!language || (!own && strcmp(language, "auto") == 0))
		return HEC_OK;
	hec_status status = whisper_language_find(c, language, &out->language);
	return status == HEC_OK || !own ? status : fail_in(status, "generation_config.json");
}
