/* call.h — the arguments of filters, methods and functions of chat templates, and the functions that run them: for
 * texts (text.c), for lists and dicts (list.c), and for JSON (dump.c). */
#ifndef CHAT_CALL_H
#define CHAT_CALL_H

#include "chat/work.h"

#define CHAT_PARAMETERS 3

typedef struct chat_call_of {
	const char *name;
	int how; /* which variant, where one function runs several filters or methods */
	const chat_value *on;
	chat_value at[CHAT_PARAMETERS]; /* in the order of its parameters; undefined: not given */
	const chat_arguments *all;
} chat_call_of;

typedef hec_status chat_do(chat_run *r, const chat_call_of *c, chat_value *out);

/* how: */
enum { STRIP_LEFT = 1, STRIP_RIGHT = 2, STRIP_BOTH = 3 };
/* CASE_WORDS is Jinja's filter: words begin behind spaces and brackets. CASE_LETTERS is Python's method: words
 * begin behind anything but a letter. */
enum { CASE_UPPER, CASE_LOWER, CASE_FIRST, CASE_WORDS, CASE_LETTERS };
enum { AT_START, AT_END };
enum { MEMBER_KEY, MEMBER_VALUE, MEMBER_BOTH, MEMBER_BOTH_ONCE };
enum { KEEP_THOSE = 1, BY_ATTRIBUTE = 2 };

/* On a text. */
chat_do chat_strip, chat_case, chat_replace, chat_split, chat_has_end, chat_join_method;
/* On a list (chat_list_of). */
chat_do chat_end, chat_join, chat_map, chat_choose;
/* On any value, or on none. */
chat_do chat_members, chat_range, chat_reverse, chat_tojson;

/* The items of a value as a list: those of a list, the keys of a dict, the characters of a text; none of an undefined
 * value. A VALUE_ONCE is empty afterwards. */
hec_status chat_list_of(chat_run *r, const chat_value *on, chat_value *out);

#endif
