/* test_view.c — attention weights drawn: what people see lines up; what cannot be drawn is refused; what is
 * saved is what is drawn. */
#include "support/contrast.h"
#include "support/scratch.h"
#include "support/views.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/width.h>

static void blocks_without_colour_look_like_this(void **state)
{
	(void)state;
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
	o.top = 2;
	drawn d = draw_view(&small_view, HEC_VIEW_TEXT, &o);
	assert_string_equal(
		d.text,
		"Cross-attention  layer 0 of 1, heads 0 to 1\n"
		"down: each token as it is written; across: what it looks at in the source\n"
		"\n"
		"     <          <\n"
		"     s     é    s     é\n"
		"     > x 猫e    > x 猫e\n"
		"     head 0     head 1\n"
		"   a 5 ▓▓           ██\n"
		"  bc 1 ░░▒▒▒▒     ▒▒▒▒▓▓\n"
		"  猫 10         3 ██\n"
		"\n"
		"  · is little; ░ ▒ ▓ █ are quarters of 0 to 1\n"
		"  in tenths, left out of the shades, as heads rest there: <s>\n"
		"\n"
		"Most looked at  mean over these heads\n"
		"   a  .50 猫    .25 <s>\n"
		"  bc  .47 ée    .28 猫\n"
		"  猫  .63 <s>   .38 x\n");
	free(d.text);
}

static void one_head_is_large_and_shows_its_numbers(void **state)
{
	(void)state;
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
	o.layer = 0;
	o.head = 0;
	o.title = "Mine\x1b[31m";
	drawn d = draw_view(&small_view, HEC_VIEW_TEXT, &o);
	assert_string_equal(
		d.text,
		"Mine\xEF\xBF\xBD[31m  layer 0 of 1, head 0 of 2\n"
		"down: each token as it is written; across: what it looks at in the source\n"
		"\n"
		"      <s>    x   猫   ée\n"
		"   a  .50 █.50\n"
		"  bc  .10 ▒.15 ▓.30 █.45\n"
		"  猫  1.0\n"
		"\n"
		"  · is little; ░ ▒ ▓ █ are quarters of 0 to 0.5\n"
		"  left out of the shades, as heads rest there: <s>\n");
	free(d.text);
}

static void no_line_is_wider_than_the_terminal(void **state)
{
	(void)state;
	static const int64_t sizes[][2] = {{1, 1}, {3, 7}, {17, 40}, {70, 130}};
	static const int64_t columns[] = {1, 40, 41, 79, 80, 200};
	for (size_t i = 0; i < 4; i++)
		for (size_t c = 0; c < 6; c++)
			for (int mode = 0; mode < 6; mode++) {
				room r = make_room(sizes[i][0], sizes[i][1], 2, 5);
				hec_view_options o = HEC_VIEW_OPTIONS_INIT;
				o.columns = columns[c];
				o.colour = (hec_view_colour)(mode % 3);
				o.layer = o.head = mode < 3 ? -1 : 1;
				o.top = 4;
				o.title = "T";
				drawn d = draw_view(&r.view, HEC_VIEW_TEXT, &o);
				int line = 0, most = columns[c] < 40 ? 40 : (int)columns[c];
				for (char *at = d.text; *at; line++) {
					size_t n = strcspn(at, "\n");
					if (n > 0 && at[n - 1] == ' ')
						fail_msg("line %d ends with a space", line);
					if (hec_display_width(at, n) > most)
						fail_msg("%d columns, mode %d: line %d is %d: %.*s",
						         most, mode, line, hec_display_width(at, n),
						         (int)n, at);
					at += n + 1;
				}
				free(d.text);
				free_room(&r);
			}
}

/* Every row of cells begins at the same column, whatever the token before it. */
static void cells_stand_below_each_other(void **state)
{
	(void)state;
	room r = make_room(10, 4, 1, 2);
	for (int64_t i = 0; i < 1 * 2 * 10 * 4; i++)
		r.weights[i] = 1;
	r.view.sink = NULL;
	drawn d = draw_view(&r.view, HEC_VIEW_TEXT, NULL);
	int rows = 0, column = -1;
	for (char *at = d.text; *at;) {
		size_t n = strcspn(at, "\n");
		char *cell = strstr(at, "████████   ████████");
		if (cell && cell < at + n) {
			int width = hec_display_width(at, (size_t)(cell - at));
			assert_true(column < 0 || width == column);
			column = width;
			rows++;
		}
		at += n + 1;
	}
	assert_int_equal(rows, 10);
	free(d.text);
	free_room(&r);
}

static void long_lists_are_cut_into_panels_that_show_every_cell(void **state)
{
	(void)state;
	room r = make_room(70, 130, 1, 2);
	for (int64_t i = 0; i < 2 * 70 * 130; i++)
		r.weights[i] = 1;
	r.view.sink = NULL;
	drawn d = draw_view(&r.view, HEC_VIEW_TEXT, NULL);
	int cells = 0;
	for (char *at = d.text; (at = strstr(at, "██")); at += strlen("██"))
		cells++;
	assert_int_equal(cells, 2 * 70 * 130);
	assert_non_null(strstr(d.text, "tokens 60 to 69 of 70, looking at "));
	free(d.text);
	free_room(&r);
}

/* Every weight from 0 to 1, on keys that are sinks and keys that are not, large and small. */
static void text_stands_out_from_its_ground_on_any_terminal(void **state)
{
	(void)state;
	room r = make_room(101, 4, 1, 2);
	for (int64_t i = 0; i < 2 * 101 * 4; i++)
		r.weights[i] = (float)(i / 4 % 101) / 100;
	for (int64_t s = 0; s < 4; s++)
		r.sink[s] = s % 2;
	r.view.sink = r.sink;
	for (hec_view_colour colour = HEC_VIEW_256; colour <= HEC_VIEW_24BIT; colour++)
		for (int64_t head = -1; head < 1; head++) {
			hec_view_options o = HEC_VIEW_OPTIONS_INIT;
			o.colour = colour;
			o.head = head;
			o.layer = 0;
			o.top = 3;
			drawn d = draw_view(&r.view, HEC_VIEW_TEXT, &o);
			int coloured;
			const double least = least_contrast(d.text, &coloured);
			assert_true(coloured > 100);
			if (least < CONTRAST_LEAST)
				fail_msg("colour %d, head %d: %.2f : 1", (int)colour, (int)head,
				         least);
			free(d.text);
		}
	free_room(&r);
}

/* The rows of one token are heads: no count of them calls them tokens. */
static void heads_are_counted_as_heads(void **state)
{
	(void)state;
	room r = make_room(70, 130, 1, 1);
	for (int64_t i = 0; i < 70 * 130; i++)
		r.weights[i] = 1;
	r.view.kind = HEC_VIEW_HEADS;
	drawn d = draw_view(&r.view, HEC_VIEW_TEXT, NULL);
	assert_non_null(strstr(d.text, "  70 heads\n"));
	assert_non_null(strstr(d.text, "heads 60 to 69 of 70, looking at tokens 0 to "));
	assert_null(strstr(d.text, "tokens 60 to 69"));
	free(d.text);
	free_room(&r);
}

/* As many in a row as the terminal has room for; each carries its own number. */
static void every_head_carries_its_number(void **state)
{
	(void)state;
	room r = make_room(4, 6, 2, 7);
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
	for (o.columns = 40; o.columns <= 160; o.columns += 30) {
		drawn d = draw_view(&r.view, HEC_VIEW_TEXT, &o);
		for (int head = 0; head < 7; head++) {
			char name[16];
			int found = 0;
			int bytes = snprintf(name, sizeof name, "head %d", head);
			for (const char *at = d.text; (at = strstr(at, name)); at += bytes)
				found++;
			if (found != 2) /* once in each layer */
				fail_msg("%s is there %d times in %d columns:\n%s", name, found,
				         (int)o.columns, d.text);
		}
		free(d.text);
	}
	free_room(&r);
}

/* Of each head the first key has another weight: 0.1, 0.2, … 0.6. */
static hec_view numbered_view(void)
{
	static const char *const query[] = {"q"}, *const key[] = {"k", "l"};
	static float weights[2 * 3 * 2];
	for (int i = 0; i < 6; i++) {
		weights[2 * i] = (float)(i + 1) / 10;
		weights[2 * i + 1] = 1 - weights[2 * i];
	}
	return (hec_view){.size = sizeof(hec_view),
	                  .query = query,
	                  .queries = 1,
	                  .key = key,
	                  .keys = 2,
	                  .layers = 2,
	                  .heads = 3,
	                  .weights = weights};
}

static void what_is_chosen_is_what_is_shown(void **state)
{
	(void)state;
	const hec_view v = numbered_view();
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
	for (int i = 0; i < 6; i++) {
		char want[40];
		o.layer = i / 3;
		o.head = i % 3;
		snprintf(want, sizeof want, "q → k: 0.%d</title>", i + 1);
		drawn d = draw_view(&v, HEC_VIEW_SVG, &o);
		assert_non_null(strstr(d.text, want));
		free(d.text);
	}
	o.layer = -1;
	o.head = 1;
	o.top = 1;
	drawn d = draw_view(&v, HEC_VIEW_SVG, &o);
	assert_non_null(strstr(d.text, ">layer 0, head 1<"));
	assert_non_null(strstr(d.text, ">layer 1, head 1<"));
	assert_null(strstr(d.text, "head 0<"));
	assert_null(strstr(d.text, "head 2<"));
	free(d.text);
	d = draw_view(&v, HEC_VIEW_TEXT, &o); /* the mean of 0.8 and 0.5 */
	assert_non_null(strstr(d.text, ".65 l"));
	free(d.text);
}

static void each_cell_of_a_picture_is_drawn_once(void **state)
{
	(void)state;
	static const char cell[] = "h1v1h-1z";
	drawn d = draw_view(&small_view, HEC_VIEW_SVG, NULL);
	int cells = 0, weights = 0;
	for (const char *at = d.text; (at = strstr(at, cell)); at += sizeof cell - 1)
		cells++;
	for (int i = 0; i < 2 * 3 * 4; i++)
		weights += small_view.weights[i] > 0;
	assert_int_equal(cells, weights);
	free(d.text);
}

static void every_picture_says_which_sinks_are_left_out(void **state)
{
	(void)state;
	for (int format = 0; format <= HEC_VIEW_SVG; format++) {
		drawn d = draw_view(&small_view, (hec_view_format)format, NULL);
		assert_non_null(strstr(d.text, "left out of the "));
		free(d.text);
		hec_view v = small_view;
		v.sink = NULL;
		d = draw_view(&v, (hec_view_format)format, NULL);
		assert_null(strstr(d.text, "left out of the "));
		free(d.text);
		/* Where all are sinks, none is. */
		static const bool all[] = {true, true, true, true};
		v.sink = all;
		d = draw_view(&v, (hec_view_format)format, NULL);
		assert_null(strstr(d.text, "left out of the "));
		free(d.text);
	}
}

/* The largest weight lies on a sink; what is left must fill the scale. */
static void sinks_do_not_dim_the_rest(void **state)
{
	(void)state;
	static const char *const words[] = {"[CLS]", "a", "b"};
	static const float weights[] = {0.98f, 0.02f, 0, 0.99f, 0, 0.01f, 0.9f, 0.06f, 0.04f};
	static const bool sink[] = {true, false, false};
	hec_view v = HEC_VIEW_INIT;
	v.query = v.key = words;
	v.queries = v.keys = 3;
	v.sink = sink;
	v.layers = v.heads = 1;
	v.weights = weights;
	drawn d = draw_view(&v, HEC_VIEW_TEXT, NULL);
	assert_non_null(strstr(d.text, "0 to 0.06"));
	assert_non_null(strstr(d.text, "█.06"));
	free(d.text);
	v.sink = NULL;
	d = draw_view(&v, HEC_VIEW_TEXT, NULL);
	assert_non_null(strstr(d.text, "0 to 0.99"));
	assert_non_null(strstr(d.text, "  .06"));
	free(d.text);
}

/* ---- what is refused ---- */

typedef struct refusal {
	int calls;
	hec_status with; /* what the second call returns */
} refusal;

static hec_status refuse_second(void *user, const char *text, size_t length)
{
	refusal *r = user;
	(void)text;
	(void)length;
	return ++r->calls > 1 ? r->with : HEC_OK;
}

static void wrong_views_are_refused_with_their_numbers(void **state)
{
	(void)state;
	kit k = {0};
	drawn d = {0};
	hec_view v = small_view;
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
#define DRAW hec_view_draw(&v, HEC_VIEW_TEXT, &o, drawn_add, &d)
	o.layer = 1;
	FAILS(&k, HEC_ERR_ARGUMENT, DRAW, "no layer 1", "0 to 0");
	o.layer = -2;
	FAILS(&k, HEC_ERR_ARGUMENT, DRAW, "no layer -2");
	o.layer = -1;
	o.head = 2;
	FAILS(&k, HEC_ERR_ARGUMENT, DRAW, "no head 2", "0 to 1");
	o.head = -1;
	o.top = 65;
	FAILS(&k, HEC_ERR_ARGUMENT, DRAW, "top 65", "64");
	o.top = 0;
	o.colour = (hec_view_colour)7;
	FAILS(&k, HEC_ERR_ARGUMENT, DRAW, "colour mode 7");
	o.colour = HEC_VIEW_PLAIN;
	o.columns = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, DRAW, "columns");
	o.columns = 80;
	v.kind = (hec_view_kind)9;
	FAILS(&k, HEC_ERR_ARGUMENT, DRAW, "kind 9");
	v = small_view;
	v.keys = 0;
	FAILS(&k, HEC_ERR_ARGUMENT, DRAW, "0 key tokens");
	v = small_view;
	const char *const holes[] = {"a", NULL, "b"};
	v.query = holes;
	FAILS(&k, HEC_ERR_ARGUMENT, DRAW, "query token 1 is NULL");
	v = small_view;
	v.layers = INT64_MAX / 2;
	FAILS(&k, HEC_ERR_ARGUMENT, DRAW, "more than can be addressed");
	float weights[24];
	const float bad[] = {-0.5f, 1.5f, (float)INFINITY, (float)NAN};
	for (size_t i = 0; i < 4; i++) {
		memcpy(weights, small_view.weights, sizeof weights);
		weights[17] = bad[i];
		v = small_view;
		v.weights = weights;
		FAILS(&k, HEC_ERR_ARGUMENT, DRAW, "weight 17 is");
	}
	v = small_view;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_view_draw(&v, (hec_view_format)4, NULL, drawn_add, &d),
	      "format 4");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_view_draw(NULL, HEC_VIEW_TEXT, NULL, drawn_add, &d),
	      "view");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_view_draw(&v, HEC_VIEW_TEXT, NULL, NULL, &d), "write");
	assert_null(d.text);
	room r = make_room(50, 50, 4, 4);
	static const hec_status statuses[] = {HEC_ERR_CANCELLED, HEC_ERR_UNSUPPORTED};
	for (size_t i = 0; i < 2; i++) {
		refusal f = {.with = statuses[i]};
		FAILS(&k, f.with, hec_view_draw(&r.view, HEC_VIEW_JSON, NULL, refuse_second, &f),
		      "stopped");
		assert_int_equal(f.calls, 2);
	}
	free_room(&r);
	FAILS(&k, HEC_ERR_IO, hec_view_save(&v, HEC_VIEW_SVG, NULL, "/nowhere/at/all.svg"),
	      "/nowhere/at/all.svg");
}

static void a_saved_file_holds_what_is_drawn(void **state)
{
	(void)state;
	char path[SCRATCH_PATH], read[1 << 16];
	scratch_fresh(path);
	for (int format = 0; format < HEC_VIEW_FORMATS; format++) {
		assert_int_equal(hec_view_save(&small_view, (hec_view_format)format, NULL, path),
		                 HEC_OK);
		drawn d = draw_view(&small_view, (hec_view_format)format, NULL);
		FILE *f = fopen(path, "rb");
		assert_non_null(f);
		size_t n = fread(read, 1, sizeof read, f);
		fclose(f);
		assert_int_equal(n, d.length);
		assert_memory_equal(read, d.text, n);
		free(d.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_without_colour_look_like_this),
		cmocka_unit_test(one_head_is_large_and_shows_its_numbers),
		cmocka_unit_test(no_line_is_wider_than_the_terminal),
		cmocka_unit_test(cells_stand_below_each_other),
		cmocka_unit_test(long_lists_are_cut_into_panels_that_show_every_cell),
		cmocka_unit_test(text_stands_out_from_its_ground_on_any_terminal),
		cmocka_unit_test(heads_are_counted_as_heads),
		cmocka_unit_test(every_head_carries_its_number),
		cmocka_unit_test(what_is_chosen_is_what_is_shown),
		cmocka_unit_test(each_cell_of_a_picture_is_drawn_once),
		cmocka_unit_test(every_picture_says_which_sinks_are_left_out),
		cmocka_unit_test(sinks_do_not_dim_the_rest),
		cmocka_unit_test(wrong_views_are_refused_with_their_numbers),
		cmocka_unit_test(a_saved_file_holds_what_is_drawn),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
