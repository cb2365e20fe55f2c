/* views.c — pictures of attention: drawing asks the system for nothing, saving for the file's bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "world.h"

#include <cmocka.h>

#include "support/scratch.h"

static hec_status count_bytes(void *user, const char *text, size_t length)
{
	world *w = user;
	for (size_t i = 0; i < length; i++)
		w->bits = (w->bits ^ (unsigned char)text[i]) * 0x100000001b3u;
	return HEC_OK;
}

void views(world *w)
{
	static const char *const words[] = {"<s>", "the", "猫"};
	static const bool sink[] = {true, false, false};
	static const float weights[] = {0.5f, 0.5f, 0, 0.25f, 0.25f, 0.5f, 1, 0, 0,
	                                0.5f, 0.5f, 0, 0.25f, 0.25f, 0.5f, 1, 0, 0};
	hec_view view = {.size = sizeof view,
	                 .kind = HEC_VIEW_SELF,
	                 .query = words,
	                 .queries = 3,
	                 .key = words,
	                 .keys = 3,
	                 .sink = sink,
	                 .layers = 2,
	                 .heads = 1,
	                 .weights = weights};
	for (int format = 0; format < HEC_VIEW_FORMATS; format++) {
		char folder[64], path[80];
		assert_int_equal(scratch_folder(folder, sizeof folder), 0);
		snprintf(path, sizeof path, "%s/view", folder);
		long before = refuse_requests();
		hec_status status =
			hec_view_draw(&view, (hec_view_format)format, NULL, count_bytes, w);
		assert_int_equal(status, HEC_OK);
		assert_int_equal(refuse_requests(), before);
		status = hec_view_save(&view, (hec_view_format)format, NULL, path);
		if (status != HEC_OK) {
			saw_failure(w, status, "hec_view_save");
			if (!w->forever &&
			    hec_view_save(&view, (hec_view_format)format, NULL, path) != HEC_OK)
				call_again_failed("hec_view_save");
		}
		assert_int_equal(scratch_folder_remove(folder), 0);
		if (status != HEC_OK && w->forever)
			return;
	}
}
