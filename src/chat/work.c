/* work.c — see work.h. */
#define _GNU_SOURCE /* memmem, which is linear; strstr is not */
#include "chat/work.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/memory.h"
#include "text/unicode/utf8.h"

hec_status chat_charge(chat_run *r, size_t units)
{
	if (units > (size_t)r->work) {
		r->work = 0;
		return fail(HEC_ERR_ARGUMENT,
		            "chat template, line %zu: takes more steps and memory than it may",
		            r->line);
	}
	r->work -= (int64_t)units;
	return HEC_OK;
}

hec_status chat_skim(chat_run *r, size_t bytes)
{
	return chat_charge(r, 1 + bytes / 16);
}

hec_status chat_read(chat_run *r, size_t bytes)
{
	return chat_charge(r, 1 + bytes / 4);
}

/* ---- texts ---- */

hec_status chat_same_text(chat_run *r, const char *a, size_t a_bytes, const char *b, size_t b_bytes,
                          bool *same)
{
	*same = a_bytes == b_bytes;
	HEC_TRY(chat_skim(r, *same ? a_bytes : 0));
	*same = *same && memcmp(a, b, a_bytes) == 0;
	return HEC_OK;
}

hec_status chat_order_texts(chat_run *r, const json_t *a, const json_t *b, int *order)
{
	size_t n = json_string_length(a), m = json_string_length(b);
	HEC_TRY(chat_skim(r, n < m ? n : m));
	*order = strcmp(json_string_value(a), json_string_value(b));
	return HEC_OK;
}

/* Charged afterwards, since only then the number of bytes read is known: splitting a text at many places pays for
 * each byte once. */
hec_status chat_find(chat_run *r, const char *text, size_t bytes, const json_t *what,
                     const char **found)
{
	size_t n = json_string_length(what);
	*found = memmem(text, bytes, json_string_value(what), n);
	size_t looked = *found ? (size_t)(*found - text) + n : n <= bytes ? bytes + n : 0;
	return chat_charge(r, CHAT_LOOK_UP + looked);
}

hec_status chat_count(chat_run *r, const json_t *text, size_t *characters)
{
	size_t n = json_string_length(text);
	HEC_TRY(chat_read(r, n));
	*characters = utf8_count(json_string_value(text), n);
	return HEC_OK;
}

hec_status chat_copy(chat_run *r, const char *text, size_t bytes, char **out)
{
	HEC_TRY(chat_charge(r, bytes));
	*out = mem_copy_bytes(text, bytes);
	return *out ? HEC_OK : fail(HEC_ERR_MEMORY, "no memory for a text of a chat template");
}

hec_status chat_string(chat_run *r, const char *text, size_t n, chat_value *out)
{
	HEC_TRY(chat_charge(r, n));
	return chat_json(r, json_stringn(text, n), out);
}

hec_status chat_put(chat_run *r, chat_buffer *b, const char *bytes, size_t n)
{
	HEC_TRY(chat_charge(r, n));
	HEC_TRY(GROW(&b->text, &b->capacity, b->n + n + 1));
	if (n > 0)
		memcpy(b->text + b->n, bytes, n);
	b->n += n;
	b->text[b->n] = '\0';
	return HEC_OK;
}

/* ---- lists ---- */

bool chat_each(chat_run *r, const json_t *list, size_t i, json_t **item, hec_status *status)
{
	if (*status != HEC_OK || i >= json_array_size(list))
		return false;
	*status = chat_charge(r, CHAT_TOUCH);
	if (*status == HEC_OK)
		*item = json_array_get(list, i);
	return *status == HEC_OK;
}

hec_status chat_append(chat_run *r, json_t *list, json_t *value)
{
	hec_status status = chat_charge(r, CHAT_ELEMENT);
	if (status != HEC_OK)
		json_decref(value);
	else if (json_array_append_new(list, value) != 0)
		status = fail(HEC_ERR_MEMORY, "no memory for a list of a chat template");
	return status;
}

hec_status chat_append_text(chat_run *r, json_t *list, const char *text, size_t bytes)
{
	HEC_TRY(chat_charge(r, bytes));
	return chat_append(r, list, json_stringn(text, bytes));
}

/* ---- dicts ---- */

hec_status chat_member(chat_run *r, const json_t *dict, const char *key, size_t bytes,
                       json_t **found)
{
	HEC_TRY(chat_charge(r, CHAT_LOOK_UP));
	HEC_TRY(chat_read(r, bytes)); /* for its hash */
	*found = json_object_get(dict, key);
	return HEC_OK;
}

hec_status chat_put_member(chat_run *r, json_t *dict, const char *key, size_t bytes, json_t *value)
{
	hec_status status = chat_charge(r, CHAT_MEMBER + bytes);
	if (status != HEC_OK)
		json_decref(value);
	else if (json_object_set_new(dict, key, value) != 0)
		status = fail(HEC_ERR_MEMORY, "no memory for a dict of a chat template");
	return status;
}

bool chat_each_member(chat_run *r, chat_members_of *m, hec_status *status)
{
	m->at = m->at ? json_object_iter_next(m->dict, m->at) : json_object_iter(m->dict);
	if (*status != HEC_OK || !m->at)
		return false;
	m->key = json_object_iter_key(m->at);
	m->bytes = strlen(m->key);
	m->value = json_object_iter_value(m->at);
	*status = chat_charge(r, CHAT_TOUCH + m->bytes / 4);
	return *status == HEC_OK;
}
