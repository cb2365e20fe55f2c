/* info_show.c — the facts for people and for machines. */
#include <inttypes.h>
#include <string.h>

#include <hecate/width.h>
#include <jansson.h>

#include "cli/inspect/info_facts.h"
#include "cli/model/load.h"
#include "cli/io/plural.h"
#include "cli/io/put.h"

#define DIR_COLUMNS 76
#define TOKEN_COLUMNS 24
#define NAME_COLUMNS 72
#define NAMES_SHOWN 8

static const char *const part_names[PARTS] = {"embeddings", "encoder", "decoder", "head"};
static const char *const roles[] = {"bos", "eos", "pad", "unk", "cls", "sep", "mask"};
#define ROLES (sizeof roles / sizeof roles[0])

static const char *position_name(hec_position_kind kind)
{
	static const char *const names[] = {"none", "sinusoidal", "learned", "rotary", "relative"};
	return (unsigned)kind <= HEC_POSITION_RELATIVE ? names[kind] : "?";
}

static const char *head_name(hec_head head)
{
	static const char *const names[] = {"none",    "language model", "masked words",
	                                    "classes", "labels",         "answers"};
	return (unsigned)head <= HEC_HEAD_ANSWER ? names[head] : "?";
}

/* ---- for people ---- */

/* 12345678 → "12,345,678". */
static const char *with_commas(int64_t n, char out[32])
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%" PRId64, n), used = 0;
	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
			out[used++] = ',';
		out[used++] = digits[i];
	}
	out[used] = '\0';
	return out;
}

static const char *bytes_text(size_t bytes, char out[32])
{
	double size = (double)bytes;
	if (size >= 1e9)
		snprintf(out, 32, "%.2f GB", size / 1e9);
	else if (size >= 1e6)
		snprintf(out, 32, "%.1f MB", size / 1e6);
	else
		snprintf(out, 32, "%.1f kB", size / 1e3);
	return out;
}

static void show_stack(const char *name, const hec_stack_config *s, FILE *out)
{
	if (s->layers == 0)
		return;
	const hec_multi_head_config *a = &s->attention;
	fprintf(out, "  %-13s %" PRId64 " layer%s, %" PRId64 " head%s of ", name, s->layers,
	        plural(s->layers), a->heads, plural(a->heads));
	if (a->d_k == a->d_v)
		fprintf(out, "%" PRId64, a->d_k);
	else
		fprintf(out, "%" PRId64 " (values %" PRId64 ")", a->d_k, a->d_v);
	if (a->kv_heads != a->heads)
		fprintf(out, " (%" PRId64 " of keys and values)", a->kv_heads);
	fprintf(out, ", feed-forward %" PRId64 ", %s norm, positions %s", s->feed_forward.hidden,
	        s->norm_first ? "pre" : "post", position_name(s->position.kind));
	if (hec_stack_config_max_positions(s) < INT64_MAX)
		fprintf(out, " up to %" PRId64, s->position.max);
	fputc('\n', out);
}

static void show_parameters(const info_facts *f, FILE *out)
{
	char number[32];
	fprintf(out, "  %-13s %13s\n", "parameters", with_commas(f->total, number));
	for (int i = 0; i < PARTS; i++)
		if (f->parameters[i] > 0)
			fprintf(out, "    %-11s %13s  %5.1f %%\n", part_names[i],
			        with_commas(f->parameters[i], number),
			        100.0 * (double)f->parameters[i] / (double)f->total);
}

static void show_tokenizer(const info_facts *f, FILE *out)
{
	char number[32], label[TOKEN_COLUMNS * 4 + 8];
	if (!f->tokenizer) {
		fprintf(out, "  %-13s none\n", "tokenizer");
		return;
	}
	fprintf(out, "  %-13s %s%s%s, %s tokens\n", "tokenizer", hec_tokenizer_kind(f->tokenizer),
	        *f->files->pre_tokenizer ? " after " : "", f->files->pre_tokenizer,
	        with_commas(hec_tokenizer_vocab(f->tokenizer), number));
	fprintf(out, "  %-13s", "special");
	bool first = true;
	for (size_t i = 0; i < ROLES; i++) {
		int32_t id = hec_tokenizer_role(f->tokenizer, roles[i]);
		const char *token = id < 0 ? NULL : hec_tokenizer_token(f->tokenizer, id);
		if (!token)
			continue;
		hec_text_clean(token, TOKEN_COLUMNS, label, sizeof label);
		fprintf(out, "%s %s %s %" PRId32, first ? "" : ",", roles[i], label, id);
		first = false;
	}
	fputc('\n', out);
}

static void show_ids(const hec_model_config *c, FILE *out)
{
	const struct {
		const char *name;
		int32_t id;
	} ids[] = {
		{"start", c->start_id}, {"bos", c->bos_id}, {"eos", c->eos_id}, {"pad", c->pad_id}};
	fprintf(out, "  %-13s", "model's ids");
	const char *between = "";
	for (int i = 0; i < 4; i++) {
		if (ids[i].id < 0)
			continue;
		fprintf(out, "%s %s %" PRId32, between, ids[i].name, ids[i].id);
		between = ",";
	}
	fputc('\n', out);
}

static void show_memory(const info_memory *m, FILE *out)
{
	char a[32], b[32], c[32], d[32];
	fprintf(out, "  memory at %" PRId64 " tokens\n", m->length);
	fprintf(out, "    %-11s %13s  weights %s, cache and work space of one text %s\n", "running",
	        bytes_text(m->weights + m->session, a), bytes_text(m->weights, b),
	        bytes_text(m->session, c));
	if (m->activations == 0)
		return;
	fprintf(out,
	        "    %-11s %13s  parameters × 16 bytes %s, weights for the kernels %s,\n"
	        "    %-11s %13s  activations of %" PRId64 " tokens %s\n",
	        "training", bytes_text(m->state + m->packs + m->activations, a),
	        bytes_text(m->state, b), bytes_text(m->packs, c), "", "", m->batch,
	        bytes_text(m->activations, d));
}

/* As hec_model_report has them: names that differ in the number of a layer alone share a line. */
static void show_ignored(const hec_model *model, FILE *out)
{
	static const char begin[] = "ignored: ";
	char label[NAME_COLUMNS * 4 + 8], line[1024];
	const char *report = hec_model_report(model), *at;
	const size_t count = ignored_count(hec_model_ignored(model));
	size_t bytes;
	if (count == 0)
		return;
	fprintf(out, "  %-13s %zu tensor%s in the files that this model has no use for\n",
	        "ignored", count, plural((int64_t)count));
	for (int shown = 0; ignored_next(&report, &at, &bytes);) {
		if (bytes < sizeof begin || memcmp(at, begin, sizeof begin - 1) != 0)
			continue;
		if (shown++ == NAMES_SHOWN) {
			fputs("    … (--json lists them all)\n", out);
			return;
		}
		snprintf(line, sizeof line, "%.*s", (int)(bytes - (sizeof begin - 1)),
		         at + sizeof begin - 1);
		hec_text_clean(line, NAME_COLUMNS, label, sizeof label);
		fprintf(out, "    %s\n", label);
	}
}

void info_show_text(const info_facts *f, const char *dir, FILE *out)
{
	char path[DIR_COLUMNS * 4 + 8], number[32];
	hec_text_clean(dir, DIR_COLUMNS, path, sizeof path);
	fprintf(out, "%s\n  %-13s %s%s%s%s\n", path, "family", f->files->family,
	        *f->files->architecture ? " (" : "", f->files->architecture,
	        *f->files->architecture ? ")" : "");
	fprintf(out, "  %-13s %" PRId64 "\n", "width", f->config->width);
	show_stack("encoder", &f->config->encoder, out);
	show_stack("decoder", &f->config->decoder, out);
	fprintf(out, "  %-13s %s, vocabulary %s\n", "head", head_name(f->config->head),
	        with_commas(f->config->vocab, number));
	show_parameters(f, out);
	fprintf(out, "  %-13s %s, %s in %" PRId64 " file%s\n", "files", f->files->dtype,
	        bytes_text((size_t)f->files->file_bytes, number), f->files->files,
	        plural(f->files->files));
	show_ignored(f->model, out);
	show_tokenizer(f, out);
	show_ids(f->config, out);
	show_memory(&f->memory, out);
}

/* ---- for machines ---- */

static json_t *stack_json(const hec_stack_config *s)
{
	if (s->layers == 0)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:s, s:I}", "layers",
	                 (json_int_t)s->layers, "heads", (json_int_t)s->attention.heads, "kv_heads",
	                 (json_int_t)s->attention.kv_heads, "d_k", (json_int_t)s->attention.d_k,
	                 "d_v", (json_int_t)s->attention.d_v, "feed_forward",
	                 (json_int_t)s->feed_forward.hidden, "norm_first", s->norm_first,
	                 "positions", position_name(s->position.kind), "max_positions",
	                 (json_int_t)s->position.max);
}

static json_t *parameters_json(const info_facts *f)
{
	json_t *object = json_object();
	json_object_set_new(object, "total", json_integer(f->total));
	for (int i = 0; i < PARTS; i++)
		json_object_set_new(object, part_names[i], json_integer(f->parameters[i]));
	return object;
}

static json_t *tokenizer_json(const info_facts *f)
{
	if (!f->tokenizer)
		return json_null();
	json_t *special = json_object();
	for (size_t i = 0; i < ROLES; i++) {
		int32_t id = hec_tokenizer_role(f->tokenizer, roles[i]);
		if (id >= 0)
			json_object_set_new(special, roles[i], json_integer(id));
	}
	return json_pack("{s:s, s:s, s:I, s:o}", "kind", hec_tokenizer_kind(f->tokenizer),
	                 "pre_tokenizer", f->files->pre_tokenizer, "vocab",
	                 (json_int_t)hec_tokenizer_vocab(f->tokenizer), "special", special);
}

static json_t *memory_json(const info_memory *m)
{
	const size_t run = m->weights + m->session, train = m->state + m->packs + m->activations;
	json_t *running = json_pack("{s:I, s:I, s:I}", "weights", (json_int_t)m->weights, "session",
	                            (json_int_t)m->session, "total", (json_int_t)run);
	json_t *training = json_null();
	if (m->activations > 0)
		training = json_pack("{s:I, s:I, s:I, s:I, s:I}", "batch_tokens",
		                     (json_int_t)m->batch, "parameters", (json_int_t)m->state,
		                     "packs", (json_int_t)m->packs, "activations",
		                     (json_int_t)m->activations, "total", (json_int_t)train);
	return json_pack("{s:I, s:o, s:o}", "length", (json_int_t)m->length, "running", running,
	                 "training", training);
}

static json_t *ignored_json(const hec_model *model)
{
	json_t *names = json_array();
	const char *list = hec_model_ignored(model), *name;
	size_t bytes;
	while (ignored_next(&list, &name, &bytes))
		json_array_append_new(names, json_stringn(name, bytes));
	return names;
}

bool info_show_json(const info_facts *f, FILE *out)
{
	const hec_model_config *c = f->config;
	json_t *root = json_pack(
		"{s:s, s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:s, s:I, s:I, s:o, s:o, "
		"s:{s:i, s:i, s:i, s:i}, s:o}",
		"family", f->files->family, "architecture", f->files->architecture, "width",
		(json_int_t)c->width, "vocab", (json_int_t)c->vocab, "head", head_name(c->head),
		"encoder", stack_json(&c->encoder), "decoder", stack_json(&c->decoder),
		"parameters", parameters_json(f), "dtype", f->files->dtype, "files",
		(json_int_t)f->files->files, "file_bytes", (json_int_t)f->files->file_bytes,
		"ignored", ignored_json(f->model), "tokenizer", tokenizer_json(f), "ids", "start",
		(int)c->start_id, "bos", (int)c->bos_id, "eos", (int)c->eos_id, "pad",
		(int)c->pad_id, "memory", memory_json(&f->memory));
	bool written = put_json_value(root, JSON_INDENT(1), out);
	fputc('\n', out);
	json_decref(root);
	return written;
}
