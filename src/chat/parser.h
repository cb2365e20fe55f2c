/* parser.h — the parser of chat templates: words (word.c), expressions (expression.c) and statements
 * (parse.c). */
#ifndef CHAT_PARSER_H
#define CHAT_PARSER_H

#include "chat/tree.h"

typedef enum word_kind { WORD_END, WORD_NAME, WORD_CONST, WORD_OP } word_kind;

typedef struct chat_word {
	word_kind kind;
	int op;           /* WORD_OP */
	const char *text; /* WORD_NAME */
	size_t bytes;
	json_t *value; /* WORD_CONST: owned by the parser */
} chat_word;

typedef struct chat_parser {
	hec_chat_template *t;
	const char *text;
	size_t at, end, line;
	bool line_starts; /* `at` is the beginning of a line */
	bool strip, trim; /* white space that the last tag removes from the text behind it */
	int depth;        /* of nested statements and expressions */
	int loops;        /* open for statements */
	int braces;       /* open brackets of any kind in the tag */
	char closes;      /* '%' or '}' */
	chat_word word;   /* the current word */
	char tag[32];     /* the tag that ended the last list of statements, such as "else" */
} chat_parser;

/* ---- words ---- */

hec_status chat_refuse(const chat_parser *p, const char *what);
hec_status chat_refuse_named(const chat_parser *p, const char *what, const char *name,
                             size_t bytes);
char chat_peek(const chat_parser *p, size_t ahead); /* '\0' behind the end */
bool chat_is_space(char c);
/* Reads the next word of a tag. */
hec_status chat_next(chat_parser *p);
bool chat_is_op(const chat_parser *p, int op);
bool chat_is_name(const chat_parser *p, const char *name);
hec_status chat_expect_op(chat_parser *p, int op);
hec_status chat_expect_end(chat_parser *p);
hec_status chat_take_name(chat_parser *p, json_t **out);

/* ---- the tree ---- */

/* Enters one more level; the caller leaves it by p->depth--. */
hec_status chat_deeper(chat_parser *p);
/* Takes value over. */
hec_status chat_add(chat_parser *p, chat_kind kind, json_t *value, int32_t *out);
hec_status chat_add_text(chat_parser *p, chat_kind kind, const char *text, size_t n, int32_t *out);

/* The pointer is valid until the next node is added. */
static inline chat_node *chat_at(chat_parser *p, int32_t i)
{
	return &p->t->nodes[i];
}

hec_status chat_expression(chat_parser *p, int32_t *out);
/* The same without 'x if y else z'. */
hec_status chat_condition(chat_parser *p, int32_t *out);

#endif
