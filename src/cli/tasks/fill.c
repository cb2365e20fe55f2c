/* fill.c — `hecate fill`: the words that may stand in the place of a mask. */
#include <stdlib.h>
#include <string.h>

#include <hecate/fill.h>
#include <jansson.h>

#include "cli/io/line_work.h"
#include "cli/model/run.h"
#include "cli/io/put.h"
#include "cli/io/say.h"

#define CHUNK 256
#define TARGETS_MOST 1024

typedef struct settings {
	const char *targets;
	bool json;
} settings;

typedef struct filling {
	const command *self;
	settings s;
	model_args m;
	hec_filler *filler;
	hec_fill_options options;
	int32_t targets[TARGETS_MOST];
	line_work lines;
} filling;

/* ---- results ---- */

static json_t *mask_json(const hec_filled *filled, int64_t text, int64_t mask)
{
	json_t *list = json_array();
	const hec_guess *g;
	for (int64_t i = 0; list && (g = hec_filled_at(filled, text, mask, i)); i++) {
		json_t *one = json_pack("{s:s%, s:f, s:i, s:s%}", "token", g->token, g->token_bytes,
		                        "score", g->score, "id", (int)g->id, "text", g->text,
		                        g->text_bytes);
		if (json_array_append_new(list, one) != 0) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

static int put_json(const filling *w, const hec_filled *filled, int64_t text)
{
	json_t *line = json_object(), *masks = json_array();
	bool good = line && masks;
	for (int64_t m = 0; good && m < hec_filled_masks(filled, text); m++)
		good = json_array_append_new(masks, mask_json(filled, text, m)) == 0;
	if (!good)
		json_decref(masks);
	if (!good || json_object_set_new(line, "masks", masks) != 0) {
		json_decref(line);
		line = NULL;
	}
	return line_work_put_json(&w->lines, text, line);
}

static void put_plain(const hec_filled *filled, int64_t text)
{
	for (int64_t m = 0; m < hec_filled_masks(filled, text); m++) {
		const hec_guess *g;
		for (int64_t i = 0; (g = hec_filled_at(filled, text, m, i)); i++) {
			put_field(g->token, strlen(g->token), stdout);
			printf("\t%.4f\t", g->score);
			put_text_line(g->text, g->text_bytes, stdout);
		}
	}
}

static int put_all(const filling *w, const hec_filled *filled, int64_t n)
{
	int code = EXIT_DONE;
	for (int64_t i = 0; code == EXIT_DONE && i < n; i++) {
		if (w->s.json)
			code = put_json(w, filled, i);
		else
			put_plain(filled, i);
	}
	return code == EXIT_DONE ? put_done() : code;
}

/* ---- work ---- */

static int fill(void *user, int64_t n, const char *const *texts, const size_t *bytes,
                int64_t *failed)
{
	filling *w = user;
	hec_filled *out;
	hec_status status = hec_fill(w->filler, n, texts, bytes, &w->options, &out);
	if (status != HEC_OK) {
		*failed = hec_error_item();
		return LINE_WORK_REFUSED;
	}
	line_work_clear(&w->lines);
	int code = put_all(w, out, n);
	hec_filled_free(out);
	if (code == EXIT_DONE && n > 0)
		code = attend_flag_text(&w->m.attend, w->self, hec_filler_model(w->filler),
		                        hec_filler_tokenizer(w->filler), texts[0], bytes[0], NULL,
		                        0);
	return code;
}

static int take_target(filling *w, const char *word)
{
	bool exact = false;
	int32_t *id = &w->targets[w->options.target_count];
	if (w->options.target_count == TARGETS_MOST)
		return command_usage(w->self, "--targets has more than %d words", TARGETS_MOST);
	if (hec_filler_target(w->filler, word, id, &exact) != HEC_OK)
		return command_failed(w->self, "--targets: %s", hec_error_message());
	if (!exact)
		say_line("hecate fill: '%.80s' is not a token; '%.80s' stands for it", word,
		         hec_tokenizer_token(hec_filler_tokenizer(w->filler), *id));
	w->options.target_count++;
	w->options.targets = w->targets;
	return EXIT_DONE;
}

/* Words between commas. */
static int take_targets(filling *w)
{
	if (!w->s.targets)
		return EXIT_DONE;
	char *words = malloc(strlen(w->s.targets) + 1);
	if (!words)
		return command_failed(w->self, "no memory for --targets");
	int code = EXIT_DONE;
	char *word = strcpy(words, w->s.targets);
	while (code == EXIT_DONE && word) {
		char *comma = strchr(word, ',');
		if (comma)
			*comma = '\0';
		code = *word ? take_target(w, word)
		             : command_usage(w->self, "--targets has an empty word");
		word = comma ? comma + 1 : NULL;
	}
	free(words);
	return code;
}

static const hec_model *load_filler(void *job, hec_ctx *ctx, const char *path,
                                    const hec_model_load_options *options)
{
	filling *w = job;
	hec_status status = hec_filler_load(ctx, path, options, &w->filler);
	return status == HEC_OK ? hec_filler_model(w->filler) : NULL;
}

static int fill_operands(void *job, int operands, char **argv)
{
	filling *w = job;
	int code = take_targets(w);
	if (code != EXIT_DONE)
		return code;
	w->options.progress = line_work_progress;
	w->options.user = &w->lines;
	w->lines = (line_work){.self = w->self,
	                       .work = fill,
	                       .user = w,
	                       .input = &w->m.input,
	                       .lossy = w->options.lossy,
	                       .most = CHUNK,
	                       .keep_going = w->m.keep_going,
	                       .json = w->s.json};
	return line_work_run(&w->lines, operands, argv);
}

static void destroy_filler(void *job)
{
	filling *w = job;
	hec_filler_destroy(w->filler);
}

static const model_work filling_work = {load_filler, fill_operands, destroy_filler};

static int fill_run(const command *self, int argc, char **argv)
{
	static filling w; /* too large for the stack of some */
	w = (filling){.self = self, .options = HEC_FILL_OPTIONS_INIT};
	settings *s = &w.s;
	const option table[] = {
		OPTION_MODEL(w.m.named, "the model: BERT or its kin, or BART"),
		{OPTION_WHOLE, "--top", "N", "words for each mask, the best first (default: 5)",
	         &w.options.top, 1, 1000},
		{OPTION_TEXT, "--targets", "A,B…", "only these words", &s->targets, 0, 0},
		OPTION_INPUT(w.m.input),
		OPTION_LOSSY(w.options.lossy),
		OPTION_KEEP_GOING(w.m.keep_going),
		OPTION_THREADS(w.m.threads),
		OPTION_OVERRIDE(w.m.overrides),
		ATTEND_OPTION(&w.m.attend),
		{OPTION_FLAG, "--json", NULL, "a JSON object for each text", &s->json, 0, 0},
		{0},
	};
	int operands;
	int code = command_options(self, table, argc, argv, &operands);
	return code == PARSED ? model_run(self, &w.m, &filling_work, &w, operands, argv) : code;
}

const command command_fill = {
	"fill",
	"Fills in masked words",
	"fill -m DIR [OPTION]… [TEXT]…",
	"Reads lines from standard input, or takes each TEXT as one. A mask is written as the "
	"model's\n"
	"tokenizer writes it, or [MASK]; there may be several, each with words of its own while "
	"the "
	"others\n"
	"are still masked. A line for each word: the word, its probability, and the text with it, "
	"tabs\n"
	"between.\n\n"
	"With --json, each line is\n"
	"  {\"input\": …, \"masks\": [[{\"token\": …, \"score\": …, \"id\": …, \"text\": …}, …], "
	"…]}\n"
	"with a list for each mask.\n\n"
	"Example: hecate fill -m DIR 'The capital of France is [MASK].'\n",
	fill_run,
};
