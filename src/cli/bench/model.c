/* model.c — `hecate bench --model NAME --mode train|translate`: fresh parameters and random
 * tokens, so that anyone can repeat it without data. What is timed is what the program itself does:
 * a step of hec_trainer, a call of hec_decode.
 *
 * Work is counted as it must be done at least: a multiply-add of each matrix that a token goes
 * through, three times that to learn, and attention's two products. */
#include "cli/bench/model.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/measure.h"
#include "cli/io/plural.h"
#include "cli/io/put.h"

#define MOST_RESULTS 3

/* Sizes; everything else follows from the form. */
typedef struct model_sizes {
	const char *name;
	int64_t encoder, decoder; /* layers */
	int64_t C, heads, F, V;
	int64_t B, S, T;          /* a batch to learn from: B of S tokens and T tokens */
	int64_t sentences, words; /* to translate: so many, each of and into so many tokens */
} model_sizes;

static const model_sizes models[] = {
	{"transformer-tiny", 1, 1, 32, 2, 64, 100, 2, 5, 5, 2, 5}, /* to try it out */
	{"transformer-small", 3, 3, 256, 4, 1024, 8000, 64, 24, 24, 16, 24},
	{"transformer-base", 6, 6, 512, 8, 2048, 32000, 16, 24, 24, 16, 24},
	{"gpt-small", 0, 6, 384, 6, 1536, 8192, 8, 0, 256, 0, 0},
};
#define MODELS (sizeof models / sizeof *models)

typedef struct model_result {
	char what[32];
	bench_timing timing;
	double tokens, flops; /* of one call */
	double memory;        /* bytes, beyond the parameters */
} model_result;

typedef struct model_run {
	const model_sizes *sizes;
	hec_ctx *ctx;
	hec_model *model;
	hec_trainer *trainer;
	hec_session *session;
	hec_model_input input;
	hec_batch batch; /* of input */
	hec_decode_options decode;
	int32_t *ids; /* sources, what the decoder reads, targets: each of `batch` numbers */
	const int32_t **sentences;
	int64_t *lengths;
	bench_ceilings ceilings;
	model_result results[MOST_RESULTS];
	int count;
} model_run;

/* ---- the model ---- */

static hec_model_config config_of(const model_sizes *z)
{
	const bool both = z->encoder > 0;
	const hec_stack_config stack = {
		.layers = z->decoder,
		.attention = {.heads = z->heads,
	                      .fused = !both,
	                      .dropout_weights = 0.1,
	                      .dropout_out = 0.1},
		.feed_forward = {.hidden = z->F,
	                         .act = both ? HEC_ACT_RELU : HEC_ACT_GELU_TANH,
	                         .dropout_hidden = 0.1,
	                         .dropout_out = 0.1},
		.norm_first = !both,
		.final_norm = !both,
		.embedding_scale = both ? sqrt((double)z->C) : 1,
		.dropout = 0.1,
		.position = {.kind = both ? HEC_POSITION_SINUSOIDAL : HEC_POSITION_LEARNED,
	                     .max = 256}};
	hec_model_config c = {.size = sizeof c,
	                      .vocab = z->V,
	                      .width = z->C,
	                      .decoder = stack,
	                      .head = HEC_HEAD_LM,
	                      .pad_id = both ? 0 : -1,
	                      .bos_id = -1,
	                      .eos_id = 1,
	                      .start_id = both ? 0 : -1};
	if (both) {
		c.encoder = stack;
		c.encoder.layers = z->encoder;
	}
	return c;
}

/* Multiply-adds of all matrices that the tokens go through, times two. */
static double matrix_flops(const hec_model *m, double source, double target)
{
	double flops = 0;
	for (size_t i = 0; i < hec_model_param_count(m); i++) {
		const hec_model_param *p = hec_model_param_at(m, i);
		const bool lookup = strstr(p->name, "positions") != NULL;
		const bool reads_source = strncmp(p->name, "encoder.", 8) == 0 ||
		                          strstr(p->name, ".cross.k.") ||
		                          strstr(p->name, ".cross.v.");
		if (p->rank == 2 && !lookup) /* the embedding counts once: as the output */
			flops += 2.0 * (double)p->count * (reads_source ? source : target);
	}
	return flops;
}

/* q·k and weights·v of B sequences of S and T positions; what is causal sees half. */
static double attention_flops(const model_sizes *z, double B, double S, double T)
{
	const double pairs = (double)z->encoder * S * S + (double)z->decoder * T * T / 2 +
	                     (z->encoder > 0 ? (double)z->decoder * T * S : 0);
	return 4.0 * B * (double)z->C * pairs;
}

/* ---- learning ---- */

static hec_status train_call(bench_case *c, int64_t i)
{
	(void)i;
	model_run *r = c->state;
	return hec_trainer_step(r->trainer, (const hec_batch *[]){&r->batch}, 1);
}

static hec_status train_setup(model_run *r, bench_case *c, model_result *out)
{
	const model_sizes *z = r->sizes;
	const int64_t n = z->B * (z->S > z->T ? z->S : z->T);
	hec_trainer_options o = HEC_TRAINER_OPTIONS_INIT;
	hec_trainer_memory *memory;
	o.max_tokens = n;
	o.max_source = z->S > 0 ? z->S : 1;
	o.max_target = z->T;
	o.weight_decay = 0.01;
	r->input = (hec_model_input)HEC_MODEL_INPUT_INIT;
	if (z->encoder > 0)
		r->input.ids = hec_tensor_2d(r->ids, HEC_I32, z->B, z->S);
	r->input.decoder_ids = hec_tensor_2d(r->ids + n, HEC_I32, z->B, z->T);
	r->batch = (hec_batch)HEC_BATCH_INIT;
	r->batch.input = &r->input;
	r->batch.targets = hec_tensor_2d(r->ids + 2 * n, HEC_I32, z->B, z->T);
	TRY(hec_trainer_plan(r->ctx, r->model, &o, &memory));
	out->memory = (double)memory->activations;
	hec_trainer_memory_free(memory);
	TRY(hec_trainer_create(r->ctx, r->model, &o, &r->trainer));
	const double S = (double)z->S, T = (double)z->T, B = (double)z->B;
	out->tokens = B * T;
	out->flops = 3 * (matrix_flops(r->model, B * S, B * T) + attention_flops(z, B, S, T));
	c->call = train_call;
	snprintf(out->what, sizeof out->what, "train");
	return HEC_OK;
}

/* ---- translating ---- */

static hec_status translate_call(bench_case *c, int64_t i)
{
	(void)i;
	model_run *r = c->state;
	hec_decoded *decoded;
	hec_session_options made;
	hec_session_options_of(r->session, &made, sizeof made);
	hec_status status = hec_decode(r->session, made.sources, r->sentences, r->lengths,
	                               &r->decode, &decoded);
	hec_decoded_free(decoded);
	return status;
}

static hec_status translate_setup(model_run *r, int64_t sentences, int64_t beams, bench_case *c,
                                  model_result *out)
{
	const model_sizes *z = r->sizes;
	hec_session_options o = HEC_SESSION_OPTIONS_INIT;
	o.sources = sentences;
	o.beams = beams;
	o.max_source = z->words;
	o.max_target = z->words + 1;
	hec_session_destroy(r->session);
	r->session = NULL;
	TRY(hec_session_create(r->ctx, r->model, &o, &r->session));
	r->decode = (hec_decode_options)HEC_DECODE_OPTIONS_INIT;
	r->decode.beams = beams;
	r->decode.min_tokens = r->decode.max_tokens = z->words; /* all are as long as that */
	const double B = (double)sentences, n = (double)z->words, rows = B * (double)beams;
	out->tokens = B * n;
	out->flops = matrix_flops(r->model, B * n, rows * n) +
	             attention_flops(z, B, n, 0) + /* of the encoder */
	             4.0 * rows * (double)(z->C * z->decoder) * (n * n / 2 + n * n);
	out->memory = (double)hec_session_bytes(r->session);
	c->call = translate_call;
	snprintf(out->what, sizeof out->what, "%d × %s", (int)sentences,
	         beams > 1 ? "beam 4" : "greedy");
	return HEC_OK;
}

/* ---- running ---- */

static hec_status open_run(model_run *r, const bench_model_asked *a)
{
	const model_sizes *z = r->sizes;
	const int64_t n = z->B * (z->S > z->T ? z->S : z->T), words = z->sentences * z->words;
	hec_ctx_options options = HEC_CTX_OPTIONS_INIT;
	options.threads = (int)a->threads;
	options.bind = true;
	TRY(hec_ctx_create(&options, &r->ctx));
	const hec_model_config config = config_of(z);
	TRY(hec_model_create(r->ctx, &config, HEC_F32, 1, &r->model));
	r->ids = malloc((size_t)(3 * n + words) * sizeof *r->ids);
	r->sentences = calloc((size_t)z->sentences + 1, sizeof *r->sentences);
	r->lengths = calloc((size_t)z->sentences + 1, sizeof *r->lengths);
	if (!r->ids || !r->sentences || !r->lengths)
		return HEC_ERR_MEMORY;
	for (int64_t i = 0; i < 3 * n + words; i++) {
		uint32_t counter[4] = {(uint32_t)i, 0, 0, 0}, key[2] = {1, 0}, word[4];
		hec_philox(counter, key, word);
		r->ids[i] = 2 + (int32_t)(word[0] % (uint32_t)(z->V - 2));
	}
	for (int64_t i = 0; i < z->sentences; i++) {
		r->sentences[i] = r->ids + 3 * n + i * z->words;
		r->lengths[i] = z->words;
	}
	return ceilings_measure(r->ctx, 1e-3 * (double)a->ms, &r->ceilings);
}

static void close_run(model_run *r)
{
	hec_session_destroy(r->session);
	hec_trainer_destroy(r->trainer);
	hec_model_destroy(r->model);
	hec_ctx_destroy(r->ctx);
	free(r->ids);
	free(r->sentences);
	free(r->lengths);
}

static hec_status run_modes(model_run *r, const bench_model_asked *a)
{
	const bool train = strcmp(a->mode, "train") == 0;
	const struct {
		int64_t sentences, beams;
	} calls[MOST_RESULTS] = {{r->sizes->sentences, 1}, {r->sizes->sentences, 4}, {1, 4}};
	if (!train)
		TRY(hec_model_pack(r->ctx, r->model, false));
	for (int i = 0; i < (train ? 1 : MOST_RESULTS); i++) {
		model_result *out = &r->results[i];
		bench_case c = {.ctx = r->ctx, .state = r, .long_call = true};
		TRY(train ? train_setup(r, &c, out)
		          : translate_setup(r, calls[i].sentences, calls[i].beams, &c, out));
		TRY(case_measure(&c, &r->ceilings, 1e-3 * (double)a->ms, &out->timing));
		r->count++;
	}
	return HEC_OK;
}

/* ---- saying ---- */

static double tokens_per_s(const model_result *m)
{
	return m->timing.ms > 0 ? 1e3 * m->tokens / m->timing.ms : 0;
}

static double peak_fraction(const model_run *r, const model_result *m)
{
	const double gflops = m->timing.ms > 0 ? 1e-6 * m->flops / m->timing.ms : 0;
	return gflops / r->ceilings.gflops[r->ceilings.own];
}

static double count_parameters(const hec_model *m)
{
	double n = 0;
	for (size_t i = 0; i < hec_model_param_count(m); i++)
		n += (double)hec_model_param_at(m, i)->count;
	return n;
}

static void print_text(const model_run *r, FILE *out)
{
	fprintf(out, "%s: %.1f million parameters, %s, %d thread%s, ceiling %.1f GFLOP/s\n",
	        r->sizes->name, 1e-6 * count_parameters(r->model), hec_ctx_isa(r->ctx),
	        hec_ctx_threads(r->ctx), plural(hec_ctx_threads(r->ctx)),
	        r->ceilings.gflops[r->ceilings.own]);
	for (int i = 0; i < r->count; i++) {
		const model_result *m = &r->results[i];
		fprintf(out,
		        "%-12s %8.0f tokens/s  %9.2f ms ±%4.1f %%  %.2f of the ceiling  %.1f MB "
		        "beside the weights%s\n",
		        m->what, tokens_per_s(m), m->timing.ms, 100 * m->timing.spread,
		        peak_fraction(r, m), 1e-6 * m->memory,
		        m->timing.steady ? "" : "  (the machine was busy)");
	}
}

static void print_json(const model_run *r, const char *mode, FILE *out)
{
	json_t *root = json_object(), *results = json_array();
	json_object_set_new(root, "model", json_string(r->sizes->name));
	json_object_set_new(root, "mode", json_string(mode));
	json_object_set_new(root, "dtype", json_string("f32"));
	json_object_set_new(root, "isa", json_string(hec_ctx_isa(r->ctx)));
	json_object_set_new(root, "threads", json_integer(hec_ctx_threads(r->ctx)));
	json_object_set_new(root, "parameters",
	                    json_integer((json_int_t)count_parameters(r->model)));
	json_object_set_new(root, "ceiling_gflops", json_real(r->ceilings.gflops[r->ceilings.own]));
	for (int i = 0; i < r->count; i++) {
		const model_result *m = &r->results[i];
		json_t *o = json_object();
		json_object_set_new(o, "what", json_string(m->what));
		json_object_set_new(o, "tokens_per_s", json_real(tokens_per_s(m)));
		json_object_set_new(o, "tokens", json_integer((json_int_t)m->tokens));
		json_object_set_new(o, "ms", json_real(m->timing.ms));
		json_object_set_new(o, "spread", json_real(m->timing.spread));
		json_object_set_new(o, "steady", json_boolean(m->timing.steady));
		json_object_set_new(o, "gflop", json_real(1e-9 * m->flops));
		json_object_set_new(o, "fraction", json_real(peak_fraction(r, m)));
		json_object_set_new(o, "memory_bytes", json_integer((json_int_t)m->memory));
		json_array_append_new(results, o);
	}
	json_object_set_new(root, "results", results);
	(void)put_json_value(root, JSON_INDENT(2) | JSON_REAL_PRECISION(6), out);
	fputc('\n', out);
	json_decref(root);
}

static const model_sizes *find_model(const char *name)
{
	for (size_t i = 0; i < MODELS; i++) {
		if (strcmp(models[i].name, name) == 0)
			return &models[i];
	}
	return NULL;
}

int bench_model(const command *self, const bench_model_asked *a)
{
	model_run r = {.sizes = a->model ? find_model(a->model) : NULL};
	if (!r.sizes)
		return command_usage(self,
		                     "--model %.40s: there are transformer-small, "
		                     "transformer-base, gpt-small, transformer-tiny",
		                     a->model ? a->model : "is missing");
	if (!a->mode || (strcmp(a->mode, "train") != 0 && strcmp(a->mode, "translate") != 0))
		return command_usage(self, "--model needs --mode train or --mode translate");
	if (r.sizes->encoder == 0 && strcmp(a->mode, "translate") == 0)
		return command_usage(self, "%s has no encoder to translate with", a->model);
	hec_status status = open_run(&r, a);
	if (status == HEC_OK)
		status = run_modes(&r, a);
	int code = EXIT_DONE;
	if (status != HEC_OK)
		code = command_failed(self, "%s",
		                      *hec_error_message() ? hec_error_message() : "no memory");
	else if (a->json)
		print_json(&r, a->mode, stdout);
	else
		print_text(&r, stdout);
	close_run(&r);
	return code;
}
