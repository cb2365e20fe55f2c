/* json_line.h — the fields of one JSON object in one line, without a tree: memory and time are those of the line.
 *
 * Reading is strict: UTF-8, one object and nothing behind it, surrogates in pairs, nested at most JSON_LINE_DEPTH deep.
 * A field that is asked for stands once; what else is in the object is checked to be JSON and passed over. */
#ifndef CLI_IO_JSON_LINE_H
#define CLI_IO_JSON_LINE_H

#include <stdbool.h>
#include <stddef.h>

#define JSON_LINE_DEPTH 512
#define JSON_LINE_ERROR 320

typedef enum json_field_kind {
	JSON_FIELD_TEXT, /* a text, decoded: it may hold NUL bytes */
	JSON_FIELD_ID    /* a text or a number, as it is written there */
} json_field_kind;

typedef struct json_field {
	const char *name;
	json_field_kind kind;
	bool needed;
	/* filled in; in the line: */
	const char *text; /* NULL: it is not there */
	size_t bytes;
} json_field;

/* Texts are decoded where they stand, so that the line is no JSON any more. False: error is "column N: …", in characters
 * from 1 on, and the line is as it was. */
bool json_line_read(char *line, size_t bytes, json_field *fields, size_t count,
                    char error[JSON_LINE_ERROR]);

#endif
