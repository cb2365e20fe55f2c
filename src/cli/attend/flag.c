/* flag.c — the view of `hecate attend` for what another command ran. */
#include "cli/attend/flag.h"

#include <stdlib.h>
#include <string.h>

#include "cli/attend/view.h"
#include "cli/io/ends_with.h"
#include "cli/io/terminal.h"

bool attend_flag_wants(const attend_flag *f)
{
	return f->picture.given && !f->shown;
}

static int show_attended(const attend_flag *f, const command *self, const attended *a,
                         const char *title)
{
	const char *where = f->picture.where;
	char words[ATTEND_TITLE];
	hec_view_options o = HEC_VIEW_OPTIONS_INIT;
	attend_title(a, title, words);
	o.title = words;
	if (where && ends_with(where, ".svg"))
		return attend_save(self, a, HEC_VIEW_SVG, &o, where);
	if (where && ends_with(where, ".html"))
		return attend_save(self, a, HEC_VIEW_HTML, &o, where);
	terminal term = terminal_open(where ? stdout : stderr, 1);
	o.colour = term.colour;
	o.columns = term.columns;
	return attend_draw(self, a, HEC_VIEW_TEXT, &o, term.out);
}

int attend_flag_pass(attend_flag *f, const command *self, const attend_pass *p, const char *title)
{
	if (!attend_flag_wants(f))
		return EXIT_DONE;
	f->shown = true;
	char error[1024] = "";
	attend_choice choice;
	attended a;
	if (!attend_choose(p->model, NULL, &choice, error, sizeof error) ||
	    attend_pass_run(p, &choice, &a, error, sizeof error) != HEC_OK)
		return command_failed(self, "--attend: %s", error);
	int code = show_attended(f, self, &a, title);
	attended_free(&a);
	return code;
}

int attend_flag_text(attend_flag *f, const command *self, const hec_model *model,
                     const hec_tokenizer *tokenizer, const char *text, size_t bytes,
                     const char *pair, size_t pair_bytes)
{
	if (!attend_flag_wants(f))
		return EXIT_DONE;
	const hec_model_config *c = hec_model_config_of(model);
	const hec_position_config *at =
		c->encoder.layers > 0 ? &c->encoder.position : &c->decoder.position;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = true;
	o.pair = pair;
	o.pair_bytes = pair_bytes;
	o.max_length = at->max;
	if (pair)
		o.truncate = HEC_TRUNCATE_SECOND;
	hec_encoding e = HEC_ENCODING_INIT;
	char *title = malloc(bytes + 1);
	int code = title ? EXIT_DONE : command_failed(self, "no memory for a title");
	if (title) {
		memcpy(title, text, bytes);
		title[bytes] = '\0';
	}
	if (code == EXIT_DONE && hec_tokenizer_encode(tokenizer, text, bytes, &o, &e) != HEC_OK)
		code = command_failed(self, "--attend: %s", hec_error_message());
	attend_pass p = {.ctx = f->ctx,
	                 .model = model,
	                 .tokenizer = tokenizer,
	                 .ids = e.ids,
	                 .types = e.type_ids,
	                 .n = (int64_t)e.n,
	                 /* An encoder and decoder that reads the text on both sides (BART). */
	                 .written = e.ids,
	                 .given = true,
	                 .T = (int64_t)e.n};
	if (code == EXIT_DONE && e.n == 0)
		f->shown = true; /* no text, nothing to see */
	else if (code == EXIT_DONE)
		code = attend_flag_pass(f, self, &p, title);
	hec_encoding_free(&e);
	free(title);
	return code;
}
