/* chat_value.h — values of a chat template while it runs. Texts, numbers, lists and dicts are Jansson's,
 * which nothing changes once they are made; a namespace is an object that can be set, and lies in no
 * other value: so nothing refers to itself. */
#ifndef TEXT_CHAT_VALUE_H
#define TEXT_CHAT_VALUE_H

#include "text/chat_tree.h"

typedef enum chat_value_kind {
	VALUE_UNDEFINED,
	VALUE_JSON,
	VALUE_SPACE,    /* a namespace */
	VALUE_FUNCTION, /* by its name */
	VALUE_METHOD,   /* of json, by its name */
} chat_value_kind;

typedef struct chat_value {
	chat_value_kind kind;
	json_t *json;     /* owned */
	const char *name; /* the template's */
} chat_value;

typedef struct chat_variable {
	const char *name; /* the template's, or of the given variables */
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
	char *out;
	size_t bytes, out_capacity;
	size_t line;
	enum { RUN_ON, RUN_BREAK, RUN_CONTINUE } signal;
} chat_run;

/* What a call was given: values in order, and those with names. */
#define CHAT_ARGUMENTS 8
typedef struct chat_arguments {
	chat_value at[CHAT_ARGUMENTS];
	const char *name[CHAT_ARGUMENTS]; /* NULL: by its place */
	int n;
} chat_arguments;

void chat_value_free(chat_value *v);
hec_status chat_charge(chat_run *r, size_t units);
hec_status chat_wrong(const chat_run *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *chat_kind_name(const chat_value *v);
bool chat_truth(const chat_value *v);
hec_status chat_equal(chat_run *r, const json_t *a, const json_t *b, bool *equal);
/* Takes json over; NULL: no memory. */
hec_status chat_json(chat_run *r, json_t *json, chat_value *out);
hec_status chat_string(chat_run *r, const char *text, size_t n, chat_value *out);
/* As it is printed. */
hec_status chat_print(chat_run *r, const chat_value *v, char **text, size_t *n, size_t *capacity);
/* Bytes at the end of a growing text. */
hec_status chat_put(chat_run *r, const char *bytes, size_t n, char **text, size_t *used,
                    size_t *capacity);
const json_t *chat_argument(const chat_arguments *a, int place, const char *name);

hec_status chat_filter(chat_run *r, const char *name, const chat_value *on, const chat_arguments *a,
                       chat_value *out);
hec_status chat_test(chat_run *r, const char *name, const chat_value *on, const chat_arguments *a,
                     bool *out);
hec_status chat_method(chat_run *r, const json_t *on, const char *name, const chat_arguments *a,
                       chat_value *out);
bool chat_has_method(const json_t *on, const char *name);
hec_status chat_function(chat_run *r, const char *name, const chat_arguments *a, chat_value *out);
bool chat_has_function(const char *name);
/* x.name or x[name]; undefined where there is none. */
hec_status chat_attribute(chat_run *r, const chat_value *on, const char *name, chat_value *out);

#endif
