/* html.c — a page to look around in: the fixed parts of html_page.c with the weights between them.
 *
 * The page reaches for nothing outside itself, and says so to the browser by its policy. Weights are
 * whole ten-thousandths: more digits than anyone reads, in a third of the bytes. Tokens are data:
 * the script only ever puts them into the page as text. */
#include <inttypes.h>
#include <math.h>

#include "view/colour.h"
#include "view/look.h"

#define TOP_DEFAULT 5

static void put_tokens(page *p, const char *name, const char *const *tokens, int64_t count)
{
	page_add(p, "\"%s\":[", name);
	for (int64_t i = 0; i < count; i++) {
		page_text(p, i > 0 ? "," : "");
		page_json(p, tokens[i], true);
	}
	page_text(p, "],\n");
}

static void put_ramp(page *p, const char *name, const ramp *r, const char *end)
{
	page_add(p, "\"%s\":[", name);
	for (int i = 0; i < r->count; i++)
		page_add(p, "%s[%g,%g,%g]", i > 0 ? "," : "", r->stops[i].r, r->stops[i].g,
		         r->stops[i].b);
	page_text(p, end);
}

static void put_ramps(page *p)
{
	page_text(p, "\"ramps\":{");
	put_ramp(p, "light", &ramp_light, "],");
	put_ramp(p, "lightGrey", &ramp_light_grey, "],\n");
	put_ramp(p, "dark", &ramp_dark, "],");
	put_ramp(p, "darkGrey", &ramp_dark_grey, "]},\n");
}

static void put_sinks(page *p, const look *l)
{
	page_text(p, "\"sink\":[");
	for (int64_t s = 0; s < l->view.keys; s++)
		page_add(p, "%s%d", s > 0 ? "," : "", look_is_sink(l, s));
	page_text(p, "],\n");
}

static void put_head(page *p, const look *l, int64_t layer, int64_t head)
{
	page_text(p, "[");
	for (int64_t t = 0; t < l->view.queries; t++)
		for (int64_t s = 0; s < l->view.keys; s++)
			page_add(p, "%s%d", t + s > 0 ? "," : "",
			         (int)(look_weight(l, layer, head, t, s) * 10000 + 0.5));
	page_text(p, "]");
}

void draw_html(page *p, const look *l)
{
	page_text(p, html_head);
	page_text(p, "<title>");
	page_markup(p, look_title(l));
	page_text(p, "</title>\n");
	page_text(p, html_body);
	page_text(p, "<script type='application/json' id='data'>\n{\"title\":");
	page_json(p, look_title(l), true);
	page_add(p, ",\n\"kind\":\"%s\",\"down\":\"%s\",\"across\":\"%s\",\n",
	         hec_view_kind_name(l->view.kind), look_down(l), look_across(l));
	page_add(p,
	         "\"layer\":%" PRId64 ",\"layers\":%" PRId64 ",\"head\":%" PRId64
	         ",\"heads\":%" PRId64 ",\"top\":%" PRId64 ",\n",
	         l->layer, l->layers, l->head, l->heads,
	         l->options.top ? l->options.top : TOP_DEFAULT);
	put_tokens(p, "query", l->view.query, l->view.queries);
	put_tokens(p, "key", l->view.key, l->view.keys);
	put_sinks(p, l);
	put_ramps(p);
	page_text(p, "\"weights\":[\n");
	for (int64_t i = 0; i < l->layers; i++)
		for (int64_t j = 0; j < l->heads; j++) {
			page_text(p, i + j > 0 ? ",\n" : "");
			put_head(p, l, l->layer + i, l->head + j);
		}
	page_text(p, "]}\n</script>\n");
	page_text(p, html_script);
}
