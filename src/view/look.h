/* look.h — a view with its options checked: which layers and heads are drawn, by which scale. */
#ifndef VIEW_LOOK_H
#define VIEW_LOOK_H

#include "view/page.h"

typedef struct look {
	hec_view view;
	hec_view_options options;
	int64_t layer, layers; /* the first one that is shown, and how many */
	int64_t head, heads;
	bool sinks;   /* there are some, and other keys too */
	double scale; /* the largest weight shown on a key that is no sink: the end of the colours */
} look;

hec_status look_take(const hec_view *view, const hec_view_options *options, look *l);

bool look_is_large(const look *l); /* one head alone */
bool look_is_sink(const look *l, int64_t key);
double look_weight(const look *l, int64_t layer, int64_t head, int64_t query, int64_t key);
/* 0 … 1: where a cell stands on its scale, which for a sink is the weight itself. */
double look_heat(const look *l, int64_t layer, int64_t head, int64_t query, int64_t key);

/* The k keys that a query looks at most, by the mean over the heads shown, most first. Returns how
 * many there are: keys with no weight at all are left out. */
typedef struct top_key {
	int64_t key;
	double weight;
} top_key;
int look_top(const look *l, int64_t query, top_key *out, int k);

/* "Cross-attention", and what runs down and across. */
const char *look_title(const look *l);
const char *look_down(const look *l);
const char *look_across(const look *l);
/* "layer 2, head 0" or "layers 0 to 5, 8 heads each". */
void look_selection(const look *l, char *out, size_t size);

/* A token as one line of at most so many columns, safe for a terminal: ends of lines and tabs are
 * shown by a sign, spaces at its ends (and ▁ for one) by ␣. Returns its width. */
#define LABEL_BYTES 160
int label_of(const char *token, int columns, char out[LABEL_BYTES]);

/* The drawings, one file each. */
void draw_text(page *p, const look *l);
void draw_svg(page *p, const look *l);
void draw_html(page *p, const look *l);
void draw_json(page *p, const look *l);

/* The fixed parts of the page of HTML (html_page.c). */
extern const char html_head[], html_body[], html_script[];

#endif
