/* json.c — the weights for machines, in the shape that others rely on. */
#include <inttypes.h>

#include "view/look.h"

static void put_tokens(page *p, const char *name, const char *const *tokens, int64_t count)
{
	page_add(p, "\"%s\": [", name);
	for (int64_t i = 0; i < count; i++) {
		page_text(p, i > 0 ? ", " : "");
		page_json(p, tokens[i], false);
	}
	page_text(p, "],\n");
}

static void put_head(page *p, const look *l, int64_t layer, int64_t head)
{
	page_text(p, "  [");
	for (int64_t t = 0; t < l->view.queries; t++) {
		page_text(p, t > 0 ? ",\n   [" : "[");
		for (int64_t s = 0; s < l->view.keys; s++) {
			page_text(p, s > 0 ? ", " : "");
			page_number(p, look_weight(l, layer, head, t, s), 7);
		}
		page_text(p, "]");
	}
	page_text(p, "]");
}

void draw_json(page *p, const look *l)
{
	page_text(p, "{");
	put_tokens(p, "query", l->view.query, l->view.queries);
	put_tokens(p, "key", l->view.key, l->view.keys);
	page_add(p, "\"kind\": \"%s\",\n\"layers\": %" PRId64 ",\n\"heads\": %" PRId64 ",\n",
	         hec_view_kind_name(l->view.kind), l->layers, l->heads);
	page_text(p, "\"weights\": [\n");
	for (int64_t i = 0; i < l->layers; i++) {
		page_text(p, i > 0 ? ",\n [\n" : " [\n");
		for (int64_t j = 0; j < l->heads; j++) {
			page_text(p, j > 0 ? ",\n" : "");
			put_head(p, l, l->layer + i, l->head + j);
		}
		page_text(p, "]");
	}
	page_text(p, "]}\n");
}
