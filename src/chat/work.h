/* work.h — functions that read and make texts, lists and dicts while a chat template runs. Each charges for its
 * bytes and items before it reads them, so that a hostile template ends in an error message. charged.h makes sure that
 * nothing else is used. One unit of work is a byte made, or about ten nanoseconds. */
#ifndef CHAT_WORK_H
#define CHAT_WORK_H

#include "chat/value.h"

/* Units of an item of a list and of a member of a dict that is made. */
#define CHAT_ELEMENT 32
#define CHAT_MEMBER 64
#define CHAT_FORMAT 32 /* a number as text */
#define CHAT_LOOK_UP 8 /* a name or a key among others, a place in a text */
#define CHAT_STEP 2    /* a statement, or a part of an expression */
#define CHAT_TIME                                                                                  \
	100 /* a byte of a format of a time: %s alone may ask the system for the time zone */
#define CHAT_TOUCH 3 /* an item or a member */

hec_status chat_charge(chat_run *r, size_t units);
/* Before bytes are compared or copied. */
hec_status chat_skim(chat_run *r, size_t bytes);
/* Before bytes are read one by one, to count or hash them. */
hec_status chat_read(chat_run *r, size_t bytes);

/* ---- texts ---- */

hec_status chat_same_text(chat_run *r, const char *a, size_t a_bytes, const char *b, size_t b_bytes,
                          bool *same);
/* Below 0, 0 or above 0: in the order of their characters. */
hec_status chat_order_texts(chat_run *r, const json_t *a, const json_t *b, int *order);
/* The first place of `what` in the rest of a text; NULL: it is not there. */
hec_status chat_find(chat_run *r, const char *text, size_t bytes, const json_t *what,
                     const char **found);
hec_status chat_count(chat_run *r, const json_t *text, size_t *characters);
/* A copy for mem_free(). */
hec_status chat_copy(chat_run *r, const char *text, size_t bytes, char **out);
hec_status chat_string(chat_run *r, const char *text, size_t n, chat_value *out);
hec_status chat_put(chat_run *r, chat_buffer *b, const char *bytes, size_t n);

/* ---- lists ---- */

/* For loops: *item becomes item i of a list. False behind the last item, and where *status is or becomes an
 * error; then *item does not change. */
bool chat_each(chat_run *r, const json_t *list, size_t i, json_t **item, hec_status *status);
/* Adds a value, which it takes over, to a list. Either may be NULL, which is HEC_ERR_MEMORY. */
hec_status chat_append(chat_run *r, json_t *list, json_t *value);
hec_status chat_append_text(chat_run *r, json_t *list, const char *text, size_t bytes);

/* ---- dicts ---- */

/* *found: NULL where there is none. */
hec_status chat_member(chat_run *r, const json_t *dict, const char *key, size_t bytes,
                       json_t **found);
/* Takes the value over. Either may be NULL, which is HEC_ERR_MEMORY. */
hec_status chat_put_member(chat_run *r, json_t *dict, const char *key, size_t bytes, json_t *value);

typedef struct chat_members_of {
	json_t *dict; /* the other fields are NULL before the first member */
	void *at;
	const char *key;
	size_t bytes; /* of the key */
	json_t *value;
} chat_members_of;

/* Goes on to the next member. False as with chat_each. */
bool chat_each_member(chat_run *r, chat_members_of *m, hec_status *status);

/* ---- names in the template ---- */

/* Whether a text is this word. Reads no more bytes of the text than the word has, so it charges nothing. */
static inline bool chat_is_word(const char *text, const char *word)
{
	while (*word && *text == *word)
		text++, word++;
	return *text == *word;
}

static inline bool chat_is_byte_of(char c, const char *few)
{
	while (*few && *few != c)
		few++;
	return *few != '\0';
}

#endif
