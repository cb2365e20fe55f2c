/* layer_names.h — names of tensors that differ in the number of a layer alone are said together:
 * "h.*.ln_1.weight (2 … 11)". That number is the first part of a name that is one. */
#ifndef MODEL_LAYER_NAMES_H
#define MODEL_LAYER_NAMES_H

#include <stdbool.h>

#include "base/quote.h"

enum { LAYER_NAMES_TEXT = 2 * QUOTE_TEXT, LAYER_RANGE_TEXT = 32 };

/* Whether a name has one behind its first part: "h.0.attn.bias". */
bool layer_name_has_number(const char *name);
/* Whether b is the name of a's tensor one layer on. */
bool layer_name_follows(const char *a, const char *b);
/* An order in which such names stand together, by their numbers. */
int layer_names_compare(const char *a, const char *b);
/* first … last follow each other: their name with a star for the number, quoted, and " (2 … 11)"; of one
 * name the range is "". */
void layer_names_text(const char *first, const char *last, char pattern[LAYER_NAMES_TEXT],
                      char range[LAYER_RANGE_TEXT]);

#endif
