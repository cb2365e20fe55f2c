/* tree.h — a chat template as a tree: made by parse.c, run by run.c. */
#ifndef CHAT_TREE_H
#define CHAT_TREE_H

#include <hecate/chat.h>

#include "format/json.h"

typedef enum chat_kind {
	/* statements; `next` is the next statement */
	CHAT_TEXT,  /* value */
	CHAT_PRINT, /* a */
	CHAT_IF,    /* a: condition, b: statements, c: else */
	CHAT_FOR,   /* value: names, a: list, d: condition or −1, b: statements, c: else */
	CHAT_SET, /* value: names; a: value, or −1 and b: statements; d: member of a namespace, or −1 */
	CHAT_SCOPE, /* b: statements; variables set there end with it */
	CHAT_BREAK,
	CHAT_CONTINUE,
	/* expressions; `next` is the next argument or item */
	CHAT_CONST,  /* value */
	CHAT_NAME,   /* value */
	CHAT_ATTR,   /* a, value */
	CHAT_ITEM,   /* a, b */
	CHAT_SLICE,  /* a; b, c, d: from, to, step, or −1 */
	CHAT_CALL,   /* a, b: arguments */
	CHAT_FILTER, /* a, value, b: arguments */
	CHAT_TEST,   /* a, value, b: arguments; op 1: not */
	CHAT_AND,    /* a, b */
	CHAT_OR,     /* a, b */
	CHAT_NOT,    /* a */
	CHAT_MINUS,  /* a */
	CHAT_BINARY, /* a, b, op */
	CHAT_CHOICE, /* a: condition, b, c: or −1 */
	CHAT_LIST,   /* b: items */
	CHAT_DICT,   /* b: key, value, key, value … */
	CHAT_NAMED,  /* value: name of an argument, a: the argument */
} chat_kind;

typedef enum chat_op {
	OP_ADD = '+',
	OP_SUB = '-',
	OP_MUL = '*',
	OP_MOD = '%',
	OP_JOIN = '~',
	OP_LESS = '<',
	OP_MORE = '>',
	OP_FLOOR = 128,
	OP_EQ,
	OP_NE,
	OP_LE,
	OP_GE,
	OP_IN,
	OP_NOT_IN,
} chat_op;

typedef struct chat_node {
	chat_kind kind;
	int op;
	int32_t a, b, c, d, next; /* nodes, or −1 */
	json_t *value;            /* a text or constant; or NULL */
	size_t line;
} chat_node;

struct hec_chat_template {
	chat_node *nodes;
	size_t n, capacity;
	int32_t first;  /* statement, or −1 */
	json_t *tokens; /* bos_token … : variables; or NULL */
};

hec_status chat_parse(const char *text, size_t bytes, hec_chat_template *t);

/* Whether there is such a filter or test (filter.c). */
bool chat_knows_filter(const char *name);
bool chat_knows_test(const char *name);

#endif
