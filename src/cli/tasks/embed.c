/* embed.c — `hecate embed`: vectors of texts, or the texts that are most like one. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/embed.h>
#include <hecate/npy.h>
#include <hecate/tensor_file.h>

#include "cli/io/ends_with.h"
#include "cli/io/line_work.h"
#include "cli/model/run.h"
#include "cli/io/put.h"
#include "cli/io/valid_text.h"

#define CHUNK 1024 /* lines that are sorted by length together */

typedef struct similar {
	char *text; /* valid UTF-8, which may hold NUL bytes */
	size_t bytes;
	input_name name; /* its id is a copy */
	int64_t place;   /* among all texts */
	double score;
} similar;

typedef struct embedding {
	const command *self;
	model_args m;
	const char *pooling, *query;
	int64_t top;
	bool json;
	hec_embedder *embedder;
	hec_embed_options options;
	hec_embeddings *wanted;        /* of the query */
	const char *out;               /* a file for all vectors; NULL: they are printed */
	const char *npy;               /* the same, of NumPy */
	float *rows;                   /* [kept, width] of those so far, */
	int64_t kept, row_room, width; /* NaN where a text was refused */
	similar *lines;                /* all so far, to be ranked */
	int64_t count, room;
	line_work work;
} embedding;

static const struct {
	const char *name;
	hec_pooling pooling;
} poolings[] = {{"mean", HEC_POOL_MEAN},
                {"cls", HEC_POOL_FIRST},
                {"max", HEC_POOL_MAX},
                {"mean_sqrt_len", HEC_POOL_MEAN_SQRT},
                {"weightedmean", HEC_POOL_WEIGHTED},
                {"lasttoken", HEC_POOL_LAST}};

/* ---- vectors ---- */

static int put_vector_json(const embedding *e, int64_t text, const float *x, int64_t n)
{
	json_t *line = json_object(), *list = json_array();
	bool done = true;
	for (int64_t i = 0; i < n; i++)
		done = json_array_append_new(list, json_real(x[i])) == 0 && done;
	done = json_object_set_new(line, "embedding", list) == 0 && done;
	if (!done) {
		json_decref(line);
		line = NULL;
	}
	return line_work_put_json(&e->work, text, line);
}

static int put_vectors(const embedding *e, const hec_embeddings *v)
{
	int code = EXIT_DONE;
	for (int64_t i = 0; code == EXIT_DONE && i < v->texts; i++) {
		const float *x = v->rows + i * v->width;
		if (e->json)
			code = put_vector_json(e, i, x, v->width);
		/* Nine digits bring a float back exactly. */
		for (int64_t k = 0; !e->json && k < v->width; k++)
			printf("%.9g%c", x[k], k + 1 < v->width ? ' ' : '\n');
	}
	return code == EXIT_DONE ? put_done() : code;
}

/* ---- a file of all ---- */

/* Rows up to this many, new ones not numbers. */
static bool make_rows(embedding *e, int64_t count)
{
	const int64_t width = e->width;
	if (count > e->row_room) {
		const int64_t room = count > 2 * e->row_room ? count : 2 * e->row_room;
		float *rows = room > INT64_MAX / 8 / width
		                      ? NULL
		                      : realloc(e->rows, (size_t)(room * width) * sizeof *rows);
		if (!rows)
			return false;
		e->rows = rows;
		e->row_room = room;
	}
	for (int64_t i = e->kept * width; i < count * width; i++)
		e->rows[i] = NAN;
	e->kept = count > e->kept ? count : e->kept;
	return true;
}

static int keep_vectors(embedding *e, const hec_embeddings *v)
{
	if (v->texts == 0)
		return EXIT_DONE;
	e->width = v->width;
	if (!make_rows(e, e->work.done + v->texts))
		return command_failed(e->self, "no memory for %" PRId64 " vectors",
		                      e->work.done + v->texts);
	memcpy(e->rows + e->work.done * v->width, v->rows,
	       (size_t)(v->texts * v->width) * sizeof *e->rows);
	return EXIT_DONE;
}

static int write_rows(embedding *e)
{
	if (e->kept == 0)
		return command_failed(e->self, "there is no vector: %s is not written", e->out);
	if (!make_rows(e, e->work.done))
		return command_failed(e->self, "no memory for %" PRId64 " vectors", e->work.done);
	const hec_named_tensor all = {"embeddings",
	                              hec_tensor_2d(e->rows, HEC_F32, e->kept, e->width)};
	const hec_status status = e->npy || ends_with(e->out, ".npy")
	                                  ? hec_npy_write(e->out, &all.tensor)
	                                  : hec_tensor_file_write(e->out, &all, 1);
	return status == HEC_OK ? EXIT_DONE : command_failed(e->self, "%s", hec_error_message());
}

/* Inside the first text. */
static int attend(embedding *e, const char *text, size_t bytes)
{
	return attend_flag_text(&e->m.attend, e->self, hec_embedder_model(e->embedder),
	                        hec_embedder_tokenizer(e->embedder), text, bytes, NULL, 0);
}

/* ---- what is like the query ---- */

static bool keep_line(embedding *e, int64_t i, const char *text, size_t bytes, double score)
{
	if (e->count == e->room) {
		int64_t room = e->room ? 2 * e->room : 1024;
		similar *lines = realloc(e->lines, (size_t)room * sizeof *lines);
		if (!lines)
			return false;
		e->lines = lines;
		e->room = room;
	}
	size_t length;
	input_name name = line_work_text(&e->work, i)->name;
	char *copy = valid_text(text, bytes, &length);
	if (name.id)
		name.id = strndup(name.id, name.id_bytes);
	e->lines[e->count++] = (similar){copy, length, name, e->work.done + i, score};
	return copy && (name.id || !line_work_text(&e->work, i)->name.id);
}

static int keep_lines(embedding *e, const hec_embeddings *v, const char *const *texts,
                      const size_t *bytes)
{
	for (int64_t i = 0; i < v->texts; i++) {
		double score = hec_cosine(e->wanted->rows, v->rows + i * v->width, v->width);
		if (!keep_line(e, i, texts[i], bytes[i], score))
			return command_failed(e->self, "no memory for %" PRId64 " lines", e->count);
	}
	return EXIT_DONE;
}

static int nearer_first(const void *a, const void *b)
{
	const similar *x = a, *y = b;
	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static int put_ranked(embedding *e)
{
	if (e->count > 0)
		qsort(e->lines, (size_t)e->count, sizeof *e->lines, nearer_first);
	for (int64_t i = 0; i < e->count && (e->top == 0 || i < e->top); i++) {
		const similar *s = &e->lines[i];
		if (e->json) {
			json_t *line = json_pack("{s:s%, s:f}", "text", s->text, s->bytes, "score",
			                         s->score);
			if (!result_put(&s->name, line, stdout))
				return command_failed(e->self, "no memory for JSON");
			continue;
		}
		printf("%.6f\t", s->score);
		put_text_line(s->text, s->bytes, stdout);
	}
	return put_done();
}

/* ---- work ---- */

static int embed_lines(void *user, int64_t n, const char *const *texts, const size_t *bytes,
                       int64_t *failed)
{
	embedding *e = user;
	hec_embeddings *v;
	hec_status status = hec_embed(e->embedder, n, texts, bytes, &e->options, &v);
	if (status != HEC_OK) {
		*failed = hec_error_item();
		return LINE_WORK_REFUSED;
	}
	line_work_clear(&e->work);
	int code = e->query ? keep_lines(e, v, texts, bytes)
	           : e->out ? keep_vectors(e, v)
	                    : put_vectors(e, v);
	hec_embeddings_free(v);
	if (code == EXIT_DONE && n > 0 && !e->query) /* else behind the ranks */
		code = attend(e, texts[0], bytes[0]);
	return code;
}

static int set_pooling(embedding *e)
{
	if (!e->pooling)
		return EXIT_DONE;
	for (size_t i = 0; i < sizeof poolings / sizeof *poolings; i++) {
		if (strcmp(e->pooling, poolings[i].name) == 0) {
			e->options.pooling = (int)poolings[i].pooling;
			return EXIT_DONE;
		}
	}
	return command_usage(e->self,
	                     "--pooling '%.40s': there are mean, cls, max, mean_sqrt_len, "
	                     "weightedmean, lasttoken",
	                     e->pooling);
}

static const hec_model *load_embedder(void *job, hec_ctx *ctx, const char *path,
                                      const hec_model_load_options *options)
{
	embedding *e = job;
	hec_status status = hec_embedder_load(ctx, path, options, &e->embedder);
	return status == HEC_OK ? hec_embedder_model(e->embedder) : NULL;
}

static int embed_operands(void *job, int operands, char **argv)
{
	embedding *e = job;
	if (e->query &&
	    hec_embed(e->embedder, 1, &e->query, NULL, &e->options, &e->wanted) != HEC_OK)
		return command_failed(e->self, "--similar: %s", hec_error_message());
	e->work = (line_work){.self = e->self,
	                      .work = embed_lines,
	                      .user = e,
	                      .input = &e->m.input,
	                      .lossy = e->options.lossy,
	                      .most = CHUNK,
	                      .keep_going = e->m.keep_going,
	                      .json = e->json,
	                      .no_place = e->query || e->out};
	e->options.progress = line_work_progress;
	e->options.user = &e->work;
	int code = line_work_run(&e->work, operands, argv);
	if (e->work.complete && e->query && put_ranked(e) != EXIT_DONE)
		code = EXIT_FAILED;
	if (e->work.complete && e->out && write_rows(e) != EXIT_DONE)
		code = EXIT_FAILED;
	for (int64_t i = 0; code == EXIT_DONE && i < e->count; i++)
		if (e->lines[i].place == 0)
			code = attend(e, e->lines[i].text, e->lines[i].bytes);
	return code;
}

static void destroy_embedder(void *job)
{
	embedding *e = job;
	for (int64_t i = 0; i < e->count; i++) {
		free(e->lines[i].text);
		free((char *)(uintptr_t)e->lines[i].name.id);
	}
	free(e->lines);
	free(e->rows);
	hec_embeddings_free(e->wanted);
	hec_embedder_destroy(e->embedder);
}

static const model_work embedding_work = {load_embedder, embed_operands, destroy_embedder};

static int embed_run(const command *self, int argc, char **argv)
{
	embedding e = {.self = self, .options = HEC_EMBED_OPTIONS_INIT};
	const option table[] = {
		OPTION_MODEL(e.m.named, "the model's folder"),
		{OPTION_TEXT, "--similar", "QUERY", "rank the lines by their likeness to this one",
	         &e.query, 0, 0},
		{OPTION_WHOLE, "--top", "N", "with --similar: the N best (default: all)", &e.top, 1,
	         INT32_MAX},
		{OPTION_TEXT, "--pooling", "WAY",
	         "mean, cls, max, mean_sqrt_len, weightedmean, lasttoken (default: as the "
	         "folder says, else mean)",
	         &e.pooling, 0, 0},
		{OPTION_TEXT, "--out", "F", "write all vectors into F.npy or F.safetensors", &e.out,
	         0, 0},
		{OPTION_TEXT, "--npy", "F", "the same, as a file of NumPy whatever its name is",
	         &e.npy, 0, 0},
		{OPTION_FLAG, "--normalize", NULL,
	         "vectors of length 1 (default: as the folder says)", &e.options.normalize, 0, 0},
		OPTION_INPUT(e.m.input),
		OPTION_THREADS(e.m.threads),
		OPTION_OVERRIDE(e.m.overrides),
		OPTION_LOSSY(e.options.lossy),
		OPTION_KEEP_GOING(e.m.keep_going),
		OPTION_TRUNCATE(e.options.truncate),
		ATTEND_OPTION(&e.m.attend),
		{OPTION_FLAG, "--json", NULL, "a JSON object for each line", &e.json, 0, 0},
		{0},
	};
	int operands, code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	if (e.top > 0 && !e.query)
		return command_usage(self, "--top goes with --similar QUERY");
	if (e.out && e.npy)
		return command_usage(self, "--out and --npy are two names of one thing");
	e.out = e.npy ? e.npy : e.out;
	if (e.out && (e.query || e.json))
		return command_usage(self, "--out takes the place of %s",
		                     e.query ? "--similar" : "--json");
	if (e.out && !e.npy && !is_named(e.out, ".npy") && !is_named(e.out, ".safetensors"))
		return command_usage(self, "--out wants F.npy or F.safetensors, not '%.40s'",
		                     e.out);
	code = set_pooling(&e);
	if (code != EXIT_DONE)
		return code;
	return model_run(self, &e.m, &embedding_work, &e, operands, argv);
}

const command command_embed = {
	"embed",
	"Vectors of texts, and the texts that are most like one",
	"embed -m DIR [OPTION]… [TEXT]…",
	"Reads lines from standard input, or takes each TEXT as one, and writes the vector of "
	"each, "
	"in\n"
	"order: numbers with spaces between. With --json, each line is {\"input\": …, "
	"\"embedding\": […]}. How a "
	"vector\n"
	"is made of a text's tokens is read from modules.json and the files that it names, as\n"
	"sentence-transformers writes them; without them it is the mean.\n\n"
	"With --similar QUERY the lines themselves come out, the one most like QUERY first: the "
	"cosine\n"
	"of the two vectors, a tab, the line; with --json {\"input\": …, \"text\": …, \"score\": "
	"…}.\n\n"
	"Example: hecate embed -m models/minilm --similar 'no space left' --top 3 < messages.txt\n",
	embed_run,
};
