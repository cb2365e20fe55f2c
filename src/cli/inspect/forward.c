/* forward.c — `hecate forward`: one pass of a model over ids or features, every number of it into a file. */
#include "cli/command/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/model.h>
#include <hecate/npy.h>
#include <hecate/ops.h>
#include <hecate/tensor_file.h>

#include "cli/model/load.h"
#include "cli/model/path.h"
#include "cli/command/number_list.h"
#include "cli/model/reserve.h"

#define TENSORS_FIXED 8 /* beside the attentions of each layer */
#define NAME_MOST 40    /* bytes */

typedef struct forward {
	const command *self;
	const char *dir, *ids, *types, *mask, *decoder, *features, *dtype, *out;
	option_list overrides;
	number_list id, type, decoder_id, visible;
	int8_t *seen; /* the mask */
	hec_tensor frames;
	hec_dtype real; /* what is computed in */
	hec_ctx *ctx;
	hec_model *model;
	const hec_model_config *config;
	hec_arena *arena;
	hec_named_tensor *list;
	char (*names)[NAME_MOST];
	size_t count;
} forward;

/* ---- the command line ---- */

static int read_ids(forward *f)
{
	int code = number_list_take(f->self, "--ids", f->ids, INT32_MAX, &f->id);
	if (code == EXIT_DONE)
		code = number_list_take(f->self, "--type-ids", f->types, INT32_MAX, &f->type);
	if (code == EXIT_DONE)
		code = number_list_take(f->self, "--mask", f->mask, 1, &f->visible);
	if (code == EXIT_DONE)
		code = number_list_take(f->self, "--decoder-ids", f->decoder, INT32_MAX,
		                        &f->decoder_id);
	if (code != EXIT_DONE)
		return code;
	const struct {
		const char *option;
		const number_list *n;
	} same[] = {{"--type-ids", &f->type}, {"--mask", &f->visible}};
	for (int i = 0; i < 2; i++)
		if (same[i].n->items && same[i].n->count != f->id.count)
			return command_usage(f->self, "%s has %" PRId64 " numbers, --ids %" PRId64,
			                     same[i].option, same[i].n->count, f->id.count);
	f->seen = malloc((size_t)f->id.count + 1);
	if (!f->seen)
		return command_failed(f->self, "out of memory");
	for (int64_t i = 0; i < f->visible.count; i++)
		f->seen[i] = (int8_t)f->visible.items[i];
	return EXIT_DONE;
}

/* ---- what there is to say ---- */

static int print_failure(const forward *f)
{
	return command_failed(f->self, "%s", hec_error_message());
}

/* A tensor of the arena under a name, which the file will have. */
static bool add_tensor(forward *f, const char *name, int64_t number, int rank, const int64_t *shape,
                       hec_tensor *tensor)
{
	char *kept = f->names[f->count];
	snprintf(kept, NAME_MOST, number < 0 ? "%s" : "%s.%" PRId64, name, number);
	if (hec_arena_tensor(f->arena, f->real, rank, shape, tensor) != HEC_OK)
		return false;
	f->list[f->count++] = (hec_named_tensor){kept, *tensor};
	return true;
}

/* The weights of all layers in one tensor, named layer by layer. */
static bool add_weights(forward *f, const char *name, const hec_stack_config *s, int64_t T,
                        int64_t S, hec_tensor *all)
{
	const int64_t shape[4] = {s->layers, s->attention.heads, T, S};
	if (hec_arena_tensor(f->arena, f->real, 4, shape, all) != HEC_OK)
		return false;
	for (int64_t i = 0; i < s->layers; i++) {
		hec_named_tensor *to = &f->list[f->count];
		if (hec_tensor_slice(all, 0, i, 1, &to->tensor) != HEC_OK)
			return false;
		snprintf(f->names[f->count], NAME_MOST, "%s.%" PRId64, name, i);
		to->name = f->names[f->count++];
	}
	return true;
}

static bool add_logits(forward *f, int64_t T, hec_tensor *logits)
{
	const hec_model_config *c = f->config;
	switch (c->head) {
	case HEC_HEAD_NONE:
		return true;
	case HEC_HEAD_LM:
	case HEC_HEAD_MASKED:
		return add_tensor(f, "logits", -1, 3, (int64_t[]){1, T, c->vocab}, logits);
	case HEC_HEAD_CLASSIFY:
		return add_tensor(f, "logits", -1, 2, (int64_t[]){1, c->labels}, logits);
	case HEC_HEAD_TOKENS:
		return add_tensor(f, "logits", -1, 3, (int64_t[]){1, T, c->labels}, logits);
	case HEC_HEAD_ANSWER: /* taken apart afterwards */
		return hec_arena_tensor(f->arena, f->real, 3, (int64_t[]){1, T, 2}, logits) ==
		       HEC_OK;
	}
	return false;
}

static bool plan_outputs(forward *f, hec_model_output *o)
{
	const hec_model_config *c = f->config;
	const bool encoder = c->encoder.layers > 0, decoder = c->decoder.layers > 0,
		   both = encoder && decoder;
	const int64_t S = f->features ? f->frames.shape[2] / 2 : f->id.count,
		      T = both ? f->decoder_id.count : S, C = c->width;
	bool done = add_tensor(f, "last_hidden_state", -1, 3, (int64_t[]){1, T, C}, &o->hidden) &&
	            add_logits(f, T, &o->logits);
	if (c->pooler)
		done = done && add_tensor(f, "pooler_output", -1, 2, (int64_t[]){1, C}, &o->pooled);
	if (both)
		done = done && add_tensor(f, "encoder_last_hidden_state", -1, 3,
		                          (int64_t[]){1, S, C}, &o->memory);
	if (encoder)
		done = done && add_weights(f, "attentions", &c->encoder, S, S, &o->encoder_weights);
	if (decoder)
		done = done && add_weights(f, both ? "decoder_attentions" : "attentions",
		                           &c->decoder, T, T, &o->decoder_weights);
	if (both)
		done = done &&
		       add_weights(f, "cross_attentions", &c->decoder, T, S, &o->cross_weights);
	return done;
}

/* [1, T, 2] becomes two of [1, T]. */
static bool split_answer(forward *f, const hec_tensor *logits)
{
	static const char *const names[] = {"start_logits", "end_logits"};
	const int64_t T = logits->shape[1];
	for (int i = 0; i < 2; i++) {
		hec_tensor one;
		if (!add_tensor(f, names[i], -1, 2, (int64_t[]){1, T}, &one))
			return false;
		hec_tensor from, to;
		if (hec_tensor_slice(logits, 2, i, 1, &from) != HEC_OK ||
		    hec_tensor_reshape(&one, 3, from.shape, &to) != HEC_OK ||
		    hec_tensor_copy(f->ctx, &from, &to) != HEC_OK)
			return false;
	}
	return true;
}

/* ---- running ---- */

/* Where a text is judged, the decoder reads what the encoder reads, one later. */
static bool reads_again(const hec_model_config *c)
{
	return c->encoder.layers > 0 && c->decoder.layers > 0 && c->head != HEC_HEAD_LM &&
	       c->head != HEC_HEAD_NONE;
}

/* As Transformers does where nobody gives them. */
static bool shift_ids(forward *f)
{
	const hec_model_config *c = f->config;
	const int64_t n = f->id.count;
	f->decoder_id = (number_list){malloc((size_t)n * sizeof *f->id.items + 1), n};
	if (!f->decoder_id.items)
		return false;
	int64_t text = 0; /* what is no padding */
	for (int64_t i = 0; i < n; i++)
		text += f->id.items[i] != c->pad_id;
	hec_model_config_shift(c, f->id.items, text > 0 ? text : n, n, f->decoder_id.items);
	return true;
}

static int check_inputs(const forward *f)
{
	const hec_model_config *c = f->config;
	const bool both = c->encoder.layers > 0 && c->decoder.layers > 0;
	const bool frames = c->front.features > 0;
	if (frames != !!f->features)
		return command_usage(f->self, "this model reads %s: give %s",
		                     frames ? "features" : "words",
		                     frames ? "--features FILE" : "--ids I,I,…");
	if (both && !f->decoder && !reads_again(c))
		return command_usage(f->self,
		                     "this model has a decoder behind its encoder: give "
		                     "--decoder-ids, which may be its first id alone (%d)",
		                     (int)c->start_id);
	if (!both && f->decoder)
		return command_usage(f->self, "--decoder-ids: this model has %s alone: give --ids",
		                     c->encoder.layers > 0 ? "an encoder" : "a decoder");
	if (f->types && c->types == 0)
		return command_usage(f->self, "--type-ids: this model has no token types");
	return EXIT_DONE;
}

/* [bands, frames] or a batch of one: others say how their shape is. */
static int read_features(forward *f)
{
	if (hec_npy_read(f->features, &f->frames) != HEC_OK)
		return print_failure(f);
	hec_tensor *x = &f->frames;
	if (x->rank == 2)
		*x = hec_tensor_3d(x->data, HEC_F32, 1, x->shape[0], x->shape[1]);
	if (x->rank != 3 || x->shape[0] != 1)
		return command_failed(f->self,
		                      "%.200s: an array of %d axes, the first of %" PRId64
		                      ": features are [bands, frames], or [1, bands, frames]",
		                      f->features, (int)x->rank, x->shape[0]);
	return EXIT_DONE;
}

static hec_tensor ids_row(const number_list *n)
{
	return hec_tensor_2d(n->items, HEC_I32, 1, n->count);
}

/* They are read in f32. */
static bool widen_features(forward *f, hec_tensor *wide)
{
	return hec_arena_tensor(f->arena, f->real, 3, f->frames.shape, wide) == HEC_OK &&
	       hec_tensor_copy(f->ctx, &f->frames, wide) == HEC_OK;
}

static int compute_outputs(forward *f)
{
	hec_model_input in = {.size = sizeof in};
	hec_model_output out = {.size = sizeof out};
	if (f->features && !widen_features(f, &in.features))
		return print_failure(f);
	if (!f->features)
		*(f->config->encoder.layers > 0 ? &in.ids : &in.decoder_ids) = ids_row(&f->id);
	if (reads_again(f->config) && !f->decoder && !shift_ids(f))
		return command_failed(f->self, "out of memory");
	if (f->decoder_id.items)
		in.decoder_ids = ids_row(&f->decoder_id);
	if (f->types)
		in.types = ids_row(&f->type);
	if (f->mask)
		in.mask = hec_tensor_2d(f->seen, HEC_I8, 1, f->id.count);
	if (!plan_outputs(f, &out) ||
	    hec_model_fwd(f->ctx, f->arena, f->model, &in, NULL, &out, NULL) != HEC_OK)
		return print_failure(f);
	if (f->config->head == HEC_HEAD_ANSWER && !split_answer(f, &out.logits))
		return print_failure(f);
	if (hec_tensor_file_write(f->out, f->list, f->count) != HEC_OK)
		return print_failure(f);
	return EXIT_DONE;
}

static int load_and_compute(forward *f)
{
	hec_model_load_options options = model_load_options(&f->overrides);
	options.dtype = f->real;
	if (hec_ctx_create(NULL, &f->ctx) != HEC_OK ||
	    hec_model_load(f->ctx, f->dir, &options, &f->model) != HEC_OK)
		return print_failure(f);
	model_load_tell(f->self, &f->overrides, f->model);
	f->config = hec_model_config_of(f->model);
	int code = check_inputs(f);
	if (code == EXIT_DONE && f->features)
		code = read_features(f);
	if (code != EXIT_DONE)
		return code;
	size_t room =
		TENSORS_FIXED + (size_t)(f->config->encoder.layers + 2 * f->config->decoder.layers);
	f->list = calloc(room, sizeof *f->list);
	f->names = calloc(room, sizeof *f->names);
	if (!f->list || !f->names)
		return command_failed(f->self, "out of memory");
	if (reserve_arena(&f->arena) != HEC_OK)
		return print_failure(f);
	return compute_outputs(f);
}

static void free_forward(forward *f)
{
	hec_arena_destroy(f->arena);
	hec_model_destroy(f->model);
	hec_ctx_destroy(f->ctx);
	free(f->list);
	free(f->names);
	free(f->id.items);
	free(f->type.items);
	free(f->decoder_id.items);
	free(f->visible.items);
	free(f->seen);
	hec_npy_free(&f->frames);
}

static int run_forward(const command *self, int argc, char **argv)
{
	forward f = {.self = self, .dtype = "f32"};
	char path[MODEL_PATH_MOST];
	const option table[] = {
		OPTION_MODEL(f.dir, "the model's folder"),
		{OPTION_TEXT, "--ids", "I,I,…", "the tokens", &f.ids, 0, 0},
		{OPTION_TEXT, "--type-ids", "I,I,…", "their types (default: 0)", &f.types, 0, 0},
		{OPTION_TEXT, "--mask", "1,0,…", "0: no token looks at this one (default: 1)",
	         &f.mask, 0, 0},
		{OPTION_TEXT, "--decoder-ids", "I,I,…", "what a decoder behind an encoder reads",
	         &f.decoder, 0, 0},
		{OPTION_TEXT, "--features", "F.npy",
	         "what an encoder of sound reads: NumPy's [bands, frames]", &f.features, 0, 0},
		{OPTION_TEXT, "--dtype", "TYPE",
	         "what it computes in: f32, or f64 by the reference (slow; default: f32)", &f.dtype,
	         0, 0},
		OPTION_OVERRIDE(f.overrides),
		{OPTION_TEXT, "--out", "FILE", "the safetensors file to write", &f.out, 0, 0},
		{0},
	};
	int operands = 0, code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	if (operands > 0)
		return command_usage(self, "'%.40s' is no option", argv[0]);
	if (f.ids && f.features)
		return command_usage(self, "give --ids or --features, not both");
	if ((!f.ids && !f.features) || !f.out)
		return command_usage(self, "give %s",
		                     !f.out && (f.ids || f.features)
		                             ? "--out FILE"
		                             : "--ids I,I,… (or --features F.npy)");
	f.real = strcmp(f.dtype, "f64") == 0 ? HEC_F64 : HEC_F32;
	if (f.real == HEC_F32 && strcmp(f.dtype, "f32") != 0)
		return command_usage(self,
		                     "--dtype %.20s: it computes in f32 or f64, whatever the files "
		                     "hold: sums of 16 bits would be another model's",
		                     f.dtype);
	code = model_folder(self, f.dir, path);
	if (code != EXIT_DONE)
		return code;
	f.dir = path;
	code = read_ids(&f);
	if (code == EXIT_DONE)
		code = load_and_compute(&f);
	free_forward(&f);
	return code;
}

const command command_forward = {
	"forward",
	"One pass of a model over ids or features, with all its numbers in a file",
	"forward -m DIR --ids I,I,… [--type-ids I,I,…] [--mask 1,0,…] [--decoder-ids I,I,…] "
	"[--dtype f64] [--override KEY=VALUE]… --out FILE\n"
	"forward -m DIR --features F.npy --decoder-ids I,I,… --out FILE",
	"The file is in the safetensors format. Its tensors are named and shaped as in "
	"Transformers, "
	"with\n"
	"a batch of one: last_hidden_state; logits, or start_logits and end_logits; "
	"pooler_output;\n"
	"encoder_last_hidden_state; attentions.N of layer N (of the encoder, or of a decoder that "
	"is\n"
	"alone), decoder_attentions.N, cross_attentions.N. What the model has not is not there.\n\n"
	"Example: hecate forward -m models/bert --ids 101,7592,2088,102 --out bert.safetensors\n"
	"         hecate forward -m models/whisper --features mel.npy --decoder-ids 50258,50259 "
	"--out w.safetensors\n",
	run_forward,
};
