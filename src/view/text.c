/* text.c — heads as heat maps in a terminal.
 *
 * One head alone is drawn large: a column as wide as its token, the weight in every cell. Several are
 * drawn as blocks of cells two columns wide, as many side by side as fit, with the keys written
 * downwards above them. What is wider than the terminal is cut into panels. Everything that has a
 * place is placed by display width. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/width.h"
#include "view/colour.h"
#include "view/look.h"

#define COLUMNS_DEFAULT 80
#define COLUMNS_LEAST 40
#define COLUMNS_MOST 1000
#define INDENT 2
#define GAP 3            /* between blocks */
#define CELL 2           /* columns of a cell in a block */
#define QUERY_COLUMNS 14 /* of a label on the left */
#define KEY_COLUMNS 10   /* of a label above a column of a large head */
#define KEY_ROWS 8       /* of a label above a block */
#define NUMBER_COLUMNS 5 /* of a cell in a large head */
#define TOP_LEAST 0.005  /* what would be shown as nothing is no news */
#define RAMP_CELLS 11
#define SINKS_MOST 12   /* named in the legend */
#define QUERIES_MOST 60 /* in a panel: above them the keys are repeated */

typedef enum ink { INK_PLAIN, INK_TITLE, INK_HEAD, INK_FAINT } ink;

/* Colours between black and white: at least 4.5:1 on either. */
static void put_ink(page *p, const look *l, ink which)
{
	static const char *const inks[] = {"\x1b[0m", "\x1b[1m", "\x1b[38;5;63m", "\x1b[38;5;243m"};
	if (l->options.colour != HEC_VIEW_PLAIN)
		page_text(p, inks[which]);
}

static void put_inked(page *p, const look *l, ink which, const char *text)
{
	put_ink(p, l, which);
	page_text(p, text);
	put_ink(p, l, INK_PLAIN);
}

/* ---- colours ---- */

static hec_view_scale scale_of(bool sink)
{
	return sink ? HEC_VIEW_GREY : HEC_VIEW_HEAT;
}

static void put_background(page *p, const look *l, double heat, bool sink)
{
	char background[HEC_VIEW_BACKGROUND];
	hec_view_background(scale_of(sink), heat, l->options.colour, background);
	page_text(p, background);
}

/* Nothing at all, next to nothing, and four equal parts of the rest. */
#define LITTLE (1.0 / 16)

static const char *shade_text(double heat)
{
	static const char *const shades[] = {"░", "▒", "▓", "█"};
	int part = (int)(heat * 4);
	return heat == 0 ? " " : heat < LITTLE ? "·" : shades[part < 3 ? part : 3];
}

static void put_cell(page *p, const look *l, double heat, bool sink)
{
	if (l->options.colour != HEC_VIEW_PLAIN) {
		put_background(p, l, heat, sink);
		page_text(p, "  \x1b[0m");
	} else if (heat == 0) {
		page_spaces(p, CELL);
	} else if (sink) { /* in tenths */
		int tenths = (int)(heat * 10 + 0.5);
		page_add(p, "%d", tenths);
		page_spaces(p, tenths < 10);
	} else if (heat < LITTLE) {
		page_text(p, shade_text(heat));
		page_spaces(p, 1);
	} else {
		page_text(p, shade_text(heat));
		page_text(p, shade_text(heat));
	}
}

/* ---- words ---- */

static int64_t terminal_columns(const look *l)
{
	int64_t columns = l->options.columns ? l->options.columns : COLUMNS_DEFAULT;
	return min_i64(max_i64(columns, COLUMNS_LEAST), COLUMNS_MOST);
}

/* Words that go on in the next line where the terminal ends. */
typedef struct flow {
	page *p;
	int64_t room, used;
} flow;

static void flow_word(flow *f, const char *word, int64_t width)
{
	if (f->used > INDENT && f->used + 1 + width > f->room) {
		page_text(f->p, "\n");
		page_spaces(f->p, f->used = INDENT);
	} else if (f->used > INDENT) {
		page_spaces(f->p, 1);
		f->used++;
	}
	page_text(f->p, word);
	f->used += width;
}

static void flow_words(flow *f, const char *words)
{
	while (*words) {
		char word[64];
		size_t n = strcspn(words, " ");
		snprintf(word, sizeof word, "%.*s", (int)n, words);
		flow_word(f, word, hec_display_width(word, strlen(word)));
		words += n + (words[n] == ' ');
	}
}

/* ---- panels ---- */

typedef struct panel {
	int64_t query, queries; /* the first one, and how many */
	int64_t key, keys;
	int label;     /* columns of the labels on the left */
	int64_t cells; /* columns of all cells of one block */
} panel;

static int label_columns(const look *l)
{
	int widest = 0;
	char label[LABEL_BYTES];
	for (int64_t t = 0; t < l->view.queries; t++) {
		int width = label_of(l->view.query[t], QUERY_COLUMNS, label);
		widest = width > widest ? width : widest;
	}
	return widest;
}

static int64_t room_for_cells(const look *l, const panel *a)
{
	return terminal_columns(l) - INDENT - a->label - 1;
}

static void put_panel_title(page *p, const look *l, const panel *a)
{
	if (a->keys == l->view.keys && a->queries == l->view.queries)
		return;
	const bool heads = l->view.kind == HEC_VIEW_HEADS;
	char words[160];
	snprintf(words, sizeof words,
	         "%s %" PRId64 " to %" PRId64 " of %" PRId64 ", looking at %s%" PRId64
	         " to %" PRId64 " of %" PRId64,
	         heads ? "heads" : "tokens", a->query, a->query + a->queries - 1, l->view.queries,
	         heads ? "tokens " : "", a->key, a->key + a->keys - 1, l->view.keys);
	flow f = {p, terminal_columns(l), INDENT};
	put_ink(p, l, INK_FAINT);
	page_spaces(p, INDENT);
	flow_words(&f, words);
	put_ink(p, l, INK_PLAIN);
	page_text(p, "\n");
}

static void put_query(page *p, const look *l, const panel *a, int64_t query)
{
	char label[LABEL_BYTES];
	int width = label_of(l->view.query[query], QUERY_COLUMNS, label);
	page_spaces(p, INDENT + a->label - width);
	page_text(p, label);
	page_spaces(p, 1);
}

/* ---- several heads: blocks ---- */

/* Piece `row` of a token written downwards: a character and the marks that join it. Returns its
 * width; 0 where the token has no such piece. */
static int piece_of(const char *token, int row, char out[LABEL_BYTES])
{
	char label[LABEL_BYTES];
	label_of(token, (KEY_ROWS + 1) * 2, label); /* each piece is at most two wide */
	size_t length = strlen(label), i = 0, bytes;
	for (int at = -1; i < length; i += bytes) {
		uint32_t rune = rune_decode(label + i, length - i, &bytes);
		at += rune_width(rune) > 0 || at < 0;
		if (at == row)
			break;
	}
	if (i >= length)
		return 0;
	size_t begin = i, end = i + bytes;
	while (end < length && rune_width(rune_decode(label + end, length - end, &bytes)) == 0)
		end += bytes;
	memcpy(out, label + begin, end - begin);
	out[end - begin] = '\0';
	return hec_display_width(out, end - begin);
}

static int pieces_of(const char *token)
{
	char piece[LABEL_BYTES];
	int count = 0;
	while (count < KEY_ROWS && piece_of(token, count, piece) > 0)
		count++;
	return count;
}

static bool has_piece(const char *token, int row)
{
	char piece[LABEL_BYTES];
	return piece_of(token, row, piece) > 0;
}

/* One line of the keys above a block; they end where the cells begin. */
static void put_key_row(page *p, const look *l, const panel *a, int row, int rows)
{
	for (int64_t s = a->key; s < a->key + a->keys; s++) {
		const char *token = l->view.key[s];
		char piece[LABEL_BYTES];
		int at = row - (rows - pieces_of(token)), width = 0;
		if (at == KEY_ROWS - 1 && has_piece(token, KEY_ROWS)) {
			page_text(p, "⋮");
			width = 1;
		} else if (at >= 0) {
			width = piece_of(token, at, piece);
			if (width > 0 && strcmp(piece, " ") != 0)
				page_text(p, piece);
			else
				width = 0;
		}
		page_spaces(p, CELL - width);
	}
}

static void put_keys_downwards(page *p, const look *l, const panel *a, int64_t blocks)
{
	int rows = 0;
	for (int64_t s = a->key; s < a->key + a->keys; s++) {
		int n = pieces_of(l->view.key[s]);
		rows = n > rows ? n : rows;
	}
	for (int row = 0; row < rows; row++) {
		page_spaces(p, INDENT + a->label + 1);
		put_ink(p, l, INK_FAINT);
		for (int64_t b = 0; b < blocks; b++) {
			page_spaces(p, b > 0 ? GAP : 0);
			put_key_row(p, l, a, row, rows);
		}
		put_ink(p, l, INK_PLAIN);
		page_text(p, "\n");
	}
}

/* A row of blocks: heads side by side, with their tokens on the left once. */
static void put_block_row(page *p, const look *l, const panel *a, int64_t layer, int64_t head,
                          int64_t blocks)
{
	page_spaces(p, INDENT + a->label + 1);
	for (int64_t b = 0; b < blocks; b++) {
		char title[32];
		int width = snprintf(title, sizeof title,
		                     a->cells < 8 ? "%" PRId64 : "head %" PRId64, head + b);
		page_spaces(p, b > 0 ? GAP : 0);
		put_inked(p, l, INK_HEAD, title);
		page_spaces(p, b + 1 < blocks ? a->cells - width : 0);
	}
	page_text(p, "\n");
	for (int64_t t = a->query; t < a->query + a->queries; t++) {
		put_query(p, l, a, t);
		for (int64_t b = 0; b < blocks; b++) {
			page_spaces(p, b > 0 ? GAP : 0);
			for (int64_t s = a->key; s < a->key + a->keys; s++)
				put_cell(p, l, look_heat(l, layer, head + b, t, s),
				         look_is_sink(l, s));
		}
		page_text(p, "\n");
	}
}

static void put_layer(page *p, const look *l, const panel *a, int64_t layer)
{
	int64_t fit = (room_for_cells(l, a) + GAP) / (a->cells + GAP);
	/* Rows of equal length rather than one full and one nearly empty. */
	fit = div_up(l->heads, div_up(l->heads, max_i64(1, fit)));
	for (int64_t head = 0; head < l->heads; head += fit) {
		int64_t blocks = min_i64(fit, l->heads - head);
		put_keys_downwards(p, l, a, blocks);
		put_block_row(p, l, a, layer, l->head + head, blocks);
		page_text(p, "\n");
	}
}

/* ---- one head: large ---- */

static int key_columns(const look *l, int64_t key)
{
	char label[LABEL_BYTES];
	int width = label_of(l->view.key[key], KEY_COLUMNS, label) + 1;
	return width > NUMBER_COLUMNS ? width : NUMBER_COLUMNS;
}

static void put_number(page *p, double weight)
{
	int hundredths = (int)(weight * 100 + 0.5);
	if (weight == 0)
		page_spaces(p, 3);
	else if (hundredths == 0)
		page_text(p, "  ·");
	else if (hundredths >= 100)
		page_text(p, "1.0");
	else
		page_add(p, ".%02d", hundredths);
}

static void put_large_cell(page *p, const look *l, int64_t t, int64_t s)
{
	double heat = look_heat(l, l->layer, l->head, t, s);
	bool sink = look_is_sink(l, s), colour = l->options.colour != HEC_VIEW_PLAIN;
	int width = key_columns(l, s);
	if (colour) {
		put_background(p, l, heat, sink);
		page_text(p, text_on_background(scale_of(sink), heat, l->options.colour));
		page_spaces(p, width - 4);
	} else {
		bool bare = sink || heat < LITTLE;
		page_spaces(p, width - 5 + bare);
		page_text(p, bare ? "" : shade_text(heat));
	}
	put_number(p, look_weight(l, l->layer, l->head, t, s));
	if (colour)
		page_text(p, " \x1b[0m");
	else
		page_spaces(p, 1);
}

static void put_large(page *p, const look *l, const panel *a)
{
	char label[LABEL_BYTES];
	page_spaces(p, INDENT + a->label + 1);
	put_ink(p, l, INK_FAINT);
	for (int64_t s = a->key; s < a->key + a->keys; s++) {
		int width = label_of(l->view.key[s], KEY_COLUMNS, label);
		page_spaces(p, key_columns(l, s) - 1 - width);
		page_text(p, label);
		page_spaces(p, 1);
	}
	put_ink(p, l, INK_PLAIN);
	page_text(p, "\n");
	for (int64_t t = a->query; t < a->query + a->queries; t++) {
		put_query(p, l, a, t);
		for (int64_t s = a->key; s < a->key + a->keys; s++)
			put_large_cell(p, l, t, s);
		page_text(p, "\n");
	}
	page_text(p, "\n");
}

/* Keys from a->key on that fit beside each other. */
static void fit_keys(const look *l, panel *a)
{
	int64_t room = room_for_cells(l, a);
	a->keys = a->cells = 0;
	while (a->key + a->keys < l->view.keys) {
		int64_t next = look_is_large(l) ? key_columns(l, a->key + a->keys) : CELL;
		if (a->keys > 0 && a->cells + next > room)
			break;
		a->cells += next;
		a->keys++;
	}
}

static void put_panels(page *p, const look *l, int64_t layer)
{
	panel a = {.label = label_columns(l)};
	for (a.query = 0; a.query < l->view.queries; a.query += a.queries) {
		a.queries = min_i64(QUERIES_MOST, l->view.queries - a.query);
		for (a.key = 0; a.key < l->view.keys; a.key += a.keys) {
			fit_keys(l, &a);
			put_panel_title(p, l, &a);
			if (look_is_large(l))
				put_large(p, l, &a);
			else
				put_layer(p, l, &a, layer);
		}
	}
}

/* ---- around them ---- */

static void put_title(page *p, const look *l)
{
	int64_t columns = terminal_columns(l);
	char words[LABEL_BYTES], selection[128];
	int width = label_of(look_title(l), (int)columns, words);
	look_selection(l, selection, sizeof selection);
	put_inked(p, l, INK_TITLE, words);
	page_text(p, width + 2 + (int64_t)strlen(selection) > columns ? "\n" : "  ");
	put_inked(p, l, INK_FAINT, selection);
	page_text(p, "\n");
	put_ink(p, l, INK_FAINT);
	flow f = {p, columns, 0};
	flow_words(&f, "down:");
	flow_words(&f, look_down(l));
	page_text(p, ";");
	f.used++;
	flow_words(&f, "across:");
	flow_words(&f, look_across(l));
	put_ink(p, l, INK_PLAIN);
	page_text(p, "\n\n");
}

static void flow_sinks(flow *f, const look *l)
{
	int shown = 0;
	char label[LABEL_BYTES];
	for (int64_t s = 0; s < l->view.keys; s++) {
		if (!look_is_sink(l, s))
			continue;
		if (++shown > SINKS_MOST) {
			flow_words(f, "…");
			return;
		}
		int width = label_of(l->view.key[s], KEY_COLUMNS, label);
		flow_word(f, label, width);
	}
}

static void put_ramp(page *p, const look *l, bool sink)
{
	page_spaces(p, INDENT);
	page_text(p, "0 ");
	for (int i = 0; i < RAMP_CELLS; i++) {
		put_background(p, l, (double)i / (RAMP_CELLS - 1), sink);
		page_text(p, "  \x1b[0m");
	}
	put_ink(p, l, INK_FAINT);
}

static void put_legend(page *p, const look *l)
{
	bool plain = l->options.colour == HEC_VIEW_PLAIN;
	flow f = {p, terminal_columns(l), INDENT};
	char end[NUMBER_BYTES];
	number_text(l->scale, 2, end);
	put_ink(p, l, INK_FAINT);
	if (plain) {
		page_spaces(p, INDENT);
		flow_words(&f, "· is little; ░ ▒ ▓ █ are quarters of 0 to");
	} else {
		put_ramp(p, l, false);
		f.used = INDENT + 2 + CELL * RAMP_CELLS;
	}
	flow_words(&f, end);
	page_text(p, "\n");
	f.used = INDENT;
	if (l->sinks && plain) {
		page_spaces(p, INDENT);
		flow_words(&f, look_is_large(l) ? "left" : "in tenths, left");
		flow_words(&f, "out of the shades, as heads rest there:");
	} else if (l->sinks) {
		put_ramp(p, l, true);
		f.used = INDENT + 2 + CELL * RAMP_CELLS;
		flow_words(&f, "1  left out of the scale, as heads rest there:");
	}
	if (l->sinks) {
		flow_sinks(&f, l);
		page_text(p, "\n");
	}
	put_ink(p, l, INK_PLAIN);
}

/* Columns of the longest label among the keys. */
static int top_columns(const look *l)
{
	int widest = 0;
	char label[LABEL_BYTES];
	for (int64_t s = 0; s < l->view.keys; s++) {
		int width = label_of(l->view.key[s], KEY_COLUMNS, label);
		widest = width > widest ? width : widest;
	}
	return widest;
}

static void put_top(page *p, const look *l)
{
	top_key keys[HEC_VIEW_MAX_TOP];
	panel a = {.label = label_columns(l)};
	int64_t widest = top_columns(l), one = widest + 7;
	int64_t in_a_line = max_i64(1, (room_for_cells(l, &a) - 1) / one);
	page_text(p, "\n");
	put_inked(p, l, INK_TITLE, "Most looked at");
	put_inked(p, l, INK_FAINT, look_is_large(l) ? "" : "  mean over these heads");
	page_text(p, "\n");
	for (int64_t t = 0; t < l->view.queries; t++) {
		int count = look_top(l, t, keys, (int)l->options.top);
		put_query(p, l, &a, t);
		for (int i = 0; i < count && keys[i].weight >= TOP_LEAST; i++) {
			char label[LABEL_BYTES];
			int width = label_of(l->view.key[keys[i].key], KEY_COLUMNS, label);
			if (i > 0 && i % in_a_line == 0) {
				page_text(p, "\n");
				page_spaces(p, INDENT + a.label + 1);
			}
			page_spaces(p, 1);
			put_number(p, keys[i].weight);
			page_spaces(p, 1);
			put_inked(p, l, look_is_sink(l, keys[i].key) ? INK_FAINT : INK_HEAD, label);
			page_spaces(p, widest - width + 2);
		}
		page_text(p, "\n");
	}
}

void draw_text(page *p, const look *l)
{
	put_title(p, l);
	for (int64_t i = l->layer; i < l->layer + l->layers; i++) {
		if (l->layers > 1) {
			char title[48];
			snprintf(title, sizeof title, "layer %" PRId64 "\n", i);
			put_inked(p, l, INK_TITLE, title);
		}
		put_panels(p, l, i);
	}
	put_legend(p, l);
	if (l->options.top > 0)
		put_top(p, l);
}
