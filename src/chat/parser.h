/* parser.h — reading a chat template: its words (word.c), expressions (expression.c) and
 * statements (parse.c). */
#ifndef CHAT_PARSER_H
#define CHAT_PARSER_H

#include "chat/tree.h"

typedef enum word_kind { WORD_END, WORD_NAME, WORD_CONST, WORD_OP } word_kind;

typedef struct chat_word {
	word_kind kind;
	int op;           /* WORD_OP */
	const char *text; /* WORD_NAME */
	size_t bytes;
	json_t *value; /* WORD_CONST: the parser's */
} chat_word;

typedef struct chat_parser {
	hec_chat_template *t;
	const char *text;
	size_t at, end, line;
	bool line_starts; /* nothing stands before `at` on its line */
	bool strip, trim; /* what the tag before asks of the text behind it */
	int depth;        /* of what is being parsed */
	int loops;        /* that are open */
	int braces;       /* open in the tag */
	char closes;      /* '%' or '}' */
	chat_word word;   /* the one at hand */
	char tag[32];     /* the name of the tag that ended a list of statements */
} chat_parser;

/* ---- words ---- */

hec_status chat_refuse(const chat_parser *p, const char *what);
hec_status chat_refuse_named(const chat_parser *p, const char *what, const char *name,
                             size_t bytes);
char chat_peek(const chat_parser *p, size_t ahead); /* '\0' behind the end */
bool chat_is_space(char c);
/* Goes on to the next word of a tag. */
hec_status chat_next(chat_parser *p);
bool chat_is_op(const chat_parser *p, int op);
bool chat_is_name(const chat_parser *p, const char *name);
hec_status chat_expect_op(chat_parser *p, int op);
hec_status chat_expect_end(chat_parser *p);
hec_status chat_take_name(chat_parser *p, json_t **out);

/* ---- the tree ---- */

/* One more level, which the caller leaves by p->depth--. */
hec_status chat_deeper(chat_parser *p);
/* Takes value over. */
hec_status chat_add(chat_parser *p, chat_kind kind, json_t *value, int32_t *out);
hec_status chat_add_text(chat_parser *p, chat_kind kind, const char *text, size_t n, int32_t *out);

/* A node, until the next is added. */
static inline chat_node *chat_at(chat_parser *p, int32_t i)
{
	return &p->t->nodes[i];
}

hec_status chat_expression(chat_parser *p, int32_t *out);
/* The same without 'x if y else z'. */
hec_status chat_condition(chat_parser *p, int32_t *out);

#endif
