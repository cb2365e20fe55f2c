/* test_view_tokens.c — no token can steer a terminal or become markup, and what machines read parses back. */
#include "support/views.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/width.h>
#include <jansson.h>

#include "base/width.h"

static const char *const nasty[] = {
	"</script><script>alert(1)</script>",
	"\"><svg onload=alert(1)>",
	"' & \\ \x1b[2J\x07\r\n\t",
	"\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAE\xF3\xA0\x81\x81", /* line, paragraph, right to left, tag */
	"\xFF\xC0\xAF\xED\xA0\x80",                             /* no UTF-8 */
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

/* A page, a picture and JSON may be written to a terminal, too. */
static void no_form_of_a_picture_steers_the_terminal(void **state)
{
	(void)state;
	static const hec_view_format formats[] = {HEC_VIEW_TEXT, HEC_VIEW_SVG, HEC_VIEW_HTML,
	                                          HEC_VIEW_JSON};
	float weights[2 * NASTY * NASTY];
	hec_view v = nasty_view(weights);
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
	for (int i = 0; i < 4 * NASTY; i++) {
		o.title = nasty[i / 4];
		drawn d = draw_view(&v, formats[i % 4], &o);
		for (size_t at = 0, bytes; at < d.length; at += bytes) {
			uint32_t rune = rune_decode(d.text + at, d.length - at, &bytes);
			if (rune != '\n' && rune_steers_terminal(rune))
				fail_msg("format %d, title %d: U+%04X at byte %zu", i % 4, i / 4,
				         rune, at);
		}
		free(d.text);
	}
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
	hec_view v = HEC_VIEW_INIT;
	v.query = v.key = words;
	v.queries = v.keys = 2;
	v.layers = 1;
	v.heads = 2;
	v.weights = weights;
	for (int format = 0; format <= HEC_VIEW_SVG; format++) {
		drawn d = draw_view(&v, (hec_view_format)format, NULL);
		assert_true(d.length < 10000);
		free(d.text);
	}
	free(text);
	free(marks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_cannot_steer_the_terminal),
		cmocka_unit_test(no_form_of_a_picture_steers_the_terminal),
		cmocka_unit_test(a_token_cannot_become_markup),
		cmocka_unit_test(the_page_holds_its_data_safely),
		cmocka_unit_test(json_parses_back_to_the_weights),
		cmocka_unit_test(very_long_tokens_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
