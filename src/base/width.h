/* width.h — UTF-8 one character at a time: what it is, how wide, and whether a terminal obeys it. */
#ifndef BASE_WIDTH_H
#define BASE_WIDTH_H

#include <stdbool.h>

#include <hecate/width.h>

#define NOT_A_RUNE 0xFFFFFFFFu

/* The character at text and its length in bytes; NOT_A_RUNE and 1 where it is not UTF-8. At least
 * one byte must be left. */
uint32_t rune_decode(const char *text, size_t left, size_t *bytes);

/* 2 for wide characters (CJK, emoji), 0 for marks that join the one before, else 1. */
int rune_width(uint32_t rune);

/* Control characters, direction marks, and what is no character at all. */
bool rune_steers_terminal(uint32_t rune);

#endif
