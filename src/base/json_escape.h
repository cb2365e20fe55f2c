/* json_escape.h — the escape of one character in a string of JSON. */
#ifndef BASE_JSON_ESCAPE_H
#define BASE_JSON_ESCAPE_H

#include <stddef.h>
#include <stdint.h>

#define JSON_ESCAPE 16 /* bytes */

/* Writes \" \\ \b \f \n \r \t, and \uXXXX for all others (beyond 16 bits a pair). Returns its length. */
size_t json_escape(uint32_t rune, char out[JSON_ESCAPE]);

#endif
