/* json.h — the one place that reads and writes JSON files.
 *
 * Reading is strict: UTF-8, one value, no duplicate keys, no U+0000, no number beyond a double
 * (1e400), no NaN or Infinity, nested at most 2,048 deep (Jansson's own limit). A whole number beyond
 * int64 is the double nearest to it: Hugging Face writes 10^30 where it means "no limit". What is
 * read is Jansson's json_t, to be given back with json_decref. Errors name the file and the place.
 *
 * Where memory runs out inside Jansson 2.14, the error may be another one: it drops letters of a text
 * for which it had no memory. */
#ifndef FORMAT_JSON_H
#define FORMAT_JSON_H

#include <jansson.h>

#include "base/status.h"

#define JSON_CONFIG_MOST ((size_t)16 << 20) /* bytes of a config.json and its like */
#define JSON_TOKENIZER_MOST                                                                        \
	((size_t)128 << 20) /* of a tokenizer.json: real ones have up to 35 MB */

/* most: bytes that such a file may have. What its values take as a tree is bounded by that too (4 times
 * as much) and by the file's own size (24 times, and 16 MiB): more is refused before it is read. */
hec_status json_file_read(const char *path, size_t most, json_t **out);
/* The same from memory; file is the name in messages. */
hec_status json_text_read(const char *file, const char *text, size_t size, size_t most,
                          json_t **out);
/* The same where it must be an object. */
hec_status json_object_read(const char *file, const char *text, size_t size, size_t most,
                            json_t **out);

/* ---- typed members of an object ----
 *
 * need_*: the member must be there. want_*: where it is missing or null, *out stays as it is.
 * "config.json: 'd_model' is a text, a whole number from 1 to 1048576 is needed". */

typedef struct json_scope {
	const char *file;
	const json_t *object;
	char path[96]; /* "" for the file's own object, else "text_config." before a key */
} json_scope;

/* The root of a file as a scope: an error where it is no object. */
hec_status json_scope_root(const char *file, const json_t *root, json_scope *out);

hec_status json_need_int(const json_scope *s, const char *key, int64_t least, int64_t most,
                         int64_t *out);
hec_status json_want_int(const json_scope *s, const char *key, int64_t least, int64_t most,
                         int64_t *out);
hec_status json_need_double(const json_scope *s, const char *key, double least, double most,
                            double *out);
hec_status json_want_double(const json_scope *s, const char *key, double least, double most,
                            double *out);
hec_status json_need_bool(const json_scope *s, const char *key, bool *out);
hec_status json_want_bool(const json_scope *s, const char *key, bool *out);
/* Texts, arrays and objects belong to the file's json_t. */
hec_status json_need_string(const json_scope *s, const char *key, const char **out);
hec_status json_want_string(const json_scope *s, const char *key, const char **out);
hec_status json_need_array(const json_scope *s, const char *key, json_t **out);
hec_status json_want_array(const json_scope *s, const char *key, json_t **out);
hec_status json_need_object(const json_scope *s, const char *key, json_scope *out);
hec_status json_want_object(const json_scope *s, const char *key, json_scope *out, bool *found);

/* For values inside arrays: whether one is a whole number (2.0 is, too), and the message that it is
 * not what is needed: `return json_wrong(&s, "shape[3]", value, "a whole number")`. */
bool json_whole(const json_t *value, int64_t *out);
hec_status json_wrong(const json_scope *s, const char *key, const json_t *value,
                      const char *needed);

/* ---- an object's members one by one ----
 *
 * For a large object of small members: the whole is never in memory as a tree. Duplicate keys among
 * the members themselves are the caller's to find (within a value they are refused). */

typedef struct json_members {
	const char *file, *text;
	size_t size, at;
	char *key;     /* of the current member; valid until the next call */
	json_t *value; /* of the current member, once it was asked for */
	bool begun, inside;
} json_members;

void json_members_begin(json_members *m, const char *file, const char *text, size_t size);
/* On to the next member's key; its value must then be taken in one of two ways. *more false: the
 * object has ended (and with the outermost one, the text). */
hec_status json_members_next(json_members *m, bool *more);
/* As a tree of at most `most` bytes of text; a text alone may be longer. */
hec_status json_members_value(json_members *m, size_t most);
/* As members again: walk inner to its end, then leave. */
void json_members_enter(const json_members *m, json_members *inner);
void json_members_leave(json_members *m, json_members *inner);
void json_members_end(json_members *m); /* also after a failure; inner ones as well */

/* ---- writing ---- */

/* The value as text for mem_free(): UTF-8, keys in the order in which they were set, doubles by the
 * shortest digits that read back as the same bits. pretty: indented by two, a newline at the end;
 * else one line without it. */
hec_status json_text_make(const json_t *value, bool pretty, char **out, size_t *size);
/* Pretty, by file_replace. */
hec_status json_file_write(const char *path, const json_t *value);

/* Sets a member; takes value over. NULL (no memory when it was made) is an error as well. */
hec_status json_put(json_t *object, const char *key, json_t *value);

#endif
