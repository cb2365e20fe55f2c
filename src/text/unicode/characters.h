/* characters.h — text as code points for the scores, and what counts as white space there. */
#ifndef TEXT_UNICODE_CHARACTERS_H
#define TEXT_UNICODE_CHARACTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character at text and its length in bytes, at least 1. A byte that begins no well-formed
 * character stands for itself, as a number no character has. */
uint32_t character_read(const unsigned char *text, size_t left, size_t *length);

/* White space as Python's str.split() sees it: sacrebleu is written with that. */
bool character_is_space(uint32_t c);

#endif
