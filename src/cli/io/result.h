/* result.h — a line of JSON for each input, which says which input it belongs to: the one place that writes that.
 *
 *     {"input": 3, "id": "a7", "file": "texts.jsonl", … what the command found …} */
#ifndef CLI_IO_RESULT_H
#define CLI_IO_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

typedef struct input_name {
	int64_t number; /* of its line, or among the texts and files that were named; from 1 on; 0: none */
	const char *id;   /* [id_bytes] JSON as it was written; NULL: none */
	const char *file; /* NULL: none was named */
	size_t id_bytes;
} input_name;

/* The whole line; takes the object, of at least one member. False: no memory. */
bool result_put(const input_name *name, json_t *object, FILE *out);
/* The same of an input that was refused. */
bool result_put_error(const input_name *name, const char *reason, FILE *out);
/* `{"input":3,…,` for what writes the rest by itself. */
bool result_begin(const input_name *name, FILE *out);

#endif
