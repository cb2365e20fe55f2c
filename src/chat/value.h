/* value.h — values of a running chat template.
 *
 * Texts, numbers, lists and dicts are Jansson's, and never change once they are made. A namespace is an object
 * whose members can be set; no other value may contain it, so no value contains itself. The result of select, map
 * and the like is a generator in Python: its items can be read once, and it is true even without items. */
#ifndef CHAT_VALUE_H
#define CHAT_VALUE_H

#include "chat/tree.h"

typedef enum chat_value_kind {
	VALUE_UNDEFINED,
	VALUE_JSON,
	VALUE_ONCE,     /* a generator: a list that is empty after its items were read */
	VALUE_SPACE,    /* a namespace */
	VALUE_FUNCTION, /* by its name */
	VALUE_METHOD,   /* of json, by its name */
	VALUE_TURN, /* the variable `loop`, not yet made into a dict: json is the list, turn the index */
} chat_value_kind;

typedef struct chat_value {
	chat_value_kind kind;
	json_t *json;     /* owned */
	const char *name; /* the template's */
	size_t turn;
} chat_value;

typedef struct chat_buffer { /* a text that grows */
	char *text;
	size_t n, capacity;
} chat_buffer;

typedef struct chat_variable {
	const char *name; /* the template's */
	size_t bytes;     /* of the name */
	chat_value value;
	int frame;
} chat_variable;

typedef struct chat_run {
	const hec_chat_template *t;
	json_t *given; /* variables */
	chat_variable *variables;
	size_t n, capacity;
	int frame, depth;
	int64_t work; /* left */
	chat_buffer out;
	size_t line;
	enum { RUN_ON, RUN_BREAK, RUN_CONTINUE } signal;
} chat_run;

/* The arguments of a call: those without a name first. */
#define CHAT_ARGUMENTS 8
typedef struct chat_arguments {
	chat_value at[CHAT_ARGUMENTS];
	const json_t *name[CHAT_ARGUMENTS]; /* owned by the template; NULL: no name */
	int n;
} chat_arguments;

#define CHAT_UNDEFINED ((chat_value){.kind = VALUE_UNDEFINED})

static inline bool chat_is_text(const chat_value *v)
{
	return v->kind == VALUE_JSON && json_is_string(v->json);
}

static inline bool chat_is_list(const chat_value *v)
{
	return v->kind == VALUE_JSON && json_is_array(v->json);
}

/* A list or a generator. */
static inline bool chat_has_items(const chat_value *v)
{
	return chat_is_list(v) || v->kind == VALUE_ONCE;
}

static inline bool chat_is_dict(const chat_value *v)
{
	return v->kind == VALUE_JSON && json_is_object(v->json);
}

static inline bool chat_is_whole(const chat_value *v)
{
	return v->kind == VALUE_JSON && json_is_integer(v->json);
}

/* In Python a truth value is a number, too. */
static inline bool chat_is_number(const chat_value *v)
{
	return v->kind == VALUE_JSON && (json_is_number(v->json) || json_is_boolean(v->json));
}

/* A value that shares json; undefined for NULL. */
chat_value chat_shared(const json_t *json);
void chat_value_free(chat_value *v);
/* HEC_ERR_ARGUMENT: an error in Jinja, too. */
hec_status chat_wrong(const chat_run *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* HEC_ERR_UNSUPPORTED: Jinja may be able to do it. */
hec_status chat_unknown(const chat_run *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *chat_kind_name(const chat_value *v);
bool chat_truth(const chat_value *v);
hec_status chat_equal(chat_run *r, const json_t *a, const json_t *b, bool *equal);

/* Takes json over; NULL: no memory. */
hec_status chat_json(chat_run *r, json_t *json, chat_value *out);
/* Makes the list the value; frees it where status is an error. */
hec_status chat_list_end(chat_run *r, hec_status status, json_t *list, chat_value *out);
/* A value as it is printed. */
hec_status chat_print(chat_run *r, chat_buffer *b, const chat_value *v);
/* Makes the buffer's text the value where status is no error, and frees the buffer. */
hec_status chat_buffer_end(chat_run *r, hec_status status, chat_buffer *b, chat_value *out);

/* Operators (operator.c). */
hec_status chat_binary(chat_run *r, int op, const chat_value *a, const chat_value *b,
                       chat_value *out);
hec_status chat_item(chat_run *r, const chat_value *on, const chat_value *key, chat_value *out);
/* bounds: from, to, step; none where not given. */
hec_status chat_slice(chat_run *r, const chat_value *on, const chat_value bounds[3],
                      chat_value *out);

/* Runs this statement and those behind it (run.c). */
hec_status chat_run_list(chat_run *r, int32_t first);

/* Makes the dict `loop` of a VALUE_TURN: only when it is read, since it takes long and most turns do not. */
hec_status chat_describe_turn(chat_run *r, chat_value *turn);

/* The value of an expression (evaluate.c). */
hec_status chat_evaluate(chat_run *r, int32_t node, chat_value *out);
hec_status chat_get(chat_run *r, const json_t *name, chat_value *out);

/* Filters, tests, functions and methods (filter.c). */
hec_status chat_filter(chat_run *r, const char *name, const chat_value *on, const chat_arguments *a,
                       chat_value *out);
hec_status chat_test(chat_run *r, const char *name, const chat_value *on, const chat_arguments *a,
                     bool *out);
/* name: the callee's name in messages. */
hec_status chat_call(chat_run *r, const chat_value *callee, const char *name,
                     const chat_arguments *a, chat_value *out);
bool chat_knows_function(const char *name);
/* x.name; undefined where there is none, as in Jinja. */
hec_status chat_attribute(chat_run *r, const chat_value *on, const char *name, size_t bytes,
                          chat_value *out);

#endif
