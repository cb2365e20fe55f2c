/* draw.c — the way in: check, draw, hand over. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/size.h"
#include "view/look.h"

hec_status hec_view_draw(const hec_view *view, hec_view_format format,
                         const hec_view_options *options, hec_view_write_fn *write, void *user)
{
	static void (*const drawings[HEC_VIEW_FORMATS])(page *, const look *) = {
		draw_text, draw_svg, draw_html, draw_json};
	if ((unsigned)format >= HEC_VIEW_FORMATS)
		return fail(HEC_ERR_ARGUMENT, "view: there is no format %d", (int)format);
	if (!write)
		return fail(HEC_ERR_ARGUMENT, "view: no write is given");
	look l;
	HEC_TRY(look_take(view, options, &l));
	page p = {.write = write, .user = user};
	drawings[format](&p, &l);
	return page_end(&p);
}

typedef struct growing {
	char *data;
	size_t used, capacity;
} growing;

static hec_status grow_text(void *user, const char *text, size_t length)
{
	growing *g = user;
	size_t need;
	if (!size_add(g->used, length, &need))
		return HEC_ERR_MEMORY;
	if (need > g->capacity) {
		size_t capacity = need > SIZE_MAX / 2 ? need : need * 2;
		char *data = mem_resize(g->data, capacity);
		if (!data)
			return HEC_ERR_MEMORY;
		g->data = data;
		g->capacity = capacity;
	}
	memcpy(g->data + g->used, text, length);
	g->used = need;
	return HEC_OK;
}

hec_status hec_view_save(const hec_view *view, hec_view_format format,
                         const hec_view_options *options, const char *path)
{
	if (!path)
		return fail(HEC_ERR_ARGUMENT, "view: no path is given");
	growing g = {0};
	hec_status status = hec_view_draw(view, format, options, grow_text, &g);
	if (status == HEC_ERR_MEMORY)
		status = fail(HEC_ERR_MEMORY, "view: no memory for %zu bytes of %s", g.used, path);
	if (status == HEC_OK)
		status = file_replace(path, g.data, g.used);
	mem_free(g.data);
	return status;
}
