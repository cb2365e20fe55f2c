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

/* Whether a terminal may obey it, or hide it from the reader: controls, line separators, marks and overrides
 * of direction, deprecated format characters, annotations, tags, and what is no character at all. Joiners
 * and the spaces of width zero stay: scripts and emoji are written with them. */
bool rune_steers_terminal(uint32_t rune);

#endif
