/* value.h — values of a chat template while it runs. Texts, numbers, lists and dicts are Jansson's,
 * which nothing changes once they are made; a namespace is an object that can be set, and lies in no
 * other value: so nothing refers to itself. What select, map and the like give is a list that can be gone over
 * once: Python makes its items one by one. To an if it is there, even where it has none. */
#ifndef CHAT_VALUE_H
#define CHAT_VALUE_H

#include "chat/tree.h"

typedef enum chat_value_kind {
	VALUE_UNDEFINED,
	VALUE_JSON,
	VALUE_ONCE,     /* a list that is empty once it was gone over */
	VALUE_SPACE,    /* a namespace */
	VALUE_FUNCTION, /* by its name */
	VALUE_METHOD,   /* of json, by its name */
	VALUE_TURN, /* a variable's: the dict `loop` of a list, of which nothing was asked yet */
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

/* What a call was given: values in order, and those with names. */
#define CHAT_ARGUMENTS 8
typedef struct chat_arguments {
	chat_value at[CHAT_ARGUMENTS];
	const json_t *name[CHAT_ARGUMENTS]; /* the template's; NULL: by its place */
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

/* A list, or one that can be gone over once. */
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

/* One more that holds it; undefined for NULL. */
chat_value chat_shared(const json_t *json);
void chat_value_free(chat_value *v);
/* What the template says is wrong with these messages, as it is in Jinja: HEC_ERR_ARGUMENT. */
hec_status chat_wrong(const chat_run *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What Jinja may well know, and is not known here: HEC_ERR_UNSUPPORTED. */
hec_status chat_unknown(const chat_run *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *chat_kind_name(const chat_value *v);
bool chat_truth(const chat_value *v);
hec_status chat_equal(chat_run *r, const json_t *a, const json_t *b, bool *equal);

/* Takes json over; NULL: no memory. */
hec_status chat_json(chat_run *r, json_t *json, chat_value *out);
/* The list is the value where all went well, and gone where not. */
hec_status chat_list_end(chat_run *r, hec_status status, json_t *list, chat_value *out);
/* A value as it is printed. */
hec_status chat_print(chat_run *r, chat_buffer *b, const chat_value *v);
/* The text is the value where all went well; the buffer is gone. */
hec_status chat_buffer_end(chat_run *r, hec_status status, chat_buffer *b, chat_value *out);

/* What stands between operands (operator.c). */
hec_status chat_binary(chat_run *r, int op, const chat_value *a, const chat_value *b,
                       chat_value *out);
hec_status chat_item(chat_run *r, const chat_value *on, const chat_value *key, chat_value *out);
/* bounds: from, to, step; none where it is not given. */
hec_status chat_slice(chat_run *r, const chat_value *on, const chat_value bounds[3],
                      chat_value *out);

/* Statements, from this one on (run.c). */
hec_status chat_run_list(chat_run *r, int32_t first);

/* What `loop` holds takes long to make, and most turns do not look at it: made where it is asked for. */
hec_status chat_describe_turn(chat_run *r, chat_value *turn);

/* The value of an expression (evaluate.c). */
hec_status chat_evaluate(chat_run *r, int32_t node, chat_value *out);
hec_status chat_get(chat_run *r, const json_t *name, chat_value *out);

/* What has a name (filter.c). */
hec_status chat_filter(chat_run *r, const char *name, const chat_value *on, const chat_arguments *a,
                       chat_value *out);
hec_status chat_test(chat_run *r, const char *name, const chat_value *on, const chat_arguments *a,
                     bool *out);
/* name: of what is called, for messages. */
hec_status chat_call(chat_run *r, const chat_value *callee, const char *name,
                     const chat_arguments *a, chat_value *out);
bool chat_knows_function(const char *name);
/* x.name; undefined where there is none, as in Jinja. */
hec_status chat_attribute(chat_run *r, const chat_value *on, const char *name, size_t bytes,
                          chat_value *out);

#endif
