/* state.c — state.json. Seeds and sums are texts: a JSON number holds 53 bits for others.
 *
 * It has the sums of the files beside it, and ends with its own: the CRC-32 of all bytes before that member. So
 * one rename changes the state and its sum, and a byte that changed anywhere is found. */
#include "train/state.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/quote.h"
#include "format/json.h"
#include "train/sums.h"

#define FORMAT "hecate checkpoint"
#define VERSION 2 /* 1 had no sums: what is damaged in it cannot be told */
#define TAIL_MOST 32
#define MOST ((int64_t)1 << 62)

/* ---- writing ---- */

static json_t *text_of(uint64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRIu64, value);
	return json_string(text);
}

static hec_status put_identity(json_t *to, const run_identity *id)
{
	HEC_TRY(json_put(to, "seed", text_of(id->seed)));
	HEC_TRY(json_put(to, "dropout_seed", text_of(id->dropout_seed)));
	HEC_TRY(json_put(to, "max_tokens", json_integer(id->max_tokens)));
	HEC_TRY(json_put(to, "max_rows", json_integer(id->max_rows)));
	HEC_TRY(json_put(to, "accumulate", json_integer(id->accumulate)));
	HEC_TRY(json_put(to, "data", text_of(id->data)));
	return json_put(to, "valid", text_of(id->valid));
}

static hec_status put_best(json_t *root, const run_state *s)
{
	json_t *all = json_object();
	HEC_TRY(json_put(root, "best", all));
	for (int i = 0; i < HEC_METRICS; i++) {
		if (s->best_step[i] == 0)
			continue;
		json_t *one = json_object();
		HEC_TRY(json_put(all, hec_metric_name((hec_metric)i), one));
		HEC_TRY(json_put(one, "value", json_real(s->best[i])));
		HEC_TRY(json_put(one, "step", json_integer(s->best_step[i])));
	}
	return HEC_OK;
}

static hec_status put_due(json_t *root, const run_state *s)
{
	json_t *all = json_object();
	HEC_TRY(json_put(root, "due", all));
	for (int i = 0; i < HEC_METRICS; i++)
		if (isfinite(s->due[i]))
			HEC_TRY(json_put(all, hec_metric_name((hec_metric)i),
			                 json_real(s->due[i])));
	return HEC_OK;
}

static hec_status put_state(json_t *root, const run_state *s, json_t *files)
{
	HEC_TRY(json_put(root, "format", json_string(FORMAT)));
	HEC_TRY(json_put(root, "version", json_integer(VERSION)));
	HEC_TRY(json_put(root, "step", json_integer(s->step)));
	HEC_TRY(json_put(root, "epoch", json_integer(s->place.epoch)));
	HEC_TRY(json_put(root, "index", json_integer(s->place.index)));
	HEC_TRY(json_put(root, "report_step", json_integer(s->report_step)));
	HEC_TRY(json_put(root, "loss_sum", json_real(s->loss_sum)));
	HEC_TRY(json_put(root, "loss_targets", json_integer(s->loss_targets)));
	HEC_TRY(json_put(root, "last_norm", json_real(s->last_norm)));
	HEC_TRY(json_put(root, "seconds", json_real(s->seconds)));
	HEC_TRY(json_put(root, "stale", json_integer(s->stale)));
	HEC_TRY(json_put(root, "valid_step", json_integer(s->valid_step)));
	if (s->chosen >= 0)
		HEC_TRY(json_put(root, "chosen",
		                 json_string(hec_metric_name((hec_metric)s->chosen))));
	HEC_TRY(put_best(root, s));
	HEC_TRY(put_due(root, s));
	json_t *id = json_object();
	HEC_TRY(json_put(root, "identity", id));
	HEC_TRY(put_identity(id, &s->identity));
	return json_put(root, "files", json_incref(files));
}

/* What stands behind `size` bytes of an object whose last member is still to come. */
static size_t tail_of(const char *text, size_t size, char tail[TAIL_MOST])
{
	return (size_t)snprintf(tail, TAIL_MOST, ",\n  \"sum\": \"%08" PRIx32 "\"\n}\n",
	                        sum_of_bytes(text, size));
}

static hec_status write_text(const char *path, const char *text, size_t size)
{
	char tail[TAIL_MOST];
	file_out *out;
	size -= strlen("\n}\n");
	const size_t length = tail_of(text, size, tail);
	HEC_TRY(file_out_open(path, &out));
	hec_status status = file_out_write(out, text, size);
	if (status == HEC_OK)
		status = file_out_write(out, tail, length);
	if (status == HEC_OK)
		return file_out_commit(out);
	file_out_abort(out);
	return status;
}

hec_status state_write(const char *path, const run_state *s, json_t *files)
{
	char *text = NULL;
	size_t size = 0;
	json_t *root = json_object();
	hec_status status =
		root ? put_state(root, s, files) : fail(HEC_ERR_MEMORY, "%s: no memory", path);
	if (status == HEC_OK)
		status = json_text_make(root, true, &text, &size);
	if (status == HEC_OK)
		status = write_text(path, text, size);
	mem_free(text);
	json_decref(root);
	return status;
}

/* ---- reading ---- */

static hec_status need_text_number(const json_scope *s, const char *key, uint64_t most,
                                   uint64_t *out)
{
	const char *text;
	HEC_TRY(json_need_string(s, key, &text));
	char quoted[QUOTE_TEXT];
	errno = 0;
	uint64_t value = strtoull(text, NULL, 10);
	if (!*text || strspn(text, "0123456789") != strlen(text) || errno || value > most)
		return fail(HEC_ERR_FORMAT,
		            "%s: '%s' is '%s', not a whole number of at most %" PRIu64, s->file,
		            key, quote(text, quoted), most);
	*out = value;
	return HEC_OK;
}

static hec_status get_identity(const json_scope *root, run_identity *id)
{
	json_scope s;
	uint64_t data, valid;
	HEC_TRY(json_need_object(root, "identity", &s));
	HEC_TRY(need_text_number(&s, "seed", UINT64_MAX, &id->seed));
	HEC_TRY(need_text_number(&s, "dropout_seed", UINT64_MAX, &id->dropout_seed));
	HEC_TRY(json_need_int(&s, "max_tokens", 1, MOST, &id->max_tokens));
	HEC_TRY(json_need_int(&s, "max_rows", 0, MOST, &id->max_rows));
	HEC_TRY(json_need_int(&s, "accumulate", 1, MOST, &id->accumulate));
	HEC_TRY(need_text_number(&s, "data", UINT32_MAX, &data));
	HEC_TRY(need_text_number(&s, "valid", UINT32_MAX, &valid));
	id->data = (uint32_t)data;
	id->valid = (uint32_t)valid;
	return HEC_OK;
}

static hec_status get_best(const json_scope *root, run_state *s)
{
	json_scope all, one;
	HEC_TRY(json_need_object(root, "best", &all));
	for (int i = 0; i < HEC_METRICS; i++) {
		bool found = false;
		HEC_TRY(json_want_object(&all, hec_metric_name((hec_metric)i), &one, &found));
		if (!found)
			continue;
		HEC_TRY(json_need_double(&one, "value", -1e300, 1e300, &s->best[i]));
		HEC_TRY(json_need_int(&one, "step", 1, MOST, &s->best_step[i]));
	}
	return HEC_OK;
}

static hec_status get_chosen(const json_scope *root, run_state *s)
{
	char quoted[QUOTE_TEXT];
	const char *name;
	s->chosen = -1;
	if (!json_object_get(root->object, "chosen"))
		return HEC_OK;
	HEC_TRY(json_need_string(root, "chosen", &name));
	for (int i = 0; i < HEC_METRICS; i++)
		if (strcmp(name, hec_metric_name((hec_metric)i)) == 0)
			s->chosen = i;
	return s->chosen >= 0 ? HEC_OK
	                      : fail(HEC_ERR_FORMAT, "%s: 'chosen' is '%s', which is no metric",
	                             root->file, quote(name, quoted));
}

/* A checkpoint of before there was "due": the best stands for it. */
static hec_status get_due(const json_scope *root, run_state *s)
{
	json_scope all;
	bool found = false;
	HEC_TRY(json_want_object(root, "due", &all, &found));
	for (int i = 0; i < HEC_METRICS; i++) {
		const char *name = hec_metric_name((hec_metric)i);
		s->due[i] = !found && s->best_step[i] > 0 ? s->best[i] : NAN;
		if (found && json_object_get(all.object, name))
			HEC_TRY(json_need_double(&all, name, -1e300, 1e300, &s->due[i]));
	}
	return HEC_OK;
}

static hec_status check_version(const json_scope *r)
{
	const char *format;
	char quoted[QUOTE_TEXT];
	int64_t version;
	HEC_TRY(json_need_string(r, "format", &format));
	if (strcmp(format, FORMAT) != 0)
		return fail(HEC_ERR_FORMAT, "%s: is a '%s', not a '%s'", r->file,
		            quote(format, quoted), FORMAT);
	HEC_TRY(json_need_int(r, "version", 1, INT32_MAX, &version));
	if (version != VERSION)
		return fail(HEC_ERR_UNSUPPORTED, "%s: is of version %lld, this program reads %d",
		            r->file, (long long)version, VERSION);
	return HEC_OK;
}

static hec_status check_sum(const char *path, const char *text, size_t size)
{
	char tail[TAIL_MOST];
	const size_t length = tail_of("", 0, tail);
	const size_t before = size > length ? size - length : 0;
	(void)tail_of(text, before, tail);
	if (before > 0 && memcmp(text + before, tail, length) == 0)
		return HEC_OK;
	return fail(HEC_ERR_FORMAT,
	            "%s: does not end with the sum of its bytes, %.8s: it was damaged or changed "
	            "after it was written",
	            path, strchr(tail, ':') + 3);
}

static hec_status get_state(const json_scope *r, run_state *s)
{
	HEC_TRY(json_need_int(r, "step", 0, MOST, &s->step));
	HEC_TRY(json_need_int(r, "epoch", 0, UINT32_MAX, &s->place.epoch));
	HEC_TRY(json_need_int(r, "index", 0, MOST, &s->place.index));
	HEC_TRY(json_need_int(r, "report_step", 0, MOST, &s->report_step));
	HEC_TRY(json_need_double(r, "loss_sum", -1e300, 1e300, &s->loss_sum));
	HEC_TRY(json_need_int(r, "loss_targets", 0, MOST, &s->loss_targets));
	HEC_TRY(json_need_double(r, "last_norm", 0, 1e300, &s->last_norm));
	HEC_TRY(json_need_double(r, "seconds", 0, 1e12, &s->seconds));
	HEC_TRY(json_need_int(r, "stale", 0, MOST, &s->stale));
	HEC_TRY(json_need_int(r, "valid_step", 0, MOST, &s->valid_step));
	HEC_TRY(get_chosen(r, s));
	HEC_TRY(get_best(r, s));
	HEC_TRY(get_due(r, s));
	return get_identity(r, &s->identity);
}

static hec_status read_text(const char *path, const char *text, size_t size, run_state *s,
                            json_t **files)
{
	json_t *root = NULL;
	json_scope scope, all;
	HEC_TRY(json_object_read(path, text, size, JSON_CONFIG_MOST, &root));
	hec_status status = json_scope_root(path, root, &scope);
	if (status == HEC_OK)
		status = check_version(&scope);
	if (status == HEC_OK)
		status = check_sum(path, text, size);
	if (status == HEC_OK)
		status = get_state(&scope, s);
	if (status == HEC_OK)
		status = json_need_object(&scope, "files", &all);
	if (status == HEC_OK && files)
		*files = json_incref((json_t *)all.object);
	json_decref(root);
	return status;
}

hec_status state_read(const char *path, run_state *state, json_t **files)
{
	run_state s = {0};
	char *text;
	size_t size;
	HEC_TRY(file_read(path, JSON_CONFIG_MOST, &text, &size));
	hec_status status = read_text(path, text, size, &s, files);
	mem_free(text);
	if (status == HEC_OK)
		*state = s;
	return status;
}

hec_status identity_check(const char *path, const run_identity *was, const run_identity *is)
{
	const struct {
		const char *name;
		uint64_t was, is;
	} rows[] = {
		{"the seed of the data", was->seed, is->seed},
		{"the seed of dropout", was->dropout_seed, is->dropout_seed},
		{"tokens a batch", (uint64_t)was->max_tokens, (uint64_t)is->max_tokens},
		{"rows a batch", (uint64_t)was->max_rows, (uint64_t)is->max_rows},
		{"batches a step", (uint64_t)was->accumulate, (uint64_t)is->accumulate},
		{"the checksum of the data to learn from", was->data, is->data},
		{"the checksum of the data to validate on", was->valid, is->valid},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].was != rows[i].is)
			return fail(HEC_ERR_FORMAT,
			            "%s: %s was %" PRIu64 " and is now %" PRIu64
			            ": the run cannot go on as if it had not been stopped",
			            path, rows[i].name, rows[i].was, rows[i].is);
	return HEC_OK;
}
