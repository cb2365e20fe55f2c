/* svg.c — heads as a picture that stands alone: dark on light, a title, a legend.
 *
 * Cells of one shade are one path, so that a picture of many heads stays small; one head alone is
 * drawn cell by cell, each with a title that says its weight. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "view/colour.h"
#include "view/look.h"

#define SHADES 24 /* steps of the ramp */
#define LABEL_COLUMNS 14
#define TITLE_ROOM 64  /* above the blocks */
#define LEGEND_ROOM 64 /* below them */
#define MARGIN 24
#define GAP 26
#define WIDTH_LEAST 720 /* of the words above and below */
#define ROW_MOST 1280   /* width at which blocks are wrapped */

typedef struct layout {
	int cell, font;
	int64_t left, above;   /* room for the labels */
	int64_t block, height; /* of the cells of one head */
	int64_t across;        /* blocks in a row */
	int64_t width, total;  /* of the picture */
} layout;

static int widest_token(const char *const *tokens, int64_t count)
{
	int most = 1;
	char label[LABEL_BYTES];
	for (int64_t i = 0; i < count; i++) {
		int width = label_of(tokens[i], LABEL_COLUMNS, label);
		most = width > most ? width : most;
	}
	return most;
}

static int64_t rows_of_blocks(const look *l, const layout *a)
{
	return l->layers * div_up(l->heads, a->across);
}

static layout choose_layout(const look *l)
{
	layout a = {.cell = 12, .font = 10};
	if (look_is_large(l))
		a.cell = l->view.keys <= 24 && l->view.queries <= 24 ? 34 : 18, a.font = 13;
	a.left = widest_token(l->view.query, l->view.queries) * (a.font * 62) / 100 + 10;
	a.above = widest_token(l->view.key, l->view.keys) * (a.font * 62) / 100 + 10;
	a.block = l->view.keys * a.cell;
	a.height = l->view.queries * a.cell;
	a.across = (ROW_MOST - a.left - 2 * MARGIN + GAP) / (a.block + GAP);
	a.across = max_i64(1, min_i64(a.across, l->heads));
	a.width = max_i64(2 * MARGIN + a.left + a.across * (a.block + GAP) - GAP, WIDTH_LEAST);
	a.total = TITLE_ROOM + LEGEND_ROOM +
	          rows_of_blocks(l, &a) * (a.above + a.height + GAP + a.font);
	return a;
}

static void put_colour(page *p, double heat, bool sink)
{
	const rgb c = ramp_colour(sink ? &ramp_light_grey : &ramp_light, heat);
	page_add(p, "#%02x%02x%02x", (int)c.r, (int)c.g, (int)c.b);
}

static int shade_of(double heat)
{
	return (int)(heat * SHADES + 0.5);
}

static void put_label(page *p, const char *token)
{
	char label[LABEL_BYTES];
	label_of(token, LABEL_COLUMNS, label);
	page_markup(p, label);
	page_text(p, "</text>\n");
}

/* Tokens on the left of a row of blocks, and above one block. */
static void put_queries(page *p, const look *l, const layout *a, int64_t y)
{
	for (int64_t t = 0; t < l->view.queries; t++) {
		page_add(p,
		         "<text class=\"t\" text-anchor=\"end\" x=\"%" PRId64 "\" y=\"%" PRId64
		         "\">",
		         MARGIN + a->left - 6, y + t * a->cell + a->cell / 2 + a->font / 3);
		put_label(p, l->view.query[t]);
	}
}

static void put_keys(page *p, const look *l, const layout *a, int64_t x, int64_t y)
{
	for (int64_t s = 0; s < l->view.keys; s++) {
		page_add(p,
		         "<text class=\"%s\" transform=\"translate(%" PRId64 " %" PRId64
		         ") rotate(-90)\">",
		         look_is_sink(l, s) ? "t k" : "t",
		         x + s * a->cell + a->cell / 2 + a->font / 3, y - 6);
		put_label(p, l->view.key[s]);
	}
}

/* All cells of one shade. */
static void put_shade(page *p, const look *l, int64_t layer, int64_t head, int shade, bool sink)
{
	bool begun = false;
	for (int64_t t = 0; t < l->view.queries; t++)
		for (int64_t s = 0; s < l->view.keys; s++) {
			if (look_is_sink(l, s) != sink ||
			    shade_of(look_heat(l, layer, head, t, s)) != shade)
				continue;
			if (!begun) {
				page_text(p, "<path fill=\"");
				put_colour(p, (double)shade / SHADES, sink);
				page_text(p, "\" d=\"");
				begun = true;
			}
			page_add(p, "M%" PRId64 " %" PRId64 "h1v1h-1z", s, t);
		}
	if (begun)
		page_text(p, "\"/>\n");
}

static void put_small_cells(page *p, const look *l, const layout *a, int64_t layer, int64_t head)
{
	page_add(p, "<g transform=\"scale(%d)\" shape-rendering=\"crispEdges\">\n", a->cell);
	for (int shade = 1; shade <= SHADES; shade++)
		for (int sink = 0; sink <= l->sinks; sink++)
			put_shade(p, l, layer, head, shade, sink);
	page_text(p, "</g>\n");
}

static void put_hundredths(page *p, double weight)
{
	int hundredths = (int)(weight * 100 + 0.5);
	page_add(p, "%d.%02d", hundredths / 100, hundredths % 100);
}

static void put_large_cells(page *p, const look *l, const layout *a, int64_t layer, int64_t head)
{
	for (int64_t t = 0; t < l->view.queries; t++)
		for (int64_t s = 0; s < l->view.keys; s++) {
			double weight = look_weight(l, layer, head, t, s);
			double heat = look_heat(l, layer, head, t, s);
			char query[LABEL_BYTES], key[LABEL_BYTES];
			label_of(l->view.query[t], 40, query);
			label_of(l->view.key[s], 40, key);
			page_add(p, "<g transform=\"translate(%" PRId64 " %" PRId64 ")\"><title>",
			         s * a->cell, t * a->cell);
			page_markup(p, query);
			page_text(p, " → ");
			page_markup(p, key);
			page_text(p, ": ");
			page_number(p, weight, 3);
			page_add(p, "</title><rect width=\"%d\" height=\"%d\" fill=\"", a->cell,
			         a->cell);
			put_colour(p, heat, look_is_sink(l, s));
			page_text(p, "\"/>");
			if (a->cell >= 30 && weight >= 0.005) {
				page_add(p, "<text class=\"n%s\" x=\"%d\" y=\"%d\">",
				         heat > 0.5 ? " w" : "", a->cell / 2, a->cell / 2 + 4);
				put_hundredths(p, weight);
				page_text(p, "</text>");
			}
			page_text(p, "</g>\n");
		}
}

static void put_block(page *p, const look *l, const layout *a, int64_t layer, int64_t head,
                      int64_t x, int64_t y)
{
	put_keys(p, l, a, x, y);
	if (!look_is_large(l))
		page_add(p,
		         "<text class=\"h\" x=\"%" PRId64 "\" y=\"%" PRId64 "\">layer %" PRId64
		         ", head %" PRId64 "</text>\n",
		         x, y + a->height + a->font + 3, layer, head);
	page_add(p, "<g transform=\"translate(%" PRId64 " %" PRId64 ")\">\n", x, y);
	if (look_is_large(l))
		put_large_cells(p, l, a, layer, head);
	else
		put_small_cells(p, l, a, layer, head);
	page_add(p, "<rect class=\"f\" width=\"%" PRId64 "\" height=\"%" PRId64 "\"/>\n</g>\n",
	         a->block, a->height);
}

static void put_blocks(page *p, const look *l, const layout *a)
{
	int64_t y = TITLE_ROOM;
	for (int64_t i = l->layer; i < l->layer + l->layers; i++)
		for (int64_t j = 0; j < l->heads; j += a->across) {
			y += a->above;
			put_queries(p, l, a, y);
			for (int64_t b = 0; b < a->across && j + b < l->heads; b++)
				put_block(p, l, a, i, l->head + j + b,
				          MARGIN + a->left + b * (a->block + GAP), y);
			y += a->height + GAP + a->font;
		}
}

static void put_ramp(page *p, int64_t x, int64_t y, bool sink, double end)
{
	page_add(p, "<text class=\"h\" x=\"%" PRId64 "\" y=\"%" PRId64 "\">0</text>\n", x, y + 11);
	for (int i = 0; i <= SHADES; i++) {
		page_add(p,
		         "<rect x=\"%" PRId64 "\" y=\"%" PRId64
		         "\" width=\"5\" height=\"14\" fill=\"",
		         x + 12 + i * 5, y);
		put_colour(p, (double)i / SHADES, sink);
		page_text(p, "\"/>\n");
	}
	page_add(p,
	         "<rect class=\"f\" x=\"%" PRId64 "\" y=\"%" PRId64
	         "\" width=\"%d\" height=\"14\"/>\n",
	         x + 12, y, (SHADES + 1) * 5);
	page_add(p, "<text class=\"h\" x=\"%" PRId64 "\" y=\"%" PRId64 "\">",
	         x + 18 + (SHADES + 1) * 5, y + 11);
	page_number(p, end, 2);
}

static void put_sink_names(page *p, const look *l)
{
	int shown = 0;
	for (int64_t s = 0; s < l->view.keys; s++) {
		char label[LABEL_BYTES];
		if (!look_is_sink(l, s))
			continue;
		if (++shown > 6) {
			page_text(p, " …");
			return;
		}
		label_of(l->view.key[s], LABEL_COLUMNS, label);
		page_text(p, " ");
		page_markup(p, label);
	}
}

static void put_legend(page *p, const look *l, const layout *a)
{
	int64_t y = a->total - LEGEND_ROOM + 6;
	put_ramp(p, MARGIN, y, false, l->scale);
	page_text(p, "  weight</text>\n");
	if (!l->sinks)
		return;
	put_ramp(p, MARGIN, y + 24, true, 1);
	page_text(p, "  left out of the colour scale, as heads rest there:");
	put_sink_names(p, l);
	page_text(p, "</text>\n");
}

void draw_svg(page *p, const look *l)
{
	layout a = choose_layout(l);
	char selection[128], title[LABEL_BYTES];
	look_selection(l, selection, sizeof selection);
	label_of(look_title(l), 70, title);
	page_add(p,
	         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRId64 "\" height=\"%" PRId64
	         "\" viewBox=\"0 0 %" PRId64 " %" PRId64
	         "\" role=\"img\" aria-labelledby=\"title desc\">\n<title id=\"title\">",
	         a.width, a.total, a.width, a.total);
	page_markup(p, title);
	page_add(
		p,
		", %s</title>\n<desc id=\"desc\">Heat maps of attention weights. Down: %s, %" PRId64
		". Across: %s, %" PRId64 ". The darker a cell, the larger the weight.</desc>\n",
		selection, look_down(l), l->view.queries, look_across(l), l->view.keys);
	page_add(p,
	         "<style>text{font-family:ui-sans-serif,system-ui,'DejaVu Sans',sans-serif;"
	         "fill:#1b2733}.t{font-size:%dpx}.k{fill:#7a828a}.h{font-size:11px;fill:#5a6672}"
	         ".n{font-size:10px;text-anchor:middle}.w{fill:#ffffff}"
	         ".f{fill:none;stroke:#b8c2cc}</style>\n",
	         a.font);
	page_add(p, "<rect width=\"%" PRId64 "\" height=\"%" PRId64 "\" fill=\"#ffffff\"/>\n",
	         a.width, a.total);
	page_add(p, "<text x=\"%d\" y=\"28\" font-size=\"17\" font-weight=\"600\">", MARGIN);
	page_markup(p, title);
	page_add(p,
	         "</text>\n<text class=\"h\" x=\"%d\" y=\"46\">%s — down: %s; across: %s</text>\n",
	         MARGIN, selection, look_down(l), look_across(l));
	put_blocks(p, l, &a);
	put_legend(p, l, &a);
	page_text(p, "</svg>\n");
}
