/* chat_call.h — what filters, methods and functions of chat templates are given, and those that work on
 * texts (chat_text.c), on lists (chat_list.c) and write JSON (chat_dump.c). */
#ifndef TEXT_CHAT_CALL_H
#define TEXT_CHAT_CALL_H

#include "text/chat_value.h"

#define CHAT_PARAMETERS 3

typedef struct chat_call_of {
	const char *name;
	const chat_value *on;
	chat_value at[CHAT_PARAMETERS]; /* by its parameters; undefined: not given */
	const chat_arguments *all;
} chat_call_of;

typedef hec_status chat_do(chat_run *r, const chat_call_of *c, chat_value *out);

/* Methods' `on` is a text; filters' too: it was printed to one. */
chat_do chat_strip, chat_upper, chat_lower, chat_capitalize, chat_title_filter, chat_title_method;
chat_do chat_replace, chat_split, chat_starts, chat_ends, chat_join_method;
/* `on` is a list: what a for would go over. */
chat_do chat_first, chat_last, chat_join, chat_reverse, chat_map, chat_selectattr, chat_rejectattr;
chat_do chat_keys, chat_values, chat_items, chat_range;
chat_do chat_tojson;

/* What a for goes over, as a list: the keys of a dict, the characters of a text, nothing. */
hec_status chat_list_of(chat_run *r, const chat_value *on, chat_value *out);

#endif
