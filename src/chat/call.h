/* call.h — what filters, methods and functions of chat templates are given, and those that work on
 * texts (text.c), on lists (list.c) and write JSON (dump.c). */
#ifndef CHAT_CALL_H
#define CHAT_CALL_H

#include "chat/work.h"

#define CHAT_PARAMETERS 3

typedef struct chat_call_of {
	const char *name;
	int how; /* which of several that are much the same */
	const chat_value *on;
	chat_value at[CHAT_PARAMETERS]; /* by its parameters; undefined: not given */
	const chat_arguments *all;
} chat_call_of;

typedef hec_status chat_do(chat_run *r, const chat_call_of *c, chat_value *out);

/* how: */
enum { STRIP_LEFT = 1, STRIP_RIGHT = 2, STRIP_BOTH = 3 };
/* Words begin behind spaces and brackets in Jinja's filter, behind what is no letter in Python. */
enum { CASE_UPPER, CASE_LOWER, CASE_FIRST, CASE_WORDS, CASE_LETTERS };
enum { AT_START, AT_END };
enum { MEMBER_KEY, MEMBER_VALUE, MEMBER_BOTH, MEMBER_BOTH_ONCE };
enum { KEEP_THOSE = 1, BY_ATTRIBUTE = 2 };

/* On a text. */
chat_do chat_strip, chat_case, chat_replace, chat_split, chat_has_end, chat_join_method;
/* On a list: what a for would go over. */
chat_do chat_end, chat_join, chat_map, chat_choose;
/* On anything, or nothing. */
chat_do chat_members, chat_range, chat_reverse, chat_tojson;

/* What a for goes over, as a list: the keys of a dict, the characters of a text, nothing. What can
 * be gone over once is empty behind it. */
hec_status chat_list_of(chat_run *r, const chat_value *on, chat_value *out);

#endif
