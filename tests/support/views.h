/* views.h — attention weights to draw, and what was drawn. */
#ifndef TESTS_SUPPORT_VIEWS_H
#define TESTS_SUPPORT_VIEWS_H

#include "support/test.h"

#include <hecate/view.h>

typedef struct drawn {
	char *text;
	size_t length;
} drawn;

/* A hec_view_write_fn: adds to a drawn. */
hec_status drawn_add(void *drawn, const char *text, size_t length);
/* To free(). */
drawn draw_view(const hec_view *v, hec_view_format format, const hec_view_options *o);

/* Two heads, three queries, four keys of which the first is a sink. */
extern const hec_view small_view;

/* A view of any size, of tokens that are short, long, wide, empty and more. */
typedef struct room {
	hec_view view;
	const char **query, **key;
	bool *sink;
	float *weights;
} room;

room make_room(int64_t queries, int64_t keys, int64_t layers, int64_t heads);
void free_room(room *r);

#endif
