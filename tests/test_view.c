/* test_view.c — attention weights drawn: what people see lines up, what machines read parses back, and
 * no token can steer a terminal or become markup. */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/view.h>
#include <hecate/width.h>
#include <jansson.h>

/* ---- drawing into memory ---- */

typedef struct drawn {
	char *text;
	size_t length;
} drawn;

static int keep(void *user, const char *text, size_t length)
{
	drawn *d = user;
	d->text = realloc(d->text, d->length + length + 1);
	assert_non_null(d->text);
	memcpy(d->text + d->length, text, length);
	d->length += length;
	d->text[d->length] = '\0';
	return 0;
}

static drawn draw_view(const hec_view *v, hec_view_format format, const hec_view_options *o)
{
	drawn d = {0};
	hec_status status = hec_view_draw(v, format, o, keep, &d);
	if (status != HEC_OK)
		fail_msg("%s: %s", hec_status_name(status), hec_error_message());
	assert_non_null(d.text);
	assert_int_equal(strlen(d.text), d.length); /* no zero byte inside */
	return d;
}

static const char *const small_query[] = {"a", "bc", "猫"};
static const char *const small_key[] = {"<s>", "x", "猫", "ée"};
static const bool small_sink[] = {true, false, false, false};
static const float small_weights[] = {
	/* layer 0, head 0 */
	0.5f,
	0.5f,
	0,
	0,
	0.1f,
	0.15f,
	0.3f,
	0.45f,
	1,
	0,
	0,
	0,
	/* head 1 */
	0,
	0,
	1,
	0,
	0,
	0.25f,
	0.25f,
	0.5f,
	0.25f,
	0.75f,
	0,
	0,
};
static const hec_view small_view = {.size = sizeof(hec_view),
                                    .kind = HEC_VIEW_CROSS,
                                    .query = small_query,
                                    .queries = 3,
                                    .key = small_key,
                                    .keys = 4,
                                    .sink = small_sink,
                                    .layers = 1,
                                    .heads = 2,
                                    .weights = small_weights};

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

/* ---- a view of any size ---- */

typedef struct room {
	hec_view view;
	const char **query, **key;
	bool *sink;
	float *weights;
} room;

static room make_room(int64_t queries, int64_t keys, int64_t layers, int64_t heads)
{
	static const char *const words[] = {
		"▁the",           "cat", "猫",  "🙂", "e\xCC\x81\xCC\x82", "",
		"a longer token", "\n",  " of", "שלום"};
	room r = {.query = malloc((size_t)queries * sizeof *r.query),
	          .key = malloc((size_t)keys * sizeof *r.key),
	          .sink = malloc((size_t)keys * sizeof *r.sink),
	          .weights = malloc((size_t)(layers * heads * queries * keys) * sizeof(float))};
	for (int64_t i = 0; i < queries; i++)
		r.query[i] = words[i % 10];
	for (int64_t i = 0; i < keys; i++) {
		r.key[i] = words[(i * 3 + 1) % 10];
		r.sink[i] = i == 0;
	}
	for (int64_t i = 0; i < layers * heads * queries * keys; i++)
		r.weights[i] = (float)((i * 7919 + i / 13) % 101) / 101;
	r.view = (hec_view){.size = sizeof(hec_view),
	                    .kind = HEC_VIEW_SELF,
	                    .query = r.query,
	                    .queries = queries,
	                    .key = r.key,
	                    .keys = keys,
	                    .sink = r.sink,
	                    .layers = layers,
	                    .heads = heads,
	                    .weights = r.weights};
	return r;
}

static void free_room(room *r)
{
	free(r->query);
	free(r->key);
	free(r->sink);
	free(r->weights);
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
	hec_view v = {sizeof v, HEC_VIEW_SELF, words, 3, words, 3, sink, 1, 1, weights};
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

/* ---- hostile tokens ---- */

static const char *const nasty[] = {
	"</script><script>alert(1)</script>",
	"\"><svg onload=alert(1)>",
	"' & \\ \x1b[2J\x07\r\n\t",
	"\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAE", /* line, paragraph, right to left */
	"\xFF\xC0\xAF\xED\xA0\x80",             /* no UTF-8 */
	"]]>--><!--{{7*7}}",
	"\x01\x7F\xC2\x80\xEF\xBF\xBE", /* controls, and a character that XML has not */
	"",
};
#define NASTY 8

static hec_view nasty_view(float *weights)
{
	for (int i = 0; i < 2 * NASTY * NASTY; i++)
		weights[i] = 1.0f / NASTY;
	return (hec_view){
		sizeof(hec_view), HEC_VIEW_DECODER, nasty, NASTY, nasty, NASTY, NULL, 1, 1,
		weights};
}

static void a_token_cannot_steer_the_terminal(void **state)
{
	(void)state;
	float weights[2 * NASTY * NASTY];
	hec_view v = nasty_view(weights);
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
	o.title = nasty[2];
	o.top = 8;
	drawn d = draw_view(&v, HEC_VIEW_TEXT, &o);
	for (size_t i = 0; i < d.length; i++)
		if ((unsigned char)d.text[i] < 0x20 && d.text[i] != '\n')
			fail_msg("byte %zu is a control: %d", i, d.text[i]);
	assert_null(strstr(d.text, nasty[3]));
	assert_null(strchr(d.text, '\xFF'));
	free(d.text);
}

/* Well-formed as XML: each tag that is opened is closed, in order, and no text holds a bare '<'. */
static void check_markup(const char *text)
{
	char open[64][32];
	int depth = 0;
	for (const char *at = text; (at = strchr(at, '<')); at++) {
		bool end = at[1] == '/';
		const char *name = at + 1 + end, *close = strchr(at, '>');
		size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz");
		assert_non_null(close);
		if (length == 0 || length >= sizeof open[0])
			fail_msg("this is no tag: %.40s", at);
		assert_null(memchr(at + 1, '<', (size_t)(close - at - 1)));
		if (end) {
			assert_true(depth > 0);
			depth--;
			if (strlen(open[depth]) != length || memcmp(open[depth], name, length) != 0)
				fail_msg("%s is closed by %.30s", open[depth], at);
		} else if (close[-1] != '/') {
			assert_true(depth < 64);
			snprintf(open[depth++], sizeof open[0], "%.*s", (int)length, name);
		}
	}
	assert_int_equal(depth, 0);
}

static void a_token_cannot_become_markup(void **state)
{
	(void)state;
	float weights[2 * NASTY * NASTY];
	hec_view v = nasty_view(weights);
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
	o.title = nasty[0];
	for (int large = 0; large < 2; large++) {
		v.heads = large ? 1 : 2;
		drawn d = draw_view(&v, HEC_VIEW_SVG, &o);
		check_markup(d.text);
		assert_null(strstr(d.text, "script>"));
		assert_non_null(strstr(d.text, "&lt;/script&gt;"));
		assert_non_null(strstr(d.text, "<title"));
		assert_non_null(strstr(d.text, "<desc"));
		for (size_t i = 0; i < d.length; i++)
			assert_true((unsigned char)d.text[i] >= 0x20 || d.text[i] == '\n');
		free(d.text);
	}
}

static void check_tokens(const json_t *list)
{
	assert_int_equal(json_array_size(list), NASTY);
	for (size_t i = 0; i < NASTY; i++) {
		const char *text = json_string_value(json_array_get(list, i));
		if (i == 4) /* each byte by itself */
			assert_string_equal(text, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
			                          "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
		else
			assert_string_equal(text, nasty[i]);
	}
}

static void the_page_holds_its_data_safely(void **state)
{
	(void)state;
	float weights[2 * NASTY * NASTY];
	hec_view v = nasty_view(weights);
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
	o.title = nasty[0];
	drawn d = draw_view(&v, HEC_VIEW_HTML, &o);
	static const char begin[] = "id='data'>";
	char *from = strstr(d.text, begin), *to;
	assert_non_null(from);
	from += strlen(begin);
	to = strchr(from, '<');
	assert_non_null(to);
	assert_memory_equal(to, "</script>", 9); /* the first one that there is */
	json_error_t error;
	json_t *root = json_loadb(from, (size_t)(to - from), JSON_REJECT_DUPLICATES, &error);
	if (!root)
		fail_msg("the data of the page: %s", error.text);
	check_tokens(json_object_get(root, "query"));
	check_tokens(json_object_get(root, "key"));
	assert_string_equal(json_string_value(json_object_get(root, "title")), nasty[0]);
	json_t *cells = json_array_get(json_object_get(root, "weights"), 0);
	assert_int_equal(json_array_size(cells), NASTY * NASTY);
	assert_int_equal(json_integer_value(json_array_get(cells, 5)), 1250);
	json_decref(root);
	/* Nothing is fetched, and the markup of its own is all there is. */
	assert_null(strstr(d.text, "http://"));
	assert_null(strstr(d.text, "https://"));
	assert_null(strstr(d.text, "alert(1)<"));
	assert_null(strstr(d.text, nasty[3]));
	int scripts = 0;
	for (char *at = d.text; (at = strstr(at, "<script")); at++)
		scripts++;
	assert_int_equal(scripts, 2);
	free(d.text);
}

static void json_parses_back_to_the_weights(void **state)
{
	(void)state;
	room r = make_room(3, 5, 2, 4);
	for (int chosen = 0; chosen < 2; chosen++) {
		hec_view_options o = HEC_VIEW_OPTIONS_INIT;
		o.layer = chosen ? 1 : -1;
		drawn d = draw_view(&r.view, HEC_VIEW_JSON, &o);
		json_error_t error;
		json_t *root = json_loadb(d.text, d.length, JSON_REJECT_DUPLICATES, &error), *w;
		if (!root)
			fail_msg("line %d: %s", error.line, error.text);
		assert_int_equal(json_object_size(root), 6);
		assert_string_equal(json_string_value(json_object_get(root, "kind")), "self");
		assert_int_equal(json_integer_value(json_object_get(root, "layers")), 2 - chosen);
		assert_int_equal(json_integer_value(json_object_get(root, "heads")), 4);
		assert_int_equal(json_array_size(json_object_get(root, "query")), 3);
		assert_int_equal(json_array_size(json_object_get(root, "key")), 5);
		w = json_object_get(root, "weights");
		assert_int_equal(json_array_size(w), 2 - chosen);
		for (int64_t i = chosen; i < 2; i++)
			for (int64_t h = 0; h < 4; h++)
				for (int64_t t = 0; t < 3; t++)
					for (int64_t s = 0; s < 5; s++) {
						json_t *head = json_array_get(
							json_array_get(w, (size_t)(i - chosen)),
							(size_t)h);
						json_t *cell = json_array_get(
							json_array_get(head, (size_t)t), (size_t)s);
						double got = json_number_value(cell);
						double want =
							(double)r
								.weights[((i * 4 + h) * 3 + t) * 5 +
						                         s];
						assert_true(json_is_number(cell));
						/* Seven digits. */
						assert_true(got - want < 1e-7 && want - got < 1e-7);
					}
		json_decref(root);
		free(d.text);
	}
	free_room(&r);
	float weights[2 * NASTY * NASTY];
	hec_view v = nasty_view(weights);
	drawn d = draw_view(&v, HEC_VIEW_JSON, NULL);
	json_t *root = json_loadb(d.text, d.length, 0, NULL);
	check_tokens(json_object_get(root, "query"));
	assert_string_equal(json_string_value(json_object_get(root, "kind")), "decoder");
	json_decref(root);
	free(d.text);
}

/* A token of a megabyte, and one of a hundred thousand marks that take no room. */
static void very_long_tokens_are_cut(void **state)
{
	(void)state;
	size_t length = 1 << 20;
	char *text = malloc(length + 1), *marks = malloc(200002);
	memset(text, 'x', length);
	text[length] = '\0';
	marks[0] = 'a';
	for (size_t i = 0; i < 100000; i++)
		memcpy(marks + 1 + 2 * i, "\xCC\x81", 2);
	marks[200001] = '\0';
	const char *words[] = {text, marks};
	static const float weights[] = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
	hec_view v = {sizeof v, HEC_VIEW_SELF, words, 2, words, 2, NULL, 1, 2, weights};
	for (int format = 0; format <= HEC_VIEW_SVG; format++) {
		drawn d = draw_view(&v, (hec_view_format)format, NULL);
		assert_true(d.length < 10000);
		free(d.text);
	}
	free(text);
	free(marks);
}

/* ---- what is refused ---- */

static int stop(void *user, const char *text, size_t length)
{
	(void)text;
	(void)length;
	return ++*(int *)user > 1;
}

static void wrong_views_are_refused_with_their_numbers(void **state)
{
	(void)state;
	kit k = {0};
	drawn d = {0};
	hec_view v = small_view;
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
#define DRAW hec_view_draw(&v, HEC_VIEW_TEXT, &o, keep, &d)
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
		memcpy(weights, small_weights, sizeof weights);
		weights[17] = bad[i];
		v = small_view;
		v.weights = weights;
		FAILS(&k, HEC_ERR_ARGUMENT, DRAW, "weight 17 is");
	}
	v = small_view;
	FAILS(&k, HEC_ERR_ARGUMENT, hec_view_draw(&v, (hec_view_format)4, NULL, keep, &d),
	      "format 4");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_view_draw(NULL, HEC_VIEW_TEXT, NULL, keep, &d), "view");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_view_draw(&v, HEC_VIEW_TEXT, NULL, NULL, &d), "write");
	assert_null(d.text);
	room r = make_room(50, 50, 4, 4);
	int calls = 0;
	FAILS(&k, HEC_ERR_CANCELLED, hec_view_draw(&r.view, HEC_VIEW_JSON, NULL, stop, &calls),
	      "stopped");
	assert_int_equal(calls, 2);
	free_room(&r);
	FAILS(&k, HEC_ERR_IO, hec_view_save(&v, HEC_VIEW_SVG, NULL, "/nowhere/at/all.svg"),
	      "/nowhere/at/all.svg");
}

static void a_saved_file_holds_what_is_drawn(void **state)
{
	(void)state;
	char path[] = "/tmp/hecate-view-XXXXXX", read[1 << 16];
	assert_true(mkstemp(path) >= 0);
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
	remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_without_colour_look_like_this),
		cmocka_unit_test(one_head_is_large_and_shows_its_numbers),
		cmocka_unit_test(no_line_is_wider_than_the_terminal),
		cmocka_unit_test(cells_stand_below_each_other),
		cmocka_unit_test(long_lists_are_cut_into_panels_that_show_every_cell),
		cmocka_unit_test(every_picture_says_which_sinks_are_left_out),
		cmocka_unit_test(sinks_do_not_dim_the_rest),
		cmocka_unit_test(a_token_cannot_steer_the_terminal),
		cmocka_unit_test(a_token_cannot_become_markup),
		cmocka_unit_test(the_page_holds_its_data_safely),
		cmocka_unit_test(json_parses_back_to_the_weights),
		cmocka_unit_test(very_long_tokens_are_cut),
		cmocka_unit_test(wrong_views_are_refused_with_their_numbers),
		cmocka_unit_test(a_saved_file_holds_what_is_drawn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
