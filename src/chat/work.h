/* work.h — the ways to look at texts, lists and dicts while a chat template runs. Each charges for the
 * bytes that it looks at and the items that it touches before it does so: a hostile template ends in a
 * message. charged.h, included last, lets nothing else compile. A unit is about ten nanoseconds, or a
 * byte that is made. */
#ifndef CHAT_WORK_H
#define CHAT_WORK_H

#include "chat/value.h"

/* What stands in each list and dict, made with mem_alloc: about its bytes, and its time. */
#define CHAT_ELEMENT 32
#define CHAT_MEMBER 64
#define CHAT_FORMAT 32 /* a number as text */
#define CHAT_LOOK_UP 8 /* a name or a key among others, a place in a text */
#define CHAT_STEP 2    /* a statement, or a part of an expression */
#define CHAT_TIME                                                                                  \
	100 /* a byte of a format of a time: %s alone may ask the system for the time zone */
#define CHAT_TOUCH 3 /* an item or a member */

hec_status chat_charge(chat_run *r, size_t units);
/* Before bytes are gone over as fast as memory gives them: compared, copied. */
hec_status chat_skim(chat_run *r, size_t bytes);
/* Before bytes are gone over one by one: counted, hashed. */
hec_status chat_read(chat_run *r, size_t bytes);

/* ---- texts ---- */

hec_status chat_same_text(chat_run *r, const char *a, size_t a_bytes, const char *b, size_t b_bytes,
                          bool *same);
/* Below 0, 0 or above 0: in the order of their characters. */
hec_status chat_order_texts(chat_run *r, const json_t *a, const json_t *b, int *order);
/* The first place of `what` in what is left of a text; NULL: nowhere. */
hec_status chat_find(chat_run *r, const char *text, size_t bytes, const json_t *what,
                     const char **found);
hec_status chat_count(chat_run *r, const json_t *text, size_t *characters);
/* A copy for mem_free(). */
hec_status chat_copy(chat_run *r, const char *text, size_t bytes, char **out);
hec_status chat_string(chat_run *r, const char *text, size_t n, chat_value *out);
hec_status chat_put(chat_run *r, chat_buffer *b, const char *bytes, size_t n);

/* ---- lists ---- */

/* For loops: *item is item i of a list. False behind the last, and where *status is or becomes an error; *item
 * stays then. */
bool chat_each(chat_run *r, const json_t *list, size_t i, json_t **item, hec_status *status);
/* Puts a value, which it takes over, behind a list; either may be NULL: no memory. */
hec_status chat_append(chat_run *r, json_t *list, json_t *value);
hec_status chat_append_text(chat_run *r, json_t *list, const char *text, size_t bytes);

/* ---- dicts ---- */

/* *found: NULL where there is none. */
hec_status chat_member(chat_run *r, const json_t *dict, const char *key, size_t bytes,
                       json_t **found);
/* Takes the value over; either may be NULL: no memory. */
hec_status chat_put_member(chat_run *r, json_t *dict, const char *key, size_t bytes, json_t *value);

typedef struct chat_members_of {
	json_t *dict; /* the others are NULL before the first */
	void *at;
	const char *key;
	size_t bytes; /* of the key */
	json_t *value;
} chat_members_of;

/* Goes on to the next member, or the first; false as chat_each is. */
bool chat_each_member(chat_run *r, chat_members_of *m, hec_status *status);

/* ---- the template's own words ---- */

/* Whether a text is a word that is known here: it looks no further than the word goes. */
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
